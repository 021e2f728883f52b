/* Joins the samples of frames to those before them, along the motion that it finds
 * (filters/denoise.h; kernels/engine/denoise_motion.cl and denoise_join.cl). */
#ifndef FFTD_ENGINE_DENOISER_MOTION_H
#define FFTD_ENGINE_DENOISER_MOTION_H

#include "engine/denoiser/denoiser_source.h"
#include "gpu/device_private.h"

/* The bytes of a history, which has what the next frame reads of a frame, for all images: their
 * joined planes first, as those of the samples. And those of the memory of a frame in flight. */
uint64_t denoiser_history_bytes(const struct transform_image *image);
uint64_t denoiser_motion_bytes(const struct transform_image *image);

/* Returns the number of dispatches of a frame. */
unsigned denoiser_motion_dispatches(void);

/* The kernels and vectors of one frame in flight. */
struct denoiser_motion;

/* `program` is built from denoiser_source with the layout of DENOISER_JOIN. */
int denoiser_motion_create(struct denoiser_motion **ret, const struct gpu_device *device,
                           const struct transform_image *image,
                           const struct denoiser_layout *layout, cl_program program,
                           struct error *why);
void denoiser_motion_destroy(struct denoiser_motion *motion); /* NULL is allowed */

/* Enqueues in an in-order queue what joins `samples` to the history `past` of the frame before, and
 * writes the history of this frame. past: NULL, there is none. past_ready: the event at which it is
 * complete; not released here. ret_joined receives the event at which the frame's own history is;
 * the caller releases it. */
int denoiser_motion_enqueue(struct denoiser_motion *motion, cl_command_queue queue, cl_mem samples,
                            cl_mem history, cl_mem past, cl_event past_ready, cl_mem noise,
                            cl_event *ret_joined, struct error *why);

/* Returns the memory with the vectors of the last frame: for each image struct denoiser_levels has
 * rows of four floats: pixels by which a block has moved down and right, confidence, cost. */
cl_mem denoiser_motion_vectors(const struct denoiser_motion *motion);

/* Returns the memory with the counts of the last frame's search, DENOISER_COUNTS for each image:
 * blocks with texture not found in the past; all blocks with texture; the still ones of these; all
 * blocks of the smallest level; and those of them whose light has changed. */
cl_mem denoiser_motion_counts(const struct denoiser_motion *motion);

#endif
