/* Improves the vectors of a field of motion from about a pixel to hundredths of one. Pure.
 *
 * Threads: those of the field (motion_field.h). */
#ifndef FFTD_ESTIMATORS_MOTION_FIT_H
#define FFTD_ESTIMATORS_MOTION_FIT_H

#include "estimators/motion/motion_scale.h"

/* Each pass fits the gradient of each block, and joins what was found with that of the blocks
 * around it. Sets all of each block but whether it is ambiguous. */
void motion_fit(struct motion_scale *scale, unsigned passes);

#endif
