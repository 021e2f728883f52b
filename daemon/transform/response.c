#include "transform/response.h"

#include <complex.h>
#include <math.h>
#include <stdlib.h>

#include "filters/filter_crop.h"
#include "filters/filter_grid.h"

size_t response_part_count(const struct response_layout *layout)
{
    const uint32_t lanes = layout->lanes;
    return (size_t)(plan_pair_count(layout->plan) + lanes - 1) / lanes * lanes *
           plan_second(layout->plan)->length;
}

size_t response_count(const struct response_layout *layout)
{
    return response_part_count(layout) * (layout->is_complex ? 2 : 1);
}

/* What H is sampled with. */
struct sampler {
    const struct filter_chain *chain;
    const struct plan *plan;
    const struct plan *loaded; /* whose lengths the frequencies are of */
    double sub_x, sub_y;
    double edge; /* part of a smaller picture's frequencies, at their upper end, over which H falls
                    to 0 */
    struct filter_grid *grid; /* NULL: the chain uses no images */
};

/* Frequencies in cycles per length of the padded plane, from -length / 2 to length / 2, along the
 * axis that is transformed first and along the other. */
struct place {
    uint32_t slot; /* the grid's slot */
    int32_t first, second;
};

/* The edge of a smaller picture's frequencies along an axis, and the shift of its samples: the
 * middle of the first one is (ratio - 1) / 2 samples of the image behind the middle of the image's
 * first one. */
static double complex crop(int32_t frequency, uint32_t length, uint32_t loaded, double part)
{
    const double shift = 0.5 * frequency * (1. / length - 1. / loaded);
    const double edge = filter_crop(2. * frequency / length, part);
    return length == loaded ? 1 : edge * cexp(2 * M_PI * I * shift);
}

static double complex sample(const struct sampler *sampler, struct place at)
{
    const struct plan *plan = sampler->plan, *loaded = sampler->loaded;
    const bool rows_first = plan->order == PLAN_ROWS_FIRST;
    const int32_t along_x = rows_first ? at.first : at.second;
    const int32_t along_y = rows_first ? at.second : at.first;
    const double fx = along_x / (loaded->x.length * sampler->sub_x);
    const double fy = along_y / (loaded->y.length * sampler->sub_y);
    double complex transform[FILTER_MAX_STAGES], h;
    if (sampler->grid == NULL) {
        h = filter_chain_response(sampler->chain, fx, fy);
    } else {
        filter_grid_read(sampler->grid, at.slot, at.first < 0, at.second, transform);
        h = filter_chain_response_of(sampler->chain, transform, fx, fy);
    }
    return plan == loaded ? h
                          : h * crop(along_x, plan->x.length, loaded->x.length, sampler->edge) *
                                crop(along_y, plan->y.length, loaded->y.length, sampler->edge);
}

/* H. On the line at half the sampling rate, f and -f are the same frequency, and H is their mean.
 * The chain does that itself at 0.5 cycles per pixel. The line of a subsampled plane is at a lower
 * frequency, where H(f) and H(-f) may differ. */
static double complex response_at(const struct sampler *sampler, struct place at)
{
    const int sides1 = 1 + (2 * (uint32_t)at.first == plan_first(sampler->plan)->length);
    const int sides2 = 1 + (2 * (uint32_t)at.second == plan_second(sampler->plan)->length);
    double complex sum = 0;
    for (int i = 0; i < sides1; i++)
        for (int j = 0; j < sides2; j++)
            sum += sample(sampler, (struct place){.slot = at.slot,
                                                  .first = i == 0 ? at.first : -at.first,
                                                  .second = j == 0 ? at.second : -at.second});
    return sum / (sides1 * sides2);
}

static int32_t signed_frequency(uint32_t k, uint32_t length)
{
    return 2 * k <= length ? (int32_t)k : (int32_t)k - (int32_t)length;
}

static const struct plan *loaded_by(const struct response_layout *layout)
{
    return layout->loaded != NULL ? layout->loaded : layout->plan;
}

static struct filter_grid_shape grid_shape(const struct response_layout *layout, double sub_x,
                                           double sub_y)
{
    const struct plan *plan = loaded_by(layout);
    const bool rows_first = plan->order == PLAN_ROWS_FIRST;
    const uint32_t period_x = (uint32_t)lrint(plan->x.length * sub_x);
    const uint32_t period_y = (uint32_t)lrint(plan->y.length * sub_y);
    return (struct filter_grid_shape){.first_period = rows_first ? period_x : period_y,
                                      .second_period = rows_first ? period_y : period_x,
                                      .lines = plan_pair_count(layout->plan),
                                      .slots = layout->lanes,
                                      .first_is_x = rows_first};
}

uint64_t response_filling_bytes(const struct response_layout *layout,
                                const struct filter_chain *chain, double sub_x, double sub_y)
{
    const struct filter_grid_shape shape = grid_shape(layout, sub_x, sub_y);
    return filter_grid_bytes(chain, &shape);
}

/* The frequencies along the second axis, in the order of the response. */
static void put_order(uint16_t order[PLAN_MAX_LENGTH], const struct response_layout *layout)
{
    const struct plan_axis *second = plan_second(layout->plan);
    for (uint32_t e = 0; e < second->length; e++)
        order[plan_place(second, e, layout->legs_apart)] = (uint16_t)plan_frequency(second, e);
}

int response_fill(float *values, const struct response_layout *layout,
                  const struct filter_chain *chain, double sub_x, double sub_y, double scale,
                  struct error *why)
{
    struct sampler sampler = {.chain = chain,
                              .plan = layout->plan,
                              .loaded = loaded_by(layout),
                              .sub_x = sub_x,
                              .sub_y = sub_y,
                              .edge = layout->crop_edge > 0 ? layout->crop_edge : FILTER_CROP_EDGE};
    const struct plan_axis *first = plan_first(layout->plan), *second = plan_second(layout->plan);
    const uint32_t pairs = plan_pair_count(layout->plan), lanes = layout->lanes;
    const size_t part = response_part_count(layout);
    struct plan_pair pair[PLAN_MAX_LENGTH / 2 + 1];
    uint16_t order[PLAN_MAX_LENGTH];
    const struct filter_grid_shape shape = grid_shape(layout, sub_x, sub_y);
    int r = filter_grid_create(&sampler.grid, chain, &shape, why);
    if (r < 0)
        return r;
    plan_pairs(layout->plan, pair);
    put_order(order, layout);

    for (uint32_t group = 0; group < pairs; group += lanes) {
        for (uint32_t k = group; sampler.grid != NULL && k < group + lanes && k < pairs; k++)
            filter_grid_load(sampler.grid, k - group,
                             (uint32_t)abs(signed_frequency(pair[k].frequency, first->length)));
        for (uint32_t at = 0; at < second->length; at++)
            for (uint32_t k = group; k < group + lanes; k++, values++) {
                *values = 0;
                if (layout->is_complex)
                    values[part] = 0;
                if (k >= pairs)
                    continue;
                const struct place place = {.slot = k - group,
                                            .first =
                                                signed_frequency(pair[k].frequency, first->length),
                                            .second = signed_frequency(order[at], second->length)};
                const double complex h = response_at(&sampler, place);
                *values = (float)(scale * creal(h));
                if (layout->is_complex)
                    values[part] = (float)(scale * cimag(h));
            }
    }
    filter_grid_destroy(sampler.grid);
    return 0;
}

/* Returns the largest magnitude of the values, but at most `enough`, at which the search ends. */
static float largest_up_to(float enough, const float *values, size_t count)
{
    float most = 0;
    for (size_t i = 0; i < count && most < enough; i++)
        most = fmaxf(most, fabsf(values[i]));
    return fminf(most, enough);
}

static bool is_negligible(const float *values, const struct response_layout *layout, uint32_t pair,
                          float least)
{
    const uint32_t lanes = layout->lanes, length = plan_second(layout->plan)->length;
    const size_t part = response_part_count(layout), count = response_count(layout);
    for (size_t at = (size_t)pair / lanes * lanes * length + pair % lanes; at < count; at += part)
        for (uint32_t e = 0; e < length; e++)
            if (!(fabsf(values[at + (size_t)e * lanes]) <= least))
                return false;
    return true;
}

/* Searches from the highest frequency on, so that a filter that lets all pass ends the search at
 * once. */
uint32_t response_band(const float *values, const struct response_layout *layout, double scale)
{
    const struct plan_axis *first = plan_first(layout->plan);
    const uint32_t pairs = plan_pair_count(layout->plan);
    const float least = largest_up_to((float)scale, values, response_count(layout)) * 0x1p-24f;
    uint32_t band = pairs;
    while (band > 1 && is_negligible(values, layout, band - 1, least))
        band--;
    const uint32_t leg = first->length / first->radix[first->stage_count - 1];
    if (layout->plan->order == PLAN_ROWS_FIRST)
        band = (band + leg - 1) / leg * leg;
    return band < pairs ? band : pairs;
}

void response_places(uint32_t *first, uint32_t *second, const struct response_layout *layout)
{
    const uint32_t length = plan_first(layout->plan)->length, lanes = layout->lanes;
    const struct plan_axis *axis = plan_second(layout->plan);
    struct plan_pair pair[PLAN_MAX_LENGTH / 2 + 1];
    plan_pairs(layout->plan, pair);
    for (uint32_t k = 0; k < plan_pair_count(layout->plan); k++) {
        const uint32_t at = k / lanes * lanes * axis->length + k % lanes;
        first[(length - pair[k].frequency) % length] = at | RESPONSE_NEGATIVE;
        first[pair[k].frequency] = at; /* 0 and half the length are their own negatives */
    }
    for (uint32_t e = 0; e < axis->length; e++)
        second[plan_frequency(axis, e)] = plan_place(axis, e, layout->legs_apart) * lanes;
}

void response_frequencies(uint16_t (*ret)[2], const struct response_layout *layout)
{
    const uint32_t length = plan_second(layout->plan)->length;
    const uint32_t pairs = plan_pair_count(layout->plan), lanes = layout->lanes;
    struct plan_pair pair[PLAN_MAX_LENGTH / 2 + 1];
    uint16_t order[PLAN_MAX_LENGTH] = {0};
    plan_pairs(layout->plan, pair);
    put_order(order, layout);
    for (uint32_t group = 0; group < pairs; group += lanes)
        for (uint32_t at = 0; at < length; at++)
            for (uint32_t k = group; k < group + lanes; k++, ret++) {
                (*ret)[0] = k < pairs ? (uint16_t)pair[k].frequency : 0;
                (*ret)[1] = k < pairs ? order[at] : 0;
            }
}
