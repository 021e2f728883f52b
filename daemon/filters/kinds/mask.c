/* mask: uses an image as the response. */
#include <math.h>

#include "filters/filter_shape.h"

enum { MASK_IMAGE, MASK_GAIN };

/* The image repeats as the frequencies of samples do: its first column follows its last one.
 * Columns and rows are at most one image away from it. */
static double mask_pixel(const struct filter_image *image, int column, int row)
{
    const unsigned x = (unsigned)(column + (int)image->columns) % image->columns;
    const unsigned y = (unsigned)(row + (int)image->rows) % image->rows;
    return (double)image->pixel[(size_t)y * image->columns + x];
}

/* Interpolates between neighbouring pixels, linearly along both axes. */
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

/* By Parseval's theorem, the mean square slope of H over 4 pi^2 is the mean square distance in the
 * impulse response, weighted by its energy. Four times the root is an estimate of the radius. */
static double mask_support(const struct filter_stage *stage)
{
    const struct filter_image *image = stage->image;
    const double slopes = square(image->columns) * image->slopes_along_rows +
                          square(image->rows) * image->slopes_along_columns;
    return image->square_sum > 0 ? 4 * sqrt(slopes / image->square_sum) / (2 * M_PI) : 0;
}

const struct filter_kind filter_mask = {
    .name = "mask",
    .group = "patterns",
    .summary = "multiplies the spectrum by an image, such as one whose unwanted peaks are painted "
               "black",
    .formula = "H = gain * (M(fx, fy) + M(-fx, -fy)) / 2, M = the image at column floor(columns / "
               "2) + columns * fx and row floor(rows / 2) + rows * fy",
    .param =
        {
            [MASK_IMAGE] = IMAGE_PARAM("frequency 0 in its middle, 0.5 cycles/pixel at its edges, "
                                       "linear between its pixels",
                                       true),
            [MASK_GAIN] = GAIN_PARAM("gain", "of white; black is 0", 1),
        },
    .response = mask_response,
    .support = mask_support,
    .example = "mask:image=moire-mask.pgm",
};
