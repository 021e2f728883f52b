#include "estimators/flicker/flicker.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "estimators/flicker/flicker_light.h"
#include "estimators/flicker/flicker_rows.h"

#define WINDOW_NS    (3000 * NS_PER_MS) /* length of the history */
#define GAP_NS       (1000 * NS_PER_MS) /* between frames, after which the history is useless */
/* Where a comment gives no other reason, a threshold was chosen on the clips of
 * tests/unit/flicker.c, by its figures with FFTD_TEST_CLIPS=all. */
#define MIN_FRAMES   3u
#define START_STEPS  10u
#define STEPS        4u
#define DEVIATION    0.01 /* relative error of the light's frequency, due to mains and clock */
#define MIN_PERIODS  0.15 /* per height of the frame */
#define MAX_PERIODS  9.0  /* in ROWS_BINS bins: 7 bins each */
#define LONG_PERIODS 0.8
#define PERIODS      53u  /* tried */
#define FINE         0.01 /* periods: how well the best is known */
#define FOUND        0.8  /* begins if this share of the squares is explained */
#define FOUND_FEW    0.9  /* share for fewer than FEW_FRAMES that may be lit, and for slow bands */
#define FOUND_SLOW   0.95 /* share for bands that hardly move, if more than noise is left */
#define NOISE_ALONE  1.5  /* what is left is noise up to this many times that of a value */
#define FOUND_ROUGH  0.97 /* for slow bands in a scene that stands still; ERROR_ROUGH is allowed */
#define SEARCHED     0.4  /* what a search has found with a smaller share is not fitted */
#define SUSPECTED    0.6  /* enough to suspect flicker, whatever else there is */
#define FEW_FRAMES   7u
#define LONG_FRAMES  20u  /* a history that is that long may be halved */
#define LOST         0.3  /* ends if less than this share of the squares is explained */
#define ERROR_ON     0.05 /* relative error of the light in the newest frame, to begin */
#define ERROR_ROUGH  0.2  /* enough to begin to correct bands that hardly move */
#define ERROR_PAN    0.1 /* enough for bands that hardly move in a pan, if the light explains ALL */
#define ERROR_OFF    0.3
/* A light whose swing is below CLEAR is corrected only if its residual is at most MORE_NOISE times
 * the noise of a value, or if it explains at least the share ALL of the squares. */
#define CLEAR        0.4
#define MORE_NOISE   2.0
#define ALL          0.995
#define SLOW         0.15   /* less than this swing: bands that hardly move */
#define STRAINED     3.0    /* more than this strain: no lens has it */
#define MIN_RADIUS   0.0015 /* least amplitude of the fundamental */
#define PATIENCE     4u     /* frames without flicker until it has ended */
#define PATIENCE_NEW 12u    /* in a new scene, where slow bands need that many to show */
#define SURE_AGREE   0.7    /* least length of the mean phasor at a frequency that is known */
#define STEP_HZ      0.1
#define WIDE_HZ      0.25
#define MAX_HZ       1000.0
#define TOO_LONG     0.1 /* share of a frame by which the rows of mains may seem to last too long */
#define ALIKE        0.9 /* a frequency that agrees to this share of the best cannot be told from it */
#define MAINS_AGREE  0.5 /* mains that agree this well lose only to a PERFECT other frequency */
#define PERFECT      0.95
#define RANDOM       7.0 /* frames at random agree to sqrt(7 / their number) once in a thousand */
#define DEPTH_STEPS  64u /* in a cycle */

struct flicker {
    struct flicker_options options;
    struct rows *rows;
    struct light_fit fit;
    struct flicker_model model; /* from the newest frame that showed flicker */
    bool is_on;
    bool is_new;     /* the scene is, and the light was not fitted to it yet */
    unsigned misses; /* frames in a row that show no flicker */
    double frequency_hz, repeats_hz;
    int64_t last_ns; /* time stamp of the last frame, which rows may not have; 0: there was none */
};

int flicker_create(struct flicker **ret, unsigned width, unsigned height,
                   const struct flicker_options *options, struct error *why)
{
    static const struct flicker_options estimated;
    const struct flicker_options *wanted = options != NULL ? options : &estimated;
    struct flicker *f = calloc(1, sizeof *f);
    if (f == NULL)
        return error_set(why, ENOMEM, "out of memory for the estimator of flicker");
    f->options = *wanted;
    const int err = rows_create(&f->rows, width, height, why);
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
    rows_destroy(f->rows);
    free(f);
}

static void give_up(struct flicker *f)
{
    f->is_on = false;
    f->model.is_valid = f->model.is_suspected = false;
    f->misses = 0;
    f->frequency_hz = 0;
}

static void forget(struct flicker *f)
{
    rows_reset(f->rows);
    give_up(f);
}

/* The row period that explains most, and the share of the squares that it explains. */
static double search(const struct flicker *f, const double still[FLICKER_STILL], double *ret_share)
{
    const double height = f->rows->height;
    double best = 0, found = MIN_PERIODS;
    for (unsigned i = 0; i < PERIODS; i++) {
        const double periods = MIN_PERIODS + (MAX_PERIODS - MIN_PERIODS) * i / (PERIODS - 1);
        const double score = fit_explained(f->rows, periods / height, still);
        if (score > best) {
            best = score;
            found = periods;
        }
    }
    for (unsigned i = 0; 0.1 / (1u << i) >= FINE; i++) {
        const double before = found, step = 0.1 / (1u << i);
        for (int side = -1; side <= 1; side += 2) {
            const double tried = fmax(before + side * step, 0.8 * MIN_PERIODS);
            const double score = fit_explained(f->rows, tried / height, still);
            if (score > best) {
                best = score;
                found = tried;
            }
        }
    }
    *ret_share = best;
    return found / height;
}

/* Returns how many frames may say something of the light's phase. */
static unsigned frames_with_phase(const struct light_fit *fit)
{
    unsigned frames = 0;
    for (unsigned i = 0; i < fit->count; i++)
        frames += !fit->frame[i].is_off;
    return frames;
}

/* How well the phases of the frames agree with a frequency: 0 .. 1. */
static double agreement(const struct flicker *f, double hz)
{
    const struct rows *rows = f->rows;
    const unsigned frames = frames_with_phase(&f->fit);
    double re = 0, im = 0;
    for (unsigned i = 0; i < f->fit.count; i++) {
        if (f->fit.frame[i].is_off)
            continue;
        const double time_s = (double)(rows->frame[rows->count - f->fit.count + i].captured_ns -
                                       rows->frame[rows->count - 1].captured_ns) /
                              NS_PER_S;
        const double cycles = f->fit.frame[i].phase - hz * time_s;
        re += cos(2 * M_PI * cycles);
        im += sin(2 * M_PI * cycles);
    }
    return frames > 0 ? hypot(re, im) / frames : 0;
}

static double best_near(const struct flicker *f, double from, double to, double step,
                        double *ret_agreement)
{
    double best = 0, found = from;
    for (unsigned i = 0; from + i * step <= to; i++) {
        const double hz = from + i * step, score = agreement(f, hz);
        if (score > best) {
            best = score;
            found = hz;
        }
    }
    *ret_agreement = best;
    return found;
}

static bool is_mains(double hz)
{
    return fabs(hz / 100 - 1) <= DEVIATION || fabs(hz / 120 - 1) <= DEVIATION;
}

/* Frames that are whole numbers of intervals apart tell a frequency only up to multiples of their
 * rate. */
static double find_repeats(const struct flicker *f)
{
    const struct rows *rows = f->rows;
    double least_ns = INFINITY, intervals = 0;
    for (unsigned i = 1; i < rows->count; i++)
        least_ns =
            fmin(least_ns, (double)(rows->frame[i].captured_ns - rows->frame[i - 1].captured_ns));
    for (unsigned i = 1; i < rows->count; i++)
        intervals +=
            round((double)(rows->frame[i].captured_ns - rows->frame[i - 1].captured_ns) / least_ns);
    const double passed_ns =
        (double)(rows->frame[rows->count - 1].captured_ns - rows->frame[0].captured_ns);
    const double rate_hz = NS_PER_S * intervals / passed_ns;
    return agreement(f, f->frequency_hz + rate_hz) > ALIKE * agreement(f, f->frequency_hz) ? rate_hz
                                                                                           : 0;
}

/* Takes mains near their frequency, from `least` on, if they agree better than `best`. */
static bool find_mains(struct flicker *f, double least, double *best)
{
    bool is_found = false;
    for (unsigned i = 0; i < 2; i++) {
        const double nominal = i == 0 ? 100 : 120;
        double sure;
        if (nominal < least * (1 - TOO_LONG))
            continue;
        const double hz =
            best_near(f, nominal * (1 - DEVIATION), nominal * (1 + DEVIATION), STEP_HZ, &sure);
        if (sure > *best) {
            *best = sure;
            f->frequency_hz = hz;
            is_found = true;
        }
    }
    return is_found;
}

/* Lowers the agreement of a frequency before it is compared with that of mains. By chance, most
 * late frames agree with one of thousands of frequencies, but hardly all; a few also agree with
 * mains. */
static double chance(const struct flicker *f, double agreement)
{
    const double mains = fmax(MAINS_AGREE, sqrt(RANDOM / frames_with_phase(&f->fit)));
    return agreement >= PERFECT ? ALIKE * agreement : fmin(ALIKE * agreement, mains);
}

/* The frequency of the light from the phases of the fundamental; false if it is not the one that is
 * wanted. Frames at regular times leave many frequencies, of which mains are the most probable, and
 * after them the one that is known. Another one has to agree clearly better. */
static bool find_frequency(struct flicker *f)
{
    const struct rows *rows = f->rows;
    double best = 0, known = 0, sure, hz;
    if (f->frequency_hz > 0) {
        f->frequency_hz = best_near(f, f->frequency_hz - 0.3, f->frequency_hz + 0.3, 0.02, &best);
        if (best >= SURE_AGREE && (f->options.frequency_hz != 0 || is_mains(f->frequency_hz)))
            return true;
        known = is_mains(f->frequency_hz) ? 0 : best;
    }
    if (f->options.frequency_hz != 0) {
        hz = f->options.frequency_hz;
        f->frequency_hz = best_near(f, hz * (1 - DEVIATION), hz * (1 + DEVIATION), STEP_HZ, &sure);
        return sure >= SURE_AGREE;
    }
    /* The rows of a frame are exposed before the next frame begins. */
    const double passed_s =
        (double)(rows->frame[rows->count - 1].captured_ns - rows->frame[0].captured_ns) / NS_PER_S;
    const double least = f->fit.rows_cycles * rows->height * (rows->count - 1) / passed_s;
    best = known > 0 ? chance(f, known) : best;
    const bool is_known = !find_mains(f, least, &best) && known > 0;
    best = is_known ? ALIKE * known : best;
    if (best >= ALIKE * SURE_AGREE)
        return true;
    hz = best_near(f, least, fmax(MAX_HZ, least), WIDE_HZ, &sure);
    if ((is_known ? ALIKE * sure : chance(f, sure)) <= best)
        return true;
    f->frequency_hz = hz;
    const double repeats_hz = find_repeats(f);
    if (repeats_hz > 0)
        f->frequency_hz -= repeats_hz * floor((hz - least) / repeats_hz);
    return true;
}

/* Returns the share of the squares that the light explains. */
static double share_explained(const struct light_fit *fit)
{
    return fit->without > 0 ? 1 - fit->with / fit->without : 0;
}

/* Returns whether the scene moved under what is fixed to the rows of the sensor, which may then be
 * taken for light that hardly moves. */
static bool has_panned(const struct flicker *f)
{
    const struct rows *rows = f->rows;
    return rows->frame[0].offset_px != rows->frame[rows->count - 1].offset_px;
}

/* Returns whether what is fixed to the sensor and a light that hardly moves seem to cancel each
 * other. */
static bool is_strained(const struct light_fit *fit)
{
    return fit->swing < SLOW && fit->strain > STRAINED;
}

/* Returns whether hardly anything but noise remains after the light is subtracted. */
static bool is_all(const struct flicker *f)
{
    return share_explained(&f->fit) >= ALL ||
           f->fit.noise <= MORE_NOISE * light_white_noise(f->rows);
}

/* Returns whether the history shows flickering light. */
static bool is_flicker(struct flicker *f)
{
    const struct light_fit *fit = &f->fit;
    const double share = share_explained(fit);
    const double periods = fit->rows_cycles * f->rows->height;
    if (creal(fit->light[0]) < MIN_RADIUS || periods < 0.8 * MIN_PERIODS ||
        periods > 1.1 * MAX_PERIODS || is_strained(fit))
        return false;
    const bool is_slow = fit->swing < SLOW;
    if (f->is_on && !f->is_new) /* in a pan, slow bands may become what dark corners leave */
        return share >= LOST && fit->error <= ERROR_OFF &&
               (!is_slow || !has_panned(f) || is_all(f)) && find_frequency(f);
    const bool is_few = frames_with_phase(fit) < FEW_FRAMES;
    const double noise = light_white_noise(f->rows);
    const double enough = is_slow && fit->noise > NOISE_ALONE * noise ? FOUND_SLOW
                          : is_slow || is_few                         ? FOUND_FEW
                                                                      : FOUND;
    const bool is_rough = is_slow && share >= (has_panned(f) ? ALL : FOUND_ROUGH);
    const double error = !is_rough ? ERROR_ON : has_panned(f) ? ERROR_PAN : ERROR_ROUGH;
    return share >= enough && fit->error <= error && (fit->swing >= CLEAR || is_all(f)) &&
           !light_leaps(fit, f->rows) && find_frequency(f);
}

/* Fits the light, starting with a row period, and keeps the fit if it is the most probable so far.
 * If the frame shows only a part of a period, the period is uncertain, and others are tried. */
static void start(struct flicker *f, double rows_cycles, const double still[FLICKER_STILL],
                  const struct light_options *options)
{
    static const double factors[] = {1, 0.6, 1.6};
    const bool is_long = rows_cycles * f->rows->height < LONG_PERIODS && options->moves_rows_cycles;
    for (unsigned i = 0; i < (is_long ? 3 : 1); i++) {
        struct light_fit fit;
        if (!fit_start(f->rows, factors[i] * rows_cycles, still, &fit)) {
            if (i == 0)
                return;
            continue;
        }
        light_improve(&fit, f->rows, options, START_STEPS);
        if (fit.cost < f->fit.cost)
            f->fit = fit;
        if (!fit_start_steady(f->rows, factors[i] * rows_cycles, still, &fit))
            continue;
        light_improve(&fit, f->rows, options, START_STEPS);
        if (fit.cost < f->fit.cost && light_is_steady(&fit, f->rows))
            f->fit = fit;
    }
}

static void keep_model(struct flicker *f)
{
    const unsigned newest = light_newest_lit(&f->fit);
    f->model =
        (struct flicker_model){.is_valid = true,
                               .rows_cycles = f->fit.rows_cycles,
                               .captured_ns = light_frame(&f->fit, f->rows, newest)->captured_ns,
                               .phase = f->fit.frame[newest].phase,
                               .error = f->fit.error,
                               .noise = f->fit.noise,
                               .rest = f->fit.with / f->fit.without};
    f->repeats_hz = find_repeats(f);
    memcpy(f->model.light, f->fit.light, sizeof f->model.light);
    memcpy(f->model.still, f->fit.still, sizeof f->model.still);
}

/* Forgets everything before the newest `frames` frames. */
static void keep_newest(struct rows *rows, unsigned frames)
{
    if (frames < rows->count)
        rows_trim(rows, rows->frame[rows->count - frames].captured_ns);
}

/* Returns whether half of a long history is better than all of it. What moves in the scene adds to
 * the values in each frame, so those of a long history are off by more than noise. The bands must
 * pass through a whole cycle in what is left. */
static bool is_too_long(const struct flicker *f)
{
    const unsigned first = f->fit.count / 2;
    double cycles = 0;
    for (unsigned i = first + 1; i < f->fit.count; i++) {
        const double step = f->fit.frame[i].phase - f->fit.frame[i - 1].phase;
        cycles += step - round(step);
    }
    return f->rows->count >= LONG_FRAMES && fabs(cycles) >= 1 &&
           f->fit.noise > MORE_NOISE * light_white_noise(f->rows) &&
           light_is_steady(&f->fit, f->rows);
}

static void follow(struct flicker *f)
{
    const bool is_given = f->options.line_time_us != 0 && f->options.frequency_hz != 0;
    const double given = f->options.line_time_us * 1e-6 * f->options.frequency_hz;
    const struct light_options options = {.moves_rows_cycles = !is_given};
    bool is_lit = true;
    f->is_new |= f->rows->count == 1;
    if (f->rows->count < 2)
        return;
    if (f->is_on && !f->is_new) {
        is_lit = light_add(&f->fit, f->rows, NAN);
        light_improve(&f->fit, f->rows, &options, STEPS);
    } else {
        double share = 0, rows_cycles = is_given ? given : f->model.rows_cycles;
        if (!is_given && !f->is_on)
            rows_cycles = search(f, f->model.still, &share);
        else if (!f->is_on)
            share = fit_explained(f->rows, rows_cycles, f->model.still);
        f->model.is_suspected = share >= SUSPECTED;
        if (f->rows->count < MIN_FRAMES)
            return;
        f->fit.cost = INFINITY;
        if (f->is_on || share >= SEARCHED)
            start(f, rows_cycles, f->model.still, &options);
        if (!is_given && !f->is_on && share >= SEARCHED && has_panned(f)) {
            /* Dark corners that pass hide the row period, unless their effect is taken out first.
             * It is known best while there is no light. */
            double still[FLICKER_STILL];
            light_find_still(f->rows, still);
            rows_cycles = search(f, still, &share);
            if (share >= SEARCHED)
                start(f, rows_cycles, still, &options);
        }
        is_lit = isfinite(f->fit.cost);
        /* A pan under dark corners looks like a wave until the effect of the sensor's rows is
         * known. */
        f->model.is_suspected &=
            !has_panned(f) || (is_lit && share_explained(&f->fit) >= SUSPECTED);
    }
    const bool is_fitted = is_lit || (f->is_on && !f->is_new);
    const bool has_stopped = is_fitted && light_has_stopped(&f->fit, f->rows);
    if (has_stopped && f->is_on && !f->is_new) {
        keep_newest(f->rows, LIGHT_STOPPED + 1);
        give_up(f);
    } else if (is_lit && !has_stopped && is_flicker(f)) {
        f->is_on = true;
        f->is_new = false;
        f->misses = 0;
        keep_model(f);
    } else if (!f->is_on && is_lit && is_too_long(f)) {
        keep_newest(f->rows, f->rows->count / 2);
    } else if (f->is_on && ++f->misses >= (f->is_new ? PATIENCE_NEW : PATIENCE)) {
        if (!is_lit)
            keep_newest(f->rows, f->misses);
        give_up(f);
    }
    f->model.is_missing = f->misses > 0 && !f->is_new;
}

void flicker_observe(struct flicker *f, const float *luma, int64_t captured_ns)
{
    struct rows *rows = f->rows;
    if (f->last_ns != 0) {
        if (captured_ns == f->last_ns)
            return;
        if (captured_ns < f->last_ns || captured_ns - f->last_ns > GAP_NS)
            forget(f);
    }
    f->last_ns = captured_ns;
    rows_add(rows, luma, captured_ns);
    rows_trim(rows, captured_ns - WINDOW_NS);
    follow(f);
}

void flicker_cut(struct flicker *f)
{
    rows_reset(f->rows);
}

bool flicker_model_get(const struct flicker *f, struct flicker_model *ret)
{
    *ret = f->model;
    return ret->is_valid;
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
        .frequency_hz = f->frequency_hz,
        .repeats_hz = f->repeats_hz,
        .depth = tanh(0.5 * (most - least)),
        .line_time_ns = NS_PER_S * model.rows_cycles / f->frequency_hz,
    };
    return true;
}
