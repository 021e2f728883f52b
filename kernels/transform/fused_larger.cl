/* Template, once for each stage along V of a larger transform, in order: stages 0 to this one of
 * the forward transform with which `middle` begins where it makes a smaller picture
 * (fused_kernels.cl). Constants: fused_stage.cl. Data and work-items: fused.cl, and larger: the
 * spectrum of the larger transform, as pack.cl describes it, LARGER_PITCH instead of
 *   SPECTRUM_PITCH, in panels of LARGER_LINES.
 *   origins: as pairs, with the places in that spectrum.
 *   crop[e]: where the frequency of element e of the larger transform is in a line of the smaller
 *   picture, or V_LENGTH if that lacks it.
 *
 * The last stage puts what remains into `work`, where the stages along V of the smaller picture
 * (fused_v.cl) begin. In a load (IS_LARGER) that completes lines for its results, it stores all of
 * them, in the order of `complete_at`. */

#if STAGE == 0
#if IS_LARGER
#define KEPT_PARAMETERS global stored *completed, local work_l_t *lines
#define KEPT            completed, lines
#else
#define KEPT_PARAMETERS global const ushort *crop, local work_l_t *lines, local work_v_t *work
#define KEPT            crop, lines, work
#endif
#endif

static inline void NAME(get_)(cplx *x, struct butterfly place, global const stored *larger,
                              struct pairs origins, local const work_l_t *lines)
{
#if STAGE == 0 && LANES == 1
    const uint pair = (uint)get_group_id(0) * V_LINES + place.line;
    const uint2 places = origins.places[min(pair, origins.count - 1)];
#pragma unroll
    for (uint j = 0; j < RADIX / 2; j++) {
        const uint across = place.element + j * SPAN;
        const cplx plus = c_load(larger, larger_at(places.x, across));
        const cplx minus = c_load(larger, larger_at(places.y, across));
        x[j] = line_a(plus, minus);
        x[j + RADIX / 2] = line_b(plus, minus);
    }
#else
#pragma unroll
    for (uint j = 0; j < RADIX; j++)
        NAME(get_leg_)(x, j, lines, place);
#endif
}

static inline void NAME(forward_one_)(cplx *x, uint item, global const stored *larger,
                                      struct pairs origins, global const float2 *twiddle,
                                      KEPT_PARAMETERS)
{
    const struct butterfly place = NAME(butterfly_)(item);
    NAME(get_)(x, place, larger, origins, lines);
    DFT(x);
#pragma unroll
    for (uint j = 0; j < RADIX; j++) {
#if IS_LAST && IS_LARGER
        c_store(x[j], completed,
                complete_at((uint)get_group_id(0) * V_LINES + place.line, place.element + j));
#elif IS_LAST
        const uint e = crop[place.element + j];
        if (e < V_LENGTH)
            work_put(work, skewed(e, V_UNIT) * V_LINES + place.line, x[j]);
#else
        x[j] = NAME(turn_)(x[j], j, twiddle, place);
        NAME(put_leg_)(x, j, lines, place);
#endif
    }
}

/* Computes stages 0 to this one. */
static inline void NAME(forward_to_)(cplx *held, global const stored *larger, struct pairs origins,
                                     global const float2 *twiddle, KEPT_PARAMETERS)
{
#if STAGE > 0
    NAME_PREVIOUS(forward_to_)(held, larger, origins, twiddle, KEPT);
    NAME(pass_to_)(held, lines);
#endif
    EACH_ITEM(NAME(forward_one_)(x, item, larger, origins, twiddle, KEPT))
}
