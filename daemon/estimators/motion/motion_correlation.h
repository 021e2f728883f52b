/* Phase correlation of two pictures. Each frequency counts by how far it exceeds the noise. Pure;
 * for motion.h alone. Threads: one at a time. */
#ifndef FFTD_ESTIMATORS_MOTION_CORRELATION_H
#define FFTD_ESTIMATORS_MOTION_CORRELATION_H

#include "core/error.h"

#define CORRELATION_MAX_SIDE 256u /* pixels; a larger square costs more than it improves */
#define CORRELATION_PEAKS    4u   /* the highest first */

struct correlation;

struct correlation_peak {
    int x, y; /* shift in pixels */
    float height;
};

/* For pictures of this size, whose middle square is correlated. -ENOMEM. */
int correlation_create(struct correlation **ret, unsigned width, unsigned height,
                       struct error *why);
void correlation_destroy(struct correlation *c); /* NULL is allowed */

/* Compares two pictures. Returns how many frequencies show their shift. *ret_noise: the variance of
 * the noise, with that of fine texture. */
unsigned correlation_compare(struct correlation *c, const float *last, const float *next,
                             double *ret_noise);

/* Gets the peaks for the pictures that were compared last. */
void correlation_find_peaks(struct correlation *c, struct correlation_peak ret[CORRELATION_PEAKS]);

#endif
