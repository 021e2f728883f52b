/* The spectrum that detail.c adds up, for what looks at it. */
#ifndef FFTD_DIAGNOSIS_DETAIL_PRIVATE_H
#define FFTD_DIAGNOSIS_DETAIL_PRIVATE_H

#include <complex.h>
#include <math.h>

#include "core/dft.h"
#include "detail.h"

struct detail {
    uint32_t width, height;
    unsigned side, squares;
    float *window;
    double complex *square; /* side x side: scratch memory, as are line and sum */
    double complex *line;
    double *sum;              /* (side + 1) x (side + 1): powers, added up from the corner on */
    double complex *spectrum; /* side x side: of one square in all views, added up */
    double *noise;            /* side x side: the power of each of them, added up */
    float *mask;              /* width x height: the weight of each sample */
    double *power;   /* side x side: added over squares, relative to the contrast of each */
    double *error;   /* side x side: the variance of that */
    uint32_t *peaks; /* in how many squares a frequency stood out */
    double contrast; /* mean variance of the squares */
    struct dft *dft;
};

/* The frequency of a column or row of `power`, in cycles per pixel. */
static inline double frequency_at(const struct detail *detail, unsigned at)
{
    return ((double)at - detail->side / 2.) / detail->side;
}

/* The squares of a window's samples add up to 3/8 of their number along each axis. */
static inline double window_power(const struct detail *detail)
{
    return pow(0.375 * detail->side, 2);
}

#endif
