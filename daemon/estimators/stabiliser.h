/* How to move each frame so that the picture does not shake. Pure.
 *
 * The motion since the frame before is measured in a reduced picture, whose pixels are means of
 * squares, so that its smaller side has less than 256 pixels (for a stack at most 256): one
 * shift (motion.h), or a similarity (motion/motion_similarity.h). These motions together are the
 * path of the camera. What is wanted is a smooth path: a filter with two states, place and speed,
 * predicts the next place and takes a part of the error into both (a critically damped g-h filter,
 * for each of the similarity's numbers). It follows a steady pan without lagging behind, and
 * removes what is much faster than its time constant. A frame is moved from the path to the smooth
 * one, by at most a limit; at the limit the smooth path is dragged along.
 *
 * Where the motion is unsure (a cut, a wall; for a shift, a rotation), the frame is taken to move
 * as the smooth path does, and the distance between both paths shrinks with the time constant: no
 * frame jumps.
 *
 * Frames of a stack have no path: each is moved onto the first one.
 *
 * Source of the maths: Morrison, Introduction to Sequential Smoothing and Prediction (1969), the
 * fading-memory filter of the first degree.
 *
 * Threads: a stabiliser is used by one thread at a time. */
#ifndef FFTD_ESTIMATORS_STABILISER_H
#define FFTD_ESTIMATORS_STABILISER_H

#include <stdint.h>

#include "filters/filter_adapt.h"
#include "core/error.h"
#include "core/format.h"
#include "core/similarity.h"
#include "estimators/motion/motion_aligner.h"

struct stabiliser;

/* For captured frames of that format and size. -EINVAL: they are too small for an estimate of
 * motion (motion.h, motion_field.h); -ENOMEM. */
int stabiliser_create(struct stabiliser **ret, enum stabiliser_model model,
                      const struct format_info *format, uint32_t width, uint32_t height,
                      struct error *why);
void stabiliser_destroy(struct stabiliser *stabiliser); /* NULL is allowed */

/* Looks at a frame, from its first plane, whose rows are `stride` bytes apart. Sets by what to move
 * it, about its middle. The model of the options is the stabiliser's. The frames come in the order
 * of their times. Takes milliseconds: for a shift about as long as two transforms of 128 x 128 for
 * each of a few steps. */
void stabiliser_observe(struct stabiliser *stabiliser, const struct stabiliser_options *options,
                        const uint8_t *plane, uint32_t stride, int64_t captured_ns,
                        struct similarity *ret);

/* For a stabiliser of a stack (stabiliser_stacks): looks at a frame, and sets by what to move it
 * onto the first frame of its stack. Returns what becomes of it there (motion/motion_aligner.h). */
enum stack_place stabiliser_align(struct stabiliser *stabiliser, const uint8_t *plane,
                                  uint32_t stride, struct similarity *ret);

/* Forgets the frames before. */
void stabiliser_reset(struct stabiliser *stabiliser);

#endif
