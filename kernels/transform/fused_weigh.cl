/* Follows the last stage along V, if COMPLETES: the kernel of a load that completes lines
 * (fused_larger.cl), or how a result of the captured size begins with them (fused_v.cl). Constants:
 * fused_stage.cl. Data and work-items: fused.cl. Launched by transform_frame_enqueue
 * (daemon/transform/frame.c). */

#if IS_LARGER

kernel __attribute__((reqd_work_group_size(V_GROUP, 1, 1))) void
complete(global const stored *restrict spectrum, global const uint2 *restrict places, uint count,
         global const float2 *restrict twiddle, global stored *restrict lines_of_results,
         local work_l_t *lines)
{
    const struct pairs pairs = {places, count};
    cplx held[L_LEGS_HELD];
    spectrum += spectrum_offset();
    lines_load(spectrum, pairs, lines);
    NAME(forward_to_)
    (held, spectrum, pairs, twiddle, lines_of_results + complete_offset(), lines);
}

#elif !IS_SMALLER

static inline void NAME(weigh_one_)(cplx *x, uint item, global stored *spectrum,
                                    global const stored *completed, struct pairs pairs,
                                    weights response, local work_v_t *work)
{
    const struct butterfly place = NAME(butterfly_)(item);
    const uint line = (uint)get_group_id(0) * V_LINES + place.line;
#pragma unroll
    for (uint j = 0; j < RADIX; j++)
        x[j] = c_load(completed, complete_at(line, place.element + j));
    NAME(weigh_)(x, place, spectrum, pairs, response, work);
}

/* Instead of forward_to_, of lines that the load has completed. */
static inline void NAME(weigh_completed_)(cplx *held, global stored *spectrum,
                                          global const stored *completed, struct pairs pairs,
                                          weights response, local work_v_t *work)
{
    EACH_ITEM(NAME(weigh_one_)(x, item, spectrum, completed, pairs, response, work))
}

#endif
