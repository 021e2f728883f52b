/* The second pass of a joined frame also filters blocks of 8 x 8 samples, and weighs each block by
 * how little of its noise the filter keeps (daemon/filters/denoise.h has the maths).
 *
 * Four such blocks form a square of BLOCK x BLOCK samples and are filtered together: along each
 * axis, numbers 0 .. 7 and 8 .. 15 are transformed separately. A float4 holds one value for each of
 * the four: s0 has the first numbers of the first lanes, s1 the first numbers of the last lanes, s2
 * and s3 the last numbers. Data and work-items: denoise.cl. */

#define FINE_BLOCK 8
#define FINE_HOP   4
#define FINE_FLOOR (FLOOR / 4) /* a fine block has a quarter of the samples */
#define LEVEL_GAIN 2.0f        /* what a block's level adds to the sum of its gains */

/* ---- numbers of four blocks ---- */

/* Returns `first` in the first half of the columns, and `last` in the others; exactly, whichever is
 * larger. */
static inline real halves(float first, float last, uint p)
{
    const real is_first = column_entry(first_half, p);
    return is_first * first + (1 - is_first) * last;
}

/* Collects two numbers of each column in `ret`. */
static inline void gather(float *ret, const real *first, const real *last, local float *scratch)
{
#if LANES == 1
    const uint item = get_local_id(0);
    scratch[item] = first[0];
    scratch[BLOCK + item] = last[0];
    sync_items();
    for (uint i = 0; i < 2 * BLOCK; i++)
        ret[i] = scratch[i];
    sync_items();
#else
    for (uint p = 0; p < PARTS; p++) {
        VSTORE(first[p], 0, ret + COLUMN(p));
        VSTORE(last[p], 0, ret + BLOCK + COLUMN(p));
    }
#endif
}

static inline float4 four_sums(const real *first, const real *last, local float *scratch)
{
    float column[2 * BLOCK], sum[4] = {0, 0, 0, 0};
    gather(column, first, last, scratch);
#pragma unroll
    for (uint i = 0; i < 2 * BLOCK; i++)
        sum[i / FINE_BLOCK] += column[i];
    return (float4)(sum[0], sum[1], sum[2], sum[3]);
}

/* Returns the levels of four transformed blocks. */
static inline float4 four_levels(const real *x, local float *scratch)
{
    float column[2 * BLOCK];
    real first[PARTS], last[PARTS];
    for (uint p = 0; p < PARTS; p++) {
        first[p] = x[p * BLOCK];
        last[p] = x[p * BLOCK + FINE_BLOCK];
    }
    gather(column, first, last, scratch);
    const float4 firsts =
        (float4)(column[0], column[FINE_BLOCK], column[2 * FINE_BLOCK], column[3 * FINE_BLOCK]);
    return firsts / (fine_transform[0] * fine_transform[0]);
}

static inline void add_four_levels(real *x, float4 level)
{
    for (uint p = 0; p < PARTS; p++) {
        const real across = column_entry(fine_transform, p);
        const real first = across * halves(level.s0, level.s1, p);
        const real last = across * halves(level.s2, level.s3, p);
#pragma unroll
        for (uint j = 0; j < BLOCK; j++)
            x[p * BLOCK + j] += (j < FINE_BLOCK ? first : last) * fine_transform[j];
    }
}

/* ---- transforms ---- */

static inline void fine_transform_of(real *x, global const float *plane, local float *scratch,
                                     int left, int top)
{
    block_load_by(x, plane, left, top, fine_window);
    for (uint i = 0; i < PARTS * BLOCK; i += FINE_BLOCK)
        cosine_8(x + i);
    block_transpose(x, scratch);
    for (uint i = 0; i < PARTS * BLOCK; i += FINE_BLOCK)
        cosine_8(x + i);
}

static inline void fine_inverse(real *x, local float *scratch)
{
    for (uint i = 0; i < PARTS * BLOCK; i += FINE_BLOCK)
        cosine_inverse_8(x + i);
    block_transpose(x, scratch);
    for (uint i = 0; i < PARTS * BLOCK; i += FINE_BLOCK)
        cosine_inverse_8(x + i);
}

/* ---- weights ---- */

/* Weighs the numbers of four blocks, or of one, whose floor is then given four times. Returns the
 * sums of the gains. */
static inline float4 weigh(real *block, const real *known, float4 floor, local float *scratch)
{
    real kept[2][PARTS];
    for (uint p = 0; p < PARTS; p++) {
        const real floors[2] = {halves(floor.s0, floor.s1, p), halves(floor.s2, floor.s3, p)};
#pragma unroll
        for (uint half_ = 0; half_ < 2; half_++) {
            kept[half_][p] = 0;
#pragma unroll
            for (uint j = 0; j < FINE_BLOCK; j += 2) {
                const uint i = p * BLOCK + half_ * FINE_BLOCK + j;
                kept[half_][p] += weigh_two(block + i, known + i, floors[half_]);
            }
        }
    }
    return four_sums(kept[0], kept[1], scratch);
}

/* Returns the weights of blocks from the sums of their gains: the fewer numbers a block needs, the
 * less of its noise is left. */
static inline float4 weight_of(float4 gains, float count)
{
    const float4 fewness = count / (gains + LEVEL_GAIN);
    return fewness * fewness;
}

/* Adds four blocks, or one, whose weight is then given four times, to the tile's sums, and their
 * weights to the weights after the sums. */
static inline void add_weighted(const real *x, local float *sums, uint left, uint top,
                                float4 weight, constant const float *factor,
                                constant const float *share)
{
    for (uint p = 0; p < PARTS; p++) {
        const real first = halves(weight.s0, weight.s1, p), last = halves(weight.s2, weight.s3, p);
        const real across = column_entry(factor, p), shared = column_entry(share, p);
#pragma unroll
        for (uint j = 0; j < BLOCK; j++) {
            const real w = j < FINE_BLOCK ? first : last;
            local float *at = sums + (top + j) * SUM_PITCH + left + COLUMN(p);
            local float *weights = at + SUM_PITCH * SUM_ROWS;
            VSTORE(VLOAD(0, at) + x[p * BLOCK + j] * (w * across * factor[j]), 0, at);
            VSTORE(VLOAD(0, weights) + w * shared * share[j], 0, weights);
        }
    }
    sync_items();
}

static inline void sums_divide(local float *sums)
{
    for (uint y = EDGE; y < EDGE + TILE_Y; y++)
        for (uint x = EDGE + get_local_id(0); x < EDGE + TILE_X; x += get_local_size(0)) {
            const uint at = y * SUM_PITCH + x;
            sums[at] /= sums[SUM_PITCH * SUM_ROWS + at];
        }
    sync_items();
}

/* ---- the blocks of a tile ---- */

static inline void fine_blocks(global const float *samples, global const float *guide,
                               global const float *past, global const float *noise,
                               local float *sums, local float *scratch, int left, int top, int x,
                               int y)
{
    real known[PARTS * BLOCK], block[PARTS * BLOCK];
    fine_transform_of(block, samples, scratch, x, y);
    fine_transform_of(known, guide, scratch, x, y);
    const float4 level = four_levels(block, scratch), guide_level = four_levels(known, scratch);
    add_four_levels(block, -level);
    add_four_levels(known, -guide_level);
    float floor[4];
    const float levels[4] = {guide_level.s0, guide_level.s1, guide_level.s2, guide_level.s3};
    for (int i = 0; i < 4; i++) {
        const float down = y + FINE_BLOCK * (i % 2) + FINE_BLOCK / 2;
        const float right = x + FINE_BLOCK * (i / 2) + FINE_BLOCK / 2;
        floor[i] = FINE_FLOOR * remaining_at(past, down, right) * variance_at(noise, levels[i]);
    }
    const float4 floors = (float4)(floor[0], floor[1], floor[2], floor[3]) + LEAST_FLOOR;
    const float4 kept = weigh(block, known, floors, scratch);
    add_four_levels(block, level);
    fine_inverse(block, scratch);
    /* The inverse has exchanged rows and columns. */
    add_weighted(block, sums, left, top, weight_of(kept, FINE_BLOCK * FINE_BLOCK).s0213,
                 fine_synthesis, fine_share);
}

/* Filters all fine blocks of a tile. */
static inline void fine_tile(global const float *samples, global const float *guide,
                             global const float *past, global const float *noise, local float *sums,
                             local float *scratch)
{
    const int tile_left = TILE_LEFT, tile_top = TILE_TOP;
    const int width = min(TILE_X, IMAGE_WIDTH - tile_left);
    const int height = min(TILE_Y, IMAGE_HEIGHT - tile_top);
    for (int which = 0; which < 4; which++)
        for (int top = which / 2 * -FINE_HOP; top < height; top += BLOCK)
            for (int left = which % 2 * -FINE_HOP; left < width; left += BLOCK)
                fine_blocks(samples, guide, past, noise, sums, scratch, left + EDGE, top + EDGE,
                            tile_left + left, tile_top + top);
}
