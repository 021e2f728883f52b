/* Demosaicing of single frames in plain C, for snapshots and estimators. Published frames are
 * demosaiced on the device, by the same definition (engine/engine.h). Pure. */
#ifndef FFTD_CORE_MOSAIC_H
#define FFTD_CORE_MOSAIC_H

#include <stddef.h>
#include <stdint.h>

#include "core/format.h"
#include "fftd/ring.h"

/* How the two colours that a pixel lacks are interpolated. */
enum demosaic {
    DEMOSAIC_BILINEAR,  /* by the means of its nearest neighbours of that colour */
    DEMOSAIC_GRADIENTS, /* by these, and by how the pixel's own colour changes around it */
};

/* Fills a frame of this layout from a mosaic of the format `fourcc`, whose rows are `stride` bytes
 * apart. The frame has at least 3 x 3 pixels, of a format in which the mosaic is published
 * (format_published, format_luma). */
void mosaic_convert(uint8_t *frame, const struct fftd_format *format, uint32_t fourcc,
                    enum demosaic demosaic, const uint8_t *mosaic, size_t stride);

/* Fills width * height numbers with the luma of these colours before they are rounded: 0 .. 255,
 * and a little more beside edges if gradients are used. The mosaic has this format and at least
 * 3 x 3 pixels. */
void mosaic_luma(float *ret, const struct format_info *info, enum demosaic demosaic, uint32_t width,
                 uint32_t height, const uint8_t *mosaic, size_t stride);

#endif
