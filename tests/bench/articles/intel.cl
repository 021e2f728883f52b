/* Intel's two techniques for an FFT of RGB pictures, for row_intel.c.
 *
 * Data: a pixel has three complex components. As published, real parts are in one float4 and
 * imaginary parts in another, and the fourth channel is idle. With PACKED, the fourth channel of
 * the first holds red's imaginary part, and a float2 those of green and blue. A line of N = 2^LOG_N
 * pixels has them `along` apart, and lines are `between` apart; pictures of AREA pixels follow each
 * other in dimension 2. The transform has radix 2 and decimation in time. SIGN is -1 forward and 1
 * backward.
 *
 * `uav`: one dispatch a pass, from buffers to buffers; a work-item computes one number, in (along
 * rows) or across (COLUMNS) dimension 0. `slm`: one dispatch an axis, one group a line. Each number
 * is loaded once, into one half of local memory; all passes but the last read from one half, the
 * first in bit-reversed order, and write to the other.
 *
 * Options: TWIDDLES, 0 computed, 1 read from a table with the indices of both inputs, as published,
 * 2 computed by native functions. SOURCE, 0 complex, 1 real floats, 2 real bytes: what the first
 * pass reads. RESULT, 0 floats, 1 bytes: what the last pass writes; bytes have no imaginary part.
 * COUNT: each access to a buffer is counted in units of 4 bytes: counters[0] read, [1] written. */

#ifdef COUNT
#define COUNTERS           , global uint *counters
#define COUNTERS_PASSED    , counters
#define NOTE(kind, buffer) atomic_add(counters + (kind), (uint)sizeof(*(buffer)) / 4)
#else
#define COUNTERS
#define COUNTERS_PASSED
#define NOTE(kind, buffer) (void)0
#endif
#define GET(buffer, i)        (NOTE(0, buffer), (buffer)[i])
#define PUT(buffer, i, value) (NOTE(1, buffer), (buffer)[i] = (value))

#ifdef PACKED
typedef float2 rest;
#else
typedef float4 rest;
#endif

#if SOURCE == 2
typedef uchar4 source;
#else
typedef float4 source;
#endif

#if RESULT == 1
typedef uchar4 result;
#else
typedef float4 result;
#endif

/* Real parts in .lo and imaginary parts in .hi. */
typedef float8 pixel;

static inline pixel load(global const float4 *re, global const rest *im, uint at COUNTERS)
{
    pixel p;
    p.lo = GET(re, at);
#ifdef PACKED
    const float2 more = GET(im, at);
    p.hi = (float4)(p.lo.w, more, 0.0f);
#else
    p.hi = GET(im, at);
#endif
    return p;
}

static inline pixel load_source(global const source *re, global const rest *im, uint at COUNTERS)
{
    pixel p;
#if SOURCE == 2
    p.lo = convert_float4(GET(re, at));
    p.hi = 0.0f;
#elif SOURCE == 1
    p.lo = GET(re, at);
    p.hi = 0.0f;
#else
    p = load(re, im, at COUNTERS_PASSED);
#endif
    return p;
}

static inline void store(global float4 *re, global rest *im, uint at, pixel p COUNTERS)
{
#ifdef PACKED
    PUT(re, at, ((float4)(p.lo.xyz, p.hi.x)));
    PUT(im, at, p.hi.yz);
#else
    PUT(re, at, p.lo);
    PUT(im, at, p.hi);
#endif
}

static inline void store_result(global result *re, global rest *im, uint at, pixel p COUNTERS)
{
#if RESULT == 1
    PUT(re, at, convert_uchar4_sat_rte(p.lo));
#else
    store(re, im, at, p COUNTERS_PASSED);
#endif
}

/* ---- butterflies ---- */

struct inputs {
    uint a, b;
    float2 w; /* the number is a + w b */
};

static inline uint reversed(uint n)
{
    uint r = 0;
    for (uint i = 0; i < LOG_N; i++)
        r |= (n >> i & 1) << (LOG_N - 1 - i);
    return r;
}

/* The inputs of number `n` of a pass; the first pass reads in bit-reversed order. */
static inline struct inputs inputs_of(uint n, uint pass, global const float4 *table COUNTERS)
{
    struct inputs in;
#if TWIDDLES == 1
    const float4 entry = GET(table, (pass << LOG_N) + n);
    in.a = (uint)entry.x;
    in.b = (uint)entry.y;
    in.w = (float2)(entry.z, SIGN * entry.w);
#else
    const uint half_span = 1u << pass, place = n & (2 * half_span - 1);
    const float angle = SIGN * M_PI_F * place / half_span;
    in.a = n & ~half_span;
    in.b = in.a + half_span;
    if (pass == 0) {
        in.a = reversed(in.a);
        in.b = reversed(in.b);
    }
#if TWIDDLES == 2
    in.w = (float2)(native_cos(angle), native_sin(angle));
#else
    float c;
    const float s = sincos(angle, &c);
    in.w = (float2)(c, s);
#endif
#endif
    return in;
}

static inline pixel butterfly(pixel a, pixel b, float2 w)
{
    return a + w.x * b + w.y * (pixel)(-b.hi, b.lo);
}

#define PICTURE (get_global_id(2) * AREA)

/* ---- a pass per dispatch ---- */

kernel void uav(global const source *in_re, global const rest *in_im, global result *out_re,
                global rest *out_im, global const float4 *table, uint along, uint between,
                float scale, uint pass COUNTERS)
{
#ifdef COLUMNS
    const uint n = get_global_id(1), line = PICTURE + get_global_id(0) * between;
#else
    const uint n = get_global_id(0), line = PICTURE + get_global_id(1) * between;
#endif
    const struct inputs in = inputs_of(n, pass, table COUNTERS_PASSED);
    const pixel a = load_source(in_re, in_im, line + in.a * along COUNTERS_PASSED);
    const pixel b = load_source(in_re, in_im, line + in.b * along COUNTERS_PASSED);
    store_result(out_re, out_im, line + n * along, scale * butterfly(a, b, in.w) COUNTERS_PASSED);
}

/* ---- an axis per dispatch ---- */

kernel void slm(global const source *in_re, global const rest *in_im, global result *out_re,
                global rest *out_im, global const float4 *table, uint along, uint between,
                float scale COUNTERS)
{
    local float4 re[2 << LOG_N], im[2 << LOG_N];
    const uint line = PICTURE + get_global_id(1) * between;
    const uint first = get_local_id(0), step = get_local_size(0);
    for (uint n = first; n < 1 << LOG_N; n += step) {
        const pixel p = load_source(in_re, in_im, line + n * along COUNTERS_PASSED);
        re[n] = p.lo;
        im[n] = p.hi;
    }
    for (uint pass = 0; pass < LOG_N; pass++) {
        const uint from = (pass & 1) << LOG_N, to = from ^ 1 << LOG_N;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint n = first; n < 1 << LOG_N; n += step) {
            const struct inputs in = inputs_of(n, pass, table COUNTERS_PASSED);
            const pixel a = (pixel)(re[from + in.a], im[from + in.a]);
            const pixel b = (pixel)(re[from + in.b], im[from + in.b]);
            const pixel p = butterfly(a, b, in.w);
            if (pass == LOG_N - 1) {
                store_result(out_re, out_im, line + n * along, scale * p COUNTERS_PASSED);
            } else {
                re[to + n] = p.lo;
                im[to + n] = p.hi;
            }
        }
    }
}

/* ---- copies before and after ---- */

kernel void widen(global const uchar4 *in, global float4 *out COUNTERS)
{
    const uint at = get_global_id(1) * get_global_size(0) + get_global_id(0);
    PUT(out, at, convert_float4(GET(in, at)));
}

kernel void narrow(global const float4 *in, global uchar4 *out COUNTERS)
{
    const uint at = get_global_id(1) * get_global_size(0) + get_global_id(0);
    PUT(out, at, convert_uchar4_sat_rte(GET(in, at)));
}
