/* Estimates what a camera adds to each column and to each row, from frames of a scene that moves.
 *
 * The pattern stays while the scene moves. Where two frames are aligned by the shift of the scene,
 * only the pattern is left of their difference (pairs.h). Where frames cannot be aligned, as of a
 * scene that turns, the difference of two neighbouring columns still has one value in most pixels
 * of most frames: that of their offsets. Everything else, as edges, is an outlier. Both together
 * give the most likely offsets (offsets.h). Nothing is known of their mean, and little of what
 * varies slowly across the picture.
 *
 * A scene that stands still says nothing of the pattern: its own edges along columns and rows look
 * the same. stripes_stillness says whether it moved.
 *
 * Source of the maths: Huber and Ronchetti, Robust Statistics, for the location of the differences
 * (Tukey's biweight). */
#ifndef FFTD_CTL_STRIPES_H
#define FFTD_CTL_STRIPES_H

#include <stdint.h>

#include "offsets.h"

/* The differences along one axis: between columns, or between rows. */
struct stripes_axis {
    uint32_t length;
    uint32_t *count[2]; /* for each position a histogram of differences to the position before, of
                           the first and the second half of the frames */
    double *offset;     /* levels, as shares of white; their mean is 0 */
};

struct stripes {
    struct stripes_axis column, row;
    struct pairs pairs;
    unsigned step; /* px between samples that are compared; 2 in a mosaic */
    float *first, *level;
    unsigned frames, expected;
    double stillness_sum;
};

/* For this many frames, at least 2. -ENOMEM. */
int stripes_init(struct stripes *ret, uint32_t width, uint32_t height, unsigned step,
                 unsigned frames);
void stripes_finish(struct stripes *stripes); /* {0} is allowed */

/* The levels of the next frame, row by row, which the caller fills in before stripes_add.
 * -ENOMEM. */
float *stripes_level(struct stripes *stripes);
int stripes_add(struct stripes *stripes);

/* Fills in the offsets, after the last frame. -ENOMEM. */
int stripes_solve(struct stripes *stripes);

/* How much alike details of the first frame and of the others are: 1 if the scene stood still,
 * about 0 if it moved, or if it has no details. */
double stripes_stillness(const struct stripes *stripes);

/* The root of the mean square of the offsets of an axis. */
double stripes_rms(const struct stripes_axis *axis);

#endif
