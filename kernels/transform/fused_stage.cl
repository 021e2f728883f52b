/* Template, once for each stage of both axes: the positions of its butterflies, and the transfer of
 * their legs to the next stage. `forward`, `middle` and `inverse` use it (fused_kernels.cl).
 *
 * Constants: AXIS (u_ or v_), STAGE, PREVIOUS (STAGE - 1), LENGTH of the axis, RADIX, SPAN,
 * TWIDDLES (where the stage's factors begin in the table), UNIT (the last stage's radix), GROUP
 * (work-items), LINES, HELD, IS_LAST (the last stage), BUTTERFLIES (of a line), ITEMS (butterflies
 * of all lines) and ROUNDS (of the group through them).
 *
 * In place (HELD 0): a stage reads its butterflies from `work` one after another, and writes each
 * back to the same place.
 *
 * Held (HELD 1, LANES 1): all butterflies of a stage stay in registers. An item has ROUNDS of them
 * in `held`, RADIX legs each. `work` only passes legs to the items that need them next, first the
 * real parts and then the imaginary ones. This halves the local memory, so twice as many columns
 * fit into it, or more groups run on a core. An item writes legs only to places that it alone has
 * read before, which saves one of four barriers. */

static inline struct butterfly NAME(butterfly_)(uint item)
{
    struct butterfly place;
    place.line = item % LINES;
    place.number = item / LINES;
    place.turn = place.number % SPAN;
    place.element = first_element(place.number, RADIX, SPAN);
    place.at = skewed(place.element, UNIT) * LINES + place.line;
    return place;
}

static inline void NAME(get_leg_)(cplx *x, uint leg,
                                  local const PASTE(work_, PASTE(AXIS, t)) * work,
                                  struct butterfly place)
{
#if !HELD
    x[leg] = work_get(work, place.at + leg * (leg_distance(SPAN, UNIT) * LINES));
#endif
}

static inline void NAME(put_leg_)(const cplx *x, uint leg,
                                  local PASTE(work_, PASTE(AXIS, t)) * work, struct butterfly place)
{
#if !HELD
    work_put(work, place.at + leg * (leg_distance(SPAN, UNIT) * LINES), x[leg]);
#endif
}

static inline cplx NAME(turn_)(cplx x, uint leg, global const float2 *twiddle,
                               struct butterfly place)
{
    return stage_turn(x, twiddle, leg, RADIX, SPAN, TWIDDLES, place.turn);
}

#if HELD

/* Transfer one part of all legs of an item, real or imaginary, between registers and local memory.
 */
static inline void NAME(put_parts_)(const cplx *held, local float *work, bool imaginary)
{
#pragma unroll
    for (uint round = 0; round < ROUNDS; round++) {
        const uint item = get_local_id(0) + round * GROUP;
        if (ITEMS % GROUP != 0 && item >= ITEMS)
            continue;
        const uint at = NAME(butterfly_)(item).at;
#pragma unroll
        for (uint j = 0; j < RADIX; j++) {
            const cplx x = held[round * RADIX + j];
            work[at + j * (leg_distance(SPAN, UNIT) * LINES)] = imaginary ? x.im : x.re;
        }
    }
}

static inline void NAME(get_parts_)(cplx *held, local const float *work, bool imaginary)
{
#pragma unroll
    for (uint round = 0; round < ROUNDS; round++) {
        const uint item = get_local_id(0) + round * GROUP;
        if (ITEMS % GROUP != 0 && item >= ITEMS)
            continue;
        const uint at = NAME(butterfly_)(item).at;
#pragma unroll
        for (uint j = 0; j < RADIX; j++) {
            const float part = work[at + j * (leg_distance(SPAN, UNIT) * LINES)];
            if (imaginary)
                held[round * RADIX + j].im = part;
            else
                held[round * RADIX + j].re = part;
        }
    }
}

#endif

#if STAGE > 0

/* Passes all legs from the previous stage to this one. */
static inline void NAME(pass_to_)(cplx *held, local PASTE(work_, PASTE(AXIS, t)) * work)
{
#if HELD
    NAME_PREVIOUS(put_parts_)(held, work, false);
    sync_group();
    NAME(get_parts_)(held, work, false);
    sync_group();
    NAME_PREVIOUS(put_parts_)(held, work, true);
    sync_group();
    NAME(get_parts_)(held, work, true);
#else
    sync_group();
#endif
}

/* Passes all legs back from this stage to the previous one. */
static inline void NAME(pass_back_)(cplx *held, local PASTE(work_, PASTE(AXIS, t)) * work)
{
#if HELD
    NAME(put_parts_)(held, work, false);
    sync_group();
    NAME_PREVIOUS(get_parts_)(held, work, false);
    sync_group();
    NAME(put_parts_)(held, work, true);
    sync_group();
    NAME_PREVIOUS(get_parts_)(held, work, true);
#else
    sync_group();
#endif
}

#endif
