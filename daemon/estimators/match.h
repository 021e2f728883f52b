/* Finds the place in a picture that resembles a template most. Pure.
 *
 * The score of a place is the correlation coefficient of the template t and the window w of the
 * picture that it covers there, each without its mean:
 *
 *     sum of (t - mean t)(w - mean w) / sqrt(sum of (t - mean t)^2 * sum of (w - mean w)^2)
 *
 * It is 1 for the template in any brightness and contrast, -1 for its negative, and about 0 for
 * other things. Windows whose standard deviation is below MATCH_MIN_DEVIATION have no score. The
 * template is compared at its own size and angle.
 *
 * All places at which the template is wholly inside of the picture are compared. A parabola through
 * the best score and its neighbours along each axis gives the fractions of a pixel.
 *
 * Source of the maths: J. P. Lewis, Fast Normalized Cross-Correlation, 1995; the sums of products
 * come from transforms of overlapping squares (overlap-save).
 *
 * Threads: a matcher has memory for its work, so only one thread at a time may use it. */
#ifndef FFTD_ESTIMATORS_MATCH_H
#define FFTD_ESTIMATORS_MATCH_H

#include "core/error.h"
#include "filters/filter_image.h"

#define MATCH_MIN_DEVIATION 0.5 /* of samples of 0 .. 255 */

struct matcher;

struct match {
    double x, y;  /* pixels from the centre of the top left one to the template's middle, which is
                     its column floor(columns / 2) and row floor(rows / 2); NaN: no window has a
                     score */
    double score; /* -1 .. 1, at the pixel nearest to that place; 0: no window has a score */
};

/* For pictures of this size in pixels; the image has at most FILTER_IMAGE_KERNEL_SIDE columns and
 * rows, is not of one brightness, and is not used afterwards. -EINVAL: it is larger than the
 * picture; -ENOMEM. */
int matcher_create(struct matcher **ret, unsigned width, unsigned height,
                   const struct filter_image *image, struct error *why);
void matcher_destroy(struct matcher *matcher); /* NULL is allowed */

/* luma: width x height finite numbers of 0 .. 255, rows side by side. */
void matcher_find(struct matcher *matcher, const float *luma, struct match *ret);

#endif
