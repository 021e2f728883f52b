/* The direct technique for wide blurs, at half the rate (struct taps_half of
 * daemon/filters/taps.h): samples are decimated by 2, blurred and interpolated, without leaving a
 * group's local memory. LANES is 4.
 *
 * Data:
 *   image, result, map_x, map_y  as in direct.cl
 *   taps  BLUR + 1 floats, with which samples at half the rate are multiplied along rows, from the
 *         middle on: of those on both sides. Then as many for columns. They are divided by the sums
 *         of the binomial numbers below.
 *   work  local memory. `wide`: decimated samples, WIDE_ROWS x WIDE_PITCH, and `lines`: what these
 *         are, blurred along rows, WIDE_ROWS x LOW_PITCH. Then `low`, in place of `wide`: what
 *         those are, blurred along columns, LOW_ROWS x LOW_PITCH. Its first row and its first
 *         column are those before the block.
 *
 * Work-items: a work-group of GROUP items makes a block of BLOCK_X x BLOCK_Y samples. The second
 * dimension counts blocks of rows, the third one images (batch.cl). Launched by
 * transform_frame_enqueue (daemon/transform/frame.c) as listed by half_rate.c. */

#define LOW_PITCH   (BLOCK_X / 2 + LANES)
#define LOW_ROWS    (BLOCK_Y / 2 + 2)
#define WIDE_PITCH  (LOW_PITCH + 2 * BLUR)
#define WIDE_ROWS   (LOW_ROWS + 2 * BLUR)
#define WIDE_GROUPS (WIDE_PITCH / LANES)
#define BEFORE      (2 * BLUR + 4) /* samples before the block that are decimated */

/* The work is in as many parts as a group has items at most. */
#define PARTS       256
#define STRIPS      (PARTS / WIDE_GROUPS)
#define STRIP_ROWS  ((WIDE_ROWS + STRIPS - 1) / STRIPS)
#define ACROSS      (BLOCK_X / (2 * LANES))
#define CELL_ROWS   ((BLOCK_Y / 2 + PARTS / ACROSS - 1) / (PARTS / ACROSS))
#define TALL        9 /* rows that an item blurs along columns */

#define DECIMATE(a, i)                                                                             \
    (((a)[i] + (a)[(i) + 5]) + 5.0f * ((a)[(i) + 1] + (a)[(i) + 4]) +                              \
     10.0f * ((a)[(i) + 2] + (a)[(i) + 3]))
#define LEFT(a, i)  (5.0f * (a)[i] + 10.0f * (a)[(i) + 1] + (a)[(i) + 2])
#define RIGHT(a, i) ((a)[i] + 10.0f * (a)[(i) + 1] + 5.0f * (a)[(i) + 2])

/* Returns LANES samples of a row, decimated along it, from samples from column x on. */
static inline real row_decimate(struct block block, int x, int y, bool is_inner)
{
    float sample[3 * LANES];
    const int row = is_inner ? y : row_of(block.map_y, y);
#if CHANGES_SAMPLES
#pragma unroll 1
#else
#pragma unroll
#endif
    for (int i = 0; i < 3; i++) {
        const int at = x + i * LANES;
        VSTORE(is_inner ? inner_load(block.image, block.map_x, at, row BLOCK_CORRECTION)
                        : group_load(block.image, block.map_x, at, row BLOCK_CORRECTION),
               i, sample);
    }
    return (real)(DECIMATE(sample, 0), DECIMATE(sample, 2), DECIMATE(sample, 4),
                  DECIMATE(sample, 6));
}

/* Loads two rows of samples of a strip. With the four before them they make a row of it. */
static inline void strip_load(local float *strip, real row[6], struct block block, int x, int y,
                              bool is_kept, bool is_inner)
{
    row[4] = row_decimate(block, x, y, is_inner);
    row[5] = row_decimate(block, x, y + 1, is_inner);
    if (is_kept)
        *(local real *)strip = DECIMATE(row, 0);
#pragma unroll
    for (int k = 0; k < 4; k++)
        row[k] = row[k + 2];
}

/* Decimates what the block needs. An item makes a strip of LANES columns, and keeps the rows in
 * registers that are for the next one, too. */
static inline void block_decimate(struct block block, local float *wide, bool is_inner)
{
    for (int i = get_local_id(0); i < WIDE_GROUPS * STRIPS; i += GROUP) {
        const int column = i % WIDE_GROUPS * LANES, first = i / WIDE_GROUPS * STRIP_ROWS;
        const int x = block.x - BEFORE + 2 * column, y = block.y - BEFORE + 2 * first;
        local float *strip = wide + (first - 2) * WIDE_PITCH + column;
        real row[6] = {0};
        if (is_inner) {
#pragma unroll
            for (int r = 0; r < STRIP_ROWS + 2; r++)
                strip_load(strip + r * WIDE_PITCH, row, block, x, y + 2 * r,
                           r >= 2 && first + r - 2 < WIDE_ROWS, true);
        } else {
#pragma unroll 1
            for (int r = 0; r < STRIP_ROWS + 2; r++)
                strip_load(strip + r * WIDE_PITCH, row, block, x, y + 2 * r,
                           r >= 2 && first + r - 2 < WIDE_ROWS, false);
        }
    }
}

static inline void rows_blur(local float *lines, local const float *wide,
                             constant const float *taps)
{
    for (int i = get_local_id(0); i < WIDE_ROWS * (LOW_PITCH / LANES); i += GROUP) {
        const int row = i / (LOW_PITCH / LANES), column = i % (LOW_PITCH / LANES) * LANES;
        local const real *from = (local const real *)(wide + row * WIDE_PITCH + column);
        float sample[LANES + 2 * BLUR];
#pragma unroll
        for (int k = 0; k <= 2 * BLUR / LANES; k++)
            VSTORE(from[k], k, sample);
        real sum = taps[0] * VLOAD(0, sample + BLUR);
#pragma unroll
        for (int k = 1; k <= BLUR; k++)
            sum += taps[k] * (VLOAD(0, sample + BLUR - k) + VLOAD(0, sample + BLUR + k));
        *(local real *)(lines + row * LOW_PITCH + column) = sum;
    }
}

static inline void columns_blur(local float *low, local const float *lines,
                                constant const float *taps)
{
    for (int i = get_local_id(0); i < LOW_PITCH * ((LOW_ROWS + TALL - 1) / TALL); i += GROUP) {
        const int column = i % LOW_PITCH, first = i / LOW_PITCH * TALL;
        float sample[TALL + 2 * BLUR];
#pragma unroll
        for (int k = 0; k < TALL + 2 * BLUR; k++)
            sample[k] = lines[min(first + k, WIDE_ROWS - 1) * LOW_PITCH + column];
#pragma unroll
        for (int r = 0; r < TALL; r++) {
            float sum = taps[0] * sample[r + BLUR];
#pragma unroll
            for (int k = 1; k <= BLUR; k++)
                sum += taps[k] * (sample[r + BLUR - k] + sample[r + BLUR + k]);
            if (first + r < LOW_ROWS)
                low[(first + r) * LOW_PITCH + column] = sum;
        }
    }
}

/* Stores 2 LANES samples of the result. */
static inline void pairs_store(global uchar *result, struct block block, int x, int y,
                               const float *value)
{
#if ALIGNED_STORE && IMAGE_STRIDE % 8 == 0 && IMAGE_OFFSET % 8 == 0 && IMAGE_APART % 8 == 0
    if (x + 2 * LANES <= IMAGE_WIDTH) {
        *(global uchar8 *)(result + PLACE(x, y)) =
            (uchar8)(TO_BYTES(to_result(VLOAD(0, value))), TO_BYTES(to_result(VLOAD(1, value))));
        return;
    }
#endif
    group_store(result, block, x, y, VLOAD(0, value));
    if (x + LANES < IMAGE_WIDTH)
        group_store(result, block, x + LANES, y, VLOAD(1, value));
}

/* Interpolates. An item makes a strip of 2 LANES columns. */
static inline void block_interpolate(global uchar *result, struct block block,
                                     local const float *low)
{
    for (int i = get_local_id(0); i < PARTS; i += GROUP) {
        const int column = i % ACROSS * LANES, first = i / ACROSS * CELL_ROWS;
        const int x = block.x + 2 * column;
        float cell[3][LANES + 2] = {{0}};
        if (x >= IMAGE_WIDTH)
            continue;
#pragma unroll
        for (int r = 0; r < CELL_ROWS + 2; r++) {
            const int y = block.y + 2 * (first + r - 2);
#pragma unroll
            for (int k = 0; k < LANES + 2; k++)
                cell[2][k] = low[min(first + r, LOW_ROWS - 1) * LOW_PITCH + column + k];
#pragma unroll
            for (int phase = 0; phase < 2; phase++) {
                float line[LANES + 2], value[2 * LANES];
                if (r < 2 || first + r - 2 >= BLOCK_Y / 2 || y + phase >= IMAGE_HEIGHT)
                    continue;
#pragma unroll
                for (int k = 0; k < LANES + 2; k++) {
                    const float above[3] = {cell[0][k], cell[1][k], cell[2][k]};
                    line[k] = phase == 0 ? LEFT(above, 0) : RIGHT(above, 0);
                }
#pragma unroll
                for (int k = 0; k < LANES; k++) {
                    value[2 * k] = LEFT(line, k);
                    value[2 * k + 1] = RIGHT(line, k);
                }
                pairs_store(result, block, x, y + phase, value);
            }
#pragma unroll
            for (int k = 0; k < LANES + 2; k++) {
                cell[0][k] = cell[1][k];
                cell[1][k] = cell[2][k];
            }
        }
    }
}

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
direct_half(global const uchar *restrict image, global uchar *restrict result,
            global const int *restrict map_x, global const int *restrict map_y,
            constant const float *restrict taps,
            local real *work KERNEL_CORRECTION CAPTURED_PARAMETERS)
{
    const struct block block = {(int)get_group_id(0) * BLOCK_X, (int)get_group_id(1) * BLOCK_Y,
                                CAPTURED(image + image_offset()), map_x, map_y CORRECTION_ARGUMENT};
    local float *const wide = (local float *)work, *const lines = wide + WIDE_ROWS * WIDE_PITCH;
    result += image_offset();
#if !CHANGES_SAMPLES
    const int left = block.x - BEFORE, top = block.y - BEFORE;
    if (left >= 0 && left + 2 * WIDE_PITCH + LANES <= IMAGE_WIDTH && top >= 0 &&
        top + 2 * STRIPS * STRIP_ROWS + 4 <= IMAGE_HEIGHT)
        block_decimate(block, wide, true);
    else
#endif
        block_decimate(block, wide, false);
    barrier(CLK_LOCAL_MEM_FENCE);
    rows_blur(lines, wide, taps);
    barrier(CLK_LOCAL_MEM_FENCE);
    columns_blur(wide, lines, taps + BLUR + 1);
    barrier(CLK_LOCAL_MEM_FENCE);
    block_interpolate(result, block, wide);
}
