/* How H falls to 0 at the highest frequencies of a smaller picture. Pure. */
#ifndef FFTD_FILTERS_FILTER_CROP_H
#define FFTD_FILTERS_FILTER_CROP_H

#include <math.h>

/* The part of the frequencies over which H falls, by default. */
#define FILTER_CROP_EDGE 0.1

/* Returns the factor of H at a frequency: a raised cosine over the outer `part`. frequency:
 * relative to the highest one that the picture can have. */
static inline double filter_crop(double frequency, double part)
{
    const double beyond = (fabs(frequency) - (1 - part)) / part;
    return beyond <= 0 ? 1 : beyond >= 1 ? 0 : 0.5 + 0.5 * cos(M_PI * beyond);
}

#endif
