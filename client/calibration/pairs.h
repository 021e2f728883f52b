/* Measures differences between the offsets of columns and of rows, from pairs of frames that show
 * the same scene at different places.
 *
 * When two frames are aligned by their shift, the scene cancels in their difference. A column is
 * left with its own offset, minus the offset of the column that shows the same scene in the other
 * frame. Each difference is a robust mean along the column: outliers, such as moving objects and
 * changing light, count little. */
#ifndef FFTD_CALIBRATION_PAIRS_H
#define FFTD_CALIBRATION_PAIRS_H

#include <stdbool.h>
#include <stdint.h>

#include "align.h"

#define PAIRS_KEPT 4 /* frames in memory: the newest, and those with which it is compared */

/* One axis of a pair of frames. difference[i] is the offset at begin + i - part / 2 minus the
 * offset at begin + i + whole + part / 2, plus a constant that is common to all of them. */
struct pair_axis {
    uint32_t begin, count;
    int whole;                  /* samples */
    double part;                /* a fraction of `step` samples */
    float *difference, *weight; /* levels; 1 / level^2 */
};

struct pair {
    struct pair_axis column, row;
};

struct kept_frame {
    float *level; /* NaN where the pattern may be clipped */
    struct align_picture *picture;
};

struct pairs {
    uint32_t width, height;
    unsigned step;  /* samples between those that are compared; 2 in a mosaic */
    unsigned scale; /* such samples to a cell of align.h */
    struct pair *pair;
    unsigned count, frames;
    struct align_picture *first;        /* the first frame */
    unsigned alike;                     /* later frames that show the same scene */
    unsigned still;                     /* those of them where it is at the same place */
    struct kept_frame kept[PAIRS_KEPT]; /* the newest is at frames % PAIRS_KEPT */
    float *difference, *effect, *sum;   /* scratch memory */
};

/* Returns whether a level is so close to black or white that the pattern may be clipped. */
bool pairs_is_cut(float level);

/* Returns the weight of an error with this standard deviation: Tukey's biweight. */
double pairs_weight(double error, double sigma);

/* -ENOMEM. */
int pairs_init(struct pairs *ret, uint32_t width, uint32_t height, unsigned step);
void pairs_finish(struct pairs *pairs); /* {0} is allowed */

/* Compares a frame, row by row, with up to three before it, until two of them make pairs. Once
 * there are about a thousand pairs, it ignores further frames. -ENOMEM. */
int pairs_add(struct pairs *pairs, const float *level);

#endif
