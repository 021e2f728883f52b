#include "estimators/flicker_light.h"

#include <string.h>

#include "core/normal.h"

/* Columns: the light without the phase of light[0], c, and the sensor's rows. */
#define CYCLES        (2 * FLICKER_HARMONICS - 1)
#define STILL         (2 * FLICKER_HARMONICS)
#define SHARED        (STILL + FLICKER_STILL)
#define MAX_COLUMNS   (SHARED + 2 * ROWS_FRAMES + 1)
#define PHASES        16u /* tried */
#define PHASE_STEPS   4u
#define LEAST_SCALE   0.5 /* of a lit frame */
#define LARGEST_SCALE 1.6
#define OFFSET        0.0005 /* expected change of exposure */
#define PRIOR         0.1    /* least expected error of a known light */
#define PREDICTED     0.02   /* expected error of a predicted phase, cycles */
#define LEAST_NOISE   3e-4
#define MAX_STEP      0.1 /* cycles, and cycles per height of the frame */

/* Expected, of the fundamental. */
static const double harmonic[FLICKER_HARMONICS] = {1, 0.3, 0.12, 0.05};
/* The expected effect of the sensor's rows: most lenses are nearly centred, with dark corners. */
static const double expected_still[FLICKER_STILL] = {0.05, 0.2, 0.05, 0.1};

/* The light in a bin: the values of its waves, their sum and its slope per cycle. */
struct shine {
    double re[FLICKER_HARMONICS], im[FLICKER_HARMONICS]; /* derivatives by those of light[] */
    double value, slope;
};

/* What the bins of one frame have in common. */
struct view {
    double complex first, step; /* phasors of the first bin, and from bin to bin */
    double attenuation[FLICKER_HARMONICS];
};

static struct view view_of(const struct light_fit *fit, const struct rows *rows,
                           const struct rows_frame *frame, double phase)
{
    struct view view;
    const double row = (frame->first_bin + 0.5) * rows->bin_px + frame->offset_px - 0.5;
    view.first = rows_phasor(phase + fit->rows_cycles * row);
    view.step = rows_phasor(fit->rows_cycles * rows->bin_px);
    for (unsigned h = 0; h < FLICKER_HARMONICS; h++)
        view.attenuation[h] = rows_attenuation(rows, (h + 1) * fit->rows_cycles);
    return view;
}

static double complex times(double complex a, double complex b)
{
    return (creal(a) * creal(b) - cimag(a) * cimag(b)) +
           (creal(a) * cimag(b) + cimag(a) * creal(b)) * I;
}

static struct shine shine_of(const struct light_fit *fit, const struct view *view,
                             double complex phasor)
{
    struct shine shine = {.value = 0};
    double complex power = 1;
    for (unsigned h = 0; h < FLICKER_HARMONICS; h++) {
        power = times(power, phasor);
        const double c = view->attenuation[h] * creal(power),
                     s = view->attenuation[h] * cimag(power);
        shine.re[h] = c;
        shine.im[h] = -s;
        shine.value += creal(fit->light[h]) * c - cimag(fit->light[h]) * s;
        shine.slope -= 2 * M_PI * (h + 1) * (creal(fit->light[h]) * s + cimag(fit->light[h]) * c);
    }
    return shine;
}

static const struct rows_frame *frame_of(const struct light_fit *fit, const struct rows *rows,
                                         unsigned i)
{
    return &rows->frame[rows->count - fit->count + i];
}

/* The scene: in each bin the mean over lit frames without their light. */
struct scene {
    double own[ROWS_RING];
    unsigned count[ROWS_RING];
};

static void add_to_scene(const struct light_fit *fit, const struct rows *rows, unsigned i,
                         struct scene *scene)
{
    const struct rows_frame *frame = frame_of(fit, rows, i);
    const struct lit_frame *lit = &fit->frame[i];
    const struct view view = view_of(fit, rows, frame, lit->phase);
    double complex phasor = view.first;
    for (unsigned k = 0; k < frame->bins; k++, phasor = times(phasor, view.step)) {
        const int bin = frame->first_bin + (int)k;
        const unsigned at = (unsigned)bin % ROWS_RING;
        if (!rows_is_valid(rows, frame, bin))
            continue;
        const double rest = (double)frame->value[k] - lit->offset -
                            flicker_model_still(fit->still, rows_place(rows, frame, bin)) -
                            shine_of(fit, &view, phasor).value;
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
    const struct view view = view_of(fit, rows, frame, ret->phase);
    double complex phasor = view.first;
    double v = 0, vv = 0, w = 0, ww = 0, vw = 0, s = 0, ss = 0, ws = 0, vs = 0;
    unsigned n = 0;
    for (unsigned k = 0; k < frame->bins; k++, phasor = times(phasor, view.step)) {
        const int bin = frame->first_bin + (int)k;
        const unsigned at = (unsigned)bin % ROWS_RING;
        if (scene->count[at] == 0 || !rows_is_valid(rows, frame, bin))
            continue;
        const double value = (double)frame->value[k] - scene->own[at] -
                             flicker_model_still(fit->still, rows_place(rows, frame, bin));
        const struct shine shine = shine_of(fit, &view, phasor);
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
    return fit->noise * fit->noise / (OFFSET * OFFSET);
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

static void align(struct light_fit *fit, const struct rows *rows)
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

bool light_add(struct light_fit *fit, const struct rows *rows, double phase)
{
    static _Thread_local struct scene scene;
    const struct rows_frame *newest = &rows->frame[rows->count - 1];
    memset(&scene, 0, sizeof scene);
    align(fit, rows);
    struct lit_frame *lit = &fit->frame[fit->count++];
    *lit = (struct lit_frame){.serial = newest->serial};
    for (unsigned i = 0; i + 1 < fit->count; i++)
        if (fit->frame[i].is_lit)
            add_to_scene(fit, rows, i, &scene);
    struct match match = find_phase(fit, rows, &scene, newest, phase);
    if (isfinite(phase)) {
        const struct match other = find_phase(fit, rows, &scene, newest, NAN);
        if (other.with < 0.5 * match.with)
            match = other;
    }
    lit->phase = match.phase - floor(match.phase);
    lit->offset = match.offset;
    lit->scale = match.scale;
    lit->is_lit = match.count > 0 && match.scale >= LEAST_SCALE && match.scale <= LARGEST_SCALE;
    return lit->is_lit;
}

void light_predict(struct light_fit *fit, const struct rows *rows, double phase)
{
    fit->frame[0] = (struct lit_frame){.serial = rows->frame[rows->count - 1].serial,
                                       .is_lit = true,
                                       .phase = phase,
                                       .scale = 1,
                                       .is_predicted = true,
                                       .predicted = phase};
    fit->count = 1;
}

/* ---- all frames together ---- */

struct equations {
    unsigned columns; /* without the values' */
    double product[MAX_COLUMNS][MAX_COLUMNS];
    double solution[MAX_COLUMNS];
};

/* Adds the equations of one bin, without its mean. Each has the shared columns and the two of its
 * frame. */
static unsigned add_bin(struct equations *e, const struct light_fit *fit, const struct rows *rows,
                        const struct view *view, int bin, double *sum)
{
    const unsigned n = e->columns;
    unsigned count = 0;
    memset(sum, 0, (n + 1) * sizeof *sum);
    for (unsigned i = 0; i < fit->count; i++) {
        const struct rows_frame *frame = frame_of(fit, rows, i);
        const unsigned own = SHARED + 2 * i;
        double column[SHARED + 3];
        if (!fit->frame[i].is_lit || !rows_is_valid(rows, frame, bin))
            continue;
        const double row = (bin + 0.5) * rows->bin_px + frame->offset_px - 0.5;
        const double complex phasor = rows_phasor(fit->frame[i].phase + fit->rows_cycles * row);
        const struct shine shine = shine_of(fit, view, phasor);
        column[0] = shine.re[0];
        for (unsigned h = 1; h < FLICKER_HARMONICS; h++) {
            column[2 * h - 1] = shine.re[h];
            column[2 * h] = shine.im[h];
        }
        column[CYCLES] = shine.slope * (row - 0.5 * rows->height);
        const double place = rows_place(rows, frame, bin);
        for (unsigned j = 0; j < FLICKER_STILL; j++)
            column[STILL + j] = place * (j == 0 ? 1 : column[STILL + j - 1]);
        column[SHARED] = shine.slope;
        column[SHARED + 1] = 1;
        column[SHARED + 2] = (double)frame->value[bin - frame->first_bin] - fit->frame[i].offset -
                             flicker_model_still(fit->still, place) - shine.value;
        for (unsigned j = 0; j < SHARED + 3; j++) {
            const unsigned to = j < SHARED ? j : j < SHARED + 2 ? own + j - SHARED : n;
            sum[to] += column[j];
            for (unsigned k = 0; k <= j; k++) {
                const unsigned from = k < SHARED ? k : own + k - SHARED;
                e->product[to][j == k ? to : from] += column[j] * column[k];
            }
        }
        count++;
    }
    return count;
}

static unsigned add_all(struct equations *e, const struct light_fit *fit, const struct rows *rows)
{
    double sum[MAX_COLUMNS];
    int first = frame_of(fit, rows, 0)->first_bin, end = first;
    unsigned samples = 0;
    const struct view view = view_of(fit, rows, frame_of(fit, rows, 0), 0);
    for (unsigned i = 0; i < fit->count; i++) {
        const struct rows_frame *frame = frame_of(fit, rows, i);
        const int frame_end = frame->first_bin + (int)frame->bins;
        first = frame->first_bin < first ? frame->first_bin : first;
        end = frame_end > end ? frame_end : end;
    }
    for (int bin = first; bin < end; bin++) {
        const unsigned count = add_bin(e, fit, rows, &view, bin, sum);
        if (count == 0)
            continue;
        samples += count;
        for (unsigned i = 0; i <= e->columns; i++)
            if (sum[i] != 0)
                for (unsigned j = 0; j <= i; j++)
                    e->product[i][j] -= sum[i] * sum[j] / count;
    }
    return samples;
}

/* Holds what the frames may not determine. A harmonic that stands still while the fundamental
 * moves, as the third does where frames are thirds of a period apart, cannot be told from the
 * scene. */
static void hold(struct equations *e, const struct light_fit *fit, const struct rows *rows,
                 const struct light_options *options)
{
    const double noise2 = fit->noise * fit->noise;
    const double radius2 = creal(fit->light[0]) * creal(fit->light[0]);
    const double swing = light_swing(fit, rows, 0);
    double *value = e->product[e->columns], moves = 1;
    for (unsigned i = 0; i < CYCLES; i++) {
        const unsigned h = (i + 1) / 2;
        const double complex own = fit->light[h];
        const double now = i == 0 || i % 2 == 1 ? creal(own) : cimag(own);
        if (i % 2 == 1)
            moves = fmin(1, light_swing(fit, rows, h) / swing);
        double expected = 0, error2 = harmonic[h] * harmonic[h] * radius2 * moves;
        if (options->prior != NULL) {
            const double complex known = options->prior->light[h];
            expected = i == 0 || i % 2 == 1 ? creal(known) : cimag(known);
            error2 = pow(fmax(PRIOR, options->prior->error), 2) * radius2 * moves;
        } else if (i == 0) {
            continue;
        }
        e->product[i][i] += noise2 / error2;
        value[i] += noise2 / error2 * (expected - now);
    }
    for (unsigned i = 0; i < FLICKER_STILL; i++) {
        const double weight = noise2 / (expected_still[i] * expected_still[i]);
        const double expected = options->prior != NULL ? options->prior->still[i] : 0;
        e->product[STILL + i][STILL + i] += weight;
        value[STILL + i] += weight * (expected - fit->still[i]);
    }
    for (unsigned i = 0; i < fit->count; i++) {
        unsigned at = SHARED + 2 * i;
        if (fit->frame[i].is_predicted) {
            const double weight = noise2 / (PREDICTED * PREDICTED);
            e->product[at][at] += weight;
            value[at] += weight * (fit->frame[i].predicted - fit->frame[i].phase);
        }
        at++;
        e->product[at][at] += noise2 / (OFFSET * OFFSET);
        value[at] -= noise2 / (OFFSET * OFFSET) * fit->frame[i].offset;
    }
}

/* Leaves a column as it is. */
static void leave(struct equations *e, unsigned column)
{
    for (unsigned i = 0; i <= e->columns; i++)
        e->product[i > column ? i : column][i > column ? column : i] = 0;
}

static double variance_of(const struct equations *e, unsigned column)
{
    double work[MAX_COLUMNS];
    return normal_variance(e->product[0], MAX_COLUMNS, e->columns, column, work);
}

static double limited(double value, double limit)
{
    return fmax(-limit, fmin(limit, value));
}

static void move(struct light_fit *fit, const struct rows *rows, const double *solution,
                 double share)
{
    const double radius = creal(fit->light[0]);
    const double turn = share * limited(solution[CYCLES], MAX_STEP / rows->height);
    fit->rows_cycles += turn;
    fit->light[0] = fmax(0.3 * radius, radius + share * limited(solution[0], 0.5 * radius));
    for (unsigned h = 1; h < FLICKER_HARMONICS; h++)
        fit->light[h] += share * (limited(solution[2 * h - 1], 0.3 * radius) +
                                  limited(solution[2 * h], 0.3 * radius) * I);
    for (unsigned i = 0; i < FLICKER_STILL; i++)
        fit->still[i] += share * limited(solution[STILL + i], expected_still[i]);
    for (unsigned i = 0; i < fit->count; i++) {
        fit->frame[i].phase +=
            share * limited(solution[SHARED + 2 * i], MAX_STEP) - turn * 0.5 * rows->height;
        fit->frame[i].offset += share * solution[SHARED + 2 * i + 1];
    }
}

/* The squares of all lit frames that this light leaves; 0 for the light: what offsets leave. */
static double squares_left(const struct light_fit *fit, const struct rows *rows,
                           unsigned *ret_samples)
{
    static _Thread_local struct scene scene;
    double squares = 0;
    memset(&scene, 0, sizeof scene);
    *ret_samples = 0;
    for (unsigned i = 0; i < fit->count; i++)
        if (fit->frame[i].is_lit)
            add_to_scene(fit, rows, i, &scene);
    for (unsigned i = 0; i < fit->count; i++)
        if (fit->frame[i].is_lit) {
            struct match match = {.phase = fit->frame[i].phase};
            match_frame(fit, rows, &scene, frame_of(fit, rows, i), 0, &match);
            squares += match.with;
            *ret_samples += match.count;
        }
    return squares;
}

/* How probable the light is. */
static void judge(struct light_fit *fit, const struct rows *rows)
{
    const double radius = fmax(creal(fit->light[0]), 1e-9);
    unsigned lit = 0, samples;
    for (unsigned i = 0; i < fit->count; i++)
        lit += fit->frame[i].is_lit;
    fit->with = squares_left(fit, rows, &samples);
    const double known = 2.0 * lit + SHARED + (lit > 0 ? (double)samples / lit : 0);
    const double free = fmax(1, samples - known);
    fit->noise = fmax(LEAST_NOISE, sqrt(fit->with / free));
    fit->cost = free * log(fit->with + 1e-9);
    for (unsigned h = 1; h < FLICKER_HARMONICS; h++)
        fit->cost += pow(cabs(fit->light[h]) / (harmonic[h] * radius), 2);
    fit->strain = 0;
    for (unsigned i = 0; i < FLICKER_STILL; i++) {
        fit->strain = fmax(fit->strain, fabs(fit->still[i]) / expected_still[i]);
        fit->cost += pow(fit->still[i] / expected_still[i], 2);
    }
    for (unsigned i = 0; i < fit->count; i++)
        if (fit->frame[i].is_lit)
            fit->cost += pow(fit->frame[i].offset / OFFSET, 2);
}

/* The squares that are left without the light. The part of the sensor's rows is fitted again, since
 * it and the light may have taken a part of each other. */
static double squares_without(const struct light_fit *fit, const struct rows *rows,
                              struct equations *e, unsigned *ret_samples)
{
    static const struct light_options options;
    struct light_fit without = *fit;
    memset(without.light, 0, sizeof without.light);
    memset(e, 0, sizeof *e);
    e->columns = SHARED + 2 * fit->count;
    add_all(e, &without, rows);
    hold(e, &without, rows, &options);
    for (unsigned i = 0; i <= CYCLES; i++)
        leave(e, i);
    normal_solve(e->product[0], MAX_COLUMNS, e->columns, e->solution);
    for (unsigned i = 0; i < FLICKER_STILL; i++)
        without.still[i] += e->solution[STILL + i];
    for (unsigned i = 0; i < fit->count; i++)
        without.frame[i].offset += e->solution[SHARED + 2 * i + 1];
    return squares_left(&without, rows, ret_samples);
}

/* How well the light is known. */
static void find_errors(struct light_fit *fit, const struct rows *rows, struct equations *e)
{
    const double radius = fmax(creal(fit->light[0]), 1e-9);
    unsigned samples, newest = fit->count - 1;
    while (newest > 0 && !fit->frame[newest].is_lit)
        newest--;
    fit->error = fit->noise * sqrt(variance_of(e, 0) / radius / radius +
                                   4 * M_PI * M_PI * variance_of(e, SHARED + 2 * newest));
    fit->without = squares_without(fit, rows, e, &samples);
    fit->swing = fit->without / fmax(1e-12, 0.5 * samples * radius * radius);
}

void light_improve(struct light_fit *fit, const struct rows *rows,
                   const struct light_options *options, unsigned steps)
{
    static _Thread_local struct equations e;
    align(fit, rows);
    if (fit->count < 2)
        return;
    for (unsigned step = 0; step < steps; step++) {
        memset(&e, 0, sizeof e);
        e.columns = SHARED + 2 * fit->count;
        if (add_all(&e, fit, rows) == 0)
            return;
        hold(&e, fit, rows, options);
        if (!options->moves_rows_cycles)
            leave(&e, CYCLES);
        normal_solve(e.product[0], MAX_COLUMNS, e.columns, e.solution);
        const struct light_fit before = *fit;
        if (step == 0)
            judge(fit, rows);
        const double cost = fit->cost;
        for (unsigned i = 0; i < 4; i++) {
            const double share = 1. / (1u << i);
            *fit = before;
            move(fit, rows, e.solution, share);
            judge(fit, rows);
            if (fit->cost <= cost + 1)
                break;
        }
    }
    find_errors(fit, rows, &e);
}
