/* Two neighbouring complex numbers in one vector, interleaved as in memory (complex.cl), for units
 * that are four numbers wide and load 16 bytes at a time, such as Midgard's. LANES is 2.
 *
 * Multiplying by i exchanges neighbours and signs. The exchange is a swizzle, which is free; the
 * signs are a constant factor, which merges into an existing multiplication. */

#if LANES != 2
#error "an interleaved cplx is two numbers"
#endif

typedef float4 cplx; /* re, im, re, im */

#define CONJUGATED (float4)(1, -1, 1, -1)
#define ROTATED    (float4)(-1, 1, -1, 1)

static inline cplx c_make(real re, real im)
{
    return (float4)(re.x, im.x, re.y, im.y);
}

static inline real c_re(cplx z)
{
    return z.xz;
}

static inline real c_im(cplx z)
{
    return z.yw;
}

static inline cplx c_add(cplx a, cplx b)
{
    return a + b;
}

static inline cplx c_sub(cplx a, cplx b)
{
    return a - b;
}

static inline cplx c_scale(cplx a, float s)
{
    return a * s;
}

/* a + s b */
static inline cplx c_mad(cplx b, float s, cplx a)
{
    return b * s + a;
}

/* a + i b and a - i b */
static inline cplx c_add_i(cplx a, cplx b)
{
    return b.yxwz * ROTATED + a;
}

static inline cplx c_sub_i(cplx a, cplx b)
{
    return b.yxwz * CONJUGATED + a;
}

static inline cplx c_conj(cplx a)
{
    return a * CONJUGATED;
}

/* -i a */
static inline cplx c_minus_i(cplx a)
{
    return a.yxwz * CONJUGATED;
}

/* i conj(a): an inverse transform is a forward one between two swaps. */
static inline cplx c_swap(cplx a)
{
    return a.yxwz;
}

/* Multiplies both numbers by one complex factor. */
static inline cplx c_twiddle(cplx a, float2 w)
{
    return a.yxwz * (ROTATED * w.y) + a * w.x;
}

/* Multiplies each number by its own real factor. */
static inline cplx c_weigh(cplx a, real w)
{
    return a * w.xxyy;
}

/* Multiplies each number by its own complex factor. */
static inline cplx c_multiply(cplx a, real re, real im)
{
    return a.yxwz * (ROTATED * im.xxyy) + a * re.xxyy;
}

/* Places in memory are offsets in bytes here, of 32 bits: load and store units add one to a base
 * address at no cost, but an index has to be scaled and widened. 4 GiB are enough for the longest
 * axes. */
#define AT(type, base, offset) ((global type *)((global uchar *)(base) + (uint)(offset)))
#define CPLX_BYTES             (4 * (uint)sizeof(stored))
#define NUMBER_BYTES           (2 * (uint)sizeof(stored)) /* one complex number */

/* With HALF_VECTORS, which needs cl_khr_fp16, a vector in half precision is one access, too;
 * without, that is the compiler's affair. */
#if HALF_VECTORS
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#endif
#if !HALF_STORAGE
#define LOAD_4(from, at)   (*AT(const float4, from, at))
#define LOAD_2(from, at)   (*AT(const float2, from, at))
#define STORE_4(z, to, at) (*AT(float4, to, at) = (z))
#define STORE_2(z, to, at) (*AT(float2, to, at) = (z))
#elif HALF_VECTORS
#define LOAD_4(from, at)   convert_float4(*AT(const half4, from, at))
#define LOAD_2(from, at)   convert_float2(*AT(const half2, from, at))
#define STORE_4(z, to, at) (*AT(half4, to, at) = convert_half4(z))
#define STORE_2(z, to, at) (*AT(half2, to, at) = convert_half2(z))
#else
#define LOAD_4(from, at)   vload_half4(0, AT(const half, from, at))
#define LOAD_2(from, at)   vload_half2(0, AT(const half, from, at))
#define STORE_4(z, to, at) vstore_half4(z, 0, AT(half, to, at))
#define STORE_2(z, to, at) vstore_half2(z, 0, AT(half, to, at))
#endif

static inline cplx c_load(global const stored *from, uint at)
{
    return LOAD_4(from, at);
}

static inline void c_store(cplx z, global stored *to, uint at)
{
    STORE_4(z, to, at);
}

/* The same for two numbers that are not neighbours. */
static inline cplx c_load_two(global const stored *from, uint first, uint second)
{
    return (cplx)(LOAD_2(from, first), LOAD_2(from, second));
}

static inline void c_store_two(cplx z, global stored *to, uint first, uint second)
{
    STORE_2(z.lo, to, first);
    STORE_2(z.hi, to, second);
}

/* Loads two values of the response. */
static inline real response_load(global const stored *from, uint at)
{
    return LOAD_2(from, at);
}
