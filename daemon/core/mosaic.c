/* A row holds green and one other colour, `own`; the third is in the rows above and below.
 *
 * Source of the gradients: Malvar, He and Cutler, High-quality linear interpolation for demosaicing
 * of Bayer-patterned color images, ICASSP (2004). */
#include "core/mosaic.h"

#include <math.h>
#include <stdbool.h>

struct mosaic {
    const struct format_info *info;
    enum demosaic demosaic;
    const uint8_t *samples;
    size_t stride;
    int width, height;
};

/* Mirrors a coordinate near the image without repeating the edge, which keeps the pattern of
 * colours. */
static int mirror(int i, int length)
{
    return i < 0 ? -i : i >= length ? 2 * length - 2 - i : i;
}

static double sample(const struct mosaic *m, int x, int y)
{
    const uint8_t *at = m->samples + (size_t)mirror(y, m->height) * m->stride +
                        (size_t)mirror(x, m->width) * m->info->step;
    return m->info->step == 1 ? at[0] : at[0] | at[1] << 8;
}

/* The mean of the samples at both sides of a pixel. */
static double mean_of_two(const struct mosaic *m, int x, int y, int dx, int dy)
{
    return (sample(m, x - dx, y - dy) + sample(m, x + dx, y + dy)) / 2;
}

static void colours(const struct mosaic *m, int x, int y, double ret[3])
{
    const bool is_red_row = ((y ^ m->info->red_y) & 1) == 0;
    const bool is_red_column = ((x ^ m->info->red_x) & 1) == 0;
    const bool is_green = is_red_row != is_red_column;
    const double here = sample(m, x, y);
    const double sides = mean_of_two(m, x, y, 1, 0), ends = mean_of_two(m, x, y, 0, 1);
    const double corners = (mean_of_two(m, x, y, 1, 1) + mean_of_two(m, x, y, 1, -1)) / 2;
    double own = is_green ? sides : here, third = is_green ? ends : corners;
    double green = is_green ? here : (sides + ends) / 2;
    if (m->demosaic == DEMOSAIC_GRADIENTS) {
        const double far_sides = mean_of_two(m, x, y, 2, 0), far_ends = mean_of_two(m, x, y, 0, 2);
        if (is_green) {
            own += (5 * here - 4 * corners - 2 * far_sides + far_ends) / 8;
            third += (5 * here - 4 * corners - 2 * far_ends + far_sides) / 8;
        } else {
            const double gradient = 2 * here - far_sides - far_ends;
            green += gradient / 4;
            third += 3 * gradient / 8;
        }
    }
    ret[0] = is_red_row ? own : third;
    ret[1] = green;
    ret[2] = is_red_row ? third : own;
}

static uint8_t to_byte(double value)
{
    return (uint8_t)lrint(fmin(fmax(value, 0), 255));
}

static double luma(const double rgb[3])
{
    return 0.299 * rgb[0] + 0.587 * rgb[1] + 0.114 * rgb[2];
}

void mosaic_convert(uint8_t *frame, const struct fftd_format *format, uint32_t fourcc,
                    enum demosaic demosaic, const uint8_t *mosaic, size_t stride)
{
    const struct mosaic m = {format_by_fourcc(fourcc), demosaic,           mosaic, stride,
                             (int)format->width,       (int)format->height};
    const struct format_info *result = format_by_fourcc(format->fourcc);
    const double scale = 255.0 / ((1u << m.info->bits) - 1);
    for (int y = 0; y < m.height; y++) {
        uint8_t *pixel = frame + format->plane[0].offset + (size_t)y * format->plane[0].stride;
        for (int x = 0; x < m.width; x++, pixel += result->step) {
            double rgb[3];
            colours(&m, x, y, rgb);
            if (result->family == FAMILY_GREY) {
                format_put_luma(pixel, result, luma(rgb) * scale);
                continue;
            }
            pixel[6 - result->rgb[0] - result->rgb[1] - result->rgb[2]] = 0xff;
            for (unsigned c = 0; c < 3; c++)
                pixel[result->rgb[c]] = to_byte(rgb[c] * scale);
        }
    }
}

void mosaic_luma(float *ret, const struct format_info *info, enum demosaic demosaic, uint32_t width,
                 uint32_t height, const uint8_t *mosaic, size_t stride)
{
    const struct mosaic m = {info, demosaic, mosaic, stride, (int)width, (int)height};
    const double scale = 255.0 / ((1u << info->bits) - 1);
    for (int y = 0; y < m.height; y++)
        for (int x = 0; x < m.width; x++) {
            double rgb[3];
            colours(&m, x, y, rgb);
            *ret++ = (float)(scale * luma(rgb));
        }
}
