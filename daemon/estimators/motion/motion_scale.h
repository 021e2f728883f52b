/* Both pictures at one size, with the blocks of the field at this size. Pure.
 *
 * Threads: those of the field (motion_field.h). */
#ifndef FFTD_ESTIMATORS_MOTION_SCALE_H
#define FFTD_ESTIMATORS_MOTION_SCALE_H

#include <stdbool.h>

#include "estimators/motion/motion_level.h"
#include "estimators/motion/motion_repair.h"

struct motion_scale {
    struct motion_level pictures;
    unsigned cells, hop; /* a block's side, and from block to block; cells */
    unsigned columns, rows;
    struct motion_block *block; /* row by row */
    struct cell_moved *moved;
    float *left, *sorted; /* the blocks that are left, while they are worked on */
};

/* Pictures of width x height pixels in blocks of cells x cells cells. Returns false without memory;
 * motion_scale_clear is needed all the same. */
bool motion_scale_make(struct motion_scale *ret, unsigned width, unsigned height, unsigned cells);
void motion_scale_clear(struct motion_scale *scale);

/* The four blocks around a place, in blocks from the middle of the first one, and what lies between
 * their vectors there. Outside, the nearest ones. */
struct motion_quad {
    const struct motion_block *block[4];
    float dx, dy;
};

struct motion_quad motion_scale_at(const struct motion_scale *scale, float column, float row);

/* Sorts values, of which there is one at least, and returns the lower quartile. */
float motion_scale_quartile(float *values, unsigned count);

#endif
