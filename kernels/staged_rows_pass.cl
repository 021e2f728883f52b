/* Template, once for each dispatch along rows: its forward and its inverse kernel, or the kernel in
 * the middle.
 *
 * Constants: FIRST (its first stage), COUNT (of stages: 1 or 2), SECOND (FIRST + 1 if there are 2),
 * RADIX_1, RADIX_2, SPAN (of the last of them), ITEMS (of a pair) and IS_MIDDLE. All kernels take
 * the same arguments, even if unused. Data, work-items and the host function that launches them:
 * staged.cl.
 *
 * The loops over butterflies do not begin at a constant, so that compilers do not unroll them.
 * Unrolled, they would need more addresses than there are registers. */

#if IS_MIDDLE

kernel void rows_middle(global stored *restrict spectrum, global const uint4 *restrict pairs,
                        global const stored *restrict response,
                        global const float2 *restrict twiddle)
{
    const uint t = (uint)get_global_id(0), item = t % ITEMS, pair = t / ITEMS;
    spectrum += spectrum_offset();
    if (pair >= PAIRS)
        return;
    const uint4 places = pairs[pair];
#if COUNT == 1
    middle_one(block_of(FIRST, item, SPAN), place_in_block(FIRST, item, SPAN), pair, places,
               spectrum, response);
#else
    for (uint k = item; k < item + RADIX_2; k++) {
        FORWARD_FIRST(block_of(FIRST, item, SPAN),
                      place_in_block(FIRST, item, SPAN) + (k - item) * SPAN, places, spectrum,
                      twiddle);
    }
    for (uint k = item; k < item + RADIX_1; k++) {
        middle_one(block_of(FIRST, item, SPAN) * RADIX_1 + (k - item),
                   place_in_block(FIRST, item, SPAN), pair, places, spectrum, response);
    }
    for (uint k = item; k < item + RADIX_2; k++) {
        INVERSE_FIRST(block_of(FIRST, item, SPAN),
                      place_in_block(FIRST, item, SPAN) + (k - item) * SPAN, places, spectrum,
                      twiddle);
    }
#endif
}

#else

kernel void OF_FIRST(rows_forward_)(global stored *restrict spectrum,
                                    global const uint4 *restrict pairs,
                                    global const stored *restrict response,
                                    global const float2 *restrict twiddle)
{
    const uint t = (uint)get_global_id(0), item = t % ITEMS, pair = t / ITEMS;
    spectrum += spectrum_offset();
    if (pair >= PAIRS)
        return;
    const uint4 places = pairs[pair];
#if COUNT == 1
    FORWARD_FIRST(block_of(FIRST, item, SPAN), place_in_block(FIRST, item, SPAN), places, spectrum,
                  twiddle);
#else
    for (uint k = item; k < item + RADIX_2; k++) {
        FORWARD_FIRST(block_of(FIRST, item, SPAN),
                      place_in_block(FIRST, item, SPAN) + (k - item) * SPAN, places, spectrum,
                      twiddle);
    }
    for (uint k = item; k < item + RADIX_1; k++) {
        FORWARD_SECOND(block_of(FIRST, item, SPAN) * RADIX_1 + (k - item),
                       place_in_block(FIRST, item, SPAN), places, spectrum, twiddle);
    }
#endif
}

kernel void OF_FIRST(rows_inverse_)(global stored *restrict spectrum,
                                    global const uint4 *restrict pairs,
                                    global const stored *restrict response,
                                    global const float2 *restrict twiddle)
{
    const uint t = (uint)get_global_id(0), item = t % ITEMS, pair = t / ITEMS;
    spectrum += spectrum_offset();
    if (pair >= PAIRS)
        return;
    const uint4 places = pairs[pair];
#if COUNT == 1
    INVERSE_FIRST(block_of(FIRST, item, SPAN), place_in_block(FIRST, item, SPAN), places, spectrum,
                  twiddle);
#else
    for (uint k = item; k < item + RADIX_1; k++) {
        INVERSE_SECOND(block_of(FIRST, item, SPAN) * RADIX_1 + (k - item),
                       place_in_block(FIRST, item, SPAN), places, spectrum, twiddle);
    }
    for (uint k = item; k < item + RADIX_2; k++) {
        INVERSE_FIRST(block_of(FIRST, item, SPAN),
                      place_in_block(FIRST, item, SPAN) + (k - item) * SPAN, places, spectrum,
                      twiddle);
    }
#endif
}

#endif
