/* linear-light: lets the whole chain filter light instead of encoded samples (curve.h). */
#include <math.h>

#include "filters/filter_shape.h"

enum { LINEAR_ENCODING, LINEAR_GAMMA };
enum encoding { ENCODING_SRGB, ENCODING_BT709, ENCODING_GAMMA };
static const char *const encoding_names[] = {"srgb", "bt709", "gamma", NULL};

/* sRGB is IEC 61966-2-1. BT.709 inverts the transfer function of ITU-R BT.709-6, item 1.2, with the
 * constants of ITU-R BT.2020-2, table 4, which make it continuous. */
#define BT709_A   0.09929682680944
#define BT709_B   0.018053968510807

/* A straight line through black bounds the slope of a power's inverse, because a power alone would
 * turn rounding errors into grey there. They meet where s^power = s / MAX_SLOPE. */
#define MAX_SLOPE 256.0

static struct curve curve_of_power(double power)
{
    if (power <= 1)
        return (struct curve){.kind = CURVE_POWER, .power = 1, .slope = 1};
    return (struct curve){.kind = CURVE_POWER,
                          .power = power,
                          .cut = pow(MAX_SLOPE, -1 / (power - 1)),
                          .slope = 1 / MAX_SLOPE};
}

static struct curve linear_curve(const struct filter_stage *stage)
{
    switch ((enum encoding)number(stage, LINEAR_ENCODING)) {
    case ENCODING_SRGB:
        break;
    case ENCODING_BT709:
        return (struct curve){.kind = CURVE_POWER,
                              .power = 1 / 0.45,
                              .offset = BT709_A,
                              .cut = 4.5 * BT709_B,
                              .slope = 1 / 4.5};
    case ENCODING_GAMMA:
        return curve_of_power(number(stage, LINEAR_GAMMA));
    }
    return (struct curve){
        .kind = CURVE_POWER, .power = 2.4, .offset = 0.055, .cut = 0.04045, .slope = 1 / 12.92};
}

const struct filter_kind filter_linear_light = {
    .name = "linear-light",
    .group = "light",
    .summary = "the whole chain filters light instead of the samples that encode it",
    .formula =
        "H = 1; curve c(s) = max * r / 12.92 or max * ((r + 0.055) / 1.055)^2.4 for srgb, max * "
        "r / 4.5 or max * ((r + 0.0993) / 1.0993)^(1 / 0.45) for bt709, max * r / 256 or max * "
        "r^gamma for gamma, r = s / max",
    .param =
        {
            [LINEAR_ENCODING] =
                {
                    .name = "encoding",
                    .summary = "how samples encode light",
                    .type = FILTER_CHOICE,
                    .initial = ENCODING_SRGB,
                    .choices = encoding_names,
                },
            [LINEAR_GAMMA] =
                {
                    .name = "gamma",
                    .summary = "the exponent of the encoding gamma",
                    .min = 1,
                    .max = 3,
                    .initial = 2.2,
                },
        },
    .curve = linear_curve,
    .example = "linear-light | gaussian-blur:sigma=3",
};
