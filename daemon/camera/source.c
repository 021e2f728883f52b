/* Which remedy is tried, and when.
 *
 * A source that is open but delivers nothing is restarted first: that costs milliseconds and cures
 * most drivers. Every later remedy closes and opens the device, since a driver that needs more than
 * a restart needs all of it. Doubling pauses make a camera that never returns cost nothing. The
 * watch on its directory makes the usual case, plugging it in again, immediate. */
#include "camera/source.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "camera/device_watch.h"
#include "filters/calibration.h"
#include "core/clock.h"
#include "core/text.h"

/* A driver that has recovered, or a camera that another program has released, sends no event. It is
 * noticed within this time. A failed attempt costs well under a millisecond. */
#define LONGEST_PAUSE_NS (1 * NS_PER_S)

/* How long udev may take to give a new device node to its group. */
#define HANDOVER_NS      (1 * NS_PER_S)

/* A camera whose frame interval is longer than the timeout is not stalled. */
static int64_t stall_ns(const struct source *source)
{
    const struct fftd_format *format = &source->capture->format;
    int64_t three_frames_ns = 0;

    if (format->rate_num > 0)
        three_frames_ns = 3 * NS_PER_S * format->rate_den / format->rate_num;
    return three_frames_ns > source->stall_timeout_ns ? three_frames_ns : source->stall_timeout_ns;
}

void source_get_counts(const struct source *source, struct source_counts *ret)
{
    *ret = source->past;
    if (source->capture != NULL) {
        ret->error += source->capture->dropped_error;
        ret->stale += source->capture->dropped_stale;
        ret->copied.times += source->capture->copied.times;
        ret->copied.bytes += source->capture->copied.bytes;
    }
}

static uint64_t skipped_now(const struct source *source)
{
    struct source_counts counts;
    source_get_counts(source, &counts);
    return counts.error + counts.stale;
}

/* The part of a v4l2: URI that names a file, or NULL. */
static const char *device_path(const struct source *source)
{
    const char *uri = source->request.uri;
    return strncmp(uri, "v4l2:/", 6) == 0 ? uri + 5 : NULL;
}

/* A failure is ignored: without a watch the pauses alone bring the camera back. */
static void watch(struct source *source)
{
    const char *path = device_path(source);
    if (path != NULL && source->watch_fd < 0)
        source->watch_fd = device_watch_open(path);
}

static void unwatch(struct source *source)
{
    if (source->watch_fd >= 0)
        close(source->watch_fd);
    source->watch_fd = -1;
}

static void close_capture(struct source *source)
{
    if (source->capture != NULL) {
        source_get_counts(source, &source->past);
        capture_stop(source->capture);
        capture_close(source->capture);
        source->capture = NULL;
        control_list_forget(&source->control_list);
    }
    source->phase = SOURCE_CLOSED;
}

/* Closes the device and sets the time of the next attempt. */
static void retry_later(struct source *source)
{
    close_capture(source);
    source->attempts++;
    int64_t pause_ns = clock_backoff_ns(source->attempts);
    if (pause_ns > LONGEST_PAUSE_NS)
        pause_ns = LONGEST_PAUSE_NS;
    source->deadline_ns = clock_now_ns() + pause_ns;
    watch(source);
}

void source_lose(struct source *source, int err, const struct error *why)
{
    bool is_absent = err == -ENODEV || err == -ENOENT || err == -ENXIO || err == -ENOLINK;
    source->state = is_absent ? CAMERA_LOST : err == -EIO ? CAMERA_STALLED : CAMERA_REFUSED;
    source->reason = *why;
    retry_later(source);
}

static void restart(struct source *source)
{
    struct error why = {{0}};

    source->attempts++;
    source->past.restarts++;
    source->sequence.discontinuity = true;
    capture_stop(source->capture);
    int r = source_start_capture(source, &why);
    if (r < 0)
        source_lose(source, r, &why);
    else
        source->deadline_ns = clock_now_ns() + stall_ns(source);
}

/* Streaming, but no frames come. */
static void recover(struct source *source, const struct error *why)
{
    source->state = CAMERA_STALLED;
    source->reason = *why;
    if (source->attempts == 0)
        restart(source);
    else
        retry_later(source);
}

void source_init(struct source *ret, const struct config_camera *config)
{
    *ret = (struct source){
        .state = CAMERA_STARTING,
        .request = config->source,
        .controls = config->controls,
        .stall_timeout_ns = (int64_t)(config->stall_timeout_s * (double)NS_PER_S),
        .watch_fd = -1,
    };
}

void source_finish(struct source *source)
{
    close_capture(source);
    unwatch(source);
    source->deadline_ns = INT64_MAX;
}

static int open_capture(struct source *source, struct error *why)
{
    const struct config_source *request = &source->request;
    const struct capture_request wanted = {.uri = request->uri,
                                           .width = request->width,
                                           .height = request->height,
                                           .rate = request->rate,
                                           .fourcc = request->fourcc,
                                           .buffers = request->buffers,
                                           .loop = request->loop,
                                           .seed = request->seed};
    return capture_open(&source->capture, &wanted, why);
}

static void become_open(struct source *source)
{
    unwatch(source);
    source->phase = SOURCE_OPENED;
    source->sequence.discontinuity = true;
    source->memory.settled = false;
    if (source->opening.purpose == OPENING_AGAIN)
        source->past.reopens++;
    source_apply_controls(source, &source->controls);
}

/* Leaves the source opening or opened, or closed on failure. */
static int open_for(struct source *source, enum source_purpose purpose, struct error *why)
{
    source->opening.purpose = purpose;
    int r = open_capture(source, why);
    if (r < 0)
        return r;
    source->deadline_ns = source->capture->opening_until_ns;
    if (source->deadline_ns == 0)
        become_open(source);
    else
        source->phase = SOURCE_OPENING;
    return 0;
}

/* The state of a source that has not delivered a frame yet. */
static void become_starting(struct source *source)
{
    source->state = CAMERA_STARTING;
    source->reason.text[0] = '\0';
    if (source->phase == SOURCE_OPENING)
        error_set(&source->reason, 0, "%s is being opened", source->request.uri);
}

int source_open(struct source *source, bool wait, struct error *why)
{
    int r = open_for(source, OPENING_FIRST, why);
    source->opening.wait = wait;
    if (r == 0)
        become_starting(source);
    return r;
}

static void take_back_change(struct source *source)
{
    const struct source_opening *opening = &source->opening;
    const bool had_problem = !camera_may_deliver(opening->old_state);
    struct error again;
    close_capture(source);
    source->request = opening->old_request;
    source->controls = opening->old_controls;
    if (opening->was_closed || had_problem) {
        source->state = opening->old_state;
        source->reason = opening->old_reason;
    }
    if (opening->was_closed) { /* the old one is still waited for */
        source->deadline_ns = clock_now_ns();
        return;
    }
    int r = open_for(source, opening->old_purpose, &again);
    if (r < 0)
        source_reject(source, r, &again);
    else if (!had_problem && (source->state == CAMERA_STARTING || source->phase == SOURCE_OPENING))
        become_starting(source);
}

int source_conclude_change(struct source *source, const struct filter_chain *filter,
                           struct error *why)
{
    int r = source->opening.result;
    if (r == -EAGAIN)
        return r;
    source->opening.is_change = false;
    *why = source->opening.why;
    if (r == 0)
        r = calibration_check_size(filter, source->capture->format.width,
                                   source->capture->format.height, why);
    if (r < 0) {
        take_back_change(source);
        return r;
    }
    become_starting(source);
    source->attempts = 0;
    return 0;
}

/* Saves the source in use, so that a failed change can go back to it. A second change before the
 * first has a result keeps what the first has saved. */
static void remember_old(struct source *source)
{
    struct source_opening *opening = &source->opening;
    if (opening->is_change)
        return;
    opening->is_change = true;
    opening->was_closed = source->phase == SOURCE_CLOSED;
    opening->old_purpose = source->phase == SOURCE_OPENING ? opening->purpose : OPENING_AGAIN;
    opening->old_state = source->state;
    opening->old_reason = source->reason;
    opening->old_request = source->request;
    opening->old_controls = source->controls;
}

int source_change(struct source *source, const struct config_source *request,
                  const struct settings *controls, const struct filter_chain *filter,
                  struct error *why)
{
    struct source_opening *opening = &source->opening;
    struct settings merged = opening->is_change ? opening->old_controls : source->controls;
    int r = settings_merge(&merged, controls, why);
    if (r < 0)
        return r;
    remember_old(source);
    close_capture(source);
    source->request = *request;
    source->controls = merged;
    opening->result = open_for(source, OPENING_CHANGE, &opening->why);
    if (source->phase == SOURCE_OPENING) {
        opening->result = -EAGAIN;
        become_starting(source);
    }
    return source_conclude_change(source, filter, why);
}

void source_start(struct source *source)
{
    struct error why = {{0}};
    int r = source_start_capture(source, &why);
    if (r < 0) {
        source_lose(source, r, &why);
        return;
    }
    if (source->state == CAMERA_PAUSED)
        become_starting(source);
    source->phase = SOURCE_STREAMING;
    source->opening.purpose = OPENING_AGAIN; /* from now on */
    source->deadline_ns = clock_now_ns() + stall_ns(source);
}

void source_stop(struct source *source)
{
    if (source->phase != SOURCE_STREAMING)
        return;
    capture_stop(source->capture);
    source->phase = SOURCE_OPENED;
    source->sequence.discontinuity = true;
}

void source_pause(struct source *source)
{
    if (!source_is_open(source))
        return;
    source_stop(source);
    source->state = CAMERA_PAUSED;
    error_set(&source->reason, 0, "there are no readers; the next one starts the camera");
}

int source_fd(const struct source *source)
{
    switch (source->phase) {
    case SOURCE_CLOSED:
        return source->watch_fd;
    case SOURCE_OPENED:
        return -1;
    case SOURCE_OPENING:
    case SOURCE_STREAMING:
        return capture_fd(source->capture);
    }
    return -1;
}

int64_t source_deadline_ns(const struct source *source)
{
    return source->phase == SOURCE_OPENED ? INT64_MAX : source->deadline_ns;
}

static void reopen(struct source *source)
{
    struct error why = {{0}};
    int r = open_for(source, OPENING_AGAIN, &why);
    if (r == -EACCES && source->state == CAMERA_LOST && clock_now_ns() < source->handover_ns)
        retry_later(source);
    else if (r < 0)
        source_lose(source, r, &why);
}

void source_reject(struct source *source, int err, const struct error *why)
{
    struct source_opening *opening = &source->opening;
    if (opening->is_change) {
        opening->result = err; /* source_conclude_change acts on it */
        opening->why = *why;
        close_capture(source);
    } else if (opening->purpose == OPENING_FIRST && !opening->wait) {
        source_finish(source);
        source->state = CAMERA_FAILED;
        source->reason = *why;
        source->error = err;
    } else {
        source_lose(source, err, why);
    }
}

static void go_on_opening(struct source *source)
{
    struct error why;
    int r = capture_open_more(source->capture, &why);
    if (r == -EAGAIN) {
        source->deadline_ns = source->capture->opening_until_ns;
    } else if (r < 0) {
        source_reject(source, r, &why);
    } else {
        become_open(source);
        source->opening.result = 0;
        if (source->state == CAMERA_STARTING)
            source->reason.text[0] = '\0';
    }
}

void source_step(struct source *source, bool readable)
{
    bool due = clock_now_ns() >= source->deadline_ns;
    if (source->phase == SOURCE_CLOSED) {
        /* The readable descriptor may have belonged to a capture that was closed in the meantime.
         */
        const bool appeared = readable && source->watch_fd >= 0 &&
                              device_watch_fired(source->watch_fd, device_path(source));
        if (appeared)
            source->handover_ns = clock_now_ns() + HANDOVER_NS;
        if (due || appeared)
            reopen(source);
    } else if (source->phase == SOURCE_OPENING && (due || readable)) {
        go_on_opening(source);
    } else if (source->phase == SOURCE_STREAMING && due) {
        struct error why;
        const char *cause = source->capture->stall_reason.text;
        error_set(&why, EIO, "no frame for %.1f s%s%s", (double)stall_ns(source) / (double)NS_PER_S,
                  cause[0] != '\0' ? ": " : "", cause);
        source->past.stalls++;
        recover(source, &why);
    }
}

/* Counts the frames missing between the last one and this one, and replaces the frame's sequence by
 * one that never goes back. */
static void account(struct source *source, struct capture_frame *frame, bool *ret_discontinuity)
{
    struct source_sequence *count = &source->sequence;
    const uint64_t skipped = skipped_now(source) - count->skipped;
    uint64_t sequence = count->base + frame->sequence;
    /* Of a source that was away, or counts from 0 again, only the skipped frames are known. */
    if (count->discontinuity || sequence < count->next) {
        sequence = count->next + skipped;
        count->base = sequence - frame->sequence;
    }
    const uint64_t missing = sequence - count->next;
    if (missing > skipped)
        source->past.lost += missing - skipped;
    *ret_discontinuity = count->discontinuity || missing > 0;
    count->discontinuity = false;
    count->skipped += skipped;
    count->next = sequence + 1;
    frame->sequence = sequence;
}

int source_dequeue(struct source *source, struct capture_frame *ret, bool *ret_discontinuity)
{
    struct error why = {{0}};
    int r = capture_dequeue(source->capture, ret, &why);
    switch (r) {
    case 0:
        ret->start = source->start_count;
        source->state = CAMERA_ONLINE;
        source->reason.text[0] = '\0';
        source->attempts = 0;
        source->deadline_ns = ret->dequeued_ns + stall_ns(source);
        account(source, ret, ret_discontinuity);
        return 0;
    case -EAGAIN:
        break;
    case -ENODATA:
        source_finish(source);
        source->state = CAMERA_FINISHED;
        source->reason = why;
        break;
    case -EIO:
        recover(source, &why);
        break;
    case -ESTALE:
        retry_later(source);
        source->state = CAMERA_STARTING;
        source->reason = why;
        if (source->attempts == 1) /* else the signal changes faster than frames come */
            source->deadline_ns = clock_now_ns();
        break;
    default:
        source_lose(source, r, &why);
        break;
    }
    return -EAGAIN;
}

void source_release(struct source *source, const struct capture_frame *frame)
{
    if (source->phase == SOURCE_STREAMING && frame->start == source->start_count)
        capture_release(source->capture, frame);
}
