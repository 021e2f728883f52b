/* ARM's mixed-radix transform of rows (arm.cl), as parts of a pipeline. */
#ifndef FFTD_TESTS_BENCH_ARTICLES_ARM_H
#define FFTD_TESTS_BENCH_ARTICLES_ARM_H

#include "articles.h"

#define ARM_MAX_STAGES 22

struct arm_axis {
    uint32_t length, pitch; /* pitch: distance between rows, complex numbers */
    unsigned stage_count;
    uint32_t radix[ARM_MAX_STAGES];
    bool sines;                   /* twiddles are computed: programs have -DSINCOS */
    cl_mem index;                 /* digit-reversed order, uint */
    cl_mem table[ARM_MAX_STAGES]; /* twiddles of all stages but the first; NULL with sines */
};

/* Splits a length into radices of 8, 7, 5, 4, 3 and 2, or of those in `radices`, which ends with 0.
 * The pipeline has failed if the length has another factor. */
void arm_factor(struct pipeline *p, struct arm_axis *axis, uint32_t length,
                const uint32_t *radices);
void arm_make_tables(struct pipeline *p, struct arm_axis *axis);

/* The articles' map from an element in digit-reversed order to its source. */
uint32_t arm_digit_reversed(const struct arm_axis *axis, uint32_t n);

/* (cos, sin) of 2 pi k / n, k = 0 .. n - 1. */
cl_mem arm_roots(struct pipeline *p, uint32_t n);

/* Adds the transform of `rows` rows, from `in` to `out`: a gather, and stages in place. Each kernel
 * is launched for all rows at once, or for each row. */
void arm_add_rows(struct pipeline *p, cl_program program, const struct arm_axis *axis,
                  uint32_t rows, cl_mem in, cl_mem out, bool row_by_row);

/* The same in plain C, out of place, one row after another. `roots` are those of arm_roots. */
void arm_host_rows(float complex *out, const float complex *in, const struct arm_axis *axis,
                   const float complex *roots, uint32_t rows, bool inverse);
float complex *arm_host_roots(struct pipeline *p, uint32_t n);

#endif
