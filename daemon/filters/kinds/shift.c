/* shift: moves the picture by a constant distance. */
#include <math.h>

#include "filters/filter_shape.h"

enum { SHIFT_BY };

static double complex shift_response(const struct filter_stage *stage, double fx, double fy)
{
    return filter_phase(fx * stage->value[SHIFT_BY].number + fy * stage->value[SHIFT_BY].second);
}

/* Between pixels the impulse response is a sinc, whose energy beyond r is about 1 / (pi^2 r). A
 * radius of 16 pixels leaves 0.6%, which is a compromise with the cost of the margin. */
static double shift_support(const struct filter_stage *stage)
{
    const struct filter_value *by = &stage->value[SHIFT_BY];
    const bool between = by->number != rint(by->number) || by->second != rint(by->second);
    return hypot(by->number, by->second) + (between ? 16 : 0);
}

const struct filter_kind filter_shift = {
    .name = "shift",
    .group = "motion",
    .summary = "moves the picture, also by parts of a pixel",
    .formula = "H = exp(-2 * pi * i * (fx * x + fy * y)), by = x/y",
    .param =
        {
            [SHIFT_BY] =
                {
                    .name = "by",
                    .unit = "px",
                    .summary = "to the right and down",
                    .type = FILTER_PAIR,
                    .required = true,
                    .min = -128,
                    .max = 128,
                },
        },
    .complex_response = shift_response,
    .support = shift_support,
    .example = "shift:by=20/-10.5",
};
