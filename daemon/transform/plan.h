/* The shape of a transform: padded sizes, radices, digit orders, border maps. Pure.
 *
 * The transform along an axis of length n = r0 r1 ... is decimation in frequency, in place, with
 * one stage for each radix. Element q then holds frequency plan_frequency(axis, q). The elements
 * are never reordered; the response is stored in the same order. */
#ifndef FFTD_TRANSFORM_PLAN_H
#define FFTD_TRANSFORM_PLAN_H

#include <stdbool.h>
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

/* Which axis is transformed first, and back last: y (down columns) or x (along rows). The other
 * axis is halved (kernels/transform/pack.cl), so its length and its first radix are even. */
enum plan_order { PLAN_COLUMNS_FIRST, PLAN_ROWS_FIRST };

/* A plane of width x height samples in a transform of x.length x y.length. */
struct plan {
    uint32_t width, height;
    enum plan_order order;
    struct plan_axis x, y;
};

/* The constraints of a plan. */
struct plan_limits {
    uint32_t width, height;      /* size of the plane */
    uint32_t margin_x, margin_y; /* samples added at least */
    enum plan_order order;
    uint32_t lanes;          /* pairs in a group; the halved axis is a multiple of 2 lanes */
    uint32_t max_x, max_y;   /* longest axes that are possible; 0: PLAN_MAX_LENGTH */
    uint8_t max_radix;       /* 4 .. 16 */
    uint32_t want_x, want_y; /* lengths to prefer if they are possible; 0: the cheapest */
    /* The plane of a smaller picture, which is made of the lowest frequencies: its lengths are to
     * the plan's as its sides are to the plane's. 0: there is none. */
    uint32_t smaller_width, smaller_height;
    /* The staged technique on a Mali Midgard, always columns first: how many stages share the
     * traffic of a dispatch. 0: another technique or device. */
    unsigned midgard_stages;
    bool half; /* counts on Midgard only */
};

/* Splits a length into radices, large ones first; first_even: the first one is even. -EINVAL: it
 * has another prime factor than 2, 3, 5 and 7, or too many of them. */
int plan_factor(struct plan_axis *ret, uint32_t length, uint8_t max_radix, int first_even);

/* Picks the cheapest padded size within the limits. -ERANGE: even the longest lengths are too
 * short; the text names them. Or no length has one for the smaller plane (plan_check_smaller). */
int plan_choose(struct plan *ret, const struct plan_limits *limits, struct error *why);

/* -EINVAL: no length along an axis has one for the smaller plane; the text names the nearest sides
 * that have (plan_sides.c). */
int plan_check_smaller(const struct plan_limits *limits, struct error *why);

/* The plan of the smaller plane that belongs to a plan with these limits. -EINVAL: it has no
 * lengths for that plane, and *ret is of no use. */
int plan_smaller(struct plan *ret, const struct plan *plan, const struct plan_limits *limits);

/* Fills ret with the cheapest padded sizes in the order of their cost, at most `max`. Returns their
 * number, which is never more than PLAN_MAX_RANKED. The first one is what plan_choose picks. */
#define PLAN_MAX_RANKED 16
unsigned plan_rank(struct plan *ret, unsigned max, const struct plan_limits *limits);

/* What plan_choose minimizes: cycles on Midgard, otherwise work in an arbitrary unit. */
double plan_cost(const struct plan *plan, const struct plan_limits *limits);

/* A Mali-T760 moves these bytes of main memory for each cycle of one of its cores, at 10 GB/s, 600
 * MHz and four cores. */
#define PLAN_MIDGARD_BYTES (10e9 / (4 * 600e6))

/* The cycles there of a number in a stage of the staged technique, forward and inverse together.
 * is_first: the axis is transformed first. HUGE_VAL: there is no such kernel. */
double plan_midgard_cycles(const struct plan_axis *axis, unsigned stage, bool is_first, bool half);

/* The frequency, 0 .. length - 1 cycles per length, of element `position` after the forward stages,
 * and the position of a frequency. */
uint32_t plan_frequency(const struct plan_axis *axis, uint32_t position);
uint32_t plan_position(const struct plan_axis *axis, uint32_t frequency);

/* Sets the frequencies of all positions. */
void plan_frequencies(const struct plan_axis *axis, uint16_t *ret);

/* The axis transformed first, and the one transformed second. */
static inline const struct plan_axis *plan_first(const struct plan *plan)
{
    return plan->order == PLAN_ROWS_FIRST ? &plan->x : &plan->y;
}
static inline const struct plan_axis *plan_second(const struct plan *plan)
{
    return plan->order == PLAN_ROWS_FIRST ? &plan->y : &plan->x;
}

/* The index at which element `position` is stored. That is the position itself, unless the legs of
 * the last stage are stored apart: leg j of butterfly b is then at j length / radix + b instead of
 * b radix + j. */
uint32_t plan_place(const struct plan_axis *axis, uint32_t position, bool legs_apart);

/* Two lines across the first axis that are transformed along the second axis as one: the lines of a
 * frequency and of its negative. place and negative are their indices along the first axis, with
 * the legs apart if rows come first. For 0 and half the length both lines are the same. */
struct plan_pair {
    uint32_t frequency;
    uint32_t place, negative;
};

/* The number of pairs: one for each frequency from 0 to half the length of the first axis. */
static inline uint32_t plan_pair_count(const struct plan *plan)
{
    return plan_first(plan)->length / 2 + 1;
}

/* Fills in plan_pair_count() pairs, so that the lowest frequencies come first. With
 * columns first, pair k has frequency k. With rows first, the pairs of one leg of the last stage
 * come before those of the next, which have higher frequencies. Within a leg they are in runs in
 * which places go up and negatives go down one by one, so that neighbouring pairs are neighbours in
 * memory. */
void plan_pairs(const struct plan *plan, struct plan_pair *ret);

/* Product of the radices after stage i: the distance between a butterfly's legs. */
uint32_t plan_span(const struct plan_axis *axis, unsigned stage);

/* Twiddles of all stages, one after another. That of leg j (1 .. r - 1) and butterfly p (0 .. span
 * - 1) of stage s is exp(-2 pi i j p / (r span)), at index plan_twiddle_offset(s) + (j - 1) span +
 * p. Each is a pair of floats, re and im; `ret` holds plan_twiddle_count pairs. */
uint32_t plan_twiddle_offset(const struct plan_axis *axis, unsigned stage);
uint32_t plan_twiddle_count(const struct plan_axis *axis);
void plan_twiddles(const struct plan_axis *axis, float *ret);

/* Returns the coordinate, 0 .. length - 1, whose sample PLAN_MIRROR uses at coordinate `at`. */
uint32_t plan_mirror(int64_t at, uint32_t length);

/* Sets map[i], for each padded coordinate i, to the coordinate inside the image whose sample is
 * used there, or to -1 for the constant (PLAN_CONSTANT). The first half of the padding, which is
 * the larger one if its length is odd, continues the far edge; the second continues the near edge.
 * map has `padded` entries. */
void plan_border_map(int32_t *map, uint32_t padded, uint32_t length, enum plan_border border);

#endif
