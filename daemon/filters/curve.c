#include "filters/curve.h"

#include <math.h>
#include <stddef.h>

#define MAX_SLOPE 256.0 /* limit for the inverse of curve_of_power */

/* The line from black meets the power s^p where s^p = s / MAX_SLOPE. */
struct curve curve_of_power(double power)
{
    if (power <= 1)
        return (struct curve){.kind = CURVE_POWER, .power = 1, .slope = 1};
    return (struct curve){.kind = CURVE_POWER,
                          .power = power,
                          .cut = pow(MAX_SLOPE, -1 / (power - 1)),
                          .slope = 1 / MAX_SLOPE};
}

static double limit(double value, double max)
{
    return fmin(fmax(value, 0), max);
}

double curve_apply(const struct curve *curve, double max, double sample)
{
    const double s = limit(sample, max);
    switch (curve->kind) {
    case CURVE_NONE:
        return sample;
    case CURVE_LOG:
        return max / log1p(max) * log1p(s);
    case CURVE_POWER:
        break;
    }
    if (s <= curve->cut * max)
        return s * curve->slope;
    return max * pow((s / max + curve->offset) / (1 + curve->offset), curve->power);
}

double curve_undo(const struct curve *curve, double max, double value)
{
    const double v = limit(value, max);
    switch (curve->kind) {
    case CURVE_NONE:
        return value;
    case CURVE_LOG:
        return expm1(v * log1p(max) / max);
    case CURVE_POWER:
        break;
    }
    if (v <= curve->cut * curve->slope * max)
        return v / curve->slope;
    return max * ((1 + curve->offset) * pow(v / max, 1 / curve->power) - curve->offset);
}

const char *curve_name(const struct curve *curve)
{
    switch (curve->kind) {
    case CURVE_NONE:
        break;
    case CURVE_LOG:
        return "logarithmic";
    case CURVE_POWER:
        return "linear light";
    }
    return NULL;
}
