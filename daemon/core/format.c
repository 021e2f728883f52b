/* Two naming traps live here, and nowhere else.
 *
 * DRM names an RGB format by the bits of a little-endian word, most significant first; V4L2 names
 * most of them by the bytes in memory, first byte first. The same bytes have opposite names:
 *
 *     bytes in memory   V4L2                 DRM
 *     R G B             RGB24   'RGB3'       BGR888    'BG24'
 *     B G R             BGR24   'BGR3'       RGB888    'RG24'
 *     X R G B           XRGB32  'BX24'       BGRX8888  'BX24'
 *     B G R X           XBGR32  'XR24'       XRGB8888  'XR24'
 *
 * The last two share their four characters, but not their names; and V4L2's XBGR32 is not even
 * named by its bytes, which are B G R X. (V4L2's RGB32 and BGR32 are older names of the same
 * layouts, with an alpha byte that drivers fill as they like: not offered.) Our names are V4L2's,
 * because that is what cameras and v4l2-ctl call them; the ring carries DRM's codes.
 *
 * Y10, Y12 and Y16 are DRM's R10, R12 and R16: little-endian 16-bit words, low bits used. Older
 * copies of drm_fourcc.h lack the first two, so the codes are spelt out here.
 *
 * Mosaics have no DRM codes. No client ever sees one, so V4L2's codes serve.
 *
 * Odd sizes: subsampled planes are rounded up, as the kernel's v4l2_fill_pixfmt, Y4M and FFmpeg
 * do. Only packed 4:2:2 can not be odd, since two pixels share one group of four bytes. */
#include "core/format.h"

#include <errno.h>
#include <linux/videodev2.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "core/text.h"

#define H273_UNSPECIFIED 2 /* of ITU-T H.273's primaries, transfer and matrix alike */

#define ONE_PLANE(bytes) .plane_count = 1, .plane = {{1, 1, bytes}}, .align_y = 1
#define XBGR32           FFTD_FOURCC('X', 'R', '2', '4')
#define MOSAIC(order, size, bytes, x, y)                                                           \
    {                                                                                              \
        .fourcc = V4L2_PIX_FMT_S##order##size, .published = XBGR32, .name = "S" #order #size,      \
        .v4l2_fourcc = V4L2_PIX_FMT_S##order##size, ONE_PLANE(bytes), .kind = SAMPLE_BAYER,        \
        .bits = size, .step = bytes, .red_x = x, .red_y = y, .align_x = 1,                         \
    }
#define MOSAICS(size, bytes)                                                                       \
    MOSAIC(BGGR, size, bytes, 1, 1), MOSAIC(GBRG, size, bytes, 0, 1),                              \
        MOSAIC(GRBG, size, bytes, 1, 0), MOSAIC(RGGB, size, bytes, 0, 0)
/* 8-bit luma in a plane of its own. */
#define LUMA_PLANE .kind = SAMPLE_U8, .bits = 8, .offset = 0, .step = 1, .align_x = 1, .align_y = 1

static const struct format_info formats[] = {
    {
        .fourcc = FFTD_FOURCC('R', '8', ' ', ' '),
        .name = "GREY",
        .v4l2_fourcc = V4L2_PIX_FMT_GREY,
        .plane_count = 1,
        .plane = {{1, 1, 1}},
        LUMA_PLANE,
    },
    {
        .fourcc = FFTD_FOURCC('R', '1', '0', ' '),
        .name = "Y10",
        .v4l2_fourcc = V4L2_PIX_FMT_Y10,
        ONE_PLANE(2),
        .kind = SAMPLE_U16,
        .bits = 10,
        .step = 2,
        .align_x = 1,
    },
    {
        .fourcc = FFTD_FOURCC('R', '1', '2', ' '),
        .name = "Y12",
        .v4l2_fourcc = V4L2_PIX_FMT_Y12,
        ONE_PLANE(2),
        .kind = SAMPLE_U16,
        .bits = 12,
        .step = 2,
        .align_x = 1,
    },
    {
        .fourcc = FFTD_FOURCC('R', '1', '6', ' '),
        .name = "Y16",
        .v4l2_fourcc = V4L2_PIX_FMT_Y16,
        ONE_PLANE(2),
        .kind = SAMPLE_U16,
        .bits = 16,
        .step = 2,
        .align_x = 1,
    },
    {
        .fourcc = FFTD_FOURCC('Y', 'U', 'Y', 'V'),
        .name = "YUYV",
        .v4l2_fourcc = V4L2_PIX_FMT_YUYV,
        ONE_PLANE(2),
        .kind = SAMPLE_U8,
        .bits = 8,
        .offset = 0,
        .step = 2,
        .align_x = 2,
    },
    {
        .fourcc = FFTD_FOURCC('U', 'Y', 'V', 'Y'),
        .name = "UYVY",
        .v4l2_fourcc = V4L2_PIX_FMT_UYVY,
        ONE_PLANE(2),
        .kind = SAMPLE_U8,
        .bits = 8,
        .offset = 1,
        .step = 2,
        .align_x = 2,
    },
    {
        .fourcc = FFTD_FOURCC('N', 'V', '1', '2'),
        .name = "NV12",
        .v4l2_fourcc = V4L2_PIX_FMT_NV12,
        .v4l2_multi = V4L2_PIX_FMT_NV12M,
        .plane_count = 2,
        .plane = {{1, 1, 1}, {2, 2, 2}},
        LUMA_PLANE,
    },
    {
        .fourcc = FFTD_FOURCC('N', 'V', '2', '1'),
        .name = "NV21",
        .v4l2_fourcc = V4L2_PIX_FMT_NV21,
        .v4l2_multi = V4L2_PIX_FMT_NV21M,
        .plane_count = 2,
        .plane = {{1, 1, 1}, {2, 2, 2}},
        LUMA_PLANE,
    },
    {
        .fourcc = FFTD_FOURCC('N', 'V', '1', '6'),
        .name = "NV16",
        .v4l2_fourcc = V4L2_PIX_FMT_NV16,
        .v4l2_multi = V4L2_PIX_FMT_NV16M,
        .plane_count = 2,
        .plane = {{1, 1, 1}, {2, 1, 2}},
        LUMA_PLANE,
    },
    {
        .fourcc = FFTD_FOURCC('Y', 'U', '1', '2'),
        .name = "YUV420",
        .v4l2_fourcc = V4L2_PIX_FMT_YUV420,
        .v4l2_multi = V4L2_PIX_FMT_YUV420M,
        .plane_count = 3,
        .plane = {{1, 1, 1}, {2, 2, 1}, {2, 2, 1}},
        LUMA_PLANE,
    },
    {
        .fourcc = FFTD_FOURCC('Y', 'V', '1', '2'),
        .name = "YVU420",
        .v4l2_fourcc = V4L2_PIX_FMT_YVU420,
        .v4l2_multi = V4L2_PIX_FMT_YVU420M,
        .plane_count = 3,
        .plane = {{1, 1, 1}, {2, 2, 1}, {2, 2, 1}},
        LUMA_PLANE,
    },
    {
        .fourcc = FFTD_FOURCC('B', 'G', '2', '4'),
        .name = "RGB24",
        .v4l2_fourcc = V4L2_PIX_FMT_RGB24,
        ONE_PLANE(3),
        .kind = SAMPLE_RGB8,
        .bits = 8,
        .step = 3,
        .rgb = {0, 1, 2},
        .align_x = 1,
    },
    {
        .fourcc = FFTD_FOURCC('R', 'G', '2', '4'),
        .name = "BGR24",
        .v4l2_fourcc = V4L2_PIX_FMT_BGR24,
        ONE_PLANE(3),
        .kind = SAMPLE_RGB8,
        .bits = 8,
        .step = 3,
        .rgb = {2, 1, 0},
        .align_x = 1,
    },
    {
        .fourcc = FFTD_FOURCC('B', 'X', '2', '4'),
        .name = "XRGB32",
        .v4l2_fourcc = V4L2_PIX_FMT_XRGB32,
        ONE_PLANE(4),
        .kind = SAMPLE_RGB8,
        .bits = 8,
        .step = 4,
        .rgb = {1, 2, 3},
        .align_x = 1,
    },
    {
        .fourcc = FFTD_FOURCC('X', 'R', '2', '4'),
        .name = "XBGR32",
        .v4l2_fourcc = V4L2_PIX_FMT_XBGR32,
        ONE_PLANE(4),
        .kind = SAMPLE_RGB8,
        .bits = 8,
        .step = 4,
        .rgb = {2, 1, 0},
        .align_x = 1,
    },
    MOSAICS(8, 1),
    MOSAICS(10, 2),
    MOSAICS(12, 2),
    MOSAICS(16, 2),
};

#define FORMAT_COUNT (sizeof formats / sizeof formats[0])

const struct format_info *format_table(unsigned *ret_count)
{
    *ret_count = FORMAT_COUNT;
    return formats;
}

const struct format_info *format_by_fourcc(uint32_t fourcc)
{
    for (unsigned i = 0; i < FORMAT_COUNT; i++)
        if (formats[i].fourcc == fourcc)
            return &formats[i];
    return NULL;
}

const struct format_info *format_by_name(const char *name)
{
    for (unsigned i = 0; i < FORMAT_COUNT; i++)
        if (strcasecmp(formats[i].name, name) == 0)
            return &formats[i];
    return NULL;
}

const struct format_info *format_by_v4l2(uint32_t v4l2_fourcc)
{
    for (unsigned i = 0; v4l2_fourcc != 0 && i < FORMAT_COUNT; i++)
        if (formats[i].v4l2_fourcc == v4l2_fourcc || formats[i].v4l2_multi == v4l2_fourcc)
            return &formats[i];
    return NULL;
}

uint32_t format_published(uint32_t fourcc)
{
    const struct format_info *info = format_by_fourcc(fourcc);
    return info != NULL && info->published != 0 ? info->published : fourcc;
}

void format_names(char *text, size_t size)
{
    text[0] = '\0';
    for (unsigned i = 0; i < FORMAT_COUNT; i++)
        text_append(text, size, "%s%s", i == 0 ? "" : ", ", formats[i].name);
}

static int check_size(const struct format_info *info, uint32_t width, uint32_t height,
                      struct error *why)
{
    if (width == 0 || height == 0 || width > FFTD_MAX_SIDE || height > FFTD_MAX_SIDE)
        return error_set(why, EINVAL, "size %ux%u is out of range: expected 1x1 .. %ux%u pixels",
                         width, height, FFTD_MAX_SIDE, FFTD_MAX_SIDE);
    if (width % info->align_x != 0 || height % info->align_y != 0)
        return error_set(why, EINVAL,
                         "size %ux%u does not suit %s: width and height must be multiples of %u "
                         "and %u",
                         width, height, info->name, info->align_x, info->align_y);
    return 0;
}

static int unknown_fourcc(uint32_t fourcc, struct error *why)
{
    char known[320], quoted[TEXT_QUOTE_BYTES];
    const char code[5] = {(char)fourcc, (char)(fourcc >> 8), (char)(fourcc >> 16),
                          (char)(fourcc >> 24), '\0'};
    format_names(known, sizeof known);
    return error_set(why, EINVAL, "pixel format %s (0x%08x) is not supported: expected one of %s",
                     text_quote(quoted, code), fourcc, known);
}

int format_layout(struct fftd_format *ret, uint32_t fourcc, uint32_t width, uint32_t height,
                  uint32_t align, struct error *why)
{
    const struct format_info *info = format_by_fourcc(fourcc);
    if (info == NULL)
        return unknown_fourcc(fourcc, why);
    int r = check_size(info, width, height, why);
    if (r < 0)
        return r;
    if (align == 0 || (align & (align - 1)) != 0 || align > 4096)
        return error_set(why, EINVAL, "row alignment %u is not a power of two up to 4096", align);

    /* Chroma lies in planes of its own or in groups of two pixels; grey and RGB have neither. */
    bool is_yuv = info->plane_count > 1 || info->align_x > 1;
    struct fftd_format format = {
        .fourcc = fourcc,
        .width = width,
        .height = height,
        .plane_count = info->plane_count,
        .rate_den = 1,
        .primaries = H273_UNSPECIFIED,
        .transfer = H273_UNSPECIFIED,
        .matrix = H273_UNSPECIFIED,
        .full_range = !is_yuv,
    };
    /* Can not overflow: 8192 x 8192 pixels of 4 bytes are 256 MiB. */
    for (unsigned i = 0; i < info->plane_count; i++) {
        const struct format_plane *plane = &info->plane[i];
        uint32_t columns = (width + plane->sub_x - 1) / plane->sub_x;
        uint32_t rows = (height + plane->sub_y - 1) / plane->sub_y;
        uint32_t row_bytes = columns * plane->bytes_per_pixel;
        uint32_t stride = (row_bytes + align - 1) & ~(align - 1);
        format.plane[i] = (struct fftd_plane){
            .offset = format.frame_bytes,
            .stride = stride,
            .row_bytes = row_bytes,
            .rows = rows,
        };
        format.frame_bytes += stride * rows;
    }
    *ret = format;
    return 0;
}
