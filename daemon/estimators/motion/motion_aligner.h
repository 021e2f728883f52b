/* Where the pictures of a stack are, as seen from its first one. Pure.
 *
 * Each picture is moved back by where the one before it was, bicubically, and the similarity
 * between the stack's reference and the moved picture is fitted to a field of motion
 * (motion_similarity.h); again if that was far. Errors therefore do not add up, however far the
 * pictures drift and turn, as long as no two that follow each other are farther apart than a field
 * finds. The reference is the mean of the first pictures, moved back, so that its noise counts
 * little; after that it stays as it is.
 *
 * What the field finds is then improved by all pixels of both pictures, smoothed, except for those
 * that move otherwise (motion_refine.h).
 *
 * A picture whose similarity is unsure is left out. If pictures are blurred, each in its own
 * way, the field is often unsure; then a picture joins if its gradients are those of the reference.
 * After many in a row that are left out a new stack begins.
 *
 * Threads: an aligner is used by one thread at a time. */
#ifndef FFTD_ESTIMATORS_MOTION_ALIGNER_H
#define FFTD_ESTIMATORS_MOTION_ALIGNER_H

#include <stdbool.h>

#include "core/error.h"
#include "core/similarity.h"

#define ALIGNER_REFERENCES   16u /* pictures of which a reference is the mean */
#define ALIGNER_MAX_LEFT_OUT 15u /* in a row: the next one begins a new stack */

struct motion_aligner;

/* How a frame takes part in a stack (filters/stack.h). */
enum stack_place {
    STACK_JOINS,
    STACK_BEGINS,   /* a new stack, of which it is the first */
    STACK_LEFT_OUT, /* it is not seen; the stack is shown as it is */
};

/* For pictures of width x height pixels, about whose middle similarities turn; the middle of the
 * frame that they show is at middle[], in pixels from their top left corner. is_blurred: they may
 * be. -EINVAL: they are too small (motion_field.h); -ENOMEM. */
int motion_aligner_create(struct motion_aligner **ret, unsigned width, unsigned height,
                          const double middle[2], bool is_blurred, struct error *why);
void motion_aligner_destroy(struct motion_aligner *aligner); /* NULL is allowed */

/* Looks at a picture (width x height numbers of 0 .. 255). Sets by what the content has moved since
 * the first picture of the stack, in pixels; nothing if the picture is left out. */
enum stack_place motion_aligner_observe(struct motion_aligner *aligner, const float *picture,
                                        struct similarity *ret);

/* The next picture begins a new stack. */
void motion_aligner_reset(struct motion_aligner *aligner);

#endif
