#include "stripes.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "core/order.h"
#include "bad_pixels.h"

#define REACH          320 /* bins on each side of the middle; larger differences are edges */
#define BINS           (2 * REACH + 1)
#define BIN            (1 / 2040.)  /* the width of a bin, as a share of white */
#define COARSE_BIN     (1. / REACH) /* with which the bins reach from -1 to 1 */
#define ITERATIONS     30
#define CLOSE          0.001 /* bins; the location ends when a step is smaller */
#define USED_FRAMES    32    /* that are compared in pairs; more of them hardly tell more */
#define ENOUGH_PAIRS   8     /* with this many, the pairs determine all variances */
#define MIN_VARIANCE   1e-10 /* for offsets and errors: 1/400 of a grey level, squared */
#define OUTLIER        4.    /* standard deviations */
#define CUT_SHARE      8     /* pixels are left out if clipped in more than 1 / 8 of the frames */
#define STANDS_STILL   0.5   /* stripes_stillness of a scene that hardly moves */
#define WINDOW         4     /* differences */
#define LEAST_ERROR    0.05  /* share of the variance of differences: chance hides so much error */
/* Errors of neighbouring differences are similar, so the variances that the data show are too
 * small. These factors of them removed most of the pattern from random clips
 * (tests/unit/stripes_clips.c); half or twice as much hardly matters. */
#define RESIDUAL_ERROR 14
#define PAIR_ERROR     4

/* ---- memory ---- */

static int init_axis(struct stripes_axis *axis, uint32_t length)
{
    axis->length = length;
    axis->offset = calloc(length, sizeof *axis->offset);
    return axis->offset != NULL ? 0 : -ENOMEM;
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
        .bad = calloc(count, sizeof *stripes.bad)};
    int r = init_axis(&stripes.column, width);
    if (r == 0)
        r = init_axis(&stripes.row, height);
    if (r == 0)
        r = pairs_init(&stripes.pairs, width, height, step);
    if (r == 0 && (stripes.level == NULL || stripes.sum[0] == NULL || stripes.sum[1] == NULL ||
                   stripes.bad == NULL))
        r = -ENOMEM;
    if (r < 0)
        stripes_finish(&stripes);
    else
        *ret = stripes;
    return r;
}

void stripes_finish(struct stripes *stripes)
{
    free(stripes->column.offset);
    free(stripes->row.offset);
    pairs_finish(&stripes->pairs);
    free(stripes->level);
    free(stripes->sum[0]);
    free(stripes->sum[1]);
    free(stripes->bad);
    *stripes = (struct stripes){0};
}

int stripes_add(struct stripes *stripes)
{
    const size_t count = (size_t)stripes->column.length * stripes->row.length;
    const float *level = stripes->level;
    float *sum = stripes->sum[2 * stripes->frames >= stripes->expected];
    const unsigned every = (stripes->expected + USED_FRAMES - 1) / USED_FRAMES;
    for (size_t i = 0; i < count; i++) {
        sum[i] += level[i];
        stripes->bad[i] += pairs_is_cut(level[i]) && stripes->bad[i] < UINT8_MAX;
    }
    if (stripes->frames++ % every != 0)
        return 0;
    return pairs_add(&stripes->pairs, level);
}

double stripes_stillness(const struct stripes *stripes)
{
    const struct pairs *pairs = &stripes->pairs;
    return pairs->alike > 0 ? (double)pairs->still / pairs->alike : 0;
}

bool stripes_is_still(const struct stripes *stripes)
{
    return stripes_stillness(stripes) > STANDS_STILL;
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

static double total_of(const uint32_t *count)
{
    double total = 0;
    for (int bin = 0; bin < BINS; bin++)
        total += count[bin];
    return total;
}

/* Returns the level around which most differences are, relative to the middle of the bins. */
static double location(const uint32_t *count)
{
    const double total = total_of(count);
    double middle = median(count, total), step = CLOSE;
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

static unsigned frames_of_half(const struct stripes *stripes, unsigned half)
{
    return (stripes->expected + 1 - half) / 2;
}

/* Counts by how much the pixels of a column or row differ from those `step` before, in the mean of
 * each half of the frames. Noise is averaged out there, so that edges are outliers. The bins are
 * around `middle`. */
static void count_differences(const struct stripes *stripes, bool is_row, uint32_t at,
                              double middle, double bin, uint32_t count[BINS])
{
    const uint32_t width = stripes->column.length, height = stripes->row.length;
    const size_t stride = is_row ? 1 : width, before = stripes->step * (is_row ? (size_t)width : 1);
    const unsigned most = stripes->expected / CUT_SHARE;
    memset(count, 0, BINS * sizeof *count);
    for (uint32_t along = 0; along < (is_row ? width : height); along++) {
        const size_t i = at * (is_row ? (size_t)width : 1) + along * stride;
        if (stripes->bad[i] > most || stripes->bad[i - before] > most)
            continue;
        for (unsigned half = 0; half < 2; half++) {
            const float *sum = stripes->sum[half];
            const double difference =
                (double)(sum[i] - sum[i - before]) / frames_of_half(stripes, half);
            const double bins = (difference - middle) / bin;
            if (fabs(bins) <= REACH)
                count[lrint(bins) + REACH]++;
        }
    }
}

/* Returns by how much a column or row differs from the one `step` before. INFINITY: its pixels do
 * not tell, because all of them may be clipped. */
static double find_step(const struct stripes *stripes, bool is_row, uint32_t at)
{
    uint32_t count[BINS];
    count_differences(stripes, is_row, at, 0, COARSE_BIN, count);
    const double total = total_of(count);
    if (total == 0)
        return INFINITY;
    const double middle = (median(count, total) - REACH) * COARSE_BIN;
    count_differences(stripes, is_row, at, middle, BIN, count);
    return total_of(count) > 0 ? middle + location(count) : INFINITY;
}

static void remove_mean(double *offset, size_t count, unsigned step)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += offset[i * step];
    for (size_t i = 0; i < count; i++)
        offset[i * step] -= sum / (double)count;
}

/* The arrays of an axis while it is solved, each as long as the axis. */
struct arrays {
    double *difference, *weight, *residual, *scratch;
};

/* Returns the magnitude from which residuals with this standard deviation are outliers. */
static double outlier_limit(double sigma)
{
    return OUTLIER * fmax(sigma, sqrt(MIN_VARIANCE));
}

/* Returns whether the level changes at a residual for good: it is an outlier, and adding the
 * residual before it, or the one after it, does not cancel it. After a single column or row that is
 * off, the level changes back. */
static bool is_edge(const struct offsets_problem *problem, const double *residual, uint32_t i,
                    double limit)
{
    const uint32_t step = problem->step;
    const double before = i >= 2 * step ? residual[i - step] : 0;
    const double behind = i + step < problem->length ? residual[i + step] : 0;
    return !(fabs(residual[i]) < limit || fabs(residual[i] + before) < limit ||
             fabs(residual[i] + behind) < limit);
}

/* Gives all differences the same weight, but none to an edge of the scene that stays at one place.
 * Returns the standard deviation of the residuals, by their median magnitude. `error` is the
 * variance of a difference, and `factor` times that of the residuals is another guess at it; the
 * greater one counts. */
static double set_weights(const struct offsets_problem *problem, const struct arrays *arrays,
                          double error, double factor)
{
    const uint32_t begin = problem->step, length = problem->length;
    if (length <= begin)
        return 0;
    for (uint32_t i = begin; i < length; i++)
        arrays->scratch[i] = fabs(arrays->residual[i]);
    qsort(arrays->scratch + begin, length - begin, sizeof(double), order_doubles);
    const double sigma = 1.4826 * arrays->scratch[begin + (length - begin) / 2];
    const double variance = fmax(fmax(error, factor * sigma * sigma), MIN_VARIANCE);
    const double limit = outlier_limit(sigma);
    for (uint32_t i = begin; i < length; i++)
        arrays->weight[i] = is_edge(problem, arrays->residual, i, limit) ? 0 : 1 / variance;
    return sigma;
}

/* Judges the differences of neighbours by those that are WINDOW apart. The scene changes like a
 * random walk, whose variance grows with the distance, and that of the pattern does not. Those
 * beyond `limit` do not count. Returns the variance of errors, and sets that of the pattern. */
static double judge_steps(struct offsets_problem *problem, const struct arrays *arrays,
                          double limit)
{
    const uint32_t step = problem->step, length = problem->length;
    double near = 0, far = 0;
    unsigned near_count = 0, far_count = 0;
    for (uint32_t i = step; i < length; i++) {
        double sum = 0;
        unsigned k = 0;
        for (; k < WINDOW && i + k * step < length; k++) {
            if (!(fabs(arrays->residual[i + k * step]) < limit))
                break;
            sum += arrays->difference[i + k * step];
            if (k > 0)
                continue;
            near += sum * sum;
            near_count++;
        }
        far += k == WINDOW ? sum * sum : 0;
        far_count += k == WINDOW;
    }
    near /= fmax(near_count, 1);
    const double grown = far_count > 0 ? (far / far_count - near) / (WINDOW - 1) : near;
    const double error = fmin(fmax(grown, LEAST_ERROR * near), near);
    problem->pattern = fmax((near - error) / 2, MIN_VARIANCE);
    return fmax(error, MIN_VARIANCE);
}

/* Marks single columns or rows that are off by more than `limit`: faults, and not of the pattern.
 */
static void mark_far(const struct offsets_problem *problem, const double *residual, double limit,
                     bool *is_far)
{
    const uint32_t step = problem->step;
    for (uint32_t i = step; i + step < problem->length; i++)
        is_far[i] = fabs(residual[i]) >= limit && fabs(residual[i + step]) >= limit &&
                    fabs(residual[i] + residual[i + step]) < limit;
}

/* Finds the differences of neighbours. Returns the variance of their errors. */
static double find_steps(const struct stripes *stripes, struct offsets_problem *problem,
                         const struct arrays *arrays, bool *is_far)
{
    for (uint32_t i = problem->step; i < problem->length; i++) {
        arrays->residual[i] = find_step(stripes, problem->is_row, i);
        arrays->difference[i] = isfinite(arrays->residual[i]) ? arrays->residual[i] : 0;
    }
    const double sigma = set_weights(problem, arrays, 0, 0);
    const double limit = outlier_limit(sigma);
    mark_far(problem, arrays->residual, limit, is_far);
    const double error = judge_steps(problem, arrays, limit);
    set_weights(problem, arrays, error, 0);
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
        if (isfinite(arrays->residual[i]))
            arrays->residual[i] = arrays->difference[i] - (offset[i] - offset[i - problem->step]);
    set_weights(problem, arrays, error, RESIDUAL_ERROR);
    return 0;
}

static int solve_axis(struct stripes *stripes, struct stripes_axis *axis)
{
    const uint32_t length = axis->length;
    double *memory = calloc(4 * (size_t)length, sizeof *memory);
    bool *is_far = calloc(length, sizeof *is_far);
    int r = memory == NULL || is_far == NULL ? -ENOMEM : 0;
    if (r < 0)
        goto end;
    const struct arrays arrays = {memory, memory + length, memory + 2 * (size_t)length,
                                  memory + 3 * (size_t)length};
    struct offsets_problem problem = {.length = length,
                                      .step = stripes->step,
                                      .difference = arrays.difference,
                                      .weight = arrays.weight,
                                      .is_far = is_far,
                                      .pairs = &stripes->pairs,
                                      .is_row = axis == &stripes->row,
                                      .pair_error = 1};
    const double error = find_steps(stripes, &problem, &arrays, is_far);
    r = weigh(&problem, &arrays, axis->offset, error);
    if (r == 0)
        r = offsets_solve(&problem, axis->offset);
    for (uint32_t begin = 0; r == 0 && begin < stripes->step && begin < length; begin++)
        remove_mean(axis->offset + begin, (length - begin + stripes->step - 1) / stripes->step,
                    stripes->step);
end:
    free(is_far);
    free(memory);
    return r;
}

/* Turns the sums of each half into means without the pattern, and finds bad pixels in them. */
static int find_bad_pixels(struct stripes *stripes)
{
    const uint32_t width = stripes->column.length, height = stripes->row.length;
    for (unsigned half = 0; half < 2; half++)
        for (size_t i = 0; i < (size_t)width * height; i++)
            stripes->sum[half][i] =
                stripes->sum[half][i] / (float)frames_of_half(stripes, half) -
                (float)(stripes->column.offset[i % width] + stripes->row.offset[i / width]);
    const float *mean[2] = {stripes->sum[0], stripes->sum[1]};
    return bad_pixels_find(stripes->bad, mean, width, height, stripes->step,
                           stripes_is_still(stripes));
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
