/* Cells of a grid, each with sums over its pixels (motion_cells.h), and the shift on which they
 * agree. Pure. */
#ifndef FFTD_ESTIMATORS_MOTION_AGREEMENT_H
#define FFTD_ESTIMATORS_MOTION_AGREEMENT_H

#include <stdbool.h>

#define CELLS_MAX_COLUMNS  23u /* 16 pixels wide; pictures of 384 and more have wider columns */
#define CELLS_MAX_ROWS     12u

/* The most by which the contrast of a cell or a row may change, as a share of the mean of both.
 * This allows factors between 0.48 and 2.1. */
#define CELLS_MAX_CONTRAST 0.7
/* Variance of the noise that rounding to 8 bits always causes. */
#define CELLS_ROUNDING     0.05

/* A sinc windowed by a Gaussian. Fine details determine a shift best, so a kernel should keep them.
 * When a kernel is moved by a fraction of a pixel, the part of its response beyond half a cycle per
 * pixel causes an error. This error is smaller than that of a plain Gaussian which keeps the same
 * details. */
struct cells_kernel {
    double cut_off;   /* cycles/pixel, where the response is a half; 0: a Gaussian alone */
    double smoothing; /* standard deviation of the Gaussian, in pixels */
    double noise;     /* variance of the difference of two smoothed pictures with noise of 1 */
    double gradient;  /* share of `noise` that is taken for noise in the squares of a gradient */
    double error;     /* pixels; limits the weight of a cell with much contrast */
};

/* Sums over a cell of the gradient along x and y (X, Y), of the mean of both pictures (S) and of
 * their difference (R), and of the products of two of these. */
enum sum { XX, XY, YY, XS, YS, SS, XR, YR, SR, RR, X, Y, S, R, SUMS };

struct cell {
    double sum[SUMS];
    unsigned pixels;
    double raw[SUMS];  /* the sums before offset and contrast were taken out */
    double xx, xy, yy; /* squares of the gradient without those of the noise */
    double shift[2];   /* pixels by which the cell is off the shift so far */
    double rest;       /* squares of the difference that `shift` leaves */
    double telling;    /* 0 .. 1: how well the cell determines its shift */
    double weight;
};

struct cells {
    const struct cells_kernel *kernel;
    unsigned count;
    struct cell cell[CELLS_MAX_COLUMNS * CELLS_MAX_ROWS];
};

struct cells_shift {
    double dx, dy;    /* pixels to the right and down */
    double deviation; /* that of the shift in its least certain direction, by the noise; pixels */
    double agreement; /* share of the details that it explains, 0 .. 1 */
    double agreed;    /* number of cells that have details and agree */
    double noise;     /* variance; at first an upper limit, which may be INFINITY */
};

/* Solves the cells from their sums, and sets all of `shift` but dx and dy, to which `step` is to be
 * added. Returns false if the cells do not see anything. */
bool cells_agree(struct cells *cells, double step[2], struct cells_shift *shift);

#endif
