#include "stripes.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define REACH             80 /* bins on each side of 0; larger differences are edges */
#define BINS              (2 * REACH + 1)
#define BIN               (1 / 255.) /* the width of a bin, as a share of white */
#define ITERATIONS        30
/* Both halves of the frames show much of the same scene, so most of a difference's error is common
 * to them. Of the factors from 1 to 60, this one removed most of the pattern, both in front of
 * textures and in front of panned photographs. */
#define COMMON_ERROR      14
#define ENOUGH_PAIRS      8     /* with this many, the pairs determine all variances */
#define PAIR_COMMON_ERROR 4     /* errors of neighbouring differences of a pair are similar */
#define MIN_VARIANCE      1e-10 /* for offsets and errors: 1/400 of a grey level, squared */

/* ---- memory ---- */

static int init_axis(struct stripes_axis *axis, uint32_t length)
{
    axis->length = length;
    for (unsigned i = 0; i < 2; i++)
        axis->count[i] = calloc((size_t)length * BINS, sizeof *axis->count[i]);
    axis->offset = calloc(length, sizeof *axis->offset);
    return axis->count[0] != NULL && axis->count[1] != NULL && axis->offset != NULL ? 0 : -ENOMEM;
}

static void finish_axis(struct stripes_axis *axis)
{
    free(axis->count[0]);
    free(axis->count[1]);
    free(axis->offset);
}

int stripes_init(struct stripes *ret, uint32_t width, uint32_t height, unsigned step,
                 unsigned frames)
{
    const size_t count = (size_t)width * height;
    struct stripes stripes = {.step = step,
                              .expected = frames,
                              .first = malloc(count * sizeof *stripes.first),
                              .level = malloc(count * sizeof *stripes.level)};
    int r = init_axis(&stripes.column, width);
    if (r == 0)
        r = init_axis(&stripes.row, height);
    if (r == 0)
        r = pairs_init(&stripes.pairs, width, height, step);
    if (r == 0 && (stripes.first == NULL || stripes.level == NULL))
        r = -ENOMEM;
    if (r < 0)
        stripes_finish(&stripes);
    else
        *ret = stripes;
    return r;
}

void stripes_finish(struct stripes *stripes)
{
    finish_axis(&stripes->column);
    finish_axis(&stripes->row);
    pairs_finish(&stripes->pairs);
    free(stripes->first);
    free(stripes->level);
    *stripes = (struct stripes){0};
}

/* ---- counting ---- */

static void count_difference(struct stripes_axis *axis, unsigned half, uint32_t at,
                             double difference)
{
    const double bin = rint(difference / BIN);
    if (fabs(bin) <= REACH)
        axis->count[half][(size_t)at * BINS + (size_t)(bin + REACH)]++;
}

/* Returns a difference along both axes, which cancels offsets of columns and rows. */
static double detail(const float *level, size_t at, size_t step, size_t width)
{
    return ((double)level[at] - (double)level[at - step]) -
           ((double)level[at - step * width] - (double)level[at - step * width - step]);
}

/* Returns the correlation between the details of two frames. */
static double likeness(const struct stripes *stripes)
{
    const size_t width = stripes->column.length, step = stripes->step;
    double both = 0, first = 0, second = 0;
    for (size_t y = step; y < stripes->row.length; y++)
        for (size_t x = step; x < width; x++) {
            const double a = detail(stripes->first, y * width + x, step, width);
            const double b = detail(stripes->level, y * width + x, step, width);
            both += a * b;
            first += a * a;
            second += b * b;
        }
    return both / fmax(sqrt(first * second), 1e-30);
}

int stripes_add(struct stripes *stripes)
{
    const uint32_t width = stripes->column.length, height = stripes->row.length;
    const uint32_t step = stripes->step;
    const unsigned half = 2 * stripes->frames >= stripes->expected;
    const float *level = stripes->level;
    for (uint32_t y = 0; y < height; y++)
        for (uint32_t x = 0; x < width; x++) {
            const float *at = level + (size_t)y * width + x;
            if (pairs_is_cut(at[0]))
                continue;
            if (x >= step && !pairs_is_cut(at[-(int)step]))
                count_difference(&stripes->column, half, x, (double)at[0] - (double)at[-(int)step]);
            if (y >= step && !pairs_is_cut(at[-(ptrdiff_t)step * (ptrdiff_t)width]))
                count_difference(&stripes->row, half, y,
                                 (double)at[0] - (double)at[-(ptrdiff_t)step * (ptrdiff_t)width]);
        }
    if (stripes->frames == 0)
        memcpy(stripes->first, level, (size_t)width * height * sizeof *level);
    else
        stripes->stillness_sum += likeness(stripes);
    stripes->frames++;
    return pairs_add(&stripes->pairs, level);
}

double stripes_stillness(const struct stripes *stripes)
{
    return stripes->frames > 1 ? stripes->stillness_sum / (stripes->frames - 1) : 1;
}

/* ---- solving ---- */

/* Returns the distance from the middle, in bins, that covers half of the count. */
static double spread(const uint32_t *count, double total, double middle)
{
    for (unsigned halves = 0; halves < 4 * BINS; halves++) {
        double within = 0;
        for (int bin = 0; bin < BINS; bin++)
            within += fabs(bin - middle) <= halves / 2. ? count[bin] : 0;
        if (within >= total / 2)
            return halves / 2.;
    }
    return BINS;
}

static double median(const uint32_t *count, double total)
{
    double below = 0;
    for (int bin = 0; bin < BINS; bin++) {
        if (below + count[bin] >= total / 2)
            return bin - 0.5 + (total / 2 - below) / count[bin];
        below += count[bin];
    }
    return REACH;
}

/* Returns the level around which most differences are. */
static double location(const uint32_t *count)
{
    double total = 0;
    for (int bin = 0; bin < BINS; bin++)
        total += count[bin];
    if (total == 0)
        return 0;
    double middle = median(count, total);
    const double sigma = fmax(1.4826 * spread(count, total, middle), 0.5);
    for (int i = 0; i < ITERATIONS; i++) {
        double sum = 0, weights = 0;
        for (int bin = 0; bin < BINS; bin++) {
            const double weight = pairs_weight(bin - middle, sigma);
            sum += weight * count[bin] * bin;
            weights += weight * count[bin];
        }
        if (weights > 0)
            middle = sum / weights;
    }
    return (middle - REACH) * BIN;
}

/* One difference, estimated from all frames, and how far the estimates from both halves of the
 * frames disagree. */
struct step {
    double difference, disagreement;
};

static void find_step(struct step *ret, const struct stripes_axis *axis, uint32_t at)
{
    uint32_t both[BINS];
    const uint32_t *half[2];
    for (unsigned i = 0; i < 2; i++)
        half[i] = axis->count[i] + (size_t)at * BINS;
    for (unsigned bin = 0; bin < BINS; bin++)
        both[bin] = half[0][bin] + half[1][bin];
    ret->difference = location(both);
    ret->disagreement = location(half[0]) - location(half[1]);
}

static void remove_mean(double *offset, size_t count, unsigned step)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += offset[i * step];
    for (size_t i = 0; i < count; i++)
        offset[i * step] -= sum / (double)count;
}

/* Each half of the frames has twice the variance of all frames, and the disagreement of both halves
 * has twice that. The difference of two independent offsets has twice their variance. */
static void find_steps(const struct stripes_axis *axis, struct offsets_problem *ret,
                       double *difference)
{
    const uint32_t length = axis->length, begin = ret->step;
    const double known = length > begin ? length - begin : 1;
    double error = 0, squares = 0;
    for (uint32_t i = begin; i < length; i++) {
        struct step step;
        find_step(&step, axis, i);
        difference[i] = step.difference;
        error += step.disagreement * step.disagreement / 4;
        squares += step.difference * step.difference;
    }
    ret->difference = difference;
    ret->difference_error = fmax(COMMON_ERROR * error / known, MIN_VARIANCE);
    ret->pattern = fmax((squares / known - ret->difference_error) / 2, MIN_VARIANCE);
}

/* Returns the mean squared error of the differences between neighbours, given known offsets. */
static double step_error(const struct offsets_problem *problem, const double *offset)
{
    double squares = 0;
    for (uint32_t i = problem->step; i < problem->length; i++) {
        const double known = offset[i] - offset[i - problem->step];
        squares += (problem->difference[i] - known) * (problem->difference[i] - known);
    }
    return squares / (problem->length - problem->step);
}

/* Solves without the differences between neighbours. The result shows how good these and the pairs
 * are, and how strong the pattern is. */
static int weigh(struct offsets_problem *problem, double *offset)
{
    struct offsets_problem alone = *problem;
    struct offsets_fit fit = {.pairs = 0};
    alone.difference_error = INFINITY;
    int r = offsets_solve(&alone, offset);
    if (r == 0)
        r = offsets_judge(&alone, offset, &fit);
    if (r < 0 || fit.pairs < ENOUGH_PAIRS)
        return r;
    problem->pair_error = PAIR_COMMON_ERROR * fmax(fit.error, MIN_VARIANCE);
    problem->pattern = fmax(fit.pattern, MIN_VARIANCE);
    problem->difference_error =
        fmax(COMMON_ERROR * step_error(problem, offset), problem->difference_error);
    return 0;
}

static int solve_axis(struct stripes *stripes, struct stripes_axis *axis)
{
    double *difference = calloc(axis->length, sizeof *difference);
    struct offsets_problem problem = {.length = axis->length,
                                      .step = stripes->step,
                                      .pairs = &stripes->pairs,
                                      .is_row = axis == &stripes->row,
                                      .pair_error = 1};
    if (difference == NULL)
        return -ENOMEM;
    find_steps(axis, &problem, difference);
    int r = weigh(&problem, axis->offset);
    if (r == 0)
        r = offsets_solve(&problem, axis->offset);
    for (uint32_t begin = 0; r == 0 && begin < stripes->step && begin < axis->length; begin++)
        remove_mean(axis->offset + begin,
                    (axis->length - begin + stripes->step - 1) / stripes->step, stripes->step);
    free(difference);
    return r;
}

int stripes_solve(struct stripes *stripes)
{
    const int r = solve_axis(stripes, &stripes->column);
    return r < 0 ? r : solve_axis(stripes, &stripes->row);
}

double stripes_rms(const struct stripes_axis *axis)
{
    double sum = 0;
    for (uint32_t i = 0; i < axis->length; i++)
        sum += axis->offset[i] * axis->offset[i];
    return sqrt(sum / axis->length);
}
