/* Two pictures at one size, as a field of motion compares them (motion_field.h). Pure.
 *
 * The picture is divided into cells of MOTION_CELL pixels. The last picture is moved towards the
 * new one, each cell by its own shift, and interpolated by a cubic B-spline; the new one is
 * smoothed by the same spline. What is left of their difference is explained by the gradient of the
 * new one. The sums for that are kept for each cell, so that blocks that overlap share them.
 *
 * Source of the maths: Unser, IEEE Signal Processing Magazine 16 (1999), for splines.
 *
 * Threads: a level is used by one thread at a time. */
#ifndef FFTD_ESTIMATORS_MOTION_LEVEL_H
#define FFTD_ESTIMATORS_MOTION_LEVEL_H

#include <stdbool.h>

#define MOTION_CELL             8u /* pixels */

/* What white noise of variance 1 adds to the square of a gradient, and to that of a difference. */
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

/* Returns false without memory; motion_level_clear is needed all the same. */
bool motion_level_make(struct motion_level *ret, unsigned width, unsigned height);
void motion_level_clear(struct motion_level *level);

/* The new picture becomes the last one. The caller then fills `next`. */
void motion_level_turn(struct motion_level *level);

/* After `next` was filled: makes what is derived from it. */
void motion_level_prepare(struct motion_level *level);

/* The sums of a cell of the grid whose content has moved by (dx, dy) pixels. */
void motion_level_sum(const struct motion_level *level, unsigned column, unsigned row, float dx,
                      float dy, struct cell_moved *ret);

/* The variance of the difference of a square of both pictures, whole pixels apart, from every
 * second row; INFINITY: most of the square would come from outside the picture. */
float motion_level_difference(const struct motion_level *level, int left, int top, int side, int dx,
                              int dy);

#endif
