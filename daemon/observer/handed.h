/* Fields of motion that an engine finds (engine/engine.h), on their way to the frames that carry
 * them and to the observer's thread, which fits how the scene moves as a whole.
 *
 * Threads: each of these is used by one thread at a time. */
#ifndef FFTD_OBSERVER_HANDED_H
#define FFTD_OBSERVER_HANDED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "observer/moving.h"

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

/* moving_fit() for pictures of that size. */
bool handed_field_fit(const struct handed_field *handed, uint32_t width, uint32_t height,
                      struct fftd_similarity *ret);

/* Replaces a copy by a field as frames carry it; without memory, or if it is not known, by none. */
void handed_put(struct moving_copy *copy, const struct observed_field *field);

#endif
