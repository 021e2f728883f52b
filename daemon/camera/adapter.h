/* The thread that looks at captured frames and finds what is to be corrected in them: periodic
 * noise (core/periodic.h) and flickering light (core/flicker.h).
 *
 * The camera's thread offers each frame before it submits it. The offer copies the luma of some
 * frames and never waits; the thread observes the copies, and publishes a small model. From the
 * model the camera's thread computes the correction of each frame for the time of its capture.
 *
 * The thread takes at most a third of a processor: after each observation it waits for twice the
 * time that it took. It is started when the first chain adapts, and idle while the applied one does
 * not.
 *
 * What was found is kept while stages of the chain come and go, or fade, and while a camera pauses
 * or is restarted. Another source, size or pixel format makes it forget, and so does another value
 * of a parameter that says what to look for.
 *
 * Threads: the camera's thread, but for what says otherwise. */
#ifndef FFTD_CAMERA_ADAPTER_H
#define FFTD_CAMERA_ADAPTER_H

#include <stdbool.h>
#include <stdint.h>

#include "capture/capture.h"
#include "core/correction.h"
#include "core/error.h"
#include "core/filter_adapt.h"
#include "core/flicker.h"
#include "core/periodic.h"

struct adapter;

/* What was found. */
struct adapter_status {
    struct filter_adaptation wanted; /* by the applied chain */
    uint64_t observed;               /* frames since it was last made to forget */
    struct periodic_report wave[PERIODIC_MAX_REPORTS];
    unsigned wave_count;
    bool has_flicker;
    struct flicker_report flicker;
    struct error problem; /* why frames are not observed; empty: they are */
};

/* Whether an estimator is asked for. */
bool adapter_is_on(const struct filter_adaptation *wanted);

/* Does not start the thread. -ENOMEM. */
int adapter_create(struct adapter **ret, struct error *why);

/* Main thread, after the camera's thread has ended: ends the thread. -EBUSY: it was observing a
 * frame until deadline_ns; call it again, or end the process by _exit. NULL is allowed. */
int adapter_destroy(struct adapter *adapter, int64_t deadline_ns);

/* Says what the applied chain asks for. -EAGAIN: the thread could not be started. */
int adapter_configure(struct adapter *adapter, const struct filter_adaptation *wanted,
                      struct error *why);

/* Says which source the next frames come from, and their pixel format and size. */
void adapter_set_source(struct adapter *adapter, uint64_t source_version, uint32_t fourcc,
                        uint32_t width, uint32_t height);

/* Offers a frame, which is read only during this call. */
void adapter_offer(struct adapter *adapter, const struct capture_frame *frame);

/* The correction of a frame captured at that time, or NULL. It is valid until the next call. */
const struct correction *adapter_correct(struct adapter *adapter, int64_t captured_ns);

/* Any thread. */
void adapter_get_status(struct adapter *adapter, struct adapter_status *ret);

#endif
