/* highboost: adds a multiple of a highpass to a constant (high-frequency emphasis). */
#include "filters/filter_shape.h"

enum { BOOST_BASE, BOOST_BOOST, BOOST_CUTOFF, BOOST_SHAPE, BOOST_ORDER };

static double highboost_response(const struct filter_stage *stage, double fx, double fy)
{
    double d2 = (square(fx) + square(fy)) / square(number(stage, BOOST_CUTOFF));
    return number(stage, BOOST_BASE) +
           number(stage, BOOST_BOOST) * filter_stop((enum filter_shape)number(stage, BOOST_SHAPE),
                                                    number(stage, BOOST_ORDER), d2);
}

static double highboost_support(const struct filter_stage *stage)
{
    return filter_cutoff_support((enum filter_shape)number(stage, BOOST_SHAPE),
                                 number(stage, BOOST_ORDER), number(stage, BOOST_CUTOFF));
}

const struct filter_kind filter_highboost = {
    .name = "highboost",
    .group = "blur",
    .summary = "base + boost * highpass: evens out large tones, lifts detail",
    .formula = "H = base + boost * stop(f / cutoff)",
    .param =
        {
            [BOOST_BASE] = GAIN_PARAM("base", "gain of the lowest frequencies", 1),
            [BOOST_BOOST] = GAIN_PARAM("boost", "added to it at the highest", 1),
            [BOOST_CUTOFF] = FREQUENCY_PARAM("cutoff", "half-power point of the highpass"),
            [BOOST_SHAPE] = SHAPE_PARAM,
            [BOOST_ORDER] = ORDER_PARAM,
        },
    .response = highboost_response,
    .support = highboost_support,
    .example = "highboost:base=0.7,boost=1.5,cutoff=0.1",
};
