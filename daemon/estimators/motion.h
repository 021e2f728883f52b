/* The shift of a picture since the picture before, as one pair of numbers. Pure.
 *
 * A square in the middle of both pictures is compared by phase correlation, whose peak gives whole
 * pixels. The parts of both pictures that show the same scene are then compared again: a plane is
 * fitted to the phase of their cross spectrum, weighted by how far the signal exceeds the noise.
 *
 * Spectral columns of zero and one cycle per square are left out. There are the bands of flickering
 * light, which must not be taken for motion, so pictures that change only from row to row are
 * unsure.
 *
 * Source of the maths: Kuglin and Hines, Proc. IEEE Int. Conf. on Cybernetics and Society (1975),
 * for the correlation; Stone, Orchard, Chang and Martucci, IEEE Trans. Geoscience and Remote
 * Sensing 39 (2001), for the plane; Knapp and Carter, IEEE Trans. Acoustics, Speech and Signal
 * Processing 24 (1976), for the weights.
 *
 * Threads: an estimator is used by one thread at a time. */
#ifndef FFTD_ESTIMATORS_MOTION_H
#define FFTD_ESTIMATORS_MOTION_H

#include <stdbool.h>

#include "core/error.h"

#define MOTION_MIN_SIZE 16u /* pixels, of width and height */

struct motion_estimator;

struct motion {
    double dx, dy;     /* pixels to the right and down; 0 while nothing is known */
    double confidence; /* 0 .. 1, how well one shift explains both pictures */
    bool is_sure;      /* false for a cut, a rotation, other pictures, and where nothing is seen */
    bool is_plain;     /* the pictures have too few details for an estimate, as a wall has */
};

/* For pictures of that size, of at least MOTION_MIN_SIZE in both directions. Shifts up to a third
 * of the square (the largest power of two in the picture, at most 256) are found. -EINVAL,
 * -ENOMEM. */
int motion_create(struct motion_estimator **ret, unsigned width, unsigned height,
                  struct error *why);
void motion_destroy(struct motion_estimator *m); /* NULL is allowed */

/* Compares a picture (width x height numbers, rows side by side, of any scale; numbers that are not
 * finite count as 0) with the one observed before. The first one is unsure. */
void motion_observe(struct motion_estimator *m, const float *luma, struct motion *ret);

/* Forgets the last picture. */
void motion_reset(struct motion_estimator *m);

#endif
