/* Joins the blocks of past frames that match a captured block to its transform, so that it has less
 * noise (daemon/filters/denoise.h has the maths). What moves is not joined.
 *
 * PAST frames are compiled in. Of these, `past_count` count, the nearest first; the planes of the
 * others must exist, but do not matter. Without any this costs nothing.
 * Data and work-items: denoise.cl; planes of past frames are like `samples`. */

#if PAST

#define PAST_PARAMETERS                                                                            \
    , global const float *restrict nearer, global const float *restrict farther, uint past_count
/* clang-format off */
#define PAST_FRAMES                                                                                \
    {{nearer + get_group_id(2) * PLANE_SIZE, farther + get_group_id(2) * PLANE_SIZE}, past_count}
/* clang-format on */

struct past {
    global const float *plane[2];
    uint count;
};

#define NO_NOISE     1e-12f /* prevents a division by 0 */
#define OUTLIER      3.0f   /* from here on a number counts less */
#define MATCH_SPREAD 40.5f  /* divided by the numbers that are looked at, and the root of it */

/* Returns the sum of a number of each item and lane to all items. */
static inline float block_sum(real x, local float *scratch)
{
    float sum = 0;
#if LANES == 1
    scratch[get_local_id(0)] = x;
    sync_items();
    for (uint i = 0; i < BLOCK; i++)
        sum += scratch[i];
    sync_items();
#else
    float lane[LANES];
    PASTE(vstore, LANES)(x, 0, lane);
    for (uint i = 0; i < LANES; i++)
        sum += lane[i];
#endif
    return sum;
}

/* How much a past frame counts, by its difference from the captured one at low frequencies. */
static inline float match_of(const real *difference, float scale, local float *scratch)
{
    real sum = 0;
    for (uint p = 0; p < PARTS; p++) {
        const real across = column_entry(precision_if_low, p) * scale;
#pragma unroll
        for (uint j = 0; j < BLOCK; j++) {
            const real d = difference[p * BLOCK + j];
            sum += d * d * (across * precision_if_low[j]);
        }
    }
    const float mean = block_sum(sum, scratch) / LOW_COUNT;
    return clamp(1.0f - (mean - 1.0f) / sqrt(MATCH_SPREAD / LOW_COUNT), 0.0f, 1.0f);
}

/* Returns by how much the variance of the block's noise is multiplied. */
static inline float block_join(real *x, struct past past, global const float *noise,
                               local float *scratch, int left, int top)
{
    real difference[PAST][PARTS * BLOCK];
    float match[PAST];
    const float variance = variance_at(noise, block_level(x, scratch));
    const float scale = 1.0f / max(2 * NUMBER_VARIANCE * variance, NO_NOISE);
    float sum = 1, squares = 1;
#pragma unroll
    for (uint f = 0; f < PAST; f++) {
        block_transform(difference[f], past.plane[f], scratch, left, top);
#pragma unroll
        for (uint i = 0; i < PARTS * BLOCK; i++)
            difference[f][i] -= x[i];
        const float found = match_of(difference[f], scale, scratch);
        match[f] = f < past.count ? found : 0;
        sum += match[f];
        squares += match[f] * match[f];
    }
    if (sum == 1)
        return 1;
    for (uint p = 0; p < PARTS; p++) {
        const real across = column_entry(precision, p) * scale;
#pragma unroll
        for (uint j = 0; j < BLOCK; j++) {
            real weights = 1, change = 0;
#pragma unroll
            for (uint f = 0; f < PAST; f++) {
                const real d = difference[f][p * BLOCK + j];
                const real q = d * d * (across * precision[j]);
                const real weight = match[f] * OUTLIER / max(q, (real)OUTLIER);
                weights += weight;
                change += weight * d;
            }
            x[p * BLOCK + j] += change / weights;
        }
    }
    return squares / (sum * sum);
}

#else

#define PAST_PARAMETERS
/* clang-format off */
#define PAST_FRAMES {0}
/* clang-format on */

struct past {
    uint count;
};

static inline float block_join(real *x, struct past past, global const float *noise,
                               local float *scratch, int left, int top)
{
    return 1;
}

#endif
