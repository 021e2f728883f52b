/* The fields of motion of the pictures of one source (estimators/motion/motion_field.h), as frames
 * carry them: struct fftd_motion of fftd/ring.h, vectors and confidences. One of the estimators of
 * estimators.h. Fields that an engine finds instead (engine/engine.h) pass here on their way to the
 * frames that carry them, and to the observer's thread, which fits how the scene moves as a whole.
 *
 * Threads: each of these is used by one at a time. */
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
 * moving_bytes(), valid until the next call. Sets how the scene has moved as a whole, per frame, if
 * that is sure. */
const void *moving_observe(struct moving *moving, const struct observed_frame *frame,
                           const float *luma, bool *ret_has_similarity,
                           struct fftd_similarity *ret_similarity);

/* A copy of a field, as it goes from thread to thread; {0} is empty. The owner frees the bytes. */
struct moving_copy {
    uint64_t number; /* the frame that it belongs to; 0: none */
    void *bytes;
    uint32_t size, capacity;
};

/* Replaces the copy; bytes may be NULL. Without memory, there is no field. */
void moving_copy_set(struct moving_copy *copy, uint64_t number, const void *bytes, uint32_t size);

/* A field of motion that an engine has found, for the frame that observer_offer gave this number.
 */
struct observed_field {
    uint64_t number;
    uint64_t frames; /* from the frame before, with which it was compared, to this one */
    int64_t captured_ns, since_ns;      /* of this frame, and of that one */
    const struct motion_grid *grid;     /* NULL: the engine finds none, so the observer does */
    const struct motion_vector *vector; /* NULL: there was no frame before */
};

static inline bool observed_field_is_known(const struct observed_field *field)
{
    return field->grid != NULL && field->vector != NULL;
}

/* A copy of one for the observer's thread; {0} is empty. */
struct handed_field {
    struct moving_copy vectors; /* an array of struct motion_vector */
    uint64_t frames;
    unsigned start; /* the start of the source that delivered the frame */
    struct motion_grid grid;
};

/* Replaces the copy by a field that is known. Without memory there is none. */
void handed_field_set(struct handed_field *handed, const struct observed_field *field,
                      unsigned start);

/* Moves a copy that waits into *used, and keeps the memory of the old one for the next. Returns
 * false if none waits, or if it is from another start of the source. */
bool handed_field_take(struct handed_field *handed, struct handed_field *used, unsigned start);

/* Sets how a scene of that size has moved as a whole, per frame. Returns false, and leaves ret
 * alone, if that is not sure. */
bool handed_field_fit(const struct handed_field *handed, uint32_t width, uint32_t height,
                      struct fftd_similarity *ret);

/* Replaces a copy by a field as frames carry it; without memory, or if it is not known, by none. */
void moving_copy_set_field(struct moving_copy *copy, const struct observed_field *field);

#endif
