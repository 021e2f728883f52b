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
    .summary = "blurs without ringing",
    .formula = "H = G(fx) * G(fy), " FILTER_GAUSSIAN_G ", " FILTER_GAUSSIAN_W,
    .param_count = 1,
    .param =
        {
            [BLUR_SIGMA] =
                {
                    .name = "sigma",
                    .unit = "px",
                    .summary = "standard deviation",
                    .type = FILTER_NUMBER,
                    .required = true,
                    .min = 0.05,
                    .max = 100,
                },
        },
    .response = gaussian_blur_response,
    .support = gaussian_blur_support,
    .is_gaussian = true,
    .docs =
        {
            .scene = "scene",
            .example = "gaussian-blur:sigma=2",
            .details = "The taps w(n) are samples of a Gaussian, as in other programs that blur "
                       "by taps. So G is the transform of a Gaussian, exp(-2 * (pi * sigma * "
                       "f)^2), repeated at whole multiples of the sampling rate (Poisson's sum: "
                       "Oppenheim and Schafer, Discrete-Time Signal Processing, chapter 4). For "
                       "sigma = 1 both differ by 0.7 % at f = 0.5, and from sigma = 2 on they are "
                       "the same for frames of 16 bits.\n"
                       "Below sigma = 0.5 the samples blur less than the Gaussian does, because "
                       "nearly all of their sum is in the middle one: with sigma = 0.3 their "
                       "standard deviation is 0.09 pixels. Towards sigma = 0 nothing is blurred.\n"
                       "`sharpen` subtracts this blur, and `gradient` takes the slope of these "
                       "samples. `wiener` undoes a blur of the lens, before the picture was "
                       "sampled, so its Gaussian is not repeated.",
        },
};
