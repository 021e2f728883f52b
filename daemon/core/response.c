#include "core/response.h"

#include <stdbool.h>

static size_t lane_groups(const struct plan *plan, unsigned lanes)
{
    return (plan->y.length / 2 + 1 + lanes - 1) / lanes;
}

size_t response_count(const struct plan *plan, unsigned lanes)
{
    return lane_groups(plan, lanes) * lanes * plan->x.length;
}

/* H, where on a line at half the sampling rate both its ends stand for one frequency: their mean.
 * The chain sees to that itself at 0.5 cycles per pixel, but a subsampled plane's line lies at a
 * lower frequency, where H may differ from one end to the other. */
static double response_at(const struct filter_chain *chain, double fx, double fy, bool nyquist_x,
                          bool nyquist_y)
{
    if (nyquist_x)
        return (response_at(chain, fx, fy, false, nyquist_y) +
                response_at(chain, -fx, fy, false, nyquist_y)) /
               2;
    if (nyquist_y)
        return (filter_chain_response(chain, fx, fy) + filter_chain_response(chain, fx, -fy)) / 2;
    return filter_chain_response(chain, fx, fy);
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
                const bool nyquist_x = 2 * kx == nx, nyquist_y = 2 * ky == ny;
                *values = 2 * ky <= ny
                              ? (float)(scale * response_at(chain, fx, fy, nyquist_x, nyquist_y))
                              : 0.f;
            }
        }
}
