/* Flicker of a known row period, measured in the frame from which it is removed. Pure.
 *
 * The estimator of flicker.h finds the row period, and may be some frames late. The phase of the
 * light is fitted here in each frame against what the frames before it show of the scene
 * (flicker_fit.h), so it may change from frame to frame as it likes, and light that has become
 * steady is left alone. The first fit begins with the phase that the observer has found in one of
 * the frames that are remembered. Only after a cut is the phase predicted, from a scene that is
 * gone.
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

/* Takes in the next frame, as flicker_observe() does, and fills the factors of its rows. False, and
 * nothing in ret_gain, if there is nothing to correct. captured_ns: as flicker_observe() has it; 0:
 * unknown. While flicker is only suspected, the frame is remembered for the first fit. */
bool flicker_frame_fit(struct flicker_frame *f, const struct flicker_model *model,
                       const float *luma, int64_t captured_ns, float *ret_gain);

#endif
