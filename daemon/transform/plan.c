#include "transform/plan.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* Where a stage of the staged technique is. The middle one multiplies by the response, and has its
 * inverse in the same kernel. */
enum stage_place { AT_IMAGE, INNER, LAST_OF_COLUMNS, FIRST_OF_ROWS, MIDDLE, PLACES };

/* operations: arithmetic of the butterflies in butterfly.cl for each element, counted in their
 * source.
 *
 * midgard: cycles of an item in float and in half precision, which computes two butterflies of a
 * stage forward and inverse. 0: there is no such stage. In a cycle a core of a Mali-T760 executes
 * two words of arithmetic and one access to memory; the larger of both counts. `make mali-costs`
 * counts the kernels as a compiler for this GPU makes them, spills included, and prints these
 * numbers. */
static const struct radix {
    uint8_t radix;
    double operations;
    double midgard[2][PLACES];
} radices[] = {
    {16, 168. / 16, {{425, 438, 257, 434, 249}, {431, 424, 224, 335.5, 163}}},
    {15, 200. / 15, {{502, 336, 156, 0, 0}, {537, 349, 165, 0, 0}}},
    {12, 112. / 12, {{194, 162, 133, 187, 135}, {213, 146, 93, 214.5, 69}}},
    {10, 100. / 10, {{238.5, 108, 55, 135.75, 118}, {235, 102.5, 71.5, 155.75, 57}}},
    {9, 120. / 9, {{176, 76.5, 51, 0, 44.5}, {180, 82.5, 62, 0, 52}}},
    {8, 56. / 8, {{123, 70, 39, 79.25, 30}, {126.5, 89, 63, 83.5, 41}}},
    {7, 84. / 7, {{91.5, 53, 42, 0, 36}, {99, 61.5, 51, 0, 41}}},
    {6, 44. / 6, {{62.5, 37.5, 30, 52.5, 29.5}, {68.5, 46, 36, 61, 26}}},
    {5, 40. / 5, {{92.5, 31, 26, 0, 20}, {93.5, 37.5, 31.5, 0, 23}}},
    {4, 4, {{43, 22, 22, 34, 15}, {43.5, 26, 22, 38.875, 15}}},
    {3, 16. / 3, {{57, 18, 18, 0, 12}, {57.5, 19.5, 18, 0, 12}}},
    {2, 2, {{25, 14, 14, 22, 9}, {26.5, 14, 14, 22, 9}}},
};
#define RADIX_COUNT  (sizeof radices / sizeof radices[0])

/* The operations of the twiddle of the following stage. */
#define TWIDDLE_COST 6

/* The cost of writing and reading an element between two stages, in the same unit: local memory or
 * cache costs about as much as a few operations. */
#define STAGE_COST   8.

/* The cost of an element independent of the stages: main memory both ways and the conversions. */
#define ELEMENT_COST 30.

static const struct radix *find_radix(uint8_t radix)
{
    unsigned i = 0;
    while (i + 1 < RADIX_COUNT && radices[i].radix != radix)
        i++;
    return &radices[i];
}

static enum stage_place place_of(bool is_first, unsigned stage, unsigned count)
{
    const bool begins = stage == 0, ends = stage + 1 == count;
    if (is_first)
        return begins ? AT_IMAGE : ends ? LAST_OF_COLUMNS : INNER;
    return ends ? MIDDLE : begins ? FIRST_OF_ROWS : INNER;
}

double plan_midgard_cycles(const struct plan_axis *axis, unsigned stage, bool is_first, bool half)
{
    const enum stage_place place = place_of(is_first, stage, axis->stage_count);
    const double item = find_radix(axis->radix[stage])->midgard[half][place];
    return item > 0 ? item / (2 * axis->radix[stage]) : HUGE_VAL;
}

/* Returns the cost of a number in all stages of an axis, the mean of both directions. A dispatch
 * takes as long as its arithmetic or as its traffic, of which each of its stages has a share. */
static double midgard_cost(const struct plan_axis *axis, const struct plan_limits *limits,
                           bool is_first)
{
    double cycles = 0;
    for (unsigned i = 0; i < axis->stage_count; i++) {
        const bool is_once = is_first ? i == 0 : i + 1 == axis->stage_count;
        const double bytes = (is_once ? 2 : 4) * (limits->half ? 4. : 8.);
        cycles += fmax(plan_midgard_cycles(axis, i, is_first, limits->half),
                       bytes / PLAN_MIDGARD_BYTES / limits->midgard_stages);
    }
    return cycles / 2;
}

/* ---- factors ------------------------------------------------------------------------------- */

/* Returns the cost of an element in all stages of an axis, in one direction. */
static double axis_cost(const struct plan_axis *axis, const struct plan_limits *limits,
                        bool is_first)
{
    double cost = 0;
    if (limits->midgard_stages > 0)
        return midgard_cost(axis, limits, is_first);
    for (unsigned i = 0; i < axis->stage_count; i++)
        cost += find_radix(axis->radix[i])->operations + TWIDDLE_COST + STAGE_COST;
    return cost;
}

static double element_cost(const struct plan_limits *limits)
{
    return limits->midgard_stages > 0 ? 0 : ELEMENT_COST;
}

struct factoring {
    struct plan_axis best, now;
    double best_cost;
    const struct plan_limits *limits;
    bool is_first; /* the axis that is transformed first; the other one is halved */
    bool first_even;
};

static void put_even_first(struct plan_axis *axis)
{
    unsigned first = 0;
    while (axis->radix[first] % 2 != 0)
        first++;
    const uint8_t even = axis->radix[first];
    memmove(&axis->radix[1], &axis->radix[0], first);
    axis->radix[0] = even;
}

/* Tries every product of radices from radices[from] on that is `rest`. There are at most
 * some hundreds, so no heuristic is needed. */
static void factor_rest(struct factoring *f, uint32_t rest, unsigned from)
{
    if (rest == 1) {
        struct plan_axis axis = f->now;
        if (f->first_even)
            put_even_first(&axis);
        const double cost = axis_cost(&axis, f->limits, f->is_first);
        if (cost < f->best_cost) {
            f->best_cost = cost;
            f->best = axis;
        }
        return;
    }
    if (f->now.stage_count == PLAN_MAX_STAGES)
        return;
    for (unsigned i = from; i < RADIX_COUNT; i++) {
        const uint8_t radix = radices[i].radix;
        if (radix > f->limits->max_radix || rest % radix != 0)
            continue;
        f->now.radix[f->now.stage_count++] = radix;
        factor_rest(f, rest / radix, i);
        f->now.stage_count--;
    }
}

static int factor(struct plan_axis *ret, uint32_t length, struct factoring f)
{
    uint32_t rest = length;
    for (unsigned prime = 2; prime <= 7 && rest > 1; prime++)
        while (rest % prime == 0)
            rest /= prime;
    if (length < 2 || rest != 1 || (f.first_even && length % 2 != 0))
        return -EINVAL;
    f.best_cost = HUGE_VAL;
    factor_rest(&f, length, 0);
    if (f.best_cost == HUGE_VAL)
        return -EINVAL;
    f.best.length = length;
    *ret = f.best;
    return 0;
}

int plan_factor(struct plan_axis *ret, uint32_t length, uint8_t max_radix, int first_even)
{
    const struct plan_limits limits = {.max_radix = max_radix};
    return factor(ret, length, (struct factoring){.limits = &limits, .first_even = first_even});
}

static unsigned twos_in(uint8_t radix)
{
    unsigned count = 0;
    for (; radix % 2 == 0; radix /= 2)
        count++;
    return count;
}

/* Runs of pairs (plan_pairs) begin at multiples of the product of all radices except the first and
 * the last. If that product is a multiple of four, they begin at whole sectors of memory. */
static void align_runs(struct plan_axis *axis)
{
    unsigned best = 1;
    if (axis->stage_count < 3)
        return;
    for (unsigned i = 0; i < axis->stage_count; i++)
        if (twos_in(axis->radix[i]) > twos_in(axis->radix[best]))
            best = i;
    const uint8_t radix = axis->radix[best];
    axis->radix[best] = axis->radix[1];
    axis->radix[1] = radix;
}

static uint32_t round_up(uint32_t value, uint32_t step)
{
    return (value + step - 1) / step * step;
}

/* Along the first axis: half as many lines as the second axis is long, forward and back. Along the
 * second axis: pairs of lines, in whole groups of lanes. */
double plan_cost(const struct plan *plan, const struct plan_limits *limits)
{
    const struct plan_axis *first = plan_first(plan), *second = plan_second(plan);
    const double lines = 0.5 * second->length * first->length;
    const double pairs = (double)round_up(plan_pair_count(plan), limits->lanes) * second->length;
    return 2 * lines * (axis_cost(first, limits, true) + element_cost(limits) / 2) +
           pairs * (2 * axis_cost(second, limits, false) + element_cost(limits) / 2);
}

/* The longest length worth trying. For every length there is a power of two, or three times one,
 * that is at most a third longer. */
static uint32_t search_end(uint32_t need)
{
    return need + need / 2 + 32;
}

#define RANKED 4 /* lengths of an axis that are combined with those of the other */
_Static_assert(RANKED *RANKED == PLAN_MAX_RANKED, "all combinations are ranked");

struct ranked_axis {
    struct plan_axis axis;
    double cost;
};

static bool is_first_axis(const struct plan_limits *limits, bool along_x)
{
    return along_x == (limits->order == PLAN_ROWS_FIRST);
}

/* The lengths of the halved axis are multiples of this. */
static uint32_t length_step(const struct plan_limits *limits, bool along_x)
{
    return is_first_axis(limits, along_x) ? 1 : 2 * limits->lanes;
}

static int make_axis(struct plan_axis *ret, uint32_t length, const struct plan_limits *limits,
                     bool along_x)
{
    const bool first = is_first_axis(limits, along_x);
    const struct factoring f = {.limits = limits, .is_first = first, .first_even = !first};
    const int r = length % length_step(limits, along_x) != 0 ? -EINVAL : factor(ret, length, f);
    if (r == 0 && first && along_x)
        align_runs(ret);
    return r;
}

/* Sets the axis of the smaller plane that belongs to a length. -EINVAL: there is none. */
static int make_smaller_axis(struct plan_axis *ret, uint32_t length,
                             const struct plan_limits *limits, bool along_x)
{
    const uint64_t side = along_x ? limits->width : limits->height;
    const uint64_t product =
        (uint64_t)length * (along_x ? limits->smaller_width : limits->smaller_height);
    return product % side != 0 ? -EINVAL
                               : make_axis(ret, (uint32_t)(product / side), limits, along_x);
}

/* The cheapest lengths of one axis, by the cost of an element times their number. */
static unsigned rank_axis(struct ranked_axis ret[RANKED], const struct plan_limits *limits,
                          bool along_x)
{
    const uint32_t wanted = along_x ? limits->want_x : limits->want_y;
    const uint32_t need =
        along_x ? limits->width + limits->margin_x : limits->height + limits->margin_y;
    const bool first = is_first_axis(limits, along_x);
    const uint32_t step = length_step(limits, along_x);
    const uint32_t limit = along_x ? limits->max_x : limits->max_y;
    const uint32_t longest = limit != 0 ? limit : PLAN_MAX_LENGTH;
    unsigned count = 0;
    for (uint32_t n = round_up(need < 2 ? 2 : need, step); n <= longest && n <= search_end(need);
         n += step) {
        struct ranked_axis entry;
        struct plan_axis smaller;
        if ((limits->smaller_width > 0 && make_smaller_axis(&smaller, n, limits, along_x) < 0) ||
            make_axis(&entry.axis, n, limits, along_x) < 0)
            continue;
        entry.cost =
            n == wanted ? 0 : n * (axis_cost(&entry.axis, limits, first) + element_cost(limits));
        unsigned at = count < RANKED ? count++ : RANKED;
        for (; at > 0 && ret[at - 1].cost > entry.cost; at--)
            if (at < RANKED)
                ret[at] = ret[at - 1];
        if (at < RANKED)
            ret[at] = entry;
    }
    if (count > 0 && ret[0].cost == 0)
        return 1;
    return count;
}

unsigned plan_rank(struct plan *ret, unsigned max, const struct plan_limits *limits)
{
    struct ranked_axis x[RANKED], y[RANKED];
    const unsigned x_count = rank_axis(x, limits, true);
    const unsigned y_count = rank_axis(y, limits, false);
    unsigned count = 0;
    for (unsigned i = 0; i < x_count * y_count; i++) {
        const struct plan plan = {.width = limits->width,
                                  .height = limits->height,
                                  .order = limits->order,
                                  .x = x[i / y_count].axis,
                                  .y = y[i % y_count].axis};
        const double cost = plan_cost(&plan, limits);
        unsigned at = count < max ? count++ : max;
        for (; at > 0 && plan_cost(&ret[at - 1], limits) > cost; at--)
            if (at < max)
                ret[at] = ret[at - 1];
        if (at < max)
            ret[at] = plan;
    }
    return count;
}

int plan_smaller(struct plan *ret, const struct plan *plan, const struct plan_limits *limits)
{
    *ret = (struct plan){
        .width = limits->smaller_width, .height = limits->smaller_height, .order = plan->order};
    const int r = make_smaller_axis(&ret->x, plan->x.length, limits, true);
    return r < 0 ? r : make_smaller_axis(&ret->y, plan->y.length, limits, false);
}

int plan_choose(struct plan *ret, const struct plan_limits *limits, struct error *why)
{
    struct plan best;
    if (plan_rank(&best, 1, limits) == 0)
        return error_set(why, ERANGE,
                         "%ux%u with a margin of %ux%u does not fit the longest transform, %ux%u",
                         limits->width, limits->height, limits->margin_x, limits->margin_y,
                         limits->max_x != 0 ? limits->max_x : PLAN_MAX_LENGTH,
                         limits->max_y != 0 ? limits->max_y : PLAN_MAX_LENGTH);
    *ret = best;
    return 0;
}
