/* The arithmetic of direct_products.cl for small taps and samples of 8 bits: integers of 16 bits,
 * twice as many of which fit into a register as floats do. The upper half of each product is kept.
 * How far from the right ones results may be is allowed for where taps are found (filters/taps.c,
 * short_error).
 *
 * Units: 128 is subtracted from samples, so that they reach as far to both sides of 0. The sum of
 * the taps along rows is 1, so this holds for the ring, and sums along columns make up for it. A
 * line has 128ths of a step, so the sum of two fits; the ring and the results have 64ths. Taps
 * along rows are below 1 and have 2^15ths; those along columns are below 1/2 and have 2^16ths. The
 * factor of the MIDDLE is below 4, a whole number and 2^15ths. Sums are at most 4 x 128 steps
 * before the middle is added, and with it are cut off there. */

#if IN_SHORTS

typedef bits number;          /* the type of sums and of the ring */
typedef const short *tap_set; /* a product's */

#define STEPS            (128 * 64)           /* from 0 to the middle of the range of samples */
#define HALF             32                   /* half a step */
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

/* The sum of a product and the middle is cut off where a short ends. */
ALWAYS_INLINE bits sum_of(bits a, bits b)
{
    const wholes sum = TO_WHOLE(a) + TO_WHOLE(b);
    return TO_SHORT(clamp(sum, (wholes)(-32768), (wholes)32767));
}

/* Samples in 64ths, times a whole number and 2^15ths. */
ALWAYS_INLINE bits middle_of(tap_set middle, bits value)
{
    return (value >> (short)1) * middle[0] + product(middle[1], value);
}

#define SUM(a, b)              sum_of(a, b)
#define MIDDLE_OF(taps, value) middle_of((taps) + SET, value)

/* Sets the taps along an axis, and what sums of `products` of them begin with: half a unit for
 * each, `first`, and `level` times the sum of the taps. Their sum is as near to that of the given
 * ones as it can be. With a STRIDE the first one is for two samples, as the others are. */
static inline void taps_round(short *ret, constant const float *taps, int radius, float scale,
                              int products, float first, float level)
{
    float sum = (STRIDE > 1 ? 2 : 1) * taps[0] * scale;
    int others = 0;
    for (int i = 1; i <= RADIUS; i++) {
        ret[i] = i <= radius ? convert_short_rte(taps[i] * scale) : 0;
        sum += i <= radius ? 2 * taps[i] * scale : 0;
        others += 2 * ret[i];
    }
    ret[0] = (short)((convert_int_rte(sum) - others) / (STRIDE > 1 ? 2 : 1));
    ret[RADIUS + 1] = convert_short_rte(sum / scale * level + first) + (short)(products / 2);
}

/* Sets all taps, and behind them both parts of the middle's factor. Sums along columns begin with
 * half a step, too, so that results can be rounded down. */
static inline void taps_take(short *ret, constant const float *taps, int radius)
{
    const float middle = MIDDLE ? taps[HEAD - 1] : 0;
    constant const float *down = taps + HEAD + 2 * (RADIUS + 1);
    taps_round(ret, taps + HEAD, radius, 0x1p15f, radius + 1, 0, 0);
    taps_round(ret + 2 * (RADIUS + 1), down, radius, 0x1p16f, radius + 1 + MIDDLE,
               (middle - 1) * STEPS + HALF, STEPS);
    ret[SET] = convert_short_rte(middle);
    ret[SET + 1] = convert_short_rte((middle - rint(middle)) * 0x1p15f);
}

#define TAPS_TAKE(name, taps, radius)                                                              \
    short name[SET + 2];                                                                           \
    taps_take(name, taps, radius)

ALWAYS_INLINE void number_store(global uchar *result, struct block block, int x, int y,
                                number value)
{
#if IMAGE_STEP == 1
    if (x + LANES <= IMAGE_WIDTH) {
        const bits rounded = (value >> (short)6) + (short)128;
        ((global packed_bytes *)(result + PLACE(x, y)))->all =
            PASTE(convert_uchar, LANES)(clamp(rounded, (bits)0, (bits)255));
        return;
    }
#endif
    group_store(result, block, x, y, TO_REAL(value) * 0x1p-6f + 127.5f);
}

#endif
