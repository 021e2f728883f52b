/* What to try, and when.
 *
 * The first remedy for a source that is there but delivers nothing is to restart streaming: it
 * costs milliseconds and mends most drivers. Everything later is closing and opening, since a
 * driver that needs more than that needs all of it. Doubling pauses keep a camera that is gone for
 * good from costing anything; the watch on its directory makes the usual case, somebody plugging it
 * in again, immediate. */
#include "source.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/text.h"

/* A driver that delivers again, or a camera that another program lets go of, does not say so: it is
 * noticed no later than this. An attempt that fails costs well under a millisecond. */
#define LONGEST_PAUSE_NS (1 * NS_PER_S)

/* How long udev may take to hand a node that has appeared to its group. */
#define HANDOVER_NS      (1 * NS_PER_S)

/* A camera slower than the timeout is not stalled. */
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

/* Without a watch the pauses alone have to do; so failing is no failure. */
static void watch(struct source *source)
{
    const char *path = device_path(source);
    char directory[CONFIG_TEXT];

    if (path == NULL || source->watch_fd >= 0)
        return;
    source->watch_fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (source->watch_fd < 0)
        return;
    const char *slash = strrchr(path, '/');
    int length = slash == path ? 1 : (int)(slash - path);
    snprintf(directory, sizeof directory, "%.*s", length, path);
    /* IN_ATTRIB: udev hands the node to its group a moment after creating it. */
    if (inotify_add_watch(source->watch_fd, directory, IN_CREATE | IN_MOVED_TO | IN_ATTRIB) < 0) {
        close(source->watch_fd);
        source->watch_fd = -1;
    }
}

static void unwatch(struct source *source)
{
    if (source->watch_fd >= 0)
        close(source->watch_fd);
    source->watch_fd = -1;
}

/* Reads what the watch has; true if it concerns the device. There may be none: what was readable
 * may have been a capture that is closed by now. */
static bool watch_fired(struct source *source)
{
    if (source->watch_fd < 0)
        return false;
    union {
        struct inotify_event event;
        char bytes[4096];
    } buffer;
    const char *name = strrchr(device_path(source), '/') + 1;
    bool fired = false;
    ssize_t size;

    while ((size = read(source->watch_fd, buffer.bytes, sizeof buffer.bytes)) > 0) {
        for (ssize_t at = 0; at < size;) {
            const struct inotify_event *event = (const void *)(buffer.bytes + at);
            fired |= event->len > 0 && strcmp(event->name, name) == 0;
            at += (ssize_t)(sizeof *event + event->len);
        }
    }
    return fired;
}

static void close_capture(struct source *source)
{
    if (source->capture != NULL) {
        source->past.error += source->capture->dropped_error;
        source->past.stale += source->capture->dropped_stale;
        capture_stop(source->capture);
        capture_close(source->capture);
        source->capture = NULL;
    }
    source->phase = SOURCE_CLOSED;
}

/* Closes it and sets the time of the next attempt. */
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
    bool gone = err == -ENODEV || err == -ENOENT || err == -ENXIO || err == -ENOLINK;
    source->state = gone ? CAMERA_LOST : err == -EIO ? CAMERA_STALLED : CAMERA_REFUSED;
    source->reason = *why;
    retry_later(source);
}

static bool allows(const struct source *source, enum frame_way way)
{
    return source->allowed == FRAME_ANY || source->allowed == way;
}

/* Tries one way; *problem gathers why it was not taken. */
static int try_way(struct source *source, enum frame_way way, struct error *problem)
{
    struct error why;
    int r = capture_start_in(source->capture, way, source->memory, &why);
    if (r < 0)
        text_append(problem->text, sizeof problem->text, "%s%s: %s",
                    problem->text[0] != '\0' ? "; " : "", frame_way_names[way], why.text);
    else
        source->way = way;
    return r;
}

/* Starts it in the best way in which it starts. Drivers have many words for a refusal: whatever is
 * wrong with the last way is wrong with the camera. Once a way is known, a failure is one. */
static int start_capture(struct source *source, struct error *why)
{
    struct error *problem = &source->way_problem;
    int r = -EOPNOTSUPP;
    source->runs++;
    if (source->way_settled)
        return capture_start_in(source->capture, source->way, source->memory, why);
    problem->text[0] = '\0';
    for (enum frame_way way = FRAME_IMPORTED; source->memory != NULL && way > FRAME_COPIED; way--)
        if (r < 0 && r != -ENODEV && allows(source, way))
            r = try_way(source, way, problem);
    if (r == -ENODEV)
        return error_set(why, ENODEV, "%s", problem->text);
    if (r < 0) {
        r = capture_start(source->capture, why);
        source->way = FRAME_COPIED;
    }
    source->way_settled = r == 0 && source->memory != NULL;
    return r;
}

static void restart(struct source *source)
{
    struct error why = {{0}};

    source->attempts++;
    source->past.restarts++;
    source->discontinuity = true;
    capture_stop(source->capture);
    int r = start_capture(source, &why);
    if (r < 0)
        source_lose(source, r, &why);
    else
        source->deadline_ns = clock_now_ns() + stall_ns(source);
}

/* Streaming, but no frames come. */
static void mend(struct source *source, const struct error *why)
{
    source->state = CAMERA_STALLED;
    source->reason = *why;
    if (source->attempts == 0)
        restart(source);
    else
        retry_later(source);
}

static void take_request(struct source *source, const struct config *config)
{
    memcpy(source->uri, config->source, sizeof source->uri);
    source->allowed = config->memory;
    source->request = (struct capture_request){.uri = source->uri,
                                               .width = config->width,
                                               .height = config->height,
                                               .rate = config->rate,
                                               .fourcc = config->fourcc,
                                               .buffers = config->buffers,
                                               .loop = config->loop,
                                               .seed = config->seed};
}

void source_init(struct source *ret, const struct config *config)
{
    *ret = (struct source){
        .state = CAMERA_STARTING,
        .stall_timeout_ns = (int64_t)(config->stall_timeout_s * (double)NS_PER_S),
        .controls = config->controls,
        .watch_fd = -1,
    };
    take_request(ret, config);
}

void source_finish(struct source *source)
{
    close_capture(source);
    unwatch(source);
    source->deadline_ns = INT64_MAX;
}

/* One by one: a control that this camera lacks shall not cost the others. */
static void apply_controls(struct source *source)
{
    struct error *problem = &source->control_problem;
    problem->text[0] = '\0';
    for (unsigned i = 0; i < source->controls.count; i++) {
        const struct settings one = {.count = 1, .item = {source->controls.item[i]}};
        struct error why;
        if (capture_set_controls(source->capture, &one, &why) < 0)
            text_append(problem->text, sizeof problem->text, "%s%s",
                        problem->text[0] != '\0' ? "; " : "", why.text);
    }
}

int source_set_controls(struct source *source, const struct settings *settings, struct error *why)
{
    struct settings merged = source->controls;
    if (source->capture == NULL)
        return error_set(why, ENODEV, "the camera is %s: %s", camera_state_name(source->state),
                         source->reason.text);
    int r = settings_merge(&merged, settings, why);
    if (r == 0)
        r = capture_set_controls(source->capture, settings, why);
    if (r == 0)
        source->controls = merged;
    return r;
}

int source_open(struct source *source, struct error *why)
{
    int r = capture_open(&source->capture, &source->request, why);
    if (r < 0)
        return r;
    unwatch(source);
    source->phase = SOURCE_OPENED;
    source->discontinuity = true;
    source->way_settled = false;
    apply_controls(source);
    return 0;
}

int source_change(struct source *source, const struct config *config, struct error *why)
{
    const struct capture_request old = source->request;
    const enum frame_way old_allowed = source->allowed;
    char old_uri[sizeof source->uri];
    memcpy(old_uri, source->uri, sizeof old_uri);

    bool was_closed = source->phase == SOURCE_CLOSED;
    close_capture(source);
    take_request(source, config);
    int r = source_open(source, why);
    if (r == 0) {
        source->state = CAMERA_STARTING;
        source->reason.text[0] = '\0';
        source->attempts = 0;
        return 0;
    }
    memcpy(source->uri, old_uri, sizeof source->uri);
    source->request = old;
    source->allowed = old_allowed;
    struct error again;
    int reopened = was_closed ? 0 : source_open(source, &again); /* else its deadline stands */
    if (reopened < 0)
        source_lose(source, reopened, &again);
    return r;
}

void source_lend(struct source *source, struct frame_memory *memory)
{
    if (source->phase != SOURCE_STREAMING)
        source->way_settled = false;
    source->memory = memory;
}

void source_start(struct source *source)
{
    struct error why = {{0}};
    int r = start_capture(source, &why);
    if (r < 0) {
        source_lose(source, r, &why);
        return;
    }
    if (source->state == CAMERA_PAUSED) {
        source->state = CAMERA_STARTING;
        source->reason.text[0] = '\0';
    }
    source->phase = SOURCE_STREAMING;
    source->deadline_ns = clock_now_ns() + stall_ns(source);
}

void source_stop(struct source *source)
{
    if (source->phase != SOURCE_STREAMING)
        return;
    capture_stop(source->capture);
    source->phase = SOURCE_OPENED;
    source->discontinuity = true;
}

void source_pause(struct source *source)
{
    if (source->phase == SOURCE_CLOSED)
        return;
    source_stop(source);
    source->state = CAMERA_PAUSED;
    error_set(&source->reason, 0, "nobody reads its frames");
}

int source_fd(const struct source *source)
{
    switch (source->phase) {
    case SOURCE_CLOSED:
        return source->watch_fd;
    case SOURCE_OPENED:
        return -1;
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
    int r = source_open(source, &why);
    if (r == -EACCES && source->state == CAMERA_LOST && clock_now_ns() < source->handover_ns)
        retry_later(source);
    else if (r < 0)
        source_lose(source, r, &why);
    else
        source->past.reopens++;
}

void source_step(struct source *source, bool readable)
{
    bool due = clock_now_ns() >= source->deadline_ns;

    if (source->phase == SOURCE_CLOSED) {
        const bool appeared = readable && watch_fired(source);
        if (appeared)
            source->handover_ns = clock_now_ns() + HANDOVER_NS;
        if (due || appeared)
            reopen(source);
    } else if (source->phase == SOURCE_STREAMING && due) {
        struct error why;
        error_set(&why, EIO, "no frame for %.1f s", (double)stall_ns(source) / (double)NS_PER_S);
        source->past.stalls++;
        mend(source, &why);
    }
}

/* Counts what is missing between the last frame and this one, and makes its sequence one that
 * never goes back. */
static void account(struct source *source, struct capture_frame *frame, bool *ret_discontinuity)
{
    const uint64_t skipped = skipped_now(source) - source->skipped;
    uint64_t sequence = source->sequence_base + frame->sequence;
    /* Of a source that was away, or counts anew, nobody knows more than what was passed over. */
    if (source->discontinuity || sequence < source->next_sequence) {
        sequence = source->next_sequence + skipped;
        source->sequence_base = sequence - frame->sequence;
    }
    const uint64_t missing = sequence - source->next_sequence;
    if (missing > skipped)
        source->past.lost += missing - skipped;
    *ret_discontinuity = source->discontinuity || missing > 0;
    source->discontinuity = false;
    source->skipped += skipped;
    source->next_sequence = sequence + 1;
    frame->sequence = sequence;
}

int source_dequeue(struct source *source, struct capture_frame *ret, bool *ret_discontinuity)
{
    struct error why = {{0}};
    int r = capture_dequeue(source->capture, ret, &why);

    switch (r) {
    case 0:
        ret->run = source->runs;
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
        mend(source, &why);
        break;
    case -ESTALE:
        retry_later(source);
        source->state = CAMERA_STARTING;
        source->reason = why;
        if (source->attempts == 1) /* else it changes faster than frames come */
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
    if (source->phase == SOURCE_STREAMING && frame->run == source->runs)
        capture_release(source->capture, frame);
}
