/* A ring of buffers on the device. Each frame writes one, which the next frame reads, too: the
 * history of an image for noise reduction that joins frames (engine/denoiser/denoiser_motion.h),
 * and the pictures of a search for motion (engine/field/field.h).
 *
 * Frames in flight are in different queues. A command that reads a buffer waits for the event of
 * the command that wrote it. Writing needs no wait: there is one buffer more than frames in flight,
 * so all reads of a buffer have finished before it is written again. */
#ifndef FFTD_GPU_FRAME_RING_H
#define FFTD_GPU_FRAME_RING_H

#include <stddef.h>

#include "gpu/device_private.h"

struct frame_ring;

/* Creates buffers of `bytes` for at most `in_flight` frames at once. */
int frame_ring_create(struct frame_ring **ret, const struct gpu_device *device, size_t bytes,
                      unsigned in_flight, struct error *why);
void frame_ring_destroy(struct frame_ring *ring); /* NULL is allowed */

/* Begins a frame and returns the buffer that it must write. If the frame fails before
 * frame_ring_end, call frame_ring_forget. */
cl_mem frame_ring_begin(struct frame_ring *ring);

/* Returns the buffer of the frame before the one that was begun, and the event at which it is
 * complete, which the caller does not release; NULL: there is none. */
cl_mem frame_ring_previous(const struct frame_ring *ring, cl_event *ret_written);

/* Ends a frame. `written` is the event of the command that completes its buffer; the ring retains
 * it. Flush the queue before another queue waits for the event. */
void frame_ring_end(struct frame_ring *ring, cl_event written);

/* Forgets all frames so far: no later frame reads them. NULL is allowed. */
void frame_ring_forget(struct frame_ring *ring);

#endif
