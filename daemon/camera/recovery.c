/* Decides which remedy is tried, and when.
 *
 * A source that is open but delivers nothing is restarted first, which costs milliseconds and cures
 * most drivers. Every later remedy closes and opens the device, because a driver that needs more
 * than a restart needs all of it. As the retry delay doubles, a camera that never returns costs
 * next to nothing. The watch on its directory makes the usual case, plugging it in again,
 * immediate. */
#include "camera/recovery.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "capture/device_watch.h"
#include "camera/retry_delay.h"
#include "core/clock.h"
#include "core/secret.h"

/* How long udev may take to give a new device node to its group. */
#define UDEV_DELAY_NS (1 * NS_PER_S)

/* Later than any time of the clock, and small enough to add to one without overflow. */
#define NEVER_NS      (INT64_MAX / 2)

/* A camera whose frame interval is longer than the timeout is not stalled. */
static int64_t stall_ns(const struct recovery *recovery)
{
    const struct fftd_format *format = &recovery->capture->format;
    int64_t three_frames_ns = 0;

    if (recovery->capture->is_patient)
        return NEVER_NS;
    if (format->rate_num > 0)
        three_frames_ns = 3 * NS_PER_S * format->rate_den / format->rate_num;
    return three_frames_ns > recovery->stall_timeout_ns ? three_frames_ns
                                                        : recovery->stall_timeout_ns;
}

void recovery_get_counts(const struct recovery *recovery, struct recovery_counts *ret)
{
    *ret = recovery->past;
    if (recovery->capture != NULL) {
        ret->error += recovery->capture->dropped_error;
        ret->stale += recovery->capture->dropped_stale;
        ret->copied.times += recovery->capture->copied.times;
        ret->copied.bytes += recovery->capture->copied.bytes;
    }
}

static uint64_t skipped_now(const struct recovery *recovery)
{
    struct recovery_counts counts;
    recovery_get_counts(recovery, &counts);
    return counts.error + counts.stale;
}

/* Returns the part of a v4l2: URI that names a file, or NULL. */
static const char *device_path(const struct recovery *recovery)
{
    const char *uri = recovery->request.uri;
    return strncmp(uri, "v4l2:/", 6) == 0 ? uri + 5 : NULL;
}

/* A failure is ignored: without a watch the next attempt finds the camera. */
static void watch(struct recovery *recovery)
{
    const char *path = device_path(recovery);
    if (path != NULL && recovery->watch_fd < 0)
        recovery->watch_fd = device_watch_open(path);
}

static void unwatch(struct recovery *recovery)
{
    if (recovery->watch_fd >= 0)
        close(recovery->watch_fd);
    recovery->watch_fd = -1;
}

static void close_capture(struct recovery *recovery)
{
    if (recovery->capture != NULL) {
        recovery_get_counts(recovery, &recovery->past);
        capture_stop(recovery->capture);
        capture_close(recovery->capture);
        recovery->capture = NULL;
        source_controls_forget(&recovery->controls);
    }
    recovery->phase = SOURCE_CLOSED;
}

/* Closes the device and sets the time of the next attempt. */
static void retry_later(struct recovery *recovery)
{
    close_capture(recovery);
    recovery->remedies++;
    recovery->deadline_ns =
        clock_now_ns() + retry_delay_ns(recovery->remedies, RETRY_DELAY_LONGEST_NS);
    watch(recovery);
}

void recovery_lose(struct recovery *recovery, int err, const struct error *why)
{
    bool is_absent = err == -ENODEV || err == -ENOENT || err == -ENXIO || err == -ENOLINK;
    recovery->state = is_absent ? CAMERA_LOST : err == -EIO ? CAMERA_STALLED : CAMERA_REFUSED;
    recovery->reason = *why;
    retry_later(recovery);
}

static int start_capture(struct recovery *recovery, struct error *why)
{
    recovery->start_count++;
    return source_memory_start(&recovery->memory, recovery->capture, recovery->request.memory, why);
}

static void restart(struct recovery *recovery)
{
    struct error why = {{0}};

    recovery->remedies++;
    recovery->past.restarts++;
    recovery->sequence.discontinuity = true;
    capture_stop(recovery->capture);
    int r = start_capture(recovery, &why);
    if (r < 0)
        recovery_lose(recovery, r, &why);
    else
        recovery->deadline_ns = clock_now_ns() + stall_ns(recovery);
}

/* Tries the next remedy for a source that streams but delivers no frames. */
static void recover(struct recovery *recovery, const struct error *why)
{
    recovery->state = CAMERA_STALLED;
    recovery->reason = *why;
    if (recovery->remedies == 0)
        restart(recovery);
    else
        retry_later(recovery);
}

void recovery_init(struct recovery *ret, const struct config_camera *config)
{
    *ret = (struct recovery){
        .state = CAMERA_STARTING,
        .request = config->source,
        .controls = {.settings = config->controls},
        .stall_timeout_ns = (int64_t)(config->stall_timeout_s * (double)NS_PER_S),
        .watch_fd = -1,
    };
}

void recovery_finish(struct recovery *recovery)
{
    close_capture(recovery);
    unwatch(recovery);
    recovery->deadline_ns = INT64_MAX;
}

static void become_open(struct recovery *recovery)
{
    unwatch(recovery);
    recovery->phase = SOURCE_OPENED;
    recovery->sequence.discontinuity = true;
    recovery->memory.settled = false;
    if (recovery->opening == OPENING_AGAIN)
        recovery->past.reopens++;
    source_controls_apply(&recovery->controls, recovery->capture, &recovery->controls.settings);
}

/* Leaves the source opening or opened, or closed on failure. */
static int open_as(struct recovery *recovery, enum source_opening opening, struct error *why)
{
    recovery->opening = opening;
    int r = capture_open(&recovery->capture, &recovery->request, why);
    if (r < 0)
        return r;
    recovery->deadline_ns = recovery->capture->opening_until_ns;
    if (recovery->deadline_ns == 0)
        become_open(recovery);
    else
        recovery->phase = SOURCE_OPENING;
    return 0;
}

/* Sets the state of a source that has not delivered a frame yet. */
static void become_starting(struct recovery *recovery)
{
    recovery->state = CAMERA_STARTING;
    recovery->reason.text[0] = '\0';
    if (recovery->phase == SOURCE_OPENING) {
        char shown[CAPTURE_URI_BYTES];
        secret_hide(shown, sizeof shown, recovery->request.uri);
        error_set(&recovery->reason, 0, "%s is being opened", shown);
    }
}

int recovery_open(struct recovery *recovery, bool wait, struct error *why)
{
    int r = open_as(recovery, wait ? OPENING_FIRST : OPENING_ONCE, why);
    if (r == 0)
        become_starting(recovery);
    return r;
}

void recovery_reject(struct recovery *recovery, int err, const struct error *why)
{
    if (recovery->opening != OPENING_ONCE) {
        recovery_lose(recovery, err, why);
        return;
    }
    recovery_finish(recovery);
    recovery->state = CAMERA_FAILED;
    recovery->reason = *why;
    recovery->error = err;
}

/* ---- another source ---- */

void recovery_try(struct recovery *recovery, const struct capture_request *request,
                  const struct settings *controls, struct previous_source *ret_previous)
{
    struct error why;
    *ret_previous = (struct previous_source){
        .request = recovery->request,
        .controls = recovery->controls.settings,
        .state = recovery->state,
        .reason = recovery->reason,
        .error = recovery->error,
        .was_closed = recovery->phase == SOURCE_CLOSED,
        .opening = recovery->phase == SOURCE_OPENING ? recovery->opening : OPENING_AGAIN,
    };
    close_capture(recovery);
    recovery->request = *request;
    recovery->controls.settings = *controls;
    int r = recovery_open(recovery, false, &why);
    if (r < 0)
        recovery_reject(recovery, r, &why);
    /* The state is reported as starting while the source opens, so the previous source has to start
     * again. */
    if (recovery->phase == SOURCE_OPENING && camera_may_deliver(ret_previous->state))
        ret_previous->state = CAMERA_STARTING;
}

int recovery_result(const struct recovery *recovery, struct error *why)
{
    if (recovery_is_open(recovery))
        return 0;
    if (recovery->state != CAMERA_FAILED)
        return -EAGAIN;
    *why = recovery->reason;
    return recovery->error;
}

void recovery_take(struct recovery *recovery)
{
    recovery->opening = OPENING_AGAIN;
    recovery->remedies = 0;
}

void recovery_go_back(struct recovery *recovery, const struct previous_source *previous)
{
    struct error why;
    close_capture(recovery);
    recovery->request = previous->request;
    recovery->controls.settings = previous->controls;
    recovery->state = previous->state;
    recovery->reason = previous->reason;
    recovery->error = previous->error;
    if (previous->was_closed) {
        recovery->deadline_ns = previous->state == CAMERA_FINISHED ? INT64_MAX : clock_now_ns();
        return;
    }
    int r = open_as(recovery, previous->opening, &why);
    if (r < 0)
        recovery_reject(recovery, r, &why);
    else if (recovery->state == CAMERA_STARTING ||
             (camera_may_deliver(recovery->state) && recovery->phase == SOURCE_OPENING))
        become_starting(recovery);
}

/* ---- streaming ---- */

void recovery_start(struct recovery *recovery)
{
    struct error why = {{0}};
    int r = start_capture(recovery, &why);
    if (r < 0) {
        recovery_lose(recovery, r, &why);
        return;
    }
    recovery_resume(recovery);
    recovery->phase = SOURCE_STREAMING;
    recovery->opening = OPENING_AGAIN; /* from now on */
    recovery->deadline_ns = clock_now_ns() + stall_ns(recovery);
}

void recovery_stop(struct recovery *recovery)
{
    if (recovery->phase != SOURCE_STREAMING)
        return;
    capture_stop(recovery->capture);
    recovery->phase = SOURCE_OPENED;
    recovery->sequence.discontinuity = true;
}

void recovery_pause(struct recovery *recovery)
{
    if (!recovery_is_open(recovery))
        return;
    recovery_stop(recovery);
    recovery->state = CAMERA_PAUSED;
    error_set(&recovery->reason, 0, "there are no readers; the next one starts the camera");
}

void recovery_resume(struct recovery *recovery)
{
    if (recovery->state == CAMERA_PAUSED)
        become_starting(recovery);
}

int recovery_fd(const struct recovery *recovery)
{
    if (recovery->phase == SOURCE_CLOSED)
        return recovery->watch_fd;
    return recovery->phase == SOURCE_OPENED ? -1 : recovery->capture->fd;
}

int64_t recovery_deadline_ns(const struct recovery *recovery)
{
    return recovery->phase == SOURCE_OPENED ? INT64_MAX : recovery->deadline_ns;
}

static void reopen(struct recovery *recovery)
{
    struct error why = {{0}};
    int r = open_as(recovery, OPENING_AGAIN, &why);
    if (r == -EACCES && recovery->state == CAMERA_LOST && clock_now_ns() < recovery->udev_until_ns)
        retry_later(recovery);
    else if (r < 0)
        recovery_lose(recovery, r, &why);
}

static void go_on_opening(struct recovery *recovery)
{
    struct error why;
    int r = capture_open_more(recovery->capture, &why);
    if (r == -EAGAIN) {
        recovery->deadline_ns = recovery->capture->opening_until_ns;
    } else if (r < 0) {
        recovery_reject(recovery, r, &why);
    } else {
        become_open(recovery);
        if (recovery->state == CAMERA_STARTING)
            recovery->reason.text[0] = '\0';
    }
}

void recovery_step(struct recovery *recovery, bool readable)
{
    bool due = clock_now_ns() >= recovery->deadline_ns;
    if (recovery->phase == SOURCE_CLOSED) {
        /* The readable descriptor may have belonged to a capture that was closed in the meantime.
         */
        const bool appeared = readable && recovery->watch_fd >= 0 &&
                              device_watch_fired(recovery->watch_fd, device_path(recovery));
        if (appeared)
            recovery->udev_until_ns = clock_now_ns() + UDEV_DELAY_NS;
        if (due || appeared)
            reopen(recovery);
    } else if (recovery->phase == SOURCE_OPENING && (due || readable)) {
        go_on_opening(recovery);
    } else if (recovery->phase == SOURCE_STREAMING && due) {
        struct error why;
        const char *cause = recovery->capture->stall_reason.text;
        error_set(&why, EIO, "no frame for %.1f s%s%s",
                  (double)stall_ns(recovery) / (double)NS_PER_S, cause[0] != '\0' ? ": " : "",
                  cause);
        recovery->past.stalls++;
        recover(recovery, &why);
    }
}

/* Counts the frames missing between the last one and this one, and replaces the frame's sequence by
 * one that never goes back. */
static void account(struct recovery *recovery, struct capture_frame *frame, bool *ret_discontinuity)
{
    struct recovery_sequence *count = &recovery->sequence;
    const uint64_t skipped = skipped_now(recovery) - count->skipped;
    uint64_t sequence = count->base + frame->sequence;
    /* After a source was away, or counts from 0 again, only the skipped frames are known. */
    if (count->discontinuity || sequence < count->next) {
        sequence = count->next + skipped;
        count->base = sequence - frame->sequence;
    }
    const uint64_t missing = sequence - count->next;
    if (missing > skipped)
        recovery->past.lost += missing - skipped;
    *ret_discontinuity = count->discontinuity || missing > 0;
    count->discontinuity = false;
    count->skipped += skipped;
    count->next = sequence + 1;
    frame->sequence = sequence;
}

int recovery_dequeue(struct recovery *recovery, struct capture_frame *ret, bool *ret_discontinuity)
{
    struct error why = {{0}};
    int r = capture_dequeue(recovery->capture, ret, &why);
    switch (r) {
    case 0:
        ret->start = recovery->start_count;
        recovery->state = CAMERA_ONLINE;
        recovery->reason.text[0] = '\0';
        recovery->remedies = 0;
        recovery->deadline_ns = ret->dequeued_ns + stall_ns(recovery);
        account(recovery, ret, ret_discontinuity);
        return 0;
    case -EAGAIN:
        break;
    case -ENODATA:
        recovery_finish(recovery);
        recovery->state = CAMERA_FINISHED;
        recovery->reason = why;
        break;
    case -EIO:
        recover(recovery, &why);
        break;
    case -ESTALE:
        retry_later(recovery);
        recovery->state = CAMERA_STARTING;
        recovery->reason = why;
        if (recovery->remedies == 1) /* else the signal changes faster than frames come */
            recovery->deadline_ns = clock_now_ns();
        break;
    default:
        recovery_lose(recovery, r, &why);
        break;
    }
    return -EAGAIN;
}

void recovery_release(struct recovery *recovery, const struct capture_frame *frame)
{
    if (recovery->phase == SOURCE_STREAMING && frame->start == recovery->start_count)
        capture_release(recovery->capture, frame);
}

static int fail_not_open(const struct recovery *recovery, struct error *why)
{
    return error_set(why, ENODEV, "the camera is %s: %s", camera_state_names[recovery->state],
                     recovery->reason.text);
}

int recovery_list_controls(struct recovery *recovery, struct capture_controls **ret,
                           struct error *why)
{
    if (!recovery_is_open(recovery))
        return fail_not_open(recovery, why);
    return source_controls_list(&recovery->controls, recovery->capture, ret, why);
}

int recovery_set_controls(struct recovery *recovery, const struct settings *settings,
                          struct error *why)
{
    if (!recovery_is_open(recovery))
        return fail_not_open(recovery, why);
    return source_controls_set(&recovery->controls, recovery->capture, settings, why);
}
