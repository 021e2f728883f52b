/* binarise: publishes black and white alone. */
#include "filters/filter_shape.h"

enum { BINARISE_LEVEL };

static double binarise_level(const struct filter_stage *stage)
{
    return number(stage, BINARISE_LEVEL);
}

const struct filter_kind filter_binarise = {
    .name = "binarise",
    .summary = "publishes black and white: what is below a level, and what is not",
    .formula = "H = 1; a filtered sample o, rounded, becomes max if o >= level * max / 255, and "
               "otherwise 0",
    .param_count = 1,
    .param =
        {
            [BINARISE_LEVEL] =
                {
                    .name = "level",
                    .unit = "grey levels of 255",
                    .summary = "the least level that becomes white",
                    .type = FILTER_NUMBER,
                    .required = true,
                    .min = 0.5,
                    .max = 255,
                },
        },
    .binarise = binarise_level,
    .docs =
        {
            .scene = "scene",
            .example = "highpass:cutoff=0.02,dc=1 | binarise:level=128",
            .note = "The highpass removes broad shading first, because one level is for the "
                    "whole picture.",
            .details = "Wherever the stage is, it is the last thing that happens to a sample, "
                       "after the inverse of the curve of `homomorphic` and `linear-light`. For "
                       "RGB and mosaics, luma becomes black and white, and its change is added to "
                       "the colours; with `engine.planes = \"all\"` each colour does. Chroma of "
                       "YUV stays as it is.\n"
                       "It costs nothing that can be measured. The level is part of the kernels: "
                       "another one needs another engine, and takes effect at once, without a "
                       "fade.",
        },
};
