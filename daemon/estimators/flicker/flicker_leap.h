/* Distinguishes a light that is switched on or off from one whose bands move; for flicker_fit.c
 * alone. Pure.
 *
 * The amplitudes of frames with a light are on a circle, and those of frames without it are at its
 * centre. While the bands hardly move, these are only two points, and any circle through both fits.
 * Which of the two is the centre shows only when the bands move along the circle. */
#ifndef FFTD_ESTIMATORS_FLICKER_FLICKER_LEAP_H
#define FFTD_ESTIMATORS_FLICKER_FLICKER_LEAP_H

#include <complex.h>
#include <stdbool.h>

enum leap {
    LEAP_NONE,    /* a circle through all frames is more probable */
    LEAP_UNKNOWN, /* it is uncertain which frames have the light, or the newest has none */
    LEAP_BEGUN,   /* all frames from `first` on have the light, and none before */
};

struct leap_light {
    unsigned first; /* the first frame with the light */
    double complex centre;
    double radius;
};

static inline double leap_square(double complex z)
{
    return creal(z) * creal(z) + cimag(z) * cimag(z);
}

/* Finds which explanation of the frames' amplitudes is the best. frames: at most ROWS_FRAMES.
 * noise: standard deviation of the real and of the imaginary part of an amplitude. on_circle:
 * residual sum of squares of the circle through all frames. ret is only meaningful for LEAP_BEGUN.
 */
enum leap leap_find(const double complex *amplitude, unsigned frames, double noise,
                    double on_circle, struct leap_light *ret);

#endif
