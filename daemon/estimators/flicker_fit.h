/* Fits waves to the history of rows; for flicker.h alone. Pure.
 *
 * A value of bin b in frame n is p[b] + a t + b t^2 + c r + d r^2 + waves(r, t) + error. The first
 * constant is the scene's own. The slow terms take up changes of exposure and the shading of a
 * lens. All but the frequencies are linear, and what is constant in a bin is taken out by
 * subtracting means. */
#ifndef FFTD_ESTIMATORS_FLICKER_FIT_H
#define FFTD_ESTIMATORS_FLICKER_FIT_H

#include <stdbool.h>

#include "estimators/flicker_model.h"
#include "estimators/flicker_rows.h"

struct fit {
    double frequency_hz, rows_cycles;
    double re[FLICKER_HARMONICS], im[FLICKER_HARMONICS];
    double explained; /* 0 .. 1, of the squares that slow terms leave */
    double error;     /* of the fundamental's amplitude, standard deviation relative to it, if all
                         that moves is unknown */
    unsigned samples;
};

struct fit_options {
    unsigned harmonics; /* 1 .. FLICKER_HARMONICS */
    unsigned bin_step;  /* every so many bins are used */
    bool moves_frequency, moves_rows_cycles;
};

/* Fits the amplitudes for the frequencies in `fit`. Those that move are improved by one step, for
 * which the amplitudes in `fit` must be near. time_s: of the frames of the history. */
void fit_step(const struct rows *rows, const double *time_s, const struct fit_options *options,
              struct fit *fit);

/* What the waves add to a bin at offset_px (rows_frame) and that time. */
double fit_value(const struct fit *fit, const struct rows *rows, double offset_px, int bin,
                 double time_s);

/* Moves the time 0 of the waves by so many seconds. */
void fit_advance(struct fit *fit, double time_s);

#endif
