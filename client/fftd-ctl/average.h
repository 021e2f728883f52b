/* The mean of many frames, from which dark and flat frames are made.
 *
 * Levels are shares of white, the largest sample: 0 .. 1. A pixel's level is that of its luma
 * sample; of RGB it is the luma of ITU-R BT.601-7, 2.5.1, as the daemon filters it. A mosaic comes
 * demosaiced, as RGB; its pixel's own colour is then the sample that was captured, rounded to 8
 * bits, which noise averages out. Sums are in double precision. */
#ifndef FFTD_CTL_AVERAGE_H
#define FFTD_CTL_AVERAGE_H

#include <stdbool.h>
#include <stdio.h>

#include "pixels.h"

struct average {
    uint32_t width, height;
    bool is_mosaic;
    unsigned red_x, red_y; /* of a mosaic: where red is in each cell of 2 x 2; blue is opposite */
    double *sum;           /* of the levels of each pixel, row by row */
    unsigned frames;
    double level_sum, level_square_sum; /* of the mean level of each frame */
    uint64_t white;                     /* pixels that were white, in all frames */
};

/* captured: the name of the format in which frames are captured, such as SRGGB10; NULL or a format
 * that is no mosaic: as they are published. -ENOMEM. */
int average_init(struct average *ret, uint32_t width, uint32_t height, const char *captured);
void average_finish(struct average *average); /* {0} is allowed */

/* The level of a pixel of a frame. */
double average_level_at(const struct average *average, const struct pixels *frame, uint32_t x,
                        uint32_t y);

/* -EINVAL: the frame has another size. */
int average_add(struct average *average, const struct pixels *frame);

/* Statistics over all frames added so far, of which there must be at least one. */
double average_level(const struct average *average);
double average_white_share(const struct average *average); /* of pixels that were white */

/* The standard deviation of the frames' mean levels. */
double average_unsteadiness(const struct average *average);

/* Writes the mean levels as a PFM. The caller looks for errors of the file. */
void average_write(const struct average *average, FILE *file);

/* Writes levels, row by row, times a factor. */
void average_write_levels(FILE *file, uint32_t width, uint32_t height, const double *level,
                          double factor);

#endif
