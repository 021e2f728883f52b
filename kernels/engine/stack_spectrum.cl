/* Joins the blocks of a frame to those of a stack by their spectra (daemon/filters/stack.h).
 *
 *   stack_move       samples -> moved    where the stack's first frame has them
 *   stack_transform  moved -> blocks     spectra and powers of each block
 *   stack_weigh      blocks -> blocks    joins each block, and transforms the stack's block back
 *   stack_gather     blocks -> result    adds up blocks that overlap
 *
 * Blocks have BLOCK x BLOCK samples, overlap by half, and begin EDGE samples before the image. They
 * are windowed as those of denoise.cl.
 *
 * Data: `state` has RECORD floats for each block of each image: its mean spectrum, in the order of
 * its registers; the logarithm to base 2 of the sum of weights of each frequency; and the mean
 * power of its highest frequencies, padded to the longest vector. `blocks` has as many: the frame's
 * spectrum and the power of each frequency; stack_weigh replaces the spectrum by the samples of the
 * stack's block, row by row. `settings` and `similarity`: stack.cl. `count` frames are in the
 * stack.
 *
 * Powers, weights and logarithms have one number for each frequency: number j of lane l is that of
 * (j, l) for l = 0 .. BLOCK/2, and of (j, BLOCK/2 - l) for the lanes above, j = 0 .. BLOCK/2. The
 * spectrum itself has combinations of both (denoise_first.cl).
 *
 * Work-items: a group of stack_transform and of stack_weigh has a block, and items as in
 * denoise.cl; those of the other kernels are as in stack.cl. Launched by daemon/engine/stack.c. */

#define HALF_BLOCK  (BLOCK / 2)
#define NUMBERS     (HALF_BLOCK + 1) /* that a lane has if each frequency has one */
#define RECORD      (BLOCK * BLOCK + NUMBERS * BLOCK + 16)
#define HIGH        (3 * BLOCK / 8) /* frequencies from here on along both axes are high */
#define LEAST_POWER 1e-6f
#define NOTHING     -1e30f /* the logarithm of a weight of zero */
#define MOST        100    /* the logarithm of the greatest ratio of weights */

#if LANES == 1
#define SPECTRUM_AT(p, j) ((j)*BLOCK + get_local_id(0))
#define NUMBER_AT(p, j)   SPECTRUM_AT(p, j)
#define integer           int
#define TO_BITS           as_int
#define FROM_BITS         as_float
#define TO_INTEGER        convert_int
#else
#define integer           PASTE(int, LANES)
#define TO_BITS           PASTE(as_int, LANES)
#define FROM_BITS         PASTE(as_float, LANES)
#define TO_INTEGER        PASTE(convert_int, LANES)
#define SPECTRUM_AT(p, j) (((p)*BLOCK + (j)) * LANES)
#define NUMBER_AT(p, j)   (((p)*NUMBERS + (j)) * LANES)
#endif

static inline void load_spectrum(real *x, global const float *from)
{
    for (uint p = 0; p < PARTS; p++)
        for (uint j = 0; j < BLOCK; j++)
            x[p * BLOCK + j] = VLOAD(0, from + SPECTRUM_AT(p, j));
}

static inline void store_spectrum(const real *x, global float *to)
{
    for (uint p = 0; p < PARTS; p++)
        for (uint j = 0; j < BLOCK; j++)
            VSTORE(x[p * BLOCK + j], 0, to + SPECTRUM_AT(p, j));
}

/* Returns where the record of a block of the group's image begins. */
static inline size_t record_at(uint column, uint row)
{
    return (((size_t)get_group_id(2) * BLOCK_ROWS + row) * BLOCK_COLUMNS + column) * RECORD;
}

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

static inline void store_powers(const real *x, global float *powers, local float *scratch)
{
#if LANES == 1
    real other[BLOCK];
    exchange(other, x, BLOCK, BLOCK / 2, scratch);
    for (uint j = 0; j < NUMBERS; j++)
        powers[NUMBER_AT(0, j)] = power_at(x, other, j);
#else
    for (uint p = 0; p < PARTS / 2; p++) {
        const uint q = p + PARTS / 2;
        const real *low = x + p * BLOCK, *high = x + q * BLOCK;
        real has_other = 1, other_low[BLOCK], other_high[BLOCK];
        has_other.s0 = p > 0;
#pragma unroll
        for (uint j = 0; j < BLOCK; j++) {
            other_low[j] = low[j] * has_other;
            other_high[j] = high[j] * has_other;
        }
#pragma unroll
        for (uint j = 0; j < NUMBERS; j++) {
            VSTORE(power_at(low, other_high, j), 0, powers + NUMBER_AT(p, j));
            VSTORE(power_at(high, other_low, j), 0, powers + NUMBER_AT(q, j));
        }
    }
#endif
}

/* Returns whether a frame shows a place of the stack, give or take half a sample. */
static inline bool is_place_shown(global const float *m, float x, float y)
{
    const float u = m[0] * x + m[1] * y + m[2], v = m[3] * x + m[4] * y + m[5];
    return u >= -0.5f && v >= -0.5f && u <= IMAGE_WIDTH - 0.5f && v <= IMAGE_HEIGHT - 0.5f;
}

/* Returns whether there is a block, and the frame shows all of it. */
static inline bool is_block_shown(global const float *m, int column, int row)
{
    const int left = column * HOP - EDGE, top = row * HOP - EDGE;
    const float x = max(left, 0), right = min(left + BLOCK, IMAGE_WIDTH) - 1;
    const float y = max(top, 0), bottom = min(top + BLOCK, IMAGE_HEIGHT) - 1;
    return column >= 0 && row >= 0 && column < (int)BLOCK_COLUMNS && row < (int)BLOCK_ROWS &&
           is_place_shown(m, x, y) && is_place_shown(m, right, y) && is_place_shown(m, x, bottom) &&
           is_place_shown(m, right, bottom);
}

/* Sets the mean powers of the group's block and its neighbours, as far as the frame shows them.
 * Blocks that it does not show have weight 0, and the group's own block is read in their place. */
static inline void find_powers(real *powers, global const float *blocks, global const float *m)
{
    const int left = (int)get_group_id(0) - 1, top = (int)get_group_id(1) - 1;
    global const float *from[9];
    float share[9], count = 0;
#pragma unroll
    for (int i = 0; i < 9; i++) {
        const bool counts = is_block_shown(m, left + i % 3, top + i / 3);
        const uint column = counts ? left + i % 3 : left + 1, row = counts ? top + i / 3 : top + 1;
        from[i] = blocks + record_at(column, row) + BLOCK * BLOCK;
        share[i] = counts;
        count += share[i];
    }
    for (uint i = 0; i < 9; i++)
        share[i] /= max(count, 1.0f);
    for (uint p = 0; p < PARTS; p++)
        for (uint j = 0; j < NUMBERS; j++) {
            real sum = share[0] * VLOAD(0, from[0] + NUMBER_AT(p, j));
#pragma unroll
            for (uint i = 1; i < 9; i++)
                sum += share[i] * VLOAD(0, from[i] + NUMBER_AT(p, j));
            powers[p * NUMBERS + j] = sum;
        }
}

/* Returns the mean power of high frequencies. */
static inline float high_power(const real *powers, local float *scratch)
{
#if LANES == 1
    local float *sums = scratch;
#else
    float sums[BLOCK];
#endif
    float ret = 0;
    for (uint p = 0; p < PARTS; p++) {
        real sum = 0;
        for (uint j = HIGH; j < NUMBERS; j++)
            sum += powers[p * NUMBERS + j];
        VSTORE(sum, 0, sums + COLUMN(p));
    }
    sync_items();
    for (uint lane = HIGH; lane < BLOCK; lane++)
        ret += lane <= HALF_BLOCK || lane >= HALF_BLOCK + HIGH ? sums[lane] : 0;
    sync_items();
    return ret / ((NUMBERS - HIGH) * (2 * (HALF_BLOCK - HIGH) + 1));
}

/* ---- the join ---- */

/* The built-in logarithm and power, which are right to the last bit, take PoCL as long as all the
 * rest of the join. These are right to 1e-6: the series of ln(m) in (m - 1) / (m + 1), m from
 * sqrt(1/2) to sqrt(2), and that of e to the power of t, t up to ln(2) / 2. */
static inline real fast_log2(real x)
{
    const integer bits = TO_BITS(x), exponent = (bits - 0x3f3504f3) >> 23;
    const real m = FROM_BITS(bits - (exponent << 23));
    const real s = (m - 1) / (m + 1), square = s * s;
    const real series = ((square / 7 + 1 / 5.0f) * square + 1 / 3.0f) * square + 1;
    return TO_REAL(exponent) + 2 / M_LN2_F * s * series;
}

static inline real fast_exp2(real x)
{
    const real whole = rint(x), t = (x - whole) * M_LN2_F;
    real series = 1;
#pragma unroll
    for (int i = 6; i > 0; i--)
        series = 1 + t / i * series;
    return FROM_BITS(TO_BITS(series) + (TO_INTEGER(whole) << 23));
}

struct join {
    bool begins, is_shown;
    float half_power; /* half of the exponent */
    float faded;      /* added to the logarithms of the earlier weights */
    float floor;      /* added to every power */
};

/* Adds the frame's weights of number j of part p to the sums, and returns its share of them. */
static inline real gain_at(const real *powers, uint p, uint j, global float *weights,
                           const struct join *join)
{
    const real power = powers[p * NUMBERS + j] + join->floor;
    const real weight = join->is_shown ? join->half_power * fast_log2(power) : (real)NOTHING;
    global float *at = weights + NUMBER_AT(p, j);
    const real before = join->begins ? (real)NOTHING : VLOAD(0, at) + join->faded;
    /* In two steps, so that a frame of little weight does not change a sum. */
    const real ratio = fast_exp2(clamp(before - weight, (real)-MOST, (real)MOST));
    VSTORE(fmax(before, weight + fast_log2(1 + ratio)), 0, at);
    return join->begins ? (real)1 : 1 / (1 + ratio);
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
        d[j] = join->begins ? (real)0 : x[j] - VLOAD(0, mean + SPECTRUM_AT(p, j));
}

static inline void join_all(real *x, const real *powers, global float *mean, global float *weights,
                            local float *scratch, const struct join *join)
{
#if LANES == 1
    real d[BLOCK], other_d[BLOCK], gain[NUMBERS], other_gain[NUMBERS];
    for (uint j = 0; j < NUMBERS; j++)
        gain[j] = gain_at(powers, 0, j, weights, join);
    find_differences(d, x, mean, 0, join);
    exchange(other_d, d, BLOCK, BLOCK / 2, scratch);
    exchange(other_gain, gain, NUMBERS, BLOCK / 2, scratch);
    join_part(x, d, other_d, gain, other_gain, get_local_id(0) % HALF_BLOCK != 0);
#else
    for (uint p = 0; p < PARTS / 2; p++) {
        const uint q = p + PARTS / 2;
        real *low = x + p * BLOCK, *high = x + q * BLOCK;
        real d_low[BLOCK], d_high[BLOCK], gain_low[NUMBERS], gain_high[NUMBERS];
        real has_other = 1;
        has_other.s0 = p > 0;
#pragma unroll
        for (uint j = 0; j < NUMBERS; j++) {
            gain_low[j] = gain_at(powers, p, j, weights, join);
            gain_high[j] = gain_at(powers, q, j, weights, join);
        }
        find_differences(d_low, low, mean, p, join);
        find_differences(d_high, high, mean, q, join);
        join_part(low, d_low, d_high, gain_low, gain_high, has_other);
        join_part(high, d_high, d_low, gain_high, gain_low, has_other);
    }
#endif
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
        VSTORE(sample, 0, moved + image + (size_t)y * PLANE_PITCH + x);
    }
}

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
stack_transform(global const float *restrict moved, global float *restrict blocks,
                local float *scratch)
{
    const int left = (int)get_group_id(0) * HOP - EDGE, top = (int)get_group_id(1) * HOP - EDGE;
    global float *block = blocks + record_at(get_group_id(0), get_group_id(1));
    real x[PARTS * BLOCK];
    block_transform(x, moved + get_group_id(2) * PLANE_SIZE, scratch, left, top);
    store_spectrum(x, block);
    add_level(x, -block_level(x, scratch));
    store_powers(x, block + BLOCK * BLOCK, scratch);
}

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
stack_weigh(global const float *restrict similarity, global const float *restrict settings,
            global float *restrict state, global float *blocks, int place, uint count,
            local float *scratch)
{
    const size_t at = record_at(get_group_id(0), get_group_id(1));
    global float *block = blocks + at, *mean = state + at, *weights = mean + BLOCK * BLOCK;
    global float *high = weights + NUMBERS * BLOCK;
    struct join join = {.begins = place == BEGINS,
                        .is_shown = is_block_shown(similarity, get_group_id(0), get_group_id(1)),
                        .half_power = 0.5f * settings[2],
                        .faded = count >= settings[0] ? log2(1 - 1 / settings[0]) : 0.0f};
    real x[PARTS * BLOCK];
    if (place == BEGINS || (place != LEFT_OUT && join.is_shown)) {
        real powers[PARTS * NUMBERS];
        const float before = place == BEGINS ? 0 : *high;
        const float part = place == BEGINS ? 1 : 1 / min(count + 1.0f, settings[0]);
        find_powers(powers, blocks, similarity);
        const float noise = before + part * (high_power(powers, scratch) - before);
        join.floor = noise + LEAST_POWER;
#if LANES == 1
        barrier(CLK_GLOBAL_MEM_FENCE); /* until all items have read it */
#endif
        if (get_local_id(0) == 0)
            *high = noise;
        load_spectrum(x, block);
        join_all(x, powers, mean, weights, scratch, &join);
        store_spectrum(x, mean);
    } else {
        load_spectrum(x, mean);
    }
    block_inverse(x, scratch);
    for (uint p = 0; p < PARTS; p++) {
        const real across = column_entry(synthesis, p);
        for (uint j = 0; j < BLOCK; j++)
            VSTORE(x[p * BLOCK + j] * (across * synthesis[j]), 0, block + j * BLOCK + COLUMN(p));
    }
}

/* A sample is in four blocks, two along each axis. The second of two begins at the last multiple of
 * HOP up to the sample, because blocks begin EDGE samples before the image, and EDGE equals HOP.
 * With lanes an item makes all of a quarter of a block before the next, so that memory is read
 * along its addresses; its row is then one of quarters. */
kernel void stack_gather(global const float *restrict blocks, global float *restrict result)
{
    const uint image = get_global_id(2), across = BLOCK_COLUMNS, down = BLOCK_ROWS;
    const uint rows = LANES > 1 ? HOP : 1, columns = LANES > 1 ? HOP : LANES;
    const uint top = get_global_id(1) * rows;
    for (uint left = get_global_id(0) * columns; left < IMAGE_WIDTH;
         left += get_global_size(0) * columns)
        for (uint y = top; y < min(top + rows, (uint)IMAGE_HEIGHT); y++)
            for (uint x = left; x < min(left + columns, (uint)IMAGE_WIDTH); x += LANES) {
                real sum = 0;
                for (uint j = 0; j < 2; j++)
                    for (uint i = 0; i < 2; i++)
                        sum += VLOAD(
                            0, blocks +
                                   ((size_t)(image * down + y / HOP + j) * across + x / HOP + i) *
                                       RECORD +
                                   (y % HOP + (1 - j) * HOP) * BLOCK + x % HOP + (1 - i) * HOP);
                VSTORE(sum, 0, result + (size_t)image * PLANE_SIZE + (size_t)y * PLANE_PITCH + x);
            }
}
