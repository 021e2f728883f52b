#include "layout.h"

#include <errno.h>
#include <string.h>

#include <spa/param/video/raw-types.h>
#include <spa/utils/type.h>

#include "pictures/pixels.h"

/* PipeWire has GStreamer's formats with GStreamer's names. */
static uint32_t find_video_format(const char *name)
{
    for (const struct spa_type_info *type = spa_type_video_format; type->name != NULL; type++)
        if (strcmp(strrchr(type->name, ':') + 1, name) == 0)
            return type->type;
    return SPA_VIDEO_FORMAT_UNKNOWN;
}

static uint32_t round_up(uint32_t value, uint32_t to)
{
    return (value + to - 1) / to * to;
}

/* Makes the component's plane wide and high enough for the component. */
static int add_component(struct layout *layout, const struct pixels *pixels, unsigned c)
{
    const struct fftd_pixel_component *component = &pixels->layout->component[c];
    const uint32_t row_bytes = pixels_row_bytes(pixels, c);
    struct fftd_plane *plane = &layout->plane[component->plane];
    if (plane->row_bytes < row_bytes)
        plane->row_bytes = row_bytes;
    plane->rows = pixels_height(pixels, c);
    const struct fftd_plane *given = &layout->format.plane[component->plane];
    if (component->plane >= layout->format.plane_count || given->row_bytes < plane->row_bytes ||
        given->rows < plane->rows)
        return -EPROTO;
    return 0;
}

int layout_init(struct layout *ret, const struct fftd_format *format)
{
    const struct pixels pixels = {.layout = fftd_pixel_format(format->fourcc), .format = format};
    struct layout layout = {.format = *format};
    if (pixels.layout == NULL || pixels.layout->gstreamer == NULL)
        return -EOPNOTSUPP;
    layout.video_format = find_video_format(pixels.layout->gstreamer);
    if (layout.video_format == SPA_VIDEO_FORMAT_UNKNOWN)
        return -EOPNOTSUPP;
    if (format->width < 1 || format->width > FFTD_MAX_SIDE || format->height < 1 ||
        format->height > FFTD_MAX_SIDE)
        return -EPROTO;
    for (unsigned c = 0; c < pixels_components(&pixels); c++) {
        int r = add_component(&layout, &pixels, c);
        if (r < 0)
            return r;
    }
    layout.plane_count = pixels.layout->plane_count;
    for (unsigned p = 0; p < layout.plane_count; p++) {
        struct fftd_plane *plane = &layout.plane[p];
        plane->offset = layout.bytes;
        plane->stride = round_up(plane->row_bytes, 4);
        layout.bytes +=
            plane->stride * (p == 0 ? round_up(plane->rows, pixels.layout->sub_y) : plane->rows);
    }
    *ret = layout;
    return 0;
}

bool layout_is_of(const struct layout *layout, const struct fftd_format *format)
{
    return memcmp(&layout->format, format, sizeof *format) == 0;
}

void layout_copy(const struct layout *layout, const struct fftd_frame *frame, uint8_t *buffer)
{
    for (unsigned p = 0; p < layout->plane_count; p++) {
        const struct fftd_plane *plane = &layout->plane[p];
        uint8_t *to = buffer + plane->offset;
        if (plane->stride == frame->stride[p] && plane->stride == plane->row_bytes) {
            memcpy(to, frame->plane[p], (size_t)plane->stride * plane->rows);
            continue;
        }
        for (uint32_t row = 0; row < plane->rows; row++)
            memcpy(to + (size_t)row * plane->stride,
                   frame->plane[p] + (size_t)row * frame->stride[p], plane->row_bytes);
    }
}
