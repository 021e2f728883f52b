#include "estimators/flicker/flicker_light.h"

#include <string.h>

#include "core/normal.h"

/* Columns: the light without the phase of light[0], c, and the sensor's rows. */
#define CYCLES       (2 * FLICKER_HARMONICS - 1)
#define STILL        (2 * FLICKER_HARMONICS)
#define SHARED       (STILL + FLICKER_STILL)
#define MAX_COLUMNS  (SHARED + 2 * ROWS_FRAMES + 1)
#define PRIOR        0.1 /* least expected error of a known light */
#define MAX_STEP     0.1 /* cycles, and cycles per height of the frame */
#define STILL_FRAMES 12u /* frames that light_find_still() fits, at most */

/* Expected, of the fundamental. */
static const double harmonic[FLICKER_HARMONICS] = {1, 0.3, 0.12, 0.05};
/* The expected effect of the sensor's rows: most lenses are nearly centred, with dark corners. */
static const double expected_still[FLICKER_STILL] = {0.05, 0.2, 0.05, 0.1};

struct equations {
    unsigned columns; /* without the values' */
    double product[MAX_COLUMNS][MAX_COLUMNS];
    double solution[MAX_COLUMNS];
};

static _Thread_local struct equations memory; /* 70 KB, too much for a stack */

/* Adds the equations of one bin, without its mean. Each has the shared columns and the two of its
 * frame. */
static unsigned add_bin(struct equations *e, const struct light_fit *fit, const struct rows *rows,
                        const struct view *view, int bin, double *sum)
{
    const unsigned n = e->columns;
    unsigned count = 0;
    memset(sum, 0, (n + 1) * sizeof *sum);
    for (unsigned i = 0; i < fit->count; i++) {
        const struct rows_frame *frame = light_frame(fit, rows, i);
        const unsigned own = SHARED + 2 * i;
        double column[SHARED + 3];
        if (!light_is_used(&fit->frame[i]) || !rows_is_valid(rows, frame, bin))
            continue;
        const double row = (bin + 0.5) * rows->bin_px + frame->offset_px - 0.5;
        const double complex phasor = rows_phasor(fit->frame[i].phase + fit->rows_cycles * row);
        const struct shine shine =
            fit->frame[i].is_lit ? light_shine(fit, view, phasor) : (struct shine){.value = 0};
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
    int first = light_frame(fit, rows, 0)->first_bin, end = first;
    unsigned samples = 0;
    const struct view view = light_view(fit, rows, light_frame(fit, rows, 0), 0);
    for (unsigned i = 0; i < fit->count; i++) {
        const struct rows_frame *frame = light_frame(fit, rows, i);
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
            const double weight = noise2 / pow(fit->frame[i].predicted_error, 2);
            e->product[at][at] += weight;
            value[at] += weight * (fit->frame[i].predicted - fit->frame[i].phase);
        }
        at++;
        e->product[at][at] += noise2 / (LIGHT_OFFSET * LIGHT_OFFSET);
        value[at] -= noise2 / (LIGHT_OFFSET * LIGHT_OFFSET) * fit->frame[i].offset;
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

/* How probable the light is. */
static void judge(struct light_fit *fit, const struct rows *rows)
{
    const double radius = fmax(creal(fit->light[0]), 1e-9);
    unsigned lit = 0, used = 0, samples;
    for (unsigned i = 0; i < fit->count; i++) {
        lit += fit->frame[i].is_lit;
        used += light_is_used(&fit->frame[i]);
    }
    fit->with = light_squares(fit, rows, &samples);
    /* An offset for each used frame, a phase for each lit one, what all share, and the scene. */
    const double fitted = used + lit + SHARED + (used > 0 ? (double)samples / used : 0);
    const double free = fmax(1, samples - fitted);
    fit->noise = fmax(LIGHT_NOISE, sqrt(fit->with / free));
    fit->cost = free * log(fit->with + 1e-9);
    for (unsigned h = 1; h < FLICKER_HARMONICS; h++)
        fit->cost += pow(cabs(fit->light[h]) / (harmonic[h] * radius), 2);
    fit->strain = 0;
    for (unsigned i = 0; i < FLICKER_STILL; i++) {
        fit->strain = fmax(fit->strain, fabs(fit->still[i]) / expected_still[i]);
        fit->cost += pow(fit->still[i] / expected_still[i], 2);
    }
    for (unsigned i = 0; i < fit->count; i++)
        if (light_is_used(&fit->frame[i]))
            fit->cost += pow(fit->frame[i].offset / LIGHT_OFFSET, 2);
}

/* Solves the equations for the sensor's rows and the offsets alone. without: has no light. */
static void solve_without(struct equations *e, const struct light_fit *without,
                          const struct rows *rows)
{
    static const struct light_options options;
    memset(e, 0, sizeof *e);
    e->columns = SHARED + 2 * without->count;
    add_all(e, without, rows);
    hold(e, without, rows, &options);
    for (unsigned i = 0; i <= CYCLES; i++)
        leave(e, i);
    normal_solve(e->product[0], MAX_COLUMNS, e->columns, e->solution);
}

/* The squares that are left without the light. The part of the sensor's rows is fitted again, since
 * it and the light may have taken a part of each other. */
static double squares_without(const struct light_fit *fit, const struct rows *rows,
                              struct equations *e, unsigned *ret_samples)
{
    struct light_fit without = *fit;
    memset(without.light, 0, sizeof without.light);
    solve_without(e, &without, rows);
    for (unsigned i = 0; i < FLICKER_STILL; i++)
        without.still[i] += e->solution[STILL + i];
    for (unsigned i = 0; i < fit->count; i++)
        without.frame[i].offset += e->solution[SHARED + 2 * i + 1];
    return light_squares(&without, rows, ret_samples);
}

void light_find_still(const struct rows *rows, double still[FLICKER_STILL])
{
    struct equations *e = &memory;
    struct light_fit dark = {.count = rows->count < STILL_FRAMES ? rows->count : STILL_FRAMES,
                             .noise = LIGHT_NOISE};
    for (unsigned i = 0; i < dark.count; i++)
        dark.frame[i] =
            (struct lit_frame){.serial = light_frame(&dark, rows, i)->serial, .is_off = true};
    solve_without(e, &dark, rows);
    for (unsigned i = 0; i < FLICKER_STILL; i++)
        still[i] = e->solution[STILL + i];
}

/* How well the light is known. */
static void find_errors(struct light_fit *fit, const struct rows *rows, struct equations *e)
{
    const double radius = fmax(creal(fit->light[0]), 1e-9);
    const unsigned newest = light_newest_lit(fit);
    unsigned samples;
    fit->error = fit->noise * sqrt(variance_of(e, 0) / radius / radius +
                                   4 * M_PI * M_PI * variance_of(e, SHARED + 2 * newest));
    fit->without = squares_without(fit, rows, e, &samples);
    fit->swing = fit->without / fmax(1e-12, 0.5 * samples * radius * radius);
}

void light_improve(struct light_fit *fit, const struct rows *rows,
                   const struct light_options *options, unsigned steps)
{
    struct equations *e = &memory;
    light_align(fit, rows);
    if (fit->count < 2)
        return;
    for (unsigned step = 0; step < steps; step++) {
        memset(e, 0, sizeof *e);
        e->columns = SHARED + 2 * fit->count;
        if (add_all(e, fit, rows) == 0)
            return;
        hold(e, fit, rows, options);
        if (!options->moves_rows_cycles)
            leave(e, CYCLES);
        normal_solve(e->product[0], MAX_COLUMNS, e->columns, e->solution);
        const struct light_fit before = *fit;
        if (step == 0)
            judge(fit, rows);
        const double cost = fit->cost;
        for (unsigned i = 0; i < 4; i++) {
            const double share = 1. / (1u << i);
            *fit = before;
            move(fit, rows, e->solution, share);
            judge(fit, rows);
            if (fit->cost <= cost + 1)
                break;
        }
    }
    find_errors(fit, rows, e);
}
