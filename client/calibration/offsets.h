/* Finds the most likely offsets of columns, or of rows.
 *
 * Offsets are independent of each other. Two kinds of differences were observed, with independent
 * errors: between neighbouring offsets, and between aligned frames (pairs.h). The most likely
 * offsets minimize the sum of their squares and of the squared residuals of the differences, each
 * divided by its variance. The mean and slope of each pair are ignored, because light and lens
 * shading cause them.
 *
 * Source of the maths: Rodgers, Inverse Methods for Atmospheric Sounding, for the most likely
 * offsets; Hestenes and Stiefel, J. Research of the National Bureau of Standards 49 (1952), for
 * conjugate gradients, which solve the equations. */
#ifndef FFTD_CALIBRATION_OFFSETS_H
#define FFTD_CALIBRATION_OFFSETS_H

#include <stdbool.h>

#include "pairs.h"

struct offsets_problem {
    uint32_t length;
    unsigned step;            /* samples between those that are compared */
    const double *difference; /* from the offset `step` before; the first `step` are unused */
    const double *weight;     /* 1 / variance of each difference; 0: ignore it */
    double pattern;           /* the variance of the offsets */
    const bool *is_far;       /* offsets that do not belong to the pattern, and may be any */
    const struct pairs *pairs;
    bool is_row;       /* use the rows of the pairs, not the columns */
    double pair_error; /* the variance of a difference with the weight 1 */
};

/* Computes `length` offsets. -ENOMEM. */
int offsets_solve(const struct offsets_problem *problem, double *offset);

/* How well offsets explain the pairs. */
struct offsets_fit {
    unsigned pairs; /* how many moved along the axis */
    double error;   /* mean square of the residuals, times the weight */
    double pattern; /* variance of the offsets, by the part that they explain */
};
int offsets_judge(const struct offsets_problem *problem, const double *offset,
                  struct offsets_fit *ret);

#endif
