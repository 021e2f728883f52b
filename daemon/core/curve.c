#include "core/curve.h"

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
