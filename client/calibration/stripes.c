#include "stripes.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "bad_pixels.h"

#define REACH          80 /* bins on each side of 0; larger differences are edges */
#define BINS           (2 * REACH + 1)
#define BIN            (1 / 255.) /* the width of a bin, as a share of white */
#define ITERATIONS     30
#define CLOSE          0.001 /* bins; the location ends when a step is smaller */
#define USED_FRAMES    32    /* whose differences are found; more of them hardly tell more */
#define ENOUGH_PAIRS   8     /* with this many, the pairs determine all variances */
#define MIN_VARIANCE   1e-10 /* for offsets and errors: 1/400 of a grey level, squared */
#define OUTLIER        4.    /* standard deviations */
#define CUT            (-1)  /* instead of a level that may be clipped */
/* Errors of neighbouring differences are similar, as is what the scene has in common in all bands.
 * So the variances that the data show are too small. These factors of them removed most of the
 * pattern from random clips (tests/unit/stripes_clips.c); half or twice as much hardly matters. */
#define BAND_ERROR     12
#define RESIDUAL_ERROR 14
#define PAIR_ERROR     4

/* ---- memory ---- */

static int init_axis(struct stripes_axis *axis, uint32_t length)
{
    axis->length = length;
    axis->count = calloc((size_t)length * STRIPES_BANDS * BINS, sizeof *axis->count);
    axis->offset = calloc(length, sizeof *axis->offset);
    return axis->count != NULL && axis->offset != NULL ? 0 : -ENOMEM;
}

static void finish_axis(struct stripes_axis *axis)
{
    free(axis->count);
    free(axis->offset);
}

int stripes_init(struct stripes *ret, uint32_t width, uint32_t height, unsigned step,
                 unsigned frames)
{
    const size_t count = (size_t)width * height;
    struct stripes stripes = {
        .step = step,
        .expected = frames,
        .level = malloc(count * sizeof *stripes.level),
        .sum = {calloc(count, sizeof *stripes.sum[0]), calloc(count, sizeof *stripes.sum[1])},
        .bad = calloc(count, sizeof *stripes.bad),
        .grey = malloc(count * sizeof *stripes.grey)};
    int r = init_axis(&stripes.column, width);
    if (r == 0)
        r = init_axis(&stripes.row, height);
    if (r == 0)
        r = pairs_init(&stripes.pairs, width, height, step);
    if (r == 0 && (stripes.level == NULL || stripes.sum[0] == NULL || stripes.sum[1] == NULL ||
                   stripes.bad == NULL || stripes.grey == NULL))
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
    free(stripes->level);
    free(stripes->sum[0]);
    free(stripes->sum[1]);
    free(stripes->bad);
    free(stripes->grey);
    *stripes = (struct stripes){0};
}

/* ---- counting ---- */

static void count_difference(struct stripes_axis *axis, size_t at, uint32_t band, int level,
                             int before)
{
    const unsigned bin = (unsigned)(level - before + REACH);
    if (before != CUT && bin < BINS)
        axis->count[(at * STRIPES_BANDS + band) * BINS + bin]++;
}

/* Counts differences of columns in each band of rows, and of rows in each band of columns. */
static void count_differences(struct stripes *stripes)
{
    const uint32_t width = stripes->column.length, height = stripes->row.length;
    const uint32_t step = stripes->step;
    short *grey = stripes->grey;
    for (size_t i = 0; i < (size_t)width * height; i++) {
        const float level = stripes->level[i];
        grey[i] = pairs_is_cut(level) ? CUT : (short)lrintf(level * (float)(1 / BIN));
    }
    for (uint32_t y = 0; y < height; y++)
        for (uint32_t x = 0; x < width; x++) {
            const short *at = grey + (size_t)y * width + x;
            if (at[0] == CUT)
                continue;
            if (x >= step)
                count_difference(&stripes->column, x, y * STRIPES_BANDS / height, at[0],
                                 at[-(ptrdiff_t)step]);
            if (y >= step)
                count_difference(&stripes->row, y, x * STRIPES_BANDS / width, at[0],
                                 at[-(ptrdiff_t)step * (ptrdiff_t)width]);
        }
}

int stripes_add(struct stripes *stripes)
{
    const size_t count = (size_t)stripes->column.length * stripes->row.length;
    const float *level = stripes->level;
    float *sum = stripes->sum[2 * stripes->frames >= stripes->expected];
    const unsigned every = (stripes->expected + USED_FRAMES - 1) / USED_FRAMES;
    for (size_t i = 0; i < count; i++)
        sum[i] += level[i];
    if (stripes->frames++ % every != 0)
        return 0;
    count_differences(stripes);
    return pairs_add(&stripes->pairs, level);
}

double stripes_stillness(const struct stripes *stripes)
{
    const struct pairs *pairs = &stripes->pairs;
    return pairs->alike > 0 ? (double)pairs->still / pairs->alike : 0;
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
    double total = 0, step = CLOSE;
    for (int bin = 0; bin < BINS; bin++)
        total += count[bin];
    if (total == 0)
        return 0;
    double middle = median(count, total);
    const double sigma = fmax(1.4826 * spread(count, total, middle), 0.5);
    for (int i = 0; i < ITERATIONS && fabs(step) >= CLOSE; i++) {
        double sum = 0, weights = 0;
        for (int bin = 0; bin < BINS; bin++) {
            const double weight = pairs_weight(bin - middle, sigma);
            sum += weight * count[bin] * bin;
            weights += weight * count[bin];
        }
        step = weights > 0 ? sum / weights - middle : 0;
        middle += step;
    }
    return (middle - REACH) * BIN;
}

/* One difference, estimated from the whole picture, and the variance of that estimate, by how far
 * those of its bands disagree. */
struct step {
    double difference, variance;
};

static void find_step(struct step *ret, const struct stripes_axis *axis, uint32_t at)
{
    uint32_t all[BINS] = {0};
    double sum = 0, squares = 0;
    for (unsigned band = 0; band < STRIPES_BANDS; band++) {
        const uint32_t *count = axis->count + ((size_t)at * STRIPES_BANDS + band) * BINS;
        const double difference = location(count);
        for (unsigned bin = 0; bin < BINS; bin++)
            all[bin] += count[bin];
        sum += difference;
        squares += difference * difference;
    }
    ret->difference = location(all);
    ret->variance =
        fmax(squares - sum * sum / STRIPES_BANDS, 0) / (STRIPES_BANDS * (STRIPES_BANDS - 1));
}

static void remove_mean(double *offset, size_t count, unsigned step)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += offset[i * step];
    for (size_t i = 0; i < count; i++)
        offset[i * step] -= sum / (double)count;
}

static int compare_numbers(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The arrays of an axis while it is solved, each as long as the axis. */
struct arrays {
    double *difference, *weight, *residual, *scratch;
};

/* Gives all differences the same weight, but none to those whose residual is an outlier: an edge of
 * the scene that stays at one place. Returns the standard deviation of the residuals, by their
 * median magnitude. `error` is the variance of a difference, and `factor` times that of the
 * residuals is another guess at it; the greater one counts. */
static double set_weights(const struct offsets_problem *problem, const struct arrays *arrays,
                          double error, double factor)
{
    const uint32_t begin = problem->step, length = problem->length;
    if (length <= begin)
        return 0;
    for (uint32_t i = begin; i < length; i++)
        arrays->scratch[i] = fabs(arrays->residual[i]);
    qsort(arrays->scratch + begin, length - begin, sizeof(double), compare_numbers);
    const double sigma = 1.4826 * arrays->scratch[begin + (length - begin) / 2];
    const double variance = fmax(fmax(error, factor * sigma * sigma), MIN_VARIANCE);
    const double limit = OUTLIER * fmax(sigma, sqrt(MIN_VARIANCE));
    for (uint32_t i = begin; i < length; i++)
        arrays->weight[i] = fabs(arrays->residual[i]) < limit ? 1 / variance : 0;
    return sigma;
}

/* Finds the differences of neighbours. Returns the variance of their errors. The difference of two
 * independent offsets has twice their variance. */
static double find_steps(const struct stripes_axis *axis, struct offsets_problem *problem,
                         const struct arrays *arrays)
{
    const uint32_t begin = problem->step;
    double error = 0;
    for (uint32_t i = begin; i < axis->length; i++) {
        struct step step;
        find_step(&step, axis, i);
        arrays->difference[i] = arrays->residual[i] = step.difference;
        error += BAND_ERROR * step.variance / (axis->length - begin);
    }
    const double sigma = set_weights(problem, arrays, error, 0);
    problem->pattern = fmax((sigma * sigma - error) / 2, MIN_VARIANCE);
    return error;
}

/* Solves without the differences between neighbours. The result shows how good these and the pairs
 * are, and how strong the pattern is. */
static int weigh(struct offsets_problem *problem, const struct arrays *arrays, double *offset,
                 double error)
{
    struct offsets_fit fit = {.pairs = 0};
    struct offsets_problem alone = *problem;
    alone.weight = arrays->scratch;
    memset(arrays->scratch, 0, problem->length * sizeof *arrays->scratch);
    int r = offsets_solve(&alone, offset);
    if (r == 0)
        r = offsets_judge(&alone, offset, &fit);
    if (r < 0 || fit.pairs < ENOUGH_PAIRS)
        return r;
    problem->pair_error = PAIR_ERROR * fmax(fit.error, MIN_VARIANCE);
    problem->pattern = fmax(fit.pattern, MIN_VARIANCE);
    for (uint32_t i = problem->step; i < problem->length; i++)
        arrays->residual[i] = arrays->difference[i] - (offset[i] - offset[i - problem->step]);
    set_weights(problem, arrays, error, RESIDUAL_ERROR);
    return 0;
}

static int solve_axis(struct stripes *stripes, struct stripes_axis *axis)
{
    const uint32_t length = axis->length;
    double *memory = calloc(4 * (size_t)length, sizeof *memory);
    if (memory == NULL)
        return -ENOMEM;
    const struct arrays arrays = {memory, memory + length, memory + 2 * (size_t)length,
                                  memory + 3 * (size_t)length};
    struct offsets_problem problem = {.length = length,
                                      .step = stripes->step,
                                      .difference = arrays.difference,
                                      .weight = arrays.weight,
                                      .pairs = &stripes->pairs,
                                      .is_row = axis == &stripes->row,
                                      .pair_error = 1};
    const double error = find_steps(axis, &problem, &arrays);
    int r = weigh(&problem, &arrays, axis->offset, error);
    if (r == 0)
        r = offsets_solve(&problem, axis->offset);
    for (uint32_t begin = 0; r == 0 && begin < stripes->step && begin < length; begin++)
        remove_mean(axis->offset + begin, (length - begin + stripes->step - 1) / stripes->step,
                    stripes->step);
    free(memory);
    return r;
}

/* Turns the sums of each half into means without the pattern, and finds bad pixels in them. */
static int find_bad_pixels(struct stripes *stripes)
{
    const uint32_t width = stripes->column.length, height = stripes->row.length;
    const unsigned count[2] = {stripes->expected / 2 + stripes->expected % 2,
                               stripes->expected / 2};
    for (unsigned half = 0; half < 2; half++)
        for (size_t i = 0; i < (size_t)width * height; i++)
            stripes->sum[half][i] =
                stripes->sum[half][i] / (float)count[half] -
                (float)(stripes->column.offset[i % width] + stripes->row.offset[i / width]);
    const float *mean[2] = {stripes->sum[0], stripes->sum[1]};
    return bad_pixels_find(stripes->bad, mean, width, height, stripes->step);
}

int stripes_solve(struct stripes *stripes)
{
    int r = solve_axis(stripes, &stripes->column);
    if (r == 0)
        r = solve_axis(stripes, &stripes->row);
    return r < 0 ? r : find_bad_pixels(stripes);
}

double stripes_rms(const struct stripes_axis *axis)
{
    double sum = 0;
    for (uint32_t i = 0; i < axis->length; i++)
        sum += axis->offset[i] * axis->offset[i];
    return sqrt(sum / axis->length);
}
