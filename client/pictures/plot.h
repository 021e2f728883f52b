/* Draws a filter's response: |H| over the plane of frequencies, and beside it the profile. The
 * profile shows the mean and the range over all angles by distance from frequency zero. */
#ifndef FFTD_PICTURES_PLOT_H
#define FFTD_PICTURES_PLOT_H

#include <stddef.h>

#include "picture.h"

/* The plane has one frequency per pixel, like the image of a spectrum (spectrum.h). Pixel i of a
 * row or column is at i / PLOT_SIDE - 0.5 cycles per pixel; y grows downwards. */
#define PLOT_SIDE   512
#define PLOT_RADII  (PLOT_SIDE + 1) /* 0 .. 0.5 cycles per pixel, one per column */
#define PLOT_ANGLES 360             /* in half a turn: H(-f) is the complex conjugate of H(f) */
#define PLOT_POINTS ((size_t)PLOT_SIDE * PLOT_SIDE + (size_t)PLOT_RADII * PLOT_ANGLES)

/* Returns the frequency of a point, in cycles per pixel. The index is below PLOT_POINTS. */
void plot_point(size_t index, double *ret_fx, double *ret_fy);

/* Draws PLOT_POINTS magnitudes, which must be finite and not negative. -ENOMEM. */
int plot_draw(struct picture *ret, const double *magnitudes);

#endif
