#include "camera/snapshot.h"

#include <errno.h>
#include <string.h>

#include "estimators/luma.h"

static void copy_frame(struct request_snapshot *snapshot, const struct capture_frame *frame)
{
    for (unsigned p = 0; p < snapshot->format.plane_count; p++) {
        const struct fftd_plane *plane = &snapshot->format.plane[p];
        for (uint32_t row = 0; row < plane->rows; row++)
            memcpy(snapshot->before + plane->offset + (size_t)row * plane->stride,
                   frame->plane[p] + (size_t)row * frame->stride[p], plane->row_bytes);
    }
}

void snapshot_take_before(struct request *list, const struct engine_frames *frames,
                          enum demosaic demosaic, const struct capture_frame *frame)
{
    const struct fftd_format *format = &frames->format;
    const uint32_t captured = frames->captured;
    const bool is_smaller = frames->width != format->width || frames->height != format->height;
    for (struct request *each = list; each != NULL; each = each->next) {
        const bool is_wanted = each->snapshot.before != NULL;
        if (memcmp(&each->snapshot.format, format, sizeof *format) != 0 ||
            (is_wanted && is_smaller))
            each->result = -EAGAIN;
        else if (!is_wanted)
            continue;
        else if (captured == format->fourcc)
            copy_frame(&each->snapshot, frame);
        else if (format_by_fourcc(format->fourcc)->family == FAMILY_GREY)
            luma_convert(each->snapshot.before, format, captured, demosaic, frame->plane[0],
                         frame->stride[0]);
        else
            mosaic_convert(each->snapshot.before, format, captured, demosaic, frame->plane[0],
                           frame->stride[0]);
    }
}

void snapshot_take_after(struct request *list, const uint8_t *frame,
                         const struct snapshot_origin *origin)
{
    for (struct request *each = list; each != NULL; each = each->next) {
        if (each->result < 0)
            continue;
        memcpy(each->snapshot.after, frame, each->snapshot.format.frame_bytes);
        each->snapshot.origin = *origin;
    }
}
