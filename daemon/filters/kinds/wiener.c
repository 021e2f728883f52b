/* wiener: undoes a known blur.
 *
 * Wiener's filter for a blur B is conj B / (|B|^2 + noise power / signal power) (N. Wiener,
 * Extrapolation, Interpolation, and Smoothing of Stationary Time Series, 1949). The noise is taken
 * to be white, and the power of pictures to fall with the frequency as f^-2 (D. J. Field, Relations
 * between the statistics of natural images and the response properties of cortical cells, 1987).
 * Both defaults are those with the smallest mean error in random blurred photographs
 * (tests/bench/wiener_defaults.py). */
#include <errno.h>
#include <math.h>

#include "filters/filter_shape.h"

enum { WIENER_BLUR, WIENER_SIZE, WIENER_ANGLE, WIENER_IMAGE, WIENER_NOISE, WIENER_FALLOFF };
#define NOISE_AT 0.1 /* cycles per pixel: the frequency that `noise` is about */
enum blur { BLUR_GAUSSIAN, BLUR_DISK, BLUR_MOTION, BLUR_IMAGE };
static const char *const blur_names[] = {"gaussian", "disk", "motion", "image", NULL};

/* The blurs have the sum 1. Their transforms are 2 J1(2 pi r f) / (2 pi r f) for a disk of radius
 * r, and sin(pi l f) / (pi l f) for a straight line of length l, where f is along the line
 * (Gonzalez and Woods, Digital Image Processing, chapter 5). */
static double blur_response(const struct filter_stage *stage, double fx, double fy)
{
    const double size = number(stage, WIENER_SIZE), f2 = square(fx) + square(fy);
    double angle, turn;
    switch ((enum blur)number(stage, WIENER_BLUR)) {
    case BLUR_GAUSSIAN:
        return filter_gaussian(size, f2);
    case BLUR_DISK:
        turn = 2 * M_PI * size * sqrt(f2);
        return turn < 1e-6 ? 1 : 2 * j1(turn) / turn;
    case BLUR_MOTION:
        angle = number(stage, WIENER_ANGLE) * (M_PI / 180);
        turn = fabs(M_PI * size * (fx * cos(angle) + fy * sin(angle)));
        return turn < 1e-6 ? 1 : sin(turn) / turn;
    case BLUR_IMAGE: /* see wiener_image_response */
        break;
    }
    return 1;
}

/* The mean brightness is kept. */
static double complex wiener(const struct filter_stage *stage, double complex b, double f)
{
    if (f == 0)
        return 1;
    const double power = square(creal(b)) + square(cimag(b));
    return conj(b) /
           (power + number(stage, WIENER_NOISE) * pow(f / NOISE_AT, number(stage, WIENER_FALLOFF)));
}

static double wiener_response(const struct filter_stage *stage, double fx, double fy)
{
    return creal(wiener(stage, blur_response(stage, fx, fy), hypot(fx, fy)));
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

const struct filter_kind filter_wiener = {
    .name = "wiener",
    .summary = "undoes a blur of known shape as far as the noise allows",
    .formula =
        "H = conj(B) / (abs(B)^2 + noise * (f / 0.1)^falloff), 1 at f = 0, B = exp(-2 * (pi * "
        "size * f)^2) for gaussian, 2 * J1(2 * pi * size * f) / (2 * pi * size * f) for "
        "disk, sin(pi * size * g) / (pi * size * g) for motion, T / S for image, g = fx * "
        "cos(angle) + fy * sin(angle), S = the image's sum, T = its transform about its middle",
    .param_count = 6,
    .param =
        {
            [WIENER_BLUR] =
                {
                    .name = "blur",
                    .unit = "",
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
                    .type = FILTER_NUMBER,
                    .min = 0.1,
                    .max = 50,
                    .initial = NAN, /* not needed for an image */
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
            [WIENER_IMAGE] =
                {
                    .name = "image",
                    .unit = "",
                    .summary = "the picture of a point, at most 255x255 pixels, for blur = image",
                    .type = FILTER_IMAGE,
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
                    .initial = 0.007,
                },
            [WIENER_FALLOFF] =
                {
                    .name = "falloff",
                    .unit = "",
                    .summary = "the picture's power falls as f^-falloff; 0: it does not",
                    .type = FILTER_NUMBER,
                    .min = 0,
                    .max = 4,
                    .initial = 2,
                },
        },
    .check = wiener_check,
    .response = wiener_response,
    .image_response = wiener_image_response,
    .is_real = wiener_is_real,
    .support = wiener_support,
    .docs =
        {
            .scene = "scene",
            .example = "wiener:blur=disk,size=1.5",
            .note = "The scene is sharp already, so the filter overdoes it; a blurred one "
                    "becomes sharp.",
        },
};
