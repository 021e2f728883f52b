/* Corrections of captured samples (daemon/filters/correction.h), in the load of the first dispatch:
 *     corrected(x, y) = (captured(x, y) - sum of the waves at (x, y)) * row_gain[y]
 * Kernels without CORRECTIONS have nothing of this. Noise is reduced in samples that are corrected
 * already, so the load of a denoiser does it instead (denoise_first.cl).
 *
 * The host computes the factors for each place along U and along V of the padded image
 * (daemon/engine/corrector.c), so that the border repeats corrected samples. A wave at (u, v) is
 * the real part of the product of two complex factors, one of them with its amplitude and the gain.
 *
 * Data, in floats from the beginning of `correction`:
 *     0                                          number of waves
 *     1, 2                                       places along x and along y, U_LENGTH and V_LENGTH
 *     3, 4                                       where a wave has its factors along x and along y
 *     CORRECTION_GAIN                            a gain for each place along y
 *     CORRECTION_WAVES + w CORRECTION_STEP       wave w: U_LENGTH real parts along U and as many
 *                                                imaginary ones, then V_LENGTH of each along V
 * Work-items: as those of the kernels that load (fused.cl, staged.cl). All legs of a butterfly are
 * corrected together after they were loaded: their factors along V are the same, and a loop in
 * each load would keep the compiler from unrolling the loads. */

#if CORRECTIONS

#define CORRECTION_GAIN  16
#define CORRECTION_WAVES (CORRECTION_GAIN + (ROWS_FIRST ? V_LENGTH : U_LENGTH))
#define CORRECTION_STEP  (2 * (U_LENGTH + V_LENGTH))

#if !DIRECT /* direct.cl has its own */

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
#elif LANES == 1
    f.a_re = re[0];
    f.a_im = im[0];
    f.b_re = re[V_HALF];
    f.b_im = im[V_HALF];
#else
    f.a_re = PASTE(vload, LANES)(0, re);
    f.a_im = PASTE(vload, LANES)(0, im);
    f.b_re = PASTE(vload, LANES)(0, re + V_HALF);
    f.b_im = PASTE(vload, LANES)(0, im + V_HALF);
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

/* Corrects the legs of a butterfly of stage 0, whose samples are at u, u + span, ... and at v. */
static inline void correct(cplx *x, uint radix, uint span, uint u, uint v,
                           global const float *correction)
{
    global const float *gain = correction + CORRECTION_GAIN;
    global const float *wave = correction + CORRECTION_WAVES;
#pragma unroll
    for (uint j = 0; j < radix; j++)
#if ROWS_FIRST
        x[j] = c_make(c_re(x[j]) * gain[v], c_im(x[j]) * gain[v + V_HALF]);
#else
        x[j] = c_scale(x[j], gain[u + j * span]);
#endif
    for (uint left = (uint)correction[0]; left > 0; left--, wave += CORRECTION_STEP) {
        const struct wave_factors f = wave_at(wave, v);
#pragma unroll
        for (uint j = 0; j < radix; j++) {
            const float re = wave[u + j * span], im = wave[U_LENGTH + u + j * span];
            x[j] = wave_subtract(x[j], f, HALF_STORAGE ? re * LOAD_SCALE : re,
                                 HALF_STORAGE ? im * LOAD_SCALE : im);
        }
    }
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

#endif
