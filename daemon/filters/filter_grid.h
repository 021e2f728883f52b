/* The transforms of a chain's images at all frequencies of a padded plane. Pure.
 *
 * For one frequency every pixel of an image is read. A plane has as many frequencies as samples, so
 * here each image is transformed along one axis once, and along the other axis when its lines are
 * asked for. Both transforms are exact, apart from rounding in double precision: an image is padded
 * with zeros to the length of the axis, or wrapped around it if it is longer.
 *
 * Threads: a grid belongs to one thread. It does not hold the chain's images. */
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

/* ret is NULL if no stage uses an image. -EINVAL, -ENOMEM. */
int filter_grid_create(struct filter_grid **ret, const struct filter_chain *chain,
                       const struct filter_grid_shape *shape, struct error *why);
void filter_grid_destroy(struct filter_grid *grid); /* NULL is allowed */

/* Computes a line and keeps it in a slot. */
void filter_grid_load(struct filter_grid *grid, uint32_t slot, uint32_t line);

/* The transforms of the stages' images for the line in a slot: at its frequency along the first
 * axis, or at minus that if is_negative, and at k along the second one, -second_period < k <
 * second_period. Those of stages without an image stay as they are. */
void filter_grid_read(const struct filter_grid *grid, uint32_t slot, bool is_negative, int32_t k,
                      double complex ret[FILTER_MAX_STAGES]);

#endif
