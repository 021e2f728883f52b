/* Pictures for people: 8-bit RGB, and PNG files of them. */
#ifndef FFTD_CTL_PICTURE_H
#define FFTD_CTL_PICTURE_H

#include <stdio.h>

#include "pixels.h"

struct picture {
    uint32_t width, height;
    uint8_t *rgb; /* 3 * width bytes a row, no padding */
};

/* Black. -ENOMEM. */
int picture_create(struct picture *ret, uint32_t width, uint32_t height);
void picture_free(struct picture *picture); /* all zero is allowed */

/* As a screen should show the frame: YUV by the matrix and range its format names (BT.601 limited
 * where it names none), more than 8 bits by their upper 8. */
int picture_from_pixels(struct picture *ret, const struct pixels *pixels);

/* Two pictures beside each other, a gap between them. */
int picture_beside(struct picture *ret, const struct picture *left, const struct picture *right);

/* -EIO, or what libpng says as -errno. */
int picture_write_png(const struct picture *picture, FILE *file);

#endif
