/* bandpass and bandstop: a lowpass and a highpass after the band transformation of analogue filter
 * design. Its d is -1 at low, 0 at sqrt(low * high) and 1 at high. */
#include <errno.h>
#include <math.h>

#include "filters/filter_shape.h"

enum { BAND_SHAPE, BAND_LOW, BAND_HIGH, BAND_ORDER, BAND_DC };

static double band_d2(const struct filter_stage *stage, double f2)
{
    double low = number(stage, BAND_LOW), high = number(stage, BAND_HIGH);
    /* The edges belong to the band, but rounding in the general form could put them outside. This
     * would change the ideal shape. */
    if (f2 == square(low) || f2 == square(high))
        return 1;
    return square(f2 - low * high) / (f2 * square(high - low)); /* infinite at f = 0 */
}

static double bandpass_response(const struct filter_stage *stage, double fx, double fy)
{
    double f2 = square(fx) + square(fy);
    if (f2 == 0)
        return number(stage, BAND_DC);
    return filter_pass((enum filter_shape)number(stage, BAND_SHAPE), number(stage, BAND_ORDER),
                       band_d2(stage, f2));
}

static double bandstop_response(const struct filter_stage *stage, double fx, double fy)
{
    return filter_stop((enum filter_shape)number(stage, BAND_SHAPE), number(stage, BAND_ORDER),
                       band_d2(stage, square(fx) + square(fy)));
}

static int band_check(const struct filter_stage *stage, struct error *why)
{
    double low = number(stage, BAND_LOW), high = number(stage, BAND_HIGH);
    if (low < high)
        return 0;
    return error_set(why, EINVAL, "%s: low = %g must be below high = %g", stage->kind->name, low,
                     high);
}

/* The narrowest feature of the response decides: half the band, or its distance from zero. */
static double band_support(const struct filter_stage *stage)
{
    double low = number(stage, BAND_LOW), high = number(stage, BAND_HIGH);
    return filter_cutoff_support((enum filter_shape)number(stage, BAND_SHAPE),
                                 number(stage, BAND_ORDER), fmin((high - low) / 2, low));
}

const struct filter_kind filter_bandpass = {
    .name = "bandpass",
    .group = "edges",
    .summary = "keeps what is between two frequencies",
    .formula = "H = pass((f^2 - low * high) / (f * (high - low))), dc at f = 0",
    .param =
        {
            [BAND_SHAPE] = SHAPE_PARAM,
            [BAND_LOW] = FREQUENCY_PARAM("low", "lower half-power frequency"),
            [BAND_HIGH] = FREQUENCY_PARAM("high", "upper half-power frequency"),
            [BAND_ORDER] = ORDER_PARAM,
            [BAND_DC] = DC_PARAM(0),
        },
    .check = band_check,
    .response = bandpass_response,
    .support = band_support,
    .example = "bandpass:low=0.1,high=0.25,dc=1",
};

const struct filter_kind filter_bandstop = {
    .name = "bandstop",
    .group = "patterns",
    .summary = "removes what is between two frequencies",
    .formula = "H = stop((f^2 - low * high) / (f * (high - low))), 1 at f = 0",
    .param =
        {
            [BAND_SHAPE] = SHAPE_PARAM,
            [BAND_LOW] = FREQUENCY_PARAM("low", "lower half-power frequency"),
            [BAND_HIGH] = FREQUENCY_PARAM("high", "upper half-power frequency"),
            [BAND_ORDER] = ORDER_PARAM,
        },
    .check = band_check,
    .response = bandstop_response,
    .support = band_support,
    .example = "bandstop:low=0.1,high=0.25",
};
