#include "pixels.h"

#include <errno.h>

/* Packed 4:2:2 has chroma every other pixel: four bytes are two pixels. RGB by the bytes' order in
 * memory: DRM names formats by the order in a little-endian word. */
static const struct pixels_layout layouts[] = {
    {FFTD_FOURCC('R', '8', ' ', ' '), "GREY", "mono", PIXELS_GREY, 8, 1, 1, {{0, 0, 1}}},
    {FFTD_FOURCC('R', '1', '0', ' '), "Y10", "mono10", PIXELS_GREY, 10, 1, 1, {{0, 0, 2}}},
    {FFTD_FOURCC('R', '1', '2', ' '), "Y12", "mono12", PIXELS_GREY, 12, 1, 1, {{0, 0, 2}}},
    {FFTD_FOURCC('R', '1', '6', ' '), "Y16", "mono16", PIXELS_GREY, 16, 1, 1, {{0, 0, 2}}},
    {FFTD_FOURCC('Y', 'U', 'Y', 'V'),
     "YUYV",
     "422",
     PIXELS_YUV,
     8,
     2,
     1,
     {{0, 0, 2}, {0, 1, 4}, {0, 3, 4}}},
    {FFTD_FOURCC('U', 'Y', 'V', 'Y'),
     "UYVY",
     "422",
     PIXELS_YUV,
     8,
     2,
     1,
     {{0, 1, 2}, {0, 0, 4}, {0, 2, 4}}},
    {FFTD_FOURCC('N', 'V', '1', '2'),
     "NV12",
     "420jpeg",
     PIXELS_YUV,
     8,
     2,
     2,
     {{0, 0, 1}, {1, 0, 2}, {1, 1, 2}}},
    {FFTD_FOURCC('N', 'V', '2', '1'),
     "NV21",
     "420jpeg",
     PIXELS_YUV,
     8,
     2,
     2,
     {{0, 0, 1}, {1, 1, 2}, {1, 0, 2}}},
    {FFTD_FOURCC('N', 'V', '1', '6'),
     "NV16",
     "422",
     PIXELS_YUV,
     8,
     2,
     1,
     {{0, 0, 1}, {1, 0, 2}, {1, 1, 2}}},
    {FFTD_FOURCC('Y', 'U', '1', '2'),
     "YUV420",
     "420jpeg",
     PIXELS_YUV,
     8,
     2,
     2,
     {{0, 0, 1}, {1, 0, 1}, {2, 0, 1}}},
    {FFTD_FOURCC('Y', 'V', '1', '2'),
     "YVU420",
     "420jpeg",
     PIXELS_YUV,
     8,
     2,
     2,
     {{0, 0, 1}, {2, 0, 1}, {1, 0, 1}}},
    {FFTD_FOURCC('B', 'G', '2', '4'),
     "RGB24",
     NULL,
     PIXELS_RGB,
     8,
     1,
     1,
     {{0, 0, 3}, {0, 1, 3}, {0, 2, 3}}},
    {FFTD_FOURCC('R', 'G', '2', '4'),
     "BGR24",
     NULL,
     PIXELS_RGB,
     8,
     1,
     1,
     {{0, 2, 3}, {0, 1, 3}, {0, 0, 3}}},
    {FFTD_FOURCC('B', 'X', '2', '4'),
     "XRGB32",
     NULL,
     PIXELS_RGB,
     8,
     1,
     1,
     {{0, 1, 4}, {0, 2, 4}, {0, 3, 4}}},
    {FFTD_FOURCC('X', 'R', '2', '4'),
     "XBGR32",
     NULL,
     PIXELS_RGB,
     8,
     1,
     1,
     {{0, 2, 4}, {0, 1, 4}, {0, 0, 4}}},
};

const struct pixels_layout *pixels_layout(uint32_t fourcc)
{
    for (unsigned i = 0; i < sizeof layouts / sizeof layouts[0]; i++)
        if (layouts[i].fourcc == fourcc)
            return &layouts[i];
    return NULL;
}

unsigned pixels_components(const struct pixels *pixels)
{
    return pixels->layout->family == PIXELS_GREY ? 1 : 3;
}

uint32_t pixels_width(const struct pixels *pixels, unsigned component)
{
    uint32_t sub = component == 0 ? 1 : pixels->layout->sub_x;
    return (pixels->format->width + sub - 1) / sub;
}

uint32_t pixels_height(const struct pixels *pixels, unsigned component)
{
    uint32_t sub = component == 0 ? 1 : pixels->layout->sub_y;
    return (pixels->format->height + sub - 1) / sub;
}

/* Whether every sample of the component lies within the memory. */
static int check_component(const struct pixels *pixels, unsigned component, size_t size)
{
    const struct pixels_component *c = &pixels->layout->component[component];
    if (c->plane >= pixels->format->plane_count)
        return -EPROTO;
    const struct fftd_plane *plane = &pixels->format->plane[c->plane];
    uint64_t sample_bytes = pixels->layout->bits > 8 ? 2 : 1;
    uint64_t row =
        c->offset + (uint64_t)(pixels_width(pixels, component) - 1) * c->step + sample_bytes;
    uint64_t end =
        plane->offset + (uint64_t)(pixels_height(pixels, component) - 1) * plane->stride + row;
    return row > plane->row_bytes || row > plane->stride || end > size ? -EPROTO : 0;
}

int pixels_from_memory(struct pixels *ret, const struct fftd_format *format, const uint8_t *memory,
                       size_t size)
{
    struct pixels pixels = {.layout = pixels_layout(format->fourcc), .format = format};
    if (pixels.layout == NULL)
        return -EOPNOTSUPP;
    if (format->width == 0 || format->height == 0 || format->width > FFTD_MAX_SIDE ||
        format->height > FFTD_MAX_SIDE || format->plane_count > FFTD_MAX_PLANES)
        return -EPROTO;
    for (unsigned i = 0; i < pixels_components(&pixels); i++) {
        int r = check_component(&pixels, i, size);
        if (r < 0)
            return r;
    }
    for (unsigned i = 0; i < format->plane_count; i++) {
        pixels.plane[i] = memory + format->plane[i].offset;
        pixels.stride[i] = format->plane[i].stride;
    }
    *ret = pixels;
    return 0;
}
