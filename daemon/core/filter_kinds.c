/* The filters that exist, one row of the table each, and their maths.
 *
 * One prototype. Every cut-off filter is a function of a ratio d that is 1 at the cutoff:
 *     pass(d): 1 at d = 0, 1/sqrt(2) at d = 1, 0 far beyond
 *     stop(d): 0 at d = 0, 1/sqrt(2) at d = 1, 1 far beyond
 * so that "cutoff" means the same in all shapes: half of the power is left there (-3 dB), the
 * convention of signal processing. (Gonzalez and Woods, Digital Image Processing, chapter 4, give
 * the same shapes but let the Butterworth image filter have |H| = 0.5 and the Gaussian 0.607 at
 * the cutoff.) What differs between the kinds is only d:
 *     lowpass    pass(f / cutoff)                 highpass   stop(f / cutoff)
 *     bandpass   pass((f^2 - lh) / (f (h - l)))   bandstop   stop(the same)
 *     notch      stop(distance to the nearest centre / half the width)
 * The band transformation is the classical one of analogue filter design; it is -1 at l, 0 at
 * sqrt(lh) and 1 at h.
 *
 * Butterworth (S. Butterworth, On the Theory of Filter Amplifiers, 1930), amplitude:
 *     pass(d) = 1 / sqrt(1 + d^2n), stop(d) = pass(1/d)
 * Gaussian: pass(d) = exp(-ln(2)/2 d^2). stop is 1 - exp(-k d^2), which is smooth at d = 0, where
 * sqrt(1 - pass^2) has a kink; k puts its half-power point at d = 1.
 *
 * Periodicity. A sampled image's spectrum repeats every 1 cycle/pixel. Radial filters need not
 * care, since their only seam is the line f = +-0.5, on which both sides agree; a notch measures
 * its distances around the circle; for what does not agree there (directional) filter.c takes the
 * mean of both sides.
 *
 * Support. The Gaussian lowpass with standard deviation s in space has exp(-r^2/s^2) of its energy
 * beyond r. A Butterworth's impulse response decays as exp(-2 pi r cutoff sin(pi/2n)), from the
 * branch points of its H nearest to the real axis. The ideal filter's decays so slowly (the
 * encircled energy of an Airy pattern: 1/(pi^2 cutoff r) is outside r) that 1e-3 is out of reach:
 * 4/cutoff, four rings, leaves 2.5%, and is the limit of all others too. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "core/filter.h"

#define HALF_LN2      0.34657359027997264 /* exp(-HALF_LN2) = 1/sqrt(2) */
#define GAUSS_STOP    1.2279471772995154  /* 1 - exp(-GAUSS_STOP) = 1/sqrt(2) */
#define LEFT_LN       7.600902459542082 /* -ln(5e-4): half of filter.h's 1e-3, pixels being coarse */
#define RINGS         4.0               /* of an ideal filter, before it counts as gone */

#define MIN_FREQUENCY 0.0001 /* a period of 10000 pixels: more than the largest frame */
#define MAX_FREQUENCY 0.5

enum shape { SHAPE_IDEAL, SHAPE_BUTTERWORTH, SHAPE_GAUSSIAN };
static const char *const shape_names[] = {"ideal", "butterworth", "gaussian", NULL};

#define SHAPE_PARAM                                                                                \
    {                                                                                              \
        .name = "shape", .unit = "",                                                               \
        .summary = "ideal rings, gaussian never does, butterworth lies between",                   \
        .type = FILTER_CHOICE, .initial = SHAPE_GAUSSIAN, .choices = shape_names,                  \
    }
#define ORDER_PARAM                                                                                \
    {                                                                                              \
        .name = "order", .unit = "", .summary = "steepness of the butterworth shape",              \
        .type = FILTER_NUMBER, .min = 1, .max = 10, .initial = 2,                                  \
    }
#define FREQUENCY_PARAM(label, text)                                                               \
    {                                                                                              \
        .name = label, .unit = "cycles/pixel", .summary = text, .type = FILTER_NUMBER,             \
        .required = true, .min = MIN_FREQUENCY, .max = MAX_FREQUENCY,                              \
    }
#define GAIN_PARAM(label, text, value)                                                             \
    {                                                                                              \
        .name = label, .unit = "", .summary = text, .type = FILTER_NUMBER, .min = -16, .max = 16,  \
        .initial = value,                                                                          \
    }
#define DC_PARAM(value) GAIN_PARAM("dc", "gain of the mean brightness", value)

static double number(const struct filter_stage *stage, unsigned param)
{
    return stage->value[param].number;
}

static double square(double x)
{
    return x * x;
}

/* The prototypes, as functions of d^2. */
static double pass(enum shape shape, double order, double d2)
{
    switch (shape) {
    case SHAPE_IDEAL:
        return d2 <= 1 ? 1 : 0;
    case SHAPE_BUTTERWORTH:
        return 1 / sqrt(1 + pow(d2, order));
    case SHAPE_GAUSSIAN:
        return exp(-HALF_LN2 * d2);
    }
    return 1;
}

static double stop(enum shape shape, double order, double d2)
{
    switch (shape) {
    case SHAPE_IDEAL:
        return d2 <= 1 ? 0 : 1;
    case SHAPE_BUTTERWORTH:
        return 1 / sqrt(1 + pow(d2, -order)); /* pow(0, -order) is infinite: 0 */
    case SHAPE_GAUSSIAN:
        return -expm1(-GAUSS_STOP * d2);
    }
    return 1;
}

/* Radius of the impulse response of pass() or stop() with this cutoff. */
static double cutoff_support(enum shape shape, double order, double cutoff)
{
    double limit = RINGS / cutoff, radius = limit;
    switch (shape) {
    case SHAPE_IDEAL:
        break;
    case SHAPE_BUTTERWORTH:
        radius = LEFT_LN / (4 * M_PI * cutoff * sin(M_PI / (2 * order)));
        break;
    case SHAPE_GAUSSIAN:
        /* exp(-k d^2) = exp(-2 (pi s f)^2); of the two k the larger gives the wider s. */
        radius = sqrt(GAUSS_STOP / 2 * LEFT_LN) / (M_PI * cutoff);
        break;
    }
    return fmin(radius, limit);
}

/* ---- lowpass, highpass ---- */

enum { CUT_SHAPE, CUT_CUTOFF, CUT_ORDER, CUT_DC };

static double lowpass_response(const struct filter_stage *stage, double fx, double fy)
{
    double d2 = (square(fx) + square(fy)) / square(number(stage, CUT_CUTOFF));
    return pass((enum shape)number(stage, CUT_SHAPE), number(stage, CUT_ORDER), d2);
}

static double highpass_response(const struct filter_stage *stage, double fx, double fy)
{
    double f2 = square(fx) + square(fy);
    if (f2 == 0)
        return number(stage, CUT_DC);
    return stop((enum shape)number(stage, CUT_SHAPE), number(stage, CUT_ORDER),
                f2 / square(number(stage, CUT_CUTOFF)));
}

static double cut_support(const struct filter_stage *stage)
{
    return cutoff_support((enum shape)number(stage, CUT_SHAPE), number(stage, CUT_ORDER),
                          number(stage, CUT_CUTOFF));
}

/* ---- bandpass, bandstop ---- */

enum { BAND_SHAPE, BAND_LOW, BAND_HIGH, BAND_ORDER, BAND_DC };

static double band_d2(const struct filter_stage *stage, double f2)
{
    double low = number(stage, BAND_LOW), high = number(stage, BAND_HIGH);
    /* The edges belong to the band; rounding in the general form could say otherwise, which only
     * the ideal shape would notice. */
    if (f2 == square(low) || f2 == square(high))
        return 1;
    return square(f2 - low * high) / (f2 * square(high - low)); /* infinite at f = 0 */
}

static double bandpass_response(const struct filter_stage *stage, double fx, double fy)
{
    double f2 = square(fx) + square(fy);
    if (f2 == 0)
        return number(stage, BAND_DC);
    return pass((enum shape)number(stage, BAND_SHAPE), number(stage, BAND_ORDER),
                band_d2(stage, f2));
}

static double bandstop_response(const struct filter_stage *stage, double fx, double fy)
{
    return stop((enum shape)number(stage, BAND_SHAPE), number(stage, BAND_ORDER),
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
    return cutoff_support((enum shape)number(stage, BAND_SHAPE), number(stage, BAND_ORDER),
                          fmin((high - low) / 2, low));
}

/* ---- notch ---- */

enum { NOTCH_AT, NOTCH_WIDTH, NOTCH_SHAPE, NOTCH_ORDER };

static double wrapped_distance2(double fx, double fy, double at_x, double at_y)
{
    double dx = fx - at_x, dy = fy - at_y;
    return square(dx - rint(dx)) + square(dy - rint(dy));
}

/* The distance to the nearer of both centres, not the product of two notches: so the width means
 * what it says where they meet too (at 0/0 or 0.5/0 the mirror is the same point). */
static double notch_response(const struct filter_stage *stage, double fx, double fy)
{
    double at_x = stage->value[NOTCH_AT].number, at_y = stage->value[NOTCH_AT].second;
    double nearest2 =
        fmin(wrapped_distance2(fx, fy, at_x, at_y), wrapped_distance2(fx, fy, -at_x, -at_y));
    return stop((enum shape)number(stage, NOTCH_SHAPE), number(stage, NOTCH_ORDER),
                nearest2 / square(number(stage, NOTCH_WIDTH) / 2));
}

static double notch_support(const struct filter_stage *stage)
{
    return cutoff_support((enum shape)number(stage, NOTCH_SHAPE), number(stage, NOTCH_ORDER),
                          number(stage, NOTCH_WIDTH) / 2);
}

/* ---- blurs ---- */

enum { BLUR_SIGMA };

/* The Fourier transform of a Gaussian of this standard deviation (not of its samples). */
static double gaussian(double sigma, double f2)
{
    return exp(-2 * square(M_PI * sigma) * f2);
}

static double gaussian_support(double sigma)
{
    return sigma * sqrt(LEFT_LN);
}

static double gaussian_blur_response(const struct filter_stage *stage, double fx, double fy)
{
    return gaussian(number(stage, BLUR_SIGMA), square(fx) + square(fy));
}

static double gaussian_blur_support(const struct filter_stage *stage)
{
    return gaussian_support(number(stage, BLUR_SIGMA));
}

enum { BOX_RADIUS };

/* Transform of 2m + 1 ones (Dirichlet's kernel) with a weight of `rest` on either side of them:
 * the box of radius m + rest, of sum 1. */
static double box(double radius, double f)
{
    double m = floor(radius), rest = radius - m, ones = 2 * m + 1;
    double sine = sin(M_PI * f);
    double sum = sine == 0 ? ones : sin(M_PI * ones * f) / sine;
    return (sum + 2 * rest * cos(2 * M_PI * (m + 1) * f)) / (ones + 2 * rest);
}

static double box_blur_response(const struct filter_stage *stage, double fx, double fy)
{
    double radius = number(stage, BOX_RADIUS);
    return box(radius, fx) * box(radius, fy);
}

static double box_blur_support(const struct filter_stage *stage)
{
    return number(stage, BOX_RADIUS) * M_SQRT2; /* its corner */
}

/* ---- sharpening ---- */

enum { SHARPEN_AMOUNT, SHARPEN_SIGMA };

/* Unsharp mask: the image plus `amount` times what a blur would take away. */
static double sharpen_response(const struct filter_stage *stage, double fx, double fy)
{
    double blurred = gaussian(number(stage, SHARPEN_SIGMA), square(fx) + square(fy));
    return 1 + number(stage, SHARPEN_AMOUNT) * (1 - blurred);
}

static double sharpen_support(const struct filter_stage *stage)
{
    return gaussian_support(number(stage, SHARPEN_SIGMA));
}

enum { BOOST_BASE, BOOST_BOOST, BOOST_CUTOFF, BOOST_SHAPE, BOOST_ORDER };

/* High-frequency emphasis: base + boost * highpass. */
static double highboost_response(const struct filter_stage *stage, double fx, double fy)
{
    double d2 = (square(fx) + square(fy)) / square(number(stage, BOOST_CUTOFF));
    return number(stage, BOOST_BASE) +
           number(stage, BOOST_BOOST) *
               stop((enum shape)number(stage, BOOST_SHAPE), number(stage, BOOST_ORDER), d2);
}

static double highboost_support(const struct filter_stage *stage)
{
    return cutoff_support((enum shape)number(stage, BOOST_SHAPE), number(stage, BOOST_ORDER),
                          number(stage, BOOST_CUTOFF));
}

enum { LAPLACIAN_GAIN, LAPLACIAN_DC };

/* Transform of the 3x3 kernel with 4 in the middle and -1 at its four neighbours. */
static double laplacian_response(const struct filter_stage *stage, double fx, double fy)
{
    if (fx == 0 && fy == 0)
        return number(stage, LAPLACIAN_DC);
    return number(stage, LAPLACIAN_GAIN) * (4 - 2 * cos(2 * M_PI * fx) - 2 * cos(2 * M_PI * fy));
}

static double laplacian_support(const struct filter_stage *stage)
{
    (void)stage;
    return 1;
}

/* ---- directional ---- */

enum { DIRECTION_ANGLE, DIRECTION_WIDTH, DIRECTION_KEEP, DIRECTION_SHAPE, DIRECTION_ORDER };
enum keep { KEEP_INSIDE, KEEP_OUTSIDE };
static const char *const keep_names[] = {"inside", "outside", NULL};

/* A double wedge through zero, where H = 1: the mean brightness has no direction. */
static double directional_response(const struct filter_stage *stage, double fx, double fy)
{
    if (fx == 0 && fy == 0)
        return 1;
    /* f and -f differ by 180 degrees, which the remainder takes off again; not exactly, so start
     * from the same one of the two. */
    double sign = fy < 0 || (fy == 0 && fx < 0) ? -1 : 1;
    double degrees = atan2(sign * fy, sign * fx) * (180 / M_PI);
    double off = remainder(degrees - number(stage, DIRECTION_ANGLE), 180);
    double d2 = square(off / (number(stage, DIRECTION_WIDTH) / 2));
    enum shape shape = (enum shape)number(stage, DIRECTION_SHAPE);
    double order = number(stage, DIRECTION_ORDER);
    switch ((enum keep)number(stage, DIRECTION_KEEP)) {
    case KEEP_INSIDE:
        return pass(shape, order, d2);
    case KEEP_OUTSIDE:
        return stop(shape, order, d2);
    }
    return 1;
}

/* A wedge is narrow without limit near zero and its impulse response a line without end: take what
 * the margin can give. */
static double directional_support(const struct filter_stage *stage)
{
    (void)stage;
    return 64;
}

/* ---- gain ---- */

enum { GAIN_DC, GAIN_AC };

static double gain_response(const struct filter_stage *stage, double fx, double fy)
{
    return number(stage, fx == 0 && fy == 0 ? GAIN_DC : GAIN_AC);
}

static double gain_support(const struct filter_stage *stage)
{
    (void)stage;
    return 0;
}

/* ---- the table ---- */

static const struct filter_kind kinds[] = {
    {
        .name = "lowpass",
        .summary = "keeps what is coarser than the cutoff",
        .param_count = 3,
        .param =
            {
                [CUT_SHAPE] = SHAPE_PARAM,
                [CUT_CUTOFF] = FREQUENCY_PARAM("cutoff", "where half of the power is left"),
                [CUT_ORDER] = ORDER_PARAM,
            },
        .response = lowpass_response,
        .support = cut_support,
    },
    {
        .name = "highpass",
        .summary = "keeps what is finer than the cutoff",
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
    },
    {
        .name = "bandpass",
        .summary = "keeps what lies between two frequencies",
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
    },
    {
        .name = "bandstop",
        .summary = "removes what lies between two frequencies",
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
    },
    {
        .name = "notch",
        .summary = "removes one periodic pattern: a spot of the spectrum and its mirror",
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
    },
    {
        .name = "gaussian-blur",
        .summary = "blurs without ringing",
        .param_count = 1,
        .param =
            {
                [BLUR_SIGMA] =
                    {
                        .name = "sigma",
                        .unit = "px",
                        .summary = "standard deviation",
                        .type = FILTER_NUMBER,
                        .required = true,
                        .min = 0.05,
                        .max = 100,
                    },
            },
        .response = gaussian_blur_response,
        .support = gaussian_blur_support,
    },
    {
        .name = "box-blur",
        .summary = "mean over a square of 2 radius + 1 pixels a side",
        .param_count = 1,
        .param =
            {
                [BOX_RADIUS] =
                    {
                        .name = "radius",
                        .unit = "px",
                        .summary = "from the middle to the last pixel, parts allowed",
                        .type = FILTER_NUMBER,
                        .required = true,
                        .min = 0,
                        .max = 100,
                    },
            },
        .response = box_blur_response,
        .support = box_blur_support,
    },
    {
        .name = "sharpen",
        .summary = "unsharp mask: adds what a blur would take away",
        .param_count = 2,
        .param =
            {
                [SHARPEN_AMOUNT] =
                    {
                        .name = "amount",
                        .unit = "",
                        .summary = "how much of it; 0 changes nothing",
                        .type = FILTER_NUMBER,
                        .min = 0,
                        .max = 16,
                        .initial = 1,
                    },
                [SHARPEN_SIGMA] =
                    {
                        .name = "sigma",
                        .unit = "px",
                        .summary = "standard deviation of that blur",
                        .type = FILTER_NUMBER,
                        .min = 0.05,
                        .max = 100,
                        .initial = 1,
                    },
            },
        .response = sharpen_response,
        .support = sharpen_support,
    },
    {
        .name = "highboost",
        .summary = "base + boost * highpass: evens out large tones, lifts detail",
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
    },
    {
        .name = "laplacian",
        .summary = "second derivative, negated: outlines, bright on their inner side",
        .param_count = 2,
        .param =
            {
                [LAPLACIAN_GAIN] = GAIN_PARAM("gain", "factor on the kernel 4, -1, -1, -1, -1", 1),
                [LAPLACIAN_DC] = DC_PARAM(0),
            },
        .response = laplacian_response,
        .support = laplacian_support,
    },
    {
        .name = "directional",
        .summary = "keeps or removes structures of one direction, whatever their size",
        .param_count = 5,
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
                        .summary = "what lies inside the angle or outside",
                        .type = FILTER_CHOICE,
                        .initial = KEEP_INSIDE,
                        .choices = keep_names,
                    },
                [DIRECTION_SHAPE] = SHAPE_PARAM,
                [DIRECTION_ORDER] = ORDER_PARAM,
            },
        .response = directional_response,
        .support = directional_support,
    },
    {
        .name = "gain",
        .summary = "brightness and contrast: the mean and all that differs from it",
        .param_count = 2,
        .param =
            {
                [GAIN_DC] = DC_PARAM(1),
                [GAIN_AC] = GAIN_PARAM("ac", "gain of every other frequency", 1),
            },
        .response = gain_response,
        .support = gain_support,
    },
};

#define KIND_COUNT (sizeof kinds / sizeof kinds[0])

const struct filter_kind *filter_kinds(unsigned *ret_count)
{
    *ret_count = KIND_COUNT;
    return kinds;
}

const struct filter_kind *filter_kind_by_name(const char *name)
{
    for (unsigned i = 0; i < KIND_COUNT; i++)
        if (strcmp(kinds[i].name, name) == 0)
            return &kinds[i];
    return NULL;
}
