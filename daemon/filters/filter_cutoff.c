/* The filters with a cut-off: a response in the frequency plane, made of the shapes of
 * filter_shape.c. The kinds differ in the ratio d:
 *     lowpass    pass(f / cutoff)                 highpass   stop(f / cutoff)
 *     bandpass   pass((f^2 - lh) / (f (h - l)))   bandstop   stop(the same)
 *     notch      stop(distance to the nearest centre / half the width)
 * The band transformation is the classical one of analogue filter design; it is -1 at l, 0 at
 * sqrt(lh) and 1 at h.
 *
 * Periodicity. A sampled image's spectrum repeats every 1 cycle/pixel. Radial filters need no care,
 * since both sides of their only seam, the line f = +-0.5, agree. A notch measures its distances
 * around the circle. The two sides of a directional filter differ there, and filter.c takes their
 * mean. */
#include <errno.h>
#include <math.h>

#include "filters/filter_shape.h"

/* ---- lowpass, highpass ---- */

enum { CUT_SHAPE, CUT_CUTOFF, CUT_ORDER, CUT_DC };

static double lowpass_response(const struct filter_stage *stage, double fx, double fy)
{
    double d2 = (square(fx) + square(fy)) / square(number(stage, CUT_CUTOFF));
    return filter_pass((enum filter_shape)number(stage, CUT_SHAPE), number(stage, CUT_ORDER), d2);
}

static double highpass_response(const struct filter_stage *stage, double fx, double fy)
{
    double f2 = square(fx) + square(fy);
    if (f2 == 0)
        return number(stage, CUT_DC);
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
    .summary = "keeps what is coarser than the cutoff",
    .formula = "H = pass(f / cutoff)",
    .param_count = 3,
    .param =
        {
            [CUT_SHAPE] = SHAPE_PARAM,
            [CUT_CUTOFF] = FREQUENCY_PARAM("cutoff", "where half of the power is left"),
            [CUT_ORDER] = ORDER_PARAM,
        },
    .response = lowpass_response,
    .support = cut_support,
};

const struct filter_kind filter_highpass = {
    .name = "highpass",
    .summary = "keeps what is finer than the cutoff",
    .formula = "H = stop(f / cutoff), dc at f = 0",
    .param_count = 4,
    .param =
        {
            [CUT_SHAPE] = SHAPE_PARAM,
            [CUT_CUTOFF] = FREQUENCY_PARAM("cutoff", "where half of the power is left"),
            [CUT_ORDER] = ORDER_PARAM,
            [CUT_DC] = DC_PARAM(0),
        },
    .response = highpass_response,
    .support = cut_support,
};

/* ---- bandpass, bandstop ---- */

enum { BAND_SHAPE, BAND_LOW, BAND_HIGH, BAND_ORDER, BAND_DC };

static double band_d2(const struct filter_stage *stage, double f2)
{
    double low = number(stage, BAND_LOW), high = number(stage, BAND_HIGH);
    /* The edges belong to the band. Rounding in the general form could put them outside, which
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

/* The narrowest feature of the response: half the band, or its distance from zero. */
static double band_support(const struct filter_stage *stage)
{
    double low = number(stage, BAND_LOW), high = number(stage, BAND_HIGH);
    return filter_cutoff_support((enum filter_shape)number(stage, BAND_SHAPE),
                                 number(stage, BAND_ORDER), fmin((high - low) / 2, low));
}

const struct filter_kind filter_bandpass = {
    .name = "bandpass",
    .summary = "keeps what is between two frequencies",
    .formula = "H = pass((f^2 - low * high) / (f * (high - low))), dc at f = 0",
    .param_count = 5,
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
};

const struct filter_kind filter_bandstop = {
    .name = "bandstop",
    .summary = "removes what is between two frequencies",
    .formula = "H = stop((f^2 - low * high) / (f * (high - low))), 1 at f = 0",
    .param_count = 4,
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
};

/* ---- notch ---- */

enum { NOTCH_AT, NOTCH_WIDTH, NOTCH_SHAPE, NOTCH_ORDER };

static double wrapped_distance2(double fx, double fy, double at_x, double at_y)
{
    double dx = fx - at_x, dy = fy - at_y;
    return square(dx - rint(dx)) + square(dy - rint(dy));
}

/* Uses the distance to the nearer centre instead of the product of two notches. The width is then
 * correct even where both meet: at 0/0 and 0.5/0 the mirror is the same point. */
static double notch_response(const struct filter_stage *stage, double fx, double fy)
{
    double at_x = stage->value[NOTCH_AT].number, at_y = stage->value[NOTCH_AT].second;
    double nearest2 =
        fmin(wrapped_distance2(fx, fy, at_x, at_y), wrapped_distance2(fx, fy, -at_x, -at_y));
    return filter_stop((enum filter_shape)number(stage, NOTCH_SHAPE), number(stage, NOTCH_ORDER),
                       nearest2 / square(number(stage, NOTCH_WIDTH) / 2));
}

static double notch_support(const struct filter_stage *stage)
{
    return filter_cutoff_support((enum filter_shape)number(stage, NOTCH_SHAPE),
                                 number(stage, NOTCH_ORDER), number(stage, NOTCH_WIDTH) / 2);
}

const struct filter_kind filter_notch = {
    .name = "notch",
    .summary = "removes one periodic pattern: a spot of the spectrum and its mirror",
    .formula = "H = stop(2 * r / width), r = distance to the nearer of at and -at",
    .param_count = 4,
    .param =
        {
            [NOTCH_AT] =
                {
                    .name = "at",
                    .unit = "cycles/pixel",
                    .summary = "the pattern's frequency along x and along y",
                    .type = FILTER_PAIR,
                    .required = true,
                    .min = -0.5,
                    .max = 0.5,
                },
            [NOTCH_WIDTH] = FREQUENCY_PARAM("width", "diameter between half-power points"),
            [NOTCH_SHAPE] = SHAPE_PARAM,
            [NOTCH_ORDER] = ORDER_PARAM,
        },
    .response = notch_response,
    .support = notch_support,
};

/* ---- highboost ---- */

enum { BOOST_BASE, BOOST_BOOST, BOOST_CUTOFF, BOOST_SHAPE, BOOST_ORDER };

/* High-frequency emphasis: base + boost * highpass. */
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
    .summary = "base + boost * highpass: evens out large tones, lifts detail",
    .formula = "H = base + boost * stop(f / cutoff)",
    .param_count = 5,
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
};

/* ---- directional ---- */

enum {
    DIRECTION_ANGLE,
    DIRECTION_WIDTH,
    DIRECTION_KEEP,
    DIRECTION_SHAPE,
    DIRECTION_ORDER,
    DIRECTION_ABOVE
};
enum keep { KEEP_INSIDE, KEEP_OUTSIDE };
static const char *const keep_names[] = {"inside", "outside", NULL};

/* A double wedge through zero. */
static double wedge(const struct filter_stage *stage, double fx, double fy)
{
    /* f and -f differ by 180 degrees, which the remainder removes, but not exactly. So both start
     * from the same one of the two. */
    double sign = fy < 0 || (fy == 0 && fx < 0) ? -1 : 1;
    double degrees = atan2(sign * fy, sign * fx) * (180 / M_PI);
    double off = remainder(degrees - number(stage, DIRECTION_ANGLE), 180);
    double d2 = square(off / (number(stage, DIRECTION_WIDTH) / 2));
    enum filter_shape shape = (enum filter_shape)number(stage, DIRECTION_SHAPE);
    double order = number(stage, DIRECTION_ORDER);
    switch ((enum keep)number(stage, DIRECTION_KEEP)) {
    case KEEP_INSIDE:
        return filter_pass(shape, order, d2);
    case KEEP_OUTSIDE:
        return filter_stop(shape, order, d2);
    }
    return 1;
}

/* At zero H = 1, because the mean brightness has no direction. Nor has shading, which is most of
 * what a picture has on each axis near zero: `above` leaves it alone. */
static double directional_response(const struct filter_stage *stage, double fx, double fy)
{
    double f2 = square(fx) + square(fy), above = number(stage, DIRECTION_ABOVE);
    if (f2 == 0)
        return 1;
    double share = above > 0 ? filter_stop(SHAPE_GAUSSIAN, 0, f2 / square(above)) : 1;
    return 1 + share * (wedge(stage, fx, fy) - 1);
}

/* A wedge becomes infinitely narrow near zero, so its impulse response is infinitely long. This is
 * a compromise with the cost of the margin. */
static double directional_support(const struct filter_stage *stage)
{
    (void)stage;
    return 64;
}

const struct filter_kind filter_directional = {
    .name = "directional",
    .summary = "keeps or removes structures of one direction and any size",
    .formula = "H = 1 + s * (D - 1), 1 at f = 0, D = pass(2 * a / width) inside, "
               "stop(2 * a / width) outside, s = 1 - (1 - sqrt(1/2))^((f / above)^2), a = degrees "
               "between fx, fy and angle",
    .param_count = 6,
    .param =
        {
            [DIRECTION_ANGLE] =
                {
                    .name = "angle",
                    .unit = "degrees",
                    .summary = "across the structures, clockwise: 0 for vertical lines, 90 "
                               "for horizontal ones",
                    .type = FILTER_NUMBER,
                    .required = true,
                    .min = -180,
                    .max = 180,
                },
            [DIRECTION_WIDTH] =
                {
                    .name = "width",
                    .unit = "degrees",
                    .summary = "angle between half-power directions",
                    .type = FILTER_NUMBER,
                    .required = true,
                    .min = 0.1,
                    .max = 180,
                },
            [DIRECTION_KEEP] =
                {
                    .name = "keep",
                    .unit = "",
                    .summary = "keeps what is inside the angle, or what is outside",
                    .type = FILTER_CHOICE,
                    .initial = KEEP_INSIDE,
                    .choices = keep_names,
                },
            [DIRECTION_SHAPE] = SHAPE_PARAM,
            [DIRECTION_ORDER] = ORDER_PARAM,
            [DIRECTION_ABOVE] =
                {
                    .name = "above",
                    .unit = "cycles/pixel",
                    .summary = "coarser structures, such as shading, are left alone",
                    .type = FILTER_NUMBER,
                    .min = 0,
                    .max = MAX_FREQUENCY,
                },
        },
    .response = directional_response,
    .support = directional_support,
};
