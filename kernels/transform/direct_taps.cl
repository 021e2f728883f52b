/* The direct technique without products (direct.cl): an item makes a strip of one group of columns
 * at a time. Each sample of the result needs SIDE x SIDE loads. Where a load is cheap (CHEAP_LOAD),
 * a block inside the image does without the tile. */

#if !IS_CACHED

/* Sets taken[d] to the LANES samples from column x + d - RADIUS on, in a row of the padded image
 * that counts from the first one of the tile. */
static inline void row_take(real *taken, struct block block, local const float *tile, bool is_tiled,
                            int x, int row)
{
    if (is_tiled) {
        local const float *from = tile + row * TILE_PITCH + (x - block.x);
#if GROUP == 1
#pragma unroll
        for (int d = 0; d < SIDE; d++)
            taken[d] = VLOAD(0, from + TILE_MARGIN - RADIUS + d);
#else /* in registers shifts cost nothing, and whole vectors have no conflicts of banks */
        float line[2 * TILE_MARGIN + LANES];
#pragma unroll
        for (int i = 0; i <= 2 * TILE_MARGIN / LANES; i++)
            VSTORE(((local const real *)from)[i], i, line);
#pragma unroll
        for (int d = 0; d < SIDE; d++)
            taken[d] = VLOAD(0, line + TILE_MARGIN - RADIUS + d);
#endif
        return;
    }
#if RADIUS == 0
    taken[0] = group_load(block.image, block.map_x, x, block.y + row BLOCK_CORRECTION);
#elif CHEAP_LOAD
    const int y = row_of(block.map_y, block.y - RADIUS + row);
#pragma unroll
    for (int d = 0; d < SIDE; d++)
        taken[d] = samples_load(block.image, block.map_x, x + d - RADIUS, 0, true, y);
#endif
}

#if GROUP > 1 && RADIUS > 0 && RADIUS <= 4

/* The sums of all rows of the strip are in registers. Each row of samples is loaded once, and adds
 * to those that it reaches. */
static inline void strip_make(global uchar *result, struct block block, local const float *tile,
                              bool is_tiled, constant const float *taps, int x, int strip)
{
    const int y = block.y + strip * STRIP;
    real sum[STRIP];
#pragma unroll
    for (int k = 0; k < STRIP; k++)
        sum[k] = 0;
#pragma unroll
    for (int i = 0; i < STRIP + 2 * RADIUS; i++) {
        real taken[SIDE];
        row_take(taken, block, tile, is_tiled, x, strip * STRIP + i);
#pragma unroll
        for (int d = 0; d < SIDE; d++)
#pragma unroll
            for (int k = 0; k < STRIP; k++)
                if (i >= k && i - k < SIDE)
                    sum[k] += taps[(i - k) * SIDE + d] * taken[d];
    }
#pragma unroll
    for (int k = 0; k < STRIP; k++)
        if (y + k < IMAGE_HEIGHT)
            group_store(result, block, x, y + k, sum[k]);
}

#else

/* Each row of samples is loaded once, and adds to the SIDE rows of the result that it reaches. */
static inline void strip_make(global uchar *result, struct block block, local const float *tile,
                              bool is_tiled, constant const float *taps, int x, int strip)
{
    real sum[SIDE];
#pragma unroll
    for (int k = 0; k < SIDE; k++)
        sum[k] = 0;
#if GROUP > 1
#pragma unroll
#endif
    for (int i = 0; i < STRIP + 2 * RADIUS; i++) {
        real taken[SIDE];
        const int y = block.y + strip * STRIP + i - 2 * RADIUS;
        if (y >= IMAGE_HEIGHT)
            break;
        row_take(taken, block, tile, is_tiled, x, strip * STRIP + i);
#pragma unroll
        for (int d = 0; d < SIDE; d++)
#pragma unroll
            for (int k = 0; k < SIDE; k++)
                sum[k] += taps[(SIDE - 1 - k) * SIDE + d] * taken[d];
        if (i >= 2 * RADIUS)
            group_store(result, block, x, y, sum[0]);
#pragma unroll
        for (int k = 0; k + 1 < SIDE; k++)
            sum[k] = sum[k + 1];
        sum[SIDE - 1] = 0;
    }
}

#endif

static inline void block_make(global uchar *result, struct block block, local const float *tile,
                              bool is_tiled, constant const float *taps)
{
    for (int i = get_local_id(0); i < COLUMNS * ROWS; i += GROUP) {
        const int x = block.x + i % COLUMNS * LANES;
        if (x < IMAGE_WIDTH)
            strip_make(result, block, tile, is_tiled, taps, x, i / COLUMNS);
    }
}

#endif
