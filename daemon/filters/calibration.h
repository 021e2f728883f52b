/* Corrects the fixed patterns of a sensor and its lens in each captured sample. Pure.
 *
 *     corrected(x, y) = (captured(x, y) - offset(x, y)) * gain(x, y) + pedestal
 *
 * The stages of a chain that correct are combined into one table of offsets and gains. This is the
 * two-point correction of infrared and scientific cameras (Holst and Lomheim, CMOS/CCD Sensors and
 * Camera Systems, chapter on non-uniformity). All offsets are subtracted before any gain is
 * applied, wherever the stages are in the chain, because what a sensor adds does not depend on the
 * light that the lens lets through. Gains commute with each other, but not with a filter, so
 * samples are corrected before the transform.
 *
 * A bad pixel stands out of its neighbours or stays dark. It is replaced by the mean of its
 * corrected neighbours: those to the left, to the right, above and below that have the same colour
 * and are not bad themselves. If there are none, it is corrected like any other pixel.
 *
 * The table has an entry for each captured pixel, in rows without gaps. All colours of a pixel of
 * RGB share its entry; a pixel of a mosaic has one colour. Offsets are in units of a captured
 * sample (0 .. 255 for 8 bits), gains are factors. The pedestal, divided by the gain, is part of
 * the offset. A bad pixel has a gain of 0. */
#ifndef FFTD_FILTERS_CALIBRATION_H
#define FFTD_FILTERS_CALIBRATION_H

#include "core/error.h"
#include "filters/filter.h"

/* Returns whether a chain corrects samples, so that it needs a table. */
bool calibration_is_needed(const struct filter_chain *chain);

/* Checks that images with an entry for each captured pixel are as large as the frames. -EINVAL
 * names the stage and both sizes. */
int calibration_check_size(const struct filter_chain *chain, uint32_t width, uint32_t height,
                           struct error *why);

/* Fills in the offsets and gains of a chain. The table's width, height, cell, white and arrays are
 * set; is_bad and pedestal are also results. A chain that corrects nothing has offsets 0 and gains
 * 1. -EINVAL: an image does not fit, as `why` says; the arrays are undefined then. */
int calibration_fill(struct filter_calibration *table, const struct filter_chain *chain,
                     struct error *why);

#endif
