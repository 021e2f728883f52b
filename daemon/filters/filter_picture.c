/* Filters that are drawn, not computed: a mask over the plane of frequencies, and a template that
 * is looked for. */
#include <errno.h>
#include <math.h>

#include "filters/filter_shape.h"

/* ---- mask ---- */

enum { MASK_IMAGE, MASK_GAIN };

/* The image repeats as the frequencies of samples do: its first column follows its last one.
 * Columns and rows are at most one image away from it. */
static double mask_pixel(const struct filter_image *image, int column, int row)
{
    const unsigned x = (unsigned)(column + (int)image->columns) % image->columns;
    const unsigned y = (unsigned)(row + (int)image->rows) % image->rows;
    return (double)image->pixel[(size_t)y * image->columns + x];
}

/* Linear between neighbouring pixels, along both axes. */
static double mask_at(const struct filter_image *image, double fx, double fy)
{
    const unsigned middle_x = image->columns / 2, middle_y = image->rows / 2;
    const double column = middle_x + image->columns * fx, row = middle_y + image->rows * fy;
    const int left = (int)floor(column), top = (int)floor(row);
    const double right_part = column - left, lower_part = row - top;
    const double upper = (1 - right_part) * mask_pixel(image, left, top) +
                         right_part * mask_pixel(image, left + 1, top);
    const double lower = (1 - right_part) * mask_pixel(image, left, top + 1) +
                         right_part * mask_pixel(image, left + 1, top + 1);
    return (1 - lower_part) * upper + lower_part * lower;
}

static double mask_response(const struct filter_stage *stage, double fx, double fy)
{
    return number(stage, MASK_GAIN) *
           (mask_at(stage->image, fx, fy) + mask_at(stage->image, -fx, -fy)) / 2;
}

/* By Parseval's theorem the mean square of the slope of H, over 4 pi^2, is that of the distance in
 * the impulse response, weighted by its energy. Four times its root is an estimate of the radius.
 */
static double mask_support(const struct filter_stage *stage)
{
    const struct filter_image *image = stage->image;
    const int columns = (int)image->columns, rows = (int)image->rows;
    double slopes = 0;
    for (int y = 0; y < rows; y++)
        for (int x = 0; x < columns; x++) {
            const double here = mask_pixel(image, x, y);
            slopes += square(columns * (mask_pixel(image, x + 1, y) - here)) +
                      square(rows * (mask_pixel(image, x, y + 1) - here));
        }
    return image->square_sum > 0 ? 4 * sqrt(slopes / image->square_sum) / (2 * M_PI) : 0;
}

const struct filter_kind filter_mask = {
    .name = "mask",
    .summary = "multiplies the spectrum by an image, such as one whose unwanted peaks are painted "
               "black",
    .formula = "H = gain * (M(fx, fy) + M(-fx, -fy)) / 2, M = the image at column floor(columns / "
               "2) + columns * fx and row floor(rows / 2) + rows * fy",
    .param_count = 2,
    .param =
        {
            [MASK_IMAGE] =
                {
                    .name = "image",
                    .unit = "",
                    .summary = "frequency 0 in its middle, 0.5 cycles/pixel at its edges, linear "
                               "between its pixels",
                    .type = FILTER_IMAGE,
                    .required = true,
                },
            [MASK_GAIN] = GAIN_PARAM("gain", "of white; black is 0", 1),
        },
    .response = mask_response,
    .support = mask_support,
};

/* ---- match ---- */

enum { MATCH_IMAGE, MATCH_GAIN, MATCH_DC };

static size_t count_of(const struct filter_image *image)
{
    return (size_t)image->columns * image->rows;
}

/* The sum of the squares of what differs from the mean. */
static double variation(const struct filter_image *image)
{
    return image->square_sum - square(image->sum) / (double)count_of(image);
}

/* sum of exp(-2 pi i f x), x = 0 .. length - 1. */
static double complex box(double f, unsigned length)
{
    const double turn = M_PI * f;
    const double size = fabs(sin(turn)) < 1e-9 ? length : sin(turn * length) / sin(turn);
    return size * (cos(turn * (length - 1)) - I * sin(turn * (length - 1)));
}

/* Correlation with d, the template without its mean (J. P. Lewis, Fast Normalized
 * Cross-Correlation, 1995). By the inequality of Cauchy and Schwarz the sum of d times the picture
 * is at most the norm of d times that of the picture without its mean, which is the picture's
 * standard deviation times the root of the number of pixels. Both are divided out but for that
 * deviation, so the template's own contrast does not matter. */
static double complex match_response(const struct filter_stage *stage, double complex transform,
                                     double fx, double fy)
{
    const struct filter_image *image = stage->image;
    const double pixels = (double)count_of(image);
    const int middle_x = (int)image->columns / 2, middle_y = (int)image->rows / 2;
    if (fx == 0 && fy == 0)
        return number(stage, MATCH_DC);
    const double complex d =
        transform - image->sum / pixels * box(fx, image->columns) * box(fy, image->rows);
    const double complex h = d * filter_phase(-fx * middle_x - fy * middle_y);
    return conj(h) * (number(stage, MATCH_GAIN) / sqrt(pixels * variation(image)));
}

static bool match_is_real(const struct filter_stage *stage)
{
    return stage->image->columns % 2 == 1 && stage->image->rows % 2 == 1 &&
           filter_image_is_symmetric(stage->image);
}

static int match_check(const struct filter_stage *stage, struct error *why)
{
    const struct filter_image *image = stage->image;
    if (variation(image) <= 1e-9 * image->square_sum || image->square_sum == 0)
        return error_set(why, EINVAL,
                         "match: image %s is of one brightness: expected a template with "
                         "differences",
                         image->name);
    return filter_check_kernel_image(stage, why);
}

static double match_support(const struct filter_stage *stage)
{
    return hypot(stage->image->columns, stage->image->rows) / 2;
}

/* Without a transform that was computed before. */
static double complex match_at(const struct filter_stage *stage, double fx, double fy)
{
    return match_response(stage, filter_image_transform(stage->image, fx, fy), fx, fy);
}

const struct filter_kind filter_match = {
    .name = "match",
    .summary = "shows where the picture resembles a template; measures tell the place and how well",
    .formula = "H = gain / sqrt(n * sum of d(x, y)^2) * sum of d(x, y) * exp(2 * pi * i * (fx * x "
               "+ fy * y)), dc at f = 0, d = the image without its mean, n = its number of pixels, "
               "x and y counted from its middle",
    .param_count = 3,
    .param =
        {
            [MATCH_IMAGE] =
                {
                    .name = "image",
                    .unit = "",
                    .summary = "the template, of at most 255x255 pixels",
                    .type = FILTER_IMAGE,
                    .required = true,
                },
            [MATCH_GAIN] = GAIN_PARAM("gain",
                                      "of a perfect match, which becomes as bright as the standard "
                                      "deviation of the picture there",
                                      2),
            [MATCH_DC] = DC_PARAM(0),
        },
    .check = match_check,
    .complex_response = match_at,
    .image_response = match_response,
    .is_real = match_is_real,
    .support = match_support,
};
