/* Filters that undo a known blur. */
#include <errno.h>
#include <math.h>

#include "core/filter_shape.h"

enum { WIENER_BLUR, WIENER_SIZE, WIENER_ANGLE, WIENER_NOISE };
enum blur { BLUR_GAUSSIAN, BLUR_DISK, BLUR_MOTION };
static const char *const blur_names[] = {"gaussian", "disk", "motion", NULL};

/* Transforms of blurs of sum 1. A disk of radius r: 2 J1(2 pi r f) / (2 pi r f); a straight line of
 * length l: sin(pi l f) / (pi l f), f along the line (Gonzalez and Woods, Digital Image Processing,
 * chapter 5). */
static double blur_response(const struct filter_stage *stage, double fx, double fy)
{
    const double size = number(stage, WIENER_SIZE), f2 = square(fx) + square(fy);
    double angle, turn;
    switch ((enum blur)number(stage, WIENER_BLUR)) {
    case BLUR_GAUSSIAN:
        return exp(-2 * square(M_PI * size) * f2);
    case BLUR_DISK:
        turn = 2 * M_PI * size * sqrt(f2);
        return turn < 1e-6 ? 1 : 2 * j1(turn) / turn;
    case BLUR_MOTION:
        angle = number(stage, WIENER_ANGLE) * (M_PI / 180);
        turn = fabs(M_PI * size * (fx * cos(angle) + fy * sin(angle)));
        return turn < 1e-6 ? 1 : sin(turn) / turn;
    }
    return 1;
}

/* Wiener's filter for a blur B and white noise: conj B / (|B|^2 + noise / signal), and B is real.
 * (N. Wiener, Extrapolation, Interpolation, and Smoothing of Stationary Time Series, 1949.) The
 * mean brightness carries no noise, so it is kept. */
static double wiener_response(const struct filter_stage *stage, double fx, double fy)
{
    if (fx == 0 && fy == 0)
        return 1;
    const double b = blur_response(stage, fx, fy);
    return b / (square(b) + number(stage, WIENER_NOISE));
}

/* An estimate: where noise is small, the inverse of a blur rings over several times its size. */
static double wiener_support(const struct filter_stage *stage)
{
    return 8 * number(stage, WIENER_SIZE);
}

const struct filter_kind filter_wiener = {
    .name = "wiener",
    .summary = "undoes a blur of known shape as far as the noise allows",
    .formula = "H = B / (B^2 + noise), 1 at f = 0, B = exp(-2 * (pi * size * f)^2), "
               "2 * J1(2 * pi * size * f) / (2 * pi * size * f) or sin(pi * size * g) / "
               "(pi * size * g), g = fx * cos(angle) + fy * sin(angle)",
    .param_count = 4,
    .param =
        {
            [WIENER_BLUR] =
                {
                    .name = "blur",
                    .unit = "",
                    .summary = "gaussian, disk for a defocused lens, motion along a straight line",
                    .type = FILTER_CHOICE,
                    .initial = BLUR_GAUSSIAN,
                    .choices = blur_names,
                },
            [WIENER_SIZE] =
                {
                    .name = "size",
                    .unit = "px",
                    .summary = "its standard deviation, radius or length",
                    .type = FILTER_NUMBER,
                    .required = true,
                    .min = 0.1,
                    .max = 50,
                },
            [WIENER_ANGLE] =
                {
                    .name = "angle",
                    .unit = "degrees",
                    .summary = "of the motion: 0 to the right, 90 down",
                    .type = FILTER_NUMBER,
                    .min = -180,
                    .max = 180,
                },
            [WIENER_NOISE] =
                {
                    .name = "noise",
                    .unit = "",
                    .summary = "power of the noise in relation to the signal's: more is softer",
                    .type = FILTER_NUMBER,
                    .min = 1e-6,
                    .max = 10,
                    .initial = 0.01,
                },
        },
    .response = wiener_response,
    .support = wiener_support,
};
