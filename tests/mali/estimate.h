/* What the model of mali/cost.h says about a transform of the staged technique. */
#ifndef FFTD_TESTS_MALI_ESTIMATE_H
#define FFTD_TESTS_MALI_ESTIMATE_H

#include "mali/cost.h"
#include "transform/transform_private.h"

/* Sums up the work of a frame and returns the sum of its dispatches' seconds. The plan
 * and the tuning of the transform are set; it need not be built. `band` is that of the response
 * (transform/response.h); 0: all pairs. HUGE_VAL, and no work: the model lacks a stage. */
double estimate_staged(struct cost_work *ret, const struct transform *transform,
                       const struct cost_device *device, uint32_t band);

#endif
