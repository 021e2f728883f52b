/* Copies of one frame before and after the filter, on their way from whoever asked for them, along
 * with a frame, and back. Plain data; who owns one at a time is the camera's affair. */
#ifndef FFTD_SNAPSHOT_H
#define FFTD_SNAPSHOT_H

#include <stdint.h>

#include "camera.h"
#include "capture/capture.h"
#include "core/error.h"

struct snapshot {
    struct snapshot *next;
    camera_snapshot_fn *done;
    void *context;
    struct fftd_format format;
    int result;
    uint64_t sequence;
    uint8_t *before, *after; /* format.frame_bytes each */
};

/* Allocated with its buffers, so that the frame path only copies. -ENOMEM. */
int snapshot_create(struct snapshot **ret, const struct fftd_format *format,
                    camera_snapshot_fn *done, void *context);
void snapshot_destroy(struct snapshot *snapshot); /* NULL is allowed */

/* For each snapshot of a list: takes the frame as it was captured, in the format `source`, made one
 * of `format` where that is another (format_published); takes the frame as it is
 * published, which completes it. A frame of another format fails them with -EAGAIN. */
void snapshot_take_before(struct snapshot *list, const struct fftd_format *format, uint32_t source,
                          const struct capture_frame *frame);
void snapshot_take_after(struct snapshot *list, const uint8_t *frame, uint64_t sequence);

void snapshot_fail(struct snapshot *list, int result);

/* Puts a list behind another; both may be empty. */
void snapshot_append(struct snapshot **to, struct snapshot *list);

/* Tells everybody on the list and destroys it. */
void snapshot_answer(struct snapshot *list);

#endif
