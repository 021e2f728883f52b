/* Where a picture is, from all of its pixels at once. Pure.
 *
 * The similarity with the least difference between two pictures, as a sum of squares over all
 * pixels, takes in what shows too little for a field of motion, and pictures that are blurred in
 * different ways: an even blur leaves the scene where it was, but at every edge it differs from
 * another one, so that hardly a vector is sure. Each cell of the picture counts as much as its
 * gradients are those of the other picture, by the square of their correlation. So noise and what
 * has come or gone count little.
 *
 * Source of the maths: Lucas and Kanade, Proc. 7th Int. Joint Conf. on Artificial Intelligence
 * (1981).
 *
 * Threads: any. */
#ifndef FFTD_ESTIMATORS_MOTION_REFINE_H
#define FFTD_ESTIMATORS_MOTION_REFINE_H

#include <stdbool.h>

#include "core/similarity.h"

/* Pictures, rows of `width` numbers side by side, are cut into cells of cell x cell pixels, row by
 * row; those at the right and lower edges may be smaller. */
struct motion_pair {
    const float *reference;
    const float *moved;      /* another one that was moved back to the reference */
    const bool *is_left_out; /* for each cell: it moves otherwise, and does not count */
    unsigned width, height, cell;
    double middle[2]; /* where the frame's middle is, in pixels from their top left corner */
    double map[6];    /* pixel (x, y) of the reference was at (map[0] x + map[1] y + map[2],
                         map[3] x + map[4] y + map[5]) before; if that is outside of the picture,
                         the pixel does not count */
};

/* Sets by what the content of the moved picture still has to be moved (motion_similarity.h), about
 * the middle; nothing where too little is seen. Returns the correlation of the gradients of all
 * pixels: 1 if they are the same but for a factor, about 0 if they have nothing in common. */
double motion_refine(const struct motion_pair *pair, struct similarity *ret);

#endif
