/* convolve: convolves with a kernel, which is either in the chain's text or an image. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "filters/filter_shape.h"

enum { CONVOLVE_KERNEL, CONVOLVE_IMAGE, CONVOLVE_ANCHOR, CONVOLVE_NORMALISE, CONVOLVE_CORRELATE };
enum normalise { NORMALISE_NONE, NORMALISE_SUM };
static const char *const normalise_names[] = {"none", "sum", NULL};

static int kernel_columns(const struct filter_stage *stage)
{
    return (int)(stage->image != NULL ? stage->image->columns : stage->kernel.columns);
}

static int kernel_rows(const struct filter_stage *stage)
{
    return (int)(stage->image != NULL ? stage->image->rows : stage->kernel.rows);
}

static float weight_at(const struct filter_stage *stage, int x, int y)
{
    return stage->image != NULL ? stage->image->pixel[(size_t)y * stage->image->columns + (size_t)x]
                                : stage->kernel.value[y][x];
}

static int origin_x(const struct filter_stage *stage)
{
    return kernel_columns(stage) / 2 + (int)stage->value[CONVOLVE_ANCHOR].number;
}

static int origin_y(const struct filter_stage *stage)
{
    return kernel_rows(stage) / 2 + (int)stage->value[CONVOLVE_ANCHOR].second;
}

static double kernel_sum(const struct filter_stage *stage)
{
    double sum = 0;
    if (stage->image != NULL)
        return stage->image->sum;
    for (unsigned y = 0; y < stage->kernel.rows; y++)
        for (unsigned x = 0; x < stage->kernel.columns; x++)
            sum += (double)stage->kernel.value[y][x];
    return sum;
}

/* Turns the kernel's transform about its first element into the one about its anchor. */
static double complex convolve_finish(const struct filter_stage *stage, double complex transform,
                                      double fx, double fy)
{
    const double scale =
        number(stage, CONVOLVE_NORMALISE) == NORMALISE_SUM ? 1 / kernel_sum(stage) : 1;
    const double complex h =
        transform * scale * filter_phase(-fx * origin_x(stage) - fy * origin_y(stage));
    return number(stage, CONVOLVE_CORRELATE) != 0 ? conj(h) : h;
}

/* Computes the sum of kernel(x, y) exp(-2 pi i (fx (x - origin_x) + fy (y - origin_y))) by Horner's
 * scheme. */
static double complex convolve_response(const struct filter_stage *stage, double fx, double fy)
{
    const struct filter_kernel *kernel = &stage->kernel;
    const double complex turn_x = filter_phase(fx), turn_y = filter_phase(fy);
    double complex sum = 0;
    for (unsigned y = kernel->rows; y-- > 0;) {
        double complex row = 0;
        for (unsigned x = kernel->columns; x-- > 0;)
            row = row * turn_x + (double)kernel->value[y][x];
        sum = sum * turn_y + row;
    }
    return convolve_finish(stage, sum, fx, fy);
}

/* Returns whether the kernel is the same on opposite sides of its origin. */
static bool is_symmetric(const struct filter_stage *stage)
{
    const int columns = kernel_columns(stage), rows = kernel_rows(stage);
    for (int y = 0; y < rows; y++)
        for (int x = 0; x < columns; x++) {
            const int mirror_x = 2 * origin_x(stage) - x, mirror_y = 2 * origin_y(stage) - y;
            const bool inside =
                mirror_x >= 0 && mirror_x < columns && mirror_y >= 0 && mirror_y < rows;
            if (weight_at(stage, x, y) != (inside ? weight_at(stage, mirror_x, mirror_y) : 0))
                return false;
        }
    return true;
}

static int convolve_check(const struct filter_stage *stage, struct error *why)
{
    const struct filter_value *anchor = &stage->value[CONVOLVE_ANCHOR];
    if ((stage->kernel.rows > 0) == (stage->image != NULL))
        return error_set(why, EINVAL, "convolve: %s: expected a kernel in numbers or an image",
                         stage->image != NULL ? "both kernel and image are given"
                                              : "kernel is missing");
    if (anchor->number != rint(anchor->number) || anchor->second != rint(anchor->second))
        return error_set(why, EINVAL,
                         "convolve: anchor = %g/%g is between pixels: expected whole numbers",
                         anchor->number, anchor->second);
    const double sum = kernel_sum(stage);
    if (number(stage, CONVOLVE_NORMALISE) == NORMALISE_SUM && fabs(sum) < 1e-3)
        return error_set(why, EINVAL,
                         "convolve: the kernel's sum is %g: expected at least 0.001 for "
                         "normalise = sum; normalise = none keeps the numbers as they are",
                         sum);
    return 0;
}

static double convolve_support(const struct filter_stage *stage)
{
    const int left = origin_x(stage), right = kernel_columns(stage) - 1 - left;
    const int above = origin_y(stage), below = kernel_rows(stage) - 1 - above;
    return hypot(fmax(abs(left), abs(right)), fmax(abs(above), abs(below)));
}

const struct filter_kind filter_convolve = {
    .name = "convolve",
    .group = "edges",
    .summary = "convolves with a kernel of numbers, such as Prewitt's, or with one from an image",
    .formula = "H = S * sum of kernel(x, y) * exp(-2 * pi * i * (fx * x + fy * y)), x and y "
               "counted from the anchor, S = 1 or 1 / sum of kernel; its conjugate to correlate",
    .param =
        {
            [CONVOLVE_KERNEL] =
                {
                    .name = "kernel",
                    .summary = "its rows, separated by /, from top to bottom",
                    .type = FILTER_KERNEL,
                    .min = -1000,
                    .max = 1000,
                },
            [CONVOLVE_IMAGE] =
                IMAGE_PARAM("the kernel as an image of at most 255x255 pixels, instead", false),
            [CONVOLVE_ANCHOR] =
                {
                    .name = "anchor",
                    .unit = "px",
                    .summary = "the kernel's origin, to the right of its middle and down; the "
                               "middle of an "
                               "even number is the later one",
                    .type = FILTER_PAIR,
                    .min = -FILTER_IMAGE_KERNEL_SIDE,
                    .max = FILTER_IMAGE_KERNEL_SIDE,
                },
            [CONVOLVE_NORMALISE] =
                {
                    .name = "normalise",
                    .summary = "sum: divides by the sum of the numbers, which keeps the brightness",
                    .type = FILTER_CHOICE,
                    .initial = NORMALISE_NONE,
                    .choices = normalise_names,
                },
            [CONVOLVE_CORRELATE] =
                {
                    .name = "correlate",
                    .summary = "turns the kernel by 180 degrees about its anchor, as OpenCV's "
                               "filter2D does",
                    .type = FILTER_BOOL,
                },
        },
    .check = convolve_check,
    .complex_response = convolve_response,
    .image_response = convolve_finish,
    .is_real = is_symmetric,
    .support = convolve_support,
    .example = "convolve:kernel=-2 -1 0/-1 1 1/0 1 2",
};
