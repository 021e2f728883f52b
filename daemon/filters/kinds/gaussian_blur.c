/* gaussian-blur: blurs without ringing. Its taps are samples of a Gaussian, divided by their sum
 * (filter_shape.c), so it makes the pixels of other programs that blur by taps. */
#include "filters/filter_shape.h"

enum { BLUR_SIGMA };

static double gaussian_blur_response(const struct filter_stage *stage, double fx, double fy)
{
    return filter_gaussian(number(stage, BLUR_SIGMA), fx, fy);
}

static double gaussian_blur_support(const struct filter_stage *stage)
{
    return filter_gaussian_support(number(stage, BLUR_SIGMA));
}

const struct filter_kind filter_gaussian_blur = {
    .name = "gaussian-blur",
    .group = "blur",
    .summary = "blurs without ringing",
    .formula = "H = G(fx) * G(fy), " FILTER_GAUSSIAN_G ", " FILTER_GAUSSIAN_W,
    .param =
        {
            [BLUR_SIGMA] = SIGMA_PARAM("standard deviation", 0.05, true),
        },
    .response = gaussian_blur_response,
    .support = gaussian_blur_support,
    .is_gaussian = true,
    .example = "gaussian-blur:sigma=2",
};
