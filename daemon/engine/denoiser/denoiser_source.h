/* The source of the kernels that reduce noise (kernels/engine/denoise.cl), specialised for an image
 * and a layout. */
#ifndef FFTD_ENGINE_DENOISER_SOURCE_H
#define FFTD_ENGINE_DENOISER_SOURCE_H

#include <stddef.h>
#include <stdio.h>

#include "transform/transform.h"

/* How a pass divides an image: a work-group computes a tile. */
struct denoiser_layout {
    uint32_t block, hop;     /* samples */
    uint32_t shift;          /* samples by which tiles begin before the image; less than `hop` */
    unsigned lanes;          /* 1, 4, 8 or 16, at most `block` */
    uint32_t tile_x, tile_y; /* samples, multiples of `hop` */
    bool is_fine;            /* also filters smaller blocks (kernels/engine/denoise_fine.cl) */
    uint32_t spare;          /* samples by which these reach beyond the other blocks of a tile */
};

/* The numbers of a noise model in the device's memory: those of struct noise_model. */
#define DENOISER_NOISE_NUMBERS 3

/* The levels at which noise is estimated, the bins of each, and all counters of an image. */
#define DENOISER_NOISE_LEVELS  8
#define DENOISER_NOISE_BINS    192
#define DENOISER_NOISE_COUNTS  (DENOISER_NOISE_LEVELS * DENOISER_NOISE_BINS + 1)

/* Work-items of a group: one for each column of a block, or one with vectors. */
static inline size_t denoiser_group(const struct denoiser_layout *layout)
{
    return layout->lanes == 1 ? layout->block : 1;
}

/* Bytes of a group's local memory: for sums, and for what items exchange. */
size_t denoiser_sums_bytes(const struct denoiser_layout *layout);
size_t denoiser_scratch_bytes(const struct denoiser_layout *layout);

/* Work-items that search where a block comes from. */
#define DENOISER_SEARCH_GROUP 16
static inline size_t denoiser_search_group(const struct denoiser_layout *layout)
{
    return layout->lanes == 1 ? DENOISER_SEARCH_GROUP : 1;
}

/* The planes and vectors of a search for motion (kernels/engine/denoise_motion.cl). Level 0 has all
 * samples, and each next one half of them along each axis. */
#define DENOISER_LEVELS 4
#define DENOISER_COUNTS 5 /* numbers that the search counts for each image */
#define DENOISER_BANDS  3 /* bands of a block's frequencies, each with its own misfit */
struct denoiser_levels {
    uint32_t width[DENOISER_LEVELS], height[DENOISER_LEVELS]; /* samples of the level */
    uint32_t at[DENOISER_LEVELS];      /* floats from the beginning of an image's part */
    uint32_t spacing[DENOISER_LEVELS]; /* from block to block, in samples of level 0 */
    uint32_t side[DENOISER_LEVELS];    /* a block's side, in samples of the level */
    uint32_t columns[DENOISER_LEVELS], rows[DENOISER_LEVELS]; /* blocks */
    uint32_t remaining_at, remaining_columns, remaining_rows;
    uint32_t bias_at;   /* one bias for each block, as at remaining_at */
    uint32_t misfit_at; /* the same for each of DENOISER_BANDS */
    uint32_t rest;      /* floats of an image's part */
    uint32_t vectors;   /* vectors for an image */
};
void denoiser_levels_for(struct denoiser_levels *ret, const struct transform_image *image);

/* The programs of noise reduction: the load and the first pass, the second pass, and what joins
 * frames to those before them. */
enum denoiser_program { DENOISER_FIRST, DENOISER_SECOND, DENOISER_JOIN, DENOISER_PROGRAMS };

/* The `shift` of a program's layout. The second pass is shifted, so that its blocks leave their
 * artefacts at other places than those of the first. */
static inline uint32_t denoiser_shift(enum denoiser_program program, uint32_t hop)
{
    return program == DENOISER_SECOND ? hop / 2 : 0;
}

/* Returns `spare` for a layout of a pass that filters smaller blocks, whose other numbers are set.
 */
uint32_t denoiser_spare(const struct denoiser_layout *layout, enum denoiser_program program);

/* Writes what kernels that load captured samples into planes consist of, for other steps, too: the
 * constants of the image and of the load, and the kernel load_plane (kernels/engine/load_plane.cl).
 */
void denoiser_put_load(FILE *out, const struct transform_image *image, const struct recipe *recipe,
                       unsigned lanes);

static inline uint32_t denoiser_divide_up(uint32_t a, uint32_t b)
{
    return (a + b - 1) / b;
}

/* Counts the tiles that cover an image, along each axis and images. The first tiles begin `shift`
 * samples before the image. */
void denoiser_count_tiles(const struct denoiser_layout *layout, const struct transform_image *image,
                          size_t ret[3]);

/* Launches load_plane, or another kernel that works on rows, for `rows` rows of each of `images`
 * images. `after` and `event` are those of opencl_launch. */
int denoiser_launch_rows(cl_command_queue queue, cl_kernel kernel, const struct gpu_device *device,
                         unsigned lanes, size_t rows, size_t images, cl_event after,
                         cl_event *event, struct error *why);

/* Writes the functions for blocks (kernels/engine/denoise.cl), which other steps also use, with the
 * transform of that program: the DFT of the first one, or the DCT of the others. */
void denoiser_put_blocks(FILE *out, const struct recipe *recipe,
                         const struct denoiser_layout *layout, enum denoiser_program program);

/* Returns the source of a program; NULL if out of memory. The caller frees it. */
char *denoiser_source(const struct transform_image *image, const struct recipe *recipe,
                      const struct denoiser_layout *layout, enum denoiser_program program);

#endif
