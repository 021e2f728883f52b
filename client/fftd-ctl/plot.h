/* The picture of a filter's response: |H| over the plane of frequencies, and beside it its profile,
 * the mean and the range over all angles by distance from zero. */
#ifndef FFTD_CTL_PLOT_H
#define FFTD_CTL_PLOT_H

#include <stddef.h>

#include "picture.h"

/* The plane has one frequency a pixel, as the image of a spectrum has (spectrum.h): pixel i of a
 * row or column is at i / PLOT_SIDE - 0.5 cycles per pixel; y grows downwards. */
#define PLOT_SIDE   512
#define PLOT_RADII  (PLOT_SIDE + 1) /* 0 .. 0.5 cycles per pixel, one a column */
#define PLOT_ANGLES 360             /* in half a turn: H(-f) is the complex conjugate of H(f) */
#define PLOT_POINTS ((size_t)PLOT_SIDE * PLOT_SIDE + (size_t)PLOT_RADII * PLOT_ANGLES)

/* The frequency of a point, in cycles per pixel, below PLOT_POINTS. */
void plot_point(size_t index, double *ret_fx, double *ret_fy);

/* Draws |H| at PLOT_POINTS points. Each is finite and not negative. -ENOMEM. */
int plot_draw(struct picture *ret, const double *magnitudes);

#endif
