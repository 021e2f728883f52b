/* Template, once for each stage along V in order: stages 0 to this one of `middle`, and back to 0
 * (fused_kernels.cl). Constants: fused_stage.cl. Data and work-items: fused.cl.
 *
 * Stage 0 of the forward transform separates the pairs of lines, and stage 0 of the inverse
 * combines them again. With one lane this happens between the spectrum and registers; with several
 * lanes fused_lanes.cl does it. The last forward stage and the first inverse stage have the same
 * legs, and the product with H is between them. In a smaller picture (IS_SMALLER) the forward
 * stages are those of fused_larger.cl, and the product with H comes first. */

#if STAGE == 0 && LANES == 1
#if !IS_SMALLER

/* The radix of stage 0 is even. Its lower legs are in line A and its upper ones in line B, and both
 * are computed from the same two elements. The last group may have more pairs than remain: the
 * excess pairs are zero. They cannot repeat the last pair, because another item may be writing it.
 */
static inline void load_pair(cplx *x, struct butterfly place, global const stored *spectrum,
                             struct pairs pairs)
{
    const uint pair = (uint)get_group_id(0) * V_LINES + place.line;
    const uint2 places = pairs.places[min(pair, pairs.count - 1)];
#pragma unroll
    for (uint j = 0; j < RADIX / 2; j++) {
        cplx plus = c_make(0, 0), minus = c_make(0, 0);
        if (pair < pairs.count) {
            plus = c_load(spectrum, spectrum_at(places.x, place.element + j * SPAN));
            minus = c_load(spectrum, spectrum_at(places.y, place.element + j * SPAN));
        }
        x[j] = line_a(plus, minus);
        x[j + RADIX / 2] = line_b(plus, minus);
    }
}
#endif

static inline void store_pair(const cplx *x, struct butterfly place, global stored *spectrum,
                              struct pairs pairs)
{
    const uint pair = (uint)get_group_id(0) * V_LINES + place.line;
    const uint2 places = pairs.places[min(pair, pairs.count - 1)];
#pragma unroll
    for (uint j = 0; j < RADIX / 2; j++) {
        if (pair < pairs.count) {
            const cplx a = c_swap(x[j]), b = c_swap(x[j + RADIX / 2]);
            c_store(c_swap(line_plus(a, b)), spectrum,
                    spectrum_at(places.x, place.element + j * SPAN));
            if (places.y != places.x)
                c_store(c_swap(line_minus(a, b)), spectrum,
                        spectrum_at(places.y, place.element + j * SPAN));
        }
    }
}

#endif

static inline void NAME(get_)(cplx *x, struct butterfly place, global const stored *spectrum,
                              struct pairs pairs, local const work_v_t *work)
{
#if STAGE == 0 && LANES == 1 && !IS_SMALLER
    load_pair(x, place, spectrum, pairs);
#else
#pragma unroll
    for (uint j = 0; j < RADIX; j++)
        NAME(get_leg_)(x, j, work, place);
#endif
}

static inline void NAME(put_)(const cplx *x, struct butterfly place, global stored *spectrum,
                              struct pairs pairs, local work_v_t *work)
{
#if STAGE == 0 && LANES == 1
    store_pair(x, place, spectrum, pairs);
#else
#pragma unroll
    for (uint j = 0; j < RADIX; j++)
        NAME(put_leg_)(x, j, work, place);
#endif
}

#if IS_LAST

/* Returns the index of H for leg `leg` of a butterfly. */
static inline uint NAME(response_)(struct butterfly place, uint leg)
{
    const uint group = (uint)get_group_id(0);
#if LANES > 1
    return min(group * V_LINES + place.line, (uint)(PAIRS - 1) / LANES) * V_LENGTH + place.element +
           leg;
#elif ROWS_FIRST
    return (group * V_LENGTH + leg * BUTTERFLIES + place.number) * V_LINES + place.line;
#else
    return min(group * V_LINES + place.line, (uint)PAIRS - 1) * V_LENGTH + leg * BUTTERFLIES +
           place.number;
#endif
}

/* Returns whether the butterfly is one of the pairs, and not of those beyond the last one. */
static inline bool NAME(is_own_)(struct butterfly place)
{
    return (uint)get_group_id(0) * V_LINES + place.line <= (uint)(PAIRS - 1) / LANES;
}

/* Multiplies by H and transforms back. */
static inline void NAME(weigh_)(cplx *x, struct butterfly place, global stored *spectrum,
                                struct pairs pairs, weights response, local work_v_t *work)
{
#pragma unroll
    for (uint j = 0; j < RADIX; j++) {
        const uint at = NAME(response_)(place, j);
        const cplx y = product(x[j], response, at);
        view_observe(response, at, NAME(is_own_)(place), x[j], y);
        x[j] = c_swap(y);
    }
    DFT(x);
    NAME(put_)(x, place, spectrum, pairs, work);
}

/* Transforms forward, multiplies by H and transforms back. */
static inline void NAME(forward_one_)(cplx *x, uint item, global stored *spectrum,
                                      global const stored *from, struct pairs pairs,
                                      weights response, global const float2 *twiddle,
                                      local work_v_t *work)
{
    const struct butterfly place = NAME(butterfly_)(item);
    NAME(get_)(x, place, from, pairs, work);
#if !IS_SMALLER
    DFT(x);
#endif
    NAME(weigh_)(x, place, spectrum, pairs, response, work);
}

#else

static inline void NAME(forward_one_)(cplx *x, uint item, global stored *spectrum,
                                      global const stored *from, struct pairs pairs,
                                      weights response, global const float2 *twiddle,
                                      local work_v_t *work)
{
    const struct butterfly place = NAME(butterfly_)(item);
    NAME(get_)(x, place, from, pairs, work);
    DFT(x);
#pragma unroll
    for (uint j = 0; j < RADIX; j++)
        x[j] = NAME(turn_)(x[j], j, twiddle, place);
#pragma unroll
    for (uint j = 0; j < RADIX; j++)
        NAME(put_leg_)(x, j, work, place);
}

static inline void NAME(inverse_one_)(cplx *x, uint item, global stored *spectrum,
                                      struct pairs pairs, global const float2 *twiddle,
                                      local work_v_t *work)
{
    const struct butterfly place = NAME(butterfly_)(item);
#pragma unroll
    for (uint j = 0; j < RADIX; j++)
        NAME(get_leg_)(x, j, work, place);
#pragma unroll
    for (uint j = 0; j < RADIX; j++)
        x[j] = NAME(turn_)(x[j], j, twiddle, place);
    DFT(x);
    NAME(put_)(x, place, spectrum, pairs, work);
}

#endif

/* Computes stages 0 to this one, of the lines in `from`. The last stage includes the product with H
 * and its own inverse. */
static inline void NAME(forward_to_)(cplx *held, global stored *spectrum, global const stored *from,
                                     struct pairs pairs, weights response,
                                     global const float2 *twiddle, local work_v_t *work)
{
#if STAGE > 0 && !IS_SMALLER
    NAME_PREVIOUS(forward_to_)(held, spectrum, from, pairs, response, twiddle, work);
    NAME(pass_to_)(held, work);
#endif
    EACH_ITEM(NAME(forward_one_)(x, item, spectrum, from, pairs, response, twiddle, work))
}

/* Computes the inverse of the stages from this one to 0, except the last stage, whose forward
 * function includes it. */
static inline void NAME(inverse_from_)(cplx *held, global stored *spectrum, struct pairs pairs,
                                       global const float2 *twiddle, local work_v_t *work)
{
#if !IS_LAST
    EACH_ITEM(NAME(inverse_one_)(x, item, spectrum, pairs, twiddle, work))
#endif
#if STAGE > 0
    NAME(pass_back_)(held, work);
    NAME_PREVIOUS(inverse_from_)(held, spectrum, pairs, twiddle, work);
#endif
}
