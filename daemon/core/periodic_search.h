/* The frequency at which the patches of a sheet agree on a wave. Pure.
 *
 * Part of the estimator of periodic.h. Threads: one at a time. */
#ifndef FFTD_CORE_PERIODIC_SEARCH_H
#define FFTD_CORE_PERIODIC_SEARCH_H

#include <complex.h>

#include "core/periodic_sheet.h"
#include "core/periodic_spectrum.h"

/* Searches the offset (cycles/pixel, within 0.8 bins of a patch) from the frequency for which
 * `projection` has the amplitude in each patch (spectrum_project), first on a grid. The amplitudes
 * become directions, of at most 1. Returns the share of them that agree there, 0 .. 1. */
double periodic_search(const struct spectrum *spectrum, const struct sheet *sheet,
                       double complex *projection, double *ret_dx, double *ret_dy);

#endif
