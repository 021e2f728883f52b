/* The shift between two pictures to fractions of a pixel, from all of their pixels, and which parts
 * of them it explains. Pure.
 *
 * Both pictures are smoothed and moved towards each other by the shift that is known. What is left
 * of their difference is explained by their gradient, in each cell of a grid separately: each cell
 * has its own remaining shift, brightness and contrast. The cells then agree on one shift; those of
 * objects that move otherwise, and of what appears, count little. If few cells agree, the picture
 * does not move as a whole: it rotates, or it is another one.
 *
 * The mean of each row is left out, because bands of flickering light change it, and so is what a
 * change of its contrast explains. A texture that is the product of a wave in x and one in y
 * changes just like that where it moves along y: it is followed only if rows are even.
 *
 * Source of the maths: Lucas and Kanade, Proc. Int. Joint Conf. on Artificial Intelligence (1981),
 * for the shift of a cell; Geman and McClure, Bull. Int. Statistical Institute 52 (1987), for the
 * weights.
 *
 * Threads: the memory of one work is used by one thread at a time. */
#ifndef FFTD_ESTIMATORS_MOTION_CELLS_H
#define FFTD_ESTIMATORS_MOTION_CELLS_H

#include <stdbool.h>

#include "estimators/motion/motion_agreement.h"

struct cells_work;

/* Rows side by side, followed by CELLS_SPARE numbers, which are read but do not count. A row has at
 * most CELLS_MAX_WIDTH. */
struct cells_pictures {
    const float *last, *next;
    unsigned width, height;
    bool is_even; /* bands of light were evened out, so that the scene alone changes rows */
    bool is_fine; /* smooth less: more exact, but noise and what stands still count more */
};

#define CELLS_SPARE     16u
#define CELLS_MAX_WIDTH 768u

struct cells_work *cells_create(void);       /* NULL: there is no memory */
void cells_destroy(struct cells_work *work); /* NULL is allowed */

/* Improves a shift that is known to about a pixel, by at most `passes` steps. Returns false, and
 * leaves `shift` as it is, where there is nothing to see, and where the steps lead away. */
bool cells_refine(struct cells_work *work, const struct cells_pictures *pictures, unsigned passes,
                  struct cells_shift *shift);

#endif
