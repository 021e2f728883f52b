/* Template, once for each stage of an axis of a tile in order: that stage along the columns of a
 * panel and along a row, forward and back (tiles_lanes.cl). Constants: those of stage.cl, and
 * TWIDDLE_COUNT. Data and work-items: tiles.cl.
 *
 * Lanes are columns. Along columns all lanes share a twiddle factor. Along rows the spans of all
 * stages but the last are multiples of LANES, so a butterfly is one of groups of lanes, and each
 * lane has its own factor. */

/* Multiplies leg `leg` of a butterfly along columns. */
static inline cplx NAME(column_turn_)(cplx x, uint leg, global const float *twiddle, uint p)
{
#if SPAN > 1
    const uint at = TWIDDLES + (leg - 1) * SPAN + p;
    if (leg > 0)
        x = c_twiddle(x, (float2)(twiddle[at], twiddle[TWIDDLE_COUNT + at]));
#endif
    return x;
}

/* Computes this stage along the columns of a panel. */
static inline void NAME(column_forward_)(const struct pair *pair, global const float *twiddle,
                                         local real *panel, uint v)
{
    for (uint number = 0; number < BUTTERFLIES; number++) {
        const uint first = first_element(number, RADIX, SPAN), p = number % SPAN;
        cplx x[RADIX];
#pragma unroll
        for (uint j = 0; j < RADIX; j++) {
#if STAGE == 0
            x[j] = pair_load(pair, first + j * SPAN, v);
#else
            x[j] = work_get(panel, first + j * SPAN);
#endif
        }
        DFT(x);
#pragma unroll
        for (uint j = 0; j < RADIX; j++) {
            x[j] = NAME(column_turn_)(x[j], j, twiddle, p);
            work_put(panel, first + j * SPAN, x[j]);
        }
    }
}

static inline void NAME(column_inverse_)(global uchar *result, const struct pair *pair,
                                         global const float *twiddle, local real *panel, uint v)
{
    for (uint number = 0; number < BUTTERFLIES; number++) {
        const uint first = first_element(number, RADIX, SPAN), p = number % SPAN;
        cplx x[RADIX];
#pragma unroll
        for (uint j = 0; j < RADIX; j++) {
            x[j] = work_get(panel, first + j * SPAN);
            x[j] = NAME(column_turn_)(x[j], j, twiddle, p);
        }
        DFT(x);
#pragma unroll
        for (uint j = 0; j < RADIX; j++) {
#if STAGE == 0
            pair_store(result, pair, first + j * SPAN, v, x[j]);
#else
            work_put(panel, first + j * SPAN, x[j]);
#endif
        }
    }
}

#if !IS_LAST

#define GROUP_SPAN (SPAN / LANES)

static inline cplx NAME(row_turn_)(cplx x, uint leg, global const float *twiddle, uint p)
{
    global const float *at = twiddle + TWIDDLES + (leg - 1) * SPAN + p;
    return leg > 0 ? c_multiply(x, VLOAD(0, at), VLOAD(0, at + TWIDDLE_COUNT)) : x;
}

/* Computes this stage along a row. */
static inline void NAME(row_forward_)(local real *row, global const float *twiddle)
{
    for (uint number = 0; number < BUTTERFLIES / LANES; number++) {
        const uint first = first_element(number, RADIX, GROUP_SPAN);
        const uint p = number % GROUP_SPAN * LANES;
        cplx x[RADIX];
#pragma unroll
        for (uint j = 0; j < RADIX; j++)
            x[j] = work_get(row, (first + j * GROUP_SPAN) * PANEL);
        DFT(x);
#pragma unroll
        for (uint j = 0; j < RADIX; j++) {
            x[j] = NAME(row_turn_)(x[j], j, twiddle, p);
            work_put(row, (first + j * GROUP_SPAN) * PANEL, x[j]);
        }
    }
}

static inline void NAME(row_inverse_)(local real *row, global const float *twiddle)
{
    for (uint number = 0; number < BUTTERFLIES / LANES; number++) {
        const uint first = first_element(number, RADIX, GROUP_SPAN);
        const uint p = number % GROUP_SPAN * LANES;
        cplx x[RADIX];
#pragma unroll
        for (uint j = 0; j < RADIX; j++) {
            x[j] = work_get(row, (first + j * GROUP_SPAN) * PANEL);
            x[j] = NAME(row_turn_)(x[j], j, twiddle, p);
        }
        DFT(x);
#pragma unroll
        for (uint j = 0; j < RADIX; j++)
            work_put(row, (first + j * GROUP_SPAN) * PANEL, x[j]);
    }
}

#undef GROUP_SPAN

#endif

/* Compute stages 0 to this one, and from this one to 0. */

static inline void NAME(columns_to_)(const struct pair *pair, global const float *twiddle,
                                     local real *panel, uint v)
{
#if STAGE > 0
    NAME_PREVIOUS(columns_to_)(pair, twiddle, panel, v);
#endif
    NAME(column_forward_)(pair, twiddle, panel, v);
}

static inline void NAME(columns_from_)(global uchar *result, const struct pair *pair,
                                       global const float *twiddle, local real *panel, uint v)
{
    NAME(column_inverse_)(result, pair, twiddle, panel, v);
#if STAGE > 0
    NAME_PREVIOUS(columns_from_)(result, pair, twiddle, panel, v);
#endif
}

#if !IS_LAST

static inline void NAME(row_to_)(local real *row, global const float *twiddle)
{
#if STAGE > 0
    NAME_PREVIOUS(row_to_)(row, twiddle);
#endif
    NAME(row_forward_)(row, twiddle);
}

static inline void NAME(row_from_)(local real *row, global const float *twiddle)
{
    NAME(row_inverse_)(row, twiddle);
#if STAGE > 0
    NAME_PREVIOUS(row_from_)(row, twiddle);
#endif
}

#endif
