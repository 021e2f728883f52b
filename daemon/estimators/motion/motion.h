/* The shift of a picture since the picture before, as one pair of numbers. Pure.
 *
 * Both pictures are kept at several sizes, each half as large as the one before. The smallest ones
 * are compared by phase correlation, whose highest peaks give whole pixels. Each peak is improved
 * until the cells of the picture agree (motion_cells.h), and the one with which most of them agree
 * is followed to the full size. Pictures are unsure if few cells agree, or if they also agree on
 * another shift, as with a texture that repeats itself.
 *
 * Spectral columns of zero and one cycle per square are left out. There are the bands of flickering
 * light, which must not be taken for motion, so pictures that change only from row to row are
 * unsure.
 *
 * Source of the maths: Kuglin and Hines, Proc. IEEE Int. Conf. on Cybernetics and Society (1975),
 * for the correlation; Knapp and Carter, IEEE Trans. Acoustics, Speech and Signal Processing 24
 * (1976), for its weights.
 *
 * Threads: an estimator is used by one thread at a time. */
#ifndef FFTD_ESTIMATORS_MOTION_MOTION_H
#define FFTD_ESTIMATORS_MOTION_MOTION_H

#include <stdbool.h>

#include "core/error.h"

#define MOTION_MIN_SIZE 16u /* pixels, of width and height */

struct motion_estimator;

struct motion {
    double dx, dy;     /* pixels to the right and down; 0 while nothing is known */
    double confidence; /* 0 .. 1: the share of the picture's details that the shift explains, less
                          if another shift explains nearly as many */
    bool is_sure;      /* false for a cut, a rotation, other pictures, and where nothing is seen */
    bool is_ambiguous; /* unsure, but only because another shift explains nearly as many */
    bool is_plain;     /* the pictures have too few details for an estimate, as a wall has */
};

/* For pictures of that size, of at least MOTION_MIN_SIZE in both directions; below 26 pixels they
 * are always unsure. The middle 768 x 768 pixels are compared. Shifts up to 0.4 times the size are
 * found if that size is at most 256; of larger pictures, up to 0.4 times 256 pixels at the smallest
 * of the sizes. -EINVAL, -ENOMEM. */
int motion_create(struct motion_estimator **ret, unsigned width, unsigned height,
                  struct error *why);
void motion_destroy(struct motion_estimator *m); /* NULL is allowed */

/* Compares a picture (width x height numbers, rows side by side, of any scale; numbers that are not
 * finite count as 0) with the one observed before. The first one is unsure. */
void motion_observe(struct motion_estimator *m, const float *luma, struct motion *ret);

/* Where the last call was unsure: looks for the shift within about a pixel of one that is known
 * otherwise, in pictures whose rows were made equally bright. False, and nothing in ret, if it is
 * not sure there either. */
bool motion_near(struct motion_estimator *m, double dx, double dy, struct motion *ret);

/* Forgets the last picture. */
void motion_reset(struct motion_estimator *m);

#endif
