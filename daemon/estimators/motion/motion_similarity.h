/* How a camera has moved between two pictures: the similarity that most of a field of motion agrees
 * on. Pure.
 *
 * Objects that move otherwise are outliers, and may cover nearly half of what can be seen.
 * Similarities that pass through two vectors far apart are tried, and the one that explains most is
 * improved by least squares, in which vectors count less the farther they are from it. Each vector
 * also counts as much as its confidence; all parts of the picture count alike, whatever their
 * texture, and those near its edges most, because a scene surrounds what moves in it.
 *
 * Sources of the maths: Fischler and Bolles, Communications of the ACM 24 (1981), for fits to few
 * vectors; Geman and McClure, Bull. Int. Statistical Institute 52 (1987), for the weights.
 *
 * Threads: any. */
#ifndef FFTD_ESTIMATORS_MOTION_SIMILARITY_H
#define FFTD_ESTIMATORS_MOTION_SIMILARITY_H

#include <stdbool.h>

#include "core/similarity.h"
#include "estimators/motion/motion_field.h"

struct motion_similarity {
    struct similarity moved; /* by which the content has moved, about the middle of the picture, in
                                pixels of the field; 0 while nothing is known */
    double agreement;        /* 0 .. 1: the share of the field's confidence that it explains */
    double deviation;        /* how uncertain it leaves the corners, by the noise; pixels */
    bool
        is_sure; /* false for a cut, where too little is seen, and where no motion has a majority */
};

/* Fits a similarity to a field. width, height: of the picture, about whose middle the similarity
 * turns, in pixels of the field. Takes less time than the field. The same field always gives the
 * same result. */
void motion_similarity_fit(const struct motion_grid *grid, const struct motion_vector *vector,
                           double width, double height, struct motion_similarity *ret);

#endif
