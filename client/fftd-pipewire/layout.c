#include "layout.h"

#include <errno.h>
#include <string.h>

#include <spa/debug/types.h>
#include <spa/param/video/raw-types.h>

#include "pictures/pixels.h"

static uint32_t round_up(uint32_t value, uint32_t to)
{
    return (value + to - 1) / to * to;
}

int layout_init(struct layout *ret, const struct fftd_format *format)
{
    struct layout layout = {.format = *format};
    struct pixels pixels;
    const int r = pixels_describe(&pixels, format, format->frame_bytes);
    if (r < 0)
        return r;
    /* PipeWire has GStreamer's formats with GStreamer's names. */
    const char *name = pixels.layout->gstreamer;
    const struct spa_type_info *type =
        name != NULL ? spa_debug_type_find_short(spa_type_video_format, name) : NULL;
    if (type == NULL)
        return -EOPNOTSUPP;
    layout.video_format = type->type;
    layout.plane_count = pixels.layout->plane_count;
    for (unsigned p = 0; p < layout.plane_count; p++) {
        struct fftd_plane *plane = &layout.plane[p];
        *plane = format->plane[p];
        plane->offset = layout.bytes;
        plane->stride = round_up(plane->row_bytes, 4);
        layout.bytes +=
            plane->stride * (p == 0 ? round_up(plane->rows, pixels.layout->sub_y) : plane->rows);
    }
    *ret = layout;
    return 0;
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
