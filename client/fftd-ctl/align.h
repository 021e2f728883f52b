/* By how much a picture has moved since another one, whatever each column and each row adds to it.
 *
 * Pictures are compared at several sizes, without what is common to neighbouring columns or rows:
 * that of a camera's pattern would say that nothing has moved. The greatest correlation of the
 * smallest pictures is looked for among all shifts up to half their size; larger pictures refine
 * the best ones. A fit of the gradients finds the part of a pixel.
 *
 * Source of the maths: Lucas and Kanade, Proc. 7th Int. Joint Conf. on Artificial Intelligence
 * (1981), for the fit. */
#ifndef FFTD_CTL_ALIGN_H
#define FFTD_CTL_ALIGN_H

#include <stddef.h>
#include <stdint.h>

struct align_picture;

/* A picture shows at (x, y) what the other one shows at (x + whole_x + part_x, y + ...). */
struct align_shift {
    int whole_x, whole_y;
    double part_x, part_y; /* at most about 0.5 */
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

/* The level at a part of a pixel, -1 .. 1, from a sample; step_x and step_y lead to the next ones.
 * Reads no sample for a part of 0. */
double align_sample(const float *at, ptrdiff_t step_x, ptrdiff_t step_y, double part_x,
                    double part_y);

#endif
