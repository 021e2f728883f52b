/* Packs Y'CbCr lines into the bytes of any format.
 *
 * One packer serves every format, because core/format.h has the position of each component's
 * samples. A chroma sample is the mean of the pixels that share it. */
#include "capture/pattern_draw.h"

#include <endian.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Codes of a component: code = zero + scale * value, values as in pattern_scene.h. */
struct codes {
    float zero, scale;
};

static uint8_t *row_of(uint8_t *frame, const struct fftd_format *format, unsigned plane,
                       uint32_t row)
{
    return frame + format->plane[plane].offset + (size_t)row * format->plane[plane].stride;
}

static unsigned quantise(float value, struct codes codes, unsigned max)
{
    float code = codes.zero + codes.scale * value;
    return code <= 0.0f ? 0 : code >= (float)max ? max : (unsigned)lrintf(code);
}

static void pack_luma(const struct format_info *info, const struct fftd_format *format,
                      const float *y, uint8_t *row)
{
    unsigned max = (1u << info->bits) - 1;
    struct codes codes =
        format->full_range ? (struct codes){0, (float)max} : (struct codes){16, 219};
    for (uint32_t x = 0; x < format->width; x++) {
        unsigned code = quantise(y[x], codes, max);
        uint8_t *sample = row + info->offset + (size_t)x * info->step;
        sample[0] = (uint8_t)code;
        if (info->kind == SAMPLE_U16)
            sample[1] = (uint8_t)(code >> 8);
    }
}

/* Returns red, green or blue (0 .. 2) of one pixel. */
static float colour_at(struct pattern_line line, uint32_t x, unsigned colour)
{
    float y = line.y[x], cb = line.cb[x], cr = line.cr[x];
    return colour == 0   ? y + 1.402f * cr
           : colour == 1 ? y - 0.344136f * cb - 0.714136f * cr
                         : y + 1.772f * cb;
}

static void pack_rgb(const struct format_info *info, const struct fftd_format *format,
                     struct pattern_line line, uint8_t *row)
{
    const struct codes codes = {0, 255};
    for (uint32_t x = 0; x < format->width; x++) {
        uint8_t *pixel = row + (size_t)x * info->step;
        memset(pixel, 0xff, info->step);
        for (unsigned c = 0; c < 3; c++)
            pixel[info->rgb[c]] = (uint8_t)quantise(colour_at(line, x, c), codes, 255);
    }
}

/* The output of a sensor behind colour filters: one colour for each pixel. */
static void pack_mosaic(const struct format_info *info, const struct fftd_format *format,
                        struct pattern_line line, uint32_t y, uint8_t *row)
{
    const unsigned max = (1u << info->bits) - 1;
    const struct codes codes = {0, (float)max};
    for (uint32_t x = 0; x < format->width; x++) {
        bool red_column = ((x ^ info->red_x) & 1) == 0, red_row = ((y ^ info->red_y) & 1) == 0;
        unsigned colour = red_column != red_row ? 1 : red_row ? 0 : 2;
        unsigned code = quantise(colour_at(line, x, colour), codes, max);
        row[(size_t)x * info->step] = (uint8_t)code;
        if (info->step == 2)
            row[2 * (size_t)x + 1] = (uint8_t)(code >> 8);
    }
}

/* One row of one chroma component from the rows of pixels that share it. */
static void pack_chroma(const struct fftd_format *format, struct fftd_pixel_component component,
                        const float *const *rows, unsigned row_count, uint8_t *out)
{
    struct codes codes = {128, format->full_range ? 255 : 224};
    for (uint32_t x = 0; x < format->width; x += 2) {
        unsigned columns = x + 1 < format->width ? 2 : 1;
        float sum = 0.0f;
        for (unsigned j = 0; j < row_count; j++)
            for (unsigned i = 0; i < columns; i++)
                sum += rows[j][x + i];
        out[component.offset + (size_t)(x / 2) * component.step] =
            (uint8_t)quantise(sum / (float)(row_count * columns), codes, 255);
    }
}

/* Packs the picture's rows first .. first + count - 1, those that share a row of chroma. */
static void pack_rows(const struct format_info *info, const struct fftd_format *format,
                      uint32_t first, unsigned count, const struct pattern_line *line,
                      uint8_t *frame)
{
    for (unsigned i = 0; i < count; i++) {
        uint8_t *row = row_of(frame, format, 0, first + i);
        if (info->kind == SAMPLE_RGB8)
            pack_rgb(info, format, line[i], row);
        else if (info->kind == SAMPLE_BAYER)
            pack_mosaic(info, format, line[i], first + i, row);
        else
            pack_luma(info, format, line[i].y, row);
    }
    if (info->family != FAMILY_YUV)
        return;
    const struct fftd_pixel_component cb = info->component[1], cr = info->component[2];
    const float *cb_rows[2] = {line[0].cb, line[1].cb};
    const float *cr_rows[2] = {line[0].cr, line[1].cr};
    uint32_t row = info->plane[cb.plane].sub_y == 2 ? first / 2 : first;
    pack_chroma(format, cb, cb_rows, count, row_of(frame, format, cb.plane, row));
    pack_chroma(format, cr, cr_rows, count, row_of(frame, format, cr.plane, row));
}

int pattern_draw_still(const struct pattern_scene *scene, const struct fftd_format *format,
                       uint32_t seed, uint8_t *frame, struct error *why)
{
    const struct format_info *info = format_by_fourcc(format->fourcc);
    const struct pattern_canvas canvas = {format->width, format->height, seed};
    float *floats = calloc((size_t)format->width * 6, sizeof *floats);
    if (floats == NULL)
        return error_set(why, ENOMEM, "out of memory for drawing a row of %u pixels",
                         format->width);

    struct pattern_line line[2] = {{0}};
    for (unsigned i = 0; i < 2; i++) {
        line[i].y = floats + (size_t)(3 * i) * format->width;
        line[i].cb = line[i].y + format->width;
        line[i].cr = line[i].cb + format->width;
    }
    unsigned group = info->plane_count > 1 ? info->plane[1].sub_y : 1;
    for (uint32_t row = 0; row < format->height; row += group) {
        unsigned count = format->height - row < group ? 1 : group;
        for (unsigned i = 0; i < count; i++)
            scene->draw(&canvas, row + i, line[i]);
        pack_rows(info, format, row, count, line, frame);
    }
    free(floats);
    return 0;
}

/* ---- noise ---- */

/* A bijection of 64 bits without visible structure (Steele, Lea, Flood: SplitMix64). */
static uint64_t mix64(uint64_t z)
{
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* One hash makes eight samples, because noise is drawn for every frame. */
static void noise_row(uint8_t *row, uint32_t bytes, uint64_t key, uint64_t mask)
{
    for (uint32_t x = 0; x < bytes; x += 8) {
        key += 0x9e3779b97f4a7c15u;
        uint64_t word = htole64(mix64(key) & mask);
        memcpy(row + x, &word, bytes - x < 8 ? bytes - x : 8);
    }
}

void pattern_draw_noise(const struct fftd_format *format, uint64_t index, uint32_t seed,
                        uint8_t *frame)
{
    const struct format_info *info = format_by_fourcc(format->fourcc);
    uint64_t mask = ~UINT64_C(0);
    if (info->bits > 8)
        mask = ((UINT64_C(1) << info->bits) - 1) * UINT64_C(0x0001000100010001);
    for (unsigned p = 0; p < format->plane_count; p++)
        for (uint32_t y = 0; y < format->plane[p].rows; y++) {
            uint64_t key = mix64(mix64(index + ((uint64_t)seed << 40)) ^ (uint64_t)p << 32 ^ y);
            noise_row(row_of(frame, format, p, y), format->plane[p].row_bytes, key, mask);
        }
}

/* ---- the moving object ---- */

/* Goes up and down between 0 and range in steps of 2; range is even. */
static uint32_t bounce(uint64_t step, uint32_t range)
{
    if (range == 0)
        return 0;
    uint32_t position = (uint32_t)(step % range) * 2;
    return position <= range ? position : 2 * range - position;
}

struct pattern_rectangle pattern_object_at(const struct fftd_format *format, uint64_t index)
{
    struct pattern_rectangle object = {
        .width = format->width / 8 & ~1u,
        .height = format->height / 8 & ~1u,
    };
    if (object.width == 0 || object.height == 0)
        return (struct pattern_rectangle){0};
    object.x = bounce(index, (format->width - object.width) & ~1u);
    object.y = bounce(index / 3, (format->height - object.height) & ~1u);
    return object;
}

int pattern_draw_object(const struct fftd_format *format, struct fftd_format *ret_format,
                        uint8_t **ret, struct error *why)
{
    struct pattern_rectangle object = pattern_object_at(format, 0);
    struct fftd_format layout;
    int r = format_layout(&layout, format->fourcc, object.width, object.height, 1, why);
    if (r < 0)
        return r;
    layout.full_range = format->full_range;
    uint8_t *frame = malloc(layout.frame_bytes);
    if (frame == NULL)
        return error_set(why, ENOMEM, "out of memory for the moving object");
    r = pattern_draw_still(&pattern_object_scene, &layout, 0, frame, why);
    if (r < 0) {
        free(frame);
        return r;
    }
    *ret_format = layout;
    *ret = frame;
    return 0;
}

void pattern_copy(uint8_t *to, const struct fftd_format *to_format, struct pattern_rectangle where,
                  const uint8_t *from, const struct fftd_format *from_format, uint32_t from_x,
                  uint32_t from_y)
{
    const struct format_info *info = format_by_fourcc(to_format->fourcc);
    for (unsigned p = 0; p < to_format->plane_count; p++) {
        const struct format_plane *plane = &info->plane[p];
        const struct fftd_plane *to_plane = &to_format->plane[p];
        const struct fftd_plane *from_plane = &from_format->plane[p];
        /* Pixels at odd edges also have chroma. */
        uint32_t columns = (where.width + plane->sub_x - 1) / plane->sub_x;
        uint32_t rows = (where.height + plane->sub_y - 1) / plane->sub_y;
        size_t bytes = (size_t)columns * plane->bytes_per_pixel;
        size_t to_x = (size_t)where.x / plane->sub_x * plane->bytes_per_pixel;
        size_t skip_x = (size_t)from_x / plane->sub_x * plane->bytes_per_pixel;
        for (uint32_t row = 0; row < rows; row++)
            memcpy(to + to_plane->offset + to_x +
                       (size_t)(where.y / plane->sub_y + row) * to_plane->stride,
                   from + from_plane->offset + skip_x +
                       (size_t)(from_y / plane->sub_y + row) * from_plane->stride,
                   bytes);
    }
}

/* ---- colour ---- */

void pattern_set_colour(struct fftd_format *format)
{
    const struct format_info *info = format_by_fourcc(format->fourcc);
    /* Code points of H.273: BT.709's primaries, sRGB's transfer; the matrix of BT.601, or none. */
    format->primaries = 1;
    format->transfer = 13;
    format->matrix = info->family == FAMILY_RGB || info->family == FAMILY_MOSAIC ? 0 : 6;
}
