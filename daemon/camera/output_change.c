#include "camera/output_change.h"

#include <errno.h>
#include <string.h>

#include "camera/retry_delay.h"
#include "core/clock.h"
#include "observer/moving.h"

/* ---- the ring ---- */

/* Epoch of a ring that no previous process has left. */
#define FIRST_EPOCH 1

/* Bytes of a field of motion, in each slot. */
static uint32_t motion_bytes_of(const struct config *config, const struct fftd_format *captured)
{
    return moving_bytes(captured->width, captured->height,
                        config_motion_block(config->output.motion));
}

int output_change_make_ring(struct ring **ret, const struct config *config,
                            const struct engine_frames *frames, const struct fftd_format *captured,
                            struct error *why)
{
    const int r = ring_create(ret, &frames->format, config->output.slots,
                              motion_bytes_of(config, captured), 1, FIRST_EPOCH, 1, why);
    if (r < 0)
        return r;
    ring_set_checksum(*ret, config->output.checksum);
    ring_set_lossless(*ret, config->output.lossless); /* until the output begins */
    return 0;
}

void output_change_continue_ring(struct output *output)
{
    struct output_mailbox *box = output->report.box;
    struct ring *ring = box->ring;
    if (ring == NULL)
        return;
    ring_set_checksum(ring, output->config->output.checksum);
    ring_set_lossless(ring, output->config->output.lossless); /* until the source is open */
    output_set_ring(output, ring);
    output->frames.format = *ring_format(ring);
    struct camera_status *status = mailbox_begin_report(box);
    status->format = *ring_format(ring);
    status->generation = ring_generation(ring);
    status->newest_sequence = ring_newest(ring);
    mailbox_end_report(box, 0);
}

/* A source that cannot wait allows no ring that does. */
static void update_lossless(struct output *output)
{
    const struct capture *capture = output->recovery->capture;
    ring_set_lossless(output->ring,
                      output->config->output.lossless && capture != NULL && capture->waits);
}

/* A client that sees the old ring retired must find the new one. This thread therefore puts the new
 * ring into the mailbox and posts an event; the main loop switches its server; only then is the old
 * ring retired. */
static int replace_ring(struct output *output, const struct fftd_format *format,
                        uint32_t motion_bytes, struct error *why)
{
    struct output_mailbox *box = output->report.box;
    struct ring *old = output->ring;
    const uint64_t first_sequence = old != NULL ? ring_newest(old) + 1 : 1;
    const uint32_t generation = old != NULL ? ring_generation(old) + 1 : 1;
    const uint32_t epoch = old != NULL ? ring_epoch(old) : FIRST_EPOCH;
    struct ring *ring;
    int r = ring_create(&ring, format, output->config->output.slots, motion_bytes, generation,
                        epoch, first_sequence, why);
    if (r < 0)
        return r;
    ring_set_checksum(ring, output->config->output.checksum);
    output_set_ring(output, ring);
    update_lossless(output);
    output->frames.format = *format;

    struct camera_status *status = mailbox_begin_report(box);
    /* A ring that the main loop has never served may be destroyed here. */
    struct ring *unserved = old != box->served ? old : NULL;
    box->ring = ring;
    status->format = *format;
    status->generation = generation;
    mailbox_end_report(box, CAMERA_EVENT_RING);
    ring_destroy(unserved);
    report_heartbeat(&output->report, ring, output_is_healthy(output));
    return 0;
}

void output_change_replace_lost_ring(struct output *output)
{
    if (!output->ring_lost)
        return;
    const struct fftd_format format = *ring_format(output->ring);
    struct error why;
    const uint32_t motion_bytes = ring_motion_room(output->ring);
    if (replace_ring(output, &format, motion_bytes, &why) < 0)
        output->failure = why; /* the next call tries again */
}

/* ---- frames of the source ---- */

static int name_output(const struct output *output, int r, struct error *why)
{
    return r < 0 && output->prefix[0] != '\0' ? error_prefix(why, -r, "output %s", output->name)
                                              : r;
}

int output_change_describe(const struct output *output, const struct fftd_format *captured,
                           struct engine_frames *ret, struct error *why)
{
    return name_output(output, engine_frames_describe(ret, output->config, captured, why), why);
}

int output_change_check_filter(const struct output *output, const struct fftd_format *captured,
                               struct error *why)
{
    return name_output(output,
                       recipe_check_frames(&output->config->engine.options.recipe, captured,
                                           &output->config->filter, why),
                       why);
}

int output_change_reserve(const struct output *output, const struct desired *desired,
                          const struct engine_frames *frames, struct error *why)
{
    const unsigned number = output_number(output);
    if (engine_frames_equal(frames, &output->frames))
        return 0;
    return name_output(output,
                       designer_check_memory(output->designer, frames,
                                             desired_filter(desired, number),
                                             desired->output[number].view, true, why),
                       why);
}

int output_change_adopt(struct output *output, const struct engine_frames *frames,
                        const struct fftd_format *captured, struct error *why)
{
    const struct config_output *config = &output->config->output;
    const uint32_t motion_bytes = motion_bytes_of(output->config, captured);
    const bool is_new = !engine_frames_equal(frames, &output->frames);
    if (output->ring == NULL ||
        memcmp(&frames->format, &output->frames.format, sizeof frames->format) != 0 ||
        ring_slots(output->ring) != config->slots ||
        ring_motion_room(output->ring) < motion_bytes) {
        output_drain(output); /* these frames belong in the old ring */
        const int r = replace_ring(output, &frames->format, motion_bytes, why);
        if (r < 0)
            return r;
    }
    update_lossless(output);
    output->frames = *frames;
    mailbox_begin_report(output->report.box)->captured = *captured;
    mailbox_end_report(output->report.box, 0);
    if (is_new)
        output->applied.engine_retry_ns = clock_now_ns();
    return 0;
}

/* ---- another source ---- */

void output_change_prepare(struct output *output, const struct desired *desired,
                           const struct engine_frames *frames)
{
    const unsigned number = output_number(output);
    const uint64_t serial = desired_serial(desired, number);
    const bool fits = output->engine != NULL && engine_frames_equal(&output->engine_frames, frames);
    output->prepared = (struct output_prepared){.frames = *frames, .serial = serial};
    if (fits && serial == output->applied.filter_serial)
        return;
    output->prepared.is_waited_for = true;
    output->applied.filter_serial = serial;
    output->applied.engine_requested = false;
    designer_request_filter(output->designer, desired_filter(desired, number),
                            desired->output[number].view, serial, 0, fits ? NULL : frames);
}

bool output_change_is_prepared(const struct output *output)
{
    return !output->prepared.is_waited_for || output->prepared.is_ready;
}

/* Nothing is known of the frames before a source was open for the first time. */
static void want_engine(struct output *output)
{
    if (output->frames.captured != 0)
        output->applied.engine_retry_ns = clock_now_ns();
}

/* The designer designs for its newest engine. If that is returned, it needs another one for the
 * filters that follow, although the output may have one. */
static void discard_design(struct output *output, struct design *design)
{
    if (design->engine == NULL)
        return;
    engine_response_free(design->response);
    if (design->engine != output->engine) {
        designer_return_engine(output->designer, design->engine, false);
        if (!output->applied.engine_requested)
            want_engine(output);
    }
    design->engine = NULL;
}

static void apply_design(struct output *output, const struct design *design)
{
    struct output_applied *applied = &output->applied;
    if (design->engine != output->engine) {
        output_set_engine(output, design);
        applied->engine_requested = false;
        applied->engine_retry_ns = INT64_MAX;
    }
    engine_apply(output->engine, design->response, design->serial);
    applied->used_serial = design->serial;
    applied->adapts = design->adapts;
    report_design(&output->report, design->serial, &design->memory);
    steady_configure(&output->steady, &design->adapts, &design->middle);
}

/* The source that it was made for may have changed since. */
static int take_suitable(struct output *output, struct design *design)
{
    if (design->engine == NULL)
        return 0;
    if (!engine_frames_equal(&design->frames, &output->frames)) {
        discard_design(output, design);
        return 0;
    }
    apply_design(output, design);
    return 1;
}

void output_change_take_prepared(struct output *output)
{
    if (output->prepared.is_ready)
        take_suitable(output, &output->prepared.design);
    output->prepared = (struct output_prepared){.is_ready = false};
}

void output_change_give_up(struct output *output)
{
    if (output->prepared.is_ready)
        discard_design(output, &output->prepared.design);
    output->prepared = (struct output_prepared){.is_ready = false};
    output->applied.filter_serial = 0;
    if (!output_engine_fits(output))
        want_engine(output);
}

/* ---- the end ---- */

void output_change_end(struct output *output)
{
    output_finish(output);
    output_cancel_snapshots(output, output->report.box->mailbox, -ECANCELED);
    *output = (struct output){.id = output->id};
}

/* ---- always ---- */

static void request_engine(struct output *output)
{
    output->applied.engine_requested = true;
    output->applied.engine_retry_ns = INT64_MAX;
    designer_request_engine(output->designer, &output->frames);
}

/* Reports an engine that failed or was not built. Another one is requested after a retry delay,
 * unless there is one, or one has been requested since. */
static void handle_engine_failure(struct output *output, const struct error *why)
{
    struct error reason = *why;
    report_engine_failure(&output->report);
    error_set(&output->failure, EIO, "engine: %s", reason.text);
    output->failures++;
    if (!output_engine_fits(output) && !output->applied.engine_requested)
        output->applied.engine_retry_ns =
            clock_now_ns() + retry_delay_ns(output->failures, RETRY_DELAY_LONGEST_BUILD_NS);
}

/* If a filter could not be made, the previous one stays in use, and camera.c withdraws it. A device
 * that has failed and is not back yet says nothing about the filter. */
static void handle_failed_design(struct output *output, const struct design *design)
{
    struct output_applied *applied = &output->applied;
    const bool is_device =
        applied->engine_requested &&
        (design->result == -EIO || design->result == -ENODEV || design->result == -ETIMEDOUT);
    if (design->result_serial != applied->used_serial && !is_device)
        report_filter_problem(&output->report, design->result_serial, design->why.text,
                              applied->used_serial != 0);
    if (applied->engine_requested) {
        applied->engine_requested = false;
        handle_engine_failure(output, &design->why);
    }
}

int output_change_take_design(struct output *output, struct error *why)
{
    struct output_prepared *prepared = &output->prepared;
    struct design design;

    /* While a source is prepared, or nobody wants frames, none ends a fade. */
    if (!designer_take(output->designer,
                       !prepared->is_waited_for && output_is_wanted(output) &&
                           output->engine != NULL && engine_is_fading(output->engine),
                       &design))
        return 0;
    const bool is_of_source = prepared->is_waited_for && design.result_serial == prepared->serial &&
                              engine_frames_equal(&design.result_frames, &prepared->frames);
    if (is_of_source && design.result < 0) {
        const int r = error_set(why, -design.result, "%s", design.why.text);
        take_suitable(output, &design); /* what an earlier request made */
        return r;
    }
    if (is_of_source) {
        if (prepared->is_ready)
            discard_design(output, &prepared->design);
        prepared->is_ready = true;
        prepared->design = design;
        return 0;
    }
    if (design.result < 0)
        handle_failed_design(output, &design);
    return take_suitable(output, &design);
}

/* A filter that is withdrawn was in use before. Another one may be one for which an engine can be
 * built. */
void output_change_filter(struct output *output, const struct desired *desired, bool settled,
                          bool is_of_source)
{
    const struct desired_output *wanted = &desired->output[output_number(output)];
    struct output_applied *applied = &output->applied;
    const uint64_t serial = is_of_source ? desired->source.filter_serial : wanted->filter_serial;
    if (serial == applied->filter_serial || !settled)
        return;
    applied->filter_serial = serial;
    designer_request_filter(output->designer,
                            is_of_source ? &desired->source.filter : &wanted->filter, wanted->view,
                            serial, is_of_source ? 0 : wanted->fade_frames, NULL);
    if (applied->engine_retry_ns != INT64_MAX)
        applied->engine_retry_ns = clock_now_ns();
}

void output_change_noise(struct output *output)
{
    if (output->engine != NULL && !engine_is_fading(output->engine))
        designer_set_noise(output->designer, observer_noise(output->observer));
}

void output_change_engine(struct output *output, bool preparing)
{
    if (output->engine_failed) {
        output->engine_failed = false;
        handle_engine_failure(output, &output->failure);
        if (preparing && output->prepared.is_waited_for) /* maybe for the engine that has failed */
            designer_request_engine(output->designer, &output->prepared.frames);
    }
    if (clock_now_ns() >= output->applied.engine_retry_ns && !preparing)
        request_engine(output);
}
