/* soft-threshold: reduces the magnitudes of the whole frame's spectrum. */
#include "filters/filter_shape.h"

enum { THRESHOLD_SIGMA, THRESHOLD_STRENGTH };

static double threshold_of(const struct filter_stage *stage)
{
    return number(stage, THRESHOLD_SIGMA) * number(stage, THRESHOLD_STRENGTH);
}

const struct filter_kind filter_soft_threshold = {
    .name = "soft-threshold",
    .group = "noise",
    .summary = "reduces noise by a soft threshold of the whole frame's spectrum, at little cost",
    .formula = "H = 1; each number F of the spectrum is multiplied by max(0, 1 - T / |F|), "
               "T = strength * sigma * sqrt(samples of the padded frame)",
    .param =
        {
            [THRESHOLD_SIGMA] =
                {
                    .name = "sigma",
                    .unit = "grey levels of 255",
                    .summary = "standard deviation of the noise",
                    .required = true,
                    .max = 128,
                },
            [THRESHOLD_STRENGTH] =
                {
                    .name = "strength",
                    .summary = "the threshold as a multiple of what noise is in the spectrum",
                    .min = 0.1,
                    .max = 8,
                    .initial = 1,
                },
        },
    .threshold = threshold_of,
    .example = "soft-threshold:sigma=6",
};
