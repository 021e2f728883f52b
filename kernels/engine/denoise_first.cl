/* The first pass of noise reduction: a Wiener filter in the Fourier transform of each block. Data
 * and work-items: denoise.cl. */

#if !FINE
static inline void block_weigh(real *x, local float *scratch, float floor)
{
#if LANES == 1
    real other[BLOCK];
    exchange(other, x, BLOCK, BLOCK / 2, scratch);
    weigh_numbers(x, other, BLOCK, floor);
#else
    real has_partner = 1.0f;
    real other[BLOCK];
#if BLOCK == LANES
    has_partner.s0 = 0;
    has_partner.s8 = 0;
#pragma unroll
    for (uint j = 0; j < BLOCK; j++)
        other[j] = (real)(x[j].hi, x[j].lo) * has_partner;
    weigh_numbers(x, other, BLOCK, floor);
#else
    for (uint p = 0; p < PARTS / 2; p++) {
        real *low = x + p * BLOCK, *high = x + (p + PARTS / 2) * BLOCK;
        real low_before[BLOCK];
        has_partner.s0 = p > 0;
#pragma unroll
        for (uint j = 0; j < BLOCK; j++) {
            other[j] = high[j] * has_partner;
            low_before[j] = low[j] * has_partner;
        }
        weigh_numbers(low, other, BLOCK, floor);
        weigh_numbers(high, low_before, BLOCK, floor);
    }
#endif
#endif
}

static inline void first_block(global const float *samples, global const float *noise,
                               local float *sums, local float *scratch, uint left, uint top, int x,
                               int y)
{
    real block[PARTS * BLOCK];
    block_transform(block, samples, scratch, x, y);
    const float level = block_level(block, scratch);
    add_level(block, -level);
    block_weigh(block, scratch, FLOOR * variance_at(noise, level));
    add_level(block, level);
    block_inverse(block, scratch);
    block_add(block, sums, left, top);
}
#endif

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
denoise_first(global const float *restrict samples, global float *restrict result,
              global const float *restrict noise PAST_PARAMETERS, local float *sums,
              local float *scratch)
{
    samples += get_group_id(2) * PLANE_SIZE;
    noise += get_group_id(2) * NOISE_NUMBERS;
    sums_clear(sums);
#if FINE
#define BLOCK_AT(left, top, x, y)                                                                  \
    PASTE(square_, BLOCK)(samples, 0, history, noise, sums, scratch, left, top, x, y)
#else
#define BLOCK_AT(left, top, x, y) first_block(samples, noise, sums, scratch, left, top, x, y)
#endif
    EACH_BLOCK(BLOCK_AT)
#undef BLOCK_AT
#if FINE
    squares_8(samples, 0, history, noise, sums, scratch);
    sums_divide(sums);
#endif
    sums_unclip(sums, noise);
    sums_store(result + get_group_id(2) * PLANE_SIZE, sums);
}
