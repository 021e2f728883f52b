/* Improves the vectors of a field of motion by those around them. Pure.
 *
 * The mean of two blocks on opposite sides of a block predicts its vector, also in a shear, a
 * rotation or a zoom. What such pairs agree on is joined with the block's own vector; each counts
 * as much as it is certain. How much motion differs from block to block is found from the field
 * itself. A block that is certain and moves otherwise than those around it keeps its vector.
 *
 * Threads: any, each with its own blocks. */
#ifndef FFTD_ESTIMATORS_MOTION_REPAIR_H
#define FFTD_ESTIMATORS_MOTION_REPAIR_H

#include <stdbool.h>

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

/* One block of each pair, from the block between them; the other one is opposite. */
struct motion_pair {
    int x, y;
};
extern const struct motion_pair motion_pairs[];

/* Joins each own vector with what is predicted: sets dx, dy, variance and what is predicted. */
void motion_repair(struct motion_block *block, unsigned columns, unsigned rows);

/* Afterwards, unless it was the last time: a block that differs a little from blocks that agree
 * gets their vector, and has to leave it again by itself. */
void motion_repair_doubts(struct motion_block *block, unsigned columns, unsigned rows);

/* Afterwards, the last time: takes out what the bending of motion has added to means over blocks.
 * Source of the maths: the second moment of a square. */
void motion_repair_bends(struct motion_block *block, unsigned columns, unsigned rows);

#endif
