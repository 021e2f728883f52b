/* What is known about flickering light: a sum of waves over rows and time. Pure.
 *
 * Mains light and dimmed LEDs change at 100 or 120 Hz and their multiples. A sensor with a rolling
 * shutter exposes row r at the time t + r L after its first row, L being the line time. The
 * logarithm of the light is therefore, besides the scene's own,
 *
 *     sum over h of Re(amplitude[h] exp(2 pi i h (f t + c r))), c = f L
 *
 * Samples that are a power of the light (gamma) have the same form with other amplitudes, and one
 * factor per row corrects them. Samples near black and white do not follow the law exactly.
 *
 * Plain data: copy it to evaluate it in another thread. */
#ifndef FFTD_ESTIMATORS_FLICKER_MODEL_H
#define FFTD_ESTIMATORS_FLICKER_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#define FLICKER_HARMONICS 3u

struct flicker_model {
    bool is_valid;                                       /* false: all gains are 1 */
    double frequency_hz;                                 /* f */
    double rows_cycles;                                  /* c, cycles per row */
    double re[FLICKER_HARMONICS], im[FLICKER_HARMONICS]; /* of the amplitudes of log samples */
    int64_t reference_ns;                                /* where t is 0 */
    int64_t until_ns; /* gains of later frames are 1, as the phase is no longer known */
    double period_s;  /* between frames that were observed; 0: they are not regular */
    double jitter_s;  /* of time stamps about that period, standard deviation */
};

/* The logarithm of the light at a place in its cycle. */
double flicker_model_light(const struct flicker_model *model, double cycles);

/* Fills the factors that take the flicker out of a frame whose time stamp is at_ns: 0.5 .. 2. The
 * mean brightness over a cycle is kept. If frames are regular, the time stamp is first moved to the
 * nearest time at which a frame, or one that was skipped, is due, provided that jitter explains the
 * difference. */
void flicker_model_gains(const struct flicker_model *model, int64_t at_ns, unsigned height,
                         float *ret_gain);

#endif
