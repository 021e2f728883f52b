/* notch: removes the frequencies around a point and its negative. Distances are measured around the
 * circle, because the spectrum of a sampled image repeats every 1 cycle/pixel. */
#include <math.h>

#include "filters/filter_shape.h"

enum { NOTCH_AT, NOTCH_WIDTH, NOTCH_SHAPE, NOTCH_ORDER };

static double wrapped_distance2(double fx, double fy, double at_x, double at_y)
{
    double dx = fx - at_x, dy = fy - at_y;
    return square(dx - rint(dx)) + square(dy - rint(dy));
}

/* Uses the distance to the nearer centre instead of the product of two notches. This keeps the
 * width correct where both meet: at 0/0 and 0.5/0 the mirror is the same point. */
static double notch_response(const struct filter_stage *stage, double fx, double fy)
{
    double at_x = stage->value[NOTCH_AT].number, at_y = stage->value[NOTCH_AT].second;
    double nearest2 =
        fmin(wrapped_distance2(fx, fy, at_x, at_y), wrapped_distance2(fx, fy, -at_x, -at_y));
    return filter_stop((enum filter_shape)number(stage, NOTCH_SHAPE), number(stage, NOTCH_ORDER),
                       nearest2 / square(number(stage, NOTCH_WIDTH) / 2));
}

static double notch_support(const struct filter_stage *stage)
{
    return filter_cutoff_support((enum filter_shape)number(stage, NOTCH_SHAPE),
                                 number(stage, NOTCH_ORDER), number(stage, NOTCH_WIDTH) / 2);
}

const struct filter_kind filter_notch = {
    .name = "notch",
    .group = "patterns",
    .summary = "removes one periodic pattern: a spot of the spectrum and its mirror",
    .formula = "H = stop(2 * r / width), r = distance to the nearer of at and -at",
    .param =
        {
            [NOTCH_AT] =
                {
                    .name = "at",
                    .unit = "cycles/pixel",
                    .summary = "the pattern's frequency along x and along y",
                    .type = FILTER_PAIR,
                    .required = true,
                    .min = -0.5,
                    .max = 0.5,
                },
            [NOTCH_WIDTH] = FREQUENCY_PARAM("width", "diameter between half-power points"),
            [NOTCH_SHAPE] = SHAPE_PARAM,
            [NOTCH_ORDER] = ORDER_PARAM,
        },
    .response = notch_response,
    .support = notch_support,
    .example = "notch:at=0.21/0.13,width=0.12",
};
