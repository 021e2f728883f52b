/* The kernel of the tiles technique; data and work-items: tiles.cl. LAST is the last stage. */

#if LANES > 1

#define LAST_OF(function)  PASTE(function, PASTE(t_, LAST))
#define INNER_OF(function) PASTE(function, PASTE(t_, LAST_BUT_ONE))

static inline void pair_make(global uchar *result, const struct pair *pair,
                             global const float *twiddle, global const float *response,
                             local real *work)
{
    for (uint g = 0; g < RADIX_A; g++)
        LAST_OF(columns_to_)(pair, twiddle, work + 2 * g * PANEL, g * LANES);
    for (uint first = 0; first < TILE; first += LANES) {
        for (uint i = 0; i < LANES; i++)
            INNER_OF(row_to_)(work + 2 * (first + i), twiddle);
        for (uint g = 0; g < RADIX_A; g++)
            block_filter(work + 2 * (g * PANEL + first), response,
                         first / LANES * TILE + g * LANES);
        for (uint i = 0; i < LANES; i++)
            INNER_OF(row_from_)(work + 2 * (first + i), twiddle);
    }
    for (uint g = 0; g < VALID_X / LANES; g++)
        LAST_OF(columns_from_)(result, pair, twiddle, work + 2 * g * PANEL, g * LANES);
}

#endif

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
tiles(global const uchar *restrict image, global uchar *restrict result,
      global const int *restrict map_x, global const int *restrict map_y,
      global const float *restrict twiddle, global const float *restrict response,
      local real *work KERNEL_CORRECTION CAPTURED_PARAMETERS)
{
    const uint number = 2 * (uint)get_group_id(0);
    const struct pair pair = {tile_of(number), tile_of(number + 1),
                              CAPTURED(image + image_offset()), map_x, map_y CORRECTION_ARGUMENT};
    pair_make(result + image_offset(), &pair, twiddle, response, work);
}
