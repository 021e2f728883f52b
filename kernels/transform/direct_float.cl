/* The arithmetic of direct_products.cl for any taps and any samples: floats. */

#if !IN_SHORTS

typedef real number;                   /* the type of sums and of the ring */
typedef constant const float *tap_set; /* a product's */

#define FIRST(taps)       0.0f /* what a sum begins with */
#define TO_NUMBER(value)  FROM_BITS(value)

/* A tap of the middle times its samples, and those at a distance on both sides times theirs. */
#define ONCE(taps, value) ((taps)[0] * (value))
#if ODD
#define BOTH(taps, d, after, before) ((taps)[d] * (after) + (taps)[RADIUS + 1 + (d)] * (before))
#else
#define BOTH(taps, d, after, before) ((taps)[d] * ((after) + (before)))
#endif

#define SUM(a, b)                     ((a) + (b))
#define MIDDLE_OF(taps, value)        ((taps)[-1] * (value))

#define TAPS_TAKE(name, taps, radius) const tap_set name = (taps) + HEAD

ALWAYS_INLINE void number_store(global uchar *result, struct block block, int x, int y,
                                number value)
{
    group_store(result, block, x, y, value);
}

#endif
