/* The source of the kernels that reduce noise (kernels/engine/denoise.cl), specialised for an image
 * and a layout. */
#ifndef FFTD_ENGINE_DENOISER_SOURCE_H
#define FFTD_ENGINE_DENOISER_SOURCE_H

#include <stddef.h>

#include "transform/transform.h"

/* How a pass divides an image: a work-group computes a tile. */
struct denoiser_layout {
    uint32_t block, hop;     /* samples */
    unsigned lanes;          /* 1, 4, 8 or 16, at most `block` */
    uint32_t tile_x, tile_y; /* samples, multiples of `hop` */
};

/* The numbers of a noise model in the device's memory: those of struct noise_model. */
#define DENOISER_NOISE_NUMBERS 3

/* The levels at which noise is estimated, and the bins of each, for every image. */
#define DENOISER_NOISE_LEVELS  8
#define DENOISER_NOISE_BINS    192

/* Work-items of a group: one for each column of a block, or one with vectors. */
static inline size_t denoiser_group(const struct denoiser_layout *layout)
{
    return layout->lanes == 1 ? layout->block : 1;
}

/* Returns the source of the first pass with the load, or of the second one; NULL if out of memory.
 * The caller frees it. */
char *denoiser_source(const struct transform_image *image, const struct recipe *recipe,
                      const struct denoiser_layout *layout, bool is_second);

#endif
