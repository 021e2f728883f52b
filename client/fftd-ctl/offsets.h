/* The most likely offsets of columns, or of rows.
 *
 * Offsets are independent of each other. Their differences to the ones before were observed, and
 * differences between aligned frames (pairs.h), all with independent errors. So a sum of squares is
 * least: of the offsets, and of what is left of the differences, each over its variance. Of each
 * pair a mean and a slope are not counted, as light and the shadows of a lens leave them.
 *
 * Source of the maths: Rodgers, Inverse Methods for Atmospheric Sounding, for the most likely
 * offsets; Hestenes and Stiefel, J. Research of the National Bureau of Standards 49 (1952), for
 * conjugate gradients, which solve the equations. */
#ifndef FFTD_CTL_OFFSETS_H
#define FFTD_CTL_OFFSETS_H

#include <stdbool.h>

#include "pairs.h"

struct offsets_problem {
    uint32_t length;
    unsigned step;            /* samples between those that are compared */
    const double *difference; /* to the offset `step` before; the first ones are not used */
    double difference_error;  /* variance; infinite: they do not count */
    double pattern;           /* variance of the offsets */
    const struct pairs *pairs;
    bool is_row;       /* of the pairs, the rows count */
    double pair_error; /* variance, for a weight of 1 */
};

/* Fills in `length` offsets. -ENOMEM. */
int offsets_solve(const struct offsets_problem *problem, double *offset);

/* How far offsets explain the pairs. */
struct offsets_fit {
    unsigned pairs; /* that moved along the axis */
    double error;   /* mean square of what is left, times the weight */
    double pattern; /* variance of the offsets that the explained part shows */
};
int offsets_judge(const struct offsets_problem *problem, const double *offset,
                  struct offsets_fit *ret);

#endif
