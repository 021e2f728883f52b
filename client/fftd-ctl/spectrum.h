/* What frequencies a frame is made of, as a picture. */
#ifndef FFTD_CTL_SPECTRUM_H
#define FFTD_CTL_SPECTRUM_H

#include "picture.h"

#define SPECTRUM_SIDE 512

/* Power of the first component (luma, or the green of RGB, which is most of it) at SPECTRUM_SIDE x
 * SPECTRUM_SIDE frequencies, -0.5 .. 0.5 cycles per pixel, row by row, zero in the middle. The
 * caller frees *ret. -ENOMEM. */
int spectrum_create(double **ret, const struct pixels *pixels);

/* Powers as grey, logarithmic: white is the greatest of `reference`, black 1e-9 (90 dB) of it, so
 * that spectra drawn with the same reference can be compared. */
int spectrum_draw(struct picture *ret, const double *power, const double *reference);

#endif
