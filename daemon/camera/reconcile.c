#include "camera/reconcile.h"

#include <errno.h>
#include <string.h>

#include "camera/retry_delay.h"
#include "core/clock.h"
#include "core/format.h"
#include "service/log.h"

/* Rows of a published frame begin on cache lines, and where graphics APIs can import them. */
#define ROW_ALIGN_BYTES 64

/* Epoch of a ring that no previous process has left. */
#define FIRST_EPOCH     1

/* The camera pauses when it has had no readers for this time. A reader that returns at once,
 * because the ring was replaced or its program restarted, should not find a camera that must start
 * first. The same holds at the start of the daemon, whose first frames show that everything works.
 */
#define PAUSE_DELAY_NS  (2 * NS_PER_S)

/* ---- the ring ---- */

/* Begins with the ring that follows a previous process's. */
static void continue_ring(struct reconciler *reconciler, struct ring *ring)
{
    ring_set_checksum(ring, reconciler->config->output.checksum);
    frame_path_set_ring(&reconciler->path, ring);
    reconciler->path.frames.format = *ring_format(ring);
    struct camera_status *status = mailbox_begin_report(reconciler->mailbox);
    reconciler->mailbox->ring = ring;
    status->format = *ring_format(ring);
    status->generation = ring_generation(ring);
    status->newest_sequence = ring_newest(ring);
    mailbox_end_report(reconciler->mailbox, 0);
}

/* Replaces the ring by one for frames of this format.
 *
 * A client that sees the old ring retired must find the new one. This thread therefore puts the new
 * ring into the mailbox and posts an event; the main loop switches its server; only then is the old
 * ring retired. */
static int replace_ring(struct reconciler *reconciler, const struct fftd_format *format,
                        struct error *why)
{
    const struct config_output *output = &reconciler->config->output;
    struct mailbox *mailbox = reconciler->mailbox;
    struct ring *old = reconciler->path.ring;
    const uint64_t first_sequence = old != NULL ? ring_newest(old) + 1 : 1;
    const uint32_t generation = old != NULL ? ring_generation(old) + 1 : 1;
    const uint32_t epoch = old != NULL ? ring_epoch(old) : FIRST_EPOCH;
    struct ring *ring;
    int r = ring_create(&ring, format, output->slots, generation, epoch, first_sequence, why);
    if (r < 0)
        return r;
    ring_set_checksum(ring, output->checksum);
    frame_path_set_ring(&reconciler->path, ring);
    reconciler->path.frames.format = *format;

    struct camera_status *status = mailbox_begin_report(mailbox);
    /* A ring that the main loop has never served may be destroyed here. */
    struct ring *unserved = old != mailbox->served ? old : NULL;
    mailbox->ring = ring;
    status->format = *format;
    status->generation = generation;
    mailbox_end_report(mailbox, CAMERA_EVENT_RING);
    ring_destroy(unserved);
    report_heartbeat(&reconciler->report, ring, frame_path_is_healthy(&reconciler->path));
    return 0;
}

/* Replaces a ring into which a failed device may still write. */
static void reconcile_ring(struct reconciler *reconciler)
{
    struct frame_path *path = &reconciler->path;
    if (!path->ring_lost)
        return;
    const struct fftd_format format = *ring_format(path->ring);
    struct error why;
    if (replace_ring(reconciler, &format, &why) < 0)
        path->failure = why; /* the next reconcile tries again */
}

/* Returns the format in which captured frames are published. */
static int published_format(struct fftd_format *ret, enum recipe_planes planes,
                            const struct fftd_format *captured, struct error *why)
{
    int r = format_layout(ret, engine_published(planes, captured->fourcc), captured->width,
                          captured->height, ROW_ALIGN_BYTES, why);
    if (r < 0)
        return r;
    ret->rate_num = captured->rate_num;
    ret->rate_den = captured->rate_den;
    ret->primaries = captured->primaries;
    ret->transfer = captured->transfer;
    ret->matrix = captured->matrix;
    ret->full_range = captured->full_range;
    return 0;
}

/* ---- the engine ---- */

static void request_engine(struct reconciler *reconciler)
{
    reconciler->applied.engine_requested = true;
    reconciler->applied.engine_retry_ns = INT64_MAX;
    designer_request_engine(reconciler->designer, &reconciler->path.frames);
}

/* Reports an engine that failed or was not built. Another one is requested after a retry delay,
 * unless there is one, or one has been requested since. */
static void handle_engine_failure(struct reconciler *reconciler, const struct error *why)
{
    struct frame_path *path = &reconciler->path;
    struct error reason = *why;
    report_engine_failure(&reconciler->report);
    error_set(&path->failure, EIO, "engine: %s", reason.text);
    path->failures++;
    const bool is_needed =
        !frame_path_engine_fits(path) || reconciler->source_change.awaited_serial != 0;
    if (is_needed && !reconciler->applied.engine_requested)
        reconciler->applied.engine_retry_ns =
            clock_now_ns() + retry_delay_ns(path->failures, RETRY_DELAY_LONGEST_BUILD_NS);
}

static void reconcile_engine(struct reconciler *reconciler)
{
    struct frame_path *path = &reconciler->path;
    if (path->engine_failed) {
        path->engine_failed = false;
        handle_engine_failure(reconciler, &path->failure);
    }
    if (clock_now_ns() >= reconciler->applied.engine_retry_ns)
        request_engine(reconciler);
}

/* Takes the designer's result: a response to apply, maybe with a new engine, or a failure. If a
 * filter could not be designed, the previous one stays in use. A new source has no previous filter,
 * so its design is repeated. */
static void take_design(struct reconciler *reconciler)
{
    struct frame_path *path = &reconciler->path;
    struct design design;

    if (!designer_take(reconciler->designer, path->engine != NULL && engine_is_fading(path->engine),
                       &design))
        return;
    const bool is_awaited = reconciler->source_change.awaited_serial != 0 &&
                            design.result_serial >= reconciler->source_change.awaited_serial;
    if (is_awaited && design.result == 0)
        reconciler->source_change.awaited_serial = 0;
    if (design.result < 0 && (reconciler->applied.engine_requested || is_awaited)) {
        reconciler->applied.engine_requested = false;
        handle_engine_failure(reconciler, &design.why);
    } else if (design.result < 0) {
        report_filter_problem(&reconciler->report, design.result_serial, design.why.text);
    }
    if (design.engine == NULL)
        return;
    if (!engine_frames_equal(&design.frames, &path->frames)) { /* the source has changed since */
        engine_response_free(design.response);
        if (design.engine != path->engine)
            designer_return_engine(reconciler->designer, design.engine, false);
        return;
    }
    if (design.engine != path->engine) {
        frame_path_set_engine(path, &design);
        reconciler->applied.engine_requested = false;
        reconciler->applied.engine_retry_ns = INT64_MAX;
    }
    engine_apply(path->engine, design.response, design.serial);
    steady_configure(&path->steady, &design.adapts);
    if (observer_configure(path->observer, &design.adapts, &design.why) < 0)
        log_error("captured frames are not observed: %s; filters that adapt do nothing",
                  design.why.text);
}

static void reconcile_filter(struct reconciler *reconciler)
{
    const struct desired *desired = &reconciler->desired;
    const struct source_change *change = &reconciler->source_change;
    const bool is_of_source = source_change_has_filter(change, desired);
    const uint64_t serial = is_of_source ? desired->source.filter_serial : desired->filter_serial;
    if (serial == reconciler->applied.filter_serial || change->is_opening)
        return;
    reconciler->applied.filter_serial = serial;
    designer_request_filter(reconciler->designer,
                            is_of_source ? &desired->source.filter : &desired->filter,
                            desired->view, serial, is_of_source ? 0 : desired->fade_frames);
}

/* ---- the source ---- */

static int find_frames(const struct reconciler *reconciler, struct engine_frames *ret,
                       const struct fftd_format *captured, struct error *why)
{
    ret->captured = captured->fourcc;
    return published_format(&ret->format, reconciler->config->engine.options.recipe.planes,
                            captured, why);
}

/* Before anything is allocated for frames like these. */
static int check_memory(const struct reconciler *reconciler, const struct engine_frames *frames,
                        struct error *why)
{
    return designer_check_memory(reconciler->designer, frames, desired_filter(&reconciler->desired),
                                 reconciler->desired.view, why);
}

static int check_source(const void *context, const struct fftd_format *captured, struct error *why)
{
    const struct reconciler *reconciler = context;
    struct engine_frames frames;
    const int r = find_frames(reconciler, &frames, captured, why);
    return r < 0 ? r : check_memory(reconciler, &frames, why);
}

/* Gives the opened source a ring for its frames, and requests an engine if the current one does not
 * take them. */
static int adopt_format(struct reconciler *reconciler, struct error *why)
{
    struct frame_path *path = &reconciler->path;
    struct engine_frames frames;
    int r = find_frames(reconciler, &frames, &path->recovery.capture->format, why);
    if (r < 0)
        return r;
    const bool is_new = !engine_frames_equal(&frames, &path->frames);
    if (is_new)
        r = check_memory(reconciler, &frames, why);
    if (r < 0)
        return r;
    if (path->ring == NULL ||
        memcmp(&frames.format, &path->frames.format, sizeof frames.format) != 0 ||
        ring_slots(path->ring) != reconciler->config->output.slots) {
        frame_path_drain(path); /* these frames belong in the old ring */
        r = replace_ring(reconciler, &frames.format, why);
        if (r < 0)
            return r;
    }
    path->frames.captured = frames.captured;
    mailbox_begin_report(reconciler->mailbox)->captured = frames.captured;
    mailbox_end_report(reconciler->mailbox, 0);
    observer_set_source(path->observer, reconciler->source_change.taken, frames.captured,
                        &frames.format);
    if (is_new)
        request_engine(reconciler);
    return 0;
}

/* Never publishes a frame from the new source through the old source's filter. */
static void reconcile_source(struct reconciler *reconciler)
{
    struct source_change *change = &reconciler->source_change;
    struct recovery *recovery = &reconciler->path.recovery;
    struct error why;
    const int r = source_change_step(change, recovery, &reconciler->desired, &why);
    if (r != -EAGAIN)
        report_source(&reconciler->report, recovery, change->number, r < 0 ? why.text : "");
}

static void reconcile_controls(struct reconciler *reconciler)
{
    const struct desired *desired = &reconciler->desired;
    if (desired->controls_version == reconciler->applied.controls_version ||
        reconciler->source_change.is_opening) /* which may bring the old controls back */
        return;
    reconciler->applied.controls_version = desired->controls_version;
    recovery_add_controls(&reconciler->path.recovery, &desired->controls);
}

static bool wants_frames(const struct reconciler *reconciler)
{
    const struct frame_path *path = &reconciler->path;
    if (reconciler->config->camera.idle == CONFIG_IDLE_RUN || reconciler->desired.has_readers ||
        path->snapshots != NULL)
        return true;
    for (unsigned i = 0; i < path->flights; i++)
        if (path->flight[(path->first_flight + i) % ENGINE_MAX_IN_FLIGHT].snapshots != NULL)
            return true;
    return false;
}

static void update_pause(struct reconciler *reconciler)
{
    struct applied *applied = &reconciler->applied;
    const int64_t now_ns = clock_now_ns();
    if (wants_frames(reconciler)) {
        applied->paused = false;
        applied->pause_ns = INT64_MAX;
    } else if (reconciler->path.recovery.phase ==
               SOURCE_OPENING) { /* the delay begins once it is open */
        applied->pause_ns = INT64_MAX;
    } else if (now_ns >= applied->pause_ns) {
        applied->paused = true;
        applied->pause_ns = INT64_MAX;
    } else if (!applied->paused && applied->pause_ns == INT64_MAX) {
        applied->pause_ns = now_ns + PAUSE_DELAY_NS;
    }
}

/* A source streams if it is open, there are a ring and an engine for its frames, and somebody reads
 * them. */
static void reconcile_streaming(struct reconciler *reconciler)
{
    struct frame_path *path = &reconciler->path;
    struct recovery *recovery = &path->recovery;
    struct error why = {{0}};

    update_pause(reconciler);
    if (reconciler->applied.paused && recovery->phase == SOURCE_STREAMING) {
        frame_path_drain(path);
        recovery_pause(recovery);
    }
    if (recovery->phase != SOURCE_OPENED)
        return;
    if (reconciler->applied.paused)
        recovery_pause(recovery);
    int r = adopt_format(reconciler, &why);
    if (r < 0)
        recovery_reject(recovery, r, &why);
    if (r < 0 || reconciler->applied.paused || !frame_path_engine_fits(path) ||
        reconciler->source_change.awaited_serial != 0)
        return;
    frame_path_update_memory(path);
    recovery_start(recovery);
}

static void reconcile_end(struct reconciler *reconciler)
{
    struct frame_path *path = &reconciler->path;
    if (!frame_path_is_complete(path))
        return;
    recovery_finish(&path->recovery);
    path->recovery.state = CAMERA_FINISHED;
    error_set(&path->recovery.reason, 0,
              "%llu frames were published, the limit set by output.frames",
              (unsigned long long)path->limit);
}

/* ---- requests ---- */

void reconcile_receive(struct reconciler *reconciler)
{
    struct request *next;

    for (struct request *each = mailbox_take_requests(reconciler->mailbox); each != NULL;
         each = next) {
        next = each->next;
        each->next = NULL;
        if (each->kind == REQUEST_SNAPSHOT) /* answered with the next frame */
            request_append(&reconciler->path.snapshots, each);
        else
            request_append(&reconciler->requests, each);
    }
}

static int set_controls(struct reconciler *reconciler, struct request *request)
{
    const struct request_controls *controls = &request->controls;
    /* First apply what was desired before the client's call. */
    if (controls->version > reconciler->applied.controls_version)
        reconcile_controls(reconciler);
    if (controls->source_number > reconciler->source_change.number)
        reconcile_source(reconciler);
    return recovery_set_controls(&reconciler->path.recovery, &controls->settings, &request->why);
}

static void answer_requests(struct reconciler *reconciler)
{
    for (struct request *each = reconciler->requests; each != NULL; each = each->next)
        each->result = each->kind == REQUEST_LIST_CONTROLS
                           ? recovery_list_controls(&reconciler->path.recovery,
                                                    &each->controls.list, &each->why)
                           : set_controls(reconciler, each);
    mailbox_answer(reconciler->mailbox, reconciler->requests);
    reconciler->requests = NULL;
}

/* ---- all of it ---- */

/* The state is the source's, unless the engine has failed. */
static void report_all(struct reconciler *reconciler)
{
    struct frame_path *path = &reconciler->path;
    const struct recovery *recovery = &path->recovery;
    const bool failed = path->failure.text[0] != '\0' && recovery->state != CAMERA_FINISHED;
    const enum camera_state state = failed ? CAMERA_FAILED : recovery->state;
    struct error reason = failed ? path->failure : recovery->reason;
    struct build_progress build;

    designer_get_build_progress(reconciler->designer, &build);
    report_build(&reconciler->report, build.number, &path->frames.format,
                 reconciler->config->engine.cache_dir[0] != '\0');
    if (state == CAMERA_STARTING && path->engine == NULL && build.total > 0)
        error_set(&reason, 0, "compiling OpenCL programs, %u of %u done", build.done, build.total);
    const bool changed = report_state(&reconciler->report, state, reason.text, recovery);

    if (!camera_may_deliver(state)) {
        request_fail(path->snapshots, -ENODEV, NULL);
        mailbox_answer(reconciler->mailbox, path->snapshots);
        path->snapshots = NULL;
    }
    report_control_problem(&reconciler->report, recovery);
    if (path->engine != NULL)
        report_input(&reconciler->report, recovery);
    if (changed || clock_now_ns() >= report_heartbeat_due_ns(&reconciler->report))
        report_heartbeat(&reconciler->report, path->ring, frame_path_is_healthy(path));
}

void reconcile(struct reconciler *reconciler)
{
    reconcile_receive(
        reconciler); /* before the desired state, which must be at least as new as the requests */
    mailbox_read_desired(reconciler->mailbox, &reconciler->desired);
    reconcile_ring(reconciler);
    take_design(reconciler);
    answer_requests(reconciler);
    reconcile_controls(reconciler); /* before the source, whose opening sets all controls again */
    reconcile_source(reconciler);
    reconcile_filter(reconciler); /* after the source, which may bring the filter */
    reconcile_end(reconciler);
    reconcile_streaming(reconciler);
    reconcile_engine(reconciler);
    report_all(reconciler);
}

int64_t reconcile_deadline_ns(const struct reconciler *reconciler)
{
    const struct applied *applied = &reconciler->applied;
    return clock_earlier_ns(clock_earlier_ns(applied->engine_retry_ns, applied->pause_ns),
                            report_heartbeat_due_ns(&reconciler->report));
}

void reconciler_init(struct reconciler *ret, const struct config *config, struct mailbox *mailbox,
                     struct designer *designer, struct observer *observer, struct ring *continued)
{
    *ret = (struct reconciler){
        .config = config,
        .mailbox = mailbox,
        .designer = designer,
        .applied = {.filter_serial = mailbox->desired.filter_serial,
                    .controls_version = mailbox->desired.controls_version,
                    .pause_ns = INT64_MAX,
                    .engine_retry_ns = INT64_MAX},
    };
    ret->source_change.check = check_source;
    ret->source_change.context = ret;
    report_init(&ret->report, mailbox);
    frame_path_init(&ret->path, config, designer, observer, &ret->report);
    if (continued != NULL)
        continue_ring(ret, continued);
}

int reconcile_open(struct reconciler *reconciler, bool wait, struct error *why)
{
    struct recovery *recovery = &reconciler->path.recovery;
    mailbox_read_desired(reconciler->mailbox, &reconciler->desired);
    int r = recovery_open(recovery, wait, why);
    if (r < 0 && wait) {
        recovery_lose(recovery, r, why);
        return 0;
    }
    return r == 0 && recovery_is_open(recovery) ? adopt_format(reconciler, why) : r;
}
