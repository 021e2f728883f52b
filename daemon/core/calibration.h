/* Corrects the fixed patterns of a sensor and its lens in each captured sample. Pure.
 *
 *     corrected(x, y) = (captured(x, y) - offset(x, y)) * gain(x, y)
 *
 * The stages of a chain that correct are combined into one table of offsets and gains (the
 * two-point correction of infrared and scientific cameras; Holst and Lomheim, CMOS/CCD Sensors and
 * Camera Systems, chapter on non-uniformity). All offsets are subtracted before any gain is
 * applied, wherever the stages are in the chain: what a sensor adds does not depend on what the
 * lens has let through. Gains commute with each other, but not with a filter, so the correction
 * comes before the transform.
 *
 * The table has an entry for each captured pixel, in rows without gaps. All colours of a pixel of
 * RGB share its entry; a pixel of a mosaic has one colour. Offsets are in units of a captured
 * sample (0 .. 255 for 8 bits), gains are factors. */
#ifndef FFTD_CORE_CALIBRATION_H
#define FFTD_CORE_CALIBRATION_H

#include "core/error.h"
#include "core/filter.h"

/* Whether a chain corrects samples, so that it needs a table. */
bool calibration_is_needed(const struct filter_chain *chain);

/* Fills in the offsets and gains of a chain, whose width, height, white and arrays are set. A chain
 * that corrects nothing has offsets 0 and gains 1. -EINVAL: an image does not fit, as `why` says;
 * the arrays are undefined then. */
int calibration_fill(struct filter_calibration *table, const struct filter_chain *chain,
                     struct error *why);

#endif
