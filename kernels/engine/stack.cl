/* Joins a frame to the stack of those before it (daemon/filters/stack.h).
 *
 * Data: `samples` are those of the captured frame (load_plane.cl), in planes as there. Sample (x,
 * y) of the stack is at the place (m[0] x + m[1] y + m[2], m[3] x + m[4] y + m[5]) of them; the six
 * numbers m are `similarity`, which all images of a batch share. A stack has a part of STATE_PLANES
 * planes for each image: the means, and of how many samples they are; with CLIPS the same of the
 * samples that were clipped. `settings` has the number of frames that count alike, and how many
 * standard deviations a sample may differ; its third number is for stack_spectrum.cl. `result`
 * receives the means. Their differences from a frame are counted in DIFFERENCE_BINS bins for each
 * of DIFFERENCE_LEVELS levels and each image, of which `deviations` gets one number.
 *
 * Work-items: an item makes LANES samples of a row at a time; the second dimension counts rows, the
 * third one images (batch.cl). Launched by daemon/engine/stack.c. */

#define TAPS     8
#define BEFORE   3 /* samples before the last one up to a place */
#define BEGINS   1 /* enum stack_place */
#define LEFT_OUT 2

/* The weights for samples -3 .. 0 at a place t after sample 0: t (1 - t) times a polynomial, and 1
 * - t in addition for sample 0. All weights add up to 1, and those after a place are the same,
 * mirrored. daemon/filters/stack.h says what they are chosen for. */
constant float weights[TAPS / 2][4] = {
    {-0.65201720f, 3.14110371f, -5.84661378f, 3.99313785f},
    {1.72926200f, -7.73355789f, 14.35017050f, -9.82404822f},
    {-2.69647515f, 9.99382049f, -17.98039889f, 12.32687341f},
    {2.92171585f, -11.16250806f, 18.94535446f, -12.80830458f},
};

/* Sets the weights of samples -3 .. 4. */
static inline void find_taps(real *tap, real t)
{
    const real u = 1 - t, both = t * u;
#pragma unroll
    for (int i = 0; i < TAPS / 2; i++) {
        constant float *c = weights[i];
        tap[i] = both * (((c[3] * t + c[2]) * t + c[1]) * t + c[0]);
        tap[TAPS - 1 - i] = both * (((c[3] * u + c[2]) * u + c[1]) * u + c[0]);
    }
    tap[BEFORE] += u;
    tap[BEFORE + 1] += t;
}

constant float lane_numbers[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

/* Beyond the image the outermost samples are repeated. */
static inline real fetch(global const float *plane, real column, real row)
{
    const real left = floor(column), above = floor(row);
    real across[TAPS], down[TAPS], sum = 0;
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
            real part = across[0] * VLOAD(0, line);
#pragma unroll
            for (int i = 1; i < TAPS; i++)
                part += across[i] * VLOAD(0, line + i);
            sum += down[j] * part;
        }
        return sum;
    }
    int from_x[LANES], from_y[LANES];
    for (int l = 0; l < LANES; l++) {
        from_x[l] = (int)lefts[l] - BEFORE;
        from_y[l] = (int)tops[l] - BEFORE;
    }
    for (int j = 0; j < TAPS; j++) {
        real part = 0;
        for (int i = 0; i < TAPS; i++) {
            float gathered[LANES];
            for (int l = 0; l < LANES; l++)
                gathered[l] = plane[clamp(from_y[l] + j, 0, IMAGE_HEIGHT - 1) * PLANE_PITCH +
                                    clamp(from_x[l] + i, 0, IMAGE_WIDTH - 1)];
            part += across[i] * VLOAD(0, gathered);
        }
        sum += down[j] * part;
    }
#else
    const int x = (int)left - BEFORE, y = (int)above - BEFORE;
    for (int j = 0; j < TAPS; j++) {
        global const float *line = plane + clamp(y + j, 0, IMAGE_HEIGHT - 1) * PLANE_PITCH;
        float part = 0;
        for (int i = 0; i < TAPS; i++)
            part += across[i] * line[clamp(x + i, 0, IMAGE_WIDTH - 1)];
        sum += down[j] * part;
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
    for (int level = 0; level < DIFFERENCE_LEVELS; level++) {
        global uint *counted = of + level * DIFFERENCE_BINS;
        uint sum = 0;
        for (int i = 0; i < DIFFERENCE_BINS; i++)
            sum += counted[i];
        to[level] = sum < LEAST ? -1 : max(median_of(counted, sum), 0.5f) * BIN * TO_SIGMA;
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

kernel void stack_join(global const float *restrict samples,
                       global const float *restrict similarity,
                       global const float *restrict settings, global const float *restrict before,
                       global float *restrict after, global float *restrict result,
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
        if (place != LEFT_OUT) {
            real inside;
            const real sample = sample_for(plane, similarity, x, y, &inside);
            real count = VLOAD(0, before + state + PLANE_SIZE + x);
            /* Nothing is known of a pixel that no frame has shown. */
            const real unknown = 1 - min(count, (real)1);
            real joins = inside;
#if CLIPS
            real other = place == BEGINS ? sample : VLOAD(0, before + state + 2 * PLANE_SIZE + x);
            real other_count = place == BEGINS ? 0 : VLOAD(0, before + state + 3 * PLANE_SIZE + x);
            if (place != BEGINS) {
                const real limit = limit_at(before + state + x, x, y, settings[1],
                                            deviations + image * DIFFERENCE_LEVELS);
                joins = inside * max(unknown, step(fabs(sample - mean), limit));
                const real clipped = inside - joins;
                const real agrees =
                    clipped * min(other_count, (real)1) * step(fabs(sample - other), limit);
                const real differs = clipped - agrees;
                const real replaces = differs * step(other_count, (real)1);
                other_count = min(other_count + agrees - differs, (real)most);
                other_count += replaces * (1 - other_count);
                other += max(replaces, agrees / max(other_count, (real)1)) * (sample - other);
            }
#endif
            if (place == BEGINS) {
                count = inside;
                mean = sample;
            } else {
                count = min(count + joins, (real)most);
                mean += max(joins / max(count, (real)1), unknown) * (sample - mean);
            }
#if CLIPS
            /* The samples that were clipped are more than those that were not. */
            const real swaps = step(count + 0.5f, other_count);
            const real apart = swaps * (other - mean), more = swaps * (other_count - count);
            VSTORE(other - apart, 0, after + state + 2 * PLANE_SIZE + x);
            VSTORE(other_count - more, 0, after + state + 3 * PLANE_SIZE + x);
            mean += apart;
            count += more;
#endif
            VSTORE(mean, 0, after + state + x);
            VSTORE(count, 0, after + state + PLANE_SIZE + x);
        }
        VSTORE(mean, 0, result + (size_t)image * PLANE_SIZE + row + x);
    }
}
