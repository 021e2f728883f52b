#include "camera/frame_path.h"

#include <sys/eventfd.h>

#include "camera/lent_memory.h"
#include "core/clock.h"

/* ---- frames from the source ---- */

static bool has_submitted_all(const struct frame_path *path)
{
    FOR_EACH_CONST_OUTPUT (path, output)
        if (output_has_submitted_all(output))
            return true;
    return false;
}

bool frame_path_is_complete(const struct frame_path *path)
{
    FOR_EACH_CONST_OUTPUT (path, output)
        if (output->flights > 0)
            return false;
    return has_submitted_all(path);
}

static bool is_lossless(const struct output *output)
{
    return output->ring != NULL && ring_is_lossless(output->ring);
}

/* Returns whether the source waits for this output: its frames come as fast as they are taken, or
 * the output's readers get all of them. */
static bool waits_for(const struct frame_path *path, const struct output *output)
{
    return output_is_needed(output) &&
           (recovery_is_unpaced(&path->recovery) || is_lossless(output));
}

bool frame_path_wants_frame(const struct frame_path *path)
{
    bool has_engine = false, is_taken = false;
    if (has_submitted_all(path))
        return false;
    FOR_EACH_CONST_OUTPUT (path, output) {
        const bool takes = output_takes_frame(output);
        if (!takes && waits_for(path, output))
            return false;
        has_engine |= output_is_needed(output) && output->engine != NULL;
        is_taken |= takes;
    }
    return is_taken || (!has_engine && !recovery_is_unpaced(&path->recovery));
}

int frame_path_room_fd(const struct frame_path *path, const struct output *output)
{
    const bool waits_for_end = path->recovery.state == CAMERA_FINISHED || has_submitted_all(path);
    const bool waits_for_room = output_is_needed(output) && !output_has_room(output);
    return waits_for_room || (waits_for_end && output_is_unread(output))
               ? ring_room_fd(output->ring)
               : -1;
}

void frame_path_take_room(struct frame_path *path)
{
    eventfd_t count;
    FOR_EACH_OUTPUT (path, output)
        if (output->ring != NULL)
            eventfd_read(ring_room_fd(output->ring), &count);
}

bool frame_path_is_unread(const struct frame_path *path)
{
    FOR_EACH_CONST_OUTPUT (path, output)
        if (output_is_unread(output))
            return true;
    return false;
}

/* Gives a frame to these outputs. The frame is the device's once the first output, whose engine may
 * read it where it is, has submitted it, so that one is the last. It holds the frame for others
 * whose engines read it there, too, if that does not take it from the host. */
static void submit(struct frame_path *path, const struct capture_frame *frame, bool discontinuity,
                   const bool takes[CONFIG_MAX_OUTPUTS])
{
    static const struct observed_field none = {.grid = NULL};
    const struct output *main = &path->output[0];
    if (main->engine == NULL || !output_is_needed(main)) /* then no engine finds motion */
        observer_take_field(path->observer, &none);
    const struct output_frame taken = {
        .frame = frame,
        .discontinuity = discontinuity,
        .number = observer_offer(path->observer, frame, recovery_is_unpaced(&path->recovery)),
        .correction = observer_correct(path->observer, frame),
        .last = takes[0] ? &path->output[0] : NULL};
    bool is_held = false;
    for (unsigned i = CONFIG_MAX_OUTPUTS; i-- > 0;)
        if (takes[i])
            is_held |= output_submit(&path->output[i], &taken);
    if (!is_held)
        recovery_release(&path->recovery, frame);
}

void frame_path_take(struct frame_path *path)
{
    struct capture_frame frame;
    bool discontinuity, takes[CONFIG_MAX_OUTPUTS] = {false}, is_taken = false;

    if (recovery_dequeue(&path->recovery, &frame, &discontinuity) < 0)
        return;
    FOR_EACH_OUTPUT (path, output) {
        const bool takes_it =
            output_takes_frame(output) && output_is_due(output, frame.captured_ns);
        takes[output_number(output)] = takes_it;
        is_taken |= takes_it;
        if (output_is_needed(output) && (output->engine == NULL || output->ring_lost))
            report_dropped(&output->report);
    }
    if (is_taken)
        submit(path, &frame, discontinuity, takes);
    else
        recovery_release(&path->recovery, &frame);
}

void frame_path_collect(struct frame_path *path)
{
    FOR_EACH_OUTPUT (path, output)
        output_collect(output);
}

void frame_path_drain(struct frame_path *path)
{
    FOR_EACH_OUTPUT (path, output)
        output_drain(output);
}

int64_t frame_path_deadline_ns(const struct frame_path *path)
{
    int64_t deadline_ns = INT64_MAX;
    FOR_EACH_CONST_OUTPUT (path, output)
        deadline_ns = clock_earlier_ns(deadline_ns, output_deadline_ns(output));
    return deadline_ns;
}

void frame_path_check_deadlines(struct frame_path *path, int64_t now_ns)
{
    FOR_EACH_OUTPUT (path, output)
        output_check_deadline(output, now_ns);
}

bool frame_path_is_healthy(const struct frame_path *path)
{
    FOR_EACH_CONST_OUTPUT (path, output)
        if (!output_is_healthy(output))
            return false;
    return true;
}

/* ---- life ---- */

void frame_path_init(struct frame_path *ret, const struct config *config, struct observer *observer)
{
    ret->observer = observer;
    recovery_init(&ret->recovery, &config->camera);
}

void frame_path_finish(struct frame_path *path)
{
    frame_path_drain(path);
    recovery_finish(&path->recovery);
    FOR_EACH_OUTPUT (path, output)
        output_finish(output);
    lent_memory_update(&path->recovery, NULL); /* the source is closed: nothing is restarted */
}
