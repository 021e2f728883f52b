#include "estimators/flicker/flicker_light.h"

#include <string.h>

#define PHASES        16u /* tried */
#define PHASE_STEPS   4u
#define LEAST_SCALE   0.5 /* least scale of a lit frame */
#define LARGEST_SCALE 1.6
#define MAX_STEP      0.1  /* cycles */
#define PREDICTED     0.02 /* expected error of a predicted phase, cycles */

/* The scene: in each bin the mean over frames without their light. */
struct scene {
    double own[ROWS_RING];
    unsigned count[ROWS_RING];
};

static void add_to_scene(const struct light_fit *fit, const struct rows *rows, unsigned i,
                         struct scene *scene)
{
    const struct rows_frame *frame = light_frame(fit, rows, i);
    const struct lit_frame *lit = &fit->frame[i];
    const struct view view = light_view(fit, rows, frame, lit->phase);
    double complex phasor = view.first;
    for (unsigned k = 0; k < frame->bins; k++, phasor = light_turn(phasor, view.step)) {
        const int bin = frame->first_bin + (int)k;
        const unsigned at = (unsigned)bin % ROWS_RING;
        if (!rows_is_valid(rows, frame, bin))
            continue;
        const double rest = (double)frame->value[k] - lit->offset -
                            flicker_model_still(fit->still, rows_place(rows, frame, bin)) -
                            (lit->is_lit ? light_shine(fit, &view, phasor).value : 0);
        scene->own[at] += (rest - scene->own[at]) / ++scene->count[at];
    }
}

/* How a frame fits the scene with that phase. */
struct match {
    double without, with, phase, offset, scale;
    unsigned count;
};

static void match_frame(const struct light_fit *fit, const struct rows *rows,
                        const struct scene *scene, const struct rows_frame *frame, double hold,
                        struct match *ret)
{
    const struct view view = light_view(fit, rows, frame, ret->phase);
    double complex phasor = view.first;
    double v = 0, vv = 0, w = 0, ww = 0, vw = 0, s = 0, ss = 0, ws = 0, vs = 0;
    unsigned n = 0;
    for (unsigned k = 0; k < frame->bins; k++, phasor = light_turn(phasor, view.step)) {
        const int bin = frame->first_bin + (int)k;
        const unsigned at = (unsigned)bin % ROWS_RING;
        if (scene->count[at] == 0 || !rows_is_valid(rows, frame, bin))
            continue;
        const double value = (double)frame->value[k] - scene->own[at] -
                             flicker_model_still(fit->still, rows_place(rows, frame, bin));
        const struct shine shine = light_shine(fit, &view, phasor);
        v += value;
        vv += value * value;
        w += shine.value;
        ww += shine.value * shine.value;
        vw += value * shine.value;
        s += shine.slope;
        ss += shine.slope * shine.slope;
        ws += shine.value * shine.slope;
        vs += value * shine.slope;
        n++;
    }
    ret->count = n;
    if (n == 0)
        return;
    /* The offset is held, so that light of a small part of a period is not taken for it. */
    const double m = n + hold;
    const double offset = (v - w) / m;
    ret->without = vv - v * v / n;
    ret->with = vv - 2 * vw + ww - (v - w) * (v - w) / m;
    ret->scale = (vw - w * v / m) / fmax(ww - w * w / m, 1e-12);
    ret->offset = offset;
    const double step = ((vs - ws) - s * (v - w) / m) / fmax(ss - s * s / m, 1e-12);
    ret->phase += fmax(-MAX_STEP, fmin(MAX_STEP, step));
}

static double offset_hold(const struct light_fit *fit)
{
    return fit->noise * fit->noise / (LIGHT_OFFSET * LIGHT_OFFSET);
}

/* The best phase of the newest frame. */
static struct match find_phase(const struct light_fit *fit, const struct rows *rows,
                               const struct scene *scene, const struct rows_frame *frame,
                               double phase)
{
    const unsigned starts = isfinite(phase) ? 1 : PHASES;
    const double hold = offset_hold(fit);
    struct match best = {.with = INFINITY};
    for (unsigned i = 0; i < starts; i++) {
        struct match match = {.phase = isfinite(phase) ? phase : (double)i / PHASES};
        match_frame(fit, rows, scene, frame, hold, &match);
        if (match.with < best.with)
            best = match;
    }
    for (unsigned i = 0; i < PHASE_STEPS; i++) {
        struct match match = best;
        match_frame(fit, rows, scene, frame, hold, &match);
        if (match.with > best.with && i > 0)
            break;
        best = match;
    }
    return best;
}

void light_align(struct light_fit *fit, const struct rows *rows)
{
    unsigned kept = 0, room = rows->count;
    for (unsigned i = 0; i < fit->count; i++)
        if (fit->frame[i].serial >= rows->frame[0].serial)
            fit->frame[kept++] = fit->frame[i];
    room = room > ROWS_FRAMES ? ROWS_FRAMES : room;
    if (kept > room)
        memmove(fit->frame, fit->frame + kept - room, room * sizeof *fit->frame);
    fit->count = kept > room ? room : kept;
}

/* Matches one of the fit's frames with the scene that the frames before it show. Returns whether it
 * is lit. */
static bool match_one(struct light_fit *fit, const struct rows *rows, unsigned number, double phase)
{
    static _Thread_local struct scene scene;
    const struct rows_frame *frame = light_frame(fit, rows, number);
    memset(&scene, 0, sizeof scene);
    struct lit_frame *lit = &fit->frame[number];
    *lit = (struct lit_frame){.serial = frame->serial};
    for (unsigned i = 0; i < number; i++)
        if (light_is_used(&fit->frame[i]))
            add_to_scene(fit, rows, i, &scene);
    struct match match = find_phase(fit, rows, &scene, frame, phase);
    if (isfinite(phase)) {
        const struct match other = find_phase(fit, rows, &scene, frame, NAN);
        if (other.with < 0.5 * match.with)
            match = other;
    }
    lit->phase = match.phase - floor(match.phase);
    lit->offset = match.offset;
    lit->is_lit = match.count > 0 && match.scale >= LEAST_SCALE && match.scale <= LARGEST_SCALE;
    return lit->is_lit;
}

bool light_add(struct light_fit *fit, const struct rows *rows, double phase)
{
    light_align(fit, rows);
    fit->count++;
    return match_one(fit, rows, fit->count - 1, phase);
}

bool light_begin(struct light_fit *fit, const struct rows *rows, unsigned first, double phase,
                 double error)
{
    bool is_lit = true;
    fit->count = rows->count - first;
    fit->frame[0] = (struct lit_frame){.serial = rows->frame[first].serial,
                                       .is_lit = true,
                                       .phase = phase,
                                       .is_predicted = true,
                                       .predicted = phase,
                                       .predicted_error = error};
    for (unsigned i = 1; i < fit->count; i++)
        is_lit = match_one(fit, rows, i, fit->frame[i - 1].phase);
    return is_lit;
}

void light_predict(struct light_fit *fit, const struct rows *rows, double phase)
{
    fit->frame[0] = (struct lit_frame){.serial = rows->frame[rows->count - 1].serial,
                                       .is_lit = true,
                                       .phase = phase,
                                       .is_predicted = true,
                                       .predicted = phase,
                                       .predicted_error = PREDICTED};
    fit->count = 1;
}

double light_squares(const struct light_fit *fit, const struct rows *rows, unsigned *ret_samples)
{
    static _Thread_local struct scene scene;
    struct light_fit dark = *fit;
    double squares = 0;
    memset(&scene, 0, sizeof scene);
    memset(dark.light, 0, sizeof dark.light);
    *ret_samples = 0;
    for (unsigned i = 0; i < fit->count; i++)
        if (light_is_used(&fit->frame[i]))
            add_to_scene(fit, rows, i, &scene);
    for (unsigned i = 0; i < fit->count; i++)
        if (light_is_used(&fit->frame[i])) {
            struct match match = {.phase = fit->frame[i].phase};
            match_frame(fit->frame[i].is_lit ? fit : &dark, rows, &scene, light_frame(fit, rows, i),
                        0, &match);
            squares += match.with;
            *ret_samples += match.count;
        }
    return squares;
}
