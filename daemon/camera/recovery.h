/* Keeps one camera delivering frames: the recovery policies for everything in front of the engine.
 *
 *     closed --open--> opening --> opened --recovery_start--> streaming --recovery_pause--> opened
 *
 * - No frame for stall_timeout: streaming is restarted, then the device is reopened.
 * - The device is absent or rejects its settings: it is opened again after a retry delay
 *   (retry_delay.h), and at once when something changes in its directory.
 * - The source opens slowly, as a pipeline of GStreamer does: nobody waits for it. It is opening,
 *   and can be closed, until recovery_step finds it open or failed.
 * - The signal at its input changes: it is opened again at once, but only once before a frame
 *   comes.
 *
 * A received frame resets the recovery state. The owner reads `state` and `reason`; nothing here
 * logs. Between opened and streaming the owner looks at capture->format, which may have changed.
 *
 * Threads: one. The owner polls recovery_fd, waits no longer than recovery_deadline_ns, and then
 * calls recovery_dequeue or recovery_step. */
#ifndef FFTD_CAMERA_RECOVERY_H
#define FFTD_CAMERA_RECOVERY_H

#include <stdbool.h>
#include <stdint.h>

#include "camera/source_controls.h"
#include "camera/source_memory.h"
#include "camera/status.h"
#include "capture/capture.h"
#include "config/config.h"
#include "core/error.h"
#include "core/frame_memory.h"

enum source_phase { SOURCE_CLOSED, SOURCE_OPENING, SOURCE_OPENED, SOURCE_STREAMING };

/* How an opening is to be dealt with if it fails. */
enum source_opening {
    OPENING_ONCE,  /* the state is FAILED, and the owner decides what follows */
    OPENING_FIRST, /* it is opened again after the retry delay */
    OPENING_AGAIN, /* as OPENING_FIRST, for a source that was open before; success counts as a
                      reopening */
};

/* Turns the source's sequence, which may restart, into one that never goes back. */
struct recovery_sequence {
    uint64_t base;      /* added to the source's own number */
    uint64_t next;      /* expected number of the next frame */
    uint64_t skipped;   /* error + stale at the last frame, of all captures */
    bool discontinuity; /* the next frame does not follow the last one */
};

struct recovery {
    enum source_phase phase;
    enum camera_state state;
    struct error reason;            /* why it is not online; empty if it is */
    int error;                      /* if FAILED, the negative errno of the opening; otherwise 0 */
    struct capture *capture;        /* NULL while closed */
    struct capture_request request; /* the requested source, size, rate and format */
    struct source_controls controls;
    struct source_memory memory;
    unsigned start_count; /* times it was started; marks the frames of one start */

    /* Private. */
    int64_t stall_timeout_ns;
    int64_t deadline_ns; /* closed: of the next attempt; opening: of its next step; streaming: of
                            the next frame */
    enum source_opening opening; /* the newest */
    unsigned remedies;           /* tried since the last frame: restarts and openings */
    int watch_fd;                /* inotify, while closed; or -1 */
    int64_t udev_until_ns; /* until then udev may not have given a new node to its group yet */
    struct recovery_sequence sequence;
    struct recovery_counts past; /* counts of captures that are closed, and lost, stalls ... */
};

void recovery_init(struct recovery *ret, const struct config_camera *config);
void recovery_finish(struct recovery *recovery);

/* The first opening; leaves the source closed on failure, and opening or opened otherwise. Errors
 * as capture_open. wait: an opening that fails later is tried again; otherwise the state is then
 * FAILED. */
int recovery_open(struct recovery *recovery, bool wait, struct error *why);

/* A source as it was in use, to go back to. */
struct previous_source {
    struct capture_request request;
    struct settings controls;
    enum camera_state state;
    struct error reason;
    int error;
    bool was_closed;             /* it was being waited for, or has ended */
    enum source_opening opening; /* how it is opened next */
};

/* Closes the source, saves it in *ret_previous, and opens another one, or the same one with another
 * size, rate or format, once. These controls are set whenever it is opened. recovery_result has the
 * result; after that the owner calls recovery_take or recovery_go_back. */
void recovery_try(struct recovery *recovery, const struct capture_request *request,
                  const struct settings *controls, struct previous_source *ret_previous);

/* The result of recovery_try. 0: it is open. -EAGAIN: it is still opening. Otherwise it is closed;
 * errors as capture_open. */
int recovery_result(const struct recovery *recovery, struct error *why);

/* Keeps the source that was tried, and recovers it from now on. */
void recovery_take(struct recovery *recovery);

/* Closes the source that was tried, and opens the previous one again, or waits for it again. One
 * that has ended stays closed. */
void recovery_go_back(struct recovery *recovery, const struct previous_source *previous);

/* Reports that an opening has failed, or that the opened source cannot be used. The kind of opening
 * decides what follows. */
void recovery_reject(struct recovery *recovery, int err, const struct error *why);

/* Treats a failure to open as the loss of the source, and keeps trying. */
void recovery_lose(struct recovery *recovery, int err, const struct error *why);

/* Lends memory for frames from the next start on; NULL: none. The modes that the configuration
 * allows are tried, the best one first. The memory stays the caller's, who takes it back by lending
 * another. While the source streams, this is allowed only if its frames are copied. */
static inline void recovery_lend(struct recovery *recovery, struct frame_memory *memory)
{
    if (recovery->phase != SOURCE_STREAMING)
        recovery->memory.settled = false;
    recovery->memory.lent = memory;
}

/* Starts streaming once opened. A failure is recovered from as a later one is. */
void recovery_start(struct recovery *recovery);

/* Stops streaming, so that recovery_start can begin again. Frames that are still out become void.
 */
void recovery_stop(struct recovery *recovery);

/* Stops streaming because there are no readers; the state is PAUSED. A source that is closed or
 * opening is still being opened. */
void recovery_pause(struct recovery *recovery);

/* Ends a pause: frames are wanted, but recovery_start may have to wait for an engine. */
void recovery_resume(struct recovery *recovery);

/* Returns true once the format is known and the controls can be used. */
static inline bool recovery_is_open(const struct recovery *recovery)
{
    return recovery->phase >= SOURCE_OPENED;
}

/* Returns whether its frames come as fast as they are taken. */
static inline bool recovery_is_unpaced(const struct recovery *recovery)
{
    return recovery->capture != NULL && recovery->capture->unpaced;
}

/* A descriptor to poll for POLLIN and POLLPRI, or -1. */
int recovery_fd(const struct recovery *recovery);

/* CLOCK_MONOTONIC ns at which recovery_step must be called; INT64_MAX: never. */
int64_t recovery_deadline_ns(const struct recovery *recovery);

/* Takes the next step. Call it when the deadline has passed, or when the descriptor of a source
 * that is closed or opening is readable. */
void recovery_step(struct recovery *recovery, bool readable);

/* Takes the newest frame. -EAGAIN: there is none, for whatever reason. discontinuity: frames are
 * missing before it. */
int recovery_dequeue(struct recovery *recovery, struct capture_frame *ret, bool *ret_discontinuity);

/* Gives a frame back. Does nothing for a frame that has become void. */
void recovery_release(struct recovery *recovery, const struct capture_frame *frame);

/* Returns the controls and their values, as read last (source_controls.h). The caller frees the
 * list. Errors as capture_list_controls; -ENODEV: the source is not open. */
int recovery_list_controls(struct recovery *recovery, struct capture_controls **ret,
                           struct error *why);

/* Sets controls now, all or none, and whenever the camera is opened again. Errors as
 * capture_set_controls; -ENODEV: the source is not open. */
int recovery_set_controls(struct recovery *recovery, const struct settings *settings,
                          struct error *why);

/* Adds controls to those that are set whenever the camera is opened. Those that differ are set now,
 * if the source is open. */
static inline void recovery_add_controls(struct recovery *recovery, const struct settings *settings)
{
    source_controls_add(&recovery->controls,
                        recovery->phase >= SOURCE_OPENED ? recovery->capture : NULL, settings);
}

void recovery_get_counts(const struct recovery *recovery, struct recovery_counts *ret);

#endif
