/* The thread that looks at captured frames beside their path: it measures pictures, and finds what
 * filters that adapt are to correct (estimators.h).
 *
 * The camera's thread offers each frame before it submits it. The offer copies the luma of some
 * frames and never waits; the thread observes the copies, and publishes what it has found: measures
 * and small models. From the models the camera's thread computes the correction of each frame for
 * the time of its capture.
 *
 * Copies and observations together take at most a third of a processor, whatever the number of
 * estimators: each is followed by a pause of twice the time that it took. The thread is started for
 * the first frame if measures are taken, else when the first chain adapts, and idle while there is
 * nothing to look for.
 *
 * A frame that is published carries the newest measures that are there. They are of the same frame
 * or of an earlier one, never of a later one, and of the same start of the source.
 *
 * What was found is kept while stages of the chain come and go, or fade, and while a camera pauses
 * or is restarted. Another source, size or pixel format makes it forget, and so does another value
 * of a parameter that says what to look for.
 *
 * Threads: the camera's thread, but for what says otherwise. */
#ifndef FFTD_CAMERA_OBSERVER_H
#define FFTD_CAMERA_OBSERVER_H

#include <stdbool.h>
#include <stdint.h>

#include "camera/estimators.h"
#include "capture/capture.h"
#include "filters/correction.h"
#include "core/error.h"
#include "filters/filter_adapt.h"
#include "estimators/periodic_notches.h"
#include "fftd/ring.h"
#include "ring/ring.h"

struct observer;

/* What was found. */
struct observer_status {
    struct filter_adaptation wanted; /* by the applied chain; its image must not be used */
    uint64_t observed;               /* frames for a chain that adapts, since it last forgot */
    struct findings found;
    struct notches notches; /* in use besides the applied chain */
    struct error problem;   /* why an estimator is missing; empty: none is */
};

/* Whether a chain that asks for this adapts. */
bool observer_is_wanted(const struct filter_adaptation *wanted);

/* Does not start the thread. takes_measures: of all frames for which there is time. -ENOMEM. */
int observer_create(struct observer **ret, bool takes_measures, struct error *why);

/* Main thread, after the camera's thread has ended: ends the thread. -EBUSY: it was observing a
 * frame until deadline_ns; call it again, or end the process by _exit. NULL is allowed. */
int observer_destroy(struct observer *observer, int64_t deadline_ns);

/* Says what the applied chain, which holds its images, asks for. -EAGAIN: the thread could not be
 * started. */
int observer_configure(struct observer *observer, const struct filter_adaptation *wanted,
                       struct error *why);

/* Says which notches the response in use has for what was found; only to report it. */
void observer_set_notches(struct observer *observer, const struct notches *notches);

/* Says which source the next frames come from, their pixel format (a fourcc), and the format in
 * which they are published. */
void observer_set_source(struct observer *observer, uint64_t source_number, uint32_t captured,
                         const struct fftd_format *published);

/* Offers a frame, which is read only during this call. Returns its number. */
uint64_t observer_offer(struct observer *observer, const struct capture_frame *frame);

/* The correction of a frame captured at that time, or NULL. It is valid until the next call. */
const struct correction *observer_correct(struct observer *observer, int64_t captured_ns);

/* Gives the frame with this number the newest measures; leaves *meta alone if there are none that
 * belong to it. */
void observer_label(struct observer *observer, uint64_t number, struct ring_meta *meta);

/* Any thread: what observer_offer has copied. */
void observer_get_copied(struct observer *observer, struct copy_count *ret);

/* Any thread. */
void observer_get_status(struct observer *observer, struct observer_status *ret);

#endif
