/* Finds hot and dead pixels in the mean of many frames.
 *
 * A bad pixel differs from its nearest neighbours of the same colour in the same direction in both
 * halves of the frames, by more than these differ among themselves, and by much more than most
 * pixels do. While the scene moves, its own details do not stay in place. If it stands still, a
 * small detail differs from a bad pixel in one way: it mostly goes on in a neighbour. */
#ifndef FFTD_CALIBRATION_BAD_PIXELS_H
#define FFTD_CALIBRATION_BAD_PIXELS_H

#include <stdbool.h>
#include <stdint.h>

/* Sets bad[i] to 1 where a pixel is bad, and to 0 elsewhere. `mean` has the mean levels of each
 * half of the frames, row by row; the pattern of columns and rows has been subtracted. Pixels
 * `step` apart have the same colour. If the scene stood still, a pixel that has a neighbour like it
 * is not marked. In a cluster of bad pixels, those without a good pixel beside them are not marked,
 * because nothing could replace them. -ENOMEM. */
int bad_pixels_find(uint8_t *bad, const float *const mean[2], uint32_t width, uint32_t height,
                    unsigned step, bool is_still);

#endif
