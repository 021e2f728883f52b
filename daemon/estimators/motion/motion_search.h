/* Where the content of a small square came from, to whole pixels, by phase correlation. Pure.
 *
 * Source of the maths: Kuglin and Hines, Proc. IEEE Int. Conf. on Cybernetics and Society (1975).
 *
 * Threads: a search is used by one thread at a time. */
#ifndef FFTD_ESTIMATORS_MOTION_SEARCH_H
#define FFTD_ESTIMATORS_MOTION_SEARCH_H

#include "core/error.h"
#include "estimators/motion/motion_level.h"

#define MOTION_SEARCH_SIDE  32u /* pixels */
#define MOTION_SEARCH_PEAKS 3u

struct motion_search;

struct motion_peak {
    int dx, dy; /* pixels that the content has moved right and down */
};

/* -ENOMEM. */
int motion_search_create(struct motion_search **ret, struct error *why);
void motion_search_destroy(struct motion_search *search); /* NULL is allowed */

/* The highest peaks of the correlation of a square of both pictures, the highest first. */
void motion_search_square(struct motion_search *search, const struct motion_level *level,
                          unsigned left, unsigned top, struct motion_peak ret[MOTION_SEARCH_PEAKS]);

#endif
