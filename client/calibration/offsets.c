#include "offsets.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_ITERATIONS 2000
#define PRECISION      1e-12 /* the squared residual at the end, relative to the first one */
#define MIN_COUNT      4     /* differences in a pair; the mean and the slope explain two */

/* Returns an axis of a pair; NULL: the pair moved too little along it, or has too few differences,
 * to say anything about it. */
static const struct pair_axis *axis_of(const struct offsets_problem *problem, unsigned i)
{
    const struct pair *pair = &problem->pairs->pair[i];
    const struct pair_axis *axis = problem->is_row ? &pair->row : &pair->column;
    const bool is_usable =
        axis->count >= MIN_COUNT && fabs(axis->whole + axis->part * problem->step) >= problem->step;
    return is_usable ? axis : NULL;
}

/* ---- the differences of a pair ---- */

/* Where a pair's differences find their four offsets: those of i are at first + i, second + i and
 * beside these. */
struct terms {
    uint32_t first, first_beside, second, second_beside;
    double near, far; /* the factors of an offset, and of the one beside it */
};

static struct terms terms_of(const struct offsets_problem *problem, const struct pair_axis *axis)
{
    const double half = fabs(axis->part) / 2;
    const int beside = axis->part > 0   ? (int)problem->step
                       : axis->part < 0 ? -(int)problem->step
                                        : 0;
    const int first = (int)axis->begin, second = first + axis->whole;
    return (struct terms){(uint32_t)first,  (uint32_t)(first - beside),
                          (uint32_t)second, (uint32_t)(second + beside),
                          1 - half,         half};
}

/* Subtracts the weighted mean and slope. */
static void take_line_off(const struct pair_axis *axis, double *value)
{
    double weights = 0, middle = 0, mean = 0, squares = 0, slope = 0;
    for (uint32_t i = 0; i < axis->count; i++) {
        const double w = (double)axis->weight[i];
        weights += w;
        middle += w * i;
        mean += w * value[i];
    }
    if (weights <= 0)
        return;
    middle /= weights;
    mean /= weights;
    for (uint32_t i = 0; i < axis->count; i++) {
        const double w = (double)axis->weight[i];
        squares += w * (i - middle) * (i - middle);
        slope += w * (i - middle) * value[i];
    }
    slope = squares > 0 ? slope / squares : 0;
    for (uint32_t i = 0; i < axis->count; i++)
        value[i] -= mean + slope * (i - middle);
}

/* Computes the differences that these offsets would cause. */
static void predict(const struct offsets_problem *problem, const struct pair_axis *axis,
                    const double *offset, double *value)
{
    const struct terms at = terms_of(problem, axis);
    for (uint32_t i = 0; i < axis->count; i++)
        value[i] = at.near * (offset[at.first + i] - offset[at.second + i]) +
                   at.far * (offset[at.first_beside + i] - offset[at.second_beside + i]);
    take_line_off(axis, value);
}

static void observed(const struct pair_axis *axis, double *value)
{
    for (uint32_t i = 0; i < axis->count; i++)
        value[i] = (double)axis->difference[i];
    take_line_off(axis, value);
}

/* Adds to `sum` what the differences demand of each offset: the transpose of predict, weighted. */
static void spread(const struct offsets_problem *problem, const struct pair_axis *axis,
                   const double *value, double *sum)
{
    const struct terms at = terms_of(problem, axis);
    for (uint32_t i = 0; i < axis->count; i++) {
        const double demand = value[i] * (double)axis->weight[i] / problem->pair_error;
        sum[at.first + i] += at.near * demand;
        sum[at.second + i] -= at.near * demand;
        sum[at.first_beside + i] += at.far * demand;
        sum[at.second_beside + i] -= at.far * demand;
    }
}

/* ---- the equations ---- */

/* Computes the right side of the equations. */
static void demand(const struct offsets_problem *problem, double *sum, double *scratch)
{
    memset(sum, 0, problem->length * sizeof *sum);
    for (uint32_t i = problem->step; i < problem->length; i++) {
        sum[i] += problem->difference[i] * problem->weight[i];
        sum[i - problem->step] -= problem->difference[i] * problem->weight[i];
    }
    for (unsigned i = 0; i < problem->pairs->count; i++) {
        const struct pair_axis *axis = axis_of(problem, i);
        if (axis == NULL)
            continue;
        observed(axis, scratch);
        spread(problem, axis, scratch, sum);
    }
}

/* Computes the left side of the equations for these offsets. */
static void apply(const struct offsets_problem *problem, const double *offset, double *sum,
                  double *scratch)
{
    for (uint32_t i = 0; i < problem->length; i++)
        sum[i] = problem->is_far[i] ? 0 : offset[i] / problem->pattern;
    for (uint32_t i = problem->step; i < problem->length; i++) {
        const double step = (offset[i] - offset[i - problem->step]) * problem->weight[i];
        sum[i] += step;
        sum[i - problem->step] -= step;
    }
    for (unsigned i = 0; i < problem->pairs->count; i++) {
        const struct pair_axis *axis = axis_of(problem, i);
        if (axis == NULL)
            continue;
        predict(problem, axis, offset, scratch);
        spread(problem, axis, scratch, sum);
    }
}

static double product(const double *a, const double *b, uint32_t length)
{
    double sum = 0;
    for (uint32_t i = 0; i < length; i++)
        sum += a[i] * b[i];
    return sum;
}

int offsets_solve(const struct offsets_problem *problem, double *offset)
{
    const uint32_t length = problem->length;
    double *memory = calloc(4 * (size_t)length, sizeof *memory);
    if (memory == NULL)
        return -ENOMEM;
    double *left = memory, *direction = left + length, *image = direction + length;
    double *scratch = image + length;
    memset(offset, 0, length * sizeof *offset);
    demand(problem, left, scratch);
    memcpy(direction, left, length * sizeof *left);
    double square = product(left, left, length);
    const double enough = PRECISION * square;
    for (unsigned i = 0; i < MAX_ITERATIONS && square > enough; i++) {
        apply(problem, direction, image, scratch);
        const double length_of_step = square / product(direction, image, length);
        for (uint32_t k = 0; k < length; k++) {
            offset[k] += length_of_step * direction[k];
            left[k] -= length_of_step * image[k];
        }
        const double next = product(left, left, length);
        for (uint32_t k = 0; k < length; k++)
            direction[k] = left[k] + next / square * direction[k];
        square = next;
    }
    free(memory);
    return 0;
}

/* The difference of two independent offsets has twice their variance. */
int offsets_judge(const struct offsets_problem *problem, const double *offset,
                  struct offsets_fit *ret)
{
    double *memory = calloc(2 * (size_t)problem->length, sizeof *memory);
    if (memory == NULL)
        return -ENOMEM;
    double *seen = memory, *expected = seen + problem->length;
    double count = 0, weights = 0, all = 0, left = 0;
    unsigned pairs = 0;
    for (unsigned p = 0; p < problem->pairs->count; p++) {
        const struct pair_axis *axis = axis_of(problem, p);
        if (axis == NULL)
            continue;
        pairs++;
        observed(axis, seen);
        predict(problem, axis, offset, expected);
        for (uint32_t i = 0; i < axis->count; i++) {
            const double w = (double)axis->weight[i], error = seen[i] - expected[i];
            all += w * seen[i] * seen[i];
            left += w * error * error;
            weights += w;
            count += w > 0;
        }
    }
    *ret = (struct offsets_fit){
        .pairs = pairs,
        .error = count > 0 ? left / count : 0,
        .pattern = weights > 0 ? (all - left) / weights / 2 : 0,
    };
    free(memory);
    return 0;
}
