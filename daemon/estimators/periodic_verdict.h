/* What the patches of a frame say about one wave: whether it fills them evenly, and how far its
 * amplitude and frequency are off. Pure.
 *
 * Part of the estimator of periodic.h. Threads: one at a time. */
#ifndef FFTD_ESTIMATORS_PERIODIC_VERDICT_H
#define FFTD_ESTIMATORS_PERIODIC_VERDICT_H

#include <complex.h>
#include <stdbool.h>

#include "estimators/periodic_spectrum.h"

/* Zero is empty. */
struct verdict {
    double patches, seen, agreeing; /* patches: all, where the wave can be seen, where it is even */
    double complex correction;      /* to the amplitude, times weight */
    double weight;
    double m[6], v[3]; /* normal equations of the frequency's error: 1, x, y */
};

/* Adds a patch. sample: what of the wave is left in it. amplitude: of the wave, > 0; direction: the
 * wave's complex amplitude divided by it. */
void verdict_add(struct verdict *ret, const struct patch *patch, const struct patch_sample *sample,
                 double amplitude, double complex direction);

/* The error of the frequency in cycles/pixel. False: the patches do not determine it. */
bool verdict_slopes(const struct verdict *v, double *ret_x, double *ret_y);

#endif
