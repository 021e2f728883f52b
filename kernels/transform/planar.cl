/* Complex numbers with real and imaginary parts in separate vectors (complex.cl). On a CPU LANES is
 * the width of its vector registers; on a GPU it is 1.
 *
 * In global memory a cplx is LANES real parts followed by LANES imaginary parts. For LANES = 1 that
 * is the usual interleaved order. It is read and written as one word, because vload2 cannot rely on
 * alignment and becomes two accesses. */

typedef struct {
    real re, im;
} cplx;

static inline real c_re(cplx z)
{
    return z.re;
}

static inline real c_im(cplx z)
{
    return z.im;
}

static inline cplx c_make(real re, real im)
{
    cplx z;
    z.re = re;
    z.im = im;
    return z;
}

static inline cplx c_add(cplx a, cplx b)
{
    return c_make(a.re + b.re, a.im + b.im);
}

static inline cplx c_sub(cplx a, cplx b)
{
    return c_make(a.re - b.re, a.im - b.im);
}

static inline cplx c_scale(cplx a, float s)
{
    return c_make(a.re * s, a.im * s);
}

/* a + s b */
static inline cplx c_mad(cplx b, float s, cplx a)
{
    return c_make(b.re * s + a.re, b.im * s + a.im);
}

/* a + i b and a - i b */
static inline cplx c_add_i(cplx a, cplx b)
{
    return c_make(a.re - b.im, a.im + b.re);
}

static inline cplx c_sub_i(cplx a, cplx b)
{
    return c_make(a.re + b.im, a.im - b.re);
}

static inline cplx c_conj(cplx a)
{
    return c_make(a.re, -a.im);
}

/* -i a */
static inline cplx c_minus_i(cplx a)
{
    return c_make(a.im, -a.re);
}

/* i conj(a): an inverse transform is a forward one between two swaps. */
static inline cplx c_swap(cplx a)
{
    return c_make(a.im, a.re);
}

/* Multiplies all lanes by one complex factor. */
static inline cplx c_twiddle(cplx a, float2 w)
{
    return c_make(a.re * w.x - a.im * w.y, a.re * w.y + a.im * w.x);
}

/* Multiplies each lane by its own real factor. */
static inline cplx c_weigh(cplx a, real w)
{
    return c_make(a.re * w, a.im * w);
}

/* Multiplies each lane by its own complex factor. */
static inline cplx c_multiply(cplx a, real re, real im)
{
    return c_make(a.re * re - a.im * im, a.re * im + a.im * re);
}

#if LANES == 1 && HALF_STORAGE
/* Convert between one complex number and one word of memory. */
static inline float2 halves_to_floats(ushort2 word)
{
    return vload_half2(0, (const half *)&word);
}

static inline ushort2 floats_to_halves(float2 z)
{
    ushort2 word;
    vstore_half2(z, 0, (half *)&word);
    return word;
}
#endif

#if LANES > 1
/* Loads a part of what was stored with `parts` times as many lanes. (c_load does not call it: if it
 * does, clang emits an intrinsic function for the inlined structure that oclgrind does not know.)
 */
static inline cplx c_load_part(global const stored *from, size_t index, uint part, uint parts)
{
    const size_t at = 2 * parts * index + part;
#if HALF_STORAGE
    return c_make(PASTE(vload_half, LANES)(at, from), PASTE(vload_half, LANES)(at + parts, from));
#else
    return c_make(VLOAD(at, from), VLOAD(at + parts, from));
#endif
}
#endif

static inline cplx c_load(global const stored *from, size_t index)
{
#if LANES == 1
#if HALF_STORAGE
    const float2 z = halves_to_floats(((global const ushort2 *)from)[index]);
#else
    const float2 z = ((global const float2 *)from)[index];
#endif
    return c_make(z.x, z.y);
#elif HALF_STORAGE
    return c_make(PASTE(vload_half, LANES)(2 * index, from),
                  PASTE(vload_half, LANES)(2 * index + 1, from));
#else
    return c_make(VLOAD(2 * index, from), VLOAD(2 * index + 1, from));
#endif
}

static inline void c_store(cplx z, global stored *to, size_t index)
{
#if LANES == 1
#if HALF_STORAGE
    ((global ushort2 *)to)[index] = floats_to_halves((float2)(z.re, z.im));
#else
    ((global float2 *)to)[index] = (float2)(z.re, z.im);
#endif
#elif HALF_STORAGE
    PASTE(vstore_half, LANES)(z.re, 2 * index, to);
    PASTE(vstore_half, LANES)(z.im, 2 * index + 1, to);
#else
    VSTORE(z.re, 2 * index, to);
    VSTORE(z.im, 2 * index + 1, to);
#endif
}

/* Loads LANES values of the response; `index` counts groups of LANES values. */
static inline real response_load(global const stored *from, size_t index)
{
#if !HALF_STORAGE
    return VLOAD(index, from);
#elif LANES == 1
    return vload_half(index, from);
#else
    return PASTE(vload_half, LANES)(index, from);
#endif
}
