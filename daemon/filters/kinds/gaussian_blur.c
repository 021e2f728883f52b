/* gaussian-blur: blurs without ringing. */
#include "filters/filter_shape.h"

enum { BLUR_SIGMA };

static double gaussian_blur_response(const struct filter_stage *stage, double fx, double fy)
{
    return filter_gaussian(number(stage, BLUR_SIGMA), square(fx) + square(fy));
}

static double gaussian_blur_support(const struct filter_stage *stage)
{
    return filter_gaussian_support(number(stage, BLUR_SIGMA));
}

const struct filter_kind filter_gaussian_blur = {
    .name = "gaussian-blur",
    .summary = "blurs without ringing",
    .formula = "H = exp(-2 * (pi * sigma * f)^2)",
    .param =
        {
            [BLUR_SIGMA] =
                {
                    .name = "sigma",
                    .unit = "px",
                    .summary = "standard deviation",
                    .required = true,
                    .min = 0.05,
                    .max = 100,
                },
        },
    .response = gaussian_blur_response,
    .support = gaussian_blur_support,
    .is_gaussian = true,
    .example = "gaussian-blur:sigma=2",
};
