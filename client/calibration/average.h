/* The mean of many frames, from which dark and flat frames are made.
 *
 * Levels are shares of white, the largest sample: 0 .. 1. The level of a pixel is its luma sample;
 * for RGB it is the luma of ITU-R BT.601-7, 2.5.1, which the daemon filters. A mosaic arrives
 * demosaiced, as RGB: each pixel's own colour is the captured sample, rounded to 8 bits. Averaging
 * noisy frames removes the error of rounding. Sums are in double precision. */
#ifndef FFTD_CALIBRATION_AVERAGE_H
#define FFTD_CALIBRATION_AVERAGE_H

#include <stdbool.h>
#include <stdio.h>

#include "pictures/pixels.h"

struct average {
    uint32_t width, height;
    bool is_mosaic;
    unsigned red_x, red_y; /* mosaics: where red is in each cell of 2 x 2; blue is opposite */
    double *sum;           /* the sum of each pixel's levels, row by row */
    unsigned frames;
    double level_sum, level_square_sum; /* sums over the frames' mean levels */
    uint64_t white;                     /* the number of white pixels in all frames */
};

/* `captured` names the format of captured frames, such as SRGGB10. NULL, or a format that is not a
 * mosaic, means the format in which frames are published. -ENOMEM. */
int average_init(struct average *ret, uint32_t width, uint32_t height, const char *captured);
void average_finish(struct average *average); /* {0} is allowed */

/* Adds a frame. Also stores its levels, row by row, unless `level` is NULL. -EINVAL: the frame has
 * another size. */
int average_add(struct average *average, const struct pixels *frame, float *level);

/* Statistics over all frames added so far, of which there must be at least one. */
double average_level(const struct average *average);
double average_white_share(const struct average *average); /* share of white pixels */

/* The standard deviation of the frames' mean levels. */
double average_unsteadiness(const struct average *average);

/* Writes the mean levels as a PFM. The caller checks the file for errors. */
void average_write(const struct average *average, FILE *file);

#endif
