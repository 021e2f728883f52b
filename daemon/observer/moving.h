/* The fields of motion of the pictures of one source (estimators/motion/motion_field.h), as frames
 * carry them: struct fftd_motion of fftd/ring.h, vectors and confidences. One of the estimators of
 * estimators.h.
 *
 * Threads: one at a time. */
#ifndef FFTD_OBSERVER_MOVING_H
#define FFTD_OBSERVER_MOVING_H

#include <stdbool.h>
#include <stdint.h>

#include "observer/observed.h"
#include "core/error.h"
#include "estimators/motion/motion_field.h"
#include "fftd/ring.h"

struct moving;

/* For pictures of this size in blocks of 16, 32 or 64 pixels. -EINVAL, -ENOMEM. */
int moving_create(struct moving **ret, uint32_t width, uint32_t height, unsigned block,
                  struct error *why);
void moving_destroy(struct moving *moving); /* NULL is allowed */

/* The bytes of a field of such pictures; 0: there is none of them. */
uint32_t moving_bytes(uint32_t width, uint32_t height, unsigned block);

/* Compares a frame with the one observed before. luma: the frame's, as luma_read makes it. Returns
 * moving_bytes(), valid until the next call. */
const void *moving_observe(struct moving *moving, const struct observed_frame *frame,
                           const float *luma);

/* How the scene has moved as a whole in the frame that was observed last, a frame. Returns false if
 * that is not sure, and then leaves *ret alone. */
bool moving_similarity(const struct moving *moving, struct fftd_similarity *ret);

/* The same for a field that was found elsewhere. moving_put writes it as frames carry it, in
 * moving_grid_bytes(). moving_fit fits how the scene of that size has moved as a whole, per frame;
 * `frames` is the distance of both pictures. */
uint32_t moving_grid_bytes(const struct motion_grid *grid);
void moving_put(void *record, const struct motion_grid *grid, const struct motion_vector *vector,
                int64_t captured_ns, int64_t since_ns);
bool moving_fit(const struct motion_grid *grid, const struct motion_vector *vector, double width,
                double height, uint64_t frames, struct fftd_similarity *ret);

/* A copy of a field, as it goes from thread to thread; {0} is empty. The owner frees the bytes. */
struct moving_copy {
    uint64_t number; /* the frame that it belongs to; 0: none */
    void *bytes;
    uint32_t size, capacity;
};

/* Makes room for a field of that size; the copy has none then. False: there is no memory. */
bool moving_copy_reserve(struct moving_copy *copy, uint32_t size);

/* Replaces the copy; bytes may be NULL. Without memory, there is no field. */
void moving_copy_set(struct moving_copy *copy, uint64_t number, const void *bytes, uint32_t size);

#endif
