/* How the frequencies of a smaller picture end. Pure. */
#ifndef FFTD_FILTERS_FILTER_CROP_H
#define FFTD_FILTERS_FILTER_CROP_H

#include <math.h>

/* The part of the frequencies over which H falls, if nothing says another one. */
#define FILTER_CROP_EDGE 0.1

/* Returns the factor of H at a frequency, in parts of the highest one that the picture can have: a
 * raised cosine over the outer `part`. */
static inline double filter_crop(double frequency, double part)
{
    const double beyond = (fabs(frequency) - (1 - part)) / part;
    return beyond <= 0 ? 1 : beyond >= 1 ? 0 : 0.5 + 0.5 * cos(M_PI * beyond);
}

#endif
