#include "estimators/flicker/flicker_frame.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "estimators/flicker/flicker_light.h"
#include "estimators/flicker/flicker_rows.h"

/* Thresholds were chosen on the clips of tests/unit/flicker.c. */
#define MIN_FRAMES  3u
#define START_STEPS 10u
#define ERROR_ON    0.1   /* relative error of the light in the newest frame, to begin */
#define ERROR_SEEN  0.2   /* to begin, with the observer's phase */
#define ERROR_OFF   0.3   /* to end */
#define MORE_ERROR  1.5   /* to end, as a multiple of that of the observer's light */
#define SEEN        0.002 /* least expected error of the observer's phase, cycles */
/* What the light leaves may be so much more than the observer has seen. */
#define MORE_REST   2.0
#define REST        0.05
#define STEADY      0.9 /* length of the mean of the phase's steps */
#define FORSAKEN    3u  /* frames without the light after which the fit begins again */
#define CLEAR       0.1 /* what the observer's model leaves then, at most */
#define LEAP        0.1 /* cycles; a phase that is farther from the predicted one leaps */
#define NEWEST      0.2 /* weight of the newest step in their mean */

struct flicker_frame {
    struct rows *rows;
    struct light_fit fit;
    bool is_on;
    double phase;        /* in the last lit frame, in cycles */
    unsigned age;        /* frames since then */
    bool has_leapt;      /* the last frame showed the light elsewhere than predicted */
    double complex step; /* mean of exp(2 pi i steps of the phase) */
};

int flicker_frame_create(struct flicker_frame **ret, unsigned width, unsigned height,
                         struct error *why)
{
    struct flicker_frame *f = calloc(1, sizeof *f);
    if (f == NULL)
        return error_set(why, ENOMEM, "out of memory for the flicker in a frame");
    const int r = rows_create(&f->rows, width, height, why);
    if (r < 0) {
        flicker_frame_destroy(f);
        return r;
    }
    *ret = f;
    return 0;
}

void flicker_frame_destroy(struct flicker_frame *f)
{
    if (f == NULL)
        return;
    rows_destroy(f->rows);
    free(f);
}

void flicker_frame_cut(struct flicker_frame *f)
{
    rows_reset(f->rows);
}

static void forget(struct flicker_frame *f)
{
    rows_reset(f->rows);
    f->is_on = false;
    f->step = 0;
}

/* The phase of the newest frame from the steps between those before; NAN if they differ. */
static double predicted_phase(const struct flicker_frame *f)
{
    return cabs(f->step) > STEADY ? f->phase + f->age * carg(f->step) / (2 * M_PI) : NAN;
}

/* Returns whether the newest frame's phase is far from the one that was predicted. */
static bool leaps(const struct flicker_frame *f, double predicted)
{
    const double off = f->fit.frame[f->fit.count - 1].phase - predicted;
    return isfinite(predicted) && fabs(off - round(off)) > LEAP;
}

static void follow_phase(struct flicker_frame *f, double phase)
{
    const double step = 2 * M_PI * (phase - f->phase);
    if (f->age == 1)
        f->step = f->step == 0 ? cos(step) + sin(step) * I
                               : (1 - NEWEST) * f->step + NEWEST * (cos(step) + sin(step) * I);
    f->phase = phase;
    f->age = 0;
}

/* Begins with the frame in which the observer found the light. Returns false if that frame is no
 * longer remembered. */
static bool start_from_seen(struct flicker_frame *f, const struct light_options *options)
{
    const struct flicker_model *prior = options->prior;
    const unsigned newest = f->rows->count - 1;
    for (unsigned i = 0; i < newest; i++) {
        if (f->rows->frame[i].captured_ns != prior->captured_ns)
            continue;
        f->fit = (struct light_fit){.rows_cycles = prior->rows_cycles, .noise = prior->noise};
        memcpy(f->fit.light, prior->light, sizeof f->fit.light);
        memcpy(f->fit.still, prior->still, sizeof f->fit.still);
        f->is_on =
            light_begin(&f->fit, f->rows, i, prior->phase, fmax(SEEN, prior->error / (2 * M_PI)));
        return true;
    }
    return false;
}

static void start(struct flicker_frame *f, const struct light_options *options)
{
    const struct flicker_model *prior = options->prior;
    if (start_from_seen(f, options)) {
        if (!f->is_on)
            return;
        light_improve(&f->fit, f->rows, options, START_STEPS);
        f->is_on = f->fit.error <= fmax(ERROR_SEEN, prior->error);
    } else {
        if (f->rows->count < MIN_FRAMES ||
            !fit_start(f->rows, prior->rows_cycles, prior->still, &f->fit))
            return;
        memcpy(f->fit.light, prior->light, sizeof f->fit.light);
        light_improve(&f->fit, f->rows, options, START_STEPS);
        f->is_on = f->fit.error <= fmax(ERROR_ON, prior->error) &&
                   f->fit.with <= (MORE_REST * prior->rest + REST) * f->fit.without;
    }
    f->step = 0;
    if (!f->is_on)
        return;
    for (unsigned i = 0; i < f->fit.count; i++) {
        f->age = i > 0;
        follow_phase(f, f->fit.frame[i].phase);
    }
}

/* Returns whether the newest frame is lit. */
static bool follow(struct flicker_frame *f, const struct flicker_model *model)
{
    const struct light_options options = {.prior = model};
    f->age++;
    if (!f->is_on) {
        start(f, &options);
        return f->is_on;
    }
    const double phase = predicted_phase(f);
    f->fit.rows_cycles = model->rows_cycles;
    if (f->rows->count == 1) {
        /* A light that the last scene did not show any more is not expected in a new one. */
        f->is_on = isfinite(phase) && !model->is_missing;
        if (f->is_on)
            light_predict(&f->fit, f->rows, phase);
    } else if (!light_add(&f->fit, f->rows, phase)) {
        /* The fit begins again if the observer sees the light clearly, and this fit does not. */
        f->is_on = f->age < FORSAKEN || model->is_missing || model->rest > CLEAR;
        return false;
    } else if (f->age > 1 && (model->is_missing || (leaps(f, phase) && !f->has_leapt))) {
        /* The last frame did not show the light. If the observer misses it as well, or this frame
         * shows it elsewhere than predicted, do not trust one lit frame. A second one that leaps is
         * trusted: a frame that was lost moves all phases that follow. */
        f->has_leapt = !model->is_missing;
        f->fit.frame[f->fit.count - 1].is_lit = false;
        return false;
    } else {
        f->has_leapt = false;
        light_improve(&f->fit, f->rows, &options, 2);
        f->is_on = f->fit.error <= fmax(ERROR_OFF, MORE_ERROR * model->error) &&
                   f->fit.with <= f->fit.without;
    }
    if (f->is_on)
        follow_phase(f, f->fit.frame[f->fit.count - 1].phase);
    return f->is_on;
}

bool flicker_frame_fit(struct flicker_frame *f, const struct flicker_model *model,
                       const float *luma, int64_t captured_ns, float *ret_gain)
{
    if (!model->is_valid && !model->is_suspected) {
        if (f->rows->count > 0)
            forget(f);
        return false;
    }
    rows_add(f->rows, luma, captured_ns);
    f->is_on &= model->is_valid;
    if (!model->is_valid || !follow(f, model))
        return false;
    const struct lit_frame *lit = &f->fit.frame[f->fit.count - 1];
    struct flicker_model light = {.is_valid = true, .rows_cycles = f->fit.rows_cycles};
    for (unsigned h = 0; h < FLICKER_HARMONICS; h++)
        light.light[h] = f->fit.light[h];
    flicker_model_gains(&light, lit->phase, f->rows->height, ret_gain);
    return true;
}
