/* stabilise: moves each frame against the shake that an estimator follows
 * (estimators/stabiliser.h). */
#include "filters/filter_shape.h"

enum { STABILISE_TIME, STABILISE_LIMIT };

/* Each frame multiplies this response by a phase ramp (engine/ramp.h), for which the engine has to
 * be complex. */
static double complex one(const struct filter_stage *stage, double fx, double fy)
{
    (void)stage;
    (void)fx;
    (void)fy;
    return 1;
}

static double stabilise_support(const struct filter_stage *stage)
{
    return number(stage, STABILISE_LIMIT);
}

static void stabilise_adapt(const struct filter_stage *stage, struct filter_adaptation *ret)
{
    ret->stabilises = true;
    ret->shake.time_s = number(stage, STABILISE_TIME);
    ret->shake.limit_px = number(stage, STABILISE_LIMIT);
}

const struct filter_kind filter_stabilise = {
    .name = "stabilise",
    .summary = "finds how the camera shakes, and moves each frame against it",
    .formula = "H = 1; a frame is filtered with H * exp(-2 * pi * i * (fx * x + fy * y)), which "
               "moves it by the pixels x and y from the path of the camera to a smooth one",
    .adapts = FILTER_ADAPTS_SHAKE,
    .adapt = stabilise_adapt,
    .param_count = 2,
    .param =
        {
            [STABILISE_TIME] =
                {
                    .name = "time",
                    .unit = "s",
                    .summary = "time constant of the smooth path; slower motion is kept",
                    .type = FILTER_NUMBER,
                    .min = 0.05,
                    .max = 10,
                    .initial = 0.5,
                },
            [STABILISE_LIMIT] =
                {
                    .name = "limit",
                    .unit = "px",
                    .summary = "the most by which a frame is moved along each axis",
                    .type = FILTER_NUMBER,
                    .min = 1,
                    .max = 64,
                    .initial = 16,
                },
        },
    .complex_response = one,
    .support = stabilise_support,
    .docs =
        {
            .scene = "scene",
            .example = "stabilise",
            .note = "The camera of the scene does not shake, so that nothing changes.",
            .details = "### How motion is measured\n"
                       "The shift since the previous frame is measured by phase correlation, in a "
                       "reduced picture of at most 255 rows, or columns if there are fewer. This "
                       "happens before the frame is filtered and takes some milliseconds.\n"
                       "The sum of the shifts is the path of the camera. A filter with two states, "
                       "position and speed, makes a smooth path of it, which follows a steady pan "
                       "without a lag. Motion much slower than the time constant is kept.\n"
                       "After a cut, during rotation, or where there is nothing to see, the "
                       "correction fades smoothly to zero. Rotation and the wobble of a rolling "
                       "shutter are not removed.\n"
                       "### How frames are moved\n"
                       "Each frame is filtered with H times a phase ramp of its own, which moves "
                       "the picture from the path to the smooth one, by any part of a pixel. The "
                       "response of the chain is therefore complex. `engine.border` decides what "
                       "appears beyond the captured frame; its margin is at least the limit.\n"
                       "All colours have to be moved, so formats other than GREY, Y10, Y12 and Y16 "
                       "need `engine.planes = \"all\"`, or \"luma-only\", which publishes none.",
        },
};
