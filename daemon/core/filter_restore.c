/* Filters that undo a known blur. */
#include <errno.h>
#include <math.h>

#include "core/filter_shape.h"

enum { WIENER_BLUR, WIENER_SIZE, WIENER_ANGLE, WIENER_NOISE, WIENER_FALLOFF };
#define NOISE_AT 0.1 /* cycles per pixel: the frequency that `noise` is about */
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

/* Wiener's filter for a blur B: conj B / (|B|^2 + noise power / signal power), and B is real. (N.
 * Wiener, Extrapolation, Interpolation, and Smoothing of Stationary Time Series, 1949.) The noise
 * is white; the power of pictures falls with the frequency (D. J. Field, Relations between the
 * statistics of natural images and the response properties of cortical cells, 1987, has f^-2; for
 * the error that is left, f^-3 proved better). The mean brightness is kept. */
static double wiener_response(const struct filter_stage *stage, double fx, double fy)
{
    const double f = hypot(fx, fy);
    if (f == 0)
        return 1;
    const double b = blur_response(stage, fx, fy);
    return b / (square(b) +
                number(stage, WIENER_NOISE) * pow(f / NOISE_AT, number(stage, WIENER_FALLOFF)));
}

/* An estimate: where noise is small, the inverse of a blur rings over several times its size. */
static double wiener_support(const struct filter_stage *stage)
{
    return 8 * number(stage, WIENER_SIZE);
}

const struct filter_kind filter_wiener = {
    .name = "wiener",
    .summary = "undoes a blur of known shape as far as the noise allows",
    .formula = "H = B / (B^2 + noise * (f / 0.1)^falloff), 1 at f = 0, B = exp(-2 * (pi * size * "
               "f)^2) for gaussian, 2 * J1(2 * pi * size * f) / (2 * pi * size * f) for disk, "
               "sin(pi * size * g) / (pi * size * g) for motion, g = fx * cos(angle) + fy * "
               "sin(angle)",
    .param_count = 5,
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
                    .summary = "standard deviation of gaussian, radius of disk, length of motion",
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
                    .summary =
                        "its power in relation to the picture's at 0.1 cycles/pixel; more is "
                        "softer",
                    .type = FILTER_NUMBER,
                    .min = 1e-6,
                    .max = 10,
                    .initial = 0.002,
                },
            [WIENER_FALLOFF] =
                {
                    .name = "falloff",
                    .unit = "",
                    .summary = "the picture's power falls as f^-falloff; 0: it does not",
                    .type = FILTER_NUMBER,
                    .min = 0,
                    .max = 4,
                    .initial = 3,
                },
        },
    .response = wiener_response,
    .support = wiener_support,
};
