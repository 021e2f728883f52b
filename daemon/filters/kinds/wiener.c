/* wiener: undoes a known blur.
 *
 * Wiener's filter for a blur B is conj B / (|B|^2 + noise power / signal power) (N. Wiener,
 * Extrapolation, Interpolation, and Smoothing of Stationary Time Series, 1949). The noise is taken
 * to be white, and the power of pictures to fall with the frequency as f^-2 (D. J. Field, Relations
 * between the statistics of natural images and the response properties of cortical cells, 1987).
 * The default of `falloff` is the one with the smallest mean error in random blurred photographs
 * (tests/bench/wiener_defaults.py). */
#include <errno.h>
#include <math.h>

#include "filters/blur.h"
#include "filters/filter_shape.h"

enum { WIENER_BLUR, WIENER_SIZE, WIENER_ANGLE, WIENER_IMAGE, WIENER_NOISE, WIENER_FALLOFF };
#define LEAST_NOISE 1e-6
static const char *const blur_names[] = {"gaussian", "disk", "motion", "image", NULL};

static struct blur blur_of(const struct filter_stage *stage)
{
    return (struct blur){.shape = (enum blur_shape)number(stage, WIENER_BLUR),
                         .size_px = number(stage, WIENER_SIZE),
                         .angle_deg = number(stage, WIENER_ANGLE),
                         .image = stage->image};
}

static bool is_estimated(const struct filter_stage *stage)
{
    return number(stage, WIENER_NOISE) == 0;
}

/* The mean brightness is kept. */
static double complex wiener(const struct filter_stage *stage, double complex b, double f)
{
    if (f == 0)
        return 1;
    const double power = square(creal(b)) + square(cimag(b));
    const double noise = is_estimated(stage) ? BLUR_NOISE_DEFAULT : number(stage, WIENER_NOISE);
    return conj(b) / (power + noise * pow(f / BLUR_NOISE_AT, number(stage, WIENER_FALLOFF)));
}

static double wiener_response(const struct filter_stage *stage, double fx, double fy)
{
    const struct blur blur = blur_of(stage);
    return creal(wiener(stage, blur_response(&blur, fx, fy), hypot(fx, fy)));
}

/* A point spread is scaled to the sum 1. Its middle pixel is where the point was. */
static double complex wiener_image_response(const struct filter_stage *stage,
                                            double complex transform, double fx, double fy)
{
    const struct filter_image *image = stage->image;
    const int middle_x = (int)image->columns / 2, middle_y = (int)image->rows / 2;
    const double complex b = transform / image->sum * filter_phase(-fx * middle_x - fy * middle_y);
    return wiener(stage, b, hypot(fx, fy));
}

static bool wiener_is_real(const struct filter_stage *stage)
{
    return stage->image == NULL || filter_image_is_symmetric(stage->image);
}

static int wiener_check(const struct filter_stage *stage, struct error *why)
{
    const struct filter_image *image = stage->image;
    const bool of_image = number(stage, WIENER_BLUR) == BLUR_IMAGE;
    if (!is_estimated(stage) && number(stage, WIENER_NOISE) < LEAST_NOISE)
        return error_set(why, EINVAL,
                         "wiener: noise = %g is too small: expected %g .. 10, or 0 (it is "
                         "estimated)",
                         number(stage, WIENER_NOISE), LEAST_NOISE);
    if (of_image && image == NULL)
        return error_set(why, EINVAL,
                         "wiener: image is missing: expected the name of an image of "
                         "the point spread");
    if (!of_image && image != NULL)
        return error_set(why, EINVAL,
                         "wiener: image = %s with blur = %s: expected it only with blur = image",
                         image->name, blur_names[(unsigned)number(stage, WIENER_BLUR)]);
    if (!of_image && isnan(number(stage, WIENER_SIZE)))
        return error_set(why, EINVAL, "wiener: size is missing: expected 0.1 .. 50 px");
    if (of_image && !(image->sum > 1e-6))
        return error_set(why, EINVAL,
                         "wiener: the sum of image %s is %g: expected a point spread, whose sum is "
                         "above 0",
                         image->name, image->sum);
    return 0;
}

/* Returns the root of the mean square distance from the middle along an axis, in pixels. */
static double spread(const struct filter_image *image)
{
    double sum = 0, weights = 0;
    for (unsigned y = 0; y < image->rows; y++)
        for (unsigned x = 0; x < image->columns; x++) {
            const double weight = fabs((double)image->pixel[(size_t)y * image->columns + x]);
            const int dx = (int)x - (int)image->columns / 2, dy = (int)y - (int)image->rows / 2;
            sum += weight * (square(dx) + square(dy)) / 2;
            weights += weight;
        }
    return sqrt(sum / weights);
}

/* This is an estimate: where noise is small, the inverse of a blur rings over several times its
 * size. */
static double wiener_support(const struct filter_stage *stage)
{
    return 8 * (stage->image != NULL ? spread(stage->image) : number(stage, WIENER_SIZE));
}

/* A chain that has more than one such stage estimates the noise for the first one. All of them get
 * it: it is the picture's. */
static void wiener_adapt(const struct filter_stage *stage, struct filter_adaptation *ret)
{
    if (!is_estimated(stage) || ret->estimates_noise)
        return;
    ret->estimates_noise = true;
    ret->noise.blur = blur_of(stage);
    ret->noise.falloff = number(stage, WIENER_FALLOFF);
}

static void wiener_take_noise(struct filter_stage *stage, double noise)
{
    if (is_estimated(stage))
        stage->value[WIENER_NOISE].number = noise;
}

const struct filter_kind filter_wiener = {
    .name = "wiener",
    .group = "blur",
    .summary = "undoes a blur of known shape as far as the noise allows",
    .formula =
        "H = conj(B) / (abs(B)^2 + noise * (f / 0.1)^falloff), 1 at f = 0, B = exp(-2 * (pi * "
        "size * f)^2) for gaussian, 2 * J1(2 * pi * size * f) / (2 * pi * size * f) for "
        "disk, sin(pi * size * g) / (pi * size * g) for motion, T / S for image, g = fx * "
        "cos(angle) + fy * sin(angle), S = the image's sum, T = its transform about its middle",
    .param =
        {
            [WIENER_BLUR] =
                {
                    .name = "blur",
                    .summary = "gaussian, disk for a defocused lens, motion along a straight line, "
                               "image for "
                               "a measured one",
                    .type = FILTER_CHOICE,
                    .initial = BLUR_GAUSSIAN,
                    .choices = blur_names,
                },
            [WIENER_SIZE] =
                {
                    .name = "size",
                    .unit = "px",
                    .summary = "standard deviation of gaussian, radius of disk, length of motion",
                    .min = 0.1,
                    .max = 50,
                    .initial = NAN, /* not needed for an image */
                },
            [WIENER_ANGLE] =
                {
                    .name = "angle",
                    .unit = "degrees",
                    .summary = "of the motion: 0 to the right, 90 down",
                    .min = -180,
                    .max = 180,
                },
            [WIENER_IMAGE] = IMAGE_PARAM(
                "the picture of a point, at most 255x255 pixels, for blur = image", false),
            [WIENER_NOISE] =
                {
                    .name = "noise",
                    .summary =
                        "its power in relation to the picture's at 0.1 cycles/pixel; more is "
                        "softer; 0: estimated",
                    .max = 10,
                },
            [WIENER_FALLOFF] =
                {
                    .name = "falloff",
                    .summary = "the picture's power falls as f^-falloff; 0: it does not",
                    .max = 4,
                    .initial = 2,
                },
        },
    .adapt = wiener_adapt,
    .take_noise = wiener_take_noise,
    .check = wiener_check,
    .response = wiener_response,
    .image_response = wiener_image_response,
    .is_real = wiener_is_real,
    .support = wiener_support,
    .example = "wiener:blur=disk,size=1.5",
};
