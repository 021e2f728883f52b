#include "camera/reconcile.h"

#include <errno.h>

#include "camera/output_change.h"
#include "core/clock.h"
#include "service/log.h"

/* The camera pauses when it has had no readers for this time. A reader that returns at once,
 * because the ring was replaced or its program restarted, should not find a camera that must start
 * first. The same holds at the start of the daemon, whose first frames show that everything works.
 */
#define PAUSE_DELAY_NS (2 * NS_PER_S)

/* A source that has waited for its readers for this long is reported to wait. */
#define WAITING_NS     (1 * NS_PER_S)

static bool is_preparing(const struct reconciler *reconciler)
{
    return reconciler->source_change.phase == SOURCE_CHANGE_PREPARING;
}

/* ---- what all outputs share ---- */

static void update_observer(struct reconciler *reconciler)
{
    struct filter_adaptation wanted = {.removes_waves = false};
    struct error why;
    FOR_EACH_OUTPUT (&reconciler->path, output)
        wanted = filter_adaptation_unite(&wanted, &output->applied.adapts);
    if (observer_configure(reconciler->path.observer, &wanted, &why) < 0)
        log_error("captured frames are not observed: %s; filters that adapt do nothing", why.text);
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
    FOR_EACH_OUTPUT (&reconciler->path, output)
        report_source(&output->report, recovery, change->number,
                      problem != NULL ? problem->text : "");
}

/* Goes back, because no filter was made for the source, or its ring. */
static void give_up_source(struct reconciler *reconciler, const struct error *problem)
{
    end_source_change(reconciler, problem);
    FOR_EACH_OUTPUT (&reconciler->path, output)
        output_change_give_up(output);
}

static int describe_frames(const struct frame_path *path, const struct fftd_format *captured,
                           struct engine_frames ret[CONFIG_MAX_OUTPUTS], struct error *why)
{
    int r = 0;
    FOR_EACH_CONST_OUTPUT (path, output)
        if (r == 0)
            r = output_change_describe(output, captured, &ret[output_number(output)], why);
    return r;
}

/* Gives the outputs rings for the opened source's frames, and requests engines where the current
 * ones do not take them. Nothing is replaced before all outputs are checked. */
static int adopt_format(struct reconciler *reconciler, uint64_t source_number, struct error *why)
{
    struct frame_path *path = &reconciler->path;
    const struct fftd_format *captured = &path->recovery.capture->format;
    struct engine_frames frames[CONFIG_MAX_OUTPUTS];
    int r = describe_frames(path, captured, frames, why);
    FOR_EACH_OUTPUT (path, output)
        if (r == 0)
            r = output_change_reserve(output, &reconciler->desired, &frames[output_number(output)],
                                      why);
    FOR_EACH_OUTPUT (path, output)
        if (r < 0)
            designer_share_forget(&output->share);
    FOR_EACH_OUTPUT (path, output)
        if (r == 0)
            r = output_change_adopt(output, &frames[output_number(output)], captured, why);
    if (r == 0)
        observer_set_source(path->observer, source_number, captured,
                            reconciler->config->engine.options.recipe.demosaic);
    return r;
}

/* Takes the source for which every output is prepared. */
static void take_source(struct reconciler *reconciler)
{
    struct error why;
    if (adopt_format(reconciler, reconciler->source_change.number, &why) < 0) {
        give_up_source(reconciler, &why);
        return;
    }
    end_source_change(reconciler, NULL);
    FOR_EACH_OUTPUT (&reconciler->path, output)
        output_change_take_prepared(output);
    update_observer(reconciler);
}

static void take_designs(struct reconciler *reconciler)
{
    bool is_prepared = is_preparing(reconciler), is_used = false;
    struct error why;
    FOR_EACH_OUTPUT (&reconciler->path, output) {
        const int r = output_change_take_design(output, &why);
        if (r < 0 && is_preparing(reconciler))
            give_up_source(reconciler, &why);
        is_used |= r != 0;
        is_prepared &= is_preparing(reconciler) && output_change_is_prepared(output);
    }
    if (is_used)
        update_observer(reconciler);
    if (is_prepared)
        take_source(reconciler);
}

/* ---- outputs that begin and end ---- */

/* Nothing is in the place but snapshots that were asked for since the output is desired. */
static void begin_output(struct reconciler *reconciler, unsigned number, uint64_t id)
{
    const struct reconciler_output *begun = &reconciler->outputs[number];
    struct frame_path *path = &reconciler->path;
    struct output *output = &path->output[number];
    *output = (struct output){.id = id,
                              .name = config_output_name(reconciler->config, number),
                              .config = &begun->config,
                              .designer = begun->designer,
                              .share = {.shares = reconciler->shares, .output = number},
                              .observer = path->observer,
                              .recovery = &path->recovery,
                              .snapshots = output->snapshots};
    output_init(output, &reconciler->mailbox->output[number],
                config_output_fps(reconciler->config, number));
    output_change_continue_ring(output);
}

/* The main thread may destroy everything of the output once the designer has ended, too, which may
 * take as long as the driver does. */
static void end_output(struct reconciler *reconciler, unsigned number, uint64_t id)
{
    struct output *output = &reconciler->path.output[number];
    struct output_mailbox *box = &reconciler->mailbox->output[number];
    if (output_is_used(output)) {
        output_change_end(output);
        update_observer(reconciler);
    }
    output->id = id; /* it may have begun and ended since this thread looked */
    mailbox_begin_report(box);
    /* Before the main thread, which then destroys the designer, learns of the end. */
    designer_end(reconciler->outputs[number].designer, reconciler->mailbox->event_fd);
    box->ended = true;
    mailbox_end_report(box, 0);
}

/* An output that begins gets frames at once if the source is open. They were checked when it was
 * asked for. */
static void reconcile_list(struct reconciler *reconciler)
{
    struct frame_path *path = &reconciler->path;
    struct output *begun = NULL;
    struct error why;
    for (unsigned i = 0; i < CONFIG_MAX_OUTPUTS; i++) {
        const struct desired_output *wanted = &reconciler->desired.output[i];
        struct output *output = &path->output[i];
        const bool is_new = wanted->id != output->id;
        if (!wanted->exists) {
            if (is_new || output_is_used(output))
                end_output(reconciler, i, wanted->id);
            /* Some may have been asked for since it has ended. */
            output_cancel_snapshots(output, reconciler->mailbox, -ECANCELED);
            continue;
        }
        if (!is_new)
            continue;
        begin_output(reconciler, i, wanted->id);
        begun = output;
    }
    if (begun == NULL || !recovery_is_open(&path->recovery))
        return;
    if (adopt_format(reconciler, reconciler->source_change.taken, &why) < 0)
        begun->failure = why; /* the source has changed since; it is checked when it is opened */
}

static void reconcile_outputs(struct reconciler *reconciler)
{
    const struct desired *desired = &reconciler->desired;
    const struct source_change *change = &reconciler->source_change;
    const bool settled = change->phase == SOURCE_CHANGE_SETTLED;
    FOR_EACH_OUTPUT (&reconciler->path, output) {
        const unsigned number = output_number(output);
        output->has_readers = desired->output[number].has_readers;
        output_change_filter(output, desired, settled,
                             number == 0 && source_change_has_filter(change, desired));
        if (!is_preparing(reconciler))
            output_change_noise(output);
    }
}

/* ---- the source ---- */

/* Has everything prepared for the source that is tried. Returns 1, or 0 if there is nothing to wait
 * for. */
static int prepare_source(struct reconciler *reconciler, struct error *why)
{
    const struct desired *desired = &reconciler->desired;
    struct frame_path *path = &reconciler->path;
    const struct fftd_format *captured = &path->recovery.capture->format;
    struct engine_frames frames[CONFIG_MAX_OUTPUTS];
    bool waits = false;
    const int r = describe_frames(path, captured, frames, why);
    if (r < 0)
        return r;
    FOR_EACH_OUTPUT (path, output) {
        output_change_prepare(output, desired, &frames[output_number(output)]);
        waits |= !output_change_is_prepared(output);
    }
    return waits;
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
    FOR_EACH_CONST_OUTPUT (&reconciler->path, output)
        if (output_is_wanted(output))
            return true;
    return false;
}

static void update_pause(struct reconciler *reconciler)
{
    struct applied *applied = &reconciler->applied;
    const int64_t now_ns = clock_now_ns();
    const bool is_wanted = wants_frames(reconciler);
    reconciler->path.output[0].lingers = !is_wanted;
    if (is_wanted) {
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

static bool has_engine(const struct reconciler *reconciler)
{
    FOR_EACH_CONST_OUTPUT (&reconciler->path, output)
        if (output_engine_fits(output))
            return true;
    return false;
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
    if (r < 0 || reconciler->applied.paused)
        return;
    recovery_resume(recovery);
    if (!has_engine(reconciler))
        return;
    FOR_EACH_OUTPUT (&reconciler->path, output)
        output_update_memory(output);
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
              (unsigned long long)path->output[0].limit);
}

/* ---- requests ---- */

void reconcile_receive(struct reconciler *reconciler)
{
    struct request *next;

    for (struct request *each = mailbox_take_requests(reconciler->mailbox); each != NULL;
         each = next) {
        next = each->next;
        each->next = NULL;
        if (each->kind != REQUEST_SNAPSHOT) {
            request_append(&reconciler->requests, each);
            continue;
        }
        struct output *output = &reconciler->path.output[each->snapshot.output];
        request_append(&output->snapshots, each); /* answered with the next frame */
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

/* ---- what is reported ---- */

/* The state is the source's, unless the engine has failed. */
static void report_output_state(struct reconciler *reconciler, struct output *output)
{
    struct frame_path *path = &reconciler->path;
    struct report *report = &output->report;
    const struct recovery *recovery = &path->recovery;
    const bool failed = output->failure.text[0] != '\0' && recovery->state != CAMERA_FINISHED;
    enum camera_state state = failed ? CAMERA_FAILED : recovery->state;
    struct error reason = failed ? output->failure : recovery->reason;
    struct build_progress build;

    designer_get_build_progress(output->designer, &build);
    report_build(report, build.number, &output->frames.format,
                 reconciler->config->engine.cache_dir[0] != '\0');
    if (state == CAMERA_STARTING && (output->engine == NULL || is_preparing(reconciler)))
        report_describe_build(reason.text, &build);
    if (state == CAMERA_ONLINE && !output_is_needed(output)) {
        state = CAMERA_PAUSED;
        error_set(&reason, 0, "there are no readers of this output");
    }
    /* The daemon exits once the state is `finished`, so that is reported only after the last frame
     * was read. */
    if (state == CAMERA_FINISHED && frame_path_is_unread(path)) {
        state = report->box->status.state;
        reason.text[0] = '\0';
    }
    const bool waits_for_readers = frame_path_room_fd(path, output) >= 0 &&
                                   clock_now_ns() >= report->box->published_ns + WAITING_NS;
    if (waits_for_readers)
        error_set(&reason, 0, "the source waits for its readers (output.lossless)");
    const bool changed = report_state(report, state, reason.text, recovery);
    report_preparing(report, output->designer, &build,
                     desired_serial(&reconciler->desired, output_number(output)) !=
                         output->applied.used_serial);

    if (!camera_may_deliver(state) || waits_for_readers)
        output_cancel_snapshots(output, reconciler->mailbox, waits_for_readers ? -EBUSY : -ENODEV);
    report_controls(report, recovery);
    if (output->engine != NULL)
        report_input(report, recovery);
    if (changed || clock_now_ns() >= report_heartbeat_due_ns(report))
        report_heartbeat(report, output->ring, frame_path_is_healthy(path));
}

/* ---- all of it ---- */

void reconcile(struct reconciler *reconciler)
{
    reconcile_receive(
        reconciler); /* before the desired state, which must be at least as new as the requests */
    mailbox_read_desired(reconciler->mailbox, &reconciler->desired);
    reconcile_list(reconciler); /* no source is tried: the main thread asks for one or the other */
    FOR_EACH_OUTPUT (&reconciler->path, output)
        output_change_replace_lost_ring(output);
    take_designs(reconciler);
    answer_requests(reconciler);
    reconcile_controls(reconciler); /* before the source, whose opening sets all controls again */
    reconcile_source(reconciler);
    reconcile_outputs(reconciler); /* after the source, which may bring the filter */
    reconcile_end(reconciler);
    reconcile_streaming(reconciler);
    FOR_EACH_OUTPUT (&reconciler->path, output)
        output_change_engine(output, is_preparing(reconciler));
    FOR_EACH_OUTPUT (&reconciler->path, output)
        report_output_state(reconciler, output);
}

int64_t reconcile_deadline_ns(const struct reconciler *reconciler)
{
    int64_t deadline_ns = reconciler->applied.pause_ns;
    FOR_EACH_CONST_OUTPUT (&reconciler->path, output) {
        if (!is_preparing(reconciler)) /* then no engine is asked for */
            deadline_ns = clock_earlier_ns(deadline_ns, output->applied.engine_retry_ns);
        deadline_ns = clock_earlier_ns(deadline_ns, report_heartbeat_due_ns(&output->report));
    }
    return deadline_ns;
}

void reconciler_init(struct reconciler *ret, const struct config *config, struct mailbox *mailbox,
                     const struct reconciler_output *outputs, struct designer_shares *shares,
                     struct observer *observer)
{
    ret->config = config;
    ret->mailbox = mailbox;
    ret->outputs = outputs;
    ret->shares = shares;
    ret->applied = (struct applied){.controls_version = mailbox->desired.controls_version,
                                    .pause_ns = INT64_MAX};
    frame_path_init(&ret->path, config, observer);
    for (unsigned i = 0; i < config_output_count(config); i++)
        begin_output(ret, i, mailbox->desired.output[i].id);
}

/* A filter that does not suit the first source ends the start, but not where a camera is waited
 * for: it may be another one then, or get another filter. */
int reconcile_open(struct reconciler *reconciler, bool wait, struct error *why)
{
    struct recovery *recovery = &reconciler->path.recovery;
    mailbox_read_desired(reconciler->mailbox, &reconciler->desired);
    int r = recovery_open(recovery, wait, why);
    const bool is_open = r == 0 && recovery_is_open(recovery);
    if (is_open)
        r = adopt_format(reconciler, reconciler->source_change.taken, why);
    FOR_EACH_OUTPUT (&reconciler->path, output)
        if (r == 0 && is_open && !wait)
            r = output_change_check_filter(output, &recovery->capture->format, why);
    if (r == 0 || !wait)
        return r;
    recovery_lose(recovery, r, why);
    return 0;
}
