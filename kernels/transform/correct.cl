/* Corrections of captured samples (daemon/filters/correction.h), in the load of the first dispatch:
 *     corrected(x, y) = limit(captured(x, y) - share * sum of the waves at (x, y)) * row_gain[y]
 * Kernels without CORRECTIONS have nothing of this. Noise is reduced in samples that are corrected
 * already, so the load of a denoiser does it instead (denoise_first.cl).
 *
 * The host computes the factors for each place along U and along V of the padded image
 * (daemon/engine/corrector.c), so that the border repeats corrected samples. A wave at (u, v) is
 * the real part of the product of two complex factors, one of them with its amplitude and the gain.
 *
 * Data, in floats from the beginning of `correction`:
 *     0                                          number of waves
 *     CORRECTION_TOP                             the largest sample; 0: there are no limits
 *     CORRECTION_LOW, CORRECTION_HIGH            share, for captured samples at the limits
 *     CORRECTION_COLUMNS, CORRECTION_ROWS        places along x and along y, U_LENGTH and V_LENGTH
 *     CORRECTION_ACROSS, CORRECTION_DOWN         where a wave has its factors along x and along y
 *     CORRECTION_GAIN                            a gain for each place along y
 *     CORRECTION_WAVES + w CORRECTION_STEP       wave w: U_LENGTH real parts along U and as many
 *                                                imaginary ones, then V_LENGTH of each along V
 * Work-items: as those of the kernels that load (fused.cl, staged.cl). All legs of a butterfly are
 * corrected together after they were loaded: their factors along V are the same, and a loop in
 * each load would keep the compiler from unrolling the loads. */

#if CORRECTIONS

#define CORRECTION_TOP     1
#define CORRECTION_LOW     2
#define CORRECTION_HIGH    3
#define CORRECTION_COLUMNS 4
#define CORRECTION_ROWS    5
#define CORRECTION_ACROSS  6
#define CORRECTION_DOWN    7
#define CORRECTION_GAIN    16

/* Samples at a limit are moved away from all others by this many times the largest one, until the
 * waves have been subtracted. More of them than this would not be precise any more. */
#define FAR                16

/* `s` so moved; luma of RGB is rounded. */
#define MARK(s, top)                                                                               \
    select(select(s, s + FAR * (top), s >= 0.999f * (top)), s - FAR * (top), s <= 0)

/* `s` moved back, with the shares of what the waves have changed, and limited. top: times the gain.
 */
#define LIMIT(type, s, top, low, high)                                                             \
    clamp(select(select(s, (top) + (high) * (s - (FAR + 1) * (top)), s > FAR / 2 * (top)),         \
                 (low) * (s + FAR * (top)), s < -FAR / 2 * (top)),                                 \
          (type)(0), (type)(top))

#define READ_ONE(from)   (from)[0]
#define READ_LANES(from) VLOAD(0, from)

/* Corrects z: the sample at (x, y), or a vector of LANES samples that begins there. `read` is
 * READ_ONE or READ_LANES. */
#define CORRECT(type, z, x, y, read)                                                               \
    {                                                                                              \
        const uint columns = (uint)correction[CORRECTION_COLUMNS];                                 \
        const uint rows = (uint)correction[CORRECTION_ROWS];                                       \
        const float gain = correction[CORRECTION_GAIN + (y)], top = correction[CORRECTION_TOP];    \
        const float low = correction[CORRECTION_LOW], high = correction[CORRECTION_HIGH];          \
        global const float *wave = correction + CORRECTION_GAIN + rows;                            \
        global const float *across = wave + (uint)correction[CORRECTION_ACROSS] + (x);             \
        global const float *down = wave + (uint)correction[CORRECTION_DOWN] + (y);                 \
        if (top > 0)                                                                               \
            z = MARK(z, top);                                                                      \
        z *= gain;                                                                                 \
        for (uint left = (uint)correction[0]; left > 0; left--) {                                  \
            z -= read(across) * down[0] - read(across + columns) * down[rows];                     \
            across += 2 * (columns + rows);                                                        \
            down += 2 * (columns + rows);                                                          \
        }                                                                                          \
        if (top > 0)                                                                               \
            z = LIMIT(type, z, gain * top, low, high);                                             \
    }

#ifdef U_LENGTH /* the kernels are those of a transform */

#define CORRECTION_WAVES (CORRECTION_GAIN + (ROWS_FIRST ? V_LENGTH : U_LENGTH))
#define CORRECTION_STEP  (2 * (U_LENGTH + V_LENGTH))

/* The factors of a wave along V, for the samples of halves A and B. */
struct wave_factors {
#if STAGED
    cplx re, im;
#else
    real a_re, a_im, b_re, b_im;
#endif
};

static inline struct wave_factors wave_at(global const float *wave, uint v)
{
    global const float *re = wave + 2 * U_LENGTH + v, *im = re + V_LENGTH;
    struct wave_factors f;
#if STAGED
    f.re = (float4)(vload2(0, re), vload2(0, re + V_HALF)).xzyw;
    f.im = (float4)(vload2(0, im), vload2(0, im + V_HALF)).xzyw;
#else
    f.a_re = VLOAD(0, re);
    f.a_im = VLOAD(0, im);
    f.b_re = VLOAD(0, re + V_HALF);
    f.b_im = VLOAD(0, im + V_HALF);
#endif
    return f;
}

/* Subtracts the real part of the wave's factors times (re + i im). */
static inline cplx wave_subtract(cplx z, struct wave_factors f, float re, float im)
{
#if STAGED
    return z - f.re * re + f.im * im;
#else
    return c_make(z.re - f.a_re * re + f.a_im * im, z.im - f.b_re * re + f.b_im * im);
#endif
}

static inline samples_t mark(samples_t s, float top)
{
    return MARK(s, top);
}

static inline samples_t limit(samples_t s, samples_t top, float low, float high)
{
    return LIMIT(samples_t, s, top, low, high);
}

static inline cplx mark_legs(cplx z, float top)
{
#if STAGED
    return mark(z, top);
#else
    return c_make(mark(c_re(z), top), mark(c_im(z), top));
#endif
}

static inline cplx limit_legs(cplx z, cplx top, float low, float high)
{
#if STAGED
    return limit(z, top, low, high);
#else
    return c_make(limit(c_re(z), c_re(top), low, high), limit(c_im(z), c_im(top), low, high));
#endif
}

static inline cplx multiply_gain(cplx z, global const float *gain, uint u, uint v)
{
#if ROWS_FIRST
    return c_make(c_re(z) * gain[v], c_im(z) * gain[v + V_HALF]);
#else
    return c_scale(z, gain[u]);
#endif
}

/* Corrects the legs of a butterfly of stage 0, whose samples are at u, u + span, ... and at v. */
static inline void correct(cplx *x, uint radix, uint span, uint u, uint v,
                           global const float *correction)
{
    global const float *gain = correction + CORRECTION_GAIN;
    global const float *wave = correction + CORRECTION_WAVES;
    const float top = correction[CORRECTION_TOP] * (HALF_STORAGE ? LOAD_SCALE : 1);
    const bool is_limited = top > 0;
#pragma unroll
    for (uint j = 0; j < radix; j++)
        x[j] = multiply_gain(is_limited ? mark_legs(x[j], top) : x[j], gain, u + j * span, v);
    for (uint left = (uint)correction[0]; left > 0; left--, wave += CORRECTION_STEP) {
        const struct wave_factors f = wave_at(wave, v);
#pragma unroll
        for (uint j = 0; j < radix; j++) {
            const float re = wave[u + j * span], im = wave[U_LENGTH + u + j * span];
            x[j] = wave_subtract(x[j], f, HALF_STORAGE ? re * LOAD_SCALE : re,
                                 HALF_STORAGE ? im * LOAD_SCALE : im);
        }
    }
    if (!is_limited)
        return;
    const float low = correction[CORRECTION_LOW], high = correction[CORRECTION_HIGH];
#pragma unroll
    for (uint j = 0; j < radix; j++)
        x[j] =
            limit_legs(x[j], multiply_gain(c_make((real)(top), (real)(top)), gain, u + j * span, v),
                       low, high);
}

#endif

/* What kernels and functions have besides their other parameters, and what they pass on. Only
 * kernels have `restrict`: inlined functions with it use an intrinsic that oclgrind lacks. */
#define KERNEL_CORRECTION    , global const float *restrict correction
#define CORRECTION_PARAMETER , global const float *correction
#define CORRECTION_ARGUMENT  , correction

#else

#define KERNEL_CORRECTION
#define CORRECTION_PARAMETER
#define CORRECTION_ARGUMENT
#define CORRECT(type, z, x, y, read)

#endif
