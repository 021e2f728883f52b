/* Joins the blocks of a frame to those of a stack by their spectra (daemon/filters/stack.h).
 *
 *   stack_move       samples -> moved    where the stack's first frame has them
 *   stack_weigh      moved -> blocks     joins each block, and transforms the stack's block back
 *   stack_gather     blocks -> result    adds up blocks that overlap
 *
 * Blocks have BLOCK x BLOCK samples, overlap by half, and begin EDGE samples before the image. They
 * are windowed as those of denoise.cl.
 *
 * Data: `state` has three parts for each block of each image: its mean spectrum, in the order of
 * its registers; the logarithm to base 2 of the sum of weights of each frequency; and the mean
 * power of its highest frequencies, padded to the longest vector. `blocks` has the samples of each
 * block, row by row. `settings` and `similarity`: stack.cl. `count` frames are in the stack.
 *
 * Powers, weights and logarithms have one number for each frequency: number j of lane l is that of
 * (j, l) for l = 0 .. BLOCK/2, and of (j, BLOCK/2 - l) for the lanes above, j = 0 .. BLOCK/2. The
 * spectrum itself has combinations of both (denoise_first.cl).
 *
 * Work-items: a group of stack_weigh has a block, and items as in denoise.cl; those of the other
 * kernels are as in stack.cl. Launched by daemon/engine/stack.c. */

#define HALF_BLOCK  (BLOCK / 2)
#define POWER_SPAN  (HALF_BLOCK + 1 + 2 * SPREAD) /* of the frequencies of one sign along y */
#define POWER_ROW   (2 * POWER_SPAN)
#define STATE_SIZE  (BLOCK * BLOCK + (HALF_BLOCK + 1) * BLOCK + 16)
#define HIGH        (3 * BLOCK / 8) /* frequencies from here on along both axes are high */
#define DOUBT       8.0f            /* times the power of high frequencies is added to every one */
#define LEAST_POWER 1e-6f
#define NOTHING     -1e30f /* the logarithm of a weight of zero */

/* Weights with which powers are smoothed along each axis: of a frequency, and of its neighbours. */
constant float spread[SPREAD + 1] = {0.5f, 0.25f};

/* ---- powers ---- */

/* Returns the powers of number j of a part. `other` is the part of the opposite sign along y, and 0
 * in lanes that have none. */
static inline real power_at(const real *x, const real *other, uint j)
{
    if (j == 0 || j == HALF_BLOCK)
        return x[j] * x[j] + other[j] * other[j];
    const real a = x[j] - other[HALF_BLOCK + j], b = x[HALF_BLOCK + j] + other[j];
    return a * a + b * b;
}

static inline local float *power_row(local float *powers, uint j, bool is_negative)
{
    return powers + j * POWER_ROW + is_negative * POWER_SPAN + SPREAD;
}

/* Adds the neighbours at the ends of a row, which is periodic. Until then, place 0 of the negative
 * frequencies has the power of BLOCK/2. */
static inline void complete_row(local float *powers, uint j)
{
    local float *positive = power_row(powers, j, false), *negative = power_row(powers, j, true);
    positive[HALF_BLOCK] = negative[HALF_BLOCK] = negative[0];
    negative[0] = positive[0];
    for (int i = 1; i <= SPREAD; i++) {
        positive[-i] = negative[i];
        negative[-i] = positive[i];
        positive[HALF_BLOCK + i] = negative[HALF_BLOCK - i];
        negative[HALF_BLOCK + i] = positive[HALF_BLOCK - i];
    }
}

/* Returns row j + i of the powers, which are the same at opposite frequencies. */
static inline local const float *row_beside(local float *powers, uint j, int i, bool is_negative)
{
    const int row = (int)j + i, inside = row < 0            ? -row
                                         : row > HALF_BLOCK ? 2 * HALF_BLOCK - row
                                                            : row;
    return power_row(powers, (uint)inside, is_negative != (row != inside));
}

/* Adds the smoothed powers of row j to `ret`, from place `at` along y on. `load` reads them. */
#define SMOOTHED(ret, load, j, is_negative, at)                                                    \
    for (int i = -SPREAD; i <= SPREAD; i++) {                                                      \
        local const float *row = row_beside(powers, j, i, is_negative) + (at);                     \
        for (int k = -SPREAD; k <= SPREAD; k++)                                                    \
            ret += spread[i < 0 ? -i : i] * spread[k < 0 ? -k : k] * load(row + k);                \
    }

/* Returns the smoothed powers of number j of part p. */
static inline real smoothed_power(local float *powers, uint p, uint j)
{
#if LANES == 1
    const uint item = get_local_id(0);
    const bool is_negative = item > HALF_BLOCK;
    real ret = 0;
    SMOOTHED(ret, *, j, is_negative, is_negative ? item - HALF_BLOCK : item)
    return ret;
#else
    const bool is_negative = p >= PARTS / 2;
    real ret = 0;
    SMOOTHED(ret, LOAD, j, is_negative, p % (PARTS / 2) * LANES)
    if (p == PARTS / 2) {
        float last = 0;
        SMOOTHED(last, *, j, false, HALF_BLOCK)
        ret.s0 = last;
    }
    return ret;
#endif
}

/* Returns the mean power of high frequencies. */
static inline float high_power(local float *powers)
{
    float sum = 0;
    for (uint j = HIGH; j <= HALF_BLOCK; j++)
        for (uint k = HIGH; k <= HALF_BLOCK; k++)
            sum += power_row(powers, j, false)[k] +
                   (k < HALF_BLOCK ? power_row(powers, j, true)[k] : 0);
    return sum / ((HALF_BLOCK + 1 - HIGH) * (2 * (HALF_BLOCK - HIGH) + 1));
}

/* ---- the join ---- */

#if LANES == 1
#define MEAN_AT(p, j)   ((j)*BLOCK + get_local_id(0))
#define WEIGHT_AT(p, j) MEAN_AT(p, j)
#else
#define MEAN_AT(p, j)   (((p)*BLOCK + (j)) * LANES)
#define WEIGHT_AT(p, j) (((p) * (HALF_BLOCK + 1) + (j)) * LANES)
#endif

struct join {
    bool begins;
    float half_power; /* of the exponent */
    float faded;      /* added to the logarithms of the earlier weights */
    float floor;      /* added to every power */
};

/* Adds the frame's weights of number j to the sums, and returns its share of them. */
static inline real gain_at(local float *powers, uint p, uint j, bool is_shown,
                           global float *weights, const struct join *join)
{
    const real power = smoothed_power(powers, p, j) + join->floor;
    const real weight = is_shown ? join->half_power * log2(power) : (real)NOTHING;
    global float *at = weights + WEIGHT_AT(p, j);
    const real before = join->begins ? (real)NOTHING : LOAD(at) + join->faded;
    const real most = fmax(before, weight);
    const real sum = most + log2((real)1 + exp2(fmin(before, weight) - most));
    STORE(sum, at);
    return join->begins ? (real)1 : exp2(weight - sum);
}

/* Turns x, a part of the frame's spectrum, into the new mean. d: x minus the mean before. */
static inline void join_part(real *x, const real *d, const real *other_d, const real *gain,
                             const real *other_gain, real has_other)
{
    x[0] += (gain[0] - 1) * d[0];
    x[HALF_BLOCK] += (gain[HALF_BLOCK] - 1) * d[HALF_BLOCK];
#pragma unroll
    for (uint j = 1; j < HALF_BLOCK; j++) {
        const real crossed = 0.5f * has_other * (gain[j] - other_gain[j]);
        const real same = gain[j] - crossed;
        const uint im = HALF_BLOCK + j;
        x[j] += (same - 1) * d[j] - crossed * other_d[im];
        x[im] += (same - 1) * d[im] + crossed * other_d[j];
    }
}

static inline void find_differences(real *d, const real *x, global const float *mean, uint p,
                                    const struct join *join)
{
#pragma unroll
    for (uint j = 0; j < BLOCK; j++)
        d[j] = join->begins ? (real)0 : x[j] - LOAD(mean + MEAN_AT(p, j));
}

#if LANES == 1

/* Gets the numbers of the item BLOCK/2 further, or 0 if there is no such item. */
static inline void exchange(real *other, const real *x, uint count, local float *scratch)
{
    const uint item = get_local_id(0), partner = (item + HALF_BLOCK) % BLOCK;
    const float has_other = item % HALF_BLOCK != 0;
    for (uint j = 0; j < count; j++)
        scratch[j * SCRATCH_ROW + item] = x[j];
    sync_items();
    for (uint j = 0; j < count; j++)
        other[j] = scratch[j * SCRATCH_ROW + partner] * has_other;
    sync_items();
}

static inline void find_powers(local float *powers, const real *x, local float *scratch)
{
    const uint item = get_local_id(0);
    real other[BLOCK];
    exchange(other, x, BLOCK, scratch);
    for (uint j = 0; j <= HALF_BLOCK; j++)
        power_row(powers, j, item >= HALF_BLOCK)[item % HALF_BLOCK] = power_at(x, other, j);
}

static inline void join_all(real *x, local float *powers, bool is_shown, global float *mean,
                            global float *weights, local float *scratch, const struct join *join)
{
    real d[BLOCK], other_d[BLOCK], gain[HALF_BLOCK + 1], other_gain[HALF_BLOCK + 1];
    for (uint j = 0; j <= HALF_BLOCK; j++)
        gain[j] = gain_at(powers, 0, j, is_shown, weights, join);
    find_differences(d, x, mean, 0, join);
    exchange(other_d, d, BLOCK, scratch);
    exchange(other_gain, gain, HALF_BLOCK + 1, scratch);
    join_part(x, d, other_d, gain, other_gain, get_local_id(0) % HALF_BLOCK != 0);
}

#else

static inline void find_powers(local float *powers, const real *x, local float *scratch)
{
    (void)scratch;
    for (uint p = 0; p < PARTS / 2; p++) {
        const real *low = x + p * BLOCK, *high = x + (p + PARTS / 2) * BLOCK;
        real has_other = 1, other_low[BLOCK], other_high[BLOCK];
        has_other.s0 = p > 0;
#pragma unroll
        for (uint j = 0; j < BLOCK; j++) {
            other_low[j] = low[j] * has_other;
            other_high[j] = high[j] * has_other;
        }
#pragma unroll
        for (uint j = 0; j <= HALF_BLOCK; j++) {
            STORE(power_at(low, other_high, j), power_row(powers, j, false) + p * LANES);
            STORE(power_at(high, other_low, j), power_row(powers, j, true) + p * LANES);
        }
    }
}

static inline void join_all(real *x, local float *powers, bool is_shown, global float *mean,
                            global float *weights, local float *scratch, const struct join *join)
{
    (void)scratch;
    for (uint p = 0; p < PARTS / 2; p++) {
        const uint q = p + PARTS / 2;
        real *low = x + p * BLOCK, *high = x + q * BLOCK;
        real d_low[BLOCK], d_high[BLOCK], gain_low[HALF_BLOCK + 1], gain_high[HALF_BLOCK + 1];
        real has_other = 1;
        has_other.s0 = p > 0;
#pragma unroll
        for (uint j = 0; j <= HALF_BLOCK; j++) {
            gain_low[j] = gain_at(powers, p, j, is_shown, weights, join);
            gain_high[j] = gain_at(powers, q, j, is_shown, weights, join);
        }
        find_differences(d_low, low, mean, p, join);
        find_differences(d_high, high, mean, q, join);
        join_part(low, d_low, d_high, gain_low, gain_high, has_other);
        join_part(high, d_high, d_low, gain_high, gain_low, has_other);
    }
}

#endif

static inline void load_mean(real *x, global const float *mean)
{
    for (uint p = 0; p < PARTS; p++)
        for (uint j = 0; j < BLOCK; j++)
            x[p * BLOCK + j] = LOAD(mean + MEAN_AT(p, j));
}

static inline void store_mean(const real *x, global float *mean)
{
    for (uint p = 0; p < PARTS; p++)
        for (uint j = 0; j < BLOCK; j++)
            STORE(x[p * BLOCK + j], mean + MEAN_AT(p, j));
}

/* Returns whether a frame shows a place of the stack, give or take half a sample. */
static inline bool is_place_shown(global const float *m, float x, float y)
{
    const float u = m[0] * x + m[1] * y + m[2], v = m[3] * x + m[4] * y + m[5];
    return u >= -0.5f && v >= -0.5f && u <= IMAGE_WIDTH - 0.5f && v <= IMAGE_HEIGHT - 0.5f;
}

static inline bool is_block_shown(global const float *m, int left, int top)
{
    const float x = max(left, 0), right = min(left + BLOCK, IMAGE_WIDTH) - 1;
    const float y = max(top, 0), bottom = min(top + BLOCK, IMAGE_HEIGHT) - 1;
    return is_place_shown(m, x, y) && is_place_shown(m, right, y) && is_place_shown(m, x, bottom) &&
           is_place_shown(m, right, bottom);
}

/* ---- the kernels ---- */

kernel void stack_move(global const float *restrict samples,
                       global const float *restrict similarity, global float *restrict moved)
{
    const uint y = get_global_id(1);
    const size_t image = (size_t)get_global_id(2) * PLANE_SIZE;
    for (uint x = get_global_id(0) * LANES; x < IMAGE_WIDTH; x += get_global_size(0) * LANES) {
        real inside;
        const real sample = sample_for(samples + image, similarity, x, y, &inside);
        STORE(sample, moved + image + (size_t)y * PLANE_PITCH + x);
    }
}

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
stack_weigh(global const float *restrict moved, global const float *restrict similarity,
            global const float *restrict settings, global float *restrict state,
            global float *restrict blocks, int place, uint count, local float *scratch,
            local float *powers)
{
    const uint number =
        ((uint)get_group_id(2) * get_num_groups(1) + get_group_id(1)) * get_num_groups(0) +
        get_group_id(0);
    const int left = (int)get_group_id(0) * HOP - EDGE, top = (int)get_group_id(1) * HOP - EDGE;
    global float *mean = state + (size_t)number * STATE_SIZE, *weights = mean + BLOCK * BLOCK;
    global float *high = weights + (HALF_BLOCK + 1) * BLOCK;
    const bool is_shown = is_block_shown(similarity, left, top);
    struct join join = {.begins = place == BEGINS,
                        .half_power = 0.5f * settings[2],
                        .faded = count >= settings[0] ? log2(1 - 1 / settings[0]) : 0.0f};
    real x[PARTS * BLOCK];
    if (place == BEGINS || (place != LEFT_OUT && is_shown)) {
        const float before = place == BEGINS ? 0 : *high;
        block_transform(x, moved + get_group_id(2) * PLANE_SIZE, scratch, left, top);
        const float level = block_level(x, scratch);
        add_level(x, -level);
        find_powers(powers, x, scratch);
        sync_items();
        for (uint j = get_local_id(0); j <= HALF_BLOCK; j += get_local_size(0))
            complete_row(powers, j);
        sync_items();
        add_level(x, level);
        const float part = place == BEGINS ? 1 : 1 / min(count + 1.0f, settings[0]);
        const float noise = before + part * (high_power(powers) - before);
        join.floor = DOUBT * noise + LEAST_POWER;
        if (get_local_id(0) == 0)
            *high = noise;
        join_all(x, powers, is_shown, mean, weights, scratch, &join);
        store_mean(x, mean);
    } else {
        load_mean(x, mean);
    }
    block_inverse(x, scratch);
    global float *block = blocks + (size_t)number * BLOCK * BLOCK;
    for (uint p = 0; p < PARTS; p++) {
        const real across = column_entry(synthesis, p);
        for (uint j = 0; j < BLOCK; j++)
#if LANES == 1
            block[j * BLOCK + get_local_id(0)] = x[j] * (across * synthesis[j]);
#else
            STORE(x[p * BLOCK + j] * (across * synthesis[j]), block + j * BLOCK + p * LANES);
#endif
    }
}

/* A sample is in four blocks, two along each axis. The second of two begins at the last multiple of
 * HOP up to the sample, because blocks begin EDGE samples before the image, and EDGE equals HOP. */
kernel void stack_gather(global const float *restrict blocks, global float *restrict result)
{
    const uint y = get_global_id(1), image = get_global_id(2);
    const uint across = BLOCK_COLUMNS, down = BLOCK_ROWS;
    const uint row = y / HOP, inside_y = y % HOP;
    for (uint x = get_global_id(0) * LANES; x < IMAGE_WIDTH; x += get_global_size(0) * LANES) {
        const uint column = x / HOP, inside_x = x % HOP;
        real sum = 0;
        for (uint j = 0; j < 2; j++)
            for (uint i = 0; i < 2; i++)
                sum +=
                    LOAD(blocks +
                         ((size_t)(image * down + row + j) * across + column + i) * BLOCK * BLOCK +
                         (inside_y + (1 - j) * HOP) * BLOCK + inside_x + (1 - i) * HOP);
        STORE(sum, result + (size_t)image * PLANE_SIZE + (size_t)y * PLANE_PITCH + x);
    }
}
