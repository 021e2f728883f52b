/* Estimates what a camera adds to each column and each row, and finds its hot and dead pixels
 * (bad_pixels.h), from frames of a moving scene.
 *
 * The pattern stays in place while the scene moves. If two frames are aligned by the shift of the
 * scene, their difference contains only the pattern (pairs.h). Frames of a rotating scene cannot be
 * aligned. In most pixels of the mean of all frames, two neighbouring columns still differ by their
 * offsets; everything else, such as an edge, is an outlier. The further apart two columns are, the
 * more the scene differs between them, but their offsets differ no more than before: this tells the
 * two apart. Both observations together give the most likely offsets (offsets.h). Neither
 * determines their mean, or much of what varies slowly.
 *
 * A still scene hides a part of the pattern, because its own edges along columns and rows look the
 * same. stripes_stillness tells whether the scene moved.
 *
 * Source of the maths: Huber and Ronchetti, Robust Statistics, for the location of the differences
 * (Tukey's biweight). */
#ifndef FFTD_CALIBRATION_STRIPES_H
#define FFTD_CALIBRATION_STRIPES_H

#include <stdint.h>

#include "offsets.h"

/* The offsets of all columns, or of all rows. */
struct stripes_axis {
    uint32_t length;
    double *offset; /* shares of white; their mean is 0 */
};

struct stripes {
    struct stripes_axis column, row;
    struct pairs pairs;
    unsigned step; /* px between samples that are compared; 2 in a mosaic */
    float *level;  /* levels of the next frame; the caller fills them in before stripes_add */
    float *sum[2]; /* the levels of each pixel, added up in each half of the frames */
    uint8_t *bad;  /* after stripes_solve: 1 where a pixel is hot or dead; before, in how many
                      frames it may be clipped, at most 255 */
    unsigned frames, expected;
};

/* Prepares for this many frames, at least 2. -ENOMEM. */
int stripes_init(struct stripes *ret, uint32_t width, uint32_t height, unsigned step,
                 unsigned frames);
void stripes_finish(struct stripes *stripes); /* {0} is allowed */

/* Adds the frame in stripes->level. -ENOMEM. */
int stripes_add(struct stripes *stripes);

/* Computes the offsets and finds bad pixels after the last frame. -ENOMEM. */
int stripes_solve(struct stripes *stripes);

/* Returns in what share of the frames that could be compared the scene stood still; 0 if there were
 * none. */
double stripes_stillness(const struct stripes *stripes);

/* Returns whether it stood still in most of them. */
bool stripes_is_still(const struct stripes *stripes);

/* Returns the root mean square of an axis's offsets. */
double stripes_rms(const struct stripes_axis *axis);

#endif
