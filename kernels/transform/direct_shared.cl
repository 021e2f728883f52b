/* The direct technique with products, if a group has several items (direct.cl): they multiply all
 * rows of the tile, put the results into its place, and multiply these along columns. */

#define SET    (2 * SIDE) /* floats of a product's taps */
#define ROUNDS ((TILE_ROWS * COLUMNS + GROUP - 1) / GROUP)
#define PITCH  (PRODUCTS * BLOCK_X) /* from row to row of what has been multiplied */

static inline void row_multiply(real sum[PRODUCTS], local const float *from,
                                constant const float *taps)
{
    float sample[2 * TILE_MARGIN + LANES];
#pragma unroll
    for (int i = 0; i <= 2 * TILE_MARGIN / LANES; i++)
        VSTORE(((local const real *)from)[i], i, sample);
#pragma unroll
    for (int p = 0; p < PRODUCTS; p++)
        sum[p] = 0;
#pragma unroll
    for (int d = 0; d < SIDE; d++)
#pragma unroll
        for (int p = 0; p < PRODUCTS; p++)
            sum[p] += taps[p * SET + d] * VLOAD(0, sample + TILE_MARGIN - RADIUS + d);
}

/* Makes a strip of the result from rows of the tile that have been multiplied. Samples of the
 * middle are loaded again, since a tile that kept them would leave room for fewer groups. */
static inline void strip_add(global uchar *result, struct block block, local const float *from,
                             constant const float *taps, float middle, int x, int y)
{
    real sum[STRIP];
#pragma unroll
    for (int k = 0; k < STRIP; k++)
        sum[k] = 0;
#pragma unroll
    for (int i = 0; i < STRIP + 2 * RADIUS; i++)
#pragma unroll
        for (int p = 0; p < PRODUCTS; p++) {
            const real row = *(local const real *)(from + i * PITCH + p * BLOCK_X);
#pragma unroll
            for (int k = 0; k < STRIP; k++)
                if (i >= k && i - k < SIDE)
                    sum[k] += taps[p * SET + SIDE + i - k] * row;
        }
#if MIDDLE
#pragma unroll
    for (int k = 0; k < STRIP; k++)
        if (y + k < IMAGE_HEIGHT)
            sum[k] += middle * group_load(block.image, block.map_x, x, y + k BLOCK_CORRECTION);
#endif
#pragma unroll
    for (int k = 0; k < STRIP; k++)
        if (y + k < IMAGE_HEIGHT)
            group_store(result, block, x, y + k, sum[k]);
}

static inline void block_make(global uchar *result, struct block block, constant const float *taps,
                              local float *tile)
{
    const float middle = taps[0]; /* if there is a MIDDLE */
    real sum[ROUNDS][PRODUCTS];
    taps += MIDDLE;
    tile_load(block, tile);
#pragma unroll
    for (int i = 0; i < ROUNDS; i++) {
        const int at = get_local_id(0) + i * GROUP;
        if (at < TILE_ROWS * COLUMNS)
            row_multiply(sum[i], tile + at / COLUMNS * TILE_PITCH + at % COLUMNS * LANES, taps);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
    for (int i = 0; i < ROUNDS; i++) {
        const int at = get_local_id(0) + i * GROUP;
#pragma unroll
        for (int p = 0; p < PRODUCTS; p++)
            if (at < TILE_ROWS * COLUMNS)
                *(local real *)(tile + at / COLUMNS * PITCH + p * BLOCK_X + at % COLUMNS * LANES) =
                    sum[i][p];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = get_local_id(0); i < COLUMNS * ROWS; i += GROUP) {
        const int x = block.x + i % COLUMNS * LANES, strip = i / COLUMNS * STRIP;
        if (x < IMAGE_WIDTH)
            strip_add(result, block, tile + strip * PITCH + (x - block.x), taps, middle, x,
                      block.y + strip);
    }
}
