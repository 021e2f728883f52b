/* What is known about flickering light: a sum of waves over the rows of a frame. Pure.
 *
 * Mains light and dimmed LEDs change periodically. A sensor with a rolling shutter exposes its rows
 * one after another. The logarithm of the light on row r is therefore, besides the scene's own,
 *
 *     sum over h of Re(light[h] exp(2 pi i h (phase + c r)))
 *
 * where c is the same in all frames and the phase is not. Samples that are a power of the light
 * (gamma) have the same form with other amplitudes, and one factor per row corrects them. Samples
 * near black and white do not follow the law exactly.
 *
 * Plain data: copy it to use it in another thread. */
#ifndef FFTD_ESTIMATORS_FLICKER_FLICKER_MODEL_H
#define FFTD_ESTIMATORS_FLICKER_FLICKER_MODEL_H

#include <complex.h>
#include <stdbool.h>
#include <stdint.h>

#define FLICKER_HARMONICS 4u
#define FLICKER_STILL     4u

struct flicker_model {
    bool is_valid;       /* false: there is no flicker, as far as is known */
    bool is_suspected;   /* there may be some soon: frames are remembered for its fit */
    bool is_missing;     /* the newest frames did not show it: it may have ended */
    double rows_cycles;  /* c, cycles per row */
    int64_t captured_ns; /* capture time of the newest frame that showed the light */
    double phase;        /* phase of that frame's first row, in cycles */
    double complex light[FLICKER_HARMONICS];
    double still[FLICKER_STILL]; /* flicker_model_still(), as far as it was seen */
    double error;                /* relative standard deviation of the light */
    double noise;                /* standard deviation of a value (flicker_rows.h), logarithm */
    double rest; /* 0 .. 1, of the squares of what changes; the light does not explain them */
};

/* The logarithm of the light at a place in its cycle. */
double flicker_model_light(const struct flicker_model *model, double cycles);

/* Returns the logarithm of the share of any light that a row of the sensor gets, for example
 * through a lens with dark corners; 0 in the middle. place: of the row, -1 (top) .. 1. */
double flicker_model_still(const double still[FLICKER_STILL], double place);

/* Fills the factors that take the flicker out of a frame: 0.5 .. 2. The mean brightness over a
 * cycle is kept. phase: of the first row, in cycles. */
void flicker_model_gains(const struct flicker_model *model, double phase, unsigned height,
                         float *ret_gain);

#endif
