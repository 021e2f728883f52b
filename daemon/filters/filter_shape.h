/* Shared by the kinds of filters: the shapes of a cut-off, a Gaussian, and parameters that several
 * kinds have. Pure; only filters/kinds/ includes this. */
#ifndef FFTD_FILTERS_FILTER_SHAPE_H
#define FFTD_FILTERS_FILTER_SHAPE_H

#include "filters/filter_kind.h"

enum filter_interpolation { FILTER_BILINEAR, FILTER_BICUBIC };
extern const char *const filter_interpolation_names[];

enum filter_shape { SHAPE_IDEAL, SHAPE_BUTTERWORTH, SHAPE_GAUSSIAN };
extern const char *const filter_shape_names[];

/* This is -ln(5e-4). filter_kind.h allows 1e-3 of the energy outside the support; half of that is
 * used here, because the samples are coarse. */
#define FILTER_LEFT_LN 7.600902459542082

/* Return the response at d times the cutoff, given d^2 (filter_shape.c). */
double filter_pass(enum filter_shape shape, double order, double d2);
double filter_stop(enum filter_shape shape, double order, double d2);

/* Returns the radius in pixels of the impulse response of filter_pass or filter_stop. */
double filter_cutoff_support(enum filter_shape shape, double order, double cutoff);

/* What the formulas of the kinds below mean by G, D and w. */
#define FILTER_GAUSSIAN_G "G(f) = sum of w(n) * cos(2 * pi * n * f) / sum of w(n)"
#define FILTER_GAUSSIAN_D "D(f) = sum of n * w(n) * sin(2 * pi * n * f) / sum of n^2 * w(n)"
#define FILTER_GAUSSIAN_W "w(n) = exp(-(n / sigma)^2 / 2)"

/* Returns the transform of the samples of a Gaussian with the sum 1: G(fx) * G(fy). sigma is its
 * standard deviation in pixels, 0.05 or more. */
double filter_gaussian(double sigma, double fx, double fy);

/* Returns the transform of the samples of its slope along one axis, D(f) * G(across), with which a
 * ramp has its own slope. sigma is at least 0.5. */
double filter_gaussian_slope(double sigma, double f, double across);

/* Returns the radius of the Gaussian. */
double filter_gaussian_support(double sigma);

static inline double number(const struct filter_stage *stage, unsigned param)
{
    return stage->value[param].number;
}

static inline double square(double x)
{
    return x * x;
}

#define MIN_FREQUENCY   0.0001 /* a period of 10000 pixels: more than the largest frame */
#define MAX_FREQUENCY   0.5

/* clang-format off */
#define SHAPE_PARAM                                                                                \
    {                                                                                              \
        .name = "shape",                                                                           \
        .summary = "ideal rings, gaussian does not, butterworth is in between",                    \
        .type = FILTER_CHOICE, .initial = SHAPE_GAUSSIAN, .choices = filter_shape_names,           \
    }
#define ORDER_PARAM                                                                                \
    {                                                                                              \
        .name = "order", .summary = "steepness of the butterworth shape", .min = 1, .max = 10,     \
        .initial = 2,                                                                              \
    }
#define FREQUENCY_PARAM(label, text)                                                               \
    {                                                                                              \
        .name = label, .unit = "cycles/pixel", .summary = text,                                    \
        .required = true, .min = MIN_FREQUENCY, .max = MAX_FREQUENCY,                              \
    }
#define GAIN_PARAM(label, text, value)                                                             \
    {                                                                                              \
        .name = label, .summary = text, .min = -16, .max = 16, .initial = value,                   \
    }
#define SIGMA_PARAM(text, least, is_required)                                                      \
    {                                                                                              \
        .name = "sigma", .unit = "px", .summary = text,                                            \
        .required = is_required, .min = least, .max = 100, .initial = 1,                           \
    }
#define IMAGE_PARAM(text, is_required)                                                             \
    {                                                                                              \
        .name = "image", .summary = text, .type = FILTER_IMAGE, .required = is_required,           \
    }
#define INTERPOLATION_PARAM                                                                        \
    {                                                                                              \
        .name = "interpolation",                                                                   \
        .summary = "between captured pixels; bicubic is sharper and takes more time",              \
        .type = FILTER_CHOICE, .initial = FILTER_BILINEAR, .choices = filter_interpolation_names,  \
    }
/* clang-format on */
#define DC_PARAM(value) GAIN_PARAM("dc", "gain of the mean brightness", value)

#endif
