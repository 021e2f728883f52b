/* The direct technique without products and without local memory (direct.cl), for devices whose
 * local memory is no nearer than their cache: items load what they need themselves, in whole
 * vectors, and keep the sums of SIDE rows of the result in registers. */

#if IS_CACHED

#define GROUPS (2 * TILE_MARGIN / LANES + 1) /* vectors of a row that an item needs */

/* Loads a row around column x, which is in the image. */
static inline void inner_fill(real *group, struct block block, int x, int y)
{
#pragma unroll
    for (int i = 0; i < GROUPS; i++)
        group[i] =
            inner_load(block.image, block.map_x, x - TILE_MARGIN + i * LANES, y BLOCK_CORRECTION);
}

/* Loads one that may be beyond it. */
static inline void outer_fill(real *group, struct block block, int x, int y)
{
    const int row = row_of(block.map_y, y);
#pragma unroll 1
    for (int i = 0; i < GROUPS; i++)
        group[i] =
            group_load(block.image, block.map_x, x - TILE_MARGIN + i * LANES, row BLOCK_CORRECTION);
}

/* Adds a row to the rows of the result that it reaches, of which the first is then complete. */
static inline void row_add(real sum[SIDE], const real *group, constant const float *taps)
{
    float line[GROUPS * LANES];
#pragma unroll
    for (int i = 0; i < GROUPS; i++)
        VSTORE(group[i], i, line);
#pragma unroll
    for (int d = 0; d < SIDE; d++)
#pragma unroll
        for (int k = 0; k < SIDE; k++)
            sum[k] += taps[(SIDE - 1 - k) * SIDE + d] * VLOAD(0, line + TILE_MARGIN - RADIUS + d);
}

static inline void sums_shift(real sum[SIDE])
{
#pragma unroll
    for (int k = 0; k + 1 < SIDE; k++)
        sum[k] = sum[k + 1];
    sum[SIDE - 1] = 0;
}

static inline void strip_make(global uchar *result, struct block block, constant const float *taps,
                              int x, int y)
{
    const bool is_inside = x >= TILE_MARGIN && x + LANES + TILE_MARGIN <= IMAGE_WIDTH &&
                           y >= RADIUS && y + STRIP + RADIUS <= IMAGE_HEIGHT;
    const int rows = is_inside ? 0 : min(STRIP, (int)IMAGE_HEIGHT - y) + 2 * RADIUS;
    real sum[SIDE], group[GROUPS];
#pragma unroll
    for (int k = 0; k < SIDE; k++)
        sum[k] = 0;
    if (is_inside) {
#pragma unroll
        for (int i = 0; i < STRIP + 2 * RADIUS; i++) {
            inner_fill(group, block, x, y + i - RADIUS);
            row_add(sum, group, taps);
            if (i >= 2 * RADIUS)
                *(global bytes *)(result + PLACE(x, y + i - 2 * RADIUS)) =
                    TO_BYTES(to_result(sum[0]));
            sums_shift(sum);
        }
    }
    for (int i = 0; i < rows; i++) {
        outer_fill(group, block, x, y + i - RADIUS);
        row_add(sum, group, taps);
        if (i >= 2 * RADIUS)
            group_store(result, block, x, y + i - 2 * RADIUS, sum[0]);
        sums_shift(sum);
    }
}

static inline void block_make(global uchar *result, struct block block, constant const float *taps)
{
    for (int i = get_local_id(0); i < COLUMNS * ROWS; i += GROUP) {
        const int x = block.x + i % COLUMNS * LANES, y = block.y + i / COLUMNS * STRIP;
        if (x < IMAGE_WIDTH && y < IMAGE_HEIGHT)
            strip_make(result, block, taps, x, y);
    }
}

#endif
