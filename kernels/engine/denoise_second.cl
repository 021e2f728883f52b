/* The second pass of noise reduction: a Wiener filter in the cosine transform of each block
 * (denoise_cosine.cl), with the power that the first pass has found there. Data and work-items:
 * denoise.cl. */

#if !FINE

#define LEAST_FLOOR 1e-12f /* part of each floor, which prevents a division of 0 by 0 */

/* Takes the level out of a block and returns it. */
static inline float block_take_level(real *x, local float *scratch)
{
    const float level = block_level(x, scratch);
    add_level(x, -level);
    return level;
}

static inline void second_block(global const float *samples, global const float *guide,
                                global const float *noise, local float *sums, local float *scratch,
                                uint left, uint top, int x, int y)
{
    real known[PARTS * BLOCK], block[PARTS * BLOCK];
    block_transform(block, samples, scratch, x, y);
    block_transform(known, guide, scratch, x, y);
    const float guide_level = block_take_level(known, scratch);
    const float level = block_take_level(block, scratch);
    const float floor = FLOOR * variance_at(noise, guide_level) + LEAST_FLOOR;
#pragma unroll
    for (uint i = 0; i < PARTS * BLOCK; i += 2)
        weigh_two(block + i, known + i, floor);
    add_level(block, level);
    block_inverse(block, scratch);
    block_add(block, sums, left, top);
}

#endif

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
denoise_second(global const float *restrict samples, global const float *restrict guide,
               global float *restrict result, global const float *restrict noise PAST_PARAMETERS,
               local float *sums, local float *scratch)
{
    samples += get_group_id(2) * PLANE_SIZE;
    noise += get_group_id(2) * NOISE_NUMBERS;
    guide += get_group_id(2) * PLANE_SIZE;
    sums_clear(sums);
#if FINE
#define BLOCK_AT(left, top, x, y)                                                                  \
    PASTE(square_, BLOCK)(samples, guide, history, noise, sums, scratch, left, top, x, y)
#else
#define BLOCK_AT(left, top, x, y)                                                                  \
    second_block(samples, guide, noise, sums, scratch, left, top, x, y)
#endif
    EACH_BLOCK(BLOCK_AT)
#undef BLOCK_AT
#if FINE
    squares_8(samples, guide, history, noise, sums, scratch);
    squares_4(samples, guide, history, noise, sums, scratch);
    sums_divide(sums);
#endif
    sums_unclip(sums, noise);
    sums_store(result + get_group_id(2) * PLANE_SIZE, sums);
}
