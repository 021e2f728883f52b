/* Fits one light to a history of rows; for flicker.h and flicker_frame.h alone. Pure.
 *
 * A value of bin b in frame n is p[b] + offset[n] + still(r) + light(phase[n] + c r) + error. The
 * light (flicker_model.h) and c are common to all frames, and the phase of each is free, so time
 * stamps do not matter. What is constant in a bin of the scene is taken out by subtracting means.
 * still() is fixed to the rows of the sensor: a pan under dark corners also changes the bins.
 *
 * Frames that are known to be without the light show the scene itself. Other frames that do not fit
 * are ignored. Threads: one at a time. */
#ifndef FFTD_ESTIMATORS_FLICKER_FLICKER_LIGHT_H
#define FFTD_ESTIMATORS_FLICKER_FLICKER_LIGHT_H

#include <stdbool.h>

#include "estimators/flicker/flicker_model.h"
#include "estimators/flicker/flicker_rows.h"

struct lit_frame {
    uint64_t serial; /* serial of the frame in the history */
    bool is_lit;
    bool is_off;       /* known to be without the light; neither is_lit nor is_off: ignored */
    double phase;      /* phase of the first row, in cycles */
    double offset;     /* change of exposure, logarithm */
    bool is_predicted; /* the phase is known from elsewhere */
    double predicted, predicted_error; /* that phase and its standard deviation, in cycles */
};

struct light_fit {
    unsigned count; /* frames, the oldest first; they are the newest ones of the history */
    struct lit_frame frame[ROWS_FRAMES];
    double rows_cycles;
    double complex light[FLICKER_HARMONICS]; /* light[0] is real */
    double still[FLICKER_STILL];
    double strain;        /* the largest of still[], relative to what lenses have */
    double without, with; /* squares left by offsets and still() alone, and with the light */
    double swing;         /* the share of the light's squares that changes */
    double cost;          /* the lower, the more probable is this light */
    double noise;         /* standard deviation of a value */
    double error;         /* standard deviation of the light in the newest lit frame, relative */
};

/* The light in a bin: the values of its waves, their sum and its slope per cycle. */
struct shine {
    double re[FLICKER_HARMONICS], im[FLICKER_HARMONICS]; /* derivatives by those of light[] */
    double value, slope;
};

/* One frame of the light: values that all of its bins share. */
struct view {
    double complex first, step; /* phasors of the first bin, and from bin to bin */
    double attenuation[FLICKER_HARMONICS];
};

/* Returns a * b, without what C asks for where numbers are infinite. */
static inline double complex light_turn(double complex a, double complex b)
{
    return (creal(a) * creal(b) - cimag(a) * cimag(b)) +
           (creal(a) * cimag(b) + cimag(a) * creal(b)) * I;
}

/* Returns one of the fit's frames in the history. */
static inline const struct rows_frame *light_frame(const struct light_fit *fit,
                                                   const struct rows *rows, unsigned i)
{
    return &rows->frame[rows->count - fit->count + i];
}

/* phase: of the first row, in cycles. */
struct view light_view(const struct light_fit *fit, const struct rows *rows,
                       const struct rows_frame *frame, double phase);

/* phasor: of the bin. */
struct shine light_shine(const struct light_fit *fit, const struct view *view,
                         double complex phasor);

/* Returns whether the frame contributes to the light or to the scene. */
static inline bool light_is_used(const struct lit_frame *frame)
{
    return frame->is_lit || frame->is_off;
}

/* Returns the newest frame that is lit, or the first if none is. */
static inline unsigned light_newest_lit(const struct light_fit *fit)
{
    unsigned newest = fit->count - 1;
    while (newest > 0 && !fit->frame[newest].is_lit)
        newest--;
    return newest;
}

/* The share of a harmonic's squares that changes from frame to frame in the scene; above 0.
 * harmonic: 0 is the fundamental. */
double light_swing(const struct light_fit *fit, const struct rows *rows, unsigned harmonic);

/* Returns whether the phase goes on steadily but for one leap, or at another speed from one frame
 * on. Light does not do that if no frame was skipped there: dark frames and lit ones are taken for
 * one light. */
bool light_leaps(const struct light_fit *fit, const struct rows *rows);

#endif
