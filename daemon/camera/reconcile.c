#include "camera/reconcile.h"

#include <errno.h>
#include <string.h>

#include "camera/retry_delay.h"
#include "camera/ring_change.h"
#include "core/clock.h"
#include "core/format.h"
#include "service/log.h"

/* The camera pauses when it has had no readers for this time. A reader that returns at once,
 * because the ring was replaced or its program restarted, should not find a camera that must start
 * first. The same holds at the start of the daemon, whose first frames show that everything works.
 */
#define PAUSE_DELAY_NS (2 * NS_PER_S)

/* A source that has waited for its readers for this long is reported to wait. */
#define WAITING_NS     (1 * NS_PER_S)

/* ---- the engine ---- */

static void request_engine(struct reconciler *reconciler)
{
    reconciler->applied.engine_requested = true;
    reconciler->applied.engine_retry_ns = INT64_MAX;
    designer_request_engine(reconciler->designer, &reconciler->path.frames);
}

static bool is_preparing(const struct reconciler *reconciler)
{
    return reconciler->source_change.phase == SOURCE_CHANGE_PREPARING;
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
    if (!frame_path_engine_fits(path) && !reconciler->applied.engine_requested)
        reconciler->applied.engine_retry_ns =
            clock_now_ns() + retry_delay_ns(path->failures, RETRY_DELAY_LONGEST_BUILD_NS);
}

static void reconcile_engine(struct reconciler *reconciler)
{
    struct frame_path *path = &reconciler->path;
    if (path->engine_failed) {
        path->engine_failed = false;
        handle_engine_failure(reconciler, &path->failure);
        if (is_preparing(reconciler)) /* maybe for the engine that has failed */
            designer_request_engine(reconciler->designer, &reconciler->source_change.frames);
    }
    if (clock_now_ns() >= reconciler->applied.engine_retry_ns && !is_preparing(reconciler))
        request_engine(reconciler);
}

/* Before anything is allocated for frames like these. */
static int check_memory(const struct reconciler *reconciler, const struct engine_frames *frames,
                        struct error *why)
{
    return designer_check_memory(reconciler->designer, frames, desired_filter(&reconciler->desired),
                                 reconciler->desired.view, why);
}

/* Ends the change of the source. problem: why the camera goes back; NULL: the source is used. */
static void end_source_change(struct reconciler *reconciler, const struct error *problem)
{
    struct source_change *change = &reconciler->source_change;
    struct recovery *recovery = &reconciler->path.recovery;
    if (problem == NULL)
        source_change_take(change, recovery);
    else if (change->phase != SOURCE_CHANGE_SETTLED)
        source_change_go_back(change, recovery);
    report_source(&reconciler->report, recovery, change->number,
                  problem != NULL ? problem->text : "");
}

/* Goes back, because no filter was made for the source, or its ring. The designer gets the desired
 * filter again, and builds what the source before needs. */
static void give_up_source(struct reconciler *reconciler, const struct error *problem)
{
    struct frame_path *path = &reconciler->path;
    end_source_change(reconciler, problem);
    reconciler->applied.filter_serial = 0;
    if (path->frames.format.width != 0 && !frame_path_engine_fits(path))
        reconciler->applied.engine_retry_ns = clock_now_ns();
}

/* Gives the opened source a ring for its frames, and requests an engine if the current one does not
 * take them. */
static int adopt_format(struct reconciler *reconciler, uint64_t source_number, struct error *why)
{
    struct frame_path *path = &reconciler->path;
    struct engine_frames frames;
    const struct config_output *output = &reconciler->config->output;
    int r =
        engine_frames_describe(&frames, reconciler->config, &path->recovery.capture->format, why);
    if (r < 0)
        return r;
    const uint32_t motion_bytes = ring_change_motion_bytes(output, &path->recovery.capture->format);
    const bool is_new = !engine_frames_equal(&frames, &path->frames);
    if (is_new)
        r = check_memory(reconciler, &frames, why);
    if (r < 0)
        return r;
    if (path->ring == NULL ||
        memcmp(&frames.format, &path->frames.format, sizeof frames.format) != 0 ||
        ring_slots(path->ring) != output->slots || ring_motion_room(path->ring) < motion_bytes) {
        frame_path_drain(path); /* these frames belong in the old ring */
        r = ring_change_replace(path, reconciler->mailbox, output, &frames.format, motion_bytes,
                                why);
        if (r < 0)
            return r;
    }
    ring_change_set_lossless(path, output);
    path->frames = frames;
    mailbox_begin_report(reconciler->mailbox)->captured = path->recovery.capture->format;
    mailbox_end_report(reconciler->mailbox, 0);
    observer_set_source(path->observer, source_number, &path->recovery.capture->format,
                        reconciler->config->engine.options.recipe.demosaic);
    if (is_new)
        reconciler->applied.engine_retry_ns = clock_now_ns();
    return 0;
}

/* Takes the source for which a filter has been made. On failure the designer has an engine for that
 * source only, and is asked for another one. */
static void take_source(struct reconciler *reconciler)
{
    struct error why;
    if (adopt_format(reconciler, reconciler->source_change.number, &why) == 0) {
        end_source_change(reconciler, NULL);
    } else {
        give_up_source(reconciler, &why);
        reconciler->applied.engine_retry_ns = clock_now_ns();
    }
}

/* If a filter could not be made, the previous one stays in use, and camera.c withdraws it. A device
 * that has failed and is not back yet says nothing about the filter. */
static void handle_failed_design(struct reconciler *reconciler, const struct design *design)
{
    struct applied *applied = &reconciler->applied;
    const bool is_device =
        applied->engine_requested && (design->result == -EIO || design->result == -ENODEV);
    if (design->result_serial != applied->used_serial && !is_device)
        report_filter_problem(&reconciler->report, design->result_serial, design->why.text,
                              applied->used_serial != 0);
    if (applied->engine_requested) {
        applied->engine_requested = false;
        handle_engine_failure(reconciler, &design->why);
    }
}

/* Takes the designer's result: a response to apply, maybe with a new engine, or a failure. */
static void take_design(struct reconciler *reconciler)
{
    const struct source_change *change = &reconciler->source_change;
    struct frame_path *path = &reconciler->path;
    struct applied *applied = &reconciler->applied;
    struct design design;

    /* While a source is prepared no frame ends a fade. */
    if (!designer_take(reconciler->designer,
                       !is_preparing(reconciler) && path->engine != NULL &&
                           engine_is_fading(path->engine),
                       &design))
        return;
    const bool is_of_source = is_preparing(reconciler) && design.result_serial == change->serial &&
                              engine_frames_equal(&design.result_frames, &change->frames);
    if (is_of_source && design.result < 0)
        give_up_source(reconciler, &design.why);
    else if (is_of_source)
        take_source(reconciler);
    else if (design.result < 0)
        handle_failed_design(reconciler, &design);
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
        applied->engine_requested = false;
        applied->engine_retry_ns = INT64_MAX;
    }
    engine_apply(path->engine, design.response, design.serial);
    applied->used_serial = design.serial;
    report_design(&reconciler->report, design.serial);
    steady_configure(&path->steady, &design.adapts);
    if (observer_configure(path->observer, &design.adapts, &design.why) < 0)
        log_error("captured frames are not observed: %s; filters that adapt do nothing",
                  design.why.text);
}

/* A filter that is withdrawn was in use before. Another one may be one for which an engine can be
 * built. */
static void reconcile_filter(struct reconciler *reconciler)
{
    const struct desired *desired = &reconciler->desired;
    const struct source_change *change = &reconciler->source_change;
    struct applied *applied = &reconciler->applied;
    const bool is_of_source = source_change_has_filter(change, desired);
    const uint64_t serial = is_of_source ? desired->source.filter_serial : desired->filter_serial;
    if (serial == applied->filter_serial || change->phase != SOURCE_CHANGE_SETTLED)
        return;
    applied->filter_serial = serial;
    designer_request_filter(reconciler->designer,
                            is_of_source ? &desired->source.filter : &desired->filter,
                            desired->view, serial, is_of_source ? 0 : desired->fade_frames, NULL);
    if (applied->engine_retry_ns != INT64_MAX)
        applied->engine_retry_ns = clock_now_ns();
}

/* The noise stays as it is while a filter is being prepared or faded in. */
static void reconcile_noise(struct reconciler *reconciler)
{
    const struct frame_path *path = &reconciler->path;
    if (path->engine != NULL && !engine_is_fading(path->engine) && !is_preparing(reconciler))
        designer_set_noise(reconciler->designer, observer_noise(path->observer));
}

/* ---- the source ---- */

/* Requests the newest filter for the source that is tried, and an engine if the one in use does not
 * take its frames. Returns 1, or 0 if there is nothing to wait for. */
static int prepare_source(struct reconciler *reconciler, struct error *why)
{
    const struct desired *desired = &reconciler->desired;
    const struct frame_path *path = &reconciler->path;
    struct source_change *change = &reconciler->source_change;
    struct applied *applied = &reconciler->applied;
    const uint64_t serial = desired_serial(desired);
    const int r = engine_frames_describe(&change->frames, reconciler->config,
                                         &path->recovery.capture->format, why);
    if (r < 0)
        return r;
    const bool fits =
        path->engine != NULL && engine_frames_equal(&path->engine_frames, &change->frames);
    if (fits && serial == applied->filter_serial)
        return 0;
    change->serial = serial;
    applied->filter_serial = serial;
    applied->engine_requested = false;
    designer_request_filter(reconciler->designer, desired_filter(desired), desired->view, serial, 0,
                            fits ? NULL : &change->frames);
    return 1;
}

/* Never publishes a frame from the new source through the old source's filter. */
static void reconcile_source(struct reconciler *reconciler)
{
    struct recipe settings = reconciler->config->engine.options.recipe;
    struct error why;
    settings.view = VIEW_PICTURE;
    int r = source_change_step(&reconciler->source_change, &reconciler->path.recovery, &settings,
                               &reconciler->desired, &why);
    if (r == -EAGAIN)
        return;
    if (r == 0)
        r = prepare_source(reconciler, &why);
    if (r <= 0)
        end_source_change(reconciler, r < 0 ? &why : NULL);
}

static void reconcile_controls(struct reconciler *reconciler)
{
    const struct desired *desired = &reconciler->desired;
    if (desired->controls_version == reconciler->applied.controls_version ||
        reconciler->source_change.phase != SOURCE_CHANGE_SETTLED) /* the old ones may come back */
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
    if (recovery->phase != SOURCE_OPENED || is_preparing(reconciler))
        return;
    if (reconciler->applied.paused)
        recovery_pause(recovery);
    int r = adopt_format(reconciler, reconciler->source_change.taken, &why);
    if (r < 0)
        recovery_reject(recovery, r, &why);
    if (r < 0 || reconciler->applied.paused || !frame_path_engine_fits(path))
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

/* While a source is prepared, requests wait: the controls may be those of the source before. */
static void answer_requests(struct reconciler *reconciler)
{
    struct recovery *recovery = &reconciler->path.recovery;
    struct request *answered = NULL, *each;
    while ((each = reconciler->requests) != NULL) {
        struct request_controls *controls = &each->controls;
        const bool lists = each->kind == REQUEST_LIST_CONTROLS;
        /* First apply what was desired before the client's call. */
        if (!lists && controls->version > reconciler->applied.controls_version)
            reconcile_controls(reconciler);
        if (!lists && controls->source_number > reconciler->source_change.number)
            reconcile_source(reconciler);
        if (is_preparing(reconciler))
            break;
        reconciler->requests = each->next;
        each->next = NULL;
        each->result = lists ? recovery_list_controls(recovery, &controls->list, &each->why)
                             : recovery_set_controls(recovery, &controls->settings, &each->why);
        request_append(&answered, each);
    }
    mailbox_answer(reconciler->mailbox, answered);
}

/* ---- all of it ---- */

/* The state is the source's, unless the engine has failed. */
static void report_all(struct reconciler *reconciler)
{
    struct frame_path *path = &reconciler->path;
    const struct recovery *recovery = &path->recovery;
    const bool failed = path->failure.text[0] != '\0' && recovery->state != CAMERA_FINISHED;
    enum camera_state state = failed ? CAMERA_FAILED : recovery->state;
    struct error reason = failed ? path->failure : recovery->reason;
    struct build_progress build;

    designer_get_build_progress(reconciler->designer, &build);
    report_build(&reconciler->report, build.number, &path->frames.format,
                 reconciler->config->engine.cache_dir[0] != '\0');
    if (state == CAMERA_STARTING && build.total > 0 &&
        (path->engine == NULL || is_preparing(reconciler)))
        error_set(&reason, 0, REPORT_COMPILING, build.done, build.total);
    /* The daemon exits once the state is `finished`, so that is reported only after the last frame
     * was read. */
    if (state == CAMERA_FINISHED && frame_path_is_needed(path)) {
        state = reconciler->report.state;
        reason.text[0] = '\0';
    }
    const bool waits_for_readers = frame_path_room_fd(path) >= 0 &&
                                   clock_now_ns() >= reconciler->mailbox->published_ns + WAITING_NS;
    if (waits_for_readers)
        error_set(&reason, 0, "the source waits for its readers (output.lossless)");
    const bool changed = report_state(&reconciler->report, state, reason.text, recovery);
    report_preparing(&reconciler->report, reconciler->designer, &build,
                     desired_serial(&reconciler->desired) != reconciler->applied.used_serial);

    if (!camera_may_deliver(state) || waits_for_readers) {
        request_fail(path->snapshots, waits_for_readers ? -EAGAIN : -ENODEV, NULL);
        mailbox_answer(reconciler->mailbox, path->snapshots);
        path->snapshots = NULL;
    }
    report_controls(&reconciler->report, recovery);
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
    ring_change_replace_lost(&reconciler->path, reconciler->mailbox, &reconciler->config->output);
    take_design(reconciler);
    answer_requests(reconciler);
    reconcile_controls(reconciler); /* before the source, whose opening sets all controls again */
    reconcile_source(reconciler);
    reconcile_filter(reconciler); /* after the source, which may bring the filter */
    reconcile_noise(reconciler);
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
    report_init(&ret->report, mailbox);
    frame_path_init(&ret->path, config, designer, observer, &ret->report);
    if (continued != NULL)
        ring_change_continue(&ret->path, mailbox, &config->output, continued);
}

/* A filter that does not suit the first source ends the start, but not where a camera is waited
 * for: it may be another one then, or get another filter. */
int reconcile_open(struct reconciler *reconciler, bool wait, struct error *why)
{
    struct recovery *recovery = &reconciler->path.recovery;
    mailbox_read_desired(reconciler->mailbox, &reconciler->desired);
    const struct config *config = reconciler->config;
    int r = recovery_open(recovery, wait, why);
    const bool is_open = r == 0 && recovery_is_open(recovery);
    if (is_open)
        r = adopt_format(reconciler, reconciler->source_change.taken, why);
    if (r == 0 && is_open && !wait)
        r = recipe_check_frames(&config->engine.options.recipe, &recovery->capture->format,
                                &config->filter, why);
    if (r == 0 || !wait)
        return r;
    recovery_lose(recovery, r, why);
    return 0;
}
