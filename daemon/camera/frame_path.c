#include "camera/frame_path.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>

#include "camera/snapshot.h"
#include "core/clock.h"
#include "service/log.h"

/* ---- the engine's access to the ring ---- */

static void release_ring(void *mapping)
{
    ring_unmap(mapping);
}

static bool has_suitable_output(const struct frame_path *path)
{
    return path->output != NULL && path->engine != NULL &&
           engine_output_suits(path->output, path->engine);
}

/* Lets the engine store results into the ring's slots, if it is built for the ring's frames and its
 * device can. Otherwise the engine copies results. */
static void update_output(struct frame_path *path)
{
    struct error why;

    if (has_suitable_output(path))
        return;
    engine_output_destroy(path->output);
    path->output = NULL;
    if (path->ring == NULL || path->engine == NULL ||
        memcmp(&path->engine_frames.format, ring_format(path->ring), sizeof(struct fftd_format)) !=
            0)
        return;
    struct engine_output_memory memory = {
        .count = ring_slots(path->ring),
        .release = release_ring,
        .context = ring_keep_mapped(path->ring),
    };
    for (unsigned i = 0; i < memory.count; i++)
        memory.frame[i] = ring_frame(path->ring, i);
    const int r = engine_output_create(&path->output, path->engine, &memory, &why);
    if (r < 0)
        ring_unmap(memory.context);
    report_output(path->report, path->output, r < 0 ? why.text : "");
}

void frame_path_set_ring(struct frame_path *path, struct ring *ring)
{
    engine_output_destroy(path->output);
    path->output = NULL;
    path->ring = ring;
    path->ring_lost = false;
    update_output(path);
}

/* ---- frames in flight ---- */

static void release_frame(struct frame_path *path, struct flight *flight)
{
    if (flight->holds_frame)
        recovery_release(&path->recovery, &flight->frame);
    flight->holds_frame = false;
}

static struct flight *pop_flight(struct frame_path *path)
{
    struct flight *flight = &path->flight[path->first_flight];
    path->first_flight = (path->first_flight + 1) % ENGINE_MAX_IN_FLIGHT;
    path->flights--;
    return flight;
}

static void publish(struct frame_path *path, struct flight *flight, const struct engine_done *done)
{
    flight->meta.filter_serial = done->filter_serial;
    flight->meta.flags |= done->blended ? FFTD_FLAG_BLENDED : 0;
    flight->meta.flags |= done->view != VIEW_PICTURE ? FFTD_FLAG_VIEW : 0;
    flight->meta.submitted_ns = done->submitted_ns;
    flight->meta.finished_ns = done->finished_ns;
    observer_label(path->observer, flight->number,
                   &flight->meta); /* newer measures than at submission */
    int64_t published_ns = ring_publish(path->ring, &flight->write, &flight->meta);
    path->published++;
    /* The slot does not change until this thread writes it again. */
    snapshot_take_after(flight->snapshots, flight->write.data, ring_newest(path->ring),
                        flight->meta.filter_serial);
    release_frame(path, flight);
    report_frame(path->report, &flight->meta, done, published_ns, ring_newest(path->ring),
                 &path->recovery);
    mailbox_answer(path->report->mailbox, flight->snapshots);
    flight->snapshots = NULL;
    path->failure.text[0] = '\0';
    path->failures = 0;
}

static void drop_flight(struct frame_path *path, struct flight *flight)
{
    release_frame(path, flight);
    if (!path->ring_lost)
        ring_cancel(path->ring, &flight->write);
    report_dropped(path->report);
    request_fail(flight->snapshots, -EIO, NULL);
    mailbox_answer(path->report->mailbox, flight->snapshots);
    flight->snapshots = NULL;
}

/* The device refused, lost or kept a frame, so nothing on it can be relied on any more. */
static void fail(struct frame_path *path, const struct error *why)
{
    struct engine *engine = path->engine;
    path->ring_lost = engine_abandon(engine);
    path->engine = NULL;
    update_output(path);
    frame_path_update_memory(path); /* before frames in that memory are released */
    while (path->flights > 0)
        drop_flight(path, pop_flight(path));
    designer_return_engine(path->designer, engine, true);
    path->failure = *why;
    path->engine_failed = true;
}

void frame_path_collect(struct frame_path *path)
{
    struct engine_done done;
    struct error why = {{0}};

    while (path->flights > 0) {
        int r = engine_collect(path->engine, false, &done, &why);
        if (r == -EAGAIN)
            return;
        if (r < 0) {
            fail(path, &why);
            return;
        }
        path->engine_moved_ns = clock_now_ns();
        publish(path, pop_flight(path), &done);
    }
}

int64_t frame_path_deadline_ns(const struct frame_path *path)
{
    return path->flights > 0 ? path->engine_moved_ns + path->frame_timeout_ns : INT64_MAX;
}

void frame_path_check_deadline(struct frame_path *path, int64_t now_ns)
{
    struct error why;

    int64_t late_ns = now_ns - frame_path_deadline_ns(path);
    if (late_ns < 0)
        return;
    /* The deadline restarts while the driver compiles: many drivers launch nothing until they are
     * done. It also restarts if this thread is late, since then the whole process did not run. */
    if (late_ns > NS_PER_S || designer_get_state(path->designer) == DESIGNER_BUSY) {
        path->engine_moved_ns = now_ns;
        return;
    }
    error_set(&why, EIO, "the device has kept a frame for %.1f s",
              (double)path->frame_timeout_ns / (double)NS_PER_S);
    fail(path, &why);
}

bool frame_path_is_healthy(const struct frame_path *path)
{
    const enum designer_state state = designer_get_state(path->designer);
    if (state == DESIGNER_IDLE)
        return path->flights == 0; /* otherwise the device must make progress */
    return state == DESIGNER_BUSY;
}

void frame_path_drain(struct frame_path *path)
{
    for (frame_path_collect(path); path->flights > 0; frame_path_collect(path)) {
        struct pollfd fd = {.fd = engine_fd(path->engine), .events = POLLIN};
        int64_t until_ns =
            clock_earlier_ns(frame_path_deadline_ns(path), report_heartbeat_due_ns(path->report));
        int64_t left_ns = until_ns - clock_now_ns();
        struct timespec timeout = clock_timespec(left_ns > 0 ? left_ns : 0);
        if (ppoll(&fd, 1, &timeout, NULL) == 0)
            frame_path_check_deadline(path, clock_now_ns());
        if (clock_now_ns() >= report_heartbeat_due_ns(path->report))
            report_heartbeat(path->report, path->ring, frame_path_is_healthy(path));
    }
}

/* ---- frames from the source ---- */

static bool has_submitted_all(const struct frame_path *path)
{
    return path->limit != 0 && path->published + path->flights >= path->limit;
}

bool frame_path_is_complete(const struct frame_path *path)
{
    return path->flights == 0 && has_submitted_all(path);
}

static bool has_room(const struct frame_path *path)
{
    return path->ring == NULL || ring_has_room(path->ring);
}

bool frame_path_wants_frame(const struct frame_path *path)
{
    if (path->engine == NULL)
        return !recovery_is_unpaced(&path->recovery) &&
               (path->ring == NULL || !ring_is_lossless(path->ring));
    return path->flights < path->max_flights && !has_submitted_all(path) && has_room(path);
}

bool frame_path_is_needed(const struct frame_path *path)
{
    return path->ring != NULL && ring_is_lossless(path->ring) &&
           (path->flights > 0 || !ring_is_read(path->ring));
}

int frame_path_room_fd(const struct frame_path *path)
{
    const bool waits_for_end = path->recovery.state == CAMERA_FINISHED || has_submitted_all(path);
    return !has_room(path) || (waits_for_end && frame_path_is_needed(path))
               ? ring_room_fd(path->ring)
               : -1;
}

void frame_path_take_room(struct frame_path *path)
{
    eventfd_t count;
    if (path->ring != NULL)
        eventfd_read(ring_room_fd(path->ring), &count);
}

_Static_assert(VIEW_MAX_MARKS >= PERIODIC_MAX_REPORTS, "a job has a mark for each wave");

/* Marks what filters that adapt have found. */
static void put_marks(struct engine_job *job, struct observer *observer)
{
    struct observer_status status;
    observer_get_status(observer, &status);
    const struct findings *found = &status.found;
    for (unsigned i = 0; status.wanted.removes_waves && i < found->wave_count; i++) {
        const struct periodic_report *wave = &found->wave[i];
        job->mark[job->mark_count++] =
            (struct view_mark){.fx = wave->fx, .fy = wave->fy, .is_removed = wave->is_removed};
    }
}

static void submit(struct frame_path *path, const struct capture_frame *frame, bool discontinuity)
{
    struct flight *flight =
        &path->flight[(path->first_flight + path->flights) % ENGINE_MAX_IN_FLIGHT];
    struct error why = {{0}};

    *flight = (struct flight){.frame = *frame,
                              .holds_frame = true,
                              .meta = {.source_sequence = frame->sequence,
                                       .captured_ns = frame->captured_ns,
                                       .dequeued_ns = frame->dequeued_ns,
                                       .flags = discontinuity ? FFTD_FLAG_DISCONTINUITY : 0}};
    ring_begin(path->ring, &flight->write);
    struct engine_job job = {.out = flight->write.data,
                             .output = path->output,
                             .output_frame = flight->write.slot,
                             .is_first =
                                 path->is_first || path->last_start != path->recovery.start_count,
                             .tag = flight};
    path->is_first = false;
    path->last_start = path->recovery.start_count;
    memcpy(job.in, frame->plane, sizeof job.in);
    memcpy(job.in_stride, frame->stride, sizeof job.in_stride);
    if (frame->memory >= 0) {
        job.memory = path->memory;
        job.frame = (unsigned)frame->memory;
    }
    /* Observe the frame and take snapshots while the host may still read it. */
    flight->number = observer_offer(path->observer, frame, recovery_is_unpaced(&path->recovery));
    observer_label(path->observer, flight->number, &flight->meta);
    job.correction = observer_correct(path->observer, frame);
    steady_take(&path->steady, &path->frames, frame, job.shift);
    if (engine_view(path->engine) == VIEW_PEAKS)
        put_marks(&job, path->observer);
    flight->snapshots = path->snapshots;
    path->snapshots = NULL;
    snapshot_take_before(flight->snapshots, &path->frames.format, path->frames.captured,
                         path->demosaic, frame);
    int r = engine_submit(path->engine, &job, &why);
    if (path->flights++ == 0)
        path->engine_moved_ns = clock_now_ns();
    if (r < 0)
        fail(path, &why);
    else if (job.memory == NULL)
        release_frame(path, flight);
}

void frame_path_take(struct frame_path *path)
{
    struct capture_frame frame;
    bool discontinuity;

    if (recovery_dequeue(&path->recovery, &frame, &discontinuity) < 0)
        return;
    if (path->engine != NULL && !path->ring_lost) {
        submit(path, &frame, discontinuity);
        return;
    }
    recovery_release(&path->recovery, &frame);
    report_dropped(path->report);
}

/* ---- the engine and its memory ----
 *
 * The memory belongs to the device, so it serves one engine after another while these use the same
 * line layout; the source does not notice a change of filters. It must be taken back before the
 * engine with which the device is given up. From then on the source captures into its own memory,
 * until there is another engine. */

static bool has_suitable_memory(const struct frame_path *path)
{
    if (path->engine == NULL)
        return path->memory == NULL;
    return path->memory != NULL && engine_memory_suits(path->memory, path->engine);
}

/* Returns whether a streaming source must be restarted for other memory, because it writes into the
 * old memory or was started without any. A source that has refused all memory is left alone. */
static bool needs_restart(const struct frame_path *path)
{
    const struct recovery *recovery = &path->recovery;
    if (recovery->phase != SOURCE_STREAMING)
        return false;
    return recovery->memory.mode != MEMORY_COPIED ||
           (path->engine != NULL && !recovery->memory.settled);
}

void frame_path_update_memory(struct frame_path *path)
{
    struct recovery *recovery = &path->recovery;
    struct frame_memory *memory = NULL;
    struct error why;

    if (has_suitable_memory(path))
        return;
    bool restart = needs_restart(path);
    if (restart)
        recovery_stop(recovery);
    if (path->engine != NULL && engine_memory_create(&memory, path->engine, &why) < 0)
        log_warning("frames will be copied: %s", why.text);
    recovery_lend(recovery, memory);
    engine_memory_destroy(path->memory);
    path->memory = memory;
    if (restart)
        recovery_start(recovery);
}

void frame_path_set_engine(struct frame_path *path, const struct design *design)
{
    frame_path_drain(path);
    if (path->engine != NULL)
        designer_return_engine(path->designer, path->engine, false);
    path->engine = design->engine;
    path->is_first = true;
    path->engine_frames = design->frames;
    update_output(path);
    frame_path_update_memory(path);
    report_engine(path->report, path->engine, &design->memory, &design->device);
}

bool frame_path_engine_fits(const struct frame_path *path)
{
    return path->engine != NULL && engine_frames_equal(&path->engine_frames, &path->frames);
}

/* ---- life ---- */

void frame_path_init(struct frame_path *ret, const struct config *config, struct designer *designer,
                     struct observer *observer, struct report *report)
{
    *ret = (struct frame_path){
        .designer = designer,
        .observer = observer,
        .report = report,
        .max_flights = config->engine.options.in_flight,
        .limit = config->output.frames,
        .demosaic = config->engine.options.recipe.demosaic,
        .frame_timeout_ns = (int64_t)(config->engine.frame_timeout_s * (double)NS_PER_S),
    };
    recovery_init(&ret->recovery, &config->camera);
}

void frame_path_finish(struct frame_path *path)
{
    frame_path_drain(path);
    recovery_finish(&path->recovery);
    steady_finish(&path->steady);
    engine_memory_destroy(path->memory);
    engine_output_destroy(path->output);
    if (path->engine != NULL)
        designer_return_engine(path->designer, path->engine, false);
}
