/* A filter chain sampled at a plan's frequencies, in the order the kernels want. Pure. */
#ifndef FFTD_CORE_RESPONSE_H
#define FFTD_CORE_RESPONSE_H

#include <stddef.h>

#include "core/filter.h"
#include "core/plan.h"

/* The order of H's values: pairs k of lines (plan_pairs), `lanes` of them side by side, and
 * elements e of a line along the second axis, where plan_place puts them: values[(k / lanes *
 * length + place of e) * lanes + k % lanes]. */
struct response_layout {
    const struct plan *plan;
    unsigned lanes;
    bool legs_apart;
};

/* Floats response_fill writes: all pairs, rounded up to whole groups of `lanes`. */
size_t response_count(const struct response_layout *layout);

/* Sets each value to scale * H(fx, fy), frequencies in cycles per luma pixel whatever the plane's
 * subsampling: sub_x and sub_y luma pixels a sample. Rounding lanes are 0. */
void response_fill(float *values, const struct response_layout *layout,
                   const struct filter_chain *chain, double sub_x, double sub_y, double scale);

#endif
