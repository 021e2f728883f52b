/* The direct technique: short filters without a transform. One dispatch loads, multiplies by the
 * taps, and stores.
 *
 * Data:
 *   image, result  pixel.cl
 *   map_x, map_y   the border, as for a transform of PADDED_X x PADDED_Y (daemon/transform/plan.c):
 *                  coordinates before the image are behind the others
 *   taps           PRODUCTS == 0: SIDE rows of SIDE floats. A sample of the result is the sum of
 *                  taps[j][i] times the sample i - RADIUS to the right and j - RADIUS down.
 *                  PRODUCTS > 0, one item: the first float is the radius beyond which taps are 0;
 *                  if there is a MIDDLE, the next one is the factor with which the sample itself is
 *                  added to the products; then for each product RADIUS + 1 taps along rows, from
 *                  the middle on, for samples to the right, and as many for those to the left; and
 *                  those along columns, for samples below and above. If not ODD, both sides have
 *                  the same taps
 *                  PRODUCTS > 0, several items: the factor of the MIDDLE; for each product SIDE
 *                  taps along rows, and as many along columns
 *   work           local memory: the tile, or the ring
 *
 * Work-items: a work-group of GROUP items makes a block of COLUMNS groups of LANES columns and ROWS
 * strips of STRIP rows. The second dimension counts blocks of rows, the third one images
 * (batch.cl). Launched by transform_frame_enqueue (daemon/transform/frame.c) as listed by direct.c.
 *
 * Files, in the order of the source:
 *   border.cl           where samples around the image come from
 *   direct_load.cl      loads and stores
 *   direct_cached.cl    IS_CACHED: without products and local memory
 *   direct_taps.cl      elsewhere without products
 *   direct_whole.cl     IN_WHOLES: with whole taps these are faster
 *   direct_shared.cl    with products, several items
 *   direct_lines.cl     with products, one item: what these share
 *   direct_equal.cl     EQUAL: running sums
 *   direct_short.cl     SMALL, samples of 8 bits: arithmetic on integers of 16 bits
 *   direct_float.cl     elsewhere: arithmetic on floats
 *   direct_products.cl  makes a block with either
 *   direct_stride.cl    makes one of a smaller picture with either
 *   direct.cl           this file: the kernel */

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
direct(global const uchar *restrict image, global uchar *restrict result,
       global const int *restrict map_x, global const int *restrict map_y,
       constant const float *restrict taps, local real *work KERNEL_CORRECTION CAPTURED_PARAMETERS)
{
    const struct block block = {(int)get_group_id(0) * BLOCK_X, (int)get_group_id(1) * BLOCK_Y,
                                CAPTURED(image + image_offset()), map_x, map_y CORRECTION_ARGUMENT};
    local void *const memory = work; /* whose type tells a driver how to align it */
    result += STRIDE > 1 ? image_number() * SMALLER_APART : image_offset();
#if PRODUCTS > 0
    block_make(result, block, taps, memory);
#elif IS_CACHED
    block_make(result, block, taps);
#elif RADIUS == 0
    block_make(result, block, memory, false, taps);
#else
#if IN_WHOLES
    if (whole_block_make(result, block, taps, memory))
        return;
#endif
#if CHEAP_LOAD
    if (block.x >= RADIUS && block.x + BLOCK_X + RADIUS <= IMAGE_WIDTH) {
        block_make(result, block, memory, false, taps);
        return;
    }
#endif
    tile_load(block, memory);
    block_make(result, block, memory, true, taps);
#endif
}
