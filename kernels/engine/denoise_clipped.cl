/* Restores the mean where noise was clipped. Noise is clipped at black and white, so that the mean
 * of dark samples is too bright, and that of bright ones too dark. If n is standard normal, x + s n
 * clipped at 0 has the mean s g(x / s), where g(t) = t P(t) + p(t), and P and p are the
 * distribution function and the density of n. Foi, Clipped noisy images, Signal Processing 89(12)
 * (2009), applies the inverse to the result of a filter, as is done here. Float samples have no
 * limits, and calibration moves those of other samples: neither is changed.
 *
 * Data and work-items: denoise.cl. */

#if CLIPPED

#define CLIPPED_REACH 3.0f      /* standard deviations from a limit, beyond which nothing changes */
#define CLIPPED_ZERO  0.398942f /* g(0) */
#define CLIPPED_STEPS 2

/* Inverts g by Newton's method. It starts from g(t)^2 = t^2 + g(0)^2, which almost holds. */
static inline float above_black(float mean, float variance)
{
    const float deviation = sqrt(variance), wanted = mean / deviation;
    if (wanted <= CLIPPED_ZERO)
        return 0;
    float t = sqrt(wanted * wanted - CLIPPED_ZERO * CLIPPED_ZERO);
    for (int step = 0; step < CLIPPED_STEPS; step++) {
        const float slope = 1 - 0.5f * erfc(t * M_SQRT1_2_F);
        const float found = t * slope + CLIPPED_ZERO * exp(-0.5f * t * t);
        t = max(t - (found - wanted) / slope, 0.0f);
    }
    return deviation * t;
}

static inline float unclipped(float mean, global const float *noise)
{
    const float variance = variance_at(noise, mean) / noise[2];
    const float below_white = SAMPLE_MAX - mean, reach = CLIPPED_REACH * CLIPPED_REACH * variance;
    const float nearest = min(mean, below_white);
    if (nearest * fabs(nearest) >= reach)
        return mean;
    return mean < below_white ? above_black(mean, variance)
                              : SAMPLE_MAX - above_black(below_white, variance);
}

static inline void sums_unclip(local float *sums, global const float *noise)
{
    for (uint y = EDGE; y < EDGE + TILE_Y; y++)
        for (uint x = EDGE + get_local_id(0); x < EDGE + TILE_X; x += get_local_size(0))
            sums[y * SUM_PITCH + x] = unclipped(sums[y * SUM_PITCH + x], noise);
    sync_items();
}

#else

static inline void sums_unclip(local float *sums, global const float *noise)
{
}

#endif
