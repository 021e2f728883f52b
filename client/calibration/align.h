/* Finds how far a picture has moved since another one, whatever offset each column and row has.
 *
 * Pictures are compared at several sizes. The mean of neighbouring columns and rows is subtracted
 * first, because a camera's fixed pattern would otherwise look like a scene that has not moved.
 * The smallest pictures are correlated at every shift of up to half their size, and larger
 * pictures refine the best shifts. A fit of the gradients finds the fraction of a pixel.
 *
 * Source of the maths: Lucas and Kanade, Proc. 7th Int. Joint Conf. on Artificial Intelligence
 * (1981), for the fit. */
#ifndef FFTD_CALIBRATION_ALIGN_H
#define FFTD_CALIBRATION_ALIGN_H

#include <stdint.h>

struct align_picture;

/* A picture shows at (x, y) what the other one shows at (x + whole_x + part_x, y + ...). */
struct align_shift {
    int whole_x, whole_y;
    double part_x, part_y; /* fraction of a cell, at most about 0.5 */
    double score;          /* -1 .. 1; 0 if they cannot be compared */
};

/* Makes a picture from width x height levels, row by row. Pictures are compared by the means of
 * cells of cell x cell samples, and shifts are counted in cells. -ENOMEM. */
int align_create(struct align_picture **ret, const float *level, uint32_t width, uint32_t height,
                 unsigned cell);
void align_destroy(struct align_picture *picture); /* NULL is allowed */

/* Finds the shift between two pictures of the same size. */
void align_find(const struct align_picture *picture, const struct align_picture *other,
                struct align_shift *ret);

#endif
