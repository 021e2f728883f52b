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
                    .summary = "the most by which a frame is moved along each axis",
                    .min = 1,
                    .max = 64,
                    .initial = 16,
                },
        },
    .complex_response = one,
    .support = stabilise_support,
    .example = "stabilise",
};
