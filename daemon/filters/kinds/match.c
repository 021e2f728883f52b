/* match: correlates the picture with a template (J. P. Lewis, Fast Normalized Cross-Correlation,
 * 1995).
 *
 * Let d be the template without its mean. By the inequality of Cauchy and Schwarz, the sum of d
 * times the picture is at most the norm of d times the norm of the picture without its mean. The
 * latter is the picture's standard deviation times the root of the number of pixels. The response
 * divides by everything but this deviation, so the template's own contrast does not matter. */
#include <errno.h>
#include <math.h>

#include "filters/filter_shape.h"

enum { MATCH_IMAGE, MATCH_GAIN, MATCH_DC, MATCH_SHOW };

static size_t count_of(const struct filter_image *image)
{
    return (size_t)image->columns * image->rows;
}

/* Returns the sum of the squared differences from the mean. */
static double variation(const struct filter_image *image)
{
    return image->square_sum - square(image->sum) / (double)count_of(image);
}

/* Returns the sum of exp(-2 pi i f x) over x = 0 .. length - 1. */
static double complex box(double f, unsigned length)
{
    const double turn = M_PI * f;
    const double size = fabs(sin(turn)) < 1e-9 ? length : sin(turn * length) / sin(turn);
    return size * (cos(turn * (length - 1)) - I * sin(turn * (length - 1)));
}

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

static bool match_shows(const struct filter_stage *stage)
{
    return number(stage, MATCH_SHOW) != 0;
}

static int match_check(const struct filter_stage *stage, struct error *why)
{
    const struct filter_image *image = stage->image;
    if (variation(image) <= 1e-9 * image->square_sum || image->square_sum == 0)
        return error_set(why, EINVAL,
                         "match: image %s is of one brightness: expected a template with "
                         "differences",
                         image->name);
    return 0;
}

static double match_support(const struct filter_stage *stage)
{
    return match_shows(stage) ? hypot(stage->image->columns, stage->image->rows) / 2 : 0;
}

/* Has the estimator look for the template (estimators/match.h). */
static void match_adapt(const struct filter_stage *stage, struct filter_adaptation *ret)
{
    if (ret->match_count < FILTER_MAX_MATCHES)
        ret->match_image[ret->match_count] = stage->image;
    ret->match_count++;
}

const struct filter_kind filter_match = {
    .name = "match",
    .group = "analysis",
    .summary = "shows where the picture resembles a template; measures tell the place and how well",
    .formula = "H = gain / sqrt(n * sum of d(x, y)^2) * sum of d(x, y) * exp(2 * pi * i * (fx * x "
               "+ fy * y)), dc at f = 0, d = the image without its mean, n = its number of pixels, "
               "x and y counted from its middle",
    .param =
        {
            [MATCH_IMAGE] = IMAGE_PARAM("the template, of at most 255x255 pixels", true),
            [MATCH_GAIN] = GAIN_PARAM("gain",
                                      "of a perfect match, which becomes as bright as the standard "
                                      "deviation of the picture there",
                                      2),
            [MATCH_DC] = DC_PARAM(0),
            [MATCH_SHOW] =
                {
                    .name = "show",
                    .summary = "whether the picture shows the resemblance; false: only look for "
                               "the template, and H = 1",
                    .type = FILTER_BOOL,
                    .max = true,
                    .initial = true,
                },
        },
    .adapt = match_adapt,
    .check = match_check,
    .image_response = match_response,
    .has_image_response = match_shows,
    .is_real = match_is_real,
    .support = match_support,
    .example = "match:image=corner.txt",
};
