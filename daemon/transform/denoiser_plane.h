/* The layout of the planes of floats that a denoiser writes and a transform loads. */
#ifndef FFTD_TRANSFORM_DENOISER_PLANE_H
#define FFTD_TRANSFORM_DENOISER_PLANE_H

#include <stddef.h>

#include "transform/transform.h"

#define DENOISER_LINE 16 /* floats of a cache line */

/* The distance between two rows, in floats: an odd number of cache lines, so that the rows of a
 * block are in different sets of a cache. */
static inline uint32_t denoiser_pitch(const struct transform_image *image)
{
    return ((image->width + DENOISER_LINE - 1) / DENOISER_LINE | 1) * DENOISER_LINE;
}

/* The distance between the planes of two images, in floats. */
static inline size_t denoiser_plane_size(const struct transform_image *image)
{
    return (size_t)denoiser_pitch(image) * image->height;
}

#endif
