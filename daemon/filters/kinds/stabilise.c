/* stabilise: moves each frame against the shake that an estimator follows
 * (estimators/stabiliser.h). */
#include "filters/filter_shape.h"

enum { STABILISE_TIME, STABILISE_LIMIT, STABILISE_MODEL };

static const char *const models[] = {
    [STABILISER_SHIFT] = "shift", [STABILISER_SIMILARITY] = "similarity", NULL};

static bool has_similarity(const struct filter_stage *stage)
{
    return number(stage, STABILISE_MODEL) == STABILISER_SIMILARITY;
}

/* Each frame multiplies this response by a phase ramp (engine/ramp.c), for which the engine has to
 * be complex. A similarity has nothing of that. */
static double complex one(const struct filter_stage *stage, double fx, double fy)
{
    (void)stage;
    (void)fx;
    (void)fy;
    return 1;
}

static double stabilise_support(const struct filter_stage *stage)
{
    return has_similarity(stage) ? 0 : number(stage, STABILISE_LIMIT);
}

static void stabilise_adapt(const struct filter_stage *stage, struct filter_adaptation *ret)
{
    ret->stabilises = true;
    ret->shake.model = has_similarity(stage) ? STABILISER_SIMILARITY : STABILISER_SHIFT;
    ret->shake.time_s = number(stage, STABILISE_TIME);
    ret->shake.limit_px = number(stage, STABILISE_LIMIT);
}

const struct filter_kind filter_stabilise = {
    .name = "stabilise",
    .summary = "finds how the camera shakes, and moves each frame against it",
    .formula =
        "H = 1; a frame is filtered with H * exp(-2 * pi * i * (fx * x + fy * y)), which "
        "moves it by the pixels x and y from the path of the camera to a smooth one; similarity: "
        "H = 1, and result(p) = captured(c + R^-1 (p - c - (x, y))) / c: the middle of the "
        "frame, R: rotation and zoom",
    .adapts = FILTER_ADAPTS_SHAKE,
    .adapt = stabilise_adapt,
    .param_count = STABILISE_MODEL + 1,
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
                    .summary = "the most by which a frame is moved along each axis, and its "
                               "corners by rotation and zoom",
                    .type = FILTER_NUMBER,
                    .min = 1,
                    .max = 64,
                    .initial = 16,
                },
            [STABILISE_MODEL] =
                {
                    .name = "model",
                    .unit = "",
                    .summary = "what is undone; similarity: shift, rotation and zoom",
                    .type = FILTER_CHOICE,
                    .initial = STABILISER_SHIFT,
                    .choices = models,
                },
        },
    .complex_response = one,
    .is_real = has_similarity,
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
                       "With `model=similarity` the motion of overlapping blocks of 32 pixels of "
                       "that picture is measured instead, and the shift, rotation and zoom on "
                       "which most of them agree is the camera's. What moves in the scene may "
                       "cover a third of the picture. This needs frames of at least 32 pixels in "
                       "both directions, and works well from 256 x 192 on.\n"
                       "The sum of the shifts is the path of the camera. A filter with two states, "
                       "position and speed, makes a smooth path of it, which follows a steady pan "
                       "without a lag. Motion much slower than the time constant is kept.\n"
                       "After a cut, or where there is nothing to see, the correction fades "
                       "smoothly to zero; with `model=shift` during rotation, too. The wobble of a "
                       "rolling shutter is not removed.\n"
                       "### How frames are moved\n"
                       "With `model=shift` each frame is filtered with H times a phase ramp of its "
                       "own, which moves "
                       "the picture from the path to the smooth one, by any part of a pixel. The "
                       "response of the chain is therefore complex. `engine.border` decides what "
                       "appears beyond the captured frame; its margin is at least the limit.\n"
                       "All colours have to be moved, so formats other than GREY, Y10, Y12 and Y16 "
                       "need `engine.planes = \"all\"`, or \"luma-only\", which publishes none.\n"
                       "With `model=similarity` samples are interpolated by cubic convolution of "
                       "the sixteen around their place when they are loaded, together with "
                       "`undistort` and `remap`. Samples at the edge are repeated beyond it. There "
                       "is no phase ramp, so that a short filter stays one. Only formats of YUV "
                       "need `engine.planes` as above. `auto-notch` and `deflicker` find waves and "
                       "rows where they are captured, so a chain with one of them needs "
                       "`model=shift`.",
        },
};
