/* 8-bit RGB images, made from frames and written as PNG. */
#ifndef FFTD_PICTURES_PICTURE_H
#define FFTD_PICTURES_PICTURE_H

#include <stdbool.h>
#include <stdio.h>

#include "pixels.h"

struct picture {
    uint32_t width, height;
    uint8_t *rgb; /* 3 * width bytes a row, no padding */
};

/* Creates a black image. -ENOMEM. */
int picture_create(struct picture *ret, uint32_t width, uint32_t height);
void picture_free(struct picture *picture); /* {0} is allowed */

/* Converts a frame for display. YUV is converted by the format's matrix and range; an unspecified
 * matrix is BT.601. Samples with more than 8 bits are reduced to the upper 8. -ENOMEM. */
int picture_from_pixels(struct picture *ret, const struct pixels *pixels);

/* How a format's YUV becomes RGB: R = y + rv v, G = y + gu u + gv v, B = y + bu u. y is in 0 ..
 * 255: (Y - y_offset) * y_scale; u and v are (U - 128) * c_scale and (V - 128) * c_scale. */
struct picture_matrix {
    double y_scale, y_offset, c_scale;
    double rv, gu, gv, bu;
};

/* Follows the format's matrix (ITU-T H.273, table 4) and range; an unspecified matrix is BT.601. */
struct picture_matrix picture_matrix_of(const struct fftd_format *format);

/* Puts two images side by side, with a gap between them. -ENOMEM. */
int picture_beside(struct picture *ret, const struct picture *left, const struct picture *right);

/* Writes a PNG file. Returns 0 or -errno; -EIO if libpng sets no errno. */
int picture_write_png(const struct picture *picture, FILE *file);

#endif
