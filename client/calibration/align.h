/* Finds how far a picture has moved since another one, whatever offset each column and row has.
 *
 * A camera's fixed pattern would look like a scene that has not moved. So a picture is prepared
 * first: hot and dead pixels are limited to their neighbours, and the mean of neighbouring columns
 * and rows is subtracted. What is left is compared as the daemon compares frames
 * (estimators/motion.h). */
#ifndef FFTD_CALIBRATION_ALIGN_H
#define FFTD_CALIBRATION_ALIGN_H

#include <stdint.h>

#include "estimators/motion.h"

struct align;

/* For pictures of width x height levels. They are compared by the means of cells of cell x cell
 * samples, and shifts are counted in cells. Pictures of less than MOTION_MIN_SIZE cells a side are
 * never sure. -ENOMEM. */
int align_create(struct align **ret, uint32_t width, uint32_t height, unsigned cell);
void align_destroy(struct align *align); /* NULL is allowed */

/* Returns a prepared picture of levels, row by row, which the caller frees. NULL: out of memory. */
float *align_prepare(const struct align *align, const float *level);

/* Finds the shift: a picture shows at (x, y) what the other one shows at (x + dx, y + dy). */
void align_find(struct align *align, const float *picture, const float *other, struct motion *ret);

#endif
