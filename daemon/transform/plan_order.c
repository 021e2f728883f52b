/* The order in which a planned transform holds its frequencies, and the tables that follow from
 * it. */
#include "transform/plan.h"

#include <math.h>

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

void plan_frequencies(const struct plan_axis *axis, uint16_t *ret)
{
    for (uint32_t q = 0; q < axis->length; q++)
        ret[q] = (uint16_t)plan_frequency(axis, q);
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

uint32_t plan_place(const struct plan_axis *axis, uint32_t position, bool legs_apart)
{
    const uint32_t radix = axis->radix[axis->stage_count - 1];
    return legs_apart ? position % radix * (axis->length / radix) + position / radix : position;
}

static struct plan_pair pair_at(const struct plan_axis *axis, uint32_t position, bool apart)
{
    const uint32_t frequency = plan_frequency(axis, position);
    const uint32_t opposite = plan_position(axis, (axis->length - frequency) % axis->length);
    return (struct plan_pair){.frequency = frequency,
                              .place = plan_place(axis, position, apart),
                              .negative = plan_place(axis, opposite, apart)};
}

/* A position has one digit for each stage: the last digit is the leg j of the last stage, the other
 * digits are the butterfly b. Leg j of all butterflies has the length / radix frequencies from j
 * length / radix on, which are neighbours in memory. Negating a frequency keeps its leading zeros,
 * replaces the first other digit d by radix - d, and each later digit d by radix - 1 - d. So the
 * butterflies whose first other digit is at the same stage are mapped to each other in reverse
 * order, and so are the legs. The middle one of an odd number of legs has both lines of most of its
 * pairs, of which only the first counts. */
static void pairs_by_leg(const struct plan_axis *axis, struct plan_pair *ret)
{
    const uint32_t radix = axis->radix[axis->stage_count - 1], butterflies = axis->length / radix;
    for (uint32_t j = 0; 2 * j <= radix; j++)
        for (uint32_t b = 0; b < (2 * j == radix ? 1 : butterflies); b++) {
            const struct plan_pair pair = pair_at(axis, b * radix + j, true);
            const bool is_repeated = 2 * j + 1 == radix && b > 0 && pair.negative < pair.place;
            if (!is_repeated)
                *ret++ = pair;
        }
}

void plan_pairs(const struct plan *plan, struct plan_pair *ret)
{
    const struct plan_axis *axis = plan_first(plan);
    if (plan->order == PLAN_ROWS_FIRST) {
        pairs_by_leg(axis, ret);
        return;
    }
    for (uint32_t frequency = 0; 2 * frequency <= axis->length; frequency++)
        *ret++ = pair_at(axis, plan_position(axis, frequency), false);
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

uint32_t plan_mirror(int64_t at, uint32_t length)
{
    const int32_t last = (int32_t)length - 1, phase = last > 0 ? modulo(at, 2 * (int64_t)last) : 0;
    return (uint32_t)(phase <= last ? phase : 2 * last - phase);
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
            map[i] = (int32_t)plan_mirror(at, (uint32_t)n);
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
