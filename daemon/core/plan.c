#include "core/plan.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

static const uint8_t radices[] = {16, 15, 12, 10, 9, 8, 7, 6, 5, 4, 3, 2};
#define RADIX_COUNT (sizeof radices / sizeof radices[0])

/* Arithmetic operations of the butterflies in butterfly.cl per point, with the twiddles of a
 * following stage (6 an element), counted from the source. */
static double radix_cost(uint8_t radix)
{
    switch (radix) {
    case 2:
        return 2 + 6;
    case 3:
        return 16. / 3 + 6;
    case 4:
        return 4 + 6;
    case 5:
        return 40. / 5 + 6;
    case 6:
        return 44. / 6 + 6;
    case 7:
        return 84. / 7 + 6;
    case 8:
        return 56. / 8 + 6;
    case 9:
        return 120. / 9 + 6;
    case 10:
        return 100. / 10 + 6;
    case 12:
        return 112. / 12 + 6;
    case 15:
        return 200. / 15 + 6;
    default:
        return 168. / 16 + 6;
    }
}

/* What reading and writing an element between two stages costs, in the same unit: local memory or
 * cache, near enough to a handful of operations. */
#define STAGE_COST   8.

/* What one element costs whatever the stages: main memory both ways and the conversions. */
#define ELEMENT_COST 30.

static double axis_cost(const struct plan_axis *axis)
{
    double cost = 0;
    for (unsigned i = 0; i < axis->stage_count; i++)
        cost += radix_cost(axis->radix[i]) + STAGE_COST;
    return cost;
}

struct factoring {
    struct plan_axis best, now;
    double best_cost;
    uint8_t max_radix;
    bool first_even;
};

/* Tries every way to split `rest` into radices not larger than radices[from]: few enough (at most
 * some hundreds) to try them all, so there is no rule of thumb to be wrong. */
static void factor_rest(struct factoring *f, uint32_t rest, unsigned from)
{
    if (rest == 1) {
        const double cost = axis_cost(&f->now);
        if (cost < f->best_cost) {
            f->best_cost = cost;
            f->best = f->now;
        }
        return;
    }
    if (f->now.stage_count == PLAN_MAX_STAGES)
        return;
    for (unsigned i = from; i < RADIX_COUNT; i++) {
        if (radices[i] > f->max_radix || rest % radices[i] != 0)
            continue;
        f->now.radix[f->now.stage_count++] = radices[i];
        factor_rest(f, rest / radices[i], i);
        f->now.stage_count--;
    }
}

int plan_factor(struct plan_axis *ret, uint32_t length, uint8_t max_radix, int first_even)
{
    struct factoring f = {.best_cost = HUGE_VAL, .max_radix = max_radix};
    uint32_t rest = length;
    for (unsigned prime = 2; prime <= 7 && rest > 1; prime++)
        while (rest % prime == 0)
            rest /= prime;
    if (length < 2 || rest != 1 || (first_even && length % 2 != 0))
        return -EINVAL;
    factor_rest(&f, length, 0);
    if (f.best_cost == HUGE_VAL)
        return -EINVAL;
    f.best.length = length;
    for (unsigned i = 0; first_even && i < f.best.stage_count; i++) {
        if (f.best.radix[i] % 2 != 0)
            continue;
        const uint8_t even = f.best.radix[i];
        memmove(&f.best.radix[1], &f.best.radix[0], i);
        f.best.radix[0] = even;
        break;
    }
    *ret = f.best;
    return 0;
}

static uint32_t round_up(uint32_t value, uint32_t step)
{
    return (value + step - 1) / step * step;
}

/* Columns: x.length / 2 of them, forward and back. Rows: pairs of them, in whole groups of lanes.
 */
double plan_cost(const struct plan *plan, uint32_t lanes)
{
    const double columns = 0.5 * plan->x.length * plan->y.length;
    const double rows = (double)round_up(plan->y.length / 2 + 1, lanes) * plan->x.length;
    return 2 * columns * (axis_cost(&plan->y) + ELEMENT_COST / 2) +
           rows * (2 * axis_cost(&plan->x) + ELEMENT_COST / 2);
}

/* Longest padding that can pay: there is a power of two or thrice one within a third. */
static uint32_t search_end(uint32_t need)
{
    return need + need / 2 + 32;
}

int plan_choose(struct plan *ret, const struct plan_limits *limits, struct error *why)
{
    const uint32_t max_x = limits->max_x != 0 ? limits->max_x : PLAN_MAX_LENGTH;
    const uint32_t max_y = limits->max_y != 0 ? limits->max_y : PLAN_MAX_LENGTH;
    const uint32_t need_x = limits->width + limits->margin_x;
    const uint32_t need_y = limits->height + limits->margin_y;
    const uint32_t step_x = 2 * limits->lanes;
    struct plan plan = {.width = limits->width, .height = limits->height};
    struct plan best = plan;
    double best_cost = HUGE_VAL;

    /* The best x does not depend on y but through the rounding of pairs, so it is chosen first,
     * per element, and y then with the full cost. */
    double best_x = HUGE_VAL;
    for (uint32_t x = round_up(need_x, step_x); x <= max_x && x <= search_end(need_x);
         x += step_x) {
        struct plan_axis axis;
        if (plan_factor(&axis, x, limits->max_radix, 1) < 0)
            continue;
        const double cost = x * (axis_cost(&axis) + ELEMENT_COST);
        if (cost < best_x) {
            best_x = cost;
            best.x = axis;
        }
    }
    plan.x = best.x;
    for (uint32_t y = need_y < 2 ? 2 : need_y; y <= max_y && y <= search_end(need_y); y++) {
        if (plan_factor(&plan.y, y, limits->max_radix, 0) < 0)
            continue;
        const double cost = plan_cost(&plan, limits->lanes);
        if (cost < best_cost) {
            best_cost = cost;
            best.y = plan.y;
        }
    }
    if (best_x == HUGE_VAL || best_cost == HUGE_VAL)
        return error_set(
            why, ERANGE, "%ux%u with a margin of %ux%u does not fit the longest transform, %ux%u",
            limits->width, limits->height, limits->margin_x, limits->margin_y, max_x, max_y);
    *ret = best;
    return 0;
}

/* Position q = j0 m0 + j1 m1 + ... holds frequency k = j0 + r0 (j1 + r1 (j2 + ...)). */
uint32_t plan_frequency(const struct plan_axis *axis, uint32_t position)
{
    uint32_t span = axis->length, scale = 1, frequency = 0;
    for (unsigned i = 0; i < axis->stage_count; i++) {
        span /= axis->radix[i];
        frequency += position / span * scale;
        position %= span;
        scale *= axis->radix[i];
    }
    return frequency;
}

uint32_t plan_position(const struct plan_axis *axis, uint32_t frequency)
{
    uint32_t span = axis->length, position = 0;
    for (unsigned i = 0; i < axis->stage_count; i++) {
        span /= axis->radix[i];
        position += frequency % axis->radix[i] * span;
        frequency /= axis->radix[i];
    }
    return position;
}

uint32_t plan_span(const struct plan_axis *axis, unsigned stage)
{
    uint32_t span = axis->length;
    for (unsigned i = 0; i <= stage; i++)
        span /= axis->radix[i];
    return span;
}

uint32_t plan_twiddle_offset(const struct plan_axis *axis, unsigned stage)
{
    uint32_t offset = 0;
    for (unsigned i = 0; i < stage; i++)
        offset += (axis->radix[i] - 1u) * plan_span(axis, i);
    return offset;
}

uint32_t plan_twiddle_count(const struct plan_axis *axis)
{
    return plan_twiddle_offset(axis, axis->stage_count);
}

void plan_twiddles(const struct plan_axis *axis, float *ret)
{
    for (unsigned i = 0; i < axis->stage_count; i++) {
        const uint32_t span = plan_span(axis, i), length = span * axis->radix[i];
        for (uint32_t j = 1; j < axis->radix[i]; j++)
            for (uint32_t p = 0; p < span; p++) {
                const double angle = -2 * M_PI * (double)(j * p % length) / length;
                *ret++ = (float)cos(angle);
                *ret++ = (float)sin(angle);
            }
    }
}

static int32_t modulo(int64_t value, int64_t period)
{
    const int64_t rest = value % period;
    return (int32_t)(rest < 0 ? rest + period : rest);
}

void plan_border_map(int32_t *map, uint32_t padded, uint32_t length, enum plan_border border)
{
    const int64_t n = length > 0 ? length : 1;
    const int64_t far_end = n + (padded - length + 1) / 2;
    for (uint32_t i = 0; i < padded; i++) {
        const int64_t at = i < far_end ? (int64_t)i : (int64_t)i - padded;
        if (at >= 0 && at < n) {
            map[i] = (int32_t)at;
            continue;
        }
        switch (border) {
        case PLAN_MIRROR:
            if (n == 1) {
                map[i] = 0;
            } else {
                const int32_t phase = modulo(at, 2 * (n - 1));
                map[i] = phase < n ? phase : (int32_t)(2 * (n - 1) - phase);
            }
            break;
        case PLAN_REPLICATE:
            map[i] = at < 0 ? 0 : (int32_t)(n - 1);
            break;
        case PLAN_CONSTANT:
            map[i] = -1;
            break;
        case PLAN_WRAP:
            map[i] = modulo(at, n);
            break;
        }
    }
}
