/* The rows are those of fftd/formats.h. What the daemon needs beyond them follows from them.
 *
 * Mosaics have no DRM codes. No client ever sees one, so V4L2's codes serve.
 *
 * Odd sizes: subsampled planes are rounded up, as the kernel's v4l2_fill_pixfmt, Y4M and FFmpeg
 * do. Only packed 4:2:2 needs an even width, since two pixels share one group of four bytes. */
#include "core/format.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <strings.h>

#include "core/text.h"

#define H273_UNSPECIFIED              2 /* in ITU-T H.273's tables of primaries, transfer and matrix */

#define KIND_OF_GREY(bits)            ((bits) > 8 ? SAMPLE_U16 : SAMPLE_U8)
#define KIND_OF_YUV(bits)             SAMPLE_U8
#define KIND_OF_RGB(bits)             SAMPLE_RGB8

/* Plane 0 has whole pixels, the others subsampled ones; all have the step of their component. */
/* clang-format off */
#define CHROMA_PLANE(has, across, down, component)                                                 \
    {(has) ? (across) : 0, (has) ? (down) : 0, (has) ? FFTD_COMPONENT_STEP component : 0}
/* clang-format on */

#define RGB_OFFSET(family, component) ((family) == FAMILY_RGB ? FFTD_COMPONENT_OFFSET component : 0)

#define FORMAT(id, drm, single, multi, caps, colour_space, type, size, planes, across, down,       \
               first, second, third)                                                               \
    {                                                                                              \
        .fourcc = FFTD_FOURCC drm,                                                                 \
        .name = #id,                                                                               \
        .y4m = (colour_space),                                                                     \
        .v4l2_fourcc = FFTD_FOURCC single,                                                         \
        .v4l2_multi = FFTD_FOURCC multi,                                                           \
        .family = FAMILY_##type,                                                                   \
        .plane_count = (planes),                                                                   \
        .plane = {{1, 1, FFTD_COMPONENT_STEP first},                                               \
                  CHROMA_PLANE((planes) > 1, across, down, second),                                \
                  CHROMA_PLANE((planes) > 2, across, down, third)},                                \
        .component = {FFTD_COMPONENT first, FFTD_COMPONENT second, FFTD_COMPONENT third},          \
        .kind = KIND_OF_##type(size),                                                              \
        .bits = (size),                                                                            \
        .offset = FAMILY_##type == FAMILY_RGB ? 0 : FFTD_COMPONENT_OFFSET first,                   \
        .step = FFTD_COMPONENT_STEP first,                                                         \
        .rgb = {RGB_OFFSET(FAMILY_##type, first), RGB_OFFSET(FAMILY_##type, second),               \
                RGB_OFFSET(FAMILY_##type, third)},                                                 \
        .align_x = (planes) == 1 ? (across) : 1,                                                   \
        .align_y = 1,                                                                              \
    },

#define MOSAIC(id, code, size, bytes, x, y)                                                        \
    {                                                                                              \
        .fourcc = FFTD_FOURCC code,                                                                \
        .published = FFTD_FOURCC('X', 'R', '2', '4'),                                              \
        .name = #id,                                                                               \
        .v4l2_fourcc = FFTD_FOURCC code,                                                           \
        .family = FAMILY_MOSAIC,                                                                   \
        .plane_count = 1,                                                                          \
        .plane = {{1, 1, (bytes)}},                                                                \
        .kind = SAMPLE_BAYER,                                                                      \
        .bits = (size),                                                                            \
        .step = (bytes),                                                                           \
        .red_x = (x),                                                                              \
        .red_y = (y),                                                                              \
        .align_x = 1,                                                                              \
        .align_y = 1,                                                                              \
    },

static const struct format_info formats[] = {FFTD_PIXEL_FORMATS(FORMAT)
                                                 FFTD_MOSAIC_FORMATS(MOSAIC)};

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

uint32_t format_luma(uint32_t fourcc)
{
    const struct format_info *info = format_by_fourcc(fourcc);
    return info == NULL || info->family == FAMILY_GREY ? fourcc : FFTD_FOURCC('R', '8', ' ', ' ');
}

void format_put_luma(uint8_t *sample, const struct format_info *format, double luma)
{
    const unsigned white = (1u << format->bits) - 1;
    const double scaled = luma * (white / 255.0);
    const unsigned value = scaled <= 0 ? 0 : scaled >= white ? white : (unsigned)lrint(scaled);
    sample[0] = (uint8_t)value;
    if (format->bits > 8)
        sample[1] = (uint8_t)(value >> 8);
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

    struct fftd_format format = {
        .fourcc = fourcc,
        .width = width,
        .height = height,
        .plane_count = info->plane_count,
        .rate_den = 1,
        .primaries = H273_UNSPECIFIED,
        .transfer = H273_UNSPECIFIED,
        .matrix = H273_UNSPECIFIED,
        .full_range = info->family != FAMILY_YUV,
    };
    /* Cannot overflow: 8192 x 8192 pixels of 4 bytes are 256 MiB. */
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
