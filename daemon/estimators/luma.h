/* Luma of captured frames as floats, for estimators that look at the picture. Pure.
 *
 * A sample of b bits is scaled by 255 / (2^b - 1), so that 0 .. 255 is the range of the samples
 * whatever their bits. RGB: 0.299 R + 0.587 G + 0.114 B (ITU-R BT.601-7, 2.5.1). Mosaics: the same
 * of the colours that engine/engine.h defines. So this is the component that the engine filters. */
#ifndef FFTD_ESTIMATORS_LUMA_H
#define FFTD_ESTIMATORS_LUMA_H

#include <stddef.h>
#include <stdint.h>

#include "core/format.h"
#include "core/mosaic.h"

/* The bytes of a row of the first plane, which has all that luma is computed from. */
size_t luma_row_bytes(const struct format_info *format, uint32_t width);

/* Fills width * height numbers, rows without gaps, from the first plane of a frame whose rows are
 * `stride` bytes apart. Mosaics are at least 3 x 3 pixels; for other formats `demosaic` is of no
 * account. */
void luma_read(float *ret, const struct format_info *format, enum demosaic demosaic, uint32_t width,
               uint32_t height, const uint8_t *plane, size_t stride);

/* Fills a frame of that layout, which is GREY or Y16, from the first plane of a frame of the same
 * size that was captured in another format (engine_published). Rounds halves to even, to 0 .. white
 * of that format. */
void luma_convert(uint8_t *frame, const struct fftd_format *format, uint32_t captured,
                  enum demosaic demosaic, const uint8_t *plane, size_t stride);

/* What a difference of 1 in this luma is in samples as the engine filters them: 1 for 8 bits and
 * mosaics, 4095 / 255 for 12 bits. */
double luma_step(const struct format_info *format);

#endif
