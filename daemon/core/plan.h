/* The shape of a transform: padded sizes, radices, digit orders, border maps. Pure.
 *
 * The transform along an axis of length n = r0 r1 ... runs decimation in frequency, in place, one
 * stage a radix: element q then holds frequency plan_frequency(axis, q), and nothing ever
 * reorders it: the response is stored in that order. */
#ifndef FFTD_CORE_PLAN_H
#define FFTD_CORE_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"

#define PLAN_MAX_STAGES 8
#define PLAN_MAX_LENGTH 16384

enum plan_border {
    PLAN_MIRROR,    /* ... 2 1 | 0 1 2 ...: the edge pixel is not repeated */
    PLAN_REPLICATE, /* ... 0 0 | 0 1 2 ... */
    PLAN_CONSTANT,
    PLAN_WRAP, /* the other side of the image */
};

struct plan_axis {
    uint32_t length;
    unsigned stage_count;
    uint8_t radix[PLAN_MAX_STAGES]; /* 2 .. 10, 12, 15, 16; in the order of the forward stages */
};

/* Which axis is transformed first, and back last: y (down columns) or x (along rows). The other one
 * is cut in two halves (kernels/pack.cl), so its length and its first radix are even. */
enum plan_order { PLAN_COLUMNS_FIRST, PLAN_ROWS_FIRST };

/* A plane of width x height samples in a transform of x.length x y.length. */
struct plan {
    uint32_t width, height;
    enum plan_order order;
    struct plan_axis x, y;
};

/* What a plan has to observe. */
struct plan_limits {
    uint32_t width, height;      /* of the plane */
    uint32_t margin_x, margin_y; /* samples added at least */
    enum plan_order order;
    uint32_t lanes;          /* the axis cut in two is a multiple of 2 lanes; pairs go by lanes */
    uint32_t max_x, max_y;   /* longest axes the technique can carry; 0: PLAN_MAX_LENGTH */
    uint8_t max_radix;       /* 4 .. 16 */
    uint32_t want_x, want_y; /* axes to take if they fit all this; 0: the cheapest */
};

/* Splits a length into radices, large ones first; first_even: the first one is even. -EINVAL: it
 * has another prime factor than 2, 3, 5 and 7, or too many of them. */
int plan_factor(struct plan_axis *ret, uint32_t length, uint8_t max_radix, int first_even);

/* Picks the cheapest padded size within the limits, by counted work (plan.c says how). -ERANGE: no
 * length up to the largest fits; the text says what does. */
int plan_choose(struct plan *ret, const struct plan_limits *limits, struct error *why);

/* The cheapest padded sizes, in order of their cost, at most `max`; returns how many there are. The
 * first is what plan_choose picks where nothing is wanted. */
unsigned plan_rank(struct plan *ret, unsigned max, const struct plan_limits *limits);

/* Work of one frame, in the arbitrary unit of plan_choose. */
double plan_cost(const struct plan *plan, uint32_t lanes);

/* The frequency, 0 .. length - 1 cycles per length, that element `position` holds after the
 * forward stages; and the other way round. */
uint32_t plan_frequency(const struct plan_axis *axis, uint32_t position);
uint32_t plan_position(const struct plan_axis *axis, uint32_t frequency);

/* The axis transformed first, and the one transformed second. */
const struct plan_axis *plan_first(const struct plan *plan);
const struct plan_axis *plan_second(const struct plan *plan);

/* Where the element `position` is kept: there, or with the legs of the last stage apart, leg j of
 * butterfly b at j length / radix + b instead of b radix + j. */
uint32_t plan_place(const struct plan_axis *axis, uint32_t position, bool legs_apart);

/* Two lines across the first axis, which are transformed along the second as one: those of a
 * frequency and of its negative, at which places along the first (legs apart: rows first). For 0
 * and for half the length they are the same. */
struct plan_pair {
    uint32_t frequency;
    uint32_t place, negative;
};

/* Fills in plan_first()->length / 2 + 1 pairs: long runs come first, in which places go up and
 * negatives go down one by one, so that neighbouring pairs are neighbours in memory. */
void plan_pairs(const struct plan *plan, struct plan_pair *ret);

/* Product of the radices after stage i: the distance between a butterfly's legs. */
uint32_t plan_span(const struct plan_axis *axis, unsigned stage);

/* Twiddles of all stages, one after another: stage i's leg j (1 .. r - 1) and butterfly p
 * (0 .. span - 1) at plan_twiddle_offset(i) + (j - 1) span + p is exp(-2 pi i j p / (r span)),
 * interleaved re, im. `ret` holds 2 plan_twiddle_count floats. */
uint32_t plan_twiddle_offset(const struct plan_axis *axis, unsigned stage);
uint32_t plan_twiddle_count(const struct plan_axis *axis);
void plan_twiddles(const struct plan_axis *axis, float *ret);

/* For every padded coordinate the coordinate inside the image whose sample stands there, or -1 for
 * outside (PLAN_CONSTANT). The first half of the pad (the larger one, if it is odd) continues the
 * far edge, the second leads into the near edge. map holds padded entries. */
void plan_border_map(int32_t *map, uint32_t padded, uint32_t length, enum plan_border border);

#endif
