/* The transpose of a square of numbers in registers, for several lanes.
 *
 * Data: LANES vectors of LANES numbers, of one work-item. Used by fused_lanes.cl and denoise.cl. */

#if LANES > 1

#if LANES == 2
#define INTERLEAVE_LOW(a, b)  (float2)(a.s0, b.s0)
#define INTERLEAVE_HIGH(a, b) (float2)(a.s1, b.s1)
#define LANES_LOG2            1
#elif LANES == 4
#define INTERLEAVE_LOW(a, b)  (float4)(a.s0, b.s0, a.s1, b.s1)
#define INTERLEAVE_HIGH(a, b) (float4)(a.s2, b.s2, a.s3, b.s3)
#define LANES_LOG2            2
#elif LANES == 8
#define INTERLEAVE_LOW(a, b)  (float8)(a.s0, b.s0, a.s1, b.s1, a.s2, b.s2, a.s3, b.s3)
#define INTERLEAVE_HIGH(a, b) (float8)(a.s4, b.s4, a.s5, b.s5, a.s6, b.s6, a.s7, b.s7)
#define LANES_LOG2            3
#else
#define INTERLEAVE_LOW(a, b)                                                                       \
    (float16)(a.s0, b.s0, a.s1, b.s1, a.s2, b.s2, a.s3, b.s3, a.s4, b.s4, a.s5, b.s5, a.s6, b.s6,  \
              a.s7, b.s7)
#define INTERLEAVE_HIGH(a, b)                                                                      \
    (float16)(a.s8, b.s8, a.s9, b.s9, a.sa, b.sa, a.sb, b.sb, a.sc, b.sc, a.sd, b.sd, a.se, b.se,  \
              a.sf, b.sf)
#define LANES_LOG2 4
#endif

/* Transposes LANES vectors of LANES numbers by LANES_LOG2 perfect shuffles. */
static inline void transpose(real *v)
{
    real t[LANES];
#pragma unroll
    for (int round = 0; round < LANES_LOG2; round++) {
#pragma unroll
        for (int i = 0; i < LANES / 2; i++) {
            t[2 * i] = INTERLEAVE_LOW(v[i], v[i + LANES / 2]);
            t[2 * i + 1] = INTERLEAVE_HIGH(v[i], v[i + LANES / 2]);
        }
#pragma unroll
        for (int i = 0; i < LANES; i++)
            v[i] = t[i];
    }
}

#endif
