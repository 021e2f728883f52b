/* The first pass of noise reduction: a Wiener filter in the Fourier transform of each block. Data
 * and work-items: denoise.cl. */

/* ---- the gain ----
 *
 * After the transform along both axes number j of lane l belongs to frequency j along x and l along
 * y, or to an imaginary part of it (denoise_dft.cl). Let P and Q be the transforms along x of the
 * real and of the imaginary parts along y, which are in lanes l and BLOCK/2 + l. The block's
 * transform is F = P + i Q at (kx, ky), and conj(P - i Q) at (-kx, ky). Each gets its own gain g
 * and h, so P becomes (g + h) / 2 P + (g - h) / 2 i Q, and Q becomes (g + h) / 2 Q + (h - g) / 2 i
 * P. Lanes 0 and BLOCK/2 have a real frequency along y each, and no Q. */

#define SMALLEST 1e-24f /* prevents a division by 0 of what is 0 itself */

struct gains {
    real same, crossed; /* (g + h) / 2, (g - h) / 2 */
};

/* One division serves both: floor / a = (floor / (a b)) b. */
static inline struct gains gains_of(real power, real mirrored_power, float floor)
{
    const real quotient = floor / max(power * mirrored_power, SMALLEST);
    const real g = max(1.0f - quotient * mirrored_power, 0.0f);
    const real h = max(1.0f - quotient * power, 0.0f);
    struct gains ret;
    ret.same = 0.5f * (g + h);
    ret.crossed = 0.5f * (g - h);
    return ret;
}

/* Weighs numbers j and BLOCK/2 + j; `other_...` are those of the other lane of the pair. */
static inline void weigh_complex(real *re, real *im, real other_re, real other_im, float floor)
{
    const real a = *re - other_im, b = *im + other_re, c = *re + other_im, d = *im - other_re;
    const struct gains gains = gains_of(a * a + b * b, c * c + d * d, floor);
    const real old = *re;
    *re = gains.same * old - gains.crossed * other_im;
    *im = gains.same * *im + gains.crossed * other_re;
}

static inline void weigh_real(real *x, real other, float floor)
{
    *x *= max(1.0f - floor / max(*x * *x + other * other, SMALLEST), 0.0f);
}

/* Weighs a whole part; `other` is the part with the other lanes. */
static inline void weigh_part(real *x, const real *other, float floor)
{
    const real other_first = other[0], other_last = other[BLOCK / 2];
    weigh_real(&x[0], other_first, floor);
    weigh_real(&x[BLOCK / 2], other_last, floor);
#pragma unroll
    for (uint j = 1; j < BLOCK / 2; j++)
        weigh_complex(&x[j], &x[BLOCK / 2 + j], other[j], other[BLOCK / 2 + j], floor);
}

static inline void block_weigh(real *x, local float *scratch, float floor)
{
#if LANES == 1
    real other[BLOCK];
    exchange(other, x, BLOCK, scratch);
    weigh_part(x, other, floor);
#else
    real has_partner = 1.0f;
    real other[BLOCK];
#if BLOCK == LANES
    has_partner.s0 = 0;
    has_partner.s8 = 0;
#pragma unroll
    for (uint j = 0; j < BLOCK; j++)
        other[j] = (real)(x[j].hi, x[j].lo) * has_partner;
    weigh_part(x, other, floor);
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
        weigh_part(low, other, floor);
        weigh_part(high, low_before, floor);
    }
#endif
#endif
}

/* ---- the pass ---- */

static inline void first_block(global const float *samples, global const float *past,
                               global const float *noise, local float *sums, local float *scratch,
                               uint left, uint top, int x, int y)
{
    real block[PARTS * BLOCK];
    block_transform(block, samples, scratch, x, y);
    const float remaining = block_remaining(past, x, y);
    const float level = block_level(block, scratch);
    add_level(block, -level);
    block_weigh(block, scratch, FLOOR * remaining * variance_at(noise, level));
    add_level(block, level);
    block_inverse(block, scratch);
    block_add(block, sums, left, top);
}

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
denoise_first(global const float *restrict samples, global float *restrict result,
              global const float *restrict noise PAST_PARAMETERS, local float *sums,
              local float *scratch)
{
    global const float *past = PAST_FRAMES;
    samples += get_group_id(2) * PLANE_SIZE;
    noise += get_group_id(2) * NOISE_NUMBERS;
    sums_clear(sums);
#define BLOCK_AT(left, top, x, y) first_block(samples, past, noise, sums, scratch, left, top, x, y)
    EACH_BLOCK(BLOCK_AT)
#undef BLOCK_AT
    sums_unclip(sums, noise);
    sums_store(result + get_group_id(2) * PLANE_SIZE, sums);
}
