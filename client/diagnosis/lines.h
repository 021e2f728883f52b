/* Stripes of a sensor in a scene that stands still. Pure.
 *
 * client/calibration/stripes.h needs a scene that moves. In one that stands still, a column that
 * differs from its neighbours by the same in most rows, and in all of eight bands of the picture,
 * belongs to the sensor or to a straight line of the scene. Lines of a scene are few, the sensor's
 * are everywhere: so the median over all columns tells the sensor's.
 *
 * Source of the maths: Hampel, J. American Statistical Association 69 (1974), for the median
 * deviation. */
#ifndef FFTD_DIAGNOSIS_LINES_H
#define FFTD_DIAGNOSIS_LINES_H

#include <stdbool.h>
#include <stdint.h>

/* Returns the standard deviation of the offsets of columns, or of rows, in the unit of luma: width
 * x height numbers, row by row. Lines `step` apart have the same colour. A negative number: out of
 * memory. */
double lines_deviation(const float *luma, uint32_t width, uint32_t height, unsigned step,
                       bool of_rows);

/* Returns the median of `count` numbers, 1 or more, which it sorts. */
float lines_median(float *value, unsigned count);

#endif
