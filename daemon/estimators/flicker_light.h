/* Fits one light to a history of rows; for flicker.h and flicker_frame.h alone. Pure.
 *
 * A value of bin b in frame n is p[b] + offset[n] + still(r) + light(phase[n] + c r) + error. The
 * light (flicker_model.h) and c are common to all frames, and the phase of each is free, so time
 * stamps do not matter. What is constant in a bin of the scene is taken out by subtracting means.
 * still() is fixed to the rows of the sensor: a pan under dark corners also changes the bins.
 *
 * Frames that the light is absent from stay out. Threads: one at a time. */
#ifndef FFTD_ESTIMATORS_FLICKER_LIGHT_H
#define FFTD_ESTIMATORS_FLICKER_LIGHT_H

#include <stdbool.h>

#include "estimators/flicker_model.h"
#include "estimators/flicker_rows.h"

struct lit_frame {
    uint64_t serial; /* of the history's frame */
    bool is_lit;
    double phase;  /* of the first row, in cycles */
    double offset; /* change of exposure, logarithm */
    bool is_predicted;
    double predicted; /* phase, if nothing of the scene is known from before */
    double scale;     /* of the light in this frame, about 1 */
};

struct light_fit {
    unsigned count; /* of frames, the oldest first; the newest ones of the history */
    struct lit_frame frame[ROWS_FRAMES];
    double rows_cycles;
    double complex light[FLICKER_HARMONICS]; /* light[0] is real */
    double still[FLICKER_STILL];
    double strain;        /* the largest of still[], relative to what lenses have */
    double without, with; /* squares left by offsets and still() alone, and with the light */
    double swing;         /* the share of the light's squares that changes */
    double cost;          /* of this light: the lower, the more probable */
    double noise;         /* of a value, standard deviation */
    double error;         /* of the light in the newest lit frame, relative; standard deviation */
};

#define LIGHT_SLOW     0.15 /* less than this swing: bands that hardly move */
#define LIGHT_STRAINED 3.0  /* more than this strain: no lens has it */

/* Returns whether still() and a light that hardly moves seem to cancel each other. */
static inline bool light_is_strained(const struct light_fit *fit)
{
    return fit->swing < LIGHT_SLOW && fit->strain > LIGHT_STRAINED;
}

/* The share of a harmonic's squares that changes from frame to frame in the scene; above 0.
 * harmonic: 0 is the fundamental. */
static inline double light_swing(const struct light_fit *fit, const struct rows *rows,
                                 unsigned harmonic)
{
    double complex sum = 0;
    unsigned lit = 0;
    for (unsigned i = 0; i < fit->count; i++)
        if (fit->frame[i].is_lit) {
            const double offset_px = rows->frame[rows->count - fit->count + i].offset_px;
            sum +=
                rows_phasor((harmonic + 1) * (fit->frame[i].phase + fit->rows_cycles * offset_px));
            lit++;
        }
    const double still = creal(sum) * creal(sum) + cimag(sum) * cimag(sum);
    return fmax(1 - still / lit / lit, 1e-6);
}

struct light_options {
    bool moves_rows_cycles;
    const struct flicker_model *prior; /* what the light is like; NULL: not known */
};

/* Adds the newest frame of the history and forgets those that it does not have any more. Returns
 * whether it is lit. The phase is looked for near `phase`, or everywhere if that is not finite. */
bool light_add(struct light_fit *fit, const struct rows *rows, double phase);

/* Begins again with the newest frame of the history, in a scene of which nothing is known. */
void light_predict(struct light_fit *fit, const struct rows *rows, double phase);

/* Improves everything by so many steps. */
void light_improve(struct light_fit *fit, const struct rows *rows,
                   const struct light_options *options, unsigned steps);

#endif
