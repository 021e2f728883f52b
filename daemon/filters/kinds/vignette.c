/* vignette: brightens the corners of captured frames (calibration.h). */
#include <errno.h>
#include <math.h>

#include "filters/filter_shape.h"

enum { VIGNETTE_A, VIGNETTE_B };

static double vignette_gain(const struct filter_stage *stage, double r2)
{
    return 1 + number(stage, VIGNETTE_A) * r2 + number(stage, VIGNETTE_B) * square(r2);
}

/* The gain is a parabola in r^2. Its extremes are at the middle, in the corners, or at its vertex.
 */
static int vignette_check(const struct filter_stage *stage, struct error *why)
{
    const double a = number(stage, VIGNETTE_A), b = number(stage, VIGNETTE_B);
    const double vertex = b != 0 ? -a / (2 * b) : 0;
    const double corner = vignette_gain(stage, 1);
    const double turn = vertex > 0 && vertex < 1 ? vignette_gain(stage, vertex) : 1;
    const double least = fmin(fmin(1, corner), turn), most = fmax(fmax(1, corner), turn);
    if (least <= 0 || most > FILTER_MAX_GAIN)
        return error_set(
            why, EINVAL,
            "vignette: with a = %g and b = %g the gain is from %g to %g: expected more "
            "than 0 and at most %g at every radius",
            a, b, least, most, FILTER_MAX_GAIN);
    return 0;
}

static int vignette_gains(const struct filter_stage *stage, struct filter_calibration *table,
                          struct error *why)
{
    const double scale = 4 / (square(table->width) + square(table->height));
    float *gain = table->gain;
    (void)why;
    for (uint32_t y = 0; y < table->height; y++) {
        const double y2 = square(y - (table->height - 1) / 2.);
        for (uint32_t x = 0; x < table->width; x++, gain++)
            *gain *=
                (float)vignette_gain(stage, scale * (y2 + square(x - (table->width - 1) / 2.)));
    }
    return 0;
}

const struct filter_kind filter_vignette = {
    .name = "vignette",
    .group = "light",
    .summary = "brightens the corners that a lens has darkened, before the filter",
    .formula = "H = 1; corrected = sample * (1 + a * r^2 + b * r^4), r = 1 in the corners",
    .param =
        {
            [VIGNETTE_A] =
                {
                    .name = "a",
                    .summary = "gain that grows with the square of the radius",
                    .min = -8,
                    .max = 8,
                    .initial = 0.3,
                },
            [VIGNETTE_B] =
                {
                    .name = "b",
                    .summary = "gain that grows with its fourth power",
                    .min = -8,
                    .max = 8,
                    .initial = 0.1,
                },
        },
    .check = vignette_check,
    .multiply_gains = vignette_gains,
    .example = "vignette:a=0.8,b=0.8",
};
