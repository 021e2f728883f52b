/* The arithmetic of direct_products.cl for small taps and samples of 8 bits: integers of 16 bits,
 * of which a register holds twice as many as of floats. Of each product the upper half is kept. How
 * far from the right ones results may be is allowed for where taps are found (filters/taps.c,
 * short_error).
 *
 * Units: 128 is subtracted from samples, so that they reach as far to both sides of 0. The sum of
 * the taps along rows is 1, so this holds for the ring, and sums along columns make up for it. A
 * line has 128ths of a step, so the sum of two fits; the ring and the results have 64ths. Taps
 * along rows are below 1 and have 2^15ths; those along columns are below 1/2 and have 2^16ths. */

#if IN_SHORTS

typedef bits number;          /* of sums and of the ring */
typedef const short *tap_set; /* a product's */

#define FIRST(taps)      ((taps)[RADIUS + 1]) /* what a sum begins with */
#define TO_NUMBER(value) (value)

/* Rounds down. */
ALWAYS_INLINE bits product(short tap, bits value)
{
    return TO_SHORT((TO_WHOLE(value) * (int)tap) >> 16);
}

/* A tap of the middle times its samples, and those at a distance on both sides times theirs. */
#define ONCE(taps, value)            product((taps)[0], value)
#define BOTH(taps, d, after, before) product((taps)[d], (after) + (before))

/* Sets the taps along an axis, and what sums of their products begin with: half a unit for each,
 * and `first` for their sum less 1. Their sum is as near to that of the given ones as it can be. */
static inline void taps_round(short *ret, constant const float *taps, int radius, float scale,
                              float first)
{
    float sum = taps[0] * scale;
    int others = 0;
    for (int i = 1; i <= RADIUS; i++) {
        ret[i] = i <= radius ? convert_short_rte(taps[i] * scale) : 0;
        sum += i <= radius ? 2 * taps[i] * scale : 0;
        others += 2 * ret[i];
    }
    ret[0] = (short)(convert_int_rte(sum) - others);
    ret[RADIUS + 1] = convert_short_rte((sum / scale - 1) * first) + (short)((radius + 1) / 2);
}

#define TAPS_TAKE(name, taps, radius)                                                              \
    short name[SET];                                                                               \
    taps_round(name, taps, radius, 0x1p15f, 0);                                                    \
    taps_round(name + 2 * (RADIUS + 1), (taps) + 2 * (RADIUS + 1), radius, 0x1p16f, 128 * 64)

ALWAYS_INLINE void number_store(global uchar *result, struct block block, int x, int y,
                                number value)
{
#if IMAGE_STEP == 1
    if (x + LANES <= IMAGE_WIDTH) {
        const bits rounded = ((value + (short)32) >> (short)6) + (short)128;
        ((global packed_bytes *)(result + PLACE(x, y)))->all =
            PASTE(convert_uchar, LANES)(clamp(rounded, (short)0, (short)255));
        return;
    }
#endif
    group_store(result, block, x, y, TO_REAL(value) * 0x1p-6f + 128.0f);
}

#endif
