/* A ring of buffers on the device. Each frame writes one, which the next frame reads, too: the
 * history of an image for noise reduction that joins frames (engine/denoiser/denoiser_motion.h),
 * and the pictures of a search for motion (engine/field/field.h).
 *
 * Frames in flight are in different queues. What reads a buffer waits by an event for what wrote
 * it. No frame waits for those that read the buffer before: there is one more than frames may be in
 * flight, so that the last frame that reads one is finished when it is written again. */
#ifndef FFTD_GPU_FRAME_RING_H
#define FFTD_GPU_FRAME_RING_H

#include <stddef.h>

#include "gpu/device_private.h"

struct frame_ring;

/* Creates buffers of `bytes` for at most `in_flight` frames at once. */
int frame_ring_create(struct frame_ring **ret, const struct gpu_device *device, size_t bytes,
                      unsigned in_flight, struct error *why);
void frame_ring_destroy(struct frame_ring *ring); /* NULL is allowed */

/* Begins a frame: returns the buffer that it is to write. If it is not ended by frame_ring_add, the
 * frames so far must be forgotten. */
cl_mem frame_ring_begin(struct frame_ring *ring);

/* Returns the buffer of the frame before the one that was begun, and the event at which it is
 * complete, which the caller does not release; NULL: there is none. */
cl_mem frame_ring_get(const struct frame_ring *ring, cl_event *ret_written);

/* Ends a frame that has enqueued, with this event, what completes its buffer; retains the event.
 * The queue must be flushed before another one waits for it. */
void frame_ring_add(struct frame_ring *ring, cl_event written);

/* No frame so far is read by later ones. NULL is allowed. */
void frame_ring_forget(struct frame_ring *ring);

#endif
