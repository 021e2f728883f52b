#include "camera/steady.h"

#include <math.h>
#include <stddef.h>

#include "core/format.h"
#include "estimators/stabiliser.h"
#include "service/log.h"

void steady_configure(struct steady *steady, const struct filter_adaptation *wanted,
                      const struct warp_middle *middle)
{
    const bool stacks = stabiliser_stacks(wanted->shake.model);
    if (wanted->stabilises && (!steady->is_on || stacks) && steady->stabiliser != NULL)
        stabiliser_reset(steady->stabiliser);
    steady->is_on = wanted->stabilises;
    steady->options = wanted->shake;
    steady->middle = *middle;
}

void steady_finish(struct steady *steady)
{
    stabiliser_destroy(steady->stabiliser);
    steady->stabiliser = NULL;
}

/* Replaces the stabiliser by one for other frames, or of another model. */
static void replace(struct steady *steady, const struct engine_frames *frames)
{
    struct error why;
    steady_finish(steady);
    steady->frames = *frames;
    steady->model = steady->options.model;
    if (stabiliser_create(&steady->stabiliser, steady->model, format_by_fourcc(frames->captured),
                          frames->width, frames->height, &why) < 0)
        log_warning("frames are not moved: %s", why.text);
}

static double limited(double shift, double most)
{
    return fmin(fmax(shift, -most), most);
}

/* Motion is measured where samples are captured. Only a similarity of `stabilise` moves them there;
 * a shift or a stack moves what has gone through a lens. */
void steady_take(struct steady *steady, const struct engine_frames *frames,
                 const struct capture_frame *frame, struct engine_job *job)
{
    struct similarity moved;
    if (!steady->is_on)
        return;
    if (steady->model != steady->options.model || !engine_frames_equal(&steady->frames, frames))
        replace(steady, frames);
    else if (steady->start != frame->start && steady->stabiliser != NULL)
        stabiliser_reset(steady->stabiliser);
    steady->start = frame->start;
    if (steady->stabiliser == NULL)
        return;
    if (stabiliser_stacks(steady->model)) {
        job->stack = stabiliser_align(steady->stabiliser, frame->plane[0], frame->stride[0],
                                      &job->similarity);
        warp_carry(&steady->middle, &job->similarity);
        return;
    }
    stabiliser_observe(steady->stabiliser, &steady->options, frame->plane[0], frame->stride[0],
                       capture_scene_ns(frame), &moved);
    if (steady->model == STABILISER_SIMILARITY) {
        job->similarity = moved;
    } else {
        warp_carry(&steady->middle, &moved);
        job->shift[0] = limited(moved.dx, steady->options.limit_px);
        job->shift[1] = limited(moved.dy, steady->options.limit_px);
    }
}
