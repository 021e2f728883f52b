/* box-blur: takes the mean over a square. */
#include <math.h>

#include "filters/filter_shape.h"

enum { BOX_RADIUS };

/* The box of radius m + rest has 2m + 1 ones, with a weight of `rest` on either side, and is scaled
 * to the sum 1. The transform of the ones is Dirichlet's kernel. */
static double box(double radius, double f)
{
    double m = floor(radius), rest = radius - m, ones = 2 * m + 1;
    double sine = sin(M_PI * f);
    double sum = sine == 0 ? ones : sin(M_PI * ones * f) / sine;
    return (sum + 2 * rest * cos(2 * M_PI * (m + 1) * f)) / (ones + 2 * rest);
}

static double box_blur_response(const struct filter_stage *stage, double fx, double fy)
{
    double radius = number(stage, BOX_RADIUS);
    return box(radius, fx) * box(radius, fy);
}

static double box_blur_support(const struct filter_stage *stage)
{
    return number(stage, BOX_RADIUS) * M_SQRT2; /* the distance to its corner */
}

const struct filter_kind filter_box_blur = {
    .name = "box-blur",
    .group = "blur",
    .summary = "mean over a square of 2 radius + 1 pixels a side",
    .formula = "H = B(fx) * B(fy), B(f) = (sin((2 * m + 1) * pi * f) / sin(pi * f) + 2 * (radius - "
               "m) * cos(2 * pi * (m + 1) * f)) / (2 * radius + 1), m = floor(radius)",
    .param =
        {
            [BOX_RADIUS] =
                {
                    .name = "radius",
                    .unit = "px",
                    .summary = "from the middle to the last pixel, parts allowed",
                    .required = true,
                    .max = 100,
                },
        },
    .response = box_blur_response,
    .support = box_blur_support,
    .example = "box-blur:radius=3",
};
