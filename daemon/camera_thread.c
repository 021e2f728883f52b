/* The camera's own thread: the frame path, and what to do when it breaks.
 *
 *     source -> engine -> ring
 *
 * The thread sleeps in one ppoll on the source, the engine and the wake-up descriptor. While the
 * engine has all the frames it takes, the source is not looked at: frames wait in the driver, and
 * the next dequeue passes over all but the newest. A frame that the engine reads where the source
 * wrote it goes back to the source once it is finished, any other at once. Every time-out is a
 * deadline computed from what is known anyway, so that a timer never wakes the thread while frames
 * flow. */
#include "camera_private.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>

#include "core/clock.h"
#include "core/format.h"
#include "log.h"

/* Rows of a published frame begin on cache lines, and where graphics APIs can import them. */
#define ROW_ALIGN_BYTES 64

/* While no frames flow, the ring and the watchdog hear of us this often. */
#define HEARTBEAT_NS    (1 * NS_PER_S)

/* Of a ring whose memory no process before this one has left. */
#define FIRST_EPOCH     1

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* While frames flow they are what the others hear of us. */
static int64_t heartbeat_due_ns(const struct camera *camera)
{
    return camera->heartbeat_ns + HEARTBEAT_NS;
}

/* ---- frames ---- */

static void let_frame_go(struct camera *camera, struct flight *flight)
{
    if (flight->holds_frame)
        source_release(&camera->source, &flight->frame);
    flight->holds_frame = false;
}

static void publish(struct camera *camera, struct flight *flight, const struct engine_done *done)
{
    flight->meta.filter_serial = done->filter_serial;
    flight->meta.submitted_ns = done->submitted_ns;
    flight->meta.finished_ns = done->finished_ns;
    int64_t published_ns = ring_publish(camera->ring, &flight->write, &flight->meta);
    /* The slot stays as it is until this thread begins to write it again. */
    snapshot_take_after(flight->snapshots, flight->write.data, ring_newest(camera->ring));
    let_frame_go(camera, flight);
    camera_record(camera, flight, done, published_ns);
    camera->engine_failure.text[0] = '\0';
    camera->engine_failures = 0;
}

static struct flight *pop_flight(struct camera *camera)
{
    struct flight *flight = &camera->flight[camera->first_flight];
    camera->first_flight = (camera->first_flight + 1) % ENGINE_MAX_IN_FLIGHT;
    camera->flights--;
    return flight;
}

static void drop_flight(struct camera *camera, struct flight *flight)
{
    let_frame_go(camera, flight);
    ring_cancel(camera->ring, &flight->write);
    snapshot_fail(flight->snapshots, -EIO);
    pthread_mutex_lock(&camera->lock);
    camera->status.dropped_engine++;
    if (flight->snapshots != NULL) {
        snapshot_append(&camera->answered, flight->snapshots);
        camera_post_events(camera, 0);
    }
    pthread_mutex_unlock(&camera->lock);
}

static void retry_engine_later(struct camera *camera, const struct error *why)
{
    pthread_mutex_lock(&camera->lock);
    camera->status.engine_failures++;
    pthread_mutex_unlock(&camera->lock);
    error_set(&camera->engine_failure, EIO, "engine: %s", why->text);
    camera->engine_wanted = false;
    camera->engine_retry_ns = clock_now_ns() + clock_backoff_ns(++camera->engine_failures);
}

/* The device refused a frame, lost one or keeps one: nothing it has can be relied on any more. */
static void engine_failed(struct camera *camera, const struct error *why)
{
    struct engine *engine = camera->engine;
    engine_abandon(engine);
    camera->engine = NULL;
    camera_renew_memory(camera); /* before frames in it go back */
    while (camera->flights > 0)
        drop_flight(camera, pop_flight(camera));
    designer_give_back(camera->designer, engine, true);
    retry_engine_later(camera, why);
}

/* Publishes what is finished. */
static void collect(struct camera *camera)
{
    struct engine_done done;
    struct error why = {{0}};

    while (camera->flights > 0) {
        int r = engine_collect(camera->engine, false, &done, &why);
        if (r == -EAGAIN)
            return;
        if (r < 0) {
            engine_failed(camera, &why);
            return;
        }
        camera->engine_moved_ns = clock_now_ns();
        publish(camera, pop_flight(camera), &done);
    }
}

/* When the device has to have finished a frame. */
static int64_t engine_deadline_ns(const struct camera *camera)
{
    return camera->flights > 0 ? camera->engine_moved_ns + camera->frame_timeout_ns : INT64_MAX;
}

/* Gives up on a device that keeps its frames for too long. It has time again from now on if its
 * driver compiles, since many launch nothing meanwhile, or if this thread comes late: then the
 * whole process did not run. */
static void check_engine(struct camera *camera, int64_t now_ns)
{
    struct error why;

    int64_t late_ns = now_ns - engine_deadline_ns(camera);
    if (late_ns < 0)
        return;
    if (late_ns > NS_PER_S || designer_get_state(camera->designer) == DESIGNER_BUSY) {
        camera->engine_moved_ns = now_ns;
        return;
    }
    error_set(&why, EIO, "the device has kept a frame for %.1f s",
              (double)camera->frame_timeout_ns / (double)NS_PER_S);
    engine_failed(camera, &why);
}

/* Publishes all that is under way, or gives it up. */
static void finish_flights(struct camera *camera)
{
    for (collect(camera); camera->flights > 0; collect(camera)) {
        struct pollfd fd = {.fd = engine_fd(camera->engine), .events = POLLIN};
        int64_t until_ns = earlier(engine_deadline_ns(camera), heartbeat_due_ns(camera));
        int64_t left_ns = until_ns - clock_now_ns();
        struct timespec timeout = clock_timespec(left_ns > 0 ? left_ns : 0);
        if (ppoll(&fd, 1, &timeout, NULL) == 0)
            check_engine(camera, clock_now_ns());
        if (clock_now_ns() >= heartbeat_due_ns(camera))
            camera_show_progress(camera);
    }
}

static bool enough_frames(const struct camera *camera)
{
    uint64_t limit = camera->config.frames;
    return limit != 0 && camera->status.published + camera->flights >= limit;
}

/* Whether a frame would be taken if there were one. Without an engine frames are taken to be
 * dropped: the driver must not be mistaken for stalled. */
static bool wants_frames(const struct camera *camera)
{
    return camera->engine == NULL ||
           (camera->flights < camera->config.engine.in_flight && !enough_frames(camera));
}

static struct snapshot *take_snapshots(struct camera *camera, const struct capture_frame *frame)
{
    pthread_mutex_lock(&camera->lock);
    struct snapshot *snapshots = camera->waiting;
    camera->waiting = NULL;
    pthread_mutex_unlock(&camera->lock);
    snapshot_take_before(snapshots, &camera->format, camera->captured, frame);
    return snapshots;
}

static void submit(struct camera *camera, const struct capture_frame *frame, bool discontinuity)
{
    struct flight *flight =
        &camera->flight[(camera->first_flight + camera->flights) % ENGINE_MAX_IN_FLIGHT];
    struct error why = {{0}};

    *flight = (struct flight){.frame = *frame,
                              .holds_frame = true,
                              .meta = {.source_sequence = frame->sequence,
                                       .captured_ns = frame->captured_ns,
                                       .dequeued_ns = frame->dequeued_ns,
                                       .flags = discontinuity ? FFTD_FLAG_DISCONTINUITY : 0}};
    ring_begin(camera->ring, &flight->write);
    struct engine_job job = {.out = flight->write.data, .tag = flight};
    memcpy(job.in, frame->plane, sizeof job.in);
    memcpy(job.in_stride, frame->stride, sizeof job.in_stride);
    if (frame->memory >= 0) {
        job.memory = camera->memory;
        job.frame = (unsigned)frame->memory;
    }
    flight->snapshots = take_snapshots(camera, frame); /* while it is ours to read */
    int r = engine_submit(camera->engine, &job, &why);
    if (camera->flights++ == 0)
        camera->engine_moved_ns = clock_now_ns();
    if (r < 0)
        engine_failed(camera, &why);
    else if (job.memory == NULL)
        let_frame_go(camera, flight);
}

static void take_frame(struct camera *camera)
{
    struct capture_frame frame;
    bool discontinuity;

    if (source_dequeue(&camera->source, &frame, &discontinuity) < 0)
        return;
    if (camera->engine != NULL) {
        submit(camera, &frame, discontinuity);
        return;
    }
    source_release(&camera->source, &frame);
    pthread_mutex_lock(&camera->lock);
    camera->status.dropped_engine++;
    pthread_mutex_unlock(&camera->lock);
}

/* ---- formats, rings and engines ---- */

static bool same_layout(const struct fftd_format *a, const struct fftd_format *b)
{
    return a->fourcc == b->fourcc && a->width == b->width && a->height == b->height;
}

/* Puts a ring for frames of this format in the place of the one there is. */
static int replace_ring(struct camera *camera, const struct fftd_format *format, struct error *why)
{
    uint64_t first_sequence = camera->ring != NULL ? ring_newest(camera->ring) + 1 : 1;
    uint32_t generation = camera->status.generation + 1;
    uint32_t epoch = camera->ring != NULL ? ring_epoch(camera->ring) : FIRST_EPOCH;
    struct ring *ring;
    int r =
        ring_create(&ring, format, camera->config.slots, generation, epoch, first_sequence, why);
    if (r < 0)
        return r;
    ring_set_checksum(ring, camera->config.checksum);
    camera->format = *format;

    pthread_mutex_lock(&camera->lock);
    /* One that the main loop has never seen needs nobody's leave to go. */
    struct ring *unserved = camera->ring != camera->served ? camera->ring : NULL;
    camera->ring = ring;
    camera->status.format = *format;
    camera->status.generation = generation;
    camera_post_events(camera, CAMERA_EVENT_RING);
    pthread_mutex_unlock(&camera->lock);
    if (unserved != NULL)
        ring_retire(unserved); /* an inherited one has readers all the same */
    ring_destroy(unserved);
    camera_show_progress(camera);
    return 0;
}

static void want_engine(struct camera *camera)
{
    camera->engine_wanted = true;
    camera->engine_retry_ns = INT64_MAX;
    designer_want_engine(camera->designer, camera->captured, &camera->format);
}

int camera_adopt_format(struct camera *camera, struct error *why)
{
    const struct fftd_format *captured = &camera->source.capture->format;
    struct fftd_format format;
    int r = format_layout(&format, format_published(captured->fourcc), captured->width,
                          captured->height, ROW_ALIGN_BYTES, why);
    if (r < 0)
        return r;
    format.rate_num = captured->rate_num;
    format.rate_den = captured->rate_den;
    format.primaries = captured->primaries;
    format.transfer = captured->transfer;
    format.matrix = captured->matrix;
    format.full_range = captured->full_range;

    bool is_new = captured->fourcc != camera->captured || !same_layout(&format, &camera->format);
    if (camera->ring == NULL || memcmp(&format, &camera->format, sizeof format) != 0 ||
        ring_slots(camera->ring) != camera->config.slots) {
        finish_flights(camera); /* they belong into the old ring */
        r = replace_ring(camera, &format, why);
        if (r < 0)
            return r;
    }
    camera->captured = captured->fourcc;
    if (is_new)
        want_engine(camera);
    return 0;
}

static bool engine_fits(const struct camera *camera)
{
    return camera->engine_source == camera->captured &&
           same_layout(&camera->engine_format, &camera->format);
}

/* An opened source begins to stream once there are a ring and an engine for what it delivers. */
static void start_when_ready(struct camera *camera)
{
    struct error why = {{0}};

    if (camera->source.phase != SOURCE_OPENED)
        return;
    if (camera->resting)
        source_pause(&camera->source);
    int r = camera_adopt_format(camera, &why);
    if (r < 0)
        source_lose(&camera->source, r, &why);
    if (r < 0 || camera->resting || camera->engine == NULL || !engine_fits(camera))
        return;
    camera_renew_memory(camera);
    source_start(&camera->source);
}

static void swap_engine(struct camera *camera, const struct design *design)
{
    finish_flights(camera);
    if (camera->engine != NULL)
        designer_give_back(camera->designer, camera->engine, false);
    camera->engine = design->engine;
    camera->engine_source = design->source;
    camera->engine_format = design->format;
    camera_renew_memory(camera);
    camera->engine_wanted = false;
    camera->engine_retry_ns = INT64_MAX;
    if (engine_warning(camera->engine) != NULL)
        log_warning("%s", engine_warning(camera->engine));
    log_info("engine: %s", engine_description(camera->engine));
    pthread_mutex_lock(&camera->lock);
    camera_copy_text(camera->status.engine, sizeof camera->status.engine,
                     engine_description(camera->engine));
    camera_post_events(camera, CAMERA_EVENT_STATE);
    pthread_mutex_unlock(&camera->lock);
}

/* A filter that could not be made leaves the one in force; an engine leaves nothing to do but to
 * try again. */
static void design_failed(struct camera *camera, const struct design *design)
{
    if (camera->engine_wanted) {
        retry_engine_later(camera, &design->why);
        return;
    }
    log_error("filter %llu: %s; the one before stays in force",
              (unsigned long long)design->result_serial, design->why.text);
    pthread_mutex_lock(&camera->lock);
    if (design->result_serial == camera->status.wanted_serial)
        camera_copy_text(camera->status.filter_problem, sizeof camera->status.filter_problem,
                         design->why.text);
    camera_post_events(camera, CAMERA_EVENT_FILTER);
    pthread_mutex_unlock(&camera->lock);
}

static void take_design(struct camera *camera)
{
    struct design design;

    if (!designer_take(camera->designer, &design))
        return;
    if (design.result < 0)
        design_failed(camera, &design);
    if (design.engine == NULL)
        return;
    if (design.source != camera->captured ||
        !same_layout(&design.format, &camera->format)) { /* the source has changed since */
        engine_response_free(design.response);
        if (design.engine != camera->engine)
            designer_give_back(camera->designer, design.engine, false);
        return;
    }
    if (design.engine != camera->engine)
        swap_engine(camera, &design);
    engine_apply(camera->engine, design.response, design.serial);
}

/* Stops the source once nobody wants its frames. */
static void pause_when_idle(struct camera *camera)
{
    if (!camera->resting || camera->source.phase != SOURCE_STREAMING)
        return;
    finish_flights(camera);
    source_pause(&camera->source);
}

/* ---- the loop ---- */

struct work {
    bool wake, engine, source;
    bool source_polled; /* only then does its silence mean anything */
};

static void wait_for_work(struct camera *camera, struct work *ret)
{
    bool polled = camera->source.phase != SOURCE_STREAMING || wants_frames(camera);
    struct pollfd fds[] = {
        {.fd = camera->wake_fd, .events = POLLIN},
        {.fd = camera->flights > 0 ? engine_fd(camera->engine) : -1, .events = POLLIN},
        {.fd = polled ? source_fd(&camera->source) : -1, .events = POLLIN | POLLPRI},
    };
    int64_t until_ns = earlier(camera->engine_retry_ns, engine_deadline_ns(camera));
    until_ns = earlier(until_ns, camera->rest_ns);

    if (polled)
        until_ns = earlier(until_ns, source_deadline_ns(&camera->source));
    until_ns = earlier(until_ns, heartbeat_due_ns(camera));

    int64_t left_ns = until_ns - clock_now_ns();
    struct timespec timeout = clock_timespec(left_ns > 0 ? left_ns : 0);
    int count = ppoll(fds, sizeof fds / sizeof fds[0], &timeout, NULL);
    *ret = (struct work){
        .wake = count > 0 && fds[0].revents != 0,
        .engine = count > 0 && fds[1].revents != 0,
        .source = count > 0 && fds[2].revents != 0,
        .source_polled = polled,
    };
}

static void do_due(struct camera *camera)
{
    int64_t now_ns = clock_now_ns();

    if (now_ns >= camera->engine_retry_ns)
        want_engine(camera);
    if (now_ns >= camera->rest_ns)
        camera_consider_rest(camera, now_ns);
    check_engine(camera, now_ns);
    if (now_ns >= heartbeat_due_ns(camera))
        camera_show_progress(camera);
}

/* What may take long comes last: the source's silence means nothing any more once it is over. */
static void do_work(struct camera *camera, const struct work *work)
{
    if (work->engine)
        collect(camera);
    if (camera->source.phase == SOURCE_STREAMING && work->source)
        take_frame(camera);
    else if (work->source_polled)
        source_step(&camera->source, work->source);
    if (work->wake) {
        eventfd_t count;
        eventfd_read(camera->wake_fd, &count);
        take_design(camera);
        camera_do_errands(camera);
        camera_consider_rest(camera, clock_now_ns());
    }
    if (camera->flights == 0 && enough_frames(camera)) {
        source_finish(&camera->source);
        camera->source.state = CAMERA_FINISHED;
        error_set(&camera->source.reason, 0, "%llu frames are done",
                  (unsigned long long)camera->config.frames);
    }
    do_due(camera);
}

void *camera_thread(void *argument)
{
    struct camera *camera = argument;

    camera_consider_rest(camera, clock_now_ns());
    while (!atomic_load(&camera->stop)) {
        struct work work;
        pause_when_idle(camera);
        start_when_ready(camera);
        camera_tell_state(camera);
        camera_tell_control_problem(camera);
        camera_tell_input(camera);
        wait_for_work(camera, &work);
        do_work(camera, &work);
    }
    finish_flights(camera);
    source_finish(&camera->source);
    engine_memory_destroy(camera->memory);
    if (camera->engine != NULL)
        designer_give_back(camera->designer, camera->engine, false);

    pthread_mutex_lock(&camera->lock);
    camera->ended = true;
    pthread_cond_signal(&camera->ended_cond);
    pthread_mutex_unlock(&camera->lock);
    return NULL;
}
