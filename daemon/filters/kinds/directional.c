/* directional: keeps or removes a double wedge of frequencies, whose tip is at zero.
 *
 * The two sides of the line f = +-0.5 differ in this response; filter_response.c takes their mean.
 */
#include <math.h>

#include "filters/filter_shape.h"

enum {
    DIRECTION_ANGLE,
    DIRECTION_WIDTH,
    DIRECTION_KEEP,
    DIRECTION_SHAPE,
    DIRECTION_ORDER,
    DIRECTION_ABOVE
};
enum keep { KEEP_INSIDE, KEEP_OUTSIDE };
static const char *const keep_names[] = {"inside", "outside", NULL};

/* Returns the response of the wedge, without `above`. */
static double wedge(const struct filter_stage *stage, double fx, double fy)
{
    /* f and -f differ by 180 degrees, which the remainder removes only up to rounding. To get the
     * same result, both begin with the same one of the two. */
    double sign = fy < 0 || (fy == 0 && fx < 0) ? -1 : 1;
    double degrees = atan2(sign * fy, sign * fx) * (180 / M_PI);
    double off = remainder(degrees - number(stage, DIRECTION_ANGLE), 180);
    double d2 = square(off / (number(stage, DIRECTION_WIDTH) / 2));
    enum filter_shape shape = (enum filter_shape)number(stage, DIRECTION_SHAPE);
    double order = number(stage, DIRECTION_ORDER);
    switch ((enum keep)number(stage, DIRECTION_KEEP)) {
    case KEEP_INSIDE:
        return filter_pass(shape, order, d2);
    case KEEP_OUTSIDE:
        return filter_stop(shape, order, d2);
    }
    return 1;
}

/* H is 1 at zero, because the mean brightness has no direction. Shading has no direction either,
 * but is most of what a picture has on each axis near zero: `above` leaves it alone. */
static double directional_response(const struct filter_stage *stage, double fx, double fy)
{
    double f2 = square(fx) + square(fy), above = number(stage, DIRECTION_ABOVE);
    if (f2 == 0)
        return 1;
    double share = above > 0 ? filter_stop(SHAPE_GAUSSIAN, 0, f2 / square(above)) : 1;
    return 1 + share * (wedge(stage, fx, fy) - 1);
}

/* A wedge becomes infinitely narrow near zero, so its impulse response is infinitely long. 64
 * pixels are a compromise with the cost of the margin. */
static double directional_support(const struct filter_stage *stage)
{
    (void)stage;
    return 64;
}

const struct filter_kind filter_directional = {
    .name = "directional",
    .group = "patterns",
    .summary = "keeps or removes structures of one direction and any size",
    .formula = "H = 1 + s * (D - 1), 1 at f = 0, D = pass(2 * a / width) inside, "
               "stop(2 * a / width) outside, s = 1 - (1 - sqrt(1/2))^((f / above)^2), a = degrees "
               "between fx, fy and angle",
    .param =
        {
            [DIRECTION_ANGLE] =
                {
                    .name = "angle",
                    .unit = "degrees",
                    .summary = "across the structures, clockwise: 0 for vertical lines, 90 "
                               "for horizontal ones",
                    .required = true,
                    .min = -180,
                    .max = 180,
                },
            [DIRECTION_WIDTH] =
                {
                    .name = "width",
                    .unit = "degrees",
                    .summary = "angle between half-power directions",
                    .required = true,
                    .min = 0.1,
                    .max = 180,
                },
            [DIRECTION_KEEP] =
                {
                    .name = "keep",
                    .summary = "keeps what is inside the angle, or what is outside",
                    .type = FILTER_CHOICE,
                    .initial = KEEP_INSIDE,
                    .choices = keep_names,
                },
            [DIRECTION_SHAPE] = SHAPE_PARAM,
            [DIRECTION_ORDER] = ORDER_PARAM,
            [DIRECTION_ABOVE] =
                {
                    .name = "above",
                    .unit = "cycles/pixel",
                    .summary = "coarser structures, such as shading, are left alone",
                    .max = MAX_FREQUENCY,
                },
        },
    .response = directional_response,
    .support = directional_support,
    .example = "directional:angle=45,width=40",
};
