/* Fits one light to a history of rows; for flicker.h and flicker_frame.h alone. flicker_fit.c
 * begins, flicker_match.c compares frames with the scene, and flicker_improve.c improves. Pure.
 *
 * A value of bin b in frame n is p[b] + offset[n] + still(r) + light(phase[n] + c r) + error. The
 * light (flicker_model.h) and c are common to all frames, and the phase of each is free, so time
 * stamps do not matter. What is constant in a bin of the scene is taken out by subtracting means.
 * still() is fixed to the rows of the sensor: a pan under dark corners also changes the bins.
 *
 * Frames that are known to be without the light show the scene itself. Other frames that do not fit
 * are ignored.
 *
 * Threads: one at a time. */
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

/* Returns whether the phase advances at about the same speed wherever no frame was skipped. */
bool light_is_steady(const struct light_fit *fit, const struct rows *rows);

/* Returns whether the phase is steady except for one leap or one change of speed, at a place where
 * no frame was skipped, or except for leaps where frames are ignored. A real light does neither:
 * dark frames were taken for lit ones. */
bool light_leaps(const struct light_fit *fit, const struct rows *rows);

/* Newest frames in a row that hardly change, once the light is off. */
#define LIGHT_STOPPED 2u

/* Returns whether the newest frames hardly change, although earlier lit frames did. Bands move, so
 * the light is then off, whatever the fit says, and a correction would only add bands. */
bool light_has_stopped(const struct light_fit *fit, const struct rows *rows);

/* Returns the standard deviation of a value's noise, estimated from the second differences along
 * bins of the change from frame to frame, and at least that of a fit. */
double light_white_noise(const struct rows *rows);

/* ---- what fits begin with, if nothing but the row period is given: flicker_fit.c ---- */

/* Returns the share of the squares that waves of that row period explain in every second bin of the
 * newest frames. still: the known effect of the sensor's rows (flicker_model.h). */
double fit_explained(const struct rows *rows, double rows_cycles,
                     const double still[FLICKER_STILL]);

/* Fills the light and the phases of all frames. Returns false if they do not determine a circle, or
 * if it is not known which of them have the light. */
bool fit_start(const struct rows *rows, double rows_cycles, const double still[FLICKER_STILL],
               struct light_fit *ret);

/* The same, for a light of constant frequency that all frames have. */
bool fit_start_steady(const struct rows *rows, double rows_cycles,
                      const double still[FLICKER_STILL], struct light_fit *ret);

/* ---- frames compared with what the others of a history show of the scene: flicker_match.c ---- */

#define LIGHT_OFFSET 0.0005 /* expected change of exposure, logarithm */
#define LIGHT_NOISE  3e-4   /* least standard deviation of a value, logarithm */

/* Forgets the frames that the history does not have any more. */
void light_align(struct light_fit *fit, const struct rows *rows);

/* Adds the newest frame of the history and forgets those that it does not have any more. Returns
 * whether it is lit. The phase is looked for near `phase`, or everywhere if that is not finite. */
bool light_add(struct light_fit *fit, const struct rows *rows, double phase);

/* Begins with frame `first` of the history, whose phase is known to within `error`, a standard
 * deviation in cycles, and matches all frames after it. The light, its row period and the noise
 * must be set. Returns whether the newest frame is lit. */
bool light_begin(struct light_fit *fit, const struct rows *rows, unsigned first, double phase,
                 double error);

/* Begins again with the newest frame of the history, in a scene of which nothing is known. */
void light_predict(struct light_fit *fit, const struct rows *rows, double phase);

/* Returns the residual sum of squares of all used frames with this light, and the number of their
 * samples. */
double light_squares(const struct light_fit *fit, const struct rows *rows, unsigned *ret_samples);

/* ---- the light, its row period and all phases together: flicker_improve.c ---- */

struct light_options {
    bool moves_rows_cycles;
    const struct flicker_model *prior; /* what the light is like; NULL: not known */
};

/* Improves them in this number of steps. */
void light_improve(struct light_fit *fit, const struct rows *rows,
                   const struct light_options *options, unsigned steps);

/* Fits what is fixed to the sensor's rows (flicker_model.h) to the newest frames, as if they were
 * without a light. */
void light_find_still(const struct rows *rows, double still[FLICKER_STILL]);

#endif
