/* gradient: differentiates the picture along one axis, after a Gaussian blur. */
#include <math.h>

#include "filters/filter_shape.h"

enum { GRADIENT_ALONG, GRADIENT_SIGMA, GRADIENT_GAIN, GRADIENT_DC };
enum along { ALONG_X, ALONG_Y };
static const char *const along_names[] = {"x", "y", NULL};

/* The samples of a Gaussian's slope, -x exp(-x^2 / 2 s^2): the slope of what a Gaussian blur makes,
 * whose noise is limited (filter_shape.c). */
static double complex gradient_response(const struct filter_stage *stage, double fx, double fy)
{
    if (fx == 0 && fy == 0)
        return number(stage, GRADIENT_DC);
    const bool is_along_x = number(stage, GRADIENT_ALONG) == ALONG_X;
    return I * (number(stage, GRADIENT_GAIN) * filter_gaussian_slope(number(stage, GRADIENT_SIGMA),
                                                                     is_along_x ? fx : fy,
                                                                     is_along_x ? fy : fx));
}

/* The impulse response is x exp(-x^2 / 2 s^2). The share of its energy beyond r is (1 + r^2 / s^2)
 * exp(-r^2 / s^2): 2e-4 at 1.2 times the radius of the Gaussian alone. */
static double gradient_support(const struct filter_stage *stage)
{
    return 1.2 * number(stage, GRADIENT_SIGMA) * sqrt(FILTER_LEFT_LN);
}

const struct filter_kind filter_gradient = {
    .name = "gradient",
    .group = "edges",
    .summary = "slope of the brightness along one axis: a relief lit from one side",
    .formula = "H = gain * i * D(g) * G(h), dc at f = 0, g = fx and h = fy, or g = fy and h = "
               "fx, " FILTER_GAUSSIAN_D ", " FILTER_GAUSSIAN_G ", " FILTER_GAUSSIAN_W,
    .param =
        {
            [GRADIENT_ALONG] =
                {
                    .name = "along",
                    .summary = "x: brighter where it rises to the right; y: downwards",
                    .type = FILTER_CHOICE,
                    .initial = ALONG_X,
                    .choices = along_names,
                },
            [GRADIENT_SIGMA] =
                SIGMA_PARAM("standard deviation of the blur that is part of it", 0.5, false),
            [GRADIENT_GAIN] = GAIN_PARAM("gain", "factor on the change per pixel", 1),
            [GRADIENT_DC] = DC_PARAM(1),
        },
    .complex_response = gradient_response,
    .support = gradient_support,
    .example = "gradient:gain=3",
};
