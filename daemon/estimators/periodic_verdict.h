/* What the patches of a frame say about one wave: whether it fills them evenly, and how far its
 * amplitude is off. Pure.
 *
 * Part of the estimator of periodic.h. Threads: one at a time. */
#ifndef FFTD_ESTIMATORS_PERIODIC_VERDICT_H
#define FFTD_ESTIMATORS_PERIODIC_VERDICT_H

#include <complex.h>

#include "estimators/periodic_spectrum.h"

/* Zero is empty. */
struct verdict {
    double patches, seen, agreeing; /* patches: all, where the wave can be seen, where it is even */
    double complex correction;      /* to the amplitude, times weight */
    double weight;
};

/* Adds a patch. sample: what of the wave is left in it. amplitude: of the wave, > 0. */
void verdict_add(struct verdict *ret, const struct patch_sample *sample, double amplitude);

#endif
