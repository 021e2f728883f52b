#include "core/response.h"

static size_t lane_groups(const struct plan *plan, unsigned lanes)
{
    return (plan->y.length / 2 + 1 + lanes - 1) / lanes;
}

size_t response_count(const struct plan *plan, unsigned lanes)
{
    return lane_groups(plan, lanes) * lanes * plan->x.length;
}

void response_fill(float *values, const struct plan *plan, unsigned lanes,
                   const struct filter_chain *chain, double sub_x, double sub_y, double scale)
{
    const uint32_t nx = plan->x.length, ny = plan->y.length;
    const size_t groups = lane_groups(plan, lanes);
    uint16_t order[PLAN_MAX_LENGTH];
    for (uint32_t e = 0; e < nx; e++)
        order[e] = (uint16_t)plan_frequency(&plan->x, e);

    for (size_t group = 0; group < groups; group++)
        for (uint32_t e = 0; e < nx; e++) {
            const uint32_t kx = order[e];
            const double fx = (kx <= nx / 2 ? (double)kx : (double)kx - nx) / nx / sub_x;
            for (unsigned lane = 0; lane < lanes; lane++, values++) {
                const size_t ky = group * lanes + lane;
                const double fy = (double)ky / ny / sub_y;
                *values =
                    ky <= ny / 2 ? (float)(scale * filter_chain_response(chain, fx, fy)) : 0.f;
            }
        }
}
