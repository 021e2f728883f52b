/* sharpen: adds `amount` times what a blur would remove (unsharp mask). The blur is that of
 * gaussian-blur. */
#include "filters/filter_shape.h"

enum { SHARPEN_AMOUNT, SHARPEN_SIGMA };

static double sharpen_response(const struct filter_stage *stage, double fx, double fy)
{
    double blurred = filter_gaussian(number(stage, SHARPEN_SIGMA), fx, fy);
    return 1 + number(stage, SHARPEN_AMOUNT) * (1 - blurred);
}

static double sharpen_support(const struct filter_stage *stage)
{
    return filter_gaussian_support(number(stage, SHARPEN_SIGMA));
}

const struct filter_kind filter_sharpen = {
    .name = "sharpen",
    .group = "blur",
    .summary = "unsharp mask: adds what a blur would take away",
    .formula = "H = 1 + amount * (1 - G(fx) * G(fy)), " FILTER_GAUSSIAN_G ", " FILTER_GAUSSIAN_W,
    .param =
        {
            [SHARPEN_AMOUNT] =
                {
                    .name = "amount",
                    .summary = "how much of it; 0 changes nothing",
                    .max = 16,
                    .initial = 1,
                },
            [SHARPEN_SIGMA] = SIGMA_PARAM("standard deviation of that blur", 0.05, false),
        },
    .response = sharpen_response,
    .support = sharpen_support,
    .is_gaussian = true,
    .example = "sharpen:amount=2,sigma=1.5",
};
