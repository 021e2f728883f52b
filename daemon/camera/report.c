#include "camera/report.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "core/clock.h"
#include "core/secret.h"
#include "core/text.h"
#include "service/log.h"

/* While no frames flow, the ring and the watchdog get a heartbeat at this interval. */
#define HEARTBEAT_NS  (1 * NS_PER_S)

/* The status says in these steps how long the driver has been at work, because each change of it is
 * announced. */
#define PASSED_STEP_S 5

void report_init(struct report *ret, struct output_mailbox *box, const char *prefix)
{
    *ret = (struct report){.box = box, .prefix = prefix, .heartbeat_ns = clock_now_ns()};
}

static bool is_first(const struct report *report)
{
    return report->prefix[0] == '\0';
}

/* Cuts text that does not fit. */
static void copy_text(char to[CAMERA_TEXT], const char *from)
{
    size_t length = strnlen(from, CAMERA_TEXT - 1);
    memcpy(to, from, length);
    to[length] = '\0';
}

/* ---- the ring and the watchdog ---- */

static enum fftd_state ring_state(enum camera_state state, const struct ring *ring)
{
    if (state == CAMERA_ONLINE)
        return FFTD_STATE_LIVE;
    return camera_may_deliver(state) && ring_newest(ring) == 0 ? FFTD_STATE_STARTING
                                                               : FFTD_STATE_OFFLINE;
}

void report_heartbeat(struct report *report, struct ring *ring, bool is_healthy)
{
    int64_t now_ns = clock_now_ns();
    /* One call for both: the ring wakes readers only if the state has changed. */
    if (ring != NULL)
        ring_set_state(ring, ring_state(report->box->status.state, ring), now_ns);
    report->heartbeat_ns = now_ns;
    if (is_healthy)
        atomic_store(&report->box->mailbox->progress_ns, now_ns);
}

int64_t report_heartbeat_due_ns(const struct report *report)
{
    return report->heartbeat_ns + HEARTBEAT_NS;
}

/* ---- the state ---- */

static void log_state(const struct report *report, enum camera_state state, const char *reason,
                      const struct recovery *recovery)
{
    if (!is_first(report) && state != CAMERA_FAILED)
        return;
    switch (state) {
    case CAMERA_STARTING:
        if (*reason != '\0')
            log_notice("restarting: %s", reason);
        break;
    case CAMERA_ONLINE:
        log_notice("online: %s", recovery->capture->description);
        break;
    case CAMERA_STALLED:
    case CAMERA_LOST:
    case CAMERA_REFUSED:
        log_warning("%s: %s; fftd keeps trying to recover it", camera_state_names[state], reason);
        break;
    case CAMERA_FAILED:
        log_warning("%s%s: %s", report->prefix, camera_state_names[state], reason);
        break;
    case CAMERA_PAUSED:
    case CAMERA_FINISHED:
        log_notice("%s: %s", camera_state_names[state], reason);
        break;
    }
}

bool report_state(struct report *report, enum camera_state state, const char *reason,
                  const struct recovery *recovery)
{
    const struct camera_status *last = &report->box->status; /* only this thread changes it */
    const bool changed = state != last->state;
    /* An attempt to open a lost source again is no news. */
    const bool opening = state == CAMERA_STARTING && recovery->phase == SOURCE_OPENING;

    if (!changed && opening == last->source_opening &&
        strncmp(reason, last->state_reason, CAMERA_TEXT - 1) == 0)
        return false;
    if (changed)
        log_state(report, state, reason, recovery);

    struct camera_status *status = mailbox_begin_report(report->box);
    status->state = state;
    copy_text(status->state_reason, reason);
    status->source_opening = opening;
    if (recovery_is_open(recovery))
        copy_text(status->source, recovery->capture->description);
    status->open_error = recovery->error;
    recovery_get_counts(recovery, &status->counts);
    mailbox_end_report(report->box, CAMERA_EVENT_STATE);
    return true;
}

void report_source(struct report *report, const struct recovery *recovery, uint64_t number,
                   const char *problem)
{
    struct camera_status *status = mailbox_begin_report(report->box);
    secret_hide(status->uri, sizeof status->uri, recovery->request.uri);
    if (recovery_is_open(recovery)) /* the state may be the same as before, for example if the
                                       camera is paused */
        copy_text(status->source, recovery->capture->description);
    copy_text(status->source_problem, problem);
    status->source_number = number;
    mailbox_end_report(report->box, CAMERA_EVENT_STATE);
}

void report_controls(struct report *report, const struct recovery *recovery)
{
    const struct error *problem = &recovery->controls.problem;
    const struct settings *settings = &recovery->controls.settings;
    struct camera_status *status = mailbox_begin_report(report->box);
    const bool is_new = !settings_equal(&status->controls, settings);
    if (is_new)
        status->controls = *settings;
    mailbox_end_report(report->box, is_new ? CAMERA_EVENT_STATE : 0);
    if (strcmp(problem->text, report->control_problem.text) == 0)
        return;
    report->control_problem = *problem;
    if (problem->text[0] != '\0' && is_first(report))
        log_warning("camera.controls: %s", problem->text);
}

/* Reports how frames pass, logs a change, and returns whether there is one. offset: where the
 * status has the text. */
static bool report_path(struct report *report, const char *name, size_t offset, const char *text)
{
    char *field = (char *)mailbox_begin_report(report->box) + offset;
    const bool changed = strcmp(text, field) != 0;
    copy_text(field, text);
    mailbox_end_report(report->box, changed ? CAMERA_EVENT_STATE : 0);
    if (changed && (is_first(report) || offset == offsetof(struct camera_status, output)))
        log_info("%s%s: %s", report->prefix, name, text);
    return changed;
}

void report_input(struct report *report, const struct recovery *recovery)
{
    const struct source_memory *memory = &recovery->memory;
    const char *problem = memory->mode == MEMORY_COPIED ? memory->problem.text : "";
    char input[CAMERA_TEXT];

    if (recovery->phase != SOURCE_STREAMING || recovery->start_count == report->start_count)
        return;
    report->start_count = recovery->start_count;
    snprintf(input, sizeof input, "%s%s%.200s%s", memory_mode_descriptions[memory->mode],
             *problem != '\0' ? " (" : "", problem, *problem != '\0' ? ")" : "");
    report_path(report, "input", offsetof(struct camera_status, input), input);
}

void report_output(struct report *report, const struct engine_output *output, const char *problem)
{
    char text[CAMERA_TEXT];

    if (output != NULL)
        snprintf(text, sizeof text, "%s", engine_output_description(output));
    else
        snprintf(text, sizeof text, "copied (%.200s)", problem);
    report_path(report, "output", offsetof(struct camera_status, output), text);
}

/* ---- engines and filters ---- */

void report_build(struct report *report, unsigned number, const struct fftd_format *format,
                  bool is_cached)
{
    if (number == report->build)
        return;
    report->build = number;
    log_notice("%scompiling the OpenCL programs for %ux%u, which may take some seconds; %s",
               report->prefix, format->width, format->height,
               is_cached ? "later starts find them in the cache"
                         : "every start repeats this, because there is no cache directory");
}

/* Logs on which of two devices frames are filtered from now on. */
static void log_device(const char *device, const struct device_choice *choice)
{
    const struct comparison *times = &choice->comparison;
    if (choice->is_compared)
        log_notice("frames are filtered on \"%s\" from now on: one takes %.2f ms on \"%s\" and "
                   "%.2f ms on \"%s\"",
                   device, times->device_ms, times->device, times->cpu_ms, times->cpu_device);
    else
        log_notice("frames are filtered on \"%s\" from now on: `fftd-ctl tune` measures which "
                   "device is faster",
                   device);
}

void report_engine(struct report *report, const struct engine *engine,
                   const struct device_choice *choice)
{
    const struct gpu_device *device = engine_device(engine);
    if (engine_warning(engine) != NULL)
        log_warning("%s", engine_warning(engine));
    if (choice->warning.text[0] != '\0')
        log_warning("%s", choice->warning.text);
    log_info("%sengine: %s", report->prefix, engine_description(engine));
    struct camera_status *status = mailbox_begin_report(report->box);
    const char *problem = choice->comparison.problem;
    const bool has_moved = strcmp(status->device, gpu_device_name(device)) != 0;
    const bool has_problem = *problem != '\0' && strcmp(status->comparison.problem, problem) != 0;
    copy_text(status->engine, engine_description(engine));
    copy_text(status->device, gpu_device_name(device));
    status->device_memory = gpu_device_memory(device);
    status->has_comparison = choice->is_compared;
    status->comparison = choice->comparison;
    mailbox_end_report(report->box, CAMERA_EVENT_STATE);
    if (has_problem)
        log_warning("the CPU device is not used, although it is faster: %s", problem);
    if (has_moved && is_first(report))
        log_device(gpu_device_name(device), choice);
}

/* Returns why the observer finds motion, or NULL if the engine does. */
static const char *observer_reason(const struct engine *engine, const struct config_output *config)
{
    const char *problem = engine_motion_problem(engine);
    if (problem == NULL || *problem != '\0')
        return problem;
    return config->motion_by == CONFIG_MOTION_OBSERVER
               ? "output.motion_by = observer"
               : "the device has no memory of its own; output.motion_by = device makes it find "
                 "motion anyway";
}

void report_motion(struct report *report, const struct engine *engine,
                   const struct config_output *config)
{
    const char *why = observer_reason(engine, config);
    char text[CAMERA_TEXT] = "found by the device, for each frame";
    if (!is_first(report) || config->motion == CONFIG_MOTION_OFF)
        return;
    if (why != NULL)
        snprintf(text, sizeof text, "found by the observer, for some frames (%.200s)", why);
    const bool is_new = report_path(report, "motion", offsetof(struct camera_status, motion), text);
    if (is_new && why != NULL && config->motion_by == CONFIG_MOTION_DEVICE)
        log_warning("output.motion_by = device: the observer finds motion instead, for some "
                    "frames: %s",
                    why);
}

void report_engine_failure(struct report *report)
{
    mailbox_begin_report(report->box)->engine_failures++;
    mailbox_end_report(report->box, 0);
}

void report_design(struct report *report, uint64_t serial, const struct budget_use *memory)
{
    struct camera_status *status = mailbox_begin_report(report->box);
    const bool is_new = status->used_serial != serial;
    const bool has_changed =
        status->memory.host != memory->host || status->memory.device != memory->device;
    status->used_serial = serial;
    status->memory = *memory;
    mailbox_end_report(report->box,
                       (is_new ? CAMERA_EVENT_DESIGN : 0) | (has_changed ? CAMERA_EVENT_STATE : 0));
}

/* Returns how long the designer has been in the driver, in seconds. */
static int64_t build_s(const struct build_progress *build)
{
    return build->since_ns != 0 ? (clock_now_ns() - build->since_ns) / NS_PER_S : 0;
}

void report_describe_build(char ret[CAMERA_TEXT], const struct build_progress *build)
{
    const int64_t passed_s = build_s(build) / PASSED_STEP_S * PASSED_STEP_S;
    if (build->total > 0)
        snprintf(ret, CAMERA_TEXT, "compiling OpenCL programs, %u of %u done", build->done,
                 build->total);
    else if (passed_s > 0)
        snprintf(ret, CAMERA_TEXT, "waiting for the device's driver");
    if (passed_s > 0)
        text_append(ret, CAMERA_TEXT, ", for %lld s", (long long)passed_s);
}

static void log_late_build(struct report *report, const struct build_progress *build)
{
    if (build->is_late && !report->is_late)
        log_error("%sthe device's driver has not returned for %lld s (engine.build_timeout); "
                  "nothing else is prepared until it does, or until fftd is restarted",
                  report->prefix, (long long)build_s(build));
    report->is_late = build->is_late;
}

void report_preparing(struct report *report, struct designer *designer,
                      const struct build_progress *build, bool is_waited_for)
{
    struct tuning_status tuning = {.running = false};
    char text[CAMERA_TEXT] = "";
    const bool is_busy = is_waited_for && designer_get_state(designer) != DESIGNER_IDLE;
    const bool compiles = is_busy && build->done < build->total;
    log_late_build(report, build);
    if (is_busy && !compiles)
        designer_get_tuning(designer, &tuning);
    if (tuning.running)
        snprintf(text, sizeof text, "measuring settings of the device, %u of %u tried",
                 tuning.progress.tried, tuning.progress.total);
    else if (is_busy)
        report_describe_build(text, build);

    struct camera_status *status = mailbox_begin_report(report->box);
    const bool is_new = strcmp(status->preparing, text) != 0;
    copy_text(status->preparing, text);
    mailbox_end_report(report->box, is_new ? CAMERA_EVENT_FILTER : 0);
}

void report_filter_problem(struct report *report, uint64_t serial, const char *problem,
                           bool has_previous)
{
    if (has_previous)
        log_error("%sfilter %llu: %s; the previous filter stays in use", report->prefix,
                  (unsigned long long)serial, problem);
    struct camera_status *status = mailbox_begin_report(report->box);
    status->failed_serial = serial;
    copy_text(status->filter_problem, problem);
    mailbox_end_report(report->box, CAMERA_EVENT_FILTER | CAMERA_EVENT_DESIGN);
}

/* ---- frames ---- */

void report_dropped(struct report *report)
{
    mailbox_begin_report(report->box)->dropped_engine++;
    mailbox_end_report(report->box, 0);
}

static void add_latency(struct histogram latency[STAGE_COUNT], const struct ring_meta *meta,
                        const struct engine_done *done, int64_t published_ns)
{
    histogram_add(&latency[STAGE_CAPTURE], meta->dequeued_ns - meta->captured_ns);
    histogram_add(&latency[STAGE_WAIT], meta->submitted_ns - meta->dequeued_ns - done->upload_ns);
    histogram_add(&latency[STAGE_UPLOAD], done->upload_ns);
    histogram_add(&latency[STAGE_KERNEL], done->kernel_ns);
    histogram_add(&latency[STAGE_DOWNLOAD], done->download_ns);
    histogram_add(&latency[STAGE_PUBLISH], published_ns - meta->finished_ns - done->download_ns);
    histogram_add(&latency[STAGE_TOTAL], published_ns - meta->captured_ns);
}

/* With the mailbox locked. */
static void count_rate(struct report *report, struct camera_status *status, int64_t published_ns)
{
    int64_t passed_ns = published_ns - report->rate_since_ns;
    report->rate_frames++;
    if (passed_ns < NS_PER_S)
        return;
    status->rate = report->rate_frames * (double)NS_PER_S / (double)passed_ns;
    report->rate_since_ns = published_ns;
    report->rate_frames = 0;
}

void report_frame(struct report *report, const struct ring_meta *meta,
                  const struct engine_done *done, int64_t published_ns, uint64_t sequence,
                  const struct recovery *recovery)
{
    unsigned events = 0;

    report->heartbeat_ns = published_ns; /* a published frame is a heartbeat */
    atomic_store(&report->box->mailbox->progress_ns, published_ns);
    struct camera_status *status = mailbox_begin_report(report->box);
    add_latency(status->latency, meta, done, published_ns);
    copy_count_add(&status->copied[COPY_UPLOAD], done->copies.in_bytes);
    copy_count_add(&status->copied[COPY_PASS], done->copies.passed_bytes);
    copy_count_add(&status->copied[COPY_DOWNLOAD], done->copies.out_bytes);
    time_sums_add(status->overhead, done->overhead.ns, OVERHEAD_COUNT);
    time_sums_add(status->step, done->step_ns, ENGINE_MAX_STEPS);
    if (++status->published == 1)
        events |= CAMERA_EVENT_FRAME;
    if (status->filter_serial != meta->filter_serial &&
        meta->filter_serial == desired_serial(&report->box->mailbox->desired, report->box->output))
        events |= CAMERA_EVENT_FILTER;
    if (status->filter_serial != meta->filter_serial)
        status->first_sequence = sequence;
    status->filter_serial = meta->filter_serial;
    status->view = done->view;
    status->stacked = done->stacked;
    status->newest_sequence = sequence;
    status->has_measures = (meta->flags & FFTD_FLAG_MEASURES) != 0;
    status->measures = meta->measures;
    status->picture_state = FFTD_PICTURE_STATE(meta->flags);
    status->match_count = meta->match_count;
    memcpy(status->match, meta->match, sizeof status->match);
    status->has_similarity = (meta->flags & FFTD_FLAG_SIMILARITY) != 0;
    status->similarity = meta->similarity;
    recovery_get_counts(recovery, &status->counts);
    report->box->published_ns = published_ns;
    count_rate(report, status, published_ns);
    mailbox_end_report(report->box, events);
}
