/* A row holds green and one other colour, `own`; the third is in the rows above and below. */
#include "filters/mosaic.h"

#include <math.h>
#include <stdbool.h>

struct mosaic {
    const struct format_info *info;
    const uint8_t *samples;
    size_t stride;
    int width, height;
};

/* Mirrors a coordinate just outside the image without repeating the edge, which keeps the pattern
 * of colours. */
static int mirror(int i, int length)
{
    return i < 0 ? 1 : i >= length ? length - 2 : i;
}

static double sample(const struct mosaic *m, int x, int y)
{
    const uint8_t *at = m->samples + (size_t)mirror(y, m->height) * m->stride +
                        (size_t)mirror(x, m->width) * m->info->step;
    return m->info->step == 1 ? at[0] : at[0] | at[1] << 8;
}

static void colours(const struct mosaic *m, int x, int y, double ret[3])
{
    const double sides = (sample(m, x - 1, y) + sample(m, x + 1, y)) / 2;
    const double ends = (sample(m, x, y - 1) + sample(m, x, y + 1)) / 2;
    const bool is_red_row = ((y ^ m->info->red_y) & 1) == 0;
    const bool is_red_column = ((x ^ m->info->red_x) & 1) == 0;
    double own, third;
    if (is_red_row == is_red_column) {
        own = sample(m, x, y);
        third = (sample(m, x - 1, y - 1) + sample(m, x + 1, y - 1) + sample(m, x - 1, y + 1) +
                 sample(m, x + 1, y + 1)) /
                4;
        ret[1] = (sides + ends) / 2;
    } else {
        own = sides;
        third = ends;
        ret[1] = sample(m, x, y);
    }
    ret[0] = is_red_row ? own : third;
    ret[2] = is_red_row ? third : own;
}

static double luma(const double rgb[3])
{
    return 0.299 * rgb[0] + 0.587 * rgb[1] + 0.114 * rgb[2];
}

void mosaic_convert(uint8_t *frame, const struct fftd_format *format, uint32_t fourcc,
                    const uint8_t *mosaic, size_t stride)
{
    const struct mosaic m = {format_by_fourcc(fourcc), mosaic, stride, (int)format->width,
                             (int)format->height};
    const struct format_info *result = format_by_fourcc(format->fourcc);
    const double scale = 255.0 / ((1u << m.info->bits) - 1);
    for (int y = 0; y < m.height; y++) {
        uint8_t *pixel = frame + format->plane[0].offset + (size_t)y * format->plane[0].stride;
        for (int x = 0; x < m.width; x++, pixel += result->step) {
            double rgb[3];
            colours(&m, x, y, rgb);
            if (result->family == FAMILY_GREY) {
                *pixel = (uint8_t)fmin(lrint(luma(rgb) * scale), 255);
                continue;
            }
            pixel[6 - result->rgb[0] - result->rgb[1] - result->rgb[2]] = 0xff;
            for (unsigned c = 0; c < 3; c++)
                pixel[result->rgb[c]] = (uint8_t)fmin(lrint(rgb[c] * scale), 255);
        }
    }
}

void mosaic_luma(float *ret, const struct format_info *info, uint32_t width, uint32_t height,
                 const uint8_t *mosaic, size_t stride)
{
    const struct mosaic m = {info, mosaic, stride, (int)width, (int)height};
    const double scale = 255.0 / ((1u << info->bits) - 1);
    for (int y = 0; y < m.height; y++)
        for (int x = 0; x < m.width; x++) {
            double rgb[3];
            colours(&m, x, y, rgb);
            *ret++ = (float)(scale * luma(rgb));
        }
}
