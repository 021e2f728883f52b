/* What the model of transform/cost.h says about a transform of the staged technique. */
#ifndef FFTD_TRANSFORM_ESTIMATE_H
#define FFTD_TRANSFORM_ESTIMATE_H

#include "transform/cost.h"
#include "transform/transform_private.h"

/* Sums up the work of a frame and returns the sum of its dispatches' seconds. The plan
 * and the tuning of the transform are set; it need not be built. `band` is that of the response
 * (transform/response.h); 0: all pairs. HUGE_VAL, and no work: the model lacks a stage. */
double estimate_staged(struct cost_work *ret, const struct transform *transform,
                       const struct cost_device *device, uint32_t band);

/* Changes the settings to those of the fastest staged plan that the model of a Midgard device knows
 * for an image, and returns its seconds. HUGE_VAL, and nothing is changed: it knows none. */
double estimate_fastest(struct transform_tuning *tuning, const struct gpu_device *device,
                        const struct transform_image *image, const struct transform_border *border);

#endif
