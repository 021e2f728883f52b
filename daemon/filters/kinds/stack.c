/* stack: joins frames that an estimator registers (filters/stack.h). */
#include <errno.h>
#include <math.h>

#include "filters/filter_shape.h"

enum { STACK_FRAMES, STACK_CLIP, STACK_POWER, STACK_DETAILS };

enum { DETAILS_WEIGHED, DETAILS_ALL };

static const char *const details[] = {[DETAILS_WEIGHED] = "weighed", [DETAILS_ALL] = "all", NULL};

static struct stack stack_of(const struct filter_stage *stage)
{
    return (struct stack){.frames = (unsigned)number(stage, STACK_FRAMES),
                          .clip = number(stage, STACK_CLIP),
                          .power = number(stage, STACK_POWER),
                          .all_details = number(stage, STACK_DETAILS) == DETAILS_ALL};
}

static int stack_check(const struct filter_stage *stage, struct error *why)
{
    if (number(stage, STACK_FRAMES) != floor(number(stage, STACK_FRAMES)))
        return error_set(why, EINVAL,
                         "stack: frames = %g: expected a whole number of frames from 2 to %d",
                         number(stage, STACK_FRAMES), STACK_MAX_FRAMES);
    if (number(stage, STACK_CLIP) > 0 && number(stage, STACK_POWER) > 0)
        return error_set(why, EINVAL,
                         "stack: clip = %g and power = %g: expected 0 for one of them, because "
                         "spectra are not clipped sample by sample",
                         number(stage, STACK_CLIP), number(stage, STACK_POWER));
    return 0;
}

static void stack_adapt(const struct filter_stage *stage, struct filter_adaptation *ret)
{
    ret->stabilises = true;
    ret->shake.model = number(stage, STACK_POWER) > 0 ? STABILISER_BURST : STABILISER_REFERENCE;
}

const struct filter_kind filter_stack = {
    .name = "stack",
    .group = "motion",
    .summary = "joins frames, each moved and turned onto the first one of the stack",
    .formula =
        "H = 1; n' = min(n + 1, frames), mean' = mean + (moved - mean) / n' for each pixel "
        "of a moved frame; moved(p) = captured(c + R (p - c) + (x, y)), c: the middle of "
        "the frame, R: rotation and zoom since the stack's first frame; shown = mean "
        "without the part of its details that is noise; power > 0 or details=all: shown = mean",
    .adapts = FILTER_ADAPTS_SHAKE,
    .adapt = stack_adapt,
    .param =
        {
            [STACK_FRAMES] =
                {
                    .name = "frames",
                    .unit = "frames",
                    .summary = "that count alike; beyond them the oldest ones fade",
                    .min = 2,
                    .max = STACK_MAX_FRAMES,
                    .initial = 64,
                },
            [STACK_CLIP] =
                {
                    .name = "clip",
                    .unit = "standard deviations",
                    .summary = "samples that differ more are left out; 0: none are",
                    .max = 100,
                },
            [STACK_POWER] =
                {
                    .name = "power",
                    .summary = "exponent of a frequency's magnitude in its weight, for blurred "
                               "frames; 0: all count alike",
                    .max = 32,
                },
            [STACK_DETAILS] =
                {
                    .name = "details",
                    .summary = "weighed: without their noise; all: as in the mean, for measuring",
                    .type = FILTER_CHOICE,
                    .initial = DETAILS_WEIGHED,
                    .choices = details,
                },
        },
    .check = stack_check,
    .stack = stack_of,
    .example = "stack",
};
