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
    .group = "motion",
    .summary = "finds how the camera shakes, and moves each frame against it",
    .formula =
        "H = 1; a frame is filtered with H * exp(-2 * pi * i * (fx * x + fy * y)), which "
        "moves it by the pixels x and y from the path of the camera to a smooth one; similarity: "
        "H = 1, and result(p) = captured(c + R^-1 (p - c - (x, y))), c: the middle of the "
        "frame, R: rotation and zoom",
    .adapts = FILTER_ADAPTS_SHAKE,
    .adapt = stabilise_adapt,
    .param =
        {
            [STABILISE_TIME] =
                {
                    .name = "time",
                    .unit = "s",
                    .summary = "time constant of the smooth path; slower motion is kept",
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
                    .min = 1,
                    .max = 64,
                    .initial = 16,
                },
            [STABILISE_MODEL] =
                {
                    .name = "model",
                    .summary = "what is undone; similarity: shift, rotation and zoom",
                    .type = FILTER_CHOICE,
                    .initial = STABILISER_SHIFT,
                    .choices = models,
                },
        },
    .complex_response = one,
    .is_real = has_similarity,
    .support = stabilise_support,
    .example = "stabilise",
};
