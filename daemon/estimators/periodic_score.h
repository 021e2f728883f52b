/* The statistic of one patch (periodic_spectrum.h): how far each of its frequencies stands out. */
#ifndef FFTD_ESTIMATORS_PERIODIC_SCORE_H
#define FFTD_ESTIMATORS_PERIODIC_SCORE_H

#include "core/vectors.h"
#include "estimators/periodic_spectrum.h"

/* Half the width of a wave's peak in bins, as the Hann window makes it. */
#define SCORE_LOBE  2
/* The frequencies around a bin are those within SCORE_OUTER bins along each axis, but not within
 * SCORE_LOBE: 96 bins, whose mean power is known to a tenth. */
#define SCORE_OUTER 5u

/* The bins of a row, rounded up to what is computed side by side. */
static inline unsigned score_stride(const struct spectrum *s)
{
    return (s->length / 2 + FLOATS) / FLOATS * FLOATS;
}

/* The scores of all bins, or their levels; those beyond the bins of a row mean nothing. */
static inline size_t score_size(const struct spectrum *s)
{
    return (size_t)s->length * score_stride(s);
}

/* A patch's powers with what is around them. */
static inline size_t score_bordered(const struct spectrum *s)
{
    return (size_t)(score_stride(s) + 2 * SCORE_OUTER) * (s->length + 2 * SCORE_OUTER);
}

/* The square of a frequency in bins. The power of pictures falls with it, so that the product is
 * about as high on all sides of a frequency. */
static inline float score_flatten(const struct spectrum *s, int kx, int ky)
{
    const int half = (int)s->length / 2;
    const int x = ((kx + half) & ((int)s->length - 1)) - half;
    const int y = ((ky + half) & ((int)s->length - 1)) - half;
    return (float)(x * x + y * y);
}

/* Adds the scores and levels of one of the two patches in the square to frame_score. */
void score_add(struct spectrum *spectrum, unsigned which);

#endif
