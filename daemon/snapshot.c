#include "snapshot.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/mosaic.h"

int snapshot_create(struct snapshot **ret, const struct fftd_format *format,
                    camera_snapshot_fn *done, void *context)
{
    struct snapshot *snapshot = calloc(1, sizeof *snapshot);

    if (snapshot == NULL)
        return -ENOMEM;
    snapshot->done = done;
    snapshot->context = context;
    snapshot->format = *format;
    /* Rows may be padded, and what lies there is handed out too: zeros. */
    snapshot->before = calloc(2, format->frame_bytes);
    if (snapshot->before == NULL) {
        free(snapshot);
        return -ENOMEM;
    }
    snapshot->after = snapshot->before + format->frame_bytes;
    *ret = snapshot;
    return 0;
}

void snapshot_destroy(struct snapshot *snapshot)
{
    if (snapshot != NULL)
        free(snapshot->before);
    free(snapshot);
}

static void copy_frame(struct snapshot *snapshot, const struct capture_frame *frame)
{
    for (unsigned p = 0; p < snapshot->format.plane_count; p++) {
        const struct fftd_plane *plane = &snapshot->format.plane[p];
        for (uint32_t row = 0; row < plane->rows; row++)
            memcpy(snapshot->before + plane->offset + (size_t)row * plane->stride,
                   frame->plane[p] + (size_t)row * frame->stride[p], plane->row_bytes);
    }
}

void snapshot_take_before(struct snapshot *list, const struct fftd_format *format, uint32_t source,
                          const struct capture_frame *frame)
{
    for (struct snapshot *each = list; each != NULL; each = each->next) {
        if (memcmp(&each->format, format, sizeof *format) != 0)
            each->result = -EAGAIN;
        else if (source == format->fourcc)
            copy_frame(each, frame);
        else
            mosaic_convert(each->before, format, source, frame->plane[0], frame->stride[0]);
    }
}

void snapshot_take_after(struct snapshot *list, const uint8_t *frame, uint64_t sequence)
{
    for (struct snapshot *each = list; each != NULL; each = each->next) {
        if (each->result < 0)
            continue;
        memcpy(each->after, frame, each->format.frame_bytes);
        each->sequence = sequence;
    }
}

void snapshot_fail(struct snapshot *list, int result)
{
    for (struct snapshot *each = list; each != NULL; each = each->next)
        each->result = result;
}

void snapshot_append(struct snapshot **to, struct snapshot *list)
{
    while (*to != NULL)
        to = &(*to)->next;
    *to = list;
}

void snapshot_answer(struct snapshot *list)
{
    while (list != NULL) {
        struct snapshot *next = list->next;
        bool good = list->result == 0;
        list->done(list->context, list->result, &list->format, good ? list->before : NULL,
                   good ? list->after : NULL, list->sequence);
        snapshot_destroy(list);
        list = next;
    }
}
