#include "encoder.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <fftd/fftd.h>
#include <turbojpeg.h>

#include "pictures/picture.h"
#include "pictures/spectrum.h"

#define SPECTRUM_QUALITY 90
#define FRACTION_BITS    14 /* fractional bits of fixed-point factors */

/* The factors that convert a colour, in units of 1 / 2^FRACTION_BITS; each is below 2. The vector
 * units of every processor can multiply 16 bits by 16 bits. */
struct jpeg_matrix {
    int16_t luma_u, luma_v; /* added to luma */
    int16_t u_u, u_v, v_u, v_v;
};

/* Converts luma to the full range. The scale is in the same units. */
struct levels {
    int16_t black, scale;
};

struct encoder {
    tjhandle jpeg;
    int quality;
    struct fftd_format format; /* the copy's format */
    struct pixels pixels;      /* the copy's layout */
    int subsampling;           /* enum TJSAMP */
    uint32_t stride;           /* luma's; even, as libjpeg-turbo requires */
    uint8_t *copy;             /* adjacent planes, or RGB without padding */
    unsigned char *file;       /* memory for the largest possible result */
    unsigned long file_bytes;
    int16_t *row; /* what a row's chroma adds to each sample of luma */
};

int encoder_create(struct encoder **ret, int quality)
{
    struct encoder *encoder = calloc(1, sizeof *encoder);
    if (encoder == NULL)
        return -ENOMEM;
    encoder->quality = quality;
    encoder->jpeg = tjInitCompress();
    if (encoder->jpeg == NULL) {
        encoder_destroy(encoder);
        return -ENOMEM;
    }
    *ret = encoder;
    return 0;
}

void encoder_destroy(struct encoder *encoder)
{
    if (encoder == NULL)
        return;
    if (encoder->jpeg != NULL)
        tjDestroy(encoder->jpeg);
    tjFree(encoder->file);
    free(encoder->copy);
    free(encoder->row);
    free(encoder);
}

/* ---- colours ---- */

static int16_t scaled(double factor)
{
    return (int16_t)lrint(factor * (1 << FRACTION_BITS));
}

/* With r, g, b computed from the frame's Y, U and V, BT.601's Y is 0.299 r + 0.587 g + 0.114 b; its
 * U and V are (b - Y) / 1.772 and (r - Y) / 1.402. */
static struct jpeg_matrix matrix_of(const struct picture_matrix *m)
{
    const double luma_u = 0.587 * m->gu + 0.114 * m->bu, luma_v = 0.299 * m->rv + 0.587 * m->gv;
    return (struct jpeg_matrix){
        .luma_u = scaled(m->c_scale * luma_u),
        .luma_v = scaled(m->c_scale * luma_v),
        .u_u = scaled(m->c_scale * (m->bu - luma_u) / 1.772),
        .u_v = scaled(m->c_scale * -luma_v / 1.772),
        .v_u = scaled(m->c_scale * -luma_u / 1.402),
        .v_v = scaled(m->c_scale * (m->rv - luma_v) / 1.402),
    };
}

static uint8_t clamped(int16_t value)
{
    const int16_t positive = value < 0 ? 0 : value;
    return (uint8_t)(positive > 255 ? 255 : positive);
}

/* Samples, and what is added to them, need 10 bits. */
static int16_t rounded(int value)
{
    return (int16_t)((value + (1 << (FRACTION_BITS - 1))) >> FRACTION_BITS);
}

/* ---- the copy ---- */

static int subsampling_of(const struct fftd_pixel_format *layout)
{
    switch ((enum fftd_pixel_family)layout->family) {
    case FFTD_FAMILY_GREY:
        return TJSAMP_GRAY;
    case FFTD_FAMILY_YUV:
        return layout->sub_x == 1 ? TJSAMP_444 : layout->sub_y == 1 ? TJSAMP_422 : TJSAMP_420;
    case FFTD_FAMILY_RGB:
        return TJSAMP_420;
    }
    return TJSAMP_GRAY;
}

static uint32_t even(uint32_t value)
{
    return (value + 1) & ~1u;
}

static int reserve(struct encoder *encoder)
{
    const struct fftd_format *format = &encoder->format;
    encoder->stride = even(format->width);
    const size_t copy_bytes = 3 * (size_t)encoder->stride * even(format->height);
    free(encoder->copy);
    free(encoder->row);
    tjFree(encoder->file);
    /* The file must also have room for a spectrum. */
    unsigned long bytes = tjBufSize((int)format->width, (int)format->height, encoder->subsampling);
    unsigned long least = tjBufSize(SPECTRUM_SIDE, SPECTRUM_SIDE, TJSAMP_GRAY);
    encoder->file_bytes = bytes > least ? bytes : least;
    encoder->copy = malloc(copy_bytes);
    encoder->row = calloc(encoder->stride, sizeof *encoder->row);
    encoder->file = tjAlloc((int)encoder->file_bytes);
    if (encoder->copy != NULL && encoder->row != NULL && encoder->file != NULL)
        return 0;
    encoder->format = (struct fftd_format){0};
    return -ENOMEM;
}

/* Returns a plane of the copy: Y, U or V. */
static uint8_t *plane_of(const struct encoder *encoder, unsigned component)
{
    const size_t luma_bytes = (size_t)encoder->stride * even(encoder->format.height);
    const size_t chroma_bytes =
        (size_t)pixels_width(&encoder->pixels, 1) * pixels_height(&encoder->pixels, 1);
    return component == 0   ? encoder->copy
           : component == 1 ? encoder->copy + luma_bytes
                            : encoder->copy + luma_bytes + chroma_bytes;
}

/* One row of a component. It is passed by value: otherwise the compiler would have to assume that a
 * store changes the pixel format, and read that again for each sample. */
struct row {
    const uint8_t *at;
    uint32_t step; /* bytes from one sample to the next */
};

static struct row row_of(const struct pixels *pixels, unsigned component, uint32_t y)
{
    const struct fftd_pixel_component *c = &pixels->layout->component[component];
    return (struct row){.at = pixels->plane[c->plane] + (size_t)y * pixels->stride[c->plane] +
                              c->offset,
                        .step = c->step};
}

/* Converts one row of chroma, and computes what it adds to each sample of luma. Its callers pass
 * constants for step and sub_x, so that the compiler can use vectors. */
static inline void load_chroma(const struct encoder *encoder, const struct pixels *from,
                               struct jpeg_matrix m, uint32_t y, uint32_t step, uint32_t sub_x)
{
    const uint32_t width = pixels_width(from, 1);
    const uint8_t *restrict from_u = row_of(from, 1, y).at;
    const uint8_t *restrict from_v = row_of(from, 2, y).at;
    uint8_t *restrict to_u = plane_of(encoder, 1) + (size_t)y * width;
    uint8_t *restrict to_v = plane_of(encoder, 2) + (size_t)y * width;
    int16_t *restrict to_luma = encoder->row;
    for (uint32_t x = 0; x < width; x++) {
        const int16_t u = (int16_t)(from_u[(size_t)x * step] - 128);
        const int16_t v = (int16_t)(from_v[(size_t)x * step] - 128);
        const int16_t luma = rounded(m.luma_u * u + m.luma_v * v);
        to_u[x] = clamped((int16_t)(128 + rounded(m.u_u * u + m.u_v * v)));
        to_v[x] = clamped((int16_t)(128 + rounded(m.v_u * u + m.v_v * v)));
        for (uint32_t i = 0; i < sub_x; i++)
            to_luma[(size_t)x * sub_x + i] = luma;
    }
}

static void load_chroma_row(const struct encoder *encoder, const struct pixels *from,
                            struct jpeg_matrix m, uint32_t y)
{
    const uint32_t step = row_of(from, 1, y).step, sub_x = from->layout->sub_x;
    if (step == 1 && sub_x == 2)
        load_chroma(encoder, from, m, y, 1, 2);
    else if (step == 2 && sub_x == 2)
        load_chroma(encoder, from, m, y, 2, 2);
    else if (step == 4 && sub_x == 2)
        load_chroma(encoder, from, m, y, 4, 2);
    else
        load_chroma(encoder, from, m, y, step, sub_x);
}

/* Converts a row of luma: scales the level above black, adds chroma, and clamps the result. */
static inline void load_luma(uint8_t *restrict to, struct row row, const int16_t *restrict chroma,
                             uint32_t width, struct levels levels, uint32_t step)
{
    for (uint32_t x = 0; x < width; x++) {
        const int16_t luma = (int16_t)(row.at[(size_t)x * step] - levels.black);
        to[x] = clamped((int16_t)(rounded(luma * levels.scale) + chroma[x]));
    }
}

static void load_yuv(const struct encoder *encoder, const struct pixels *from)
{
    const struct picture_matrix to_rgb = picture_matrix_of(from->format);
    const struct jpeg_matrix matrix = matrix_of(&to_rgb);
    const struct levels levels = {(int16_t)to_rgb.y_offset, scaled(to_rgb.y_scale)};
    const uint32_t width = from->format->width, sub_y = from->layout->sub_y;
    for (uint32_t y = 0; y < from->format->height; y++) {
        if (y % sub_y == 0)
            load_chroma_row(encoder, from, matrix, y / sub_y);
        uint8_t *to = encoder->copy + (size_t)y * encoder->stride;
        const struct row row = row_of(from, 0, y);
        if (row.step == 1)
            load_luma(to, row, encoder->row, width, levels, 1);
        else if (row.step == 2)
            load_luma(to, row, encoder->row, width, levels, 2);
        else
            load_luma(to, row, encoder->row, width, levels, row.step);
    }
}

static void load_grey(const struct encoder *encoder, const struct pixels *from)
{
    const uint32_t width = from->format->width;
    const unsigned shift = from->layout->bits - 8u;
    for (uint32_t y = 0; y < from->format->height; y++) {
        uint8_t *to = encoder->copy + (size_t)y * encoder->stride;
        const uint8_t *at = row_of(from, 0, y).at;
        if (shift == 0)
            memcpy(to, at, width);
        else
            for (uint32_t x = 0; x < width; x++)
                to[x] = (uint8_t)((at[2 * x] | (unsigned)at[2 * x + 1] << 8) >> shift);
    }
}

static void load_rgb(const struct encoder *encoder, const struct pixels *from)
{
    const uint32_t width = from->format->width;
    for (uint32_t y = 0; y < from->format->height; y++)
        for (unsigned c = 0; c < 3; c++) {
            uint8_t *to = encoder->copy + 3 * (size_t)y * width + c;
            const struct row row = row_of(from, c, y);
            for (uint32_t x = 0; x < width; x++)
                to[(size_t)3 * x] = row.at[(size_t)x * row.step];
        }
}

/* Repeats the last column and row of a frame of odd size, because libjpeg-turbo reads beyond its
 * edge. */
static void pad_luma(const struct encoder *encoder)
{
    const uint32_t width = encoder->format.width, height = encoder->format.height;
    for (uint32_t y = 0; y < height && width < encoder->stride; y++)
        encoder->copy[(size_t)y * encoder->stride + width] =
            encoder->copy[(size_t)y * encoder->stride + width - 1];
    if (height % 2 != 0)
        memcpy(encoder->copy + (size_t)height * encoder->stride,
               encoder->copy + (size_t)(height - 1) * encoder->stride, encoder->stride);
}

int encoder_load(struct encoder *encoder, const struct fftd_format *format, const uint8_t *memory)
{
    struct pixels from;
    int r = pixels_from_memory(&from, format, memory, format->frame_bytes);
    if (r < 0)
        return r;
    if (memcmp(&encoder->format, format, sizeof *format) != 0) {
        encoder->format = *format;
        encoder->pixels = (struct pixels){.layout = from.layout, .format = &encoder->format};
        encoder->subsampling = subsampling_of(from.layout);
        if ((r = reserve(encoder)) < 0)
            return r;
    }
    switch ((enum fftd_pixel_family)from.layout->family) {
    case FFTD_FAMILY_GREY:
        load_grey(encoder, &from);
        pad_luma(encoder);
        return 0;
    case FFTD_FAMILY_YUV:
        load_yuv(encoder, &from);
        pad_luma(encoder);
        return 0;
    case FFTD_FAMILY_RGB:
        load_rgb(encoder, &from);
        return 0;
    }
    return -EOPNOTSUPP;
}

/* ---- files ---- */

static int finish(const struct encoder *encoder, unsigned long bytes, struct image **ret)
{
    struct image *image = image_create(encoder->file, bytes);
    if (image == NULL)
        return -ENOMEM;
    *ret = image;
    return 0;
}

int encoder_picture(struct encoder *encoder, struct image **ret)
{
    const int width = (int)encoder->format.width, height = (int)encoder->format.height;
    unsigned long bytes = encoder->file_bytes;
    int r;
    if (encoder->pixels.layout->family == FFTD_FAMILY_RGB) {
        r = tjCompress2(encoder->jpeg, encoder->copy, width, 0, height, TJPF_RGB, &encoder->file,
                        &bytes, encoder->subsampling, encoder->quality, TJFLAG_NOREALLOC);
    } else {
        const bool has_chroma = encoder->pixels.layout->family == FFTD_FAMILY_YUV;
        const int chroma_stride = has_chroma ? (int)pixels_width(&encoder->pixels, 1) : 0;
        const int strides[3] = {(int)encoder->stride, chroma_stride, chroma_stride};
        const unsigned char *planes[3] = {encoder->copy, has_chroma ? plane_of(encoder, 1) : NULL,
                                          has_chroma ? plane_of(encoder, 2) : NULL};
        r = tjCompressFromYUVPlanes(encoder->jpeg, planes, width, strides, height,
                                    encoder->subsampling, &encoder->file, &bytes, encoder->quality,
                                    TJFLAG_NOREALLOC);
    }
    return r == 0 ? finish(encoder, bytes, ret) : -EIO;
}

int encoder_spectrum(struct encoder *encoder, struct image **ret)
{
    /* The copy has the layout of one of these formats. */
    static const uint32_t rgb = FFTD_FOURCC('B', 'G', '2', '4'); /* R G B in memory */
    static const uint32_t grey = FFTD_FOURCC('R', '8', ' ', ' ');
    const bool is_rgb = encoder->pixels.layout->family == FFTD_FAMILY_RGB;
    const struct pixels copy = {.layout = fftd_pixel_format(is_rgb ? rgb : grey),
                                .format = &encoder->format,
                                .plane = {encoder->copy},
                                .stride = {is_rgb ? 3 * encoder->format.width : encoder->stride}};
    struct picture picture = {0};
    double *power;
    int r = spectrum_create(&power, &copy);
    if (r < 0)
        return r;
    unsigned long bytes = encoder->file_bytes;
    if ((r = spectrum_draw(&picture, power, power)) == 0)
        r = tjCompress2(encoder->jpeg, picture.rgb, SPECTRUM_SIDE, 0, SPECTRUM_SIDE, TJPF_RGB,
                        &encoder->file, &bytes, TJSAMP_GRAY, SPECTRUM_QUALITY,
                        TJFLAG_NOREALLOC) == 0
                ? finish(encoder, bytes, ret)
                : -EIO;
    picture_free(&picture);
    free(power);
    return r;
}
