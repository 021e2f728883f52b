#include "pixels.h"

#include <errno.h>
#include <string.h>

#include <fftd/fftd.h>

unsigned pixels_components(const struct pixels *pixels)
{
    return pixels->layout->family == FFTD_FAMILY_GREY ? 1 : 3;
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

/* Checks that every sample of the component is within `size` bytes. */
static int check_component(const struct pixels *pixels, unsigned component, size_t size)
{
    const struct fftd_pixel_component *c = &pixels->layout->component[component];
    if (c->plane >= pixels->format->plane_count)
        return -EPROTO;
    const struct fftd_plane *plane = &pixels->format->plane[c->plane];
    /* From the beginning of a row to the end of the component's last sample. */
    uint64_t row = c->offset + (pixels_width(pixels, component) - 1) * c->step +
                   pixels_sample_bytes(pixels->layout);
    uint64_t end =
        plane->offset + (uint64_t)(pixels_height(pixels, component) - 1) * plane->stride + row;
    return row > plane->row_bytes || row > plane->stride || end > size ? -EPROTO : 0;
}

int pixels_describe(struct pixels *ret, const struct fftd_format *format, size_t size)
{
    struct pixels pixels = {.layout = fftd_pixel_format(format->fourcc), .format = format};
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
    *ret = pixels;
    return 0;
}

int pixels_from_memory(struct pixels *ret, const struct fftd_format *format, const uint8_t *memory,
                       size_t size)
{
    const int r = pixels_describe(ret, format, size);
    for (unsigned i = 0; r == 0 && i < format->plane_count; i++) {
        ret->plane[i] = memory + format->plane[i].offset;
        ret->stride[i] = format->plane[i].stride;
    }
    return r;
}

int pixels_from_frame(struct pixels *ret, const struct fftd_frame *frame)
{
    const int r = pixels_describe(ret, frame->format, frame->format->frame_bytes);
    if (r < 0)
        return r;
    memcpy(ret->plane, frame->plane, sizeof ret->plane);
    memcpy(ret->stride, frame->stride, sizeof ret->stride);
    return 0;
}
