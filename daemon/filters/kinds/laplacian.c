/* laplacian: takes the second derivative, by a 3x3 kernel with 4 in the middle and -1 at its four
 * neighbours. */
#include <math.h>

#include "filters/filter_shape.h"

enum { LAPLACIAN_GAIN, LAPLACIAN_DC };

static double laplacian_response(const struct filter_stage *stage, double fx, double fy)
{
    if (fx == 0 && fy == 0)
        return number(stage, LAPLACIAN_DC);
    return number(stage, LAPLACIAN_GAIN) * (4 - 2 * cos(2 * M_PI * fx) - 2 * cos(2 * M_PI * fy));
}

static double laplacian_support(const struct filter_stage *stage)
{
    (void)stage;
    return 1;
}

const struct filter_kind filter_laplacian = {
    .name = "laplacian",
    .group = "edges",
    .summary = "second derivative, negated: outlines, bright on their inner side",
    .formula = "H = gain * (4 - 2 * cos(2 * pi * fx) - 2 * cos(2 * pi * fy)), dc at f = 0",
    .param =
        {
            [LAPLACIAN_GAIN] = GAIN_PARAM("gain", "factor on the kernel 4, -1, -1, -1, -1", 1),
            [LAPLACIAN_DC] = DC_PARAM(0),
        },
    .response = laplacian_response,
    .support = laplacian_support,
    .example = "laplacian:dc=1",
};
