#include "camera/output.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "camera/lent_memory.h"
#include "camera/snapshot.h"
#include "core/clock.h"

/* Each output's designer has its device for itself, so only one can read frames where the source
 * has captured them: the first. */
void output_update_memory(struct output *output)
{
    if (output_number(output) == 0)
        lent_memory_update(output->recovery, output->engine);
}

/* ---- the engine's access to the ring ---- */

static void release_ring(void *mapping)
{
    ring_unmap(mapping);
}

static bool has_suitable_stores(const struct output *output)
{
    return output->stores != NULL && output->engine != NULL &&
           engine_output_suits(output->stores, output->engine);
}

/* Lets the engine store results into the ring's slots, if it is built for the ring's frames and its
 * device can. Otherwise the engine copies results. */
static void update_stores(struct output *output)
{
    struct error why;

    if (has_suitable_stores(output))
        return;
    engine_output_destroy(output->stores);
    output->stores = NULL;
    if (output->ring == NULL || output->engine == NULL ||
        memcmp(&output->engine_frames.format, ring_format(output->ring),
               sizeof(struct fftd_format)) != 0)
        return;
    struct engine_output_memory memory = {
        .count = ring_slots(output->ring),
        .release = release_ring,
        .context = ring_keep_mapped(output->ring),
    };
    for (unsigned i = 0; i < memory.count; i++)
        memory.frame[i] = ring_frame(output->ring, i);
    const int r = engine_output_create(&output->stores, output->engine, &memory, &why);
    if (r < 0)
        ring_unmap(memory.context);
    report_output(&output->report, output->stores, r < 0 ? why.text : "");
}

void output_set_ring(struct output *output, struct ring *ring)
{
    engine_output_destroy(output->stores);
    output->stores = NULL;
    output->ring = ring;
    output->ring_lost = false;
    update_stores(output);
}

/* ---- frames in flight ---- */

static void release_frame(struct output *output, struct flight *flight)
{
    if (flight->holds_frame)
        recovery_release(output->recovery, &flight->frame);
    flight->holds_frame = false;
}

static struct flight *pop_flight(struct output *output)
{
    struct flight *flight = &output->flight[output->first_flight];
    output->first_flight = (output->first_flight + 1) % ENGINE_MAX_IN_FLIGHT;
    output->flights--;
    return flight;
}

/* Marks what filters that adapt have found. */
static void draw_marks(uint8_t *frame, const struct fftd_format *format, struct observer *observer)
{
    struct observer_status status;
    observer_get_status(observer, &status);
    const struct findings *found = &status.found;
    for (unsigned i = 0; status.wanted.removes_waves && i < found->wave_count; i++) {
        const struct periodic_report *wave = &found->wave[i];
        const struct view_mark mark = {
            .fx = wave->fx, .fy = wave->fy, .is_removed = wave->is_removed};
        view_mark(frame, format, &mark, 1);
    }
}

/* The newest measures are drawn, which the frame also carries. */
static void draw_over(struct output *output, struct flight *flight, enum view_kind view)
{
    uint8_t *frame = flight->write.data;
    if (view == VIEW_PEAKS)
        draw_marks(frame, ring_format(output->ring), output->observer);
    if (view == VIEW_MOTION && flight->meta.motion != NULL)
        view_arrows(frame, ring_format(output->ring), flight->meta.motion);
}

/* Only the first output's engine finds fields for the observer. */
static void hand_field(const struct output *output, const struct flight *flight,
                       const struct engine_motion *motion)
{
    const bool has_before = flight->before != 0;
    const struct observed_field field = {.number = flight->number,
                                         .frames = flight->number - flight->before,
                                         .captured_ns = flight->meta.captured_ns,
                                         .since_ns = flight->before_ns,
                                         .grid = motion->grid,
                                         .vector = has_before ? motion->vector : NULL};
    if (output_number(output) == 0)
        observer_take_field(output->observer, &field);
}

static void publish(struct output *output, struct flight *flight, const struct engine_done *done)
{
    hand_field(output, flight, &done->motion);
    flight->meta.filter_serial = done->filter_serial;
    flight->meta.flags |= done->blended ? FFTD_FLAG_BLENDED : 0;
    flight->meta.flags |= done->view != VIEW_PICTURE ? FFTD_FLAG_VIEW : 0;
    flight->meta.submitted_ns = done->submitted_ns;
    flight->meta.finished_ns = done->finished_ns;
    observer_label(output->observer, flight->number, &output->applied.adapts,
                   &flight->meta); /* newer measures than at submission */
    draw_over(output, flight, done->view);
    int64_t published_ns = ring_publish(output->ring, &flight->write, &flight->meta);
    output->published++;
    const struct snapshot_origin origin = {.sequence = ring_newest(output->ring),
                                           .filter_serial = flight->meta.filter_serial,
                                           .captured_ns = flight->meta.captured_ns};
    /* The slot does not change until this thread writes it again. */
    snapshot_take_after(flight->snapshots, flight->write.data, &origin);
    release_frame(output, flight);
    report_frame(&output->report, &flight->meta, done, published_ns, ring_newest(output->ring),
                 output->recovery);
    mailbox_answer(output->report.box->mailbox, flight->snapshots);
    flight->snapshots = NULL;
    output->failure.text[0] = '\0';
    output->failures = 0;
}

static void drop_flight(struct output *output, struct flight *flight)
{
    release_frame(output, flight);
    if (!output->ring_lost)
        ring_cancel(output->ring, &flight->write);
    report_dropped(&output->report);
    request_fail(flight->snapshots, -EIO, NULL);
    mailbox_answer(output->report.box->mailbox, flight->snapshots);
    flight->snapshots = NULL;
}

/* Drops what is prepared for a source on an engine that is returned. */
static void drop_prepared(struct output *output, const struct engine *engine)
{
    struct output_prepared *prepared = &output->prepared;
    if (!prepared->is_ready || prepared->design.engine != engine)
        return;
    engine_response_free(prepared->design.response);
    prepared->is_ready = false;
}

/* The device refused, lost or kept a frame, so nothing on it can be relied on any more. */
static void fail(struct output *output, const struct error *why)
{
    struct engine *engine = output->engine;
    drop_prepared(output, engine);
    output->ring_lost = engine_abandon(engine);
    output->engine = NULL;
    update_stores(output);
    output_update_memory(output); /* before frames in that memory are released */
    while (output->flights > 0)
        drop_flight(output, pop_flight(output));
    designer_return_engine(output->designer, engine, true);
    output->failure = *why;
    output->engine_failed = true;
}

void output_collect(struct output *output)
{
    struct engine_done done;
    struct error why = {{0}};

    while (output->flights > 0) {
        int r = engine_collect(output->engine, false, &done, &why);
        if (r == -EAGAIN)
            return;
        if (r < 0) {
            fail(output, &why);
            return;
        }
        output->engine_moved_ns = clock_now_ns();
        publish(output, pop_flight(output), &done);
    }
}

int64_t output_deadline_ns(const struct output *output)
{
    return output->flights > 0 ? output->engine_moved_ns + output->frame_timeout_ns : INT64_MAX;
}

void output_check_deadline(struct output *output, int64_t now_ns)
{
    struct error why;

    int64_t late_ns = now_ns - output_deadline_ns(output);
    if (late_ns < 0)
        return;
    /* The deadline restarts while the driver compiles: many drivers launch nothing until they are
     * done. It also restarts if this thread is late, since then the whole process did not run. */
    if (late_ns > NS_PER_S || designer_get_state(output->designer) == DESIGNER_BUSY) {
        output->engine_moved_ns = now_ns;
        return;
    }
    error_set(&why, EIO, "the device has kept a frame for %.1f s",
              (double)output->frame_timeout_ns / (double)NS_PER_S);
    fail(output, &why);
}

bool output_is_healthy(const struct output *output)
{
    const enum designer_state state = designer_get_state(output->designer);
    if (state == DESIGNER_IDLE)
        return output->flights == 0; /* otherwise the device must make progress */
    return state == DESIGNER_BUSY;
}

void output_drain(struct output *output)
{
    for (output_collect(output); output->flights > 0; output_collect(output)) {
        struct pollfd fd = {.fd = engine_fd(output->engine), .events = POLLIN};
        int64_t until_ns =
            clock_earlier_ns(output_deadline_ns(output), report_heartbeat_due_ns(&output->report));
        int64_t left_ns = until_ns - clock_now_ns();
        struct timespec timeout = clock_timespec(left_ns > 0 ? left_ns : 0);
        if (ppoll(&fd, 1, &timeout, NULL) == 0)
            output_check_deadline(output, clock_now_ns());
        if (clock_now_ns() >= report_heartbeat_due_ns(&output->report))
            report_heartbeat(&output->report, output->ring, output_is_healthy(output));
    }
}

/* ---- frames from the source ---- */

/* Returns whether a snapshot waits for a frame that is to come, or in flight. */
static bool has_snapshots(const struct output *output)
{
    bool has = output->snapshots != NULL;
    for (unsigned i = 0; i < output->flights; i++)
        has |= output->flight[(output->first_flight + i) % ENGINE_MAX_IN_FLIGHT].snapshots != NULL;
    return has;
}

void output_cancel_snapshots(struct output *output, struct mailbox *mailbox, int result)
{
    request_fail(output->snapshots, result, NULL);
    mailbox_answer(mailbox, output->snapshots);
    output->snapshots = NULL;
}

bool output_is_wanted(const struct output *output)
{
    return output->always_runs || output->has_readers || has_snapshots(output);
}

bool output_is_needed(const struct output *output)
{
    return output->lingers || output_is_wanted(output);
}

bool output_has_submitted_all(const struct output *output)
{
    return output->limit != 0 && output->published + output->flights >= output->limit;
}

bool output_has_room(const struct output *output)
{
    return output->ring == NULL || ring_has_room(output->ring);
}

bool output_takes_frame(const struct output *output)
{
    return output_is_needed(output) && output->engine != NULL && !output->ring_lost &&
           output_engine_fits(output) && output->flights < output->max_flights &&
           !output_has_submitted_all(output) && output_has_room(output);
}

/* Frames come at times that are not quite equal, so one may be a quarter of a period early. The
 * mean rate is still at most the greatest one. */
bool output_is_due(struct output *output, int64_t captured_ns)
{
    if (output->period_ns == 0 || output->snapshots != NULL)
        return true;
    const bool has_jumped = captured_ns < output->due_ns - 2 * output->period_ns;
    if (!has_jumped && captured_ns < output->due_ns - output->period_ns / 4)
        return false;
    const bool is_late = has_jumped || captured_ns > output->due_ns + output->period_ns;
    output->due_ns = (is_late ? captured_ns : output->due_ns) + output->period_ns;
    return true;
}

bool output_is_unread(const struct output *output)
{
    return output->ring != NULL && ring_is_lossless(output->ring) &&
           (output->flights > 0 || !ring_is_read(output->ring));
}

/* Takes what this output's chain asks for from what was found for all of them. Returns NULL, or
 * *ret. */
static const struct correction *
take_correction(const struct output *output, const struct correction *found, struct correction *ret)
{
    const struct filter_adaptation *adapts = &output->applied.adapts;
    if (found == NULL || !(adapts->removes_waves || adapts->removes_flicker))
        return NULL;
    *ret = *found;
    if (!adapts->removes_waves)
        ret->wave_count = 0;
    if (!adapts->removes_flicker)
        ret->row_gain = NULL;
    return ret;
}

/* The memory in which the engine may read frames. */
static struct frame_memory *frame_memory_of(const struct output *output, const struct output *last)
{
    struct frame_memory *lent = output->recovery->memory.lent;
    return last != NULL && (output == last || engine_waits_for_load(last->engine, output->engine) ||
                            engine_reads_before(last->engine, output->engine, lent))
               ? lent
               : NULL;
}

/* A snapshot from before the filter, and what is measured in the path, are taken first, while the
 * host may still read the frame. */
bool output_submit(struct output *output, const struct output_frame *taken)
{
    const struct capture_frame *frame = taken->frame;
    struct flight *flight =
        &output->flight[(output->first_flight + output->flights) % ENGINE_MAX_IN_FLIGHT];
    struct frame_memory *memory = frame_memory_of(output, taken->last);
    const bool is_lent = memory != NULL && frame->memory >= 0;
    const bool holds_frame = is_lent && output == taken->last;
    struct correction correction;
    struct error why = {{0}};

    *flight =
        (struct flight){.frame = *frame,
                        .holds_frame = holds_frame,
                        .number = taken->number,
                        .meta = {.source_sequence = frame->sequence,
                                 .captured_ns = frame->captured_ns,
                                 .dequeued_ns = frame->dequeued_ns,
                                 .flags = taken->discontinuity ? FFTD_FLAG_DISCONTINUITY : 0}};
    ring_begin(output->ring, &flight->write);
    struct engine_job job = {.out = flight->write.data,
                             .output = output->stores,
                             .output_frame = flight->write.slot,
                             .is_first = output->is_first ||
                                         output->last_start != output->recovery->start_count,
                             .correction = take_correction(output, taken->correction, &correction),
                             .number = taken->number,
                             .tag = flight};
    if (!job.is_first) {
        flight->before = output->last_number;
        flight->before_ns = output->last_ns;
    }
    output->is_first = false;
    output->last_start = output->recovery->start_count;
    output->last_number = taken->number;
    output->last_ns = frame->captured_ns;
    memcpy(job.in, frame->plane, sizeof job.in);
    memcpy(job.in_stride, frame->stride, sizeof job.in_stride);
    if (is_lent) {
        job.memory = memory;
        job.frame = (unsigned)frame->memory;
    }
    observer_label(output->observer, flight->number, &output->applied.adapts, &flight->meta);
    steady_take(&output->steady, &output->frames, frame, &job);
    flight->snapshots = output->snapshots;
    output->snapshots = NULL;
    snapshot_take_before(flight->snapshots, &output->frames,
                         output->config->engine.options.recipe.demosaic, frame);
    int r = engine_submit(output->engine, &job, &why);
    if (output->flights++ == 0)
        output->engine_moved_ns = clock_now_ns();
    if (r < 0)
        fail(output, &why);
    return holds_frame;
}

/* ---- the engine ---- */

void output_set_engine(struct output *output, const struct design *design)
{
    output_drain(output);
    if (output->engine != NULL)
        designer_return_engine(output->designer, output->engine, false);
    output->engine = design->engine;
    output->is_first = true;
    output->engine_frames = design->frames;
    update_stores(output);
    output_update_memory(output);
    report_engine(&output->report, output->engine, &design->device);
    report_motion(&output->report, output->engine, &output->config->output);
}

bool output_engine_fits(const struct output *output)
{
    return output->engine != NULL && engine_frames_equal(&output->engine_frames, &output->frames);
}

/* ---- life ---- */

void output_init(struct output *output, struct output_mailbox *box, double fps)
{
    const struct config *config = output->config;
    const bool is_first = box->output == 0;
    output->applied = (struct output_applied){.filter_serial = 1, .engine_retry_ns = INT64_MAX};
    output->max_flights = config->engine.options.in_flight;
    output->limit = config->output.frames;
    output->period_ns = fps > 0 ? (int64_t)((double)NS_PER_S / fps) : 0;
    output->frame_timeout_ns = (int64_t)(config->engine.frame_timeout_s * (double)NS_PER_S);
    output->always_runs = is_first && config->camera.idle == CONFIG_IDLE_RUN;
    if (!is_first)
        snprintf(output->prefix, sizeof output->prefix, "output %s: ", output->name);
    report_init(&output->report, box, output->prefix);
}

void output_finish(struct output *output)
{
    output_drain(output);
    steady_finish(&output->steady);
    engine_output_destroy(output->stores);
    if (output->engine != NULL)
        designer_return_engine(output->designer, output->engine, false);
    output->engine = NULL;
}
