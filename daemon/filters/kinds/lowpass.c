/* lowpass: keeps low frequencies. */
#include "filters/filter_shape.h"

enum { LOWPASS_SHAPE, LOWPASS_CUTOFF, LOWPASS_ORDER };

static double lowpass_response(const struct filter_stage *stage, double fx, double fy)
{
    double d2 = (square(fx) + square(fy)) / square(number(stage, LOWPASS_CUTOFF));
    return filter_pass((enum filter_shape)number(stage, LOWPASS_SHAPE),
                       number(stage, LOWPASS_ORDER), d2);
}

static double lowpass_support(const struct filter_stage *stage)
{
    return filter_cutoff_support((enum filter_shape)number(stage, LOWPASS_SHAPE),
                                 number(stage, LOWPASS_ORDER), number(stage, LOWPASS_CUTOFF));
}

const struct filter_kind filter_lowpass = {
    .name = "lowpass",
    .summary = "keeps what is coarser than the cutoff",
    .formula = "H = pass(f / cutoff)",
    .param =
        {
            [LOWPASS_SHAPE] = SHAPE_PARAM,
            [LOWPASS_CUTOFF] = FREQUENCY_PARAM("cutoff", "where half of the power is left"),
            [LOWPASS_ORDER] = ORDER_PARAM,
        },
    .response = lowpass_response,
    .support = lowpass_support,
    .example = "lowpass:cutoff=0.15",
};
