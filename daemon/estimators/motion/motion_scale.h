/* The parts of a field of motion at one of its sizes, for motion_field.c and for the plan of a
 * field on a device (engine/field). motion_scale.c, motion_level.c, motion_search.c,
 * motion_start.c, motion_fit.c and motion_repair.c define them. Pure.
 *
 * Both pictures are divided into cells of MOTION_CELL pixels. The last picture is moved towards the
 * new one, each cell by its own shift, and interpolated by a cubic B-spline; the new one is
 * smoothed by the same spline. What is left of their difference is explained by the gradient of the
 * new one. The sums for that are kept for each cell, so that blocks that overlap share them.
 *
 * The mean of two blocks on opposite sides of a block predicts its vector, also in a shear, a
 * rotation or a zoom. What such pairs agree on is joined with the block's own vector; each counts
 * as much as it is certain. How much motion differs from block to block is found from the field
 * itself. A block that is certain and moves otherwise than those around it keeps its vector.
 *
 * Source of the maths: Unser, IEEE Signal Processing Magazine 16 (1999), for splines.
 *
 * Threads: those of the field (motion_field.h). */
#ifndef FFTD_ESTIMATORS_MOTION_SCALE_H
#define FFTD_ESTIMATORS_MOTION_SCALE_H

#include <stdbool.h>

#include "core/error.h"

/* ---- pictures ---- */

#define MOTION_CELL             8u /* pixels */

/* White noise of variance 1 adds this much to the square of a gradient, and of a difference. */
#define MOTION_GRADIENT_NOISE   0.118F
#define MOTION_DIFFERENCE_NOISE 0.47F

/* Sums over the pixels of a cell: x, y is the gradient of the new picture, s its samples; u, v is
 * the place of a pixel, from the middle of the cell. */
struct cell_still {
    float xx, xy, yy, x, y, s, ss;
    float xxu, xyu, yyu, xxv, xyv, yyv;
};

/* r: what is left of the difference. */
struct cell_moved {
    float xr, yr, r, rr;
    float pixels; /* 0: the shift leads out of the picture */
    float dx, dy; /* the shift */
};

struct motion_level {
    unsigned width, height; /* pixels */
    unsigned columns, rows; /* cells */
    float *last, *next;
    float *smooth, *gx, *gy; /* the new picture, and its gradient */
    struct cell_still *still;
};

/* After `next` was filled: makes what is derived from it. */
void motion_level_prepare(struct motion_level *level);

/* The sums of a cell of the grid whose content has moved by (dx, dy) pixels. */
void motion_level_sum(const struct motion_level *level, unsigned column, unsigned row, float dx,
                      float dy, struct cell_moved *ret);

/* The variance of the difference of a square of both pictures, whole pixels apart, from every
 * second row; INFINITY: most of the square would come from outside the picture. */
float motion_level_difference(const struct motion_level *level, int left, int top, int side, int dx,
                              int dy);

/* ---- blocks ---- */

/* fields: a block's own estimate, what others say of it, and what follows */
struct motion_block {
    float dx, dy;   /* the vector in use; pixels */
    float variance; /* its, along each axis; pixels^2 */

    float own_dx, own_dy;
    float xx, xy, yy;  /* the inverse of the covariance of its own vector; 1/pixels^2 */
    float misfit;      /* what its own vector leaves of the difference, times what is usual */
    bool is_ambiguous; /* it looks the same with another vector */

    float predicted_dx, predicted_dy;
    float support; /* the inverse of the prediction's variance */
    float excess;  /* by which both differ more than noise explains; of 2 */
    bool is_rough; /* the blocks around it do not agree */
    bool is_lone;  /* they agree on this, and it differs: */
    float around_dx, around_dy;
};

struct motion_scale {
    struct motion_level pictures;
    unsigned cells, hop; /* a block's side, and from block to block; cells */
    unsigned columns, rows;
    struct motion_block *block; /* row by row */
    struct cell_moved *moved;
    float *left, *sorted; /* the blocks that are left, while they are worked on */
    float *memory;        /* holds the pictures, `left` and `sorted` */
};

/* The four blocks around a place, in blocks from the middle of the first one, and what lies between
 * their vectors there. Outside, the nearest ones. */
struct motion_quad {
    const struct motion_block *block[4];
    float dx, dy;
};

struct motion_quad motion_scale_at(const struct motion_scale *scale, float column, float row);

/* Reorders the values, at least one, and returns their lower quartile. */
float motion_scale_quartile(float *values, unsigned count);

/* ---- where the content of a small square came from, to whole pixels, by phase correlation ---- */

#define MOTION_SEARCH_SIDE  32u /* pixels */
#define MOTION_SEARCH_PEAKS 3u

struct motion_search;

struct motion_peak {
    int dx, dy; /* pixels that the content has moved right and down */
};

/* -ENOMEM. */
int motion_search_create(struct motion_search **ret, struct error *why);
void motion_search_destroy(struct motion_search *search); /* NULL is allowed */

/* The highest peaks of the correlation of a square of both pictures, the highest first. */
void motion_search_square(struct motion_search *search, const struct motion_level *level,
                          unsigned left, unsigned top, struct motion_peak ret[MOTION_SEARCH_PEAKS]);

/* ---- the shifts with which blocks begin, to about a pixel ---- */

/* At the smallest size: searches for each block, and takes the best of what was found for it and
 * those around it. peaks: memory for MOTION_SEARCH_PEAKS peaks of each block. */
void motion_start_search(struct motion_search *search, struct motion_peak *peaks,
                         struct motion_scale *scale);

/* At another size: takes the best of the vectors around each block at half the size. Blocks of
 * which no vector explains much are searched for again; at the full size only some, for the time.
 */
void motion_start_from(struct motion_search *search, const struct motion_scale *coarse,
                       struct motion_scale *scale, bool is_full_size);

/* ---- from there to hundredths of a pixel ---- */

/* Each pass fits the gradient of each block, and joins what was found with that of the blocks
 * around it. Sets all of each block but whether it is ambiguous. */
void motion_fit(struct motion_scale *scale, unsigned passes);

/* ---- vectors improved by those around them ---- */

/* One block of each pair, from the block between them; the other one is opposite. */
struct motion_opposite {
    int x, y;
};
extern const struct motion_opposite motion_opposites[];

/* Joins each own vector with what is predicted: sets dx, dy, variance and what is predicted. */
void motion_repair(struct motion_block *block, unsigned columns, unsigned rows);

/* Afterwards, unless it was the last time: a block that differs a little from blocks that agree
 * gets their vector, and has to leave it again by itself. */
void motion_repair_doubts(struct motion_block *block, unsigned columns, unsigned rows);

/* Afterwards, the last time: takes out what the bending of motion has added to means over blocks.
 * Source of the maths: the second moment of a square. */
void motion_repair_bends(struct motion_block *block, unsigned columns, unsigned rows);

#endif
