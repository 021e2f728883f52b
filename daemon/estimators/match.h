/* Finds the places in a picture that resemble templates most. Pure.
 *
 * The score of a place is the correlation coefficient of the template t and the window w of the
 * picture that it covers there, each without its mean:
 *
 *     sum of (t - mean t)(w - mean w) / sqrt(sum of (t - mean t)^2 * sum of (w - mean w)^2)
 *
 * It is 1 for the template in any brightness and contrast, -1 for its negative, and about 0 for
 * other things. Windows whose standard deviation is below MATCH_MIN_DEVIATION (match_sheet.h) have
 * no score. The template is compared at its own size and angle. A parabola through the best score
 * and its neighbours along each axis gives the fractions of a pixel.
 *
 * A single template is compared with all places at which it is wholly inside the picture. Several
 * are first compared with the means of blocks of 2, 4 or 8 pixels a side; the picture is
 * transformed once for each size of block. The best few places are then followed to the best score
 * around them at full size. So place and score are exact where a template is in the picture; where
 * it is not, a place with a slightly better score may be missed. Each template has the largest
 * blocks that leave at least MATCH_LEAST_BLOCKS of them and MATCH_LEAST_SHARE of its variation. If
 * the next larger ones leave MATCH_HASTY_SHARE, they are tried first, and what they lead to is
 * taken if its score is at least MATCH_CLEAR.
 *
 * Templates for which no blocks will do are looked for at full size, several at once
 * (match_sieve.h). Those that are not found for certain are compared with all places.
 *
 * Source of the maths: J. P. Lewis, Fast Normalized Cross-Correlation, 1995; the sums of products
 * come from transforms of overlapping squares (overlap-save).
 *
 * Threads: a matcher has memory for its work, so only one thread at a time may use it. */
#ifndef FFTD_ESTIMATORS_MATCH_H
#define FFTD_ESTIMATORS_MATCH_H

#include <stdint.h>

#include "core/error.h"
#include "filters/adaptation.h"
#include "filters/filter_image.h"

#define MATCH_LEAST_BLOCKS 64u  /* blocks that a template has */
#define MATCH_LEAST_SHARE  0.7  /* share of its variation */
#define MATCH_HASTY_SHARE  0.5  /* nearly always leads to the right place */
#define MATCH_CLEAR        0.95 /* no other place can score more than 0.05 higher */

struct matcher;

struct match {
    double x, y;  /* pixels from the centre of the top left one to the template's middle, which is
                     its column floor(columns / 2) and row floor(rows / 2); NaN: no window has a
                     score, or the template is larger than the picture */
    double score; /* -1 .. 1, at the pixel nearest to that place; 0: as above */
};

/* Returns the bytes that a matcher of these takes at most. */
uint64_t matcher_bytes(unsigned width, unsigned height, const struct filter_image *const *images,
                       unsigned count);

/* For pictures of this size in pixels, and 1 .. FILTER_MAX_MATCHES images, each of which has at
 * most FILTER_IMAGE_KERNEL_SIDE columns and rows and is not of one brightness. They are not used
 * afterwards. An image that is larger than the picture is never found: then `why` says so, and the
 * result is 0. -ENOMEM. */
int matcher_create(struct matcher **ret, unsigned width, unsigned height,
                   const struct filter_image *const *images, unsigned count, struct error *why);
void matcher_destroy(struct matcher *matcher); /* NULL is allowed */

/* luma: width x height finite numbers of 0 .. 255, rows side by side. Writes a match for each
 * template, in their order. */
void matcher_find(struct matcher *matcher, const float *luma, struct match *ret);

#endif
