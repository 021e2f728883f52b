/* Finds the flicker of mains and dimmed light that a rolling shutter shows as bands. Pure.
 *
 * The means of rows are followed over the last frames along the motion of the scene, so that what
 * belongs to the scene is constant (flicker_rows.h). Row periods are tried (flicker_fit.c), and one
 * light of a constant depth is fitted to all frames (flicker_light.h). Phases are free, so time
 * stamps are needed only to begin a fit with a constant speed of the phase, to report the
 * frequency, or to compare it with the one that is wanted.
 *
 * From the model, flicker_frame.h fits the phase in the very frame that is corrected.
 *
 * Bands that stand still (100 Hz at exactly 25 or 50 frames/s) before a scene that stands still
 * cannot be told from the scene, and are left as they are.
 *
 * Source of the maths: Golub and Pereyra, SIAM J. Numerical Analysis 10 (1973), for fits whose
 * amplitudes are linear; Poplin, IEEE Trans. Consumer Electronics 52 (2006), for the model.
 *
 * Threads: one thread at a time. flicker_model_get copies what another thread can use. */
#ifndef FFTD_ESTIMATORS_FLICKER_FLICKER_H
#define FFTD_ESTIMATORS_FLICKER_FLICKER_H

#include <stdbool.h>
#include <stdint.h>

#include "filters/filter_adapt.h"
#include "core/error.h"
#include "estimators/flicker/flicker_model.h"

struct flicker;

struct flicker_report {
    double frequency_hz; /* by the frames' times; the lowest but mains that they allow */
    double repeats_hz;   /* that, and multiples of this away, are others; 0: there are none */
    double depth;        /* (brightest - darkest) / (brightest + darkest), of samples */
    double line_time_ns;
};

/* For frames of at least MOTION_MIN_SIZE (motion.h) in both directions. options: NULL for zeros.
 * line_time_us must be 0 or 1 .. 1000, and frequency_hz 0 or 20 .. 1000. -EINVAL: the frames are
 * too small; -ENOMEM. */
int flicker_create(struct flicker **ret, unsigned width, unsigned height,
                   const struct flicker_options *options, struct error *why);
void flicker_destroy(struct flicker *f); /* NULL is allowed */

/* Takes in a captured frame in which nothing is corrected except known waves (wave_fit_subtract):
 * width x height numbers, 0 .. 255, row by row. Frames may be skipped. A frame with a repeated time
 * stamp is ignored; one whose time stamp jumps back starts from nothing. */
void flicker_observe(struct flicker *f, const float *luma, int64_t captured_ns);

/* Announces that the next frame cannot be compared with those before, because other waves are
 * subtracted from it. It is treated as another scene under the same light. */
void flicker_cut(struct flicker *f);

/* The model for flicker_frame_fit; false, and a model that is not valid, if there is none. */
bool flicker_model_get(const struct flicker *f, struct flicker_model *ret);

/* False, and nothing in ret, while nothing is corrected. */
bool flicker_report(const struct flicker *f, struct flicker_report *ret);

#endif
