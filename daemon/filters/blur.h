/* Blurs of known shape, as `wiener` undoes them. Pure.
 *
 * A blur has the sum 1, so that its response is 1 at f = 0. */
#ifndef FFTD_FILTERS_BLUR_H
#define FFTD_FILTERS_BLUR_H

#include <stdbool.h>

#include "filters/filter_image.h"

/* The parameter `noise` of wiener is the power of the noise in relation to the picture's at this
 * frequency, cycles per pixel. Its value is the one with the smallest mean error in random blurred
 * photographs, for responses that no estimate is known for. */
#define BLUR_NOISE_AT      0.1
#define BLUR_NOISE_DEFAULT 0.007

enum blur_shape { BLUR_GAUSSIAN, BLUR_DISK, BLUR_MOTION, BLUR_IMAGE };

struct blur {
    enum blur_shape shape;
    double size_px;   /* standard deviation of a Gaussian, radius of a disk, length of a motion */
    double angle_deg; /* direction of the motion: 0 to the right, 90 down */
    const struct filter_image *image; /* the point spread, BLUR_IMAGE only; otherwise NULL */
};

/* Returns the response at a frequency in cycles per pixel; 1 for BLUR_IMAGE, whose response is the
 * transform of the image. */
double blur_response(const struct blur *blur, double fx, double fy);

bool blur_equal(const struct blur *a, const struct blur *b);

#endif
