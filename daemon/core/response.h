/* A filter chain sampled at a plan's frequencies, in the order the kernels want. Pure. */
#ifndef FFTD_CORE_RESPONSE_H
#define FFTD_CORE_RESPONSE_H

#include <stddef.h>

#include "core/filter.h"
#include "core/plan.h"

/* Floats response_fill writes: pairs of rows ky = 0 .. y.length / 2, rounded up to whole groups of
 * `lanes`, times x.length. */
size_t response_count(const struct plan *plan, unsigned lanes);

/* values[(k / lanes * x.length + e) * lanes + k % lanes] = scale * H(fx, fy), where pair k is
 * ky = k and element e holds kx = plan_frequency(&plan->x, e); fx = kx / x.length / sub_x with kx
 * taken as signed, fy = k / y.length / sub_y: cycles per luma pixel whatever the plane's
 * subsampling. Rounding lanes are 0. */
void response_fill(float *values, const struct plan *plan, unsigned lanes,
                   const struct filter_chain *chain, double sub_x, double sub_y, double scale);

#endif
