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

#define DETAIL_SIDE    128u /* pixels of a square's side; half of it in small frames */
#define DETAIL_COLUMNS 12u  /* squares side by side, at most */
#define DETAIL_ROWS    8u

/* fields: a spectrum, the scene that is being added, and scratch memory */
struct detail {
    uint32_t width, height;
    unsigned side, squares;
    float window[DETAIL_SIDE];
    double complex square[DETAIL_SIDE * DETAIL_SIDE]; /* scratch memory, as are cross and line */
    double complex cross[DETAIL_SIDE * DETAIL_SIDE];
    double complex line[DETAIL_SIDE];
    double sum[(DETAIL_SIDE + 1) * (DETAIL_SIDE + 1)]; /* powers, added up from the corner on */
    float *mask; /* width x height: the weight of each sample of the scene */
    unsigned columns, rows;
    struct detail_square place[DETAIL_COLUMNS * DETAIL_ROWS]; /* squares of the current scene */
    float complex *spectrum; /* side x side for each: of all views, added up */
    float complex *view;     /* side x side for each: of the view that is being added */
    float *own;              /* side x side for each: the power of each view, added up */
    unsigned views;          /* views of the scene that have been added */
    /* The following have side x side numbers. */
    double power[DETAIL_SIDE * DETAIL_SIDE];   /* added over squares, relative to their contrast */
    double error[DETAIL_SIDE * DETAIL_SIDE];   /* the variance of that */
    uint32_t peaks[DETAIL_SIDE * DETAIL_SIDE]; /* in how many squares a frequency stood out */
    double weights;                            /* the sum of the squares' weights */
    double contrast;                           /* the weighted sum of the squares' variances */
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
