/* Template, once for each dispatch down columns: its forward and its inverse kernel.
 *
 * Constants: FIRST (its first stage), COUNT (of stages: 1 or 2), SECOND (FIRST + 1 if there are 2),
 * RADIX_1, RADIX_2, SPAN (of the last of them) and ITEMS (of a column). All kernels of a direction
 * take the same arguments, even if unused. Data, work-items and the host function that launches
 * them: staged.cl.
 *
 * The loops over butterflies do not begin at a constant, so that compilers do not unroll them.
 * Unrolled, they would need more addresses than there are registers. */

kernel void OF_FIRST(columns_forward_)(global const uchar *restrict image,
                                       global stored *restrict spectrum,
                                       global const int *restrict map_x,
                                       global const int *restrict map_y,
                                       global const float2 *restrict twiddle)
{
    image += image_offset();
    spectrum += spectrum_offset();
    const uint t = (uint)get_global_id(0), column = t % V_HALF, item = t / V_HALF;
    if (item >= ITEMS)
        return;
#if COUNT == 1
    FORWARD_FIRST(block_of(FIRST, item, SPAN), place_in_block(FIRST, item, SPAN), column, image,
                  spectrum, map_x, map_y, twiddle);
#else
    for (uint k = item; k < item + RADIX_2; k++) {
        FORWARD_FIRST(block_of(FIRST, item, SPAN),
                      place_in_block(FIRST, item, SPAN) + (k - item) * SPAN, column, image,
                      spectrum, map_x, map_y, twiddle);
    }
    for (uint k = item; k < item + RADIX_1; k++) {
        FORWARD_SECOND(block_of(FIRST, item, SPAN) * RADIX_1 + (k - item),
                       place_in_block(FIRST, item, SPAN), column, image, spectrum, map_x, map_y,
                       twiddle);
    }
#endif
}

kernel void OF_FIRST(columns_inverse_)(global stored *restrict spectrum,
                                       global const uchar *restrict image,
                                       global uchar *restrict result,
                                       global const float2 *restrict twiddle)
{
    result += image_offset();
    image += image_offset();
    spectrum += spectrum_offset();
    const uint t = (uint)get_global_id(0), column = t % V_HALF, item = t / V_HALF;
    if (item >= ITEMS)
        return;
#if COUNT == 1
    INVERSE_FIRST(block_of(FIRST, item, SPAN), place_in_block(FIRST, item, SPAN), column, spectrum,
                  image, result, twiddle);
#else
    for (uint k = item; k < item + RADIX_1; k++) {
        INVERSE_SECOND(block_of(FIRST, item, SPAN) * RADIX_1 + (k - item),
                       place_in_block(FIRST, item, SPAN), column, spectrum, image, result, twiddle);
    }
    for (uint k = item; k < item + RADIX_2; k++) {
        INVERSE_FIRST(block_of(FIRST, item, SPAN),
                      place_in_block(FIRST, item, SPAN) + (k - item) * SPAN, column, spectrum,
                      image, result, twiddle);
    }
#endif
}
