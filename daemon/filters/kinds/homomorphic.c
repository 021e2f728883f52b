/* homomorphic: lets the whole chain filter the logarithm of the samples (curve.h). */
#include "filters/filter_shape.h"

static struct curve homomorphic_curve(const struct filter_stage *stage)
{
    (void)stage;
    return (struct curve){.kind = CURVE_LOG};
}

const struct filter_kind filter_homomorphic = {
    .name = "homomorphic",
    .summary =
        "the whole chain filters the logarithm of the samples, where illumination is a summand",
    .formula = "H = 1; curve c(s) = max * ln(1 + s) / ln(1 + max)",
    .param_count = 0,
    .curve = homomorphic_curve,
    .docs =
        {
            .scene = "scene",
            .example = "homomorphic | highpass:cutoff=0.01,dc=1",
            .note = "Broad differences in brightness shrink; those between neighbouring "
                    "surfaces stay.",
            .details = "The curve c rises and maps 0 .. max onto 0 .. max, where max is the "
                       "largest sample: 255 for 8 bits. Wherever the stage is, the whole chain "
                       "filters c(s) instead of the samples s. The result is limited to 0 .. max "
                       "and goes through the inverse of c.\n"
                       "For RGB and mosaics, only luma goes through the curve, and its change is "
                       "added to the colours; with `engine.planes = \"all\"` each colour goes "
                       "through it. Chroma of YUV is filtered without the curve.\n"
                       "A change between chains with different curves needs another engine. It "
                       "takes effect at once, without a fade.",
        },
};
