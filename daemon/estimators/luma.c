/* The Makefile has -O3 for this file. */
#include "estimators/luma.h"

#include "core/vectors.h"

size_t luma_row_bytes(const struct format_info *format, uint32_t width)
{
    return (size_t)width * format->plane[0].bytes_per_pixel;
}

double luma_step(const struct format_info *format)
{
    return format->kind == SAMPLE_U16 ? ((1u << format->bits) - 1) / 255.0 : 1;
}

static ALWAYS_INLINE void read_every(float *restrict ret, const uint8_t *restrict row,
                                     uint32_t width, unsigned step)
{
    for (uint32_t x = 0; x < width; x++)
        ret[x] = row[x * step];
}

VECTORS static void read_bytes(float *ret, const uint8_t *row, uint32_t width, unsigned step)
{
    if (step == 1)
        read_every(ret, row, width, 1);
    else
        read_every(ret, row, width, step);
}

VECTORS static void read_words(float *restrict ret, const uint8_t *restrict row, uint32_t width,
                               float scale)
{
    for (uint32_t x = 0; x < width; x++)
        ret[x] = (float)(row[2 * x] | row[2 * x + 1] << 8) * scale;
}

static void read_colours(float *ret, const uint8_t *row, uint32_t width,
                         const struct format_info *format)
{
    for (uint32_t x = 0; x < width; x++, row += format->step)
        ret[x] = 0.299f * row[format->rgb[0]] + 0.587f * row[format->rgb[1]] +
                 0.114f * row[format->rgb[2]];
}

void luma_read(float *ret, const struct format_info *format, enum demosaic demosaic, uint32_t width,
               uint32_t height, const uint8_t *plane, size_t stride)
{
    if (format->kind == SAMPLE_BAYER) {
        mosaic_luma(ret, format, demosaic, width, height, plane, stride);
        return;
    }
    for (uint32_t y = 0; y < height; y++, ret += width, plane += stride)
        switch (format->kind) {
        case SAMPLE_U8:
            read_bytes(ret, plane + format->offset, width, format->step);
            break;
        case SAMPLE_U16:
            read_words(ret, plane, width, (float)(1 / luma_step(format)));
            break;
        case SAMPLE_RGB8:
            read_colours(ret, plane, width, format);
            break;
        case SAMPLE_BAYER:
        case SAMPLE_F32: /* no frame has such samples */
            break;
        }
}

void luma_convert(uint8_t *frame, const struct fftd_format *format, uint32_t captured,
                  enum demosaic demosaic, const uint8_t *plane, size_t stride)
{
    const struct format_info *info = format_by_fourcc(captured);
    const struct format_info *result = format_by_fourcc(format->fourcc);
    float row[FFTD_MAX_SIDE] = {0};
    if (info->kind == SAMPLE_BAYER) {
        mosaic_convert(frame, format, captured, demosaic, plane, stride);
        return;
    }
    for (uint32_t y = 0; y < format->height; y++, plane += stride) {
        uint8_t *at = frame + format->plane[0].offset + (size_t)y * format->plane[0].stride;
        luma_read(row, info, demosaic, format->width, 1, plane, stride);
        for (uint32_t x = 0; x < format->width; x++, at += result->step)
            format_put_luma(at, result, (double)row[x]);
    }
}
