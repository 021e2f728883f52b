/* Estimates how strong the noise of blurred pictures is, for filters that undo the blur
 * (filters/blur.h). One of the estimators of estimators.h.
 *
 * The mean spectrum of patches is taken for |B|^2 A (f / BLUR_NOISE_AT)^-falloff + S, with the
 * response B of the blur. A and S, the power of the sharp picture and that of the noise, are those
 * of the greatest likelihood: each bin's power is exponential about its mean (P. Whittle,
 * Estimation and information in stationary time series, Arkiv for matematik 2, 1953). Where the
 * blur leaves little, the spectrum shows S, so texture says more about the noise than flat places
 * do.
 *
 * Threads: one at a time. */
#ifndef FFTD_OBSERVER_BLUR_NOISE_H
#define FFTD_OBSERVER_BLUR_NOISE_H

#include <stdint.h>

#include "core/error.h"
#include "filters/adaptation.h"

struct blur_noise;

/* For pictures of this size in pixels. The image of the blur is only read during this call.
 * -EINVAL, -ENOMEM. */
int blur_noise_create(struct blur_noise **ret, uint32_t width, uint32_t height,
                      const struct blur_noise_options *options, struct error *why);
void blur_noise_destroy(struct blur_noise *noise); /* NULL is allowed */

/* Observes a picture, width * height samples of 0 .. 255. Returns what `noise` of wiener should be,
 * from this picture and those before: 0.002 .. 10; 0: no picture has shown it yet. */
double blur_noise_observe(struct blur_noise *noise, const float *luma);

#endif
