/* The statistic of one patch: how far each of its frequencies stands out. Pure; for
 * periodic_spectrum.h alone. */
#ifndef FFTD_ESTIMATORS_PERIODIC_SCORE_H
#define FFTD_ESTIMATORS_PERIODIC_SCORE_H

#include <complex.h>
#include <stddef.h>

#include "core/vectors.h"

/* Half the width of a wave's peak in bins, as the Hann window makes it. */
#define SCORE_LOBE  2
/* The frequencies around a bin are those within SCORE_OUTER bins along each axis, but not within
 * SCORE_LOBE: 96 bins, whose mean power is known to a tenth. */
#define SCORE_OUTER 5u

/* The bins of a row, rounded up to what is computed side by side. */
static inline unsigned score_stride(unsigned length)
{
    return (length / 2 + FLOATS) / FLOATS * FLOATS;
}

/* Returns the number of scores, or levels, of all bins; those beyond the bins of a row mean
 * nothing. */
static inline size_t score_size(unsigned length)
{
    return (size_t)length * score_stride(length);
}

/* Returns the number of a patch's powers, with the border around them. */
static inline size_t score_bordered(unsigned length)
{
    return (size_t)(score_stride(length) + 2 * SCORE_OUTER) * (length + 2 * SCORE_OUTER);
}

/* The square of a frequency in bins. The power of pictures falls with it, so that the product is
 * about as high on all sides of a frequency. */
static inline float score_flatten(unsigned length, int kx, int ky)
{
    const int half = (int)length / 2;
    const int x = ((kx + half) & ((int)length - 1)) - half;
    const int y = ((ky + half) & ((int)length - 1)) - half;
    return (float)(x * x + y * y);
}

/* The spectra of two patches in one square, and memory of the caller. */
struct score {
    unsigned length;             /* the side of a patch */
    const float complex *square; /* one patch was its real part, the other its imaginary part */
    float *power;                /* score_bordered() numbers, which are 0 before the first call */
    float *sums;                 /* two times score_bordered() numbers */
    float *total;                /* score_size() scores, and as many levels */
};

/* Adds the scores and levels of one of the two patches to the total. */
void score_add(const struct score *score, unsigned which);

#endif
