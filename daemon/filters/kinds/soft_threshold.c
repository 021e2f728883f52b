/* soft-threshold: reduces the magnitudes of the whole frame's spectrum. */
#include "filters/filter_shape.h"

enum { THRESHOLD_SIGMA, THRESHOLD_STRENGTH };

static double threshold_of(const struct filter_stage *stage)
{
    return number(stage, THRESHOLD_SIGMA) * number(stage, THRESHOLD_STRENGTH);
}

const struct filter_kind filter_soft_threshold = {
    .name = "soft-threshold",
    .summary = "reduces noise by a soft threshold of the whole frame's spectrum, at little cost",
    .formula = "H = 1; each number F of the spectrum is multiplied by max(0, 1 - T / |F|), "
               "T = strength * sigma * sqrt(samples of the padded frame)",
    .param_count = 2,
    .param =
        {
            [THRESHOLD_SIGMA] =
                {
                    .name = "sigma",
                    .unit = "grey levels of 255",
                    .summary = "standard deviation of the noise",
                    .type = FILTER_NUMBER,
                    .required = true,
                    .max = 128,
                },
            [THRESHOLD_STRENGTH] =
                {
                    .name = "strength",
                    .unit = "",
                    .summary = "the threshold as a multiple of what noise is in the spectrum",
                    .type = FILTER_NUMBER,
                    .min = 0.1,
                    .max = 8,
                    .initial = 1,
                },
        },
    .threshold = threshold_of,
    .docs =
        {
            .scene = "scene",
            .example = "soft-threshold:sigma=6",
            .note = "The scene has no noise; the filter takes its faintest waves for some.",
            .details = "The magnitudes of the spectrum of the whole frame are reduced where it is "
                       "multiplied by the response, so this takes no pass of its own and almost no "
                       "time. It works after the curve of `homomorphic` and `linear-light`, and on "
                       "each plane that is filtered.\n"
                       "It leaves more noise than `denoise`, most of all in pictures with edges. "
                       "The spectrum of an edge is spread over all frequencies, so some of each "
                       "edge is lost, and waves as large as the frame appear. A larger `strength` "
                       "suits smoother pictures.",
        },
};
