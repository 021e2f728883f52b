/* The main thread's side of a camera. It writes desired state and requests into the mailbox, and
 * takes status, answers and rings out of it. */
#include "camera/camera_private.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

#include "camera/thread.h"
#include "core/clock.h"
#include "core/secret.h"
#include "filters/filter_edit.h"

/* How long camera_halt and camera_stop wait for the threads. It leaves a daemon time to end within
 * a second, even on a busy machine. */
#define STOP_TIMEOUT_NS (600 * NS_PER_MS)

/* ---- start and stop ---- */

static void destroy_rings(struct mailbox *mailbox)
{
    for (unsigned i = 0; i < CONFIG_MAX_OUTPUTS; i++)
        output_mailbox_destroy_rings(&mailbox->output[i]);
}

/* As designer_destroy, for all of them. */
static int destroy_designers(struct camera *camera, int64_t deadline_ns)
{
    int r = 0;
    for (unsigned i = 0; i < CONFIG_MAX_OUTPUTS; i++) {
        const int ended = designer_destroy(camera->output[i].designer, deadline_ns);
        if (ended == 0)
            camera->output[i].designer = NULL;
        else
            r = ended;
    }
    return r;
}

/* The threads have ended, or were never started. */
static void destroy(struct camera *camera)
{
    observer_destroy(camera->observer, 0);
    desired_drop(&camera->reconciler.desired);
    mailbox_finish(&camera->mailbox);
    designer_shares_finish(&camera->shares);
    free(camera);
}

static int create_designer(struct camera *camera, unsigned output, struct error *why)
{
    struct reconciler_output *created = &camera->output[output];
    struct camera_status *status = &camera->mailbox.output[output].status;
    const struct designer_share share = {.shares = &camera->shares, .output = output};
    config_of_output(&created->config, &camera->config, output);
    const int r = designer_create(&created->designer, NULL, &created->config,
                                  camera->mailbox.wake_fd, &share, why);
    if (r < 0)
        return r;
    secret_hide(status->uri, sizeof status->uri, camera->config.camera.source.uri);
    secret_hide(status->source, sizeof status->source, camera->config.camera.source.uri);
    snprintf(status->device, sizeof status->device, "%s", designer_device_name(created->designer));
    status->device_memory = designer_device_memory(created->designer);
    status->budget = designer_budget(created->designer);
    return 0;
}

/* Everything up to the camera's thread. */
static int prepare(struct camera *camera, bool wait, struct error *why)
{
    struct mailbox *mailbox = &camera->mailbox;
    int r = observer_create(&camera->observer, camera->config.output.measures, why);
    if (r == 0)
        observer_take_motion(camera->observer, config_motion_block(camera->config.output.motion));
    for (unsigned i = 0; r == 0 && i < config_output_count(&camera->config); i++)
        r = create_designer(camera, i, why);
    if (r < 0)
        return r;
    atomic_store(&mailbox->progress_ns, clock_now_ns());
    reconciler_init(&camera->reconciler, &camera->config, mailbox, camera->output, &camera->shares,
                    camera->observer);
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

int camera_start(struct camera **ret, const struct config *config, struct ring *const *continued,
                 bool wait, struct error *why)
{
    const unsigned count = config_output_count(config);
    struct camera *camera = calloc(1, sizeof *camera);
    if (camera == NULL) {
        for (unsigned i = 0; continued != NULL && i < count; i++)
            ring_destroy(continued[i]);
        return error_set(why, ENOMEM, "out of memory while creating a camera");
    }
    camera->config = *config;
    camera->begun = count;
    int r = mailbox_init(&camera->mailbox, config, why);
    for (unsigned i = 0; continued != NULL && i < count; i++)
        camera->mailbox.output[i].ring = continued[i];
    const int shared = designer_shares_init(&camera->shares, config, r < 0 ? NULL : why);
    r = r < 0 ? r : shared;
    for (unsigned i = 0; i < count; i++)
        camera->newest_serial[i] = camera->mailbox.desired.output[i].filter_serial;
    if (r == 0)
        r = prepare(camera, wait, why);
    if (r == 0) {
        *ret = camera;
        return 0;
    }
    /* A designer that is building an engine may take very long. It can be left behind, because the
     * caller gives up and exits. */
    if (destroy_designers(camera, clock_now_ns() + STOP_TIMEOUT_NS) == 0) {
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
    r = destroy_designers(camera, deadline_ns);
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
 * source becomes the desired one, or the desired filter stays. The status of another output may
 * still have the result before. */
static void settle_source(struct camera *camera, const struct camera_status *status)
{
    if (status->source_number <= camera->settled_source)
        return;
    camera->settled_source = status->source_number;
    struct desired *desired = mailbox_begin_change(&camera->mailbox);
    if (desired_is_of_source(desired, CAMERA_MAIN) && status->source_problem[0] == '\0') {
        struct desired_output *output = &desired->output[CAMERA_MAIN];
        filter_chain_assign(&output->filter, &desired->source.filter);
        output->filter_serial = desired->source.filter_serial;
        output->fade_frames = 0;
    }
    desired->source.filter_serial = 0;
    mailbox_end_change(&camera->mailbox);
}

/* Withdraws the newest change of the filter or the view if it could not be made: what frames are
 * filtered with is desired again, with its serial. No later engine then fails because of it. */
static void settle_filter(struct camera *camera, unsigned output,
                          const struct camera_status *status)
{
    struct filter_chain chain;
    enum view_kind view;
    if (!camera_is_source_settled(camera) || status->failed_serial == 0 ||
        status->failed_serial != camera->mailbox.desired.output[output].filter_serial)
        return;
    const uint64_t serial = designer_get_taken(camera->output[output].designer, &chain, &view);
    if (serial != 0 && serial != status->failed_serial) {
        struct desired_output *desired = &mailbox_begin_change(&camera->mailbox)->output[output];
        filter_chain_assign(&desired->filter, &chain);
        desired->view = view;
        desired->filter_serial = serial;
        desired->fade_frames = 0;
        mailbox_end_change(&camera->mailbox);
        camera->events[output] |= CAMERA_EVENT_WITHDRAWN;
        eventfd_write(camera->mailbox.event_fd, 1);
    }
    filter_chain_drop(&chain);
}

/* Frees the place of an output that has ended, or never began. */
static void free_place(struct camera *camera, unsigned output)
{
    struct reconciler_output *ended = &camera->output[output];
    struct output_mailbox *box = &camera->mailbox.output[output];
    if (designer_destroy(ended->designer, 0) < 0)
        return; /* its thread ends later, and says so */
    ended->designer = NULL;
    filter_chain_drop(&ended->config.filter);
    designer_share_release(&(struct designer_share){.shares = &camera->shares, .output = output});
    output_mailbox_destroy_rings(box);
}

void camera_free_places(struct camera *camera)
{
    bool ended[CONFIG_MAX_OUTPUTS];
    pthread_mutex_lock(&camera->mailbox.lock);
    for (unsigned i = 0; i < CONFIG_MAX_OUTPUTS; i++)
        ended[i] = camera->mailbox.output[i].ended;
    pthread_mutex_unlock(&camera->mailbox.lock);
    for (unsigned i = 0; i < CONFIG_MAX_OUTPUTS; i++)
        if (ended[i] && camera->output[i].designer != NULL)
            free_place(camera, i);
}

void camera_take_events(struct camera *camera, unsigned events[CONFIG_MAX_OUTPUTS])
{
    struct mailbox *mailbox = &camera->mailbox;
    struct ring *retired[CONFIG_MAX_OUTPUTS];
    eventfd_t count;
    eventfd_read(mailbox->event_fd, &count);

    pthread_mutex_lock(&mailbox->lock);
    struct request *answered = mailbox->answered;
    mailbox->answered = NULL;
    for (unsigned i = 0; i < CONFIG_MAX_OUTPUTS; i++) {
        struct output_mailbox *box = &mailbox->output[i];
        events[i] = box->events;
        retired[i] = box->retired;
        box->events = 0;
        box->retired = NULL;
    }
    pthread_mutex_unlock(&mailbox->lock);

    for (unsigned i = 0; i < CONFIG_MAX_OUTPUTS; i++) {
        struct camera_status status;
        if (!camera_has_output(camera, i)) {
            events[i] = 0;
            continue;
        }
        camera_get_status(camera, i, &status); /* settles what the events are about */
        events[i] |= camera->events[i];
        camera->events[i] = 0;
    }
    request_answer(answered);
    for (unsigned i = 0; i < CONFIG_MAX_OUTPUTS; i++)
        ring_destroy(retired[i]);
    camera_free_places(camera);
}

struct ring *camera_ring(struct camera *camera, unsigned output)
{
    struct mailbox *mailbox = &camera->mailbox;
    struct output_mailbox *box = &mailbox->output[output];
    struct ring *older = NULL;

    pthread_mutex_lock(&mailbox->lock);
    struct ring *ring = box->ring;
    const bool changed = box->served != ring;
    if (changed) {
        older = box->retired;
        box->retired = box->served;
        box->served = ring;
    }
    pthread_mutex_unlock(&mailbox->lock);
    if (changed)
        eventfd_write(mailbox->event_fd, 1); /* the next camera_take_events destroys it */
    ring_destroy(older);
    return ring;
}

/* ---- desired state ---- */

int camera_set_source(struct camera *camera, const struct capture_request *request,
                      const struct settings *controls, const struct filter_chain *filter,
                      uint64_t *ret_number, struct error *why)
{
    int r = filter != NULL ? filter_edit_check(filter, why) : 0;
    if (r < 0)
        return r;
    if (!camera_is_source_settled(camera))
        return error_set(why, EBUSY, "the camera is still opening another source");
    struct desired *desired = mailbox_begin_change(&camera->mailbox);
    struct desired_source *source = &desired->source;
    source->number++;
    source->request = *request;
    source->controls = controls != NULL ? *controls : (struct settings){.count = 0};
    if (filter != NULL) {
        filter_chain_assign(&source->filter, filter);
        source->filter_serial = ++camera->newest_serial[CAMERA_MAIN];
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

/* ---- requests ---- */

int camera_snapshot(struct camera *camera, unsigned output, bool with_before,
                    camera_snapshot_fn *done, void *context)
{
    struct request *request;

    pthread_mutex_lock(&camera->mailbox.lock);
    struct fftd_format format = camera->mailbox.output[output].status.format;
    enum camera_state state = camera->mailbox.output[output].status.state;
    pthread_mutex_unlock(&camera->mailbox.lock);
    if (!camera_may_deliver(state))
        return -ENODEV;
    if (format.width == 0)
        return -EAGAIN;
    int r = request_create_snapshot(&request, output, &format, with_before, done, context);
    if (r == 0)
        mailbox_send(&camera->mailbox, request);
    return r;
}

int camera_ask_controls(struct camera *camera, const struct settings *settings,
                        camera_controls_fn *done, void *context)
{
    const struct desired *desired = &camera->mailbox.desired; /* this thread's own */
    struct request *request = calloc(1, sizeof *request);
    if (request == NULL)
        return -ENOMEM;
    *request = (struct request){.kind = REQUEST_LIST_CONTROLS,
                                .context = context,
                                .controls = {.done = done,
                                             .version = desired->controls_version,
                                             .source_number = desired->source.number}};
    if (settings != NULL) {
        request->kind = REQUEST_SET_CONTROLS;
        request->controls.settings = *settings;
    }
    mailbox_send(&camera->mailbox, request);
    return 0;
}

/* ---- status ---- */

struct designer *camera_designer(const struct camera *camera, unsigned output)
{
    return camera->output[output].designer;
}

void camera_get_adaptation(struct camera *camera, struct observer_status *ret)
{
    observer_get_status(camera->observer, ret);
}

void camera_get_status(struct camera *camera, unsigned output, struct camera_status *ret)
{
    const struct mailbox *mailbox = &camera->mailbox;
    const struct output_mailbox *box = &mailbox->output[output];

    pthread_mutex_lock(&camera->mailbox.lock);
    *ret = box->status;
    int64_t silent_ns = clock_now_ns() - box->published_ns;
    pthread_mutex_unlock(&camera->mailbox.lock);
    /* A caller who sees the result of a change must also see its filter in the desired state. */
    settle_source(camera, ret);
    settle_filter(camera, output, ret);
    ret->wanted_serial = desired_serial(&mailbox->desired, output); /* this thread's own */
    if (ret->failed_serial != camera->newest_serial[output])
        ret->filter_problem[0] = '\0';
    /* The rate is counted when frames come, so it has to be corrected when they have stopped. */
    if ((double)silent_ns * ret->rate > 3.0 * (double)NS_PER_S && silent_ns > 2 * NS_PER_S)
        ret->rate = 0;
    ret->copied[COPY_CAPTURE] = ret->counts.copied;
    observer_get_copied(camera->observer, &ret->copied[COPY_OBSERVE]);
}

int64_t camera_progress_ns(struct camera *camera)
{
    return atomic_load(&camera->mailbox.progress_ns);
}
