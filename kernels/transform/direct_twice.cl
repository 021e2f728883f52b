/* The direct technique in two dispatches, for one product of even taps. It is for GPUs that have
 * too few registers for the other kernels with products, and whose local memory is no nearer than
 * the cache.
 *
 * Each dispatch multiplies along columns, where the neighbours of a vector are whole vectors of
 * other rows. It stores its result transposed, so the columns of the second dispatch are the rows
 * of the image.
 *
 * Data:
 *   image, result  pixel.cl
 *   lines          the result of the first dispatch: for each image of a batch LINES lines of
 *                  LINE_PITCH floats; a line is a column of the image
 *   map            the row (first dispatch) or column (second) of the image at each position, from
 *                  RADIUS before the image on, as for a transform (daemon/transform/plan.c); it has
 *                  as many entries as all strips need
 *   taps           TAPS along columns, from the middle to one side; then TAPS along rows
 *
 * Work-items: each makes LANES columns and STRIP rows; in the second dispatch these are columns and
 * rows of the transposed image. The second dimension counts strips, the third one images
 * (batch.cl). Launched by transform_frame_enqueue (daemon/transform/frame.c) as listed by
 * direct_twice.c. */

#define TAPS         (RADIUS / 4 * 4 + 4)
#define LINES_OFFSET ((size_t)image_number() * LINES * LINE_PITCH)

static inline void taps_take(float tap[TAPS], constant const float *taps)
{
#pragma unroll
    for (int i = 0; i < TAPS / 4; i++)
        vstore4(vload4(i, taps), i, tap);
}

/* Adds row k of those that a strip needs. */
static inline __attribute__((always_inline)) void row_add(real sum[STRIP], const float tap[TAPS],
                                                          real row, int k)
{
#pragma unroll
    for (int i = 0; i < STRIP; i++)
        if (k >= i && k <= i + 2 * RADIUS)
            sum[i] += tap[k < i + RADIUS ? i + RADIUS - k : k - i - RADIUS] * row;
}

/* Macros, because compilers do not unroll a loop over this many rows, and then keep the sums in
 * memory to index them. */
#define ROW(k)                                                                                     \
    if (k < STRIP + 2 * RADIUS)                                                                    \
        row_add(sum, tap, ROW_LOAD(k), k);
#define ROWS_4(k)        ROW(k) ROW(k + 1) ROW(k + 2) ROW(k + 3)
#define ROWS_24          ROWS_4(0) ROWS_4(4) ROWS_4(8) ROWS_4(12) ROWS_4(16) ROWS_4(20)

/* Row i of the transposed strip. */
#define TRANSPOSED(part) ((real)(sum[0].part, sum[1].part, sum[2].part, sum[3].part))

/* Loads LANES samples of a row, given by an entry of the map. Samples beyond the last column are
 * never used. */
static inline real twice_load(struct block block, int x, int y)
{
    const int row = BORDER_CONSTANT ? max(y, 0) : y;
    real value;
    if (IMAGE_WIDTH % LANES == 0 || x + LANES <= IMAGE_WIDTH) {
        value = inner_load(block.image, block.map_x, x, row BLOCK_CORRECTION);
    } else {
        float lane[LANES];
        for (int i = 0; i < LANES; i++)
            lane[i] = one_load(block.image, min(x + i, (int)IMAGE_WIDTH - 1), row BLOCK_CORRECTION);
        value = VLOAD(0, lane);
    }
#if BORDER_CONSTANT
    if (y < 0)
        value = BORDER_VALUE;
#endif
#if HAS_CURVE
    value = curve_of(value);
#endif
    return value;
}

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
twice_down(global const uchar *restrict image, global float *restrict lines,
           global const int *restrict map,
           constant const float *restrict taps KERNEL_CORRECTION CAPTURED_PARAMETERS)
{
    const struct block block = {0, 0, CAPTURED(image + image_offset()), map,
                                map CORRECTION_ARGUMENT};
    const int x = get_global_id(0) * LANES, y = get_global_id(1) * STRIP;
    float tap[TAPS];
    real sum[STRIP];
    if (x >= IMAGE_WIDTH)
        return;
    taps_take(tap, taps);
#pragma unroll
    for (int i = 0; i < STRIP; i++)
        sum[i] = 0;
#define ROW_LOAD(k) twice_load(block, x, map[y + k])
    ROWS_24
#undef ROW_LOAD
    lines += LINES_OFFSET + (size_t)x * LINE_PITCH + y;
    *(global real *)lines = TRANSPOSED(x);
    *(global real *)(lines + LINE_PITCH) = TRANSPOSED(y);
    *(global real *)(lines + 2 * LINE_PITCH) = TRANSPOSED(z);
    *(global real *)(lines + 3 * LINE_PITCH) = TRANSPOSED(w);
}

/* Returns the result of the first dispatch for a column beyond the image: the border's constant
 * times the sum of its taps. */
static inline real beyond_of(constant const float *taps)
{
    float sum = taps[0];
    real value = BORDER_VALUE;
    for (int i = 1; i <= RADIUS; i++)
        sum += 2 * taps[i];
#if HAS_CURVE
    value = curve_of(value);
#endif
    return sum * value;
}

/* Loads a vector of a line, which begins `at` floats after its start. */
static inline real line_load(global const float *lines, real beyond, int at)
{
    const real value = *(global const real *)(lines + (BORDER_CONSTANT ? max(at, 0) : at));
    return BORDER_CONSTANT && at < 0 ? beyond : value;
}

/* Stores a vector of a row. If both sides of the image are whole vectors, no branch for the edges
 * remains. */
static inline void twice_store(global uchar *result, struct block block, int x, int y, real value)
{
#if ALIGNED_STORE && IMAGE_WIDTH % LANES == 0
    *(global bytes *)(result + PLACE(x, y)) = TO_BYTES(to_result(value));
#else
    group_store(result, block, x, y, value);
#endif
}

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
twice_across(global const float *restrict lines, global const uchar *restrict image,
             global uchar *restrict result, global const int *restrict map,
             constant const float *restrict taps CAPTURED_PARAMETERS)
{
    const struct block block = {.image = CAPTURED(image + image_offset())};
    const int y = get_global_id(0) * LANES, x = get_global_id(1) * STRIP;
    const real beyond = BORDER_CONSTANT ? beyond_of(taps) : 0;
    float tap[TAPS];
    real sum[STRIP];
    if (y >= IMAGE_HEIGHT)
        return;
    taps_take(tap, taps + TAPS);
#pragma unroll
    for (int i = 0; i < STRIP; i++)
        sum[i] = 0;
    lines += LINES_OFFSET + y;
#define ROW_LOAD(k) line_load(lines, beyond, map[x + k])
    ROWS_24
#undef ROW_LOAD
    result += image_offset();
#define ROW_STORE(i, part)                                                                         \
    if (IMAGE_HEIGHT % LANES == 0 || y + i < IMAGE_HEIGHT)                                         \
        twice_store(result, block, x, y + i, TRANSPOSED(part));
    ROW_STORE(0, x)
    ROW_STORE(1, y)
    ROW_STORE(2, z)
    ROW_STORE(3, w)
}
