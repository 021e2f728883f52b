/* The history of the last frame of an image, for noise reduction that joins it to the next one
 * (filters/denoise.h). Each frame gets one (denoiser_motion.h), which its join writes, and which
 * its passes and the next frame read.
 *
 * Frames in flight are in different queues. A frame's search waits by an event for the join of the
 * frame before it. No frame waits for those that read the history before: there is one more than
 * frames may be in flight, so that the last frame that reads one is finished when it is written
 * again. */
#ifndef FFTD_ENGINE_DENOISER_PAST_H
#define FFTD_ENGINE_DENOISER_PAST_H

#include <stddef.h>

#include "gpu/device_private.h"

struct denoiser_past;

/* Creates histories of `bytes` for at most `in_flight` frames at once. */
int denoiser_past_create(struct denoiser_past **ret, const struct gpu_device *device, size_t bytes,
                         unsigned in_flight, struct error *why);
void denoiser_past_destroy(struct denoiser_past *past); /* NULL is allowed */

/* Begins a frame: returns the history that its join is to write. If it is not ended by
 * denoiser_past_add, the frames so far must be forgotten. */
cl_mem denoiser_past_begin(struct denoiser_past *past);

/* Returns the history of the frame before the one that was begun, and the event of its join, which
 * the caller does not release; NULL: there is none. */
cl_mem denoiser_past_get(const struct denoiser_past *past, cl_event *ret_joined);

/* Ends a frame whose join, with this event, is enqueued; retains the event. The queue must be
 * flushed before another one waits for it. */
void denoiser_past_add(struct denoiser_past *past, cl_event joined);

/* No frame so far is joined to later ones. NULL is allowed. */
void denoiser_past_forget(struct denoiser_past *past);

#endif
