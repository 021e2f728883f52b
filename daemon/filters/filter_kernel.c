/* The filters that are convolutions with a small kernel, given by the kernel's transform. Gain is a
 * convolution with a single pixel, except for the mean. */
#include <math.h>

#include "filters/filter_shape.h"

/* ---- blurs ---- */

enum { BLUR_SIGMA };

/* The Fourier transform of a Gaussian of this standard deviation (not of its samples). */
static double gaussian(double sigma, double f2)
{
    return exp(-2 * square(M_PI * sigma) * f2);
}

static double gaussian_support(double sigma)
{
    return sigma * sqrt(FILTER_LEFT_LN);
}

static double gaussian_blur_response(const struct filter_stage *stage, double fx, double fy)
{
    return gaussian(number(stage, BLUR_SIGMA), square(fx) + square(fy));
}

static double gaussian_blur_support(const struct filter_stage *stage)
{
    return gaussian_support(number(stage, BLUR_SIGMA));
}

const struct filter_kind filter_gaussian_blur = {
    .name = "gaussian-blur",
    .summary = "blurs without ringing",
    .formula = "H = exp(-2 * (pi * sigma * f)^2)",
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
    .is_gaussian = true,
};

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

const struct filter_kind filter_box_blur = {
    .name = "box-blur",
    .summary = "mean over a square of 2 radius + 1 pixels a side",
    .formula = "H = B(fx) * B(fy), B(f) = (sin((2 * m + 1) * pi * f) / sin(pi * f) + 2 * (radius - "
               "m) * cos(2 * pi * (m + 1) * f)) / (2 * radius + 1), m = floor(radius)",
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
};

/* ---- sharpening ---- */

enum { SHARPEN_AMOUNT, SHARPEN_SIGMA };

/* Unsharp mask: the image plus `amount` times what a blur would remove. */
static double sharpen_response(const struct filter_stage *stage, double fx, double fy)
{
    double blurred = gaussian(number(stage, SHARPEN_SIGMA), square(fx) + square(fy));
    return 1 + number(stage, SHARPEN_AMOUNT) * (1 - blurred);
}

static double sharpen_support(const struct filter_stage *stage)
{
    return gaussian_support(number(stage, SHARPEN_SIGMA));
}

const struct filter_kind filter_sharpen = {
    .name = "sharpen",
    .summary = "unsharp mask: adds what a blur would take away",
    .formula = "H = 1 + amount * (1 - exp(-2 * (pi * sigma * f)^2))",
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
    .is_gaussian = true,
};

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

const struct filter_kind filter_laplacian = {
    .name = "laplacian",
    .summary = "second derivative, negated: outlines, bright on their inner side",
    .formula = "H = gain * (4 - 2 * cos(2 * pi * fx) - 2 * cos(2 * pi * fy)), dc at f = 0",
    .param_count = 2,
    .param =
        {
            [LAPLACIAN_GAIN] = GAIN_PARAM("gain", "factor on the kernel 4, -1, -1, -1, -1", 1),
            [LAPLACIAN_DC] = DC_PARAM(0),
        },
    .response = laplacian_response,
    .support = laplacian_support,
};

/* ---- gain ---- */

enum { GAIN_DC, GAIN_AC };

static double gain_response(const struct filter_stage *stage, double fx, double fy)
{
    return number(stage, fx == 0 && fy == 0 ? GAIN_DC : GAIN_AC);
}

const struct filter_kind filter_gain = {
    .name = "gain",
    .summary = "brightness and contrast: the mean and all that differs from it",
    .formula = "H = ac, dc at f = 0",
    .param_count = 2,
    .param =
        {
            [GAIN_DC] = DC_PARAM(1),
            [GAIN_AC] = GAIN_PARAM("ac", "gain of every other frequency", 1),
        },
    .response = gain_response,
    .support = filter_support_none,
};
