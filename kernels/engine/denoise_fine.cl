/* Template, included for each side N of the blocks in which a joined frame is filtered: BLOCK, and
 * smaller ones. Each block is weighted by how little of its noise the filter keeps
 * (daemon/filters/denoise.h has the maths).
 *
 * The blocks of a square of BLOCK x BLOCK samples are filtered together. There are N_COUNT of them
 * along each axis, and each N numbers are transformed separately along both axes. Arrays have one
 * entry for each block, such as its level. Entry N_COUNT g + c belongs to the block that has
 * numbers N g .. N g + N - 1 of columns N c .. N c + N - 1. Data and work-items: denoise.cl. */

#define N_COUNT        (BLOCK / N)
/* Part of each variance, so that rounding errors of the join do not count as texture where a frame
 * has no noise. */
#define LEAST_VARIANCE (1e-11f * SAMPLE_MAX * SAMPLE_MAX)

/* The floor of a smaller block, which has fewer samples. */
#define N_FLOOR        (FLOOR * (N * N) / (BLOCK * BLOCK))
#define OF(name)       PASTE(name##_, N)
#if SECOND
#define FORWARD OF(cosine)
#define BACK    OF(cosine_inverse)
#else
#define FORWARD OF(real_dft)
#define BACK    OF(real_inverse)
#endif

/* ---- numbers of blocks ---- */

/* Returns, for each of the item's columns, the one of N_COUNT values that belongs to it. */
static inline real OF(spread)(const float *value, uint p)
{
#if N == BLOCK
    return value[0];
#elif LANES == 1
    return value[get_local_id(0) / N];
#else
    real ret = 0;
#pragma unroll
    for (uint c = 0; c < N_COUNT; c++)
        ret += value[c] * column_entry(OF(columns) + c * BLOCK, p);
    return ret;
#endif
}

/* Collects N_COUNT numbers of each column; those of part p begin at x[p stride]. */
static inline void OF(gather)(float *ret, const real *x, uint step, uint stride,
                              local float *scratch)
{
#if LANES == 1
#pragma unroll
    for (uint g = 0; g < N_COUNT; g++)
        scratch[g * BLOCK + get_local_id(0)] = x[g * step];
    sync_items();
    for (uint i = 0; i < N_COUNT * BLOCK; i++)
        ret[i] = scratch[i];
    sync_items();
#else
    for (uint p = 0; p < PARTS; p++)
#pragma unroll
        for (uint g = 0; g < N_COUNT; g++)
            VSTORE(x[p * stride + g * step], 0, ret + g * BLOCK + COLUMN(p));
#endif
}

/* Gets the levels of transformed blocks. */
static inline void OF(levels)(float *ret, const real *x, local float *scratch)
{
    float first[N_COUNT * BLOCK];
    OF(gather)(first, x, N, BLOCK, scratch);
#pragma unroll
    for (uint i = 0; i < N_COUNT * N_COUNT; i++)
        ret[i] = first[i * N] / (OF(transform)[0] * OF(transform)[0]);
}

static inline void OF(add_levels)(real *x, const float *level, float sign)
{
    for (uint p = 0; p < PARTS; p++) {
        const real across = sign * column_entry(OF(transform), p);
#pragma unroll
        for (uint g = 0; g < N_COUNT; g++) {
            const real scaled = across * OF(spread)(level + g * N_COUNT, p);
#pragma unroll
            for (uint j = 0; j < N; j++)
                x[p * BLOCK + g * N + j] += scaled * OF(transform)[j];
        }
    }
}

/* ---- the gains ---- */

#if !SECOND
/* Gets the numbers of the other column of each column's pair, and zeros where there is none. */
static inline void OF(get_partners)(real *other, const real *x, local float *scratch)
{
#if LANES == 1
    exchange(other, x, BLOCK, N / 2, scratch);
#else
#pragma unroll
    for (uint j = 0; j < BLOCK; j++) {
        float line[BLOCK], swapped[BLOCK];
        for (uint p = 0; p < PARTS; p++)
            VSTORE(x[p * BLOCK + j], 0, line + p * LANES);
#pragma unroll
        for (uint c = 0; c < BLOCK; c++)
            swapped[c] = c % (N / 2) != 0 ? line[c ^ (N / 2)] : 0;
        for (uint p = 0; p < PARTS; p++)
            other[p * BLOCK + j] = VLOAD(0, swapped + p * LANES);
    }
#endif
}
#endif

/* Weighs the numbers of blocks, and gets the sum of the gains of each. `known` is the block that
 * the second pass knows. */
static inline void OF(weigh)(float *ret, real *x, const real *known, const float *floor,
                             local float *scratch)
{
    real kept[PARTS * N_COUNT];
    float column[N_COUNT * BLOCK];
#if !SECOND
    real other[PARTS * BLOCK];
    OF(get_partners)(other, x, scratch);
#endif
    for (uint p = 0; p < PARTS; p++)
#pragma unroll
        for (uint g = 0; g < N_COUNT; g++) {
            const uint first = p * BLOCK + g * N;
            const real floors = OF(spread)(floor + g * N_COUNT, p);
#if SECOND
            real sum = 0;
#pragma unroll
            for (uint j = 0; j < N; j += 2)
                sum += weigh_two(x + first + j, known + first + j, floors);
            kept[p * N_COUNT + g] = sum;
#else
            kept[p * N_COUNT + g] = weigh_numbers(x + first, other + first, N, floors);
#endif
        }
    OF(gather)(column, kept, 1, N_COUNT, scratch);
#pragma unroll
    for (uint i = 0; i < N_COUNT * N_COUNT; i++) {
        ret[i] = 0;
#pragma unroll
        for (uint c = 0; c < N; c++)
            ret[i] += column[i * N + c];
    }
}

/* ---- sums ---- */

/* Adds blocks to the tile's sums, and their weights to the weights after the sums. */
static inline void OF(add_weighted)(const real *x, local float *sums, uint left, uint top,
                                    const float *weight)
{
    for (uint p = 0; p < PARTS; p++) {
        const real across = column_entry(OF(synthesis), p), shared = column_entry(OF(share), p);
#pragma unroll
        for (uint g = 0; g < N_COUNT; g++) {
            const real weights = OF(spread)(weight + g * N_COUNT, p);
            const real scaled = weights * across, counted = weights * shared;
#pragma unroll
            for (uint j = 0; j < N; j++) {
                local float *at = sums + (top + g * N + j) * SUM_PITCH + left + COLUMN(p);
                local float *sum_at = at + SUM_PITCH * SUM_ROWS;
                VSTORE(VLOAD(0, at) + x[p * BLOCK + g * N + j] * (scaled * OF(synthesis)[j]), 0,
                       at);
                VSTORE(VLOAD(0, sum_at) + counted * OF(share)[j], 0, sum_at);
            }
        }
    }
    sync_items();
}

/* ---- the blocks of a square ---- */

static inline void OF(load)(real *x, global const float *plane, local float *scratch, int left,
                            int top)
{
    block_load_by(x, plane, left, top, OF(window));
    for (uint i = 0; i < PARTS * BLOCK; i += N)
        FORWARD(x + i);
    block_transpose(x, scratch);
    for (uint i = 0; i < PARTS * BLOCK; i += N)
        FORWARD(x + i);
}

/* Filters the blocks of the square whose first sample is at (x, y). */
static inline void OF(square)(global const float *samples, global const float *guide,
                              global const float *past, global const float *noise,
                              local float *sums, local float *scratch, uint left, uint top, int x,
                              int y)
{
    real block[PARTS * BLOCK], known[PARTS * BLOCK];
    float level[N_COUNT * N_COUNT], known_level[N_COUNT * N_COUNT];
    float floor[N_COUNT * N_COUNT], kept[N_COUNT * N_COUNT], weight[N_COUNT * N_COUNT];
    OF(load)(block, samples, scratch, x, y);
    OF(levels)(level, block, scratch);
    OF(add_levels)(block, level, -1);
#if SECOND
    OF(load)(known, guide, scratch, x, y);
    OF(levels)(known_level, known, scratch);
    OF(add_levels)(known, known_level, -1);
#endif
#pragma unroll
    for (uint i = 0; i < N_COUNT * N_COUNT; i++) {
        const float down = y + (int)(N * (i % N_COUNT) + N / 2);
        const float right = x + (int)(N * (i / N_COUNT) + N / 2);
        const float variance = variance_at(noise, SECOND ? known_level[i] : level[i]);
        floor[i] = N_FLOOR * (remaining_over(past, N, down, right) * variance + LEAST_VARIANCE);
    }
    OF(weigh)(kept, block, known, floor, scratch);
    OF(add_levels)(block, level, 1);
    for (uint i = 0; i < PARTS * BLOCK; i += N)
        BACK(block + i);
    block_transpose(block, scratch);
    for (uint i = 0; i < PARTS * BLOCK; i += N)
        BACK(block + i);
        /* The inverse has exchanged rows and columns. */
#pragma unroll
    for (uint i = 0; i < N_COUNT * N_COUNT; i++)
        weight[i] = weight_of(kept[i % N_COUNT * N_COUNT + i / N_COUNT], N * N);
    OF(add_weighted)(block, sums, left, top, weight);
}

#if N < BLOCK
/* Filters all blocks of a tile in four turns, which move them by half of their side along neither
 * axis, one of them, or both. */
static inline void OF(squares)(global const float *samples, global const float *guide,
                               global const float *past, global const float *noise,
                               local float *sums, local float *scratch)
{
    const int tile_left = TILE_LEFT, tile_top = TILE_TOP;
    const int width = min(TILE_X, IMAGE_WIDTH - tile_left);
    const int height = min(TILE_Y, IMAGE_HEIGHT - tile_top);
    for (int turn = 0; turn < 4; turn++)
        for (int top = turn / 2 * (-N / 2); top < height; top += BLOCK)
            for (int left = turn % 2 * (-N / 2); left < width; left += BLOCK)
                OF(square)
    (samples, guide, past, noise, sums, scratch, left + EDGE, top + EDGE, tile_left + left,
     tile_top + top);
}
#endif
