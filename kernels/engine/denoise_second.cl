/* The second pass of noise reduction: a Wiener filter in the cosine transform of each block
 * (denoise_cosine.cl), with the power that the first pass has found there. Data and work-items:
 * denoise.cl. */

/* Takes the level out of a block and returns it. */
static inline float block_take_level(real *x, local float *scratch)
{
    const float level = block_level(x, scratch);
    add_level(x, -level);
    return level;
}

static inline void second_block(global const float *samples, global const float *guide,
                                global const float *past, global const float *noise,
                                local float *sums, local float *scratch, uint left, uint top, int x,
                                int y)
{
    real known[PARTS * BLOCK], block[PARTS * BLOCK];
    block_transform(block, samples, scratch, x, y);
    const float remaining = block_remaining(past, x, y);
    block_transform(known, guide, scratch, x, y);
    const float guide_level = block_take_level(known, scratch);
    const float level = block_take_level(block, scratch);
    const float floor = FLOOR * remaining * variance_at(noise, guide_level) + LEAST_FLOOR;
#if FINE
    const float4 kept = weigh(block, known, floor, scratch);
    const float sum = kept.s0 + kept.s1 + kept.s2 + kept.s3;
#else
#pragma unroll
    for (uint i = 0; i < PARTS * BLOCK; i += 2)
        weigh_two(block + i, known + i, floor);
#endif
    add_level(block, level);
    block_inverse(block, scratch);
#if FINE
    add_weighted(block, sums, left, top, weight_of(sum, BLOCK * BLOCK), synthesis, share);
#else
    block_add(block, sums, left, top);
#endif
}

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
denoise_second(global const float *restrict samples, global const float *restrict guide,
               global float *restrict result, global const float *restrict noise PAST_PARAMETERS,
               local float *sums, local float *scratch)
{
    global const float *past = PAST_FRAMES;
    samples += get_group_id(2) * PLANE_SIZE;
    noise += get_group_id(2) * NOISE_NUMBERS;
    guide += get_group_id(2) * PLANE_SIZE;
    sums_clear(sums);
#define BLOCK_AT(left, top, x, y)                                                                  \
    second_block(samples, guide, past, noise, sums, scratch, left, top, x, y)
    EACH_BLOCK(BLOCK_AT)
#undef BLOCK_AT
#if FINE
    fine_tile(samples, guide, past, noise, sums, scratch);
    sums_divide(sums);
#endif
    sums_unclip(sums, noise);
    sums_store(result + get_group_id(2) * PLANE_SIZE, sums);
}
