/* The curve of the samples (daemon/core/curve.h): the load of the first dispatch applies it
 * after corrections (correct.cl), and the store of the last one undoes it. Kernels without
 * HAS_CURVE have nothing of this. The store also makes samples black and white (BINARISES).
 *
 * Data: samples in their own units, 0 .. SAMPLE_MAX; of RGB, the luma. Beyond that range they count
 * as its nearest end. Results are in units of their own, 0 .. RESULT_MAX. CURVE_LOG: CURVE_SCALE *
 * ln(1 + sample). CURVE_POWER: sample * CURVE_SLOPE up to CURVE_CUT, which the curve maps to
 * CURVE_CUT_AT; above it a power, whose constants are scaled to the range of the samples.
 * Work-items: as those of the kernels that load and store (fused.cl, staged.cl). */

#define HAS_CURVE (CURVE_LOG || CURVE_POWER)

#if STAGED
typedef cplx samples_t; /* four samples */
#else
typedef real samples_t;
#endif

#if HAS_CURVE

static inline samples_t curve_of(samples_t sample)
{
    const samples_t s = clamp(sample, 0.0f, (float)SAMPLE_MAX);
#if CURVE_LOG
    return CURVE_SCALE * log1p(s);
#else
    const samples_t power = (float)SAMPLE_MAX * powr(s * CURVE_DECODE_SCALE + CURVE_DECODE_OFFSET,
                                                     (samples_t)CURVE_EXPONENT);
    return select(power, s * CURVE_SLOPE, s <= CURVE_CUT);
#endif
}

/* Applies the curve to the legs of a butterfly of stage 0. In half precision
 * loaded samples are scaled, which is undone in between. */
static inline void curve_apply(cplx *x, uint radix)
{
#pragma unroll
    for (uint j = 0; j < radix; j++) {
        const cplx z = HALF_STORAGE ? c_scale(x[j], 1 / LOAD_SCALE) : x[j];
#if STAGED
        const cplx bent = curve_of(z);
#else
        const cplx bent = c_make(curve_of(c_re(z)), curve_of(c_im(z)));
#endif
        x[j] = HALF_STORAGE ? c_scale(bent, LOAD_SCALE) : bent;
    }
}

static inline samples_t curve_undo(samples_t value)
{
    const samples_t v = clamp(value, 0.0f, (float)SAMPLE_MAX);
#if CURVE_LOG
    return expm1(v * (1 / CURVE_SCALE));
#else
    const samples_t root =
        powr(v * (1.0f / SAMPLE_MAX), (samples_t)(1 / CURVE_EXPONENT)) * CURVE_ENCODE_SCALE -
        CURVE_ENCODE_OFFSET;
    return select(root, v * (1 / CURVE_SLOPE), v <= CURVE_CUT_AT);
#endif
}

#else

#define curve_undo(value) (value)

#endif

/* What is stored of a filtered value: a sample of the result, or with BINARISES black or white. */
static inline samples_t to_result(samples_t value)
{
    const samples_t sample = curve_undo(value);
#if BINARISES
    return sample >= WHITE_FROM ? (samples_t)(RESULT_MAX) : (samples_t)(0.0f);
#elif DEEP_RESULT
    return sample * RESULT_SCALE;
#else
    return sample;
#endif
}
