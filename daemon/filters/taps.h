/* The taps of a short filter: its impulse response, if that is negligible beyond some pixels. Pure.
 *
 * A chain is one function H(fx, fy), and h is its inverse transform. What is beyond the radius is
 * left out if it changes no result, of samples from 0 to the largest one, by more than half a step;
 * with a curve (curve.h), whose inverse may be steep, by a sixteenth of that. The result of
 *     out(x, y) = sum of h(i, j) in(x - i, y - j) over -radius <= i, j <= radius
 * is then that of H, for all sizes of the padded image. */
#ifndef FFTD_FILTERS_TAPS_H
#define FFTD_FILTERS_TAPS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/error.h"
#include "filters/filter.h"

/* The greatest radius of taps that are one product; of those that are more, or whose filter removes
 * the upper half of the frequencies, which makes a transform cheaper; and of those that are not the
 * sum of a few products. With more a transform is faster. The last is that of tiles which are
 * transformed, with which it is one of tiles. */
#define TAPS_MAX_RADIUS         15
#define TAPS_MAX_LOW_RADIUS     10
#define TAPS_MAX_PLAIN_RADIUS   7
#define TAPS_MAX_TILE_RADIUS    30
#define TAPS_MAX_SIDE           (2 * TAPS_MAX_RADIUS + 1)
#define TAPS_MAX_PRODUCTS       3

/* The stride of a smaller picture that taps can make. With a greater one they would need more than
 * TAPS_MAX_RADIUS. */
#define TAPS_STRIDE             2

/* At half the rate: the greatest radius of the blur there, and how far results reach with a radius,
 * in samples of the image. */
#define TAPS_MAX_HALF_RADIUS    14
#define TAPS_HALF_REACH(radius) (2 * (radius) + 5)

/* The samples of a plane: the luma pixels from one to the next, and their bits. For a smaller
 * picture, only every stride-th result along each axis is made, from the middle of what it covers.
 * The chain's H then falls to 0 below the picture's highest frequency (filter_crop.h). */
struct taps_samples {
    unsigned sub_x, sub_y;
    unsigned bits;   /* 8 .. 16; of the result */
    unsigned stride; /* TAPS_STRIDE; 0: a result for each sample */
    double edge;     /* the part of a smaller picture's frequencies over which H falls */
};

/* What is known of the taps of products along their lines. Each can be filtered by kernels for
 * those before it. */
enum taps_line {
    TAPS_ANY,   /* nothing */
    TAPS_EVEN,  /* they are the same on both sides of the middle */
    TAPS_SMALL, /* and one product of so small ones that integers of 16 bits do for 8-bit samples */
    TAPS_EQUAL, /* and all equal, and the radius is theirs */
};

/* What kernels for short filters have to be able to do. Filters of one reach differ only in data.
 */
struct taps_reach {
    bool is_short;       /* false: the filter needs a transform: of tiles, if there is a radius */
    uint32_t radius;     /* that of the class, at least the taps'; 0: H is a factor, or not short */
    uint32_t products;   /* 1 .. TAPS_MAX_PRODUCTS, as in struct taps; 0: the taps are used
                            as they are */
    enum taps_line line; /* what products have; otherwise TAPS_ANY */
    bool has_middle;     /* products have the sample itself added to them, times a factor */
    uint32_t half_radius; /* class radius, at least the blur's, if a blur at half the rate (struct
                             taps_half) makes the same result; or 0 */
};

struct taps {
    uint32_t radius;
    uint32_t products;   /* 0: more than TAPS_MAX_PRODUCTS */
    enum taps_line line; /* as in struct taps_reach */
    /* tap[(j + radius) * (2 * radius + 1) + i + radius] is h(i, j). It is the sum of down[k][j +
     * radius] * across[k][i + radius] over the products, and `middle` where i = j = 0. The latter
     * is 0 unless it makes products fewer. */
    double middle;
    double tap[TAPS_MAX_SIDE * TAPS_MAX_SIDE];
    double across[TAPS_MAX_PRODUCTS][TAPS_MAX_SIDE], down[TAPS_MAX_PRODUCTS][TAPS_MAX_SIDE];
};

/* Computes the taps of a chain. -ERANGE: it is not short; -ENOMEM. */
int taps_find(struct taps *ret, const struct filter_chain *chain,
              const struct taps_samples *samples, struct error *why);

/* The memory of the host that taps_find takes while it runs, bytes, and struct taps itself. */
uint64_t taps_bytes(const struct filter_chain *chain, const struct taps_samples *samples);

/* Returns what a chain needs. Out of memory, it needs a transform. */
struct taps_reach taps_reach_of(const struct filter_chain *chain,
                                const struct taps_samples *samples);

/* The same for a chain that is not short, in classes up to `most`. It has a radius if a transform
 * of tiles with margins of that many samples is enough, and if its band is not narrow. */
struct taps_reach taps_tile_reach_of(const struct filter_chain *chain,
                                     const struct taps_samples *samples, uint32_t most);

/* A wide blur without a transform: samples are decimated by 2, blurred and interpolated. Each is
 * done along rows and along columns:
 *     d(k) = sum of (1 5 10 10 5 1)(m) in(2 k - 2 + m) / 32, m = 0 .. 5
 *     b(k) = sum of across(|i|) d(k + i), -radius <= i <= radius
 *     out(2 k) = (5 b(k - 1) + 10 b(k) + b(k + 1)) / 16, and out(2 k + 1) the same mirrored.
 * So results have four phases, of even and odd columns and rows. */
struct taps_half {
    uint32_t radius; /* radius of the class */
    double across[TAPS_MAX_HALF_RADIUS + 1], down[TAPS_MAX_HALF_RADIUS + 1]; /* from the middle */
};

/* Finds the blur of the smallest class whose exact response in each phase differs from h by as
 * little as taps may leave out. -ERANGE: there is none; or the chain has a curve, as taps then may
 * leave out much less; -ENOMEM. */
int taps_half_find(struct taps_half *ret, const struct filter_chain *chain,
                   const struct taps_samples *samples, struct error *why);

/* The memory of the host that taps_half_find takes while it runs, bytes. */
uint64_t taps_half_bytes(const struct filter_chain *chain, const struct taps_samples *samples);

/* Returns the reach of a chain as a blur at half the rate, in classes up to `most`. If it is no
 * such blur, returns the reach of a chain that needs a transform. */
struct taps_reach taps_half_reach_of(const struct filter_chain *chain,
                                     const struct taps_samples *samples, uint32_t most);

/* The taps of a smaller picture: one product, with the same taps on both sides of the middle, which
 * is between two samples. Along rows, result k is the sum over 0 <= i <= radius of
 *     across(i) (in(stride k + stride / 2 + i) + in(stride k + stride / 2 - 1 - i)),
 * and along columns it is the same with `down`. */
struct taps_stride {
    uint32_t radius;
    enum taps_line line; /* TAPS_EVEN or TAPS_SMALL */
    double across[TAPS_MAX_RADIUS + 1], down[TAPS_MAX_RADIUS + 1];
};

/* Finds the fewest taps whose response differs from h by no more than taps may leave out. -ERANGE:
 * there are none; -ENOMEM. Finding them takes as much memory as taps_half_bytes says. */
int taps_stride_find(struct taps_stride *ret, const struct filter_chain *chain,
                     const struct taps_samples *samples, struct error *why);

/* Returns the reach of a chain with these taps, or that of one that needs a transform. */
struct taps_reach taps_stride_reach_of(const struct filter_chain *chain,
                                       const struct taps_samples *samples);

/* Returns whether only a transform of the whole image does, or a blur at half the rate. */
static inline bool taps_reach_is_far(struct taps_reach reach)
{
    return !reach.is_short && reach.radius == 0;
}

/* Returns the reach as taps if the chain is short, else as tiles if that is possible, else a far
 * reach. The reach of a smaller picture is as taps or far. A far reach, and taps with a radius
 * above TAPS_MAX_LOW_RADIUS, may also have half_radius. With shorter taps, half the rate was slower
 * on all devices that were measured. most: the greatest radii of tiles and of half the rate. */
struct taps_reach taps_reach_within(const struct filter_chain *chain,
                                    const struct taps_samples *samples, struct taps_reach most);

/* Returns what is able to do both and their blends. The blend of two products is not one. */
struct taps_reach taps_reach_unite(struct taps_reach a, struct taps_reach b);

/* Returns whether kernels for a can do what needs b. */
bool taps_reach_covers(struct taps_reach a, struct taps_reach b);

static inline bool taps_reach_equal(struct taps_reach a, struct taps_reach b)
{
    return a.is_short == b.is_short && a.radius == b.radius && a.products == b.products &&
           a.line == b.line && a.has_middle == b.has_middle && a.half_radius == b.half_radius;
}

#endif
