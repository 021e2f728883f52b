/* gain: multiplies the mean brightness by one factor, and everything else by another. */
#include "filters/filter_shape.h"

enum { GAIN_DC, GAIN_AC };

static double gain_response(const struct filter_stage *stage, double fx, double fy)
{
    return number(stage, fx == 0 && fy == 0 ? GAIN_DC : GAIN_AC);
}

const struct filter_kind filter_gain = {
    .name = "gain",
    .group = "light",
    .summary = "brightness and contrast: the mean and all that differs from it",
    .formula = "H = ac, dc at f = 0",
    .param =
        {
            [GAIN_DC] = DC_PARAM(1),
            [GAIN_AC] = GAIN_PARAM("ac", "gain of every other frequency", 1),
        },
    .response = gain_response,
    .example = "gain:dc=1.2,ac=0.5",
};
