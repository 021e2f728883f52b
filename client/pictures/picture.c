#include "picture.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <png.h>

#define GAP_PX 8

int picture_create(struct picture *ret, uint32_t width, uint32_t height)
{
    uint8_t *rgb = calloc((size_t)width * height, 3);
    if (rgb == NULL)
        return -ENOMEM;
    *ret = (struct picture){.width = width, .height = height, .rgb = rgb};
    return 0;
}

void picture_free(struct picture *picture)
{
    free(picture->rgb);
    *picture = (struct picture){0};
}

/* ---- colours ---- */

struct picture_matrix picture_matrix_of(const struct fftd_format *format)
{
    double red = 0.299, blue = 0.114; /* BT.601: 5, 6 or unspecified */
    if (format->matrix == 1) {        /* BT.709 */
        red = 0.2126;
        blue = 0.0722;
    } else if (format->matrix == 9) { /* BT.2020 */
        red = 0.2627;
        blue = 0.0593;
    }
    const double green = 1 - red - blue;
    return (struct picture_matrix){
        .y_scale = format->full_range ? 1 : 255.0 / 219,
        .y_offset = format->full_range ? 0 : 16,
        .c_scale = format->full_range ? 1 : 255.0 / 224,
        .rv = 2 * (1 - red),
        .gu = -2 * blue * (1 - blue) / green,
        .gv = -2 * red * (1 - red) / green,
        .bu = 2 * (1 - blue),
    };
}

static uint8_t clamp(double value)
{
    return value <= 0 ? 0 : value >= 255 ? 255 : (uint8_t)lrint(value);
}

static void yuv_pixel(const struct pixels *pixels, const struct picture_matrix *m, uint32_t x,
                      uint32_t y, uint8_t rgb[3])
{
    uint32_t cx = x / pixels->layout->sub_x, cy = y / pixels->layout->sub_y;
    double luma = (pixels_sample(pixels, 0, x, y) - m->y_offset) * m->y_scale;
    double u = ((double)pixels_sample(pixels, 1, cx, cy) - 128) * m->c_scale;
    double v = ((double)pixels_sample(pixels, 2, cx, cy) - 128) * m->c_scale;
    rgb[0] = clamp(luma + m->rv * v);
    rgb[1] = clamp(luma + m->gu * u + m->gv * v);
    rgb[2] = clamp(luma + m->bu * u);
}

static void convert_pixel(const struct pixels *pixels, const struct picture_matrix *matrix,
                          uint32_t x, uint32_t y, uint8_t rgb[3])
{
    switch ((enum fftd_pixel_family)pixels->layout->family) {
    case FFTD_FAMILY_GREY:
        memset(rgb, (int)(pixels_sample(pixels, 0, x, y) >> (pixels->layout->bits - 8)) & 255, 3);
        return;
    case FFTD_FAMILY_YUV:
        yuv_pixel(pixels, matrix, x, y, rgb);
        return;
    case FFTD_FAMILY_RGB:
        for (unsigned c = 0; c < 3; c++)
            rgb[c] = (uint8_t)pixels_sample(pixels, c, x, y);
        return;
    }
}

int picture_from_pixels(struct picture *ret, const struct pixels *pixels)
{
    struct picture_matrix matrix = picture_matrix_of(pixels->format);
    int r = picture_create(ret, pixels->format->width, pixels->format->height);
    if (r < 0)
        return r;
    for (uint32_t y = 0; y < ret->height; y++)
        for (uint32_t x = 0; x < ret->width; x++)
            convert_pixel(pixels, &matrix, x, y, ret->rgb + 3 * ((size_t)y * ret->width + x));
    return 0;
}

/* ---- arrangement and output ---- */

static void paste(struct picture *onto, uint32_t left, const struct picture *picture)
{
    for (uint32_t y = 0; y < picture->height; y++)
        memcpy(onto->rgb + 3 * ((size_t)y * onto->width + left),
               picture->rgb + 3 * (size_t)y * picture->width, 3 * (size_t)picture->width);
}

int picture_beside(struct picture *ret, const struct picture *left, const struct picture *right)
{
    uint32_t height = left->height > right->height ? left->height : right->height;
    int r = picture_create(ret, left->width + GAP_PX + right->width, height);
    if (r < 0)
        return r;
    paste(ret, 0, left);
    paste(ret, left->width + GAP_PX, right);
    return 0;
}

int picture_write_png(const struct picture *picture, FILE *file)
{
    png_image image = {
        .version = PNG_IMAGE_VERSION,
        .width = picture->width,
        .height = picture->height,
        .format = PNG_FORMAT_RGB,
    };
    if (png_image_write_to_stdio(&image, file, 0, picture->rgb, 0, NULL) != 0)
        return 0;
    return errno != 0 ? -errno : -EIO;
}
