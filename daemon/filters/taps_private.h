/* The impulse response h of a chain, from which taps.c and taps_half.c find theirs. Pure.
 *
 * H is sampled on a small grid, whose transform is h, folded onto the grid. What is outside the
 * radius there is known, with what was folded there. Up to a third is folded into the radius, and
 * is estimated: h decays at least with the square of the distance, if it does, and then what is
 * outside the grid is no more than what is beyond a quarter of it. A filter whose H has details
 * that the grid could miss has a large support (filter_chain_support). */
#ifndef FFTD_FILTERS_TAPS_PRIVATE_H
#define FFTD_FILTERS_TAPS_PRIVATE_H

#include <complex.h>

#include "core/dft.h"
#include "filters/filter_grid.h"
#include "filters/taps.h"

#define SAMPLER_GRID      64u  /* samples of a side */
#define SAMPLER_WIDE_GRID 128u /* for filters that are too long for taps */

/* With less than this share of all frequencies, a transform of the image is faster than tiles. */
#define NARROW_BAND       0.8

struct sampler {
    const struct filter_chain *chain;
    double sub_x, sub_y;
    unsigned stride; /* stride and edge: as in struct taps_samples */
    double edge;
    struct filter_grid *images; /* NULL: the chain uses none */
    struct dft *dft;
    uint32_t side;           /* the grid's side, at most SAMPLER_WIDE_GRID */
    uint32_t band_x, band_y; /* the highest frequencies at which H is not negligible */
    double complex line[SAMPLER_WIDE_GRID];
    double rest[TAPS_MAX_SIDE * TAPS_MAX_SIDE]; /* what products leave of the taps, so far */
    double complex square[]; /* side / 2 + 1 rows: H, then its transform along rows, then h */
};

/* Computes h on a grid. -ERANGE: the filter is too long for it; -ENOMEM. */
int sampler_open(struct sampler **ret, const struct filter_chain *chain,
                 const struct taps_samples *samples, uint32_t side, struct error *why);
void sampler_close(struct sampler *sampler);

/* Returns the magnitude of the chain's H at the highest frequency of a smaller picture, along the
 * axis on which it is greater. */
double sampler_cut(const struct sampler *sampler);

/* The memory of the host that it takes. */
uint64_t sampler_bytes(const struct filter_chain *chain, const struct taps_samples *samples,
                       uint32_t side);

/* Returns h at a place, -side / 2 .. side / 2. */
double sampler_tap(const struct sampler *sampler, int32_t x, int32_t y);

/* Returns H of a flat area. */
double sampler_level(const struct sampler *sampler);

/* Returns a bound, in steps, on the error of one product of taps that is computed with integers of
 * 16 bits (direct_short.cl). `across` and `down` have the taps from one end to the other, and
 * `middle` is the factor of the sample itself, or 0. HUGE_VAL: the taps are too large for it. */
double taps_short_error(const double *across, const double *down, uint32_t count, double middle);

/* Returns the sum of magnitudes that may be left out. With the sum of the taps made up, samples
 * count by their distance from the middle of their range, and half a step is allowed. */
double taps_negligible(const struct filter_chain *chain, const struct taps_samples *samples);

#endif
