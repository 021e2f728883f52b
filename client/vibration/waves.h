/* Fits waves to the shifts of a place (modes.h). Pure. */
#ifndef FFTD_VIBRATION_WAVES_H
#define FFTD_VIBRATION_WAVES_H

#include <complex.h>

#include "series.h"

#define WAVES_TREND        2u   /* functions of the time that are fitted along */
#define WAVES_OVERSAMPLING 4.0  /* frequencies of a search for 1 / seconds */
#define WAVES_HIGHEST      0.97 /* times half the rate, where sine and cosine become the same */

/* One known shift. `turn` are exp(2 pi i f t) of both pictures, at the frequency that a search has
 * reached, and `onward` is what leads to the next one. */
struct waves_row {
    double from_s, to_s; /* 0: the middle of all */
    double weight;
    double trend[WAVES_TREND]; /* orthonormal under the weights */
    double moved[2];           /* pixels, without trend and what has been subtracted */
    double complex turn[2], onward[2];
};

struct waves {
    unsigned count;
    double seconds, most_hz;
    double phase_s; /* the first picture of the series, on the time of the waves */
    struct waves_row *row;
};

/* a cos + b sin for both axes, as a - i b. */
struct waves_wave {
    double complex axis[2];
    double power; /* by how much it explains the shifts: pixels^2, under the weights */
};

/* Takes the known shifts of the mean of `count` places, without their trend. The caller calls
 * waves_finish, even after a failure. -ENODATA: fewer than `fewest` are known, and only ret->count
 * is set; -ENOMEM. */
int waves_create(struct waves *ret, const struct series *series, const unsigned *place,
                 unsigned count, unsigned fewest);
void waves_finish(struct waves *waves);

/* A search goes through frequencies in equal steps: waves_turn_to goes to the first one. waves_fit
 * fits a wave of the frequency that was reached, and goes on to the next one. What the wave shares
 * with the trends counts as the trends'. */
void waves_turn_to(struct waves *waves, double hz, double step_hz);
struct waves_wave waves_fit(struct waves *waves);

/* Fits a single frequency. */
struct waves_wave waves_fit_at(struct waves *waves, double hz);

/* Returns the frequency near `hz` that explains most of the shifts. */
double waves_refine(struct waves *waves, double hz);

/* Adds `sign` times a wave to the shifts, without what it shares with the trends. */
void waves_add(struct waves *waves, double hz, const struct waves_wave *wave, double sign);

#endif
