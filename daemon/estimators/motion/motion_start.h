/* The shifts with which the blocks of a field of motion begin, to about a pixel. Pure.
 *
 * Threads: those of the field (motion_field.h). */
#ifndef FFTD_ESTIMATORS_MOTION_START_H
#define FFTD_ESTIMATORS_MOTION_START_H

#include <stdbool.h>

#include "estimators/motion/motion_scale.h"
#include "estimators/motion/motion_search.h"

/* At the smallest size: searches for each block, and takes the best of what was found for it and
 * those around it. peaks: memory for MOTION_SEARCH_PEAKS peaks of each block. */
void motion_start_search(struct motion_search *search, struct motion_peak *peaks,
                         struct motion_scale *scale);

/* At another size: takes the best of the vectors around each block at half the size. Blocks of
 * which no vector explains much are searched for again; at the full size only some, for the time.
 */
void motion_start_from(struct motion_search *search, const struct motion_scale *coarse,
                       struct motion_scale *scale, bool is_full_size);

#endif
