/* binarise: publishes black and white alone. */
#include "filters/filter_shape.h"

enum { BINARISE_LEVEL };

static double binarise_level(const struct filter_stage *stage)
{
    return number(stage, BINARISE_LEVEL);
}

const struct filter_kind filter_binarise = {
    .name = "binarise",
    .group = "analysis",
    .summary = "publishes black and white: what is below a level, and what is not",
    .formula = "H = 1; a filtered sample o, rounded, becomes max if o >= level * max / 255, and "
               "otherwise 0",
    .param =
        {
            [BINARISE_LEVEL] =
                {
                    .name = "level",
                    .unit = "grey levels of 255",
                    .summary = "the least level that becomes white",
                    .required = true,
                    .min = 0.5,
                    .max = 255,
                },
        },
    .binarise = binarise_level,
    .example = "highpass:cutoff=0.02,dc=1 | binarise:level=128",
};
