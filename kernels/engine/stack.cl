/* Joins a frame to the stack of those before it (daemon/filters/stack.h).
 *
 * Data: `samples` are those of the captured frame (load_plane.cl), in planes as there. Sample (x,
 * y) of the stack is at the place (m[0] x + m[1] y + m[2], m[3] x + m[4] y + m[5]) of them; the six
 * numbers m are `similarity`, which all images of a batch share. A stack has a part of STATE_PLANES
 * planes for each image: the means, of how many samples they are, and with DETAILS the variance of
 * these; with CLIPS the same of the samples that were clipped. `settings` has the number of frames
 * that count alike, and how many standard deviations a sample may differ; its third number is for
 * stack_spectrum.cl. `result` receives the means, and with DETAILS `noise` their variances. Their
 * differences from a frame are counted in DIFFERENCE_BINS bins for each of DIFFERENCE_LEVELS levels
 * and each image, of which `deviations` gets one number.
 *
 * Work-items: an item makes LANES samples of a row at a time; the second dimension counts rows, the
 * third one images (batch.cl). Launched by daemon/engine/stack.c. */

#define TAPS     8
#define BEFORE   3 /* samples before the last one up to a place */
#define BEGINS   1 /* enum stack_place */
#define LEFT_OUT 2

/* The weights for samples -3 .. 0 at a place t after sample 0: t (1 - t) times a polynomial, and 1
 * - t in addition for sample 0 of the first product. All weights of the first product add up to 1,
 * those of the second one to 0, and those after a place are the same, mirrored.
 * daemon/filters/stack.h says what they are chosen for. */
#if SPECTRA
#define PRODUCTS 1
constant float weights[PRODUCTS][TAPS / 2][4] = {
    {
        {-0.26217487f, 1.00443622f, -1.85793728f, 1.28156086f},
        {0.82387890f, -2.74672166f, 4.92421495f, -3.38705027f},
        {-1.65624825f, 4.23567694f, -6.94654567f, 4.76271317f},
        {1.86801784f, -5.40929197f, 7.98712767f, -5.39513019f},
    },
};
#else
#define PRODUCTS 2
constant float weights[PRODUCTS][TAPS / 2][4] = {
    {
        {-0.38074187f, 1.80132255f, -2.45332694f, 1.07509595f},
        {1.69633053f, -7.93204423f, 12.48718289f, -6.98192468f},
        {-3.87004690f, 16.51009831f, -27.50795651f, 16.97196095f},
        {5.02502380f, -21.92059973f, 37.27437653f, -24.26531620f},
    },
    {
        {-0.58875250f, 2.73203480f, -3.70382661f, 1.64188753f},
        {2.44546131f, -11.31547156f, 16.95378129f, -9.09272213f},
        {-6.33785778f, 31.90344010f, -55.53869702f, 34.06484694f},
        {8.64214286f, -44.56952392f, 81.07134068f, -52.46907790f},
    },
};
#endif

/* Sets the weights of samples -3 .. 4. */
static inline void find_taps(real tap[PRODUCTS][TAPS], real t)
{
    const real u = 1 - t, both = t * u;
#pragma unroll
    for (int p = 0; p < PRODUCTS; p++)
#pragma unroll
        for (int i = 0; i < TAPS / 2; i++) {
            constant float *c = weights[p][i];
            tap[p][i] = both * (((c[3] * t + c[2]) * t + c[1]) * t + c[0]);
            tap[p][TAPS - 1 - i] = both * (((c[3] * u + c[2]) * u + c[1]) * u + c[0]);
        }
    tap[0][BEFORE] += u;
    tap[0][BEFORE + 1] += t;
}

/* Adds a sample to the sums along a row. */
static inline void add_across(real part[PRODUCTS], real across[PRODUCTS][TAPS], int i, real sample)
{
#pragma unroll
    for (int p = 0; p < PRODUCTS; p++)
        part[p] += across[p][i] * sample;
}

/* Returns what a row adds: the first product less the second one. */
static inline real add_down(const real part[PRODUCTS], real down[PRODUCTS][TAPS], int j)
{
    return down[0][j] * part[0] - (PRODUCTS > 1 ? down[PRODUCTS - 1][j] * part[PRODUCTS - 1] : 0);
}

constant float lane_numbers[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

/* Beyond the image the outermost samples are repeated. */
static inline real fetch(global const float *plane, real column, real row)
{
    const real left = floor(column), above = floor(row);
    real across[PRODUCTS][TAPS], down[PRODUCTS][TAPS], sum = 0;
    find_taps(across, column - left);
    find_taps(down, row - above);
#if LANES > 1
    float lefts[LANES], tops[LANES];
    VSTORE(left, 0, lefts);
    VSTORE(above, 0, tops);
    const int x = (int)lefts[0] - BEFORE, y = (int)tops[0] - BEFORE;
    /* Places are on a line, so that what is between the first and the last lane is as they are. */
    const bool is_row = tops[0] == tops[LANES - 1] && lefts[LANES - 1] - lefts[0] == LANES - 1;
    if (is_row && x >= 0 && y >= 0 && x + LANES + TAPS <= IMAGE_WIDTH && y + TAPS <= IMAGE_HEIGHT) {
#pragma unroll
        for (int j = 0; j < TAPS; j++) {
            global const float *line = plane + (y + j) * PLANE_PITCH + x;
            real part[PRODUCTS] = {0};
#pragma unroll
            for (int i = 0; i < TAPS; i++)
                add_across(part, across, i, VLOAD(0, line + i));
            sum += add_down(part, down, j);
        }
        return sum;
    }
    int from_x[LANES], from_y[LANES];
    for (int l = 0; l < LANES; l++) {
        from_x[l] = (int)lefts[l] - BEFORE;
        from_y[l] = (int)tops[l] - BEFORE;
    }
    for (int j = 0; j < TAPS; j++) {
        real part[PRODUCTS] = {0};
        for (int i = 0; i < TAPS; i++) {
            float gathered[LANES];
            for (int l = 0; l < LANES; l++)
                gathered[l] = plane[clamp(from_y[l] + j, 0, IMAGE_HEIGHT - 1) * PLANE_PITCH +
                                    clamp(from_x[l] + i, 0, IMAGE_WIDTH - 1)];
            add_across(part, across, i, VLOAD(0, gathered));
        }
        sum += add_down(part, down, j);
    }
#else
    const int x = (int)left - BEFORE, y = (int)above - BEFORE;
    for (int j = 0; j < TAPS; j++) {
        global const float *line = plane + clamp(y + j, 0, IMAGE_HEIGHT - 1) * PLANE_PITCH;
        float part[PRODUCTS] = {0};
        for (int i = 0; i < TAPS; i++)
            add_across(part, across, i, line[clamp(x + i, 0, IMAGE_WIDTH - 1)]);
        sum += add_down(part, down, j);
    }
#endif
    return sum;
}

/* Returns whether a place is in the frame: 1 or 0. */
static inline real is_inside(real column, real row)
{
    const real zero = 0, right = IMAGE_WIDTH - 1.0f, bottom = IMAGE_HEIGHT - 1.0f;
    return step(zero, column) * step(column, right) * step(zero, row) * step(row, bottom);
}

/* Returns the frame's samples for adjacent places of the stack from (x, y) on, and writes whether
 * the frame shows them. */
static inline real sample_for(global const float *plane, global const float *m, uint x, uint y,
                              real *ret_inside)
{
    const real at = x + VLOAD(0, lane_numbers);
    const real u = m[0] * at + (m[1] * y + m[2]), v = m[3] * at + (m[4] * y + m[5]);
    const real limit_x = IMAGE_WIDTH + TAPS, limit_y = IMAGE_HEIGHT + TAPS;
    *ret_inside = is_inside(u, v);
    return fetch(plane, clamp(u, (real)-TAPS, limit_x), clamp(v, (real)-TAPS, limit_y));
}

#if CLIPS

#define UNIT      ((float)TOP_SAMPLE / 255) /* a grey level */
#define LEVEL     (256 * UNIT / DIFFERENCE_LEVELS)
#define BIN       (0.25f * UNIT)
#define TO_SIGMA  1.4826f /* times the median of a normal distribution's absolute values */
#define SPARSE    4       /* rows and columns: one in so many is counted */
#define LEAST     100     /* differences of a level from which its own median is used */
#define TOLERANCE 0.25f   /* pixels, by which what is seen may be beside the mean */

static inline int level_of(float mean)
{
    return clamp((int)(mean / LEVEL), 0, DIFFERENCE_LEVELS - 1);
}

/* Counts the differences of some pixels; `counts` are 0 before. An item has a row. */
kernel void stack_count(global const float *restrict samples,
                        global const float *restrict similarity,
                        global const float *restrict before, global uint *restrict counts)
{
    const uint y = get_global_id(1) * SPARSE, image = get_global_id(2);
    const size_t state = (size_t)image * STATE_PLANES * PLANE_SIZE + (size_t)y * PLANE_PITCH;
    global const float *plane = samples + (size_t)image * PLANE_SIZE;
    for (uint x = get_global_id(0) * SPARSE * LANES; x + LANES <= IMAGE_WIDTH;
         x += get_global_size(0) * SPARSE * LANES) {
        real is_seen;
        const real mean = VLOAD(0, before + state + x);
        const real sample = sample_for(plane, similarity, x, y, &is_seen);
        is_seen *= min(VLOAD(0, before + state + PLANE_SIZE + x), (real)1);
        const real bin = fabs(sample - mean) / BIN;
        float bins[LANES], means[LANES], seen[LANES];
        VSTORE(bin, 0, bins);
        VSTORE(mean, 0, means);
        VSTORE(is_seen, 0, seen);
        for (int l = 0; l < LANES; l++)
            if (seen[l] > 0)
                atomic_inc(
                    counts + (image * DIFFERENCE_LEVELS + level_of(means[l])) * DIFFERENCE_BINS +
                    clamp((int)min(bins[l], DIFFERENCE_BINS - 1.0f), 0, DIFFERENCE_BINS - 1));
    }
}

/* The median's place in bins. */
static inline float median_of(global const uint *counts, uint sum)
{
    uint below = 0;
    int bin = 0;
    while (bin < DIFFERENCE_BINS - 1 && 2 * (below + counts[bin]) < sum)
        below += counts[bin++];
    return bin + (0.5f * sum - below) / max(counts[bin], 1u);
}

/* Turns the counts of an image into deviations, and clears them. An item has an image. */
kernel void stack_deviate(global uint *restrict counts, global float *restrict deviations)
{
    const uint image = get_global_id(2);
    global uint *of = counts + image * DIFFERENCE_LEVELS * DIFFERENCE_BINS;
    global float *to = deviations + image * DIFFERENCE_LEVELS;
    float last = 0;
    uint all = 0;
    for (int i = 0; i < DIFFERENCE_LEVELS * DIFFERENCE_BINS; i++)
        all += of[i];
    /* At least one level has so many, however small the frame is. */
    const uint least = clamp(all / DIFFERENCE_LEVELS, 1u, (uint)LEAST);
    for (int level = 0; level < DIFFERENCE_LEVELS; level++) {
        global uint *counted = of + level * DIFFERENCE_BINS;
        uint sum = 0;
        for (int i = 0; i < DIFFERENCE_BINS; i++)
            sum += counted[i];
        to[level] = sum < least ? -1 : max(median_of(counted, sum), 0.5f) * BIN * TO_SIGMA;
        last = max(last, to[level]);
        for (int i = 0; i < DIFFERENCE_BINS; i++)
            counted[i] = 0;
    }
    /* A level of few pixels has the most of the others. */
    for (int level = 0; level < DIFFERENCE_LEVELS; level++)
        to[level] = to[level] < 0 ? last : to[level];
}

/* By how much samples may differ from the means. */
static inline real limit_at(global const float *means, uint x, uint y, float clip,
                            global const float *deviations)
{
    const real mean = VLOAD(0, means);
    const real right = VLOAD(0, means + (x + LANES < IMAGE_WIDTH ? 1 : 0));
    const real below = VLOAD(0, means + (y + 1 < IMAGE_HEIGHT ? PLANE_PITCH : 0));
    float deviation[LANES], levels[LANES];
    VSTORE(mean, 0, levels);
    for (int l = 0; l < LANES; l++)
        deviation[l] = deviations[level_of(levels[l])];
    return clip * VLOAD(0, deviation) + TOLERANCE * (fabs(right - mean) + fabs(below - mean));
}

#endif

/* Adds a sample to a mean and to the variance of its samples, as this share of them. */
static inline void add_sample(real *mean, real *variance, real sample, real share)
{
    const real off = sample - *mean;
    *mean += share * off;
    *variance += share * ((1 - share) * off * off - *variance);
}

#define MEAN_PLANES (STATE_PLANES / (1 + CLIPS)) /* for one of the means */

/* Variances are 0 where details are not weighed. `mean` is the place of the mean in the state. */
static inline real load_variance(global const float *mean)
{
#if DETAILS
    return VLOAD(0, mean + 2 * PLANE_SIZE);
#else
    return 0;
#endif
}

static inline void store_mean(real mean, real count, real variance, global float *to)
{
    VSTORE(mean, 0, to);
    VSTORE(count, 0, to + PLANE_SIZE);
#if DETAILS
    VSTORE(variance, 0, to + 2 * PLANE_SIZE);
#endif
}

kernel void stack_join(global const float *restrict samples,
                       global const float *restrict similarity,
                       global const float *restrict settings, global const float *restrict before,
                       global float *restrict after, global float *restrict result,
#if DETAILS
                       global float *restrict noise,
#endif
#if CLIPS
                       global const float *restrict deviations,
#endif
                       int place)
{
    const uint y = get_global_id(1), image = get_global_id(2);
    const size_t row = (size_t)y * PLANE_PITCH;
    const size_t state = (size_t)image * STATE_PLANES * PLANE_SIZE + row;
    global const float *plane = samples + (size_t)image * PLANE_SIZE;
    const float most = settings[0];
    /* Rows are padded to whole cache lines, so the last lanes may be beyond the image. */
    for (uint x = get_global_id(0) * LANES; x < IMAGE_WIDTH; x += get_global_size(0) * LANES) {
        real mean = VLOAD(0, before + state + x);
        real count = VLOAD(0, before + state + PLANE_SIZE + x);
        real variance = load_variance(before + state + x);
        if (place != LEFT_OUT) {
            real inside;
            const real sample = sample_for(plane, similarity, x, y, &inside);
            /* Nothing is known of a pixel that no frame has shown. */
            const real unknown = 1 - min(count, (real)1);
            real joins = inside;
#if CLIPS
            const size_t second = state + MEAN_PLANES * PLANE_SIZE + x;
            real other = place == BEGINS ? sample : VLOAD(0, before + second);
            real other_count = place == BEGINS ? 0 : VLOAD(0, before + second + PLANE_SIZE);
            real other_variance = place == BEGINS ? 0 : load_variance(before + second);
            if (place != BEGINS) {
                const real limit = limit_at(before + state + x, x, y, settings[1],
                                            deviations + image * DIFFERENCE_LEVELS);
                joins = inside * max(unknown, step(fabs(sample - mean), limit));
                const real clipped = inside - joins;
                const real agrees =
                    clipped * min(other_count, (real)1) * step(fabs(sample - other), limit);
                const real differs = clipped - agrees;
                const real replaces = differs * step(other_count, (real)1);
                const real fades = joins * step((real)most, count);
                other_count =
                    clamp(other_count + agrees - differs - fades, (real)0, (real)most + 1);
                other_count += replaces * (1 - other_count);
                const real share = max(replaces, agrees / max(other_count, (real)1));
                add_sample(&other, &other_variance, sample, share);
            }
#endif
            if (place == BEGINS) {
                count = inside;
                mean = sample;
                variance = 0;
            } else {
                count += joins * (min(count + 1, (real)most) - count);
                const real share = max(joins / max(count, (real)1), unknown);
                add_sample(&mean, &variance, sample, share);
            }
#if CLIPS
            /* The samples that were clipped are more than those that were not. */
            const real swaps = step(count + 0.5f, other_count);
            const real apart = swaps * (other - mean), more = swaps * (other_count - count);
            const real wider = swaps * (other_variance - variance);
            store_mean(other - apart, other_count - more, other_variance - wider, after + second);
            mean += apart;
            count += more;
            variance += wider;
#endif
            store_mean(mean, count, variance, after + state + x);
        }
#if DETAILS
        VSTORE(variance / max(count - 1, (real)1), 0, noise + (size_t)image * PLANE_SIZE + row + x);
#endif
        VSTORE(mean, 0, result + (size_t)image * PLANE_SIZE + row + x);
    }
}
