/* Moves the pixels of captured frames, so that a lens draws straight lines straight, or as a file
 * says. Pure.
 *
 * For each sample of the result, a table has its place in the captured image: how far to the right
 * and down, in units of 1 / WARP_UNIT of a sample, the resolution of OpenCV's remap. There the
 * kernels interpolate between the four nearest samples (bilinear), or by cubic convolution of the
 * 16 nearest ones (R. Keys, Cubic convolution interpolation for digital image processing, 1981,
 * with a = -0.75, as in OpenCV). A place beyond the captured image is moved to its edge, so that
 * the outermost samples are repeated.
 *
 * Samples of chroma are further apart than those of luma. A sample of chroma is taken to be in the
 * middle of the luma pixels that share it. */
#ifndef FFTD_FILTERS_WARP_H
#define FFTD_FILTERS_WARP_H

#include <stdbool.h>
#include <stdint.h>

#include "core/error.h"
#include "core/similarity.h"
#include "filters/filter.h"

#define WARP_UNIT 32

/* An image whose samples are moved. */
struct warp_image {
    uint32_t width, height;             /* in samples */
    uint32_t frame_width, frame_height; /* the captured frame, in pixels */
    unsigned sub_x, sub_y;              /* pixels per sample */
};

/* Returns whether a chain moves pixels, so that it needs a table. */
bool warp_is_needed(const struct filter_chain *chain);

/* Returns whether it interpolates by cubic convolution. */
bool warp_is_cubic(const struct filter_chain *chain);

/* Checks, along the edges of frames, what warp_fill checks at each sample: lenses bend most there.
 * Errors as there. */
int warp_check(const struct filter_chain *chain, uint32_t width, uint32_t height,
               struct error *why);

/* Fills in the table, width * height pairs (right, down) row by row. They are 0 for a chain that
 * moves nothing. -EINVAL: a stage is for frames of other proportions, or maps a pixel to no place;
 * -ERANGE: a pixel moves further than a table can express (1024 samples). The table is undefined
 * after a failure. */
int warp_fill(int16_t (*table)[2], const struct warp_image *image, const struct filter_chain *chain,
              struct error *why);

/* Where a chain takes pixels around the middle of a frame from, as a linear map: the pixel at (x,
 * y) of the result comes from (off[0] + by[0] x + by[1] y, off[1] + by[2] x + by[3] y) of what was
 * captured. Both places are in pixels from the middle. */
struct warp_middle {
    double by[4], off[2];
};

/* Nothing is moved if the chain does not, or if no such map can be inverted. */
struct warp_middle warp_find_middle(const struct filter_chain *chain, uint32_t width,
                                    uint32_t height);

/* Turns a motion of captured frames into that of results: a mirror changes its direction, and a
 * zoom its length. */
void warp_carry(const struct warp_middle *middle, struct similarity *motion);

#endif
