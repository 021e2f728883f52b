/* The camera as other threads see it. What is shared lies under one mutex, which the frame path
 * takes for well under a microsecond, twice a frame; nothing here holds it for longer than a copy.
 *
 * Rings change hands in three steps, since a client must find the new one when the old one tells it
 * to look: the camera's thread puts the new ring in place and says so; the main loop takes it and
 * switches its server; only then is the old one retired. */
#include "camera.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "camera_private.h"
#include "core/clock.h"

/* How long camera_stop waits for both threads: with what the rest of the program needs, a daemon
 * ends within a second, on a busy machine too. */
#define STOP_PATIENCE_NS (600 * NS_PER_MS)

const char *camera_state_name(enum camera_state state)
{
    switch (state) {
    case CAMERA_STARTING:
        return "starting";
    case CAMERA_ONLINE:
        return "online";
    case CAMERA_STALLED:
        return "stalled";
    case CAMERA_LOST:
        return "lost";
    case CAMERA_REFUSED:
        return "refused";
    case CAMERA_FAILED:
        return "failed";
    case CAMERA_PAUSED:
        return "paused";
    case CAMERA_FINISHED:
        return "finished";
    }
    return "unknown";
}

const char *camera_stage_name(enum camera_stage stage)
{
    switch (stage) {
    case STAGE_CAPTURE:
        return "capture";
    case STAGE_WAIT:
        return "wait";
    case STAGE_UPLOAD:
        return "upload";
    case STAGE_KERNEL:
        return "kernel";
    case STAGE_DOWNLOAD:
        return "download";
    case STAGE_PUBLISH:
        return "publish";
    case STAGE_TOTAL:
        return "total";
    case STAGE_COUNT:
        break;
    }
    return "unknown";
}

void camera_post_events(struct camera *camera, unsigned events)
{
    camera->events |= events;
    eventfd_write(camera->event_fd, 1);
}

/* Everything but the device, the source and the threads. */
static int create(struct camera **ret, const struct config *config, struct error *why)
{
    struct camera *camera = calloc(1, sizeof *camera);

    if (camera == NULL)
        return error_set(why, ENOMEM, "no memory for a camera");
    camera->config = *config;
    camera->told_state = CAMERA_STARTING;
    camera->engine_retry_ns = camera->rest_ns = INT64_MAX;
    camera->frame_timeout_ns = (int64_t)(config->frame_timeout_s * (double)NS_PER_S);
    camera->heartbeat_ns = clock_now_ns();
    camera->status.wanted_serial = 1;
    snprintf(camera->status.source, sizeof camera->status.source, "%s", config->source);
    source_init(&camera->source, &camera->config);
    pthread_mutex_init(&camera->lock, NULL);
    clock_cond_init(&camera->ended_cond);
    camera->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    camera->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    *ret = camera;
    return camera->wake_fd < 0 || camera->event_fd < 0
               ? error_set(why, errno, "cannot create an eventfd: %s", strerror(errno))
               : 0;
}

/* Goes on with what a process before this one has published. */
static void inherit(struct camera *camera, struct ring *ring)
{
    ring_set_checksum(ring, camera->config.checksum);
    camera->ring = ring;
    camera->format = *ring_format(ring);
    camera->status.format = camera->format;
    camera->status.generation = ring_generation(ring);
    camera->status.newest_sequence = ring_newest(ring);
}

static void destroy_rings(struct camera *camera)
{
    ring_destroy(camera->dying);
    if (camera->served != camera->ring)
        ring_destroy(camera->served);
    ring_destroy(camera->ring);
    camera->dying = camera->served = camera->ring = NULL;
}

/* The threads have ended, or never began. */
static void destroy(struct camera *camera)
{
    source_finish(&camera->source);
    if (camera->event_fd >= 0)
        close(camera->event_fd);
    if (camera->wake_fd >= 0)
        close(camera->wake_fd);
    pthread_cond_destroy(&camera->ended_cond);
    pthread_mutex_destroy(&camera->lock);
    free(camera);
}

static int open_source(struct camera *camera, bool wait, struct error *why)
{
    int r = source_open(&camera->source, why);
    if (r < 0 && wait) {
        source_lose(&camera->source, r, why);
        return 0;
    }
    return r < 0 ? r : camera_adopt_format(camera, why);
}

int camera_start(struct camera **ret, const struct config *config, struct ring *inherited,
                 bool wait, struct error *why)
{
    struct camera *camera = NULL;
    int r = create(&camera, config, why);
    if (camera == NULL)
        ring_destroy(inherited);
    else if (inherited != NULL)
        inherit(camera, inherited);
    if (r < 0)
        goto fail;
    r = designer_create(&camera->designer, config, camera->wake_fd, why);
    if (r < 0)
        goto fail;
    snprintf(camera->status.device, sizeof camera->status.device, "%s",
             designer_device_name(camera->designer));
    camera->status.device_memory = designer_device_memory(camera->designer);
    r = open_source(camera, wait, why);
    if (r < 0)
        goto fail;
    atomic_store(&camera->progress_ns, clock_now_ns());
    r = -pthread_create(&camera->thread, NULL, camera_thread, camera);
    if (r < 0) {
        error_set(why, -r, "cannot start a thread: %s", strerror(-r));
        goto fail;
    }
    pthread_setname_np(camera->thread, "camera");
    *ret = camera;
    return 0;
fail:
    /* A designer that is building an engine already cannot be waited for at leisure, but neither
     * is anything lost: the caller gives up and exits. */
    if (camera != NULL &&
        designer_destroy(camera->designer, clock_now_ns() + STOP_PATIENCE_NS) == 0) {
        destroy_rings(camera);
        destroy(camera);
    }
    return r;
}

/* Waits for the camera's thread. */
static int join(struct camera *camera, int64_t deadline_ns)
{
    struct timespec deadline = clock_timespec(deadline_ns);
    int r = 0;

    atomic_store(&camera->stop, true);
    pthread_mutex_lock(&camera->lock);
    eventfd_write(camera->wake_fd, 1);
    while (!camera->ended && r == 0)
        r = pthread_cond_timedwait(&camera->ended_cond, &camera->lock, &deadline);
    bool ended = camera->ended;
    pthread_mutex_unlock(&camera->lock);
    if (!ended)
        return -EBUSY;
    if (!camera->joined)
        pthread_join(camera->thread, NULL);
    camera->joined = true;
    return 0;
}

int camera_halt(struct camera *camera)
{
    return camera != NULL ? join(camera, clock_now_ns() + STOP_PATIENCE_NS) : 0;
}

int camera_stop(struct camera *camera)
{
    if (camera == NULL)
        return 0;
    int64_t deadline_ns = clock_now_ns() + STOP_PATIENCE_NS;
    int r = join(camera, deadline_ns);
    if (r < 0)
        return r;
    snapshot_fail(camera->waiting, -ECANCELED);
    snapshot_append(&camera->answered, camera->waiting);
    snapshot_answer(camera->answered);
    camera->waiting = camera->answered = NULL;
    camera_cancel_errands(camera);
    destroy_rings(camera);
    r = designer_destroy(camera->designer, deadline_ns);
    if (r == 0)
        destroy(camera);
    return r;
}

int camera_fd(const struct camera *camera)
{
    return camera->event_fd;
}

unsigned camera_take_events(struct camera *camera)
{
    eventfd_t count;
    eventfd_read(camera->event_fd, &count);

    pthread_mutex_lock(&camera->lock);
    unsigned events = camera->events;
    struct snapshot *answered = camera->answered;
    struct errand *done_errands = camera->done_errands;
    struct ring *dying = camera->dying;
    camera->events = 0;
    camera->answered = NULL;
    camera->done_errands = NULL;
    camera->dying = NULL;
    pthread_mutex_unlock(&camera->lock);

    snapshot_answer(answered);
    camera_answer_errands(done_errands);
    ring_destroy(dying);
    return events;
}

struct ring *camera_ring(struct camera *camera)
{
    pthread_mutex_lock(&camera->lock);
    struct ring *ring = camera->ring;
    struct ring *older = NULL;
    if (camera->served != ring) {
        older = camera->dying;
        camera->dying = camera->served;
        camera->served = ring;
        camera_post_events(camera, 0);
    }
    pthread_mutex_unlock(&camera->lock);
    ring_destroy(older);
    return ring;
}

int camera_set_filter(struct camera *camera, const struct filter_chain *chain, uint64_t *ret_serial,
                      struct error *why)
{
    for (unsigned i = 0; i < chain->count; i++) {
        int r = filter_stage_check(&chain->stage[i], why);
        if (r < 0)
            return r;
    }
    /* One lock around both, so that wanted_serial never goes back. */
    pthread_mutex_lock(&camera->lock);
    *ret_serial = designer_want_chain(camera->designer, chain);
    camera->status.wanted_serial = *ret_serial;
    camera->status.filter_problem[0] = '\0';
    pthread_mutex_unlock(&camera->lock);
    return 0;
}

void camera_get_filter(struct camera *camera, struct filter_chain *ret)
{
    designer_get_chain(camera->designer, ret);
}

int camera_tune(struct camera *camera, bool exhaustive, struct error *why)
{
    return designer_tune(camera->designer, exhaustive, why);
}

void camera_stop_tuning(struct camera *camera)
{
    designer_stop_tuning(camera->designer);
}

void camera_get_tuning(struct camera *camera, struct tuning_status *ret)
{
    designer_get_tuning(camera->designer, ret);
}

bool camera_may_deliver(enum camera_state state)
{
    return state == CAMERA_ONLINE || state == CAMERA_STARTING || state == CAMERA_PAUSED;
}

int camera_snapshot(struct camera *camera, camera_snapshot_fn *done, void *context)
{
    struct snapshot *snapshot;

    pthread_mutex_lock(&camera->lock);
    struct fftd_format format = camera->status.format;
    enum camera_state state = camera->status.state;
    pthread_mutex_unlock(&camera->lock);
    if (!camera_may_deliver(state))
        return -ENODEV;
    if (format.width == 0)
        return -EAGAIN;
    int r = snapshot_create(&snapshot, &format, done, context);
    if (r < 0)
        return r;
    pthread_mutex_lock(&camera->lock);
    bool may_come = camera_may_deliver(camera->status.state);
    if (may_come)
        snapshot_append(&camera->waiting, snapshot);
    pthread_mutex_unlock(&camera->lock);
    if (may_come)
        eventfd_write(camera->wake_fd, 1); /* it may rest */
    else
        snapshot_destroy(snapshot);
    return may_come ? 0 : -ENODEV;
}

void camera_get_status(struct camera *camera, struct camera_status *ret)
{
    pthread_mutex_lock(&camera->lock);
    *ret = camera->status;
    int64_t silent_ns = clock_now_ns() - camera->published_ns;
    pthread_mutex_unlock(&camera->lock);
    /* The rate is counted when frames come, so it does not tell by itself that they stopped. */
    if ((double)silent_ns * ret->rate > 3.0 * (double)NS_PER_S && silent_ns > 2 * NS_PER_S)
        ret->rate = 0;
}

int64_t camera_progress_ns(struct camera *camera)
{
    return atomic_load(&camera->progress_ns);
}
