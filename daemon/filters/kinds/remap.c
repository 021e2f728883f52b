/* remap: moves the pixels of captured frames as a table in a file says (warp.h). */
#include <errno.h>
#include <math.h>

#include "filters/filter_shape.h"

enum { REMAP_IMAGE, REMAP_INTERPOLATION };

/* Interpolates between the entries of one half of the table: `first` is the half's first row. */
static double entry_at(const struct filter_image *maps, unsigned first, double column, double row)
{
    const unsigned rows = maps->rows / 2;
    const double x = fmin(fmax(column, 0), maps->columns - 1.), y = fmin(fmax(row, 0), rows - 1.);
    const unsigned left = (unsigned)x, top = (unsigned)y;
    const unsigned right = left + 1 < maps->columns ? left + 1 : left;
    const unsigned bottom = top + 1 < rows ? top + 1 : top;
    const float *upper = maps->pixel + (size_t)(first + top) * maps->columns;
    const float *lower = maps->pixel + (size_t)(first + bottom) * maps->columns;
    const double u = x - left, v = y - top;
    return (1 - v) * ((1 - u) * (double)upper[left] + u * (double)upper[right]) +
           v * ((1 - u) * (double)lower[left] + u * (double)lower[right]);
}

static int remap_origin(const struct filter_stage *stage, const uint32_t size[2], double at[2],
                        struct error *why)
{
    const struct filter_image *maps = stage->image;
    if (maps->columns != size[0] || maps->rows != 2 * size[1])
        return error_set(why, EINVAL,
                         "remap: image %s has %ux%u numbers: expected %ux%u for frames of %ux%u, "
                         "all columns above all rows",
                         maps->name, maps->columns, maps->rows, size[0], 2 * size[1], size[0],
                         size[1]);
    if ((double)maps->highest <= 1) /* white of a grey picture is 1 */
        return error_set(why, EINVAL,
                         "remap: the highest number of image %s is %g: expected columns and rows "
                         "in pixels, as in a PFM of OpenCV's maps",
                         maps->name, (double)maps->highest);
    const double column = entry_at(maps, 0, at[0], at[1]);
    at[1] = entry_at(maps, size[1], at[0], at[1]);
    at[0] = column;
    return 0;
}

static bool remap_is_cubic(const struct filter_stage *stage)
{
    return number(stage, REMAP_INTERPOLATION) == FILTER_BICUBIC;
}

const struct filter_kind filter_remap = {
    .name = "remap",
    .group = "motion",
    .summary = "moves pixels as a table in a file says, such as OpenCV's maps, before the filter",
    .formula = "H = 1; result(x, y) = captured(X(x, y), Y(x, y)), X = the upper half of the image, "
               "Y = its lower half",
    .param =
        {
            [REMAP_IMAGE] = IMAGE_PARAM("PFM, as wide as the frames and twice as high: the column "
                                        "of each pixel's place, and below them the rows, from 0 on",
                                        true),
            [REMAP_INTERPOLATION] = INTERPOLATION_PARAM,
        },
    .origin = remap_origin,
    .origin_is_cubic = remap_is_cubic,
    .example = "remap:image=swirl.pfm",
};
