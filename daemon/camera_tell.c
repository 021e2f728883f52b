/* What the camera's thread tells others: its state, once a change; its counters, once a frame; that
 * it is well, once in a while. */
#include "camera_private.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "core/clock.h"
#include "log.h"

/* Readers of an inherited ring have had frames: to them a daemon that starts is one that has been
 * away. */
static enum fftd_state ring_state(enum camera_state state, const struct ring *ring)
{
    switch (state) {
    case CAMERA_STARTING:
        return ring_newest(ring) == 0 ? FFTD_STATE_STARTING : FFTD_STATE_OFFLINE;
    case CAMERA_PAUSED: /* which only somebody sees who is about to end it */
        return FFTD_STATE_STARTING;
    case CAMERA_ONLINE:
        return FFTD_STATE_LIVE;
    case CAMERA_STALLED:
    case CAMERA_LOST:
    case CAMERA_REFUSED:
    case CAMERA_FAILED:
    case CAMERA_FINISHED:
        break;
    }
    return FFTD_STATE_OFFLINE;
}

/* What it waits for is under way, and will come or be given up. */
static bool is_in_order(struct camera *camera)
{
    switch (designer_get_state(camera->designer)) {
    case DESIGNER_IDLE:
        return camera->flights == 0; /* it is for the device to move */
    case DESIGNER_BUSY:
        return true;
    case DESIGNER_STUCK:
        break;
    }
    return false;
}

/* Heartbeat and state at once: the ring wakes readers only if the state is another. */
void camera_show_progress(struct camera *camera)
{
    int64_t now_ns = clock_now_ns();
    if (camera->ring != NULL)
        ring_set_state(camera->ring, ring_state(camera->told_state, camera->ring), now_ns);
    camera->heartbeat_ns = now_ns;
    if (is_in_order(camera))
        atomic_store(&camera->progress_ns, now_ns);
}

void camera_copy_text(char *to, size_t size, const char *from)
{
    size_t length = strnlen(from, size - 1);
    memcpy(to, from, length);
    to[length] = '\0';
}

/* With the lock held. */
static void update_counters(struct camera *camera)
{
    struct camera_status *status = &camera->status;
    struct source_counts counts;

    source_get_counts(&camera->source, &counts);
    status->dropped_error = counts.error;
    status->dropped_stale = counts.stale;
    status->source_lost = counts.lost;
    status->stalls = counts.stalls;
    status->restarts = counts.restarts;
    status->reopens = counts.reopens;
}

static void log_state(const struct camera *camera, enum camera_state state, const char *reason)
{
    switch (state) {
    case CAMERA_STARTING:
        if (*reason != '\0')
            log_notice("starting anew: %s", reason);
        break;
    case CAMERA_ONLINE:
        log_notice("online: %s", camera->source.capture->description);
        break;
    case CAMERA_STALLED:
    case CAMERA_LOST:
    case CAMERA_REFUSED:
    case CAMERA_FAILED:
        log_warning("%s: %s", camera_state_name(state), reason);
        break;
    case CAMERA_PAUSED:
    case CAMERA_FINISHED:
        log_notice("%s: %s", camera_state_name(state), reason);
        break;
    }
}

/* Logs what the camera did not take of the settings meant for it; once, not whenever it is opened.
 */
void camera_tell_control_problem(struct camera *camera)
{
    const struct error *problem = &camera->source.control_problem;
    if (strcmp(problem->text, camera->told_problem.text) == 0)
        return;
    camera->told_problem = *problem;
    if (problem->text[0] != '\0')
        log_warning("camera.controls: %s", problem->text);
}

/* Makes public how frames come to the engine, and logs it, if it is in another way. While there is
 * no engine, they do not. */
void camera_tell_input(struct camera *camera)
{
    const struct source *source = &camera->source;
    const char *problem = source->way == FRAME_COPIED ? source->way_problem.text : "";
    char input[sizeof camera->status.input];

    if (source->phase != SOURCE_STREAMING || camera->engine == NULL ||
        source->runs == camera->told_run)
        return;
    camera->told_run = source->runs;
    snprintf(input, sizeof input, "%s%s%.200s%s", frame_way_words(source->way),
             *problem != '\0' ? " (" : "", problem, *problem != '\0' ? ")" : "");
    if (strcmp(input, camera->status.input) == 0) /* which nobody else writes */
        return;
    log_info("input: %s", input);
    pthread_mutex_lock(&camera->lock);
    camera_copy_text(camera->status.input, sizeof camera->status.input, input);
    camera_post_events(camera, CAMERA_EVENT_STATE);
    pthread_mutex_unlock(&camera->lock);
}

/* Publishes the state wherever it shows, if it is another one. */
void camera_tell_state(struct camera *camera)
{
    const struct source *source = &camera->source;
    bool failed = camera->engine_failure.text[0] != '\0' && source->state != CAMERA_FINISHED;
    enum camera_state state = failed ? CAMERA_FAILED : source->state;
    const char *reason = failed ? camera->engine_failure.text : source->reason.text;
    bool changed = state != camera->told_state;

    if (!changed && strncmp(reason, camera->told_reason.text, sizeof camera->told_reason.text) == 0)
        return;
    camera->told_state = state;
    camera_copy_text(camera->told_reason.text, sizeof camera->told_reason.text, reason);
    if (changed)
        log_state(camera, state, reason);

    pthread_mutex_lock(&camera->lock);
    struct camera_status *status = &camera->status;
    status->state = state;
    camera_copy_text(status->state_reason, sizeof status->state_reason, reason);
    if (source->capture != NULL)
        camera_copy_text(status->source, sizeof status->source, source->capture->description);
    update_counters(camera);
    if (!camera_may_deliver(state)) {
        snapshot_fail(camera->waiting, -ENODEV);
        snapshot_append(&camera->answered, camera->waiting);
        camera->waiting = NULL;
    }
    camera_post_events(camera, CAMERA_EVENT_STATE);
    pthread_mutex_unlock(&camera->lock);
    camera_show_progress(camera);
}

/* Counts a published frame. */
void camera_record(struct camera *camera, struct flight *flight, const struct engine_done *done,
                   int64_t published_ns)
{
    const struct ring_meta *meta = &flight->meta;
    struct camera_status *status = &camera->status;
    struct histogram *latency = status->latency;
    unsigned events = 0;

    camera->heartbeat_ns = published_ns; /* which a published frame is */
    atomic_store(&camera->progress_ns, published_ns);
    pthread_mutex_lock(&camera->lock);
    histogram_add(&latency[STAGE_CAPTURE], meta->dequeued_ns - meta->captured_ns);
    histogram_add(&latency[STAGE_WAIT], meta->submitted_ns - meta->dequeued_ns - done->upload_ns);
    histogram_add(&latency[STAGE_UPLOAD], done->upload_ns);
    histogram_add(&latency[STAGE_KERNEL], done->kernel_ns);
    histogram_add(&latency[STAGE_DOWNLOAD], done->download_ns);
    histogram_add(&latency[STAGE_PUBLISH], published_ns - meta->finished_ns - done->download_ns);
    histogram_add(&latency[STAGE_TOTAL], published_ns - meta->captured_ns);

    if (++status->published == 1)
        events |= CAMERA_EVENT_FRAME;
    if (status->filter_serial != meta->filter_serial &&
        meta->filter_serial == status->wanted_serial)
        events |= CAMERA_EVENT_FILTER;
    status->filter_serial = meta->filter_serial;
    status->newest_sequence = ring_newest(camera->ring);
    update_counters(camera);
    camera->published_ns = published_ns;
    camera->rate_frames++;
    if (published_ns - camera->rate_since_ns >= NS_PER_S) {
        status->rate =
            camera->rate_frames * (double)NS_PER_S / (double)(published_ns - camera->rate_since_ns);
        camera->rate_since_ns = published_ns;
        camera->rate_frames = 0;
    }
    if (flight->snapshots != NULL)
        camera->rest_ns = published_ns + CAMERA_GRACE_NS; /* it may be what was waited for */
    if (flight->snapshots != NULL || events != 0) {
        snapshot_append(&camera->answered, flight->snapshots);
        camera_post_events(camera, events);
    }
    pthread_mutex_unlock(&camera->lock);
}
