/* The power spectrum of a frame, and its image. */
#ifndef FFTD_PICTURES_SPECTRUM_H
#define FFTD_PICTURES_SPECTRUM_H

#include "picture.h"

#define SPECTRUM_SIDE 512

/* Computes the power of luma (of green for RGB) at SPECTRUM_SIDE x SPECTRUM_SIDE frequencies from
 * -0.5 to 0.5 cycles per pixel, row by row, with zero in the middle. The caller frees *ret.
 * -ENOMEM. */
int spectrum_create(double **ret, const struct pixels *pixels);

/* Draws powers on a logarithmic grey scale. White is the maximum of `reference` and black is 90 dB
 * below, so that spectra drawn with one reference can be compared. -ENOMEM. */
int spectrum_draw(struct picture *ret, const double *power, const double *reference);

#endif
