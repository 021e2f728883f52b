/* The spectrum that detail.c adds up, for what looks at it. */
#ifndef FFTD_DIAGNOSIS_DETAIL_PRIVATE_H
#define FFTD_DIAGNOSIS_DETAIL_PRIVATE_H

#include <complex.h>
#include <math.h>

#include "core/dft.h"
#include "detail.h"

/* One square of a scene, in the views that show it. */
struct detail_square {
    unsigned views;
    bool is_seen; /* in the view that is being added */
    bool is_left_out;
    double variance; /* added up over views */
    double added;    /* the variance in that view */
};

/* fields: a spectrum, the scene that is being added, and scratch memory */
struct detail {
    uint32_t width, height;
    unsigned side, squares;
    float *window;
    double complex *square; /* side x side: scratch memory, as are cross, line and sum */
    double complex *cross;  /* side x side */
    double complex *line;
    double *sum; /* (side + 1) x (side + 1): powers, added up from the corner on */
    float *mask; /* width x height: the weight of each sample of the scene */
    unsigned columns, rows;
    struct detail_square *place; /* columns x rows: of the scene that is being added */
    float complex *spectrum;     /* side x side for each: of all views, added up */
    float complex *view;         /* side x side for each: of the view that is being added */
    float *own;                  /* side x side for each: the power of each view, added up */
    unsigned views;              /* views of the scene that have been added */
    double *power;   /* side x side: added over squares, relative to the contrast of each */
    double *error;   /* side x side: the variance of that */
    double weights;  /* the sum of the squares' weights */
    double contrast; /* the weighted sum of the squares' variances */
    uint32_t *peaks; /* in how many squares a frequency stood out */
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

/* Returns what a blur by a line and a law of the scene leave of the logarithm of the power, as a
 * mean square, over all frequencies. size: 0 is no blur. INFINITY: there is no memory. */
double detail_plane_cost(const struct detail *detail, double size, double degrees);

/* Finds the least of these costs near a line. Returns it. */
double detail_plane_refine(const struct detail *detail, double *size, double *degrees);

#endif
