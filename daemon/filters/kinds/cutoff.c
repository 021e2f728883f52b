/* lowpass: keeps low frequencies. highpass: keeps high ones, and a share of the mean brightness. */
#include "filters/filter_shape.h"

enum { CUT_SHAPE, CUT_CUTOFF, CUT_ORDER, HIGHPASS_DC };

static double lowpass_response(const struct filter_stage *stage, double fx, double fy)
{
    double d2 = (square(fx) + square(fy)) / square(number(stage, CUT_CUTOFF));
    return filter_pass((enum filter_shape)number(stage, CUT_SHAPE), number(stage, CUT_ORDER), d2);
}

static double highpass_response(const struct filter_stage *stage, double fx, double fy)
{
    double f2 = square(fx) + square(fy);
    if (f2 == 0)
        return number(stage, HIGHPASS_DC);
    return filter_stop((enum filter_shape)number(stage, CUT_SHAPE), number(stage, CUT_ORDER),
                       f2 / square(number(stage, CUT_CUTOFF)));
}

static double cut_support(const struct filter_stage *stage)
{
    return filter_cutoff_support((enum filter_shape)number(stage, CUT_SHAPE),
                                 number(stage, CUT_ORDER), number(stage, CUT_CUTOFF));
}

const struct filter_kind filter_lowpass = {
    .name = "lowpass",
    .group = "blur",
    .summary = "keeps what is coarser than the cutoff",
    .formula = "H = pass(f / cutoff)",
    .param =
        {
            [CUT_SHAPE] = SHAPE_PARAM,
            [CUT_CUTOFF] = FREQUENCY_PARAM("cutoff", "where half of the power is left"),
            [CUT_ORDER] = ORDER_PARAM,
        },
    .response = lowpass_response,
    .support = cut_support,
    .example = "lowpass:cutoff=0.15",
};

const struct filter_kind filter_highpass = {
    .name = "highpass",
    .group = "edges",
    .summary = "keeps what is finer than the cutoff",
    .formula = "H = stop(f / cutoff), dc at f = 0",
    .param =
        {
            [CUT_SHAPE] = SHAPE_PARAM,
            [CUT_CUTOFF] = FREQUENCY_PARAM("cutoff", "where half of the power is left"),
            [CUT_ORDER] = ORDER_PARAM,
            [HIGHPASS_DC] = DC_PARAM(0),
        },
    .response = highpass_response,
    .support = cut_support,
    .example = "highpass:cutoff=0.15,dc=1",
};
