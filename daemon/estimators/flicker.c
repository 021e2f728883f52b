#include "estimators/flicker.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "estimators/flicker_fit.h"
#include "estimators/flicker_rows.h"
#include "estimators/flicker_timeline.h"
#include "estimators/motion.h"

#define WINDOW_NS       (1000 * NS_PER_MS) /* of the history */
#define GAP_NS          (500 * NS_PER_MS)  /* between frames, after which the history is useless */
#define HOLD_NS         (1000 * NS_PER_MS) /* for which a model is used without a new fit */
#define SEARCH_SPAN_NS  (200 * NS_PER_MS)  /* of the history, to search for flicker */
#define FIT_SPAN_NS     (400 * NS_PER_MS)  /* to improve what was found */
/* Where a comment gives no other reason, a threshold was chosen on the clips of
 * tests/unit/flicker.c, by its figures with FFTD_TEST_CLIPS=all: how far bands are down, and how
 * many clips without flicker are changed. */
#define MIN_FRAMES      8u
#define DEVIATION       0.007 /* of the light's frequency, mains and clock: 0.7 % */
/* Tried around each nominal frequency, 0.35 to 0.42 Hz apart: a history of a second tells 1 Hz. */
#define FREQUENCIES     5u
#define LINES           18u /* line times tried */
#define TRIALS          20u /* per frame; bounds its cost */
#define FINALISTS       3u
#define SHORTEST_LINE_S 5e-6
#define FOUND           0.35 /* of the squares explained, to go on with a candidate */
/* Error of the amplitude to begin and to end to correct. What it leaves is 34 and 28 dB down. */
#define ERROR_ON        0.02
#define ERROR_OFF       0.04
#define MIN_AMPLITUDE   0.002 /* of the fundamental; half a step of 8 bits in white */
/* Of the squares of new frames, to begin to correct; and to end, or to look for another fit. */
#define PREDICTED_ON    0.6
#define PREDICTED_OFF   0.3
#define PREDICTIONS     6u  /* frames, at least */
#define DEPTH_STEPS     64u /* of a cycle */
#define FORGET          0.9 /* per frame: about the last ten count */

struct flicker {
    struct flicker_options options;
    struct motion_estimator *motion;
    struct rows *rows;
    struct timeline timeline;
    /* The search. */
    unsigned trial;
    struct fit finalist[FINALISTS];
    /* What was found, and how well it predicts. */
    struct fit fit;
    bool has_fit, is_on;
    unsigned predictions;
    double without, with; /* squares of new frames without and with the waves */
    int64_t fitted_ns, since_ns;
};

int flicker_create(struct flicker **ret, unsigned width, unsigned height,
                   const struct flicker_options *options, struct error *why)
{
    static const struct flicker_options estimated;
    const struct flicker_options *wanted = options != NULL ? options : &estimated;
    if (wanted->line_time_us != 0 && !(wanted->line_time_us >= 1 && wanted->line_time_us <= 1000))
        return error_set(why, EINVAL,
                         "a line time of %g us is not possible: expected 1 .. 1000, or 0 to "
                         "estimate it",
                         wanted->line_time_us);
    if (wanted->frequency_hz != 0 && !(wanted->frequency_hz >= 20 && wanted->frequency_hz <= 1000))
        return error_set(why, EINVAL,
                         "light that flickers at %g Hz is not expected: 20 .. 1000, or 0 to "
                         "estimate it",
                         wanted->frequency_hz);
    struct flicker *f = calloc(1, sizeof *f);
    if (f == NULL)
        return error_set(why, ENOMEM, "out of memory for the estimator of flicker");
    f->options = *wanted;
    int err = motion_create(&f->motion, width, height, why);
    if (err == 0)
        err = rows_create(&f->rows, width, height, why);
    if (err < 0) {
        flicker_destroy(f);
        return err;
    }
    *ret = f;
    return 0;
}

void flicker_destroy(struct flicker *f)
{
    if (f == NULL)
        return;
    motion_destroy(f->motion);
    rows_destroy(f->rows);
    free(f);
}

static void restart_search(struct flicker *f)
{
    f->trial = 0;
    for (unsigned i = 0; i < FINALISTS; i++)
        f->finalist[i] = (struct fit){.explained = 0};
}

/* Goes back to the search. */
static void give_up(struct flicker *f)
{
    f->has_fit = f->is_on = false;
    restart_search(f);
}

static void forget(struct flicker *f)
{
    motion_reset(f->motion);
    rows_clear(f->rows);
    f->timeline = (struct timeline){.period_s = 0};
    give_up(f);
}

static int64_t history_ns(const struct rows *rows)
{
    return rows->count == 0 ? 0
                            : rows->frame[rows->count - 1].captured_ns - rows->frame[0].captured_ns;
}

/* Nominal frequencies to try. */
static unsigned nominal(const struct flicker *f, double ret_hz[2])
{
    ret_hz[0] = f->options.frequency_hz != 0 ? f->options.frequency_hz : 100;
    ret_hz[1] = 120;
    return f->options.frequency_hz != 0 ? 1 : 2;
}

/* The nominal frequency that a fit belongs to, or 0. */
static double nominal_of(const struct flicker *f, double hz)
{
    double nominal_hz[2];
    const unsigned count = nominal(f, nominal_hz);
    for (unsigned i = 0; i < count; i++)
        if (fabs(hz / nominal_hz[i] - 1) <= 1.5 * DEVIATION)
            return nominal_hz[i];
    return 0;
}

/* The range of waves across the frame, in cycles per row. */
static void line_range(const struct flicker *f, double hz, double *ret_least, double *ret_most)
{
    const struct rows *rows = f->rows;
    *ret_least = hz * SHORTEST_LINE_S;
    *ret_most = hz * (double)history_ns(rows) / NS_PER_S / (rows->count - 1) / rows->height;
    if (f->options.line_time_us != 0)
        *ret_least = *ret_most = hz * f->options.line_time_us * 1e-6;
}

/* One of the frequencies and line times to be tried; false after the last. */
static bool trial(const struct flicker *f, unsigned index, struct fit *ret)
{
    double nominal_hz[2], least, most;
    const unsigned lines = f->options.line_time_us != 0 ? 1 : LINES;
    const unsigned line = index % lines, frequency = index / lines % FREQUENCIES;
    const unsigned which = index / lines / FREQUENCIES;
    if (which >= nominal(f, nominal_hz))
        return false;
    const double offset = 2.0 * frequency / (FREQUENCIES - 1) - 1;
    *ret = (struct fit){.frequency_hz = nominal_hz[which] * (1 + DEVIATION * offset)};
    line_range(f, ret->frequency_hz, &least, &most);
    ret->rows_cycles = lines == 1 ? least : least + (most - least) * line / (lines - 1);
    return true;
}

/* Keeps the best candidates; one takes the place of a worse one that is near. */
static void keep_finalist(struct flicker *f, const struct fit *fit)
{
    unsigned place = FINALISTS;
    for (unsigned i = 0; i < FINALISTS && place == FINALISTS; i++)
        if (fabs(f->finalist[i].frequency_hz - fit->frequency_hz) < 1 &&
            fabs(f->finalist[i].rows_cycles - fit->rows_cycles) * f->rows->height < 0.5)
            place = i;
    for (unsigned i = 0; i < FINALISTS && place == FINALISTS; i++)
        if (f->finalist[i].explained < fit->explained)
            place = i;
    if (place < FINALISTS && f->finalist[place].explained < fit->explained)
        f->finalist[place] = *fit;
}

static bool is_plausible(const struct flicker *f, const struct fit *fit)
{
    double least, most;
    line_range(f, fit->frequency_hz, &least, &most);
    const double slack = 0.1 / f->rows->height;
    return fit->explained >= FOUND && nominal_of(f, fit->frequency_hz) != 0 &&
           fit->rows_cycles >= least - slack && fit->rows_cycles <= most + slack &&
           hypot(fit->re[0], fit->im[0]) >= MIN_AMPLITUDE;
}

static void improve(const struct flicker *f, struct fit *fit, unsigned steps)
{
    struct fit_options options = {.harmonics = FLICKER_HARMONICS, .bin_step = 1};
    for (unsigned i = 0; i < steps; i++) {
        fit_step(f->rows, f->timeline.time_s, &options, fit);
        options.moves_frequency = true;
        options.moves_rows_cycles = f->options.line_time_us == 0;
    }
    if (f->options.line_time_us != 0)
        fit->rows_cycles = fit->frequency_hz * f->options.line_time_us * 1e-6;
}

/* Tries some more candidates; after the last one begins with the best. */
static void search(struct flicker *f)
{
    const struct fit_options options = {.harmonics = 1, .bin_step = 4};
    struct fit fit;
    for (unsigned i = 0; i < TRIALS; i++) {
        if (!trial(f, f->trial, &fit))
            break;
        f->trial++;
        fit_step(f->rows, f->timeline.time_s, &options, &fit);
        keep_finalist(f, &fit);
    }
    if (trial(f, f->trial, &fit))
        return;
    f->fit = (struct fit){.explained = 0};
    for (unsigned i = 0; i < FINALISTS; i++) {
        fit = f->finalist[i];
        if (fit.explained <= 0)
            continue;
        improve(f, &fit, 4);
        if (fit.explained > f->fit.explained && is_plausible(f, &fit))
            f->fit = fit;
    }
    f->has_fit = f->fit.explained > 0;
    f->predictions = 0;
    f->with = f->without = 0;
    restart_search(f);
}

/* How well the waves predict the newest frame, which they were not fitted to: the squares of its
 * difference to the mean of the frames before, without and with them. */
static void predict(struct flicker *f)
{
    const struct rows *rows = f->rows;
    const unsigned newest = rows->count - 1;
    const struct rows_frame *frame = &rows->frame[newest];
    double without = 0, with = 0;
    unsigned bins = 0;
    for (int bin = frame->first_bin; bin < frame->first_bin + (int)frame->bins; bin++) {
        double sum = 0, sum_with = 0;
        unsigned count = 0;
        if (!rows_is_valid(rows, frame, bin))
            continue;
        for (unsigned k = 0; k < newest; k++) {
            const struct rows_frame *other = &rows->frame[k];
            if (!rows_is_valid(rows, other, bin))
                continue;
            const double value = other->value[bin - other->first_bin];
            sum += value;
            sum_with +=
                value - fit_value(&f->fit, rows, other->offset_px, bin, f->timeline.time_s[k]);
            count++;
        }
        if (count < 3)
            continue;
        const double value = frame->value[bin - frame->first_bin];
        const double rest = value - sum / count;
        const double rest_with =
            value - fit_value(&f->fit, rows, frame->offset_px, bin, f->timeline.time_s[newest]) -
            sum_with / count;
        without += rest * rest;
        with += rest_with * rest_with;
        bins++;
    }
    if (bins < 4)
        return;
    f->without = FORGET * f->without + without;
    f->with = FORGET * f->with + with;
    f->predictions++;
}

/* Begins or ends to correct. */
static void decide(struct flicker *f, int64_t captured_ns)
{
    if (f->predictions < PREDICTIONS)
        return;
    const double predicted = f->without > 0 ? 1 - f->with / f->without : 0;
    if (!f->is_on && predicted >= PREDICTED_ON && f->fit.error <= ERROR_ON) {
        f->is_on = true;
        f->since_ns = captured_ns;
    } else if (predicted < PREDICTED_OFF) {
        give_up(f);
    }
}

static void follow(struct flicker *f, int64_t captured_ns)
{
    if (f->rows->count < MIN_FRAMES || history_ns(f->rows) < SEARCH_SPAN_NS) {
        if (f->has_fit && captured_ns - f->fitted_ns > HOLD_NS)
            give_up(f);
        return;
    }
    if (!f->has_fit) {
        search(f);
        f->fitted_ns = captured_ns;
        return;
    }
    predict(f);
    decide(f, captured_ns);
    if (!f->has_fit || history_ns(f->rows) < FIT_SPAN_NS)
        return;
    struct fit fit = f->fit;
    improve(f, &fit, 3);
    if (is_plausible(f, &fit) && (!f->is_on || fit.error <= ERROR_OFF)) {
        f->fit = fit;
        f->fitted_ns = captured_ns;
    } else if (captured_ns - f->fitted_ns > HOLD_NS / 4) {
        give_up(f);
    }
}

void flicker_observe(struct flicker *f, const float *luma, int64_t captured_ns)
{
    struct rows *rows = f->rows;
    if (rows->count > 0) {
        const int64_t last_ns = rows->frame[rows->count - 1].captured_ns;
        if (captured_ns == last_ns)
            return;
        if (captured_ns < last_ns || captured_ns - last_ns > GAP_NS)
            forget(f);
    }
    struct motion motion;
    motion_observe(f->motion, luma, &motion);
    if (motion.is_plain)
        motion.dx = motion.dy = 0;
    rows_add(rows, luma, captured_ns, motion.is_sure || motion.is_plain ? &motion : NULL);
    rows_trim(rows, captured_ns - WINDOW_NS);
    timeline_update(&f->timeline, rows, &f->fit);
    follow(f, captured_ns);
}

bool flicker_model_get(const struct flicker *f, struct flicker_model *ret)
{
    *ret = (struct flicker_model){.is_valid = false};
    if (!f->is_on)
        return false;
    *ret = (struct flicker_model){
        .is_valid = true,
        .frequency_hz = f->fit.frequency_hz,
        .rows_cycles = f->fit.rows_cycles,
        .reference_ns = f->timeline.reference_ns,
        .until_ns = f->fitted_ns + HOLD_NS,
        .period_s = f->timeline.period_s,
        .jitter_s = f->timeline.jitter_s,
    };
    memcpy(ret->re, f->fit.re, sizeof ret->re);
    memcpy(ret->im, f->fit.im, sizeof ret->im);
    return true;
}

bool flicker_report(const struct flicker *f, struct flicker_report *ret)
{
    struct flicker_model model;
    if (!flicker_model_get(f, &model))
        return false;
    double least = INFINITY, most = -INFINITY;
    for (unsigned i = 0; i < DEPTH_STEPS; i++) {
        const double light = flicker_model_light(&model, (double)i / DEPTH_STEPS);
        least = fmin(least, light);
        most = fmax(most, light);
    }
    *ret = (struct flicker_report){
        .frequency_hz = f->fit.frequency_hz,
        .depth = tanh(0.5 * (most - least)),
        .line_time_ns = NS_PER_S * f->fit.rows_cycles / f->fit.frequency_hz,
        .since_ns = f->since_ns,
    };
    return true;
}
