/* The noise of a frame, estimated from its own samples before the first pass reduces it.
 *
 * A block of 8 x 8 samples has 16 cells of 2 x 2. The sum of a cell shows structure and noise, its
 * diagonal difference (a - b - c + d) / 2 mostly noise, of the same variance. Blocks whose sums
 * vary at most twice as much as their differences are taken for flat. Those are counted by level
 * and by the mean square of their differences, in eighths of an octave. A low quantile of each
 * level, which a few textured blocks do not move, is the variance there; a line through the levels
 * is the model. Each level counts by the inverse of its variance of error, so one that is all
 * texture counts little. Blocks of which more than a quarter is black or white do not count:
 * clipped samples have lost their noise.
 *
 * If texture fills the picture, some blocks look flat by chance. In a block without texture, sums
 * vary as much as differences, so EVEN_SHARE of the blocks taken for flat have sums that vary less.
 * If sums vary c times as much, a smaller share r of them has such sums. From the distribution of
 * the quotient of two such variances, c is about (EVEN_SHARE / r) ^ EVEN_POWER. Texture whose
 * amplitudes fall as 1/f or faster is at least COARSER times as strong in sums as in differences.
 * So (COARSER - c) / (COARSER - 1) of the variance is noise, and at least LEAST_NOISE of it,
 * because coarse noise looks like texture in a single frame.
 *
 * Data: `counts` has NOISE_COUNTS numbers for each image, 0 at the beginning, and again after
 * noise_fit: NOISE_BINS for each of NOISE_LEVELS levels, and last how many of these blocks have
 * sums that vary less than their differences. `noise` and `wanted`: denoise.cl; the variance that
 * was found is multiplied by the third number of `wanted`. Work-items of noise_count: those of a
 * group share a row of blocks; the second dimension counts rows of blocks, the third one images.
 * noise_fit has one item for each image. Launched by denoiser_frame_enqueue
 * (daemon/engine/denoiser/denoiser.c). */

#define NOISE_BLOCK    8
#define NOISE_OCTAVE   8    /* bins */
#define NOISE_LOWEST   (-8) /* octaves: log2 of the smallest variance, in grey levels of 255 */
#define FLAT_RATIO     2.0f /* the most that sums of a flat block vary, beside its differences */
#define QUANTILE       0.3f
/* That quantile over flat blocks of white noise, divided by its variance: found by simulation. */
#define QUANTILE_VALUE 0.836f
#define EVEN_SHARE     0.55f
#define EVEN_POWER     0.6f
#define COARSER        4.0f
#define LEAST_NOISE    0.25f
#define MOST_CLIPPED   16 /* samples of a block */
#define FEWEST         16 /* blocks of a level */

static inline void count_block(global const float *at, global uint *counts)
{
    float sum = 0, sum2 = 0, differences2 = 0;
    int clipped = 0;
    const float first = at[0];
    for (uint y = 0; y < NOISE_BLOCK; y += 2, at += 2 * PLANE_PITCH)
        for (uint x = 0; x < NOISE_BLOCK; x += 2) {
            const float a = at[x], b = at[x + 1], c = at[PLANE_PITCH + x],
                        d = at[PLANE_PITCH + x + 1];
            const float coarse = 0.5f * (a + b + c + d) - 2 * first;
            const float difference = 0.5f * (a - b - c + d);
            sum += coarse;
            sum2 += coarse * coarse;
            differences2 += difference * difference;
            const float4 cell = (float4)(a, b, c, d);
            const int4 is_clipped = cell <= 0.0f || cell >= (float)SAMPLE_MAX; /* -1 if so */
            clipped -= is_clipped.x + is_clipped.y + is_clipped.z + is_clipped.w;
        }
    const float cells = NOISE_BLOCK * NOISE_BLOCK / 4;
    const float mean = sum / cells;
    const float structure = (sum2 - sum * mean) / (cells - 1), variance = differences2 / cells;
    const float unit = 255.0f / SAMPLE_MAX;
    if (clipped > MOST_CLIPPED || structure > FLAT_RATIO * variance ||
        variance * unit * unit < 1e-3f)
        return;
    const float level = (0.5f * mean + first) / (SAMPLE_MAX + 1.0f) * NOISE_LEVELS;
    const float bin = NOISE_OCTAVE * (log2(variance * unit * unit) - NOISE_LOWEST);
    atomic_inc(counts + clamp((int)level, 0, NOISE_LEVELS - 1) * NOISE_BINS +
               clamp((int)bin, 0, NOISE_BINS - 1));
    if (structure <= variance)
        atomic_inc(counts + NOISE_COUNTS - 1);
}

kernel void noise_count(global const float *restrict samples, global uint *restrict counts)
{
    const uint y = NOISE_BLOCK * (uint)get_global_id(1);
    samples += get_global_id(2) * PLANE_SIZE + y * PLANE_PITCH;
    counts += get_global_id(2) * NOISE_COUNTS;
    for (uint x = NOISE_BLOCK * (uint)get_global_id(0); x + NOISE_BLOCK <= IMAGE_WIDTH;
         x += NOISE_BLOCK * (uint)get_global_size(0))
        count_block(samples + x, counts);
}

/* Returns the variance of a level's flat blocks, in grey levels of 255. */
static inline float level_variance(global const uint *counts, float total)
{
    float before = 0;
    for (uint bin = 0; bin < NOISE_BINS; bin++) {
        const float here = counts[bin];
        if (before + here >= QUANTILE * total)
            return exp2((bin + (QUANTILE * total - before) / here) / NOISE_OCTAVE + NOISE_LOWEST) /
                   QUANTILE_VALUE;
        before += here;
    }
    return 0;
}

/* Returns the share of noise in the variance of `flat` blocks, of which `even` have sums that vary
 * less than their differences. */
static inline float noise_share(float even, float flat)
{
    const float coarser = pow(EVEN_SHARE * max(flat, 1.0f) / max(even, 0.5f), EVEN_POWER);
    return clamp((COARSER - coarser) / (COARSER - 1), LEAST_NOISE, 1.0f);
}

/* The line base + slope * level nearest to the variances; neither is negative. */
kernel void noise_fit(global uint *restrict counts, global const float *restrict wanted,
                      global float *restrict noise)
{
    float s = 0, sx = 0, sxx = 0, sy = 0, sxy = 0, flat = 0;
    counts += get_global_id(2) * NOISE_COUNTS;
    noise += get_global_id(2) * NOISE_NUMBERS;
    for (uint level = 0; level < NOISE_LEVELS; level++, counts += NOISE_BINS) {
        float total = 0;
        for (uint bin = 0; bin < NOISE_BINS; bin++)
            total += counts[bin];
        flat += total;
        if (total >= FEWEST) {
            const float x = (level + 0.5f) * 256.0f / NOISE_LEVELS;
            const float y = level_variance(counts, total), weight = total / (y * y);
            s += weight;
            sx += weight * x;
            sxx += weight * x * x;
            sy += weight * y;
            sxy += weight * x * y;
        }
        for (uint bin = 0; bin < NOISE_BINS; bin++)
            counts[bin] = 0;
    }
    const float spread = s * sxx - sx * sx;
    float slope = spread > 1e-3f * s * sxx ? (s * sxy - sx * sy) / spread : 0;
    slope = max(slope, 0.0f);
    float base = s > 0 ? (sy - slope * sx) / s : 0;
    if (base < 0) {
        base = 0;
        slope = sxy / sxx;
    }
    const float unit = SAMPLE_MAX / 255.0f, share = wanted[2] * noise_share(*counts, flat);
    *counts = 0;
    noise[0] = share * base * unit * unit;
    noise[1] = share * slope * unit;
    noise[2] = wanted[2];
}
