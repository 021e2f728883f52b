/* Measures differences between the offsets of columns and of rows, from pairs of frames that show
 * the same scene at different places.
 *
 * Where two frames are aligned by their shift, the scene falls out of their difference. It leaves,
 * of columns, the offset of each one minus that of the column that shows the same in the other
 * frame. Each such difference is a mean along the column, in which what differs from the others
 * counts little: what moves in the scene, and what light does. */
#ifndef FFTD_CTL_PAIRS_H
#define FFTD_CTL_PAIRS_H

#include <stddef.h>
#include <stdint.h>

#include "align.h"

#define PAIRS_KEPT 2 /* frames, with which each new one is compared */

/* One axis of a pair of frames: difference[i] is the offset at begin + i - part / 2 less that at
 * begin + i + whole + part / 2, plus what is common to all of them. */
struct pair_axis {
    uint32_t begin, count;
    int whole;                  /* samples */
    double part;                /* of `step` samples */
    float *difference, *weight; /* levels; one over a level's square */
};

struct pair {
    struct pair_axis column, row;
};

struct kept_frame {
    float *level; /* NaN where the pattern is cut off */
    struct align_picture *picture;
};

struct pairs {
    uint32_t width, height;
    unsigned step; /* samples between those that are compared; 2 in a mosaic */
    struct pair *pair;
    unsigned count, frames;
    struct kept_frame kept[PAIRS_KEPT + 1]; /* the newest is at frames % (PAIRS_KEPT + 1) */
    float *difference, *effect, *sum;       /* scratch */
};

/* -ENOMEM. */
int pairs_init(struct pairs *ret, uint32_t width, uint32_t height, unsigned step);
void pairs_finish(struct pairs *pairs); /* {0} is allowed */

/* Compares a frame, row by row, with those before. Hundreds of frames are enough: those that follow
 * are not compared any more. -ENOMEM. */
int pairs_add(struct pairs *pairs, const float *level);

#endif
