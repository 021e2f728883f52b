/* The thread that observes captured frames beside their path: it measures pictures, and finds what
 * filters that adapt should correct (estimators.h).
 *
 * The camera's thread offers each frame before it submits it. The offer copies the luma of some
 * frames and never waits; the thread observes the copies, and publishes measures and small models.
 * From the models the camera's thread computes the correction of each frame for the time of its
 * capture.
 *
 * Copies and observations together take at most a third of a processor, whatever the number of
 * estimators: after each the thread is idle for twice the time that it took. The thread is started
 * for the first frame if measures are taken, otherwise when the first chain adapts, and is idle
 * while there is nothing to look for.
 *
 * A published frame carries the newest measures. They are of the same frame or of an earlier one,
 * never of a later one, and of the same start of the source. So is its field of motion, unless an
 * engine finds fields (observer_take_field): then it is that of the frame, or, for outputs that are
 * ahead of the first one, of a frame shortly before.
 *
 * Findings are kept while stages of the chain come and go, or fade, and while a camera pauses or is
 * restarted. They are forgotten when the source, the size, the pixel format or a parameter of the
 * search changes.
 *
 * Threads: the camera's thread, unless a function says otherwise. */
#ifndef FFTD_OBSERVER_OBSERVER_H
#define FFTD_OBSERVER_OBSERVER_H

#include <stdbool.h>
#include <stdint.h>

#include "observer/estimators.h"
#include "observer/moving.h"
#include "capture/capture.h"
#include "filters/correction.h"
#include "core/error.h"
#include "fftd/ring.h"
#include "ring/ring.h"

struct observer;

/* Reports what the observer is asked to find, and what it has found. */
struct observer_status {
    struct filter_adaptation
        wanted; /* what the applied chain asks for; its images must not be used */
    uint64_t
        observed; /* frames observed for a chain that adapts, since the last change of the job */
    struct findings found;
    struct error problem; /* why an estimator is missing; empty: none is */
};

/* Returns whether captured frames are observed for a chain that asks for this. */
bool observer_is_wanted(const struct filter_adaptation *wanted);

/* Does not start the thread. takes_measures: pictures are measured as often as time permits.
 * -ENOMEM. */
int observer_create(struct observer **ret, bool takes_measures, struct error *why);

/* Before the first frame: with measures, fields of motion are taken in blocks of that many pixels.
 */
void observer_take_motion(struct observer *observer, unsigned block);

/* Main thread, after the camera's thread has ended: ends the thread. -EBUSY: it was observing a
 * frame until deadline_ns; call it again, or end the process by _exit. NULL is allowed. */
int observer_destroy(struct observer *observer, int64_t deadline_ns);

/* Sets what the applied chain asks for; the chain holds its images. -EAGAIN: the thread could not
 * be started. */
int observer_configure(struct observer *observer, const struct filter_adaptation *wanted,
                       struct error *why);

/* Sets the source of the next frames, their format, and how the engine demosaics them if they are
 * mosaics. */
void observer_set_source(struct observer *observer, uint64_t source_number,
                         const struct fftd_format *captured, enum demosaic demosaic);

/* Offers a frame, which is read only during this call. Returns its number. If the source is
 * unpaced and the chain corrects samples, every frame is observed: the call waits for this one. */
uint64_t observer_offer(struct observer *observer, const struct capture_frame *frame,
                        bool is_unpaced);

/* Returns the correction of a frame, which is read only during this call, or NULL. It is valid
 * until the next call. */
const struct correction *observer_correct(struct observer *observer,
                                          const struct capture_frame *frame);

/* Takes a field of motion that an engine has found of a frame, so that the observer has less to do,
 * and frames carry the field of their own picture. Copied. Nothing happens unless
 * observer_take_motion() was called. */
void observer_take_field(struct observer *observer, const struct observed_field *field);

/* Gives the frame with this number the newest measures, and the matches of the templates in
 * `wanted`, what its output's chain asks for. If no measures belong to it, only meta->motion
 * changes, to NULL.
 * What meta->motion points to is valid until the next call. */
void observer_label(struct observer *observer, uint64_t number,
                    const struct filter_adaptation *wanted, struct ring_meta *meta);

/* Any thread: counts the copies that observer_offer has made. */
void observer_get_copied(struct observer *observer, struct copy_count *ret);

/* Returns the noise that was estimated for the applied chain (estimators.h), or 0. */
double observer_noise(struct observer *observer);

/* Any thread. */
void observer_get_status(struct observer *observer, struct observer_status *ret);

#endif
