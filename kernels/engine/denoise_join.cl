/* Joins the blocks of a captured frame to those of the past where they came from, so that they have
 * less noise (daemon/filters/denoise.h has the maths). The blocks have 16 x 16 samples and overlap
 * by half.
 *
 * Data: histories and vectors: denoise_motion.cl. Work-items: denoise.cl. Launched by
 * denoiser_motion_enqueue (daemon/engine/denoiser/denoiser_motion.c). */

#define SPREAD           1.0f          /* samples by which vectors differ that are not blended */
#define CLEARLY          0.999f        /* the first of two blocks that mirror each other is taken */
#define INDEPENDENT      (4.0f / 9.0f) /* numbers of a windowed block, of each */
#define TAPS             6
#define LEVEL_NOISE      0.006f /* variance of a block's level, relative to that of its samples */
#define BIAS_NOISE       0.3f /* variance of a bias, relative to a level's, if the past has no noise */
#define LOW_COUNT        16.0f
#define MIDDLE_COUNT     48.0f
#define HIGH_COUNT       192.0f

/* How surely the scene is still (stillness_of), and limits that grow with it: LIMIT + LIMIT_STILL *
 * stillness. Chosen with seeds 1000 to 1002 of tests/bench/denoise_motion.py
 * (docs/results/2026-11-28-denoise-peers.md). */
#define STILL_RATE       0.2f
#define STILL_COST       40.0f /* variances by which a motion must improve a block of a still scene */
#define MOST_LIT         0.3f /* share of blocks with changed light, above which nothing is still */
#define EXCESS           2.0f /* standard deviations by which a mean square may exceed 1 as noise */
#define EXCESS_STILL     3.0f
#define MISFIT_STILL     2.4f  /* the same for the mean over frames; elsewhere 0 */
#define OUTLIER          18.0f /* a number whose square exceeds this counts less */
#define OUTLIER_STILL    20.0f
#define OUTLIER_PART     0.2f   /* added to its excess, for each unit beyond that */
#define MISFIT_KEPT      0.75f  /* weight of the previous frames in that mean */
#define MISFIT_SPREAD    0.378f /* its standard deviation, relative to that of one frame */
#define BIAS_KEPT        0.5f   /* weight of the previous frame's bias */
#define BIAS_KEPT_STILL  0.3f
#define BIAS_CLEAR       0.4f /* a bias is corrected if its square exceeds its variance times this */
#define BIAS_CLEAR_STILL 0.8f
#define BIAS_KEPT_LIT    0.15f /* instead, if the light has changed */
#define GAIN_CLEAR       4.0f  /* then the block's texture is scaled, too, as BIAS_CLEAR says it */
#define BIAS_GOES_ON     0.5f  /* part of a correction that is expected again in the next frame */

/* ---- where a block comes from ---- */

static inline float block_difference(global const float *samples, global const float *past, int top,
                                     int left, float2 moved, local float *scratch)
{
    const int2 by = whole_of(moved);
    const struct search s = {samples, past, IMAGE_WIDTH, IMAGE_HEIGHT, PLANE_PITCH,
                             top,     left, BLOCK,       scratch};
    return cost_of(&s, by);
}

/* The vector of a block: between those around its middle, or the best of them where they differ. */
static inline float2 vector_of(global const float4 *vectors, global const float *samples,
                               global const float *past, int top, int left, local float *scratch)
{
    const float y = (top + BLOCK / 2) / (float)level_spacing[0];
    const float x = (left + BLOCK / 2) / (float)level_spacing[0];
    const int rows = level_rows[0], columns = level_columns[0];
    const int row = min((int)y, max(rows - 2, 0)), column = min((int)x, max(columns - 2, 0));
    const int below = min(row + 1, rows - 1), next = min(column + 1, columns - 1);
    const float2 near[4] = {vectors[row * columns + column].xy, vectors[row * columns + next].xy,
                            vectors[below * columns + column].xy,
                            vectors[below * columns + next].xy};
    const float down = min(y - row, 1.0f), right = min(x - column, 1.0f);
    const float2 blend = mix(mix(near[0], near[1], right), mix(near[2], near[3], right), down);
    const float2 mean = rint(blend * STEPS) / STEPS;
    float spread = 0;
    for (int i = 0; i < 4; i++) {
        const float2 apart = fabs(near[i] - mean);
        spread = max(spread, max(apart.x, apart.y));
    }
    if (spread <= SPREAD)
        return mean;
    float2 best = 0;
    float least = block_difference(samples, past, top, left, best, scratch);
    for (int i = 0; i < 4; i++) {
        const float cost = block_difference(samples, past, top, left, near[i], scratch);
        if (cost < CLEARLY * least) {
            least = cost;
            best = near[i];
        }
    }
    return best;
}

/* ---- between samples ---- */

/* The weights of samples -2 .. 3 for a place `at` after sample 0: a sinc of three lobes. */
static inline void find_taps(float *tap, float at)
{
    float sum = 0;
    for (int i = 0; i < TAPS; i++) {
        const float x = fabs(i - 2 - at);
        tap[i] = x < 1e-6f ? 1.0f
                 : x >= 3  ? 0.0f
                           : sinpi(x) * sinpi(x / 3) * 3 / (M_PI_F * M_PI_F * x * x);
        sum += tap[i];
    }
    for (int i = 0; i < TAPS; i++)
        tap[i] /= sum;
}

/* Loads the block that has moved to a place, and applies the window. */
static inline void block_fetch(real *x, global const float *plane, int left, int top, float2 moved)
{
    const float2 from = (float2)(top, left) - moved, whole = floor(from);
    const int2 at = convert_int2(whole);
    if (from.x == whole.x && from.y == whole.y) {
        block_load(x, plane, at.y, at.x);
        return;
    }
    float down[TAPS], across[TAPS];
    find_taps(down, from.x - whole.x);
    find_taps(across, from.y - whole.y);
    const bool is_inside = at.y >= 2 && at.y + BLOCK + 3 <= IMAGE_WIDTH;
    for (uint p = 0; p < PARTS; p++) {
        real row[BLOCK + TAPS - 1];
#pragma unroll
        for (int j = 0; j < BLOCK + TAPS - 1; j++) {
            global const float *line = plane + mirrored(at.x - 2 + j, IMAGE_HEIGHT) * PLANE_PITCH;
            const int column = at.y - 2 + (int)COLUMN(p);
            row[j] = 0;
#pragma unroll
            for (int i = 0; i < TAPS; i++)
                row[j] += across[i] * samples_from(line, column + i, IMAGE_WIDTH, is_inside);
        }
        const real side = column_entry(window, p);
#pragma unroll
        for (uint j = 0; j < BLOCK; j++) {
            real sum = 0;
#pragma unroll
            for (uint i = 0; i < TAPS; i++)
                sum += down[i] * row[j + i];
            x[p * BLOCK + j] = sum * (side * window[j]);
        }
    }
}

/* ---- still scenes ---- */

/* Returns whether the light has changed: most blocks that tell became brighter, or darker. */
static inline bool light_changes(global const uint *counts)
{
    return abs((int)counts[LIT_BLOCKS]) > MOST_LIT * counts[LARGE_BLOCKS];
}

/* Returns how surely the scene is still, 0 .. 1: from the logarithm of the ratio of still blocks
 * with texture to moved ones. It is 0 if the light has changed. */
static inline float stillness_of(global const uint *counts)
{
    const float still = counts[STILL_BLOCKS], moving = counts[CLEAR_BLOCKS] - still;
    return light_changes(counts) ? 0
                                 : clamp(STILL_RATE * log((still + 1) / (moving + 1)), 0.0f, 1.0f);
}

/* Returns the sum of the squares of the differences of two blocks. */
static inline float square_difference(const real *x, const real *y, local float *scratch)
{
    real sum = 0;
    for (uint i = 0; i < PARTS * BLOCK; i++)
        sum += (x[i] - y[i]) * (x[i] - y[i]);
    return group_sum(sum, scratch);
}

/* Loads the past of the block at (x, y), and transforms it. Returns how it has moved. Where the
 * scene rests, a motion must improve the block more than noise would. */
static inline float2 block_past(real *past, const real *block, global const float *plane,
                                global const float *history, global const float4 *vectors,
                                global const float *samples, global const float *noise,
                                float stillness, local float *scratch, int x, int y)
{
    const float2 moved = vector_of(vectors, samples, plane, y, x, scratch);
    block_fetch(past, plane, x, y, moved);
    block_forward(past, scratch);
    if (stillness == 0 || (moved.x == 0 && moved.y == 0))
        return moved;
    real same[PARTS * BLOCK];
    block_transform(same, plane, scratch, x, y);
    const float unit = NUMBER_VARIANCE * variance_at(noise, block_level(past, scratch)) *
                       (1 + remaining_at(history, y + BLOCK / 2, x + BLOCK / 2));
    if (square_difference(same, block, scratch) >
        square_difference(past, block, scratch) + STILL_COST * stillness * unit)
        return moved;
    for (uint i = 0; i < PARTS * BLOCK; i++)
        past[i] = same[i];
    return 0;
}

/* ---- the join ---- */

/* Returns the variance beyond that of noise, from the mean square of `count` numbers. `misfit` is
 * that of the frames before, and is updated: what this frame replaces of the past no longer counts.
 */
static inline float excess_of(float mean, float count, float stillness, float *misfit)
{
    const float deviation = sqrt(2.0f / (INDEPENDENT * count));
    const float kept = mix(mean - 1.0f, *misfit, MISFIT_KEPT);
    const float now = mean - 1.0f - (EXCESS + EXCESS_STILL * stillness) * deviation;
    const float long_since = kept - MISFIT_STILL * stillness * MISFIT_SPREAD * deviation;
    const float ret = max(max(now, long_since), 0.0f);
    *misfit = kept / (1 + ret);
    return ret;
}

/* Joins the past to a block. `left_in_past` is the noise that is left there. `misfit` has one of
 * each band. Returns the noise of the result. */
static inline float block_join(real *x, const real *past, float left_in_past,
                               global const float *noise, float stillness, float *misfit,
                               local float *scratch)
{
    const float variance = max(variance_at(noise, block_level(past, scratch)), 1e-6f);
    const float scale = 1.0f / (NUMBER_VARIANCE * variance * (1 + left_in_past));
    const float outlier = OUTLIER + OUTLIER_STILL * stillness;
    real few = 0, more = 0, all = 0; /* numbers below a quarter, below half, of each axis */
    for (uint p = 0; p < PARTS; p++) {
        const real quarter = column_entry(first_quarter, p), half_ = column_entry(first_half, p);
#pragma unroll
        for (uint j = 0; j < BLOCK; j++) {
            const real d = past[p * BLOCK + j] - x[p * BLOCK + j], q = d * d * scale;
            few += j < BLOCK / 4 ? q * quarter : (real)0;
            more += j < BLOCK / 2 ? q * half_ : (real)0;
            all += q;
        }
    }
    const float low = group_sum(few, scratch), middle = group_sum(more, scratch) - low;
    const float high = group_sum(all, scratch) - middle - low;
    if (!isfinite(high)) /* or what is not a number once would stay for ever */
        return 1;
    const float low_excess = excess_of(low / LOW_COUNT, LOW_COUNT, stillness, misfit);
    const float middle_excess =
        low_excess + excess_of(middle / MIDDLE_COUNT, MIDDLE_COUNT, stillness, misfit + 1);
    const float high_excess =
        low_excess + excess_of(high / HIGH_COUNT, HIGH_COUNT, stillness, misfit + 2);
    real remaining = 0;
    for (uint p = 0; p < PARTS; p++) {
        const real quarter = column_entry(first_quarter, p), half_ = column_entry(first_half, p);
        const real beyond = high_excess - half_ * (high_excess - middle_excess);
        const real within = beyond - quarter * (middle_excess - low_excess);
#pragma unroll
        for (uint j = 0; j < BLOCK; j++) {
            const real d = past[p * BLOCK + j] - x[p * BLOCK + j], q = d * d * scale;
            const real excess = (j < BLOCK / 4   ? within
                                 : j < BLOCK / 2 ? beyond
                                                 : (real)high_excess) +
                                OUTLIER_PART * max(q - outlier, (real)0);
            const real gain = 1.0f / ((1 + left_in_past) * (1 + excess));
            x[p * BLOCK + j] += gain * d;
            remaining += (1 - gain) * (1 - gain) + gain * gain * left_in_past;
        }
    }
    return clamp(group_sum(remaining, scratch) / (BLOCK * BLOCK), 1.0f / (1 + PAST), 1.0f);
}

/* Subtracts the bias of a past block's level from the block, and scales the block's texture as its
 * level if the light has changed. `bias` is the one that the previous frame expected. Returns the
 * one that is expected in the next frame. */
static inline float block_correct_light(real *past, const real *x, float bias, bool is_lit,
                                        float left_in_past, global const float *noise,
                                        float stillness, local float *scratch)
{
    const float level = block_level(past, scratch);
    const float kept = is_lit ? BIAS_KEPT_LIT : BIAS_KEPT + BIAS_KEPT_STILL * stillness;
    const float now = mix(level - block_level(x, scratch), bias, kept);
    const float expected = LEVEL_NOISE * variance_at(noise, level) * (BIAS_NOISE + left_in_past);
    const float part =
        1 -
        min((BIAS_CLEAR + BIAS_CLEAR_STILL * stillness) * expected / max(now * now, 1e-12f), 1.0f);
    if (!isfinite(now)) /* or it would stay for ever */
        return 0;
    const float sure = is_lit ? 1 - min(GAIN_CLEAR * expected / max(now * now, 1e-12f), 1.0f) : 0;
    const float gain = clamp(1 - sure * now / max(level, 1.0f), 0.5f, 2.0f);
    for (uint i = 0; i < PARTS * BLOCK; i++)
        past[i] *= gain;
    add_level(past, (1 - gain) * level - part * now);
    return now - (1 - BIAS_GOES_ON) * part * now;
}

static inline void join_block(global const float *samples, global const float *past,
                              global const float *past_history, global float *history,
                              global const float4 *vectors, global const float *noise,
                              bool has_past, float stillness, bool is_lit, local float *sums,
                              local float *scratch, uint left, uint top, int x, int y)
{
    real block[PARTS * BLOCK];
    float remaining = 1, bias = 0, misfit[BANDS] = {0};
    block_transform(block, samples, scratch, x, y);
    if (has_past) {
        real before[PARTS * BLOCK];
        const float2 moved = block_past(before, block, past, past_history, vectors, samples, noise,
                                        stillness, scratch, x, y);
        const float2 from = (float2)(y, x) + BLOCK / 2 - moved;
        const float left_in_past = remaining_at(past_history, from.x, from.y);
        bias =
            block_correct_light(before, block, mean_around(past_history, BIAS_AT, from.x, from.y),
                                is_lit, left_in_past, noise, stillness, scratch);
        for (uint i = 0; i < BANDS; i++)
            misfit[i] = number_at(past_history, MISFIT_AT + i * REMAINING_COLUMNS * REMAINING_ROWS,
                                  from.x, from.y);
        remaining = block_join(block, before, left_in_past, noise, stillness, misfit, scratch);
    }
    block_inverse(block, scratch);
    block_add(block, sums, left, top);
    /* The tile that contains the block's middle stores its remaining noise and its bias. */
    const bool is_last_x = (get_group_id(0) + 1) * TILE_X >= IMAGE_WIDTH;
    const bool is_last_y = (get_group_id(1) + 1) * TILE_Y >= IMAGE_HEIGHT;
    if ((left < TILE_X || is_last_x) && (top < TILE_Y || is_last_y) && get_local_id(0) == 0) {
        global float *cell = history + BATCH * PLANE_SIZE + get_group_id(2) * HISTORY_REST +
                             (y + EDGE) / REMAINING_HOP * REMAINING_COLUMNS +
                             (x + EDGE) / REMAINING_HOP;
        cell[REMAINING_AT] = remaining;
        cell[BIAS_AT] = bias;
        for (uint i = 0; i < BANDS; i++)
            cell[MISFIT_AT + i * REMAINING_COLUMNS * REMAINING_ROWS] = misfit[i];
    }
}

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
denoise_join(global const float *samples, global float *history, global const float *past_history,
             global const float *noise, global const float4 *vectors, global const uint *counts,
             uint has_past, local float *sums, local float *scratch)
{
    const uint image = get_group_id(2);
    counts += image * COUNTS;
    const bool is_known = has_past && counts[FAILED_BLOCKS] <= MOST_FAILED * counts[CLEAR_BLOCKS];
    const float stillness = stillness_of(counts);
    const bool is_lit = light_changes(counts);
    samples += image * PLANE_SIZE;
    noise += image * NOISE_NUMBERS;
    vectors += image * VECTORS;
    sums_clear(sums);
#define BLOCK_AT(left, top, x, y)                                                                  \
    join_block(samples, past_history + image * PLANE_SIZE, past_history, history, vectors, noise,  \
               is_known, stillness, is_lit, sums, scratch, left, top, x, y)
    EACH_BLOCK(BLOCK_AT)
#undef BLOCK_AT
    sums_store(history + image * PLANE_SIZE, sums);
}
