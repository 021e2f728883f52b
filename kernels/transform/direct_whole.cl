/* The direct technique without products for samples of 8 bits and taps that are whole multiples of
 * 1, 1/2 ... 1/128 (direct.cl), as those of derivatives and of most kernels of 3x3: integers of 16
 * bits, which a register holds twice as many of as of floats. Sums are exact. Whether taps are such
 * ones is found by each block, since those of a fade change from frame to frame. */

#if IN_WHOLES

#define COUNT      (SIDE * SIDE)
#define MOST_PARTS 7     /* parts of a tap: 2^-7 */
#define MOST_SUM   128   /* what magnitudes of taps add up to, in parts: 128 * 255 < 2^15 */
#define NEAR       1e-5f /* is whole: all taps together are wrong by less than 0.1 of a part */

typedef PASTE(short, LANES) shorts;

/* Returns how many bits of the taps are behind the point; -1: more, or sums would not fit. */
static inline int taps_bits(constant const float *taps)
{
    float parts = 1;
    for (int bits = 0; bits <= MOST_PARTS; bits++, parts *= 2) {
        float sum = 0;
        bool is_whole = true;
        for (int i = 0; i < COUNT; i++) {
            sum += fabs(taps[i] * parts);
            is_whole = is_whole && fabs(taps[i] * parts - rint(taps[i] * parts)) < NEAR;
        }
        if (!(sum < MOST_SUM + 0.5f))
            return -1;
        if (is_whole)
            return bits;
    }
    return -1;
}

/* Returns whether all samples that a block needs are in the image, or are mapped to samples of it.
 */
static inline bool has_samples(struct block block)
{
#if BORDER_CONSTANT
    return block.x >= RADIUS && block.x + BLOCK_X + RADIUS <= IMAGE_WIDTH && block.y >= RADIUS &&
           block.y + BLOCK_Y + RADIUS <= IMAGE_HEIGHT;
#else
    return true;
#endif
}

/* Loads the samples of a block at the left or right edge as bytes, of which rows begin RADIUS
 * columns before the block. */
static inline void bytes_load(struct block block, local uchar *tile)
{
    for (int row = 0; row < TILE_ROWS; row++) {
        global const uchar *from =
            BYTES(block.image) + PLACE(0, row_of(block.map_y, block.y - RADIUS + row));
        local uchar *to = tile + row * TILE_PITCH;
#pragma unroll
        for (int g = 0; g < COLUMNS; g++) {
            const int x = block.x + g * LANES;
            if (x + LANES <= IMAGE_WIDTH)
                ((local packed_bytes *)(to + RADIUS + g * LANES))->all = VLOAD(0, from + x);
            else
#pragma unroll 1
                for (int i = 0; i < LANES; i++)
                    to[RADIUS + g * LANES + i] = from[column_of(block.map_x, x + i)];
        }
#pragma unroll
        for (int i = 0; i < RADIUS; i++) {
            to[i] = from[column_of(block.map_x, block.x - RADIUS + i)];
            to[RADIUS + BLOCK_X + i] = from[column_of(block.map_x, block.x + BLOCK_X + i)];
        }
    }
}

/* The limits are vectors because oclgrind's clamp of integers reads one for each lane. */
static inline void whole_store(global uchar *result, int x, int y, shorts value)
{
    const PASTE(uchar, LANES) bytes =
        PASTE(convert_uchar, LANES)(clamp(value, (shorts)0, (shorts)255));
    if (x + LANES <= IMAGE_WIDTH) {
        ((global packed_bytes *)(result + PLACE(x, y)))->all = bytes;
        return;
    }
    uchar lane[LANES];
    VSTORE(bytes, 0, lane);
    for (int i = 0; x + i < IMAGE_WIDTH; i++)
        result[PLACE(x + i, y)] = lane[i];
}

/* Makes a block as strip_make (direct_taps.cl) does, but all groups of a row together, so that no
 * addition waits for the one before. */
static inline __attribute__((always_inline)) void whole_make(global uchar *result,
                                                             struct block block,
                                                             local const uchar *tile, bool is_tiled,
                                                             constant const float *taps, int bits)
{
    const float parts = (float)(1 << bits);
    const shorts first = (shorts)(short)(bits > 0 ? 1 << (bits - 1) : 0);
    const int end = min(BLOCK_Y, IMAGE_HEIGHT - block.y) + 2 * RADIUS;
    shorts tap[COUNT], sum[COLUMNS][SIDE];
#pragma unroll
    for (int i = 0; i < COUNT; i++)
        tap[i] = (shorts)convert_short_rte(taps[i] * parts);
#pragma unroll
    for (int i = 0; i < COLUMNS * SIDE; i++)
        sum[i / SIDE][i % SIDE] = first;
    for (int i = 0; i < end; i++) {
        const int y = block.y + i - 2 * RADIUS;
        global const uchar *from =
            BYTES(block.image) + PLACE(block.x - RADIUS, row_of(block.map_y, y + RADIUS));
        samples_await(block, block.x, row_of(block.map_y, y + RADIUS + AHEAD), BLOCK_X);
        if (i >= 2 * RADIUS)
            place_await(result, block.x, y, BLOCK_X);
#pragma unroll
        for (int g = 0; g < COLUMNS; g++) {
            const int x = block.x + g * LANES;
            shorts taken[SIDE];
#pragma unroll
            for (int d = 0; d < SIDE; d++)
                taken[d] = PASTE(convert_short, LANES)(
                    is_tiled
                        ? ((local const packed_bytes *)(tile + i * TILE_PITCH + g * LANES + d))->all
                        : ((global const packed_bytes *)(from + g * LANES + d))->all);
#pragma unroll
            for (int d = 0; d < SIDE; d++)
#pragma unroll
                for (int k = 0; k < SIDE; k++)
                    sum[g][k] += tap[(SIDE - 1 - k) * SIDE + d] * taken[d];
            if (i >= 2 * RADIUS && x < IMAGE_WIDTH)
                whole_store(result, x, y, sum[g][0] >> (short)bits);
#pragma unroll
            for (int k = 0; k + 1 < SIDE; k++)
                sum[g][k] = sum[g][k + 1];
            sum[g][SIDE - 1] = first;
        }
    }
}

/* Returns false if the block needs floats. */
static inline bool whole_block_make(global uchar *result, struct block block,
                                    constant const float *taps, local uchar *tile)
{
    const int bits = has_samples(block) ? taps_bits(taps) : -1;
    if (bits < 0)
        return false;
    const bool is_inner = block.x >= RADIUS && block.x + BLOCK_X + RADIUS <= IMAGE_WIDTH;
    if (is_inner) {
        whole_make(result, block, tile, false, taps, bits);
        return true;
    }
    bytes_load(block, tile);
    whole_make(result, block, tile, true, taps, bits);
    return true;
}

#endif
