/* Tells a light that is switched on or off from one whose bands move; for flicker_fit.h alone.
 * Pure.
 *
 * The amplitudes of frames with a light lie on a circle, and those of frames without it are the
 * centre. While bands hardly move, both are two points, and any circle through two points fits.
 * Only what moves along the circle afterwards says which of both is the centre. */
#ifndef FFTD_ESTIMATORS_FLICKER_FLICKER_LEAP_H
#define FFTD_ESTIMATORS_FLICKER_FLICKER_LEAP_H

#include <complex.h>
#include <stdbool.h>

enum leap {
    LEAP_NONE,    /* the circle through all frames is more probable */
    LEAP_UNKNOWN, /* which frames have the light is not known, or the newest has none */
    LEAP_BEGUN,   /* the frames from one on have the light, and those before have not */
};

struct leap_light {
    unsigned first; /* frame with the light */
    double complex centre;
    double radius;
};

static inline double leap_square(double complex z)
{
    return creal(z) * creal(z) + cimag(z) * cimag(z);
}

/* frames: at most ROWS_FRAMES. noise: standard deviation of both parts of an amplitude. on_circle:
 * the squares that the circle through all frames leaves. Fills ret for LEAP_BEGUN. */
enum leap leap_find(const double complex *amplitude, unsigned frames, double noise,
                    double on_circle, struct leap_light *ret);

#endif
