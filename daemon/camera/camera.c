/* The main thread's side of a camera. It writes desired state and requests into the mailbox, and
 * takes status, answers and rings out of it. */
#include "camera/camera.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

#include "observer/observer.h"
#include "designer/designer.h"
#include "camera/mailbox.h"
#include "camera/reconcile.h"
#include "camera/thread.h"
#include "core/clock.h"
#include "core/secret.h"
#include "filters/filter_edit.h"

/* How long camera_halt and camera_stop wait for the threads. It leaves a daemon time to end within
 * a second, even on a busy machine. */
#define STOP_TIMEOUT_NS (600 * NS_PER_MS)

struct camera {
    struct config config; /* as at the start */
    uint64_t
        settled_source;     /* number of the newest desired source whose result this thread knows */
    uint64_t newest_serial; /* given to a change of the filter or the view */
    unsigned events;        /* of this thread, for the next camera_take_events */
    struct mailbox mailbox;
    struct designer *designer;
    struct observer *observer;
    struct reconciler reconciler; /* belongs to the camera's thread while that runs */
    pthread_t thread;
    bool joined;
};

/* ---- start and stop ---- */

static void destroy_rings(struct mailbox *mailbox)
{
    ring_destroy(mailbox->retired);
    if (mailbox->served != mailbox->ring)
        ring_destroy(mailbox->served);
    ring_destroy(mailbox->ring);
    mailbox->retired = mailbox->served = mailbox->ring = NULL;
}

/* The threads have ended, or were never started. */
static void destroy(struct camera *camera)
{
    observer_destroy(camera->observer, 0);
    desired_drop(&camera->reconciler.desired);
    mailbox_finish(&camera->mailbox);
    free(camera);
}

/* Everything up to the camera's thread. */
static int prepare(struct camera *camera, struct ring *continued, bool wait, struct error *why)
{
    struct mailbox *mailbox = &camera->mailbox;
    int r = observer_create(&camera->observer, camera->config.output.measures, why);
    if (r == 0)
        observer_take_motion(camera->observer, config_motion_block(camera->config.output.motion));
    if (r == 0)
        r = designer_create(&camera->designer, &camera->config, mailbox->wake_fd, why);
    if (r < 0) {
        ring_destroy(continued);
        return r;
    }
    secret_hide(mailbox->status.uri, sizeof mailbox->status.uri, camera->config.camera.source.uri);
    snprintf(mailbox->status.source, sizeof mailbox->status.source, "%s", mailbox->status.uri);
    snprintf(mailbox->status.device, sizeof mailbox->status.device, "%s",
             designer_device_name(camera->designer));
    mailbox->status.device_memory = designer_device_memory(camera->designer);
    mailbox->status.budget = designer_budget(camera->designer);
    atomic_store(&mailbox->progress_ns, clock_now_ns());
    reconciler_init(&camera->reconciler, &camera->config, mailbox, camera->designer,
                    camera->observer, continued);
    r = reconcile_open(&camera->reconciler, wait, why);
    if (r == 0) {
        r = -pthread_create(&camera->thread, NULL, camera_thread, &camera->reconciler);
        if (r < 0)
            error_set(why, -r, "cannot start a thread: %s", strerror(-r));
    }
    if (r < 0) {
        recovery_finish(&camera->reconciler.path.recovery);
        return r;
    }
    pthread_setname_np(camera->thread, "camera");
    return 0;
}

int camera_start(struct camera **ret, const struct config *config, struct ring *continued,
                 bool wait, struct error *why)
{
    struct camera *camera = calloc(1, sizeof *camera);
    if (camera == NULL) {
        ring_destroy(continued);
        return error_set(why, ENOMEM, "out of memory while creating a camera");
    }
    camera->config = *config;
    int r = mailbox_init(&camera->mailbox, config, why);
    camera->newest_serial = camera->mailbox.desired.filter_serial;
    if (r < 0)
        ring_destroy(continued);
    else
        r = prepare(camera, continued, wait, why);
    if (r == 0) {
        *ret = camera;
        return 0;
    }
    /* A designer that is building an engine may take very long. It can be left behind, because the
     * caller gives up and exits. */
    if (designer_destroy(camera->designer, clock_now_ns() + STOP_TIMEOUT_NS) == 0) {
        destroy_rings(&camera->mailbox);
        destroy(camera);
    }
    return r;
}

/* Waits for the camera's thread. */
static int join(struct camera *camera, int64_t deadline_ns)
{
    struct mailbox *mailbox = &camera->mailbox;
    struct timespec deadline = clock_timespec(deadline_ns);
    int r = 0;

    mailbox_begin_change(mailbox)->stop = true;
    mailbox_end_change(mailbox);
    pthread_mutex_lock(&mailbox->lock);
    while (!mailbox->ended && r == 0)
        r = pthread_cond_timedwait(&mailbox->ended_cond, &mailbox->lock, &deadline);
    bool ended = mailbox->ended;
    pthread_mutex_unlock(&mailbox->lock);
    if (!ended)
        return -EBUSY;
    if (!camera->joined)
        pthread_join(camera->thread, NULL);
    camera->joined = true;
    return 0;
}

int camera_halt(struct camera *camera)
{
    return camera != NULL ? join(camera, clock_now_ns() + STOP_TIMEOUT_NS) : 0;
}

/* Called after the threads that could answer have ended. */
static void cancel_requests(struct mailbox *mailbox)
{
    request_fail(mailbox->requests, -ECANCELED, "fftd is stopping");
    request_append(&mailbox->answered, mailbox->requests);
    request_answer(mailbox->answered);
    mailbox->requests = mailbox->answered = NULL;
}

int camera_stop(struct camera *camera)
{
    if (camera == NULL)
        return 0;
    int64_t deadline_ns = clock_now_ns() + STOP_TIMEOUT_NS;
    int r = join(camera, deadline_ns);
    if (r < 0)
        return r;
    cancel_requests(&camera->mailbox);
    destroy_rings(&camera->mailbox);
    r = observer_destroy(camera->observer, deadline_ns);
    if (r < 0)
        return r;
    camera->observer = NULL;
    r = designer_destroy(camera->designer, deadline_ns);
    if (r == 0)
        destroy(camera);
    return r;
}

/* ---- events and rings ---- */

int camera_fd(const struct camera *camera)
{
    return camera->mailbox.event_fd;
}

/* Acts on the result of a change of the source (source_change.h). The filter that came with the
 * source becomes the desired one, or the desired filter stays. */
static void settle_source(struct camera *camera, const struct camera_status *status)
{
    if (status->source_number == camera->settled_source)
        return;
    camera->settled_source = status->source_number;
    struct desired *desired = mailbox_begin_change(&camera->mailbox);
    if (desired->source.filter_serial > desired->filter_serial &&
        status->source_problem[0] == '\0') {
        filter_chain_assign(&desired->filter, &desired->source.filter);
        desired->filter_serial = desired->source.filter_serial;
        desired->fade_frames = 0;
    }
    desired->source.filter_serial = 0;
    mailbox_end_change(&camera->mailbox);
}

static bool is_source_settled(const struct camera *camera)
{
    return camera->mailbox.desired.source.number == camera->settled_source;
}

/* Withdraws the newest change of the filter or the view if it could not be made: what frames are
 * filtered with is desired again, with its serial. No later engine then fails because of it. */
static void settle_filter(struct camera *camera, const struct camera_status *status)
{
    struct filter_chain chain;
    enum view_kind view;
    if (!is_source_settled(camera) || status->failed_serial == 0 ||
        status->failed_serial != camera->mailbox.desired.filter_serial)
        return;
    const uint64_t serial = designer_get_taken(camera->designer, &chain, &view);
    if (serial != 0 && serial != status->failed_serial) {
        struct desired *desired = mailbox_begin_change(&camera->mailbox);
        filter_chain_assign(&desired->filter, &chain);
        desired->view = view;
        desired->filter_serial = serial;
        desired->fade_frames = 0;
        mailbox_end_change(&camera->mailbox);
        camera->events |= CAMERA_EVENT_WITHDRAWN;
        eventfd_write(camera->mailbox.event_fd, 1);
    }
    filter_chain_drop(&chain);
}

unsigned camera_take_events(struct camera *camera)
{
    struct mailbox *mailbox = &camera->mailbox;
    eventfd_t count;
    eventfd_read(mailbox->event_fd, &count);

    pthread_mutex_lock(&mailbox->lock);
    unsigned events = mailbox->events;
    struct request *answered = mailbox->answered;
    struct ring *retired = mailbox->retired;
    mailbox->events = 0;
    mailbox->answered = NULL;
    mailbox->retired = NULL;
    pthread_mutex_unlock(&mailbox->lock);

    struct camera_status status;
    camera_get_status(camera, &status); /* settles what the events are about */
    events |= camera->events;
    camera->events = 0;
    request_answer(answered);
    ring_destroy(retired);
    return events;
}

struct ring *camera_ring(struct camera *camera)
{
    struct mailbox *mailbox = &camera->mailbox;
    struct ring *older = NULL;

    pthread_mutex_lock(&mailbox->lock);
    struct ring *ring = mailbox->ring;
    const bool changed = mailbox->served != ring;
    if (changed) {
        older = mailbox->retired;
        mailbox->retired = mailbox->served;
        mailbox->served = ring;
    }
    pthread_mutex_unlock(&mailbox->lock);
    if (changed)
        eventfd_write(mailbox->event_fd, 1); /* the next camera_take_events destroys it */
    ring_destroy(older);
    return ring;
}

/* ---- desired state ---- */

/* Checks that a chain suits the camera's frames, and that there is memory to filter them. Any view
 * may follow, so it must suit the picture. While the frames' format is unknown, or another source
 * is being tried, the check is left to the camera's thread. */
static int check_frames(struct camera *camera, const struct filter_chain *chain, struct error *why)
{
    struct recipe recipe = camera->config.engine.options.recipe;
    struct camera_status status;
    camera_get_status(camera, &status);
    if (status.format.width == 0 || status.captured.fourcc == 0 || !is_source_settled(camera))
        return 0;
    const struct engine_frames frames = {.captured = status.captured.fourcc,
                                         .width = status.captured.width,
                                         .height = status.captured.height,
                                         .format = status.format};
    recipe.view = VIEW_PICTURE;
    engine_frames_set_captured(&recipe, &frames);
    const int r = recipe_check_frames(&recipe, &status.format, chain, why);
    return r < 0 ? r
                 : designer_check_memory(camera->designer, &frames, chain, camera_get_view(camera),
                                         why);
}

int camera_set_filter(struct camera *camera, const struct filter_chain *chain, unsigned fade_frames,
                      uint64_t *ret_serial, struct error *why)
{
    return camera_set_filter_and_view(camera, chain, camera_get_view(camera), fade_frames,
                                      ret_serial, why);
}

int camera_set_filter_and_view(struct camera *camera, const struct filter_chain *chain,
                               enum view_kind view, unsigned fade_frames, uint64_t *ret_serial,
                               struct error *why)
{
    int r = filter_edit_check(chain, why);
    if (r < 0)
        return r;
    if (fade_frames > CAMERA_MAX_FADE)
        return error_set(why, EINVAL, "a fade of %u frames is out of range: expected 0 .. %d",
                         fade_frames, CAMERA_MAX_FADE);
    r = check_frames(camera, chain, why);
    if (r < 0)
        return r;
    struct desired *desired = mailbox_begin_change(&camera->mailbox);
    filter_chain_assign(&desired->filter, chain);
    desired->view = view;
    desired->fade_frames = fade_frames;
    *ret_serial = desired->filter_serial = ++camera->newest_serial;
    mailbox_end_change(&camera->mailbox);
    return 0;
}

uint64_t camera_get_filter(struct camera *camera, struct filter_chain *ret)
{
    const struct desired *desired = &camera->mailbox.desired; /* this thread's own */
    *ret = *desired_filter(desired);
    return desired_serial(desired);
}

/* The filter may be that of a source which is not settled; then the new serial is that filter's. */
uint64_t camera_set_view(struct camera *camera, enum view_kind view)
{
    struct camera_status status;
    camera_get_status(camera, &status); /* settles a source whose result is known by now */
    struct desired *desired = mailbox_begin_change(&camera->mailbox);
    const uint64_t serial = ++camera->newest_serial;
    if (desired_filter(desired) == &desired->source.filter)
        desired->source.filter_serial = serial;
    else
        desired->filter_serial = serial;
    desired->view = view;
    desired->fade_frames = 0;
    mailbox_end_change(&camera->mailbox);
    return serial;
}

enum view_kind camera_get_view(const struct camera *camera)
{
    return camera->mailbox.desired.view; /* this thread's own */
}

int camera_set_source(struct camera *camera, const struct config_source *request,
                      const struct settings *controls, const struct filter_chain *filter,
                      uint64_t *ret_number, struct error *why)
{
    int r = filter != NULL ? filter_edit_check(filter, why) : 0;
    if (r < 0)
        return r;
    if (!is_source_settled(camera))
        return error_set(why, EBUSY, "the camera is still opening another source");
    struct desired *desired = mailbox_begin_change(&camera->mailbox);
    struct desired_source *source = &desired->source;
    source->number++;
    source->request = *request;
    source->controls = controls != NULL ? *controls : (struct settings){.count = 0};
    if (filter != NULL) {
        filter_chain_assign(&source->filter, filter);
        source->filter_serial = ++camera->newest_serial;
    }
    *ret_number = source->number;
    mailbox_end_change(&camera->mailbox);
    return 0;
}

void camera_want_controls(struct camera *camera, const struct settings *settings)
{
    struct desired *desired = mailbox_begin_change(&camera->mailbox);
    desired->controls = *settings;
    desired->controls_version++;
    mailbox_end_change(&camera->mailbox);
}

void camera_set_has_readers(struct camera *camera, bool has_readers)
{
    mailbox_begin_change(&camera->mailbox)->has_readers = has_readers;
    mailbox_end_change(&camera->mailbox);
}

/* ---- requests ---- */

int camera_snapshot(struct camera *camera, bool with_before, camera_snapshot_fn *done,
                    void *context)
{
    struct request *request;

    pthread_mutex_lock(&camera->mailbox.lock);
    struct fftd_format format = camera->mailbox.status.format;
    enum camera_state state = camera->mailbox.status.state;
    pthread_mutex_unlock(&camera->mailbox.lock);
    if (!camera_may_deliver(state))
        return -ENODEV;
    if (format.width == 0)
        return -EAGAIN;
    int r = request_create_snapshot(&request, &format, with_before, done, context);
    if (r == 0)
        mailbox_send(&camera->mailbox, request);
    return r;
}

static int send_controls(struct camera *camera, enum request_kind kind,
                         const struct settings *settings, camera_controls_fn *done, void *context)
{
    struct request *request;
    int r = request_create_controls(&request, kind, settings, done, context);
    if (r < 0)
        return r;
    const struct desired *desired = &camera->mailbox.desired; /* this thread's own */
    request->controls.version = desired->controls_version;
    request->controls.source_number = desired->source.number;
    mailbox_send(&camera->mailbox, request);
    return 0;
}

int camera_list_controls(struct camera *camera, camera_controls_fn *done, void *context)
{
    return send_controls(camera, REQUEST_LIST_CONTROLS, NULL, done, context);
}

int camera_set_controls(struct camera *camera, const struct settings *settings,
                        camera_controls_fn *done, void *context)
{
    return send_controls(camera, REQUEST_SET_CONTROLS, settings, done, context);
}

/* ---- tuning ---- */

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

/* ---- status ---- */

void camera_get_adaptation(struct camera *camera, struct observer_status *ret)
{
    observer_get_status(camera->observer, ret);
}

void camera_get_status(struct camera *camera, struct camera_status *ret)
{
    const struct mailbox *mailbox = &camera->mailbox;

    pthread_mutex_lock(&camera->mailbox.lock);
    *ret = mailbox->status;
    int64_t silent_ns = clock_now_ns() - mailbox->published_ns;
    pthread_mutex_unlock(&camera->mailbox.lock);
    /* A caller who sees the result of a change must also see its filter in the desired state. */
    settle_source(camera, ret);
    settle_filter(camera, ret);
    ret->wanted_serial = desired_serial(&mailbox->desired); /* this thread's own */
    if (ret->failed_serial != camera->newest_serial)
        ret->filter_problem[0] = '\0';
    /* The rate is counted when frames come, so it has to be corrected when they have stopped. */
    if ((double)silent_ns * ret->rate > 3.0 * (double)NS_PER_S && silent_ns > 2 * NS_PER_S)
        ret->rate = 0;
    observer_get_copied(camera->observer, &ret->copied[COPY_OBSERVE]);
}

int64_t camera_progress_ns(struct camera *camera)
{
    return atomic_load(&camera->mailbox.progress_ns);
}
