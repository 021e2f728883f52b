/* The frequency at which the patches of a sheet agree on a wave. Pure.
 *
 * Part of the estimator of periodic.h. Threads: one at a time. */
#ifndef FFTD_ESTIMATORS_PERIODIC_SEARCH_H
#define FFTD_ESTIMATORS_PERIODIC_SEARCH_H

#include <complex.h>
#include <stdbool.h>

#include "estimators/periodic_sheet.h"
#include "estimators/periodic_spectrum.h"

#define SEARCH_STARTS 9u            /* frequencies from which a wave is searched */
#define SEARCH_LINES  SEARCH_STARTS /* most lines whose products are compared with a wave */

/* Searches the wave of a peak: `f` is the frequency of a patch's bin, and becomes that of the wave.
 * projection: room for SEARCH_STARTS * spectrum->count numbers. Returns the share of the patches
 * that agree on one direction there, 0 .. 1; *ret_amplitude: the median of the patches. */
double periodic_search(const struct spectrum *spectrum, const struct sheet *sheet,
                       double complex *projection, struct sheet_frequency *f,
                       double *ret_amplitude);

/* Returns whether the sheet has a narrow line at a frequency, in the same phase in all patches and
 * of at least that amplitude. projection: room for spectrum->count numbers. */
bool periodic_has_line(const struct spectrum *spectrum, const struct sheet *sheet,
                       double complex *projection, struct sheet_frequency f, double least);

/* Returns whether a wave is the product of two lines, or of one and the square of another, by its
 * phases in nearly all patches. The phases of a bent texture's lines wander over the frame, so
 * their frequencies do not show how the lines are related. Where the bends cancel, the product is
 * as even as interference. Lines of less than half the wave's amplitude are not considered, and at
 * most SEARCH_LINES are. projection: room for SEARCH_LINES * spectrum->count numbers. */
bool periodic_is_product(const struct spectrum *spectrum, const struct sheet *sheet,
                         double complex *projection, const struct spectrum_line *line,
                         unsigned count, struct sheet_frequency f, double amplitude);

/* Returns whether a wave that was subtracted from the sheet was also within SHEET_LANES pixels of
 * the frame's borders, which patches hardly see. amplitude: that was subtracted. */
bool periodic_reaches_borders(const struct sheet *sheet, struct sheet_frequency f,
                              double complex amplitude);

#endif
