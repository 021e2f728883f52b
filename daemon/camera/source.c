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
#include <sys/inotify.h>
#include <unistd.h>

#include "core/calibration.h"
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

/* Reads the watch's events; true if one concerns the device. There may be no watch: the descriptor
 * that was readable may have belonged to a capture that has been closed since. */
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

static bool allows(const struct source *source, enum memory_mode mode)
{
    return source->request.memory == MEMORY_AUTO || source->request.memory == mode;
}

/* Tries one memory mode; *problem collects the reasons of those that failed. */
static int try_memory_mode(struct source *source, enum memory_mode mode, struct error *problem)
{
    struct error why;
    int r = capture_start_in(source->capture, mode, source->memory.lent, &why);
    if (r < 0)
        text_append(problem->text, sizeof problem->text, "%s%s: %s",
                    problem->text[0] != '\0' ? "; " : "", memory_mode_names[mode], why.text);
    else
        source->memory.mode = mode;
    return r;
}

/* Starts it in the best memory mode that works. Drivers report a refusal by many error codes, so
 * only a failure of the last mode, copying, counts as the camera's. Once a mode has worked, its
 * failure counts too. */
static int start_capture(struct source *source, struct error *why)
{
    struct source_memory *memory = &source->memory;
    int r = -EOPNOTSUPP;
    source->start_count++;
    if (memory->settled)
        return capture_start_in(source->capture, memory->mode, memory->lent, why);
    memory->problem.text[0] = '\0';
    for (enum memory_mode mode = MEMORY_IMPORTED; memory->lent != NULL && mode > MEMORY_COPIED;
         mode--)
        if (r < 0 && r != -ENODEV && allows(source, mode))
            r = try_memory_mode(source, mode, &memory->problem);
    if (r == -ENODEV)
        return error_set(why, ENODEV, "%s", memory->problem.text);
    if (r < 0) {
        r = capture_start(source->capture, why);
        memory->mode = MEMORY_COPIED;
    }
    memory->settled = r == 0 && memory->lent != NULL;
    return r;
}

static void restart(struct source *source)
{
    struct error why = {{0}};

    source->attempts++;
    source->past.restarts++;
    source->sequence.discontinuity = true;
    capture_stop(source->capture);
    int r = start_capture(source, &why);
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

/* Sets controls one by one, so that one which this camera lacks does not cost the others. */
static void apply_controls(struct source *source, const struct settings *settings)
{
    struct error *problem = &source->control_problem;
    problem->text[0] = '\0';
    control_list_forget(&source->control_list);
    for (unsigned i = 0; i < settings->count; i++) {
        const struct settings one = {.count = 1, .item = {settings->item[i]}};
        struct error why;
        if (capture_set_controls(source->capture, &one, &why) < 0)
            text_append(problem->text, sizeof problem->text, "%s%s",
                        problem->text[0] != '\0' ? "; " : "", why.text);
    }
}

static bool contains(const struct settings *settings, const struct setting *setting)
{
    for (unsigned i = 0; i < settings->count; i++)
        if (strcmp(settings->item[i].name, setting->name) == 0)
            return strcmp(settings->item[i].value, setting->value) == 0;
    return false;
}

void source_want_controls(struct source *source, const struct settings *desired)
{
    struct settings changed = {.count = 0};
    for (unsigned i = 0; i < desired->count; i++)
        if (!contains(&source->controls, &desired->item[i]))
            changed.item[changed.count++] = desired->item[i];
    /* More controls than the list can hold are set, but not again at the next opening. */
    (void)settings_merge(&source->controls, desired, NULL);
    if (source->capture != NULL && changed.count > 0)
        apply_controls(source, &changed);
}

static int fail_closed(const struct source *source, struct error *why)
{
    return error_set(why, ENODEV, "the camera is %s: %s", camera_state_name(source->state),
                     source->reason.text);
}

int source_list_controls(struct source *source, struct capture_controls **ret, struct error *why)
{
    if (source->capture == NULL)
        return fail_closed(source, why);
    return control_list_get(&source->control_list, source->capture, ret, why);
}

int source_set_controls(struct source *source, const struct settings *settings, struct error *why)
{
    struct settings merged = source->controls;
    if (source->capture == NULL)
        return fail_closed(source, why);
    control_list_forget(&source->control_list);
    int r = settings_merge(&merged, settings, why);
    if (r == 0)
        r = capture_set_controls(source->capture, settings, why);
    if (r == 0)
        source->controls = merged;
    return r;
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

int source_open(struct source *source, struct error *why)
{
    int r = open_capture(source, why);
    if (r < 0)
        return r;
    unwatch(source);
    source->phase = SOURCE_OPENED;
    source->sequence.discontinuity = true;
    source->memory.settled = false;
    apply_controls(source, &source->controls);
    return 0;
}

int source_change(struct source *source, const struct config_source *request,
                  const struct settings *controls, const struct filter_chain *filter,
                  struct error *why)
{
    const struct config_source old = source->request;
    const struct settings old_controls = source->controls;
    const bool was_closed = source->phase == SOURCE_CLOSED;
    int r = settings_merge(&source->controls, controls, why);
    if (r < 0)
        return r;
    close_capture(source);
    source->request = *request;
    r = source_open(source, why);
    if (r == 0)
        r = calibration_check_size(filter, source->capture->format.width,
                                   source->capture->format.height, why);
    if (r == 0) {
        source->state = CAMERA_STARTING;
        source->reason.text[0] = '\0';
        source->attempts = 0;
        return 0;
    }
    close_capture(source);
    source->request = old;
    source->controls = old_controls;
    struct error again;
    int reopened = was_closed ? 0 : source_open(source, &again); /* else its deadline still holds */
    if (reopened < 0)
        source_lose(source, reopened, &again);
    return r;
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
    source->sequence.discontinuity = true;
}

void source_pause(struct source *source)
{
    if (source->phase == SOURCE_CLOSED)
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
