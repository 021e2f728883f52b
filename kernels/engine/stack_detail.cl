/* Weighs the fine details of a stack's means by how much of them is not noise
 * (daemon/filters/stack.h).
 *
 *   stack_split   means -> details          what a blur of 3 x 3 samples takes away
 *   stack_settle  details, noise -> means   leaves as much of it as is not noise
 *
 * Data: planes as in stack.cl. `noise` has the variance of each mean.
 *
 * Work-items: as in stack.cl. Launched by daemon/engine/stack.c. */

#define NOISE_OF_DETAIL 0.646f /* the variance of a detail, by that of the mean it is from */
#define LEAST_DETAIL    1e-12f

/* Beyond the image the outermost samples are repeated. */
static inline real load_limited(global const float *row, int x)
{
#if LANES > 1
    if (x >= 0 && x + LANES <= IMAGE_WIDTH)
        return VLOAD(0, row + x);
    float samples[LANES];
    for (int l = 0; l < LANES; l++)
        samples[l] = row[clamp(x + l, 0, IMAGE_WIDTH - 1)];
    return VLOAD(0, samples);
#else
    return row[clamp(x, 0, IMAGE_WIDTH - 1)];
#endif
}

static inline global const float *limited_row(global const float *plane, int y)
{
    return plane + (size_t)clamp(y, 0, IMAGE_HEIGHT - 1) * PLANE_PITCH;
}

kernel void stack_split(global const float *restrict means, global float *restrict details)
{
    const int y = get_global_id(1);
    const size_t image = (size_t)get_global_id(2) * PLANE_SIZE;
    global const float *above = limited_row(means + image, y - 1);
    global const float *at = limited_row(means + image, y);
    global const float *below = limited_row(means + image, y + 1);
    for (int x = get_global_id(0) * LANES; x < IMAGE_WIDTH; x += get_global_size(0) * LANES) {
        real column[3];
#pragma unroll
        for (int i = 0; i < 3; i++)
            column[i] = 0.25f * (load_limited(above, x + i - 1) + load_limited(below, x + i - 1)) +
                        0.5f * load_limited(at, x + i - 1);
        VSTORE(VLOAD(0, at + x) - 0.25f * (column[0] + column[2]) - 0.5f * column[1], 0,
               details + image + (size_t)y * PLANE_PITCH + x);
    }
}

kernel void stack_settle(global const float *restrict details, global const float *restrict noise,
                         global float *restrict means)
{
    const int y = get_global_id(1);
    const size_t image = (size_t)get_global_id(2) * PLANE_SIZE;
    const size_t row = image + (size_t)y * PLANE_PITCH;
    for (int x = get_global_id(0) * LANES; x < IMAGE_WIDTH; x += get_global_size(0) * LANES) {
        real power = 0, of_noise = 0;
#pragma unroll
        for (int j = -1; j <= 1; j++)
#pragma unroll
            for (int i = -1; i <= 1; i++) {
                const real detail = load_limited(limited_row(details + image, y + j), x + i);
                power += detail * detail;
                of_noise += load_limited(limited_row(noise + image, y + j), x + i);
            }
        const real share =
            min(NOISE_OF_DETAIL * of_noise / max(power, (real)LEAST_DETAIL), (real)1);
        VSTORE(VLOAD(0, means + row + x) - share * VLOAD(0, details + row + x), 0, means + row + x);
    }
}
