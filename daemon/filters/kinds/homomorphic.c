/* homomorphic: lets the whole chain filter the logarithm of the samples (curve.h). */
#include "filters/filter_shape.h"

static struct curve homomorphic_curve(const struct filter_stage *stage)
{
    (void)stage;
    return (struct curve){.kind = CURVE_LOG};
}

const struct filter_kind filter_homomorphic = {
    .name = "homomorphic",
    .group = "light",
    .summary =
        "the whole chain filters the logarithm of the samples, where illumination is a summand",
    .formula = "H = 1; curve c(s) = max * ln(1 + s) / ln(1 + max)",
    .curve = homomorphic_curve,
    .example = "homomorphic | highpass:cutoff=0.01,dc=1",
};
