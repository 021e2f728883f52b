/* Flicker of a known row period, measured in the frame from which it is removed. Pure.
 *
 * The estimator of flicker.h finds the row period, and may be some frames late. The phase of the
 * light is fitted here in each frame against what the frames before it show of the scene
 * (flicker_fit.c), so it may change from frame to frame as it likes, and light that has become
 * steady is left alone. The first fit begins with the phase that the observer found in one of the
 * remembered frames. The phase is predicted only after a cut, because the frames before it show
 * another scene.
 *
 * Threads: one at a time. */
#ifndef FFTD_ESTIMATORS_FLICKER_FLICKER_FRAME_H
#define FFTD_ESTIMATORS_FLICKER_FLICKER_FRAME_H

#include "core/error.h"
#include "estimators/flicker/flicker_model.h"

struct flicker_frame;

/* For frames of at least MOTION_MIN_SIZE (motion.h) in both directions. -EINVAL, -ENOMEM. */
int flicker_frame_create(struct flicker_frame **ret, unsigned width, unsigned height,
                         struct error *why);
void flicker_frame_destroy(struct flicker_frame *f); /* NULL is allowed */

/* Takes in the next frame, as flicker_observe() does, and fills ret_gain with the factors of its
 * rows. Returns false and leaves ret_gain alone if there is nothing to correct. While flicker is
 * only suspected, the frame is remembered for the first fit. captured_ns: the time that
 * flicker_observe() gets; 0: unknown. */
bool flicker_frame_fit(struct flicker_frame *f, const struct flicker_model *model,
                       const float *luma, int64_t captured_ns, float *ret_gain);

/* Like flicker_cut(): the next frame is treated as another scene under the same light. */
void flicker_frame_cut(struct flicker_frame *f);

#endif
