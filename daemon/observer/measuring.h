/* Measures the pictures of one source (estimators/measures.h), and how far each has moved since the
 * one before (estimators/motion/motion.h). One of the estimators of estimators.h.
 *
 * Threads: one at a time. */
#ifndef FFTD_OBSERVER_MEASURING_H
#define FFTD_OBSERVER_MEASURING_H

#include <math.h>
#include <stdint.h>

#include "observer/observed.h"
#include "core/error.h"
#include "fftd/ring.h"

/* The measures of a picture that was not measured. */
#define MEASURING_NOTHING                                                                          \
    ((struct fftd_measures){.sharpness = NAN,                                                      \
                            .noise = NAN,                                                          \
                            .mean = NAN,                                                           \
                            .clipped = NAN,                                                        \
                            .shift_x = NAN,                                                        \
                            .shift_y = NAN,                                                        \
                            .shift_confidence = NAN,                                               \
                            .flicker_hz = NAN,                                                     \
                            .flicker_depth = NAN,                                                  \
                            .peak_strength = NAN})

struct measuring;

/* For pictures of this size in pixels. -EINVAL, -ENOMEM. */
int measuring_create(struct measuring **ret, uint32_t width, uint32_t height, struct error *why);
void measuring_destroy(struct measuring *measuring); /* NULL is allowed */

/* Sets the measures of a frame except flicker and periodic noise, and returns what the picture is
 * good for. luma: the frame's, as luma_read makes it. */
enum fftd_picture_state measuring_observe(struct measuring *measuring,
                                          const struct observed_frame *frame, const float *luma,
                                          struct fftd_measures *ret);

#endif
