/* Reduces the noise of captured samples (filters/denoise.h) before a component's transform. It
 * writes the result into planes of floats, which the load of the transform's first dispatch reads
 * instead of the captured samples, so that nothing is rounded in between
 * (transform_buffers.denoised). */
#ifndef FFTD_ENGINE_DENOISER_H
#define FFTD_ENGINE_DENOISER_H

#include "filters/recipe.h"
#include "transform/transform.h"

struct denoiser;
struct frame_ring; /* gpu/frame_ring.h */

/* Lays out images like this. recipe->denoise is that of a chain. lanes: 1, 4, 8 or 16; 0: as suits
 * the device. -ERANGE: the device has too little local memory. The device must outlive the result,
 * which must be built before frames are created. */
int denoiser_prepare(struct denoiser **ret, const struct gpu_device *device,
                     const struct transform_image *image, const struct recipe *recipe,
                     unsigned lanes, struct error *why);

/* Gets all programs (program_get), and returns how many are missing then. */
int denoiser_build(struct denoiser *denoiser, bool compile, const char *cache_dir,
                   struct error *warning, struct error *why);
void denoiser_destroy(struct denoiser *denoiser); /* NULL is allowed */

/* Creates the history of past frames for up to `in_flight` frames at once; NULL if the settings
 * join none. The caller destroys it. */
int denoiser_past_for(struct frame_ring **ret, const struct denoiser *denoiser, unsigned in_flight,
                      struct error *why);

/* The memory of a denoiser for these images, bytes of the device: for past frames, for each frame
 * in flight, and for a noise model. */
uint64_t denoiser_past_bytes(const struct transform_image *image,
                             const struct denoise_settings *settings, unsigned in_flight);
uint64_t denoiser_frame_bytes(const struct transform_image *image,
                              const struct denoise_settings *settings);
uint64_t denoiser_noise_bytes(const struct transform_image *image);

/* Returns the number of dispatches of a frame, and the bytes of main memory that they read and
 * write. */
unsigned denoiser_dispatches(const struct denoiser *denoiser);
double denoiser_traffic(const struct denoiser *denoiser);

/* Creates the device's memory for a noise model, in units of the image's samples. `level`: where
 * samples are no brightness, the one at which to take the variance, in grey levels of 255;
 * negative: that of the samples. The caller releases it. */
int denoiser_noise(cl_mem *ret, const struct denoiser *denoiser, const struct noise_model *noise,
                   double level, struct error *why);

/* The state of one frame in flight: its planes and kernels. The denoiser must outlive it. */
struct denoiser_frame;
int denoiser_frame_create(struct denoiser_frame **ret, const struct denoiser *denoiser,
                          struct error *why);
void denoiser_frame_destroy(struct denoiser_frame *frame); /* NULL is allowed */

/* Enqueues one frame in an in-order queue. It applies the calibration, similarity and correction in
 * `buffers` to the image there, so that its result needs none of them. The result is `denoised`,
 * valid until the next frame: one plane per image, denoiser_plane_size floats apart (transform.h).
 * past: the frames before, to which this one is added; NULL unless the settings join past frames.
 * `first` and `last`, if not NULL, receive the events of the first and the last dispatch; the
 * caller releases them. */
int denoiser_frame_enqueue(struct denoiser_frame *frame, cl_command_queue queue,
                           struct transform_buffers *buffers, cl_mem noise, struct frame_ring *past,
                           cl_event *first, cl_event *last, struct error *why);

/* Returns the memory with the noise model that was estimated for the last frame: for each image the
 * constant and the slope, in units of its samples, and the factor. Returns NULL if noise is not
 * estimated. */
cl_mem denoiser_frame_noise(const struct denoiser_frame *frame);

/* Returns the memory with the vectors of the last frame's motion (denoiser_motion.h). Only where
 * past frames are joined. */
cl_mem denoiser_frame_vectors(const struct denoiser_frame *frame);

/* Returns the memory with the counts of that search, under the same condition. */
cl_mem denoiser_frame_counts(const struct denoiser_frame *frame);

#endif
