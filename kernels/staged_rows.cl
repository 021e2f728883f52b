/* Template, once for each stage along rows: one butterfly.
 *
 * Constants: AXIS (v_), STAGE, RADIX, SPAN, TWIDDLES (the index of the stage's first factor in the
 * table), BUTTERFLIES (of a line), and IS_LAST (this is the last stage). `block` and `p` are those
 * of stage.cl. Data and work-items: staged.cl. The kernels of staged_rows_pass.cl call these
 * functions. */

#if STAGE == 0

/* The radix of stage 0 is even. Its lower legs are in line A and its upper ones in line B, and both
 * are computed from the same two elements. */
static inline void load_pair(cplx *x, uint4 places, uint e, global const stored *spectrum)
{
#pragma unroll
    for (uint j = 0; j < RADIX / 2; j++) {
        const cplx plus = c_load(spectrum, spectrum_at(places.x, e + j * SPAN));
        const cplx minus = c_load(spectrum, spectrum_at(places.y, e + j * SPAN));
        x[j] = line_a(plus, minus);
        x[j + RADIX / 2] = line_b(plus, minus);
    }
}

static inline void store_pair(const cplx *x, uint4 places, uint e, global stored *spectrum)
{
#pragma unroll
    for (uint j = 0; j < RADIX / 2; j++) {
        const cplx a = c_swap(x[j]), b = c_swap(x[j + RADIX / 2]);
        c_store(c_swap(line_plus(a, b)), spectrum, spectrum_at(places.x, e + j * SPAN));
        if (places.y != places.x)
            c_store(c_swap(line_minus(a, b)), spectrum, spectrum_at(places.y, e + j * SPAN));
    }
}

#endif

/* Returns the index in the spectrum of leg `leg` of the butterfly that begins at element e. Stage 0
 * has half of its legs in each of the two rows; a butterfly of any other stage is in one row. */
static inline uint NAME(leg_)(uint4 places, uint e, uint leg)
{
    const struct rows rows = rows_of(places);
#if STAGE == 0
    const bool is_in_a = 2 * leg < RADIX;
#else
    const bool is_in_a = e < V_HALF;
#endif
    return (is_in_a ? rows.a : rows.b) + e + leg * SPAN;
}

static inline void NAME(get_)(cplx *x, uint4 places, uint e, global const stored *spectrum)
{
#if STAGE == 0
    load_pair(x, places, e, spectrum);
#else
#pragma unroll
    for (uint j = 0; j < RADIX; j++)
        x[j] = c_load(spectrum, NAME(leg_)(places, e, j));
#endif
}

static inline void NAME(put_)(const cplx *x, uint4 places, uint e, global stored *spectrum)
{
#if STAGE == 0
    store_pair(x, places, e, spectrum);
#else
#pragma unroll
    for (uint j = 0; j < RADIX; j++)
        c_store(x[j], spectrum, NAME(leg_)(places, e, j));
#endif
}

/* In half precision each stage divides its sums by their number, so that none of them overflows. */
static inline void NAME(forward_one_)(uint block, uint p, uint4 places, global stored *spectrum,
                                      global const float2 *twiddle)
{
    const uint e = block * (RADIX * SPAN) + p;
    cplx x[RADIX];
    NAME(get_)(x, places, e, spectrum);
    DFT(x);
#pragma unroll
    for (uint j = 0; j < RADIX; j++)
        x[j] = stage_turn(x[j], twiddle, j, RADIX, SPAN, TWIDDLES, p);
#pragma unroll
    for (uint j = 0; j < RADIX; j++)
        c_store(HALF_STORAGE ? c_scale(x[j], 1.0f / RADIX) : x[j], spectrum,
                NAME(leg_)(places, e, j));
}

static inline void NAME(inverse_one_)(uint block, uint p, uint4 places, global stored *spectrum,
                                      global const float2 *twiddle)
{
    const uint e = block * (RADIX * SPAN) + p;
    cplx x[RADIX];
#pragma unroll
    for (uint j = 0; j < RADIX; j++)
        x[j] = c_load(spectrum, NAME(leg_)(places, e, j));
#pragma unroll
    for (uint j = 0; j < RADIX; j++)
        x[j] = stage_turn(x[j], twiddle, j, RADIX, SPAN, TWIDDLES, p);
    DFT(x);
    NAME(put_)(x, places, e, spectrum);
}

#if IS_LAST

/* Transforms forward, multiplies by H and transforms back. */
static inline void middle_one(uint block, uint p, uint pair, uint4 places, global stored *spectrum,
                              global const stored *response)
{
    const uint e = block * (RADIX * SPAN) + p, number = block * SPAN + p;
    cplx x[RADIX];
    NAME(get_)(x, places, e, spectrum);
    DFT(x);
#pragma unroll
    for (uint j = 0; j < RADIX; j++) {
        const real h = response_load(response, pair * V_LENGTH + j * BUTTERFLIES + number);
        x[j] = c_swap(c_weigh(x[j], HALF_STORAGE ? h * PRODUCT_SCALE : h));
    }
    DFT(x);
    NAME(put_)(x, places, e, spectrum);
}

#endif
