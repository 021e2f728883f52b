/* The transforms of a chain's images at all frequencies of a padded plane. Pure.
 *
 * One frequency takes every pixel of an image, and a plane has as many frequencies as samples.
 * Therefore each image is transformed along one axis once, and along the other axis when its lines
 * are needed. Both transforms are exact, apart from rounding in double precision: an image is
 * padded with zeros to the length of the axis, or wrapped around it if it is longer.
 *
 * A grid belongs to one thread. It does not hold the chain's images. */
#ifndef FFTD_FILTERS_FILTER_GRID_H
#define FFTD_FILTERS_FILTER_GRID_H

#include <complex.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/error.h"
#include "filters/filter.h"

/* Frequency k along an axis is k / period cycles per pixel. Lines are numbered by their frequency
 * along the first axis, 0 .. lines - 1, and extend along the second one. */
struct filter_grid_shape {
    uint32_t first_period, second_period; /* at most DFT_MAX_LENGTH */
    uint32_t lines;                       /* at most first_period */
    uint32_t slots;                       /* lines that are loaded at the same time */
    bool first_is_x;
};

struct filter_grid;

/* The bytes of host memory that a grid takes, almost all of them for its images; 0: it has none. */
uint64_t filter_grid_bytes(const struct filter_chain *chain, const struct filter_grid_shape *shape);

/* Sets ret to NULL if no stage uses an image. -EINVAL, -ENOMEM. */
int filter_grid_create(struct filter_grid **ret, const struct filter_chain *chain,
                       const struct filter_grid_shape *shape, struct error *why);
void filter_grid_destroy(struct filter_grid *grid); /* NULL is allowed */

/* Computes a line and keeps it in a slot. */
void filter_grid_load(struct filter_grid *grid, uint32_t slot, uint32_t line);

/* Reads the transforms of the stages' images from the line in a slot: at k along the second axis,
 * -second_period < k < second_period, and at the line's frequency along the first axis, or at its
 * negative if is_negative. Those of stages without an image stay as they are. */
void filter_grid_read(const struct filter_grid *grid, uint32_t slot, bool is_negative, int32_t k,
                      double complex ret[FILTER_MAX_STAGES]);

#endif
