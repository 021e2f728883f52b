/* Template, once for each stage of both axes: one butterfly of each of two lines side by side.
 *
 * Constants: AXIS (u_: down columns, in the spectrum; v_: along rows, in the transposed lines),
 * ALONG_V, STAGE, RADIX, SPAN, TWIDDLES (the index of the stage's first factor in the
 * table), IS_LAST (its span is 1). `e` is the butterfly's first element and p its place in the
 * block (stage.cl); `across` counts pairs of lines. Data and work-items: staged.cl. The kernels of
 * staged_dispatch.cl call these functions. */

#if ALONG_V
#define DATA lines
#else
#define DATA spectrum
#endif

#define STEP (SPAN * NUMBER_BYTES) /* between legs in a row of the spectrum */

static inline void NAME(get_)(cplx *x, const struct frame *frame, uint e, uint across, uint at)
{
#if STAGE == 0 && ALONG_V
    /* The radix is even: the lower legs are in half A of the line, the upper ones in half B. */
    const uint4 row = pairs_at(frame, across) + e * NUMBER_BYTES;
#pragma unroll
    for (uint j = 0; j < RADIX / 2; j++) {
        const cplx plus = c_load_two(frame->spectrum, row.x + j * STEP, row.z + j * STEP);
        const cplx minus = c_load_two(frame->spectrum, row.y + j * STEP, row.w + j * STEP);
        x[j] = line_a(plus, minus);
        x[j + RADIX / 2] = line_b(plus, minus);
    }
#elif STAGE == 0
#pragma unroll
    for (uint j = 0; j < RADIX; j++)
        x[j] = image_load(frame, across * LANES, e + j * SPAN, is_leg_inside(j, SPAN));
#if CORRECTIONS
    correct(x, RADIX, SPAN, e, across * LANES, frame->correction);
#endif
#if HAS_CURVE
    curve_apply(x, RADIX);
#endif
#else
#pragma unroll
    for (uint j = 0; j < RADIX; j++)
        x[j] = c_load(frame->DATA, at + j * (SPAN * ROW));
#endif
}

/* The counterpart of get_: stores the results of the inverse where get_ loads from. */
static inline void NAME(set_)(const cplx *x, const struct frame *frame, uint e, uint across,
                              uint at)
{
#if STAGE == 0 && ALONG_V
    const uint4 row = pairs_at(frame, across) + e * NUMBER_BYTES;
#pragma unroll
    for (uint j = 0; j < RADIX / 2; j++) {
        const cplx a = c_swap(x[j]), b = c_swap(x[j + RADIX / 2]);
        c_store_two(c_swap(line_plus(a, b)), frame->spectrum, row.x + j * STEP, row.z + j * STEP);
        c_store_two(c_swap(line_minus(a, b)), frame->spectrum, row.y + j * STEP, row.w + j * STEP);
    }
#elif STAGE == 0
    /* Half B last, because only it meets the border: one branch for all legs. */
    finished y[RADIX];
    const uint a = across * LANES, b = a + V_HALF;
#pragma unroll
    for (uint j = 0; j < RADIX; j++)
        y[j] = finish(x[j]);
#pragma unroll
    for (uint j = 0; j < RADIX; j++)
        if (is_inside(e + j * SPAN, IMAGE_HEIGHT, is_leg_inside(j, SPAN)) &&
            is_inside(a, IMAGE_WIDTH, A_IS_INSIDE))
            image_store(frame, a, A_IS_INSIDE, e + j * SPAN, half_a(y[j]));
    if (!is_inside(b, IMAGE_WIDTH, B_IS_INSIDE))
        return;
#pragma unroll
    for (uint j = 0; j < RADIX; j++)
        if (is_inside(e + j * SPAN, IMAGE_HEIGHT, is_leg_inside(j, SPAN)))
            image_store(frame, b, B_IS_INSIDE, e + j * SPAN, half_b(y[j]));
#else
#pragma unroll
    for (uint j = 0; j < RADIX; j++)
        c_store(x[j], frame->DATA, at + j * (SPAN * ROW));
#endif
}

#if !(ALONG_V && IS_LAST)

/* In half precision each forward stage along V divides by its radix, so that no sum overflows. The
 * last one does so in PRODUCT_SCALE. */
static inline void NAME(forward_one_)(const struct frame *frame, uint e, uint p, uint across,
                                      uint at)
{
    cplx x[RADIX];
    float2 factor[RADIX];
    NAME(get_)(x, frame, e, across, at);
    if (SPAN > 1)
        stage_factors(factor, frame->DATA, FACTOR_AT(TWIDDLES + p), RADIX);
    DFT(x);
#pragma unroll
    for (uint j = 0; j < RADIX; j++) {
        const cplx y = SPAN > 1 && j > 0 ? c_twiddle(x[j], factor[j]) : x[j];
        c_store(HALF_STORAGE && ALONG_V ? c_scale(y, 1.0f / RADIX) : y, frame->DATA,
                at + j * (SPAN * ROW));
    }
}

/* Legs outside the band are loaded from the zeros, because on small GPUs another address takes
 * fewer instructions than a branch for each leg. */
static inline void NAME(inverse_one_)(const struct frame *frame, uint e, uint p, uint across,
                                      uint at)
{
    cplx x[RADIX];
    float2 factor[RADIX];
#if IS_LAST
    const uint frequency = frequency_at(frame, e);
#endif
#pragma unroll
    for (uint j = 0; j < RADIX; j++) {
        uint from = at + j * (SPAN * ROW);
#if IS_LAST
        if (!is_in_band(frequency + j * (U_LENGTH / RADIX), frame->band))
            from = ZEROS_AT;
#endif
        x[j] = c_load(frame->DATA, from);
    }
    if (SPAN > 1)
        stage_factors(factor, frame->DATA, FACTOR_AT(TWIDDLES + p), RADIX);
#pragma unroll
    for (uint j = 1; j < RADIX; j++)
        if (SPAN > 1)
            x[j] = c_twiddle(x[j], factor[j]);
    DFT(x);
    NAME(set_)(x, frame, e, across, at);
}

#else

/* Transforms forward, multiplies by H and transforms back. */
static inline void NAME(middle_one_)(const struct frame *frame, uint e, uint p, uint across,
                                     uint at)
{
    cplx x[RADIX];
    NAME(get_)(x, frame, e, across, at);
    DFT(x);
#pragma unroll
    for (uint j = 0; j < RADIX; j++) {
        const cplx y = product(x[j], frame->response, at / 2 + j * (ROW / 2));
        view_observe(frame->response, at / 2 + j * (ROW / 2), true, x[j], y);
        x[j] = c_swap(y);
    }
    DFT(x);
    NAME(set_)(x, frame, e, across, at);
}

#endif

#undef DATA
#undef STEP
