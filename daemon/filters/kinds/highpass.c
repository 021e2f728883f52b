/* highpass: keeps high frequencies, and a share of the mean brightness. */
#include "filters/filter_shape.h"

enum { HIGHPASS_SHAPE, HIGHPASS_CUTOFF, HIGHPASS_ORDER, HIGHPASS_DC };

static double highpass_response(const struct filter_stage *stage, double fx, double fy)
{
    double f2 = square(fx) + square(fy);
    if (f2 == 0)
        return number(stage, HIGHPASS_DC);
    return filter_stop((enum filter_shape)number(stage, HIGHPASS_SHAPE),
                       number(stage, HIGHPASS_ORDER), f2 / square(number(stage, HIGHPASS_CUTOFF)));
}

static double highpass_support(const struct filter_stage *stage)
{
    return filter_cutoff_support((enum filter_shape)number(stage, HIGHPASS_SHAPE),
                                 number(stage, HIGHPASS_ORDER), number(stage, HIGHPASS_CUTOFF));
}

const struct filter_kind filter_highpass = {
    .name = "highpass",
    .summary = "keeps what is finer than the cutoff",
    .formula = "H = stop(f / cutoff), dc at f = 0",
    .param =
        {
            [HIGHPASS_SHAPE] = SHAPE_PARAM,
            [HIGHPASS_CUTOFF] = FREQUENCY_PARAM("cutoff", "where half of the power is left"),
            [HIGHPASS_ORDER] = ORDER_PARAM,
            [HIGHPASS_DC] = DC_PARAM(0),
        },
    .response = highpass_response,
    .support = highpass_support,
    .example = "highpass:cutoff=0.15,dc=1",
};
