/* The samples of the last frames of an image, for noise reduction that joins them to the next one
 * (filters/denoise.h). Each frame gets a plane, which is written by its load, and read by its own
 * passes and by those of the frames after it.
 *
 * Frames in flight are in different queues. A frame's passes wait for the loads of the frames
 * before it, by events. No load waits for the passes that read the plane before: there are as many
 * planes as frames may be in flight, and one more for each past frame that is joined, so that the
 * last frame that reads a plane is finished when the plane is written again. */
#ifndef FFTD_ENGINE_DENOISER_PAST_H
#define FFTD_ENGINE_DENOISER_PAST_H

#include <stddef.h>

#include "filters/denoise.h"
#include "gpu/device_private.h"

struct denoiser_past;

/* Creates planes of `bytes` for frames that are joined to `count` frames before them, 1 ..
 * DENOISE_MAX_PAST; at most `in_flight` frames are in flight at once. */
int denoiser_past_create(struct denoiser_past **ret, const struct gpu_device *device, size_t bytes,
                         unsigned count, unsigned in_flight, struct error *why);
void denoiser_past_destroy(struct denoiser_past *past); /* NULL is allowed */

/* Begins a frame: returns the plane that its load is to write. If it is not ended by
 * denoiser_past_add, the frames so far must be forgotten. */
cl_mem denoiser_past_begin(struct denoiser_past *past);

/* Finds the frames before the one that was begun, the nearest first, and the events of their loads,
 * which the caller does not release. Returns their number. */
unsigned denoiser_past_get(const struct denoiser_past *past, cl_mem ret_plane[DENOISE_MAX_PAST],
                           cl_event ret_loaded[DENOISE_MAX_PAST]);

/* Ends a frame whose load, with this event, is enqueued; retains the event. The queue must be
 * flushed before another one waits for it. */
void denoiser_past_add(struct denoiser_past *past, cl_event loaded);

/* No frame so far is joined to later ones. NULL is allowed. */
void denoiser_past_forget(struct denoiser_past *past);

#endif
