#include "core/response.h"

#include <complex.h>

static uint32_t pair_count(const struct plan *plan)
{
    return plan_first(plan)->length / 2 + 1;
}

size_t response_part_count(const struct response_layout *layout)
{
    const uint32_t lanes = layout->lanes;
    return (size_t)(pair_count(layout->plan) + lanes - 1) / lanes * lanes *
           plan_second(layout->plan)->length;
}

size_t response_count(const struct response_layout *layout)
{
    return response_part_count(layout) * (layout->is_complex ? 2 : 1);
}

/* H. On the line at half the sampling rate, f and -f are the same frequency, and H is their mean.
 * The chain does that itself at 0.5 cycles per pixel. The line of a subsampled plane is at a lower
 * frequency, where H(f) and H(-f) may differ. */
static double complex response_at(const struct filter_chain *chain, double fx, double fy,
                                  bool nyquist_x, bool nyquist_y)
{
    if (nyquist_x)
        return (response_at(chain, fx, fy, false, nyquist_y) +
                response_at(chain, -fx, fy, false, nyquist_y)) /
               2;
    if (nyquist_y)
        return (filter_chain_response(chain, fx, fy) + filter_chain_response(chain, fx, -fy)) / 2;
    return filter_chain_response(chain, fx, fy);
}

/* Cycles per sample, from -0.5 up to 0.5. */
static double signed_frequency(uint32_t k, uint32_t length)
{
    return (2 * k <= length ? (double)k : (double)k - length) / length;
}

void response_fill(float *values, const struct response_layout *layout,
                   const struct filter_chain *chain, double sub_x, double sub_y, double scale)
{
    const struct plan_axis *first = plan_first(layout->plan), *second = plan_second(layout->plan);
    const bool rows_first = layout->plan->order == PLAN_ROWS_FIRST;
    const uint32_t pairs = pair_count(layout->plan), lanes = layout->lanes;
    const size_t part = response_part_count(layout);
    struct plan_pair pair[PLAN_MAX_LENGTH / 2 + 1];
    uint16_t order[PLAN_MAX_LENGTH];
    plan_pairs(layout->plan, pair);
    for (uint32_t e = 0; e < second->length; e++)
        order[plan_place(second, e, layout->legs_apart)] = (uint16_t)plan_frequency(second, e);

    for (uint32_t group = 0; group < pairs; group += lanes)
        for (uint32_t at = 0; at < second->length; at++) {
            const double f2 = signed_frequency(order[at], second->length);
            const bool nyquist2 = 2u * order[at] == second->length;
            for (uint32_t k = group; k < group + lanes; k++, values++) {
                *values = 0;
                if (layout->is_complex)
                    values[part] = 0;
                if (k >= pairs)
                    continue;
                const double f1 = signed_frequency(pair[k].frequency, first->length);
                const bool nyquist1 = 2 * pair[k].frequency == first->length;
                const double complex h =
                    rows_first ? response_at(chain, f1 / sub_x, f2 / sub_y, nyquist1, nyquist2)
                               : response_at(chain, f2 / sub_x, f1 / sub_y, nyquist2, nyquist1);
                *values = (float)(scale * creal(h));
                if (layout->is_complex)
                    values[part] = (float)(scale * cimag(h));
            }
        }
}
