/* The direct technique: short filters without a transform. One dispatch loads, multiplies by the
 * taps, and stores.
 *
 * Data:
 *   image, result  pixel.cl
 *   map_x, map_y   the border, as for a transform of PADDED_X x PADDED_Y (daemon/transform/plan.c):
 *                  coordinates before the image are behind the others
 *   taps           PRODUCTS == 0: SIDE rows of SIDE floats. A sample of the result is the sum of
 *                  taps[j][i] times the sample i - RADIUS to the right and j - RADIUS down.
 *                  PRODUCTS > 0, one item: the first float is the radius beyond which taps are 0;
 *                  then for each product RADIUS + 1 taps along rows, from the middle on, for
 *                  samples to the right, and as many for those to the left; and those along
 *                  columns, for samples below and above. If not ODD, both sides have the same taps
 *                  PRODUCTS > 0, several items: for each product SIDE taps along rows, and as many
 *                  along columns
 *   work           local memory: the tile, or the ring
 *
 * Work-items: a work-group of GROUP items makes a block of COLUMNS groups of LANES columns and ROWS
 * strips of STRIP rows. The second dimension counts blocks of rows, the third one images
 * (batch.cl). Launched by transform_frame_enqueue (daemon/transform/frame.c) as listed by direct.c.
 *
 * Without products an item makes a strip of one group of columns at a time. Each sample of the
 * result needs SIDE x SIDE loads. Where a load is cheap (CHEAP_LOAD), a block inside the image does
 * without the tile. Elsewhere the group first loads all samples that its block needs into the tile,
 * each once.
 *
 * With products, one item makes the block two rows at a time: a row of samples is loaded, is
 * multiplied by the taps along rows, and joins the ring of the last rows, which are multiplied by
 * those along columns. Several items multiply all rows of the tile, put the results into its place,
 * and multiply these along columns. */

#define SIDE         (2 * RADIUS + 1)
#define BLOCK_X      (COLUMNS * LANES)
#define BLOCK_Y      (ROWS * STRIP)
#define TILE_MARGIN  ((RADIUS + LANES - 1) / LANES * LANES)
#define TILE_GROUPS  (COLUMNS + 2 * (TILE_MARGIN / LANES))
#define TILE_PITCH   (TILE_GROUPS * LANES)
#define TILE_ROWS    (BLOCK_Y + 2 * RADIUS)

#define PLAIN_SAMPLE (IMAGE_STEP == 1 || SAMPLE_U16 || (SAMPLE_U8 && (KEEP_OTHERS || GREY_RESULT)))
#define CHANGES_SAMPLES                                                                            \
    (CORRECTIONS || HAS_CURVE || (!DENOISED && (CALIBRATED || WARPED || MEDIAN || SAMPLE_BAYER)))
#define CHEAP_LOAD (GROUP == 1 && !CHANGES_SAMPLES && (DENOISED || PLAIN_SAMPLE))

/* A GPU reads and writes several bytes at once only where their type says that it may. */
#define ALIGNED_BYTES                                                                              \
    (GROUP > 1 && SAMPLE_U8 && IMAGE_STEP == 1 && IMAGE_STRIDE % LANES == 0 &&                     \
     IMAGE_OFFSET % LANES == 0 && IMAGE_APART % LANES == 0)
#define ALIGNED_LOAD  (ALIGNED_BYTES && !MEDIAN && !DENOISED && !CALIBRATED && !WARPED)
#define ALIGNED_STORE (ALIGNED_BYTES && !VIEW_DIFFERENCE && !VIEW_EDGES && !GREY_RESULT)
#define PLACE(x, y)   ((size_t)(y)*IMAGE_STRIDE + IMAGE_OFFSET + (x))
typedef PASTE(uchar, LANES) bytes;

/* ---- loads --------------------------------------------------------------------------------- */

/* Returns the coordinates in the image of a place of the padded one; -1: the constant. Beyond what
 * any sample needs it returns any. */
static inline int column_of(global const int *map_x, int x)
{
    x = clamp(x, -RADIUS, (int)(IMAGE_WIDTH + RADIUS - 1));
    return x < 0 ? map_x[x + PADDED_X] : x < IMAGE_WIDTH ? x : map_x[x];
}

static inline int row_of(global const int *map_y, int y)
{
    y = min(y, (int)(IMAGE_HEIGHT + RADIUS - 1));
    return y < 0 ? map_y[y + PADDED_Y] : y < IMAGE_HEIGHT ? y : map_y[y];
}

static inline float one_load(captured image, int x, int y CORRECTION_PARAMETER)
{
    float value = sample_load_mapped(image, x, 0, y);
    if (x >= 0 && y >= 0) {
        CORRECT(float, value, x, y, READ_ONE)
    }
    return value;
}

/* Loads LANES samples from column x on, which is a multiple of LANES. The row is one of the image.
 */
static inline real group_load(captured image, global const int *map_x, int x,
                              int y CORRECTION_PARAMETER)
{
    real value;
    if (x >= 0 && x + LANES <= IMAGE_WIDTH && y >= 0) {
#if ALIGNED_LOAD
        value = TO_REAL(*(global const bytes *)(BYTES(image) + PLACE(x, y)));
#else
        value = samples_load(image, map_x, x, 0, true, y);
#endif
        CORRECT(real, value, x, y, READ_LANES)
    } else {
        float lane[LANES];
#if CHANGES_SAMPLES
#pragma unroll 1
#endif
        for (int i = 0; i < LANES; i++)
            lane[i] = one_load(image, column_of(map_x, x + i), y CORRECTION_ARGUMENT);
        value = VLOAD(0, lane);
    }
#if HAS_CURVE
    value = curve_of(value);
#endif
    return value;
}

/* A block of the result. */
struct block {
    int x, y; /* its first column and row */
    captured image;
    global const int *map_x, *map_y;
#if CORRECTIONS
    global const float *correction;
#endif
};

#if CORRECTIONS
#define BLOCK_CORRECTION , block.correction
#else
#define BLOCK_CORRECTION
#endif

static inline void group_store(global uchar *result, struct block block, int x, int y, real value)
{
    const bool is_inside = x + LANES <= IMAGE_WIDTH;
#if ALIGNED_STORE
    if (is_inside) {
        *(global bytes *)(result + PLACE(x, y)) = TO_BYTES(to_result(value));
        return;
    }
#endif
    samples_store(result, block.image, x, 0, is_inside, y, to_result(value));
}

#if PRODUCTS > 0 && GROUP == 1

#define AHEAD      4 /* rows */
#define CACHE_LINE 64

/* Asks for the place of some samples of the result that are stored AHEAD rows later. A processor
 * does not look so far ahead, and a store waits for the line of its place. */
static inline void place_await(global uchar *result, int x, int y, int samples)
{
#if !SAMPLE_BAYER && !GREY_RESULT
    global uchar *row = result + (size_t)(y + AHEAD) * IMAGE_STRIDE + IMAGE_OFFSET;
    for (int i = 0; i < samples * IMAGE_STEP; i += CACHE_LINE)
        __builtin_prefetch((const void *)(size_t)(row + (size_t)x * IMAGE_STEP + i), 1);
#endif
}

/* Asks for samples that are loaded soon. */
static inline void samples_await(struct block block, int x, int y, int samples)
{
#if !DENOISED
    global const uchar *row = BYTES(block.image) + (size_t)y * IMAGE_STRIDE + IMAGE_OFFSET;
    x = max(x, 0);
    for (int i = 0; y >= 0 && i < samples * IMAGE_STEP; i += CACHE_LINE)
        __builtin_prefetch((const void *)(size_t)(row + (size_t)x * IMAGE_STEP + i));
#endif
}

#endif

/* Loads all samples that a block needs, each once. */
static inline void tile_load(struct block block, local float *tile)
{
    for (int i = get_local_id(0); i < TILE_GROUPS * TILE_ROWS; i += GROUP) {
        const int group = i % TILE_GROUPS, row = i / TILE_GROUPS;
        const int y = row_of(block.map_y, block.y - RADIUS + row);
        VSTORE(group_load(block.image, block.map_x, block.x - TILE_MARGIN + group * LANES,
                          y BLOCK_CORRECTION),
               i, tile);
    }
#if GROUP > 1
    barrier(CLK_LOCAL_MEM_FENCE);
#endif
}

/* ---- products ------------------------------------------------------------------------------ */

#if PRODUCTS > 0 && GROUP > 1

#define SET    (2 * SIDE) /* floats of a product's taps */
#define ROUNDS ((TILE_ROWS * COLUMNS + GROUP - 1) / GROUP)
#define PITCH  (PRODUCTS * BLOCK_X) /* of the rows that have been multiplied */

static inline void row_multiply(real sum[PRODUCTS], local const float *from,
                                constant const float *taps)
{
    float sample[2 * TILE_MARGIN + LANES];
#pragma unroll
    for (int i = 0; i <= 2 * TILE_MARGIN / LANES; i++)
        VSTORE(((local const real *)from)[i], i, sample);
#pragma unroll
    for (int p = 0; p < PRODUCTS; p++)
        sum[p] = 0;
#pragma unroll
    for (int d = 0; d < SIDE; d++)
#pragma unroll
        for (int p = 0; p < PRODUCTS; p++)
            sum[p] += taps[p * SET + d] * VLOAD(0, sample + TILE_MARGIN - RADIUS + d);
}

/* Makes a strip of the result from rows of the tile that have been multiplied. */
static inline void strip_add(global uchar *result, struct block block, local const float *from,
                             constant const float *taps, int x, int y)
{
    real sum[STRIP];
#pragma unroll
    for (int k = 0; k < STRIP; k++)
        sum[k] = 0;
#pragma unroll
    for (int i = 0; i < STRIP + 2 * RADIUS; i++)
#pragma unroll
        for (int p = 0; p < PRODUCTS; p++) {
            const real row = *(local const real *)(from + i * PITCH + p * BLOCK_X);
#pragma unroll
            for (int k = 0; k < STRIP; k++)
                if (i >= k && i - k < SIDE)
                    sum[k] += taps[p * SET + SIDE + i - k] * row;
        }
#pragma unroll
    for (int k = 0; k < STRIP; k++)
        if (y + k < IMAGE_HEIGHT)
            group_store(result, block, x, y + k, sum[k]);
}

static inline void block_make(global uchar *result, struct block block, constant const float *taps,
                              local float *tile)
{
    real sum[ROUNDS][PRODUCTS];
    tile_load(block, tile);
#pragma unroll
    for (int i = 0; i < ROUNDS; i++) {
        const int at = get_local_id(0) + i * GROUP;
        if (at < TILE_ROWS * COLUMNS)
            row_multiply(sum[i], tile + at / COLUMNS * TILE_PITCH + at % COLUMNS * LANES, taps);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
    for (int i = 0; i < ROUNDS; i++) {
        const int at = get_local_id(0) + i * GROUP;
#pragma unroll
        for (int p = 0; p < PRODUCTS; p++)
            if (at < TILE_ROWS * COLUMNS)
                *(local real *)(tile + at / COLUMNS * PITCH + p * BLOCK_X + at % COLUMNS * LANES) =
                    sum[i][p];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = get_local_id(0); i < COLUMNS * ROWS; i += GROUP) {
        const int x = block.x + i % COLUMNS * LANES, strip = i / COLUMNS * STRIP;
        if (x < IMAGE_WIDTH)
            strip_add(result, block, tile + strip * PITCH + (x - block.x), taps, x,
                      block.y + strip);
    }
}

#elif PRODUCTS > 0

#define MARGIN           (TILE_MARGIN / LANES)
#define RING_PITCH       (PRODUCTS * COLUMNS)        /* vectors, each of which is stored at once */
#define SET              (4 * (RADIUS + 1))          /* floats of a product's taps */
#define TOGETHER         (COLUMNS < 4 ? COLUMNS : 4) /* groups of columns that are in registers */

/* Lanes d .. d + LANES - 1 of two vectors, for a d that the compiler knows. A load of them from
 * memory takes twice as long, because it is from two lines of the cache. They are integers, because
 * LLVM shifts those by one instruction, and floats by a permutation with indices. */
#define ALWAYS_INLINE    static inline __attribute__((always_inline))
typedef PASTE(int, LANES) bits;
#define TO_BITS(value)   PASTE(as_int, LANES)(value)
#define FROM_BITS(value) PASTE(as_float, LANES)(value)
#define FROM4(d)         d, d + 1, d + 2, d + 3
#define FROM8(d)         FROM4(d), FROM4(d + 4)
#define FROM16(d)        FROM8(d), FROM8(d + 8)
#define TAKE(d)                                                                                    \
    case d:                                                                                        \
        return __builtin_shufflevector(a, b, PASTE(FROM, LANES)(d));

ALWAYS_INLINE bits shift(bits a, bits b, int d)
{
    /* clang-format off */
    switch (d) {
        TAKE(1) TAKE(2) TAKE(3)
#if LANES > 4
        TAKE(4) TAKE(5) TAKE(6) TAKE(7)
#endif
#if LANES > 8
        TAKE(8) TAKE(9) TAKE(10) TAKE(11) TAKE(12) TAKE(13) TAKE(14) TAKE(15)
#endif
    }
    /* clang-format on */
    return a;
}

/* The samples d to the right of group g of a line, which begins MARGIN groups to the left. */
ALWAYS_INLINE real line_take(const bits *line, int g, int d)
{
    const int lane = (d + MARGIN * LANES) % LANES, at = g + (d + MARGIN * LANES) / LANES;
    return FROM_BITS(shift(line[at], line[lane > 0 ? at + 1 : at], lane));
}

/* The taps at a distance on both sides, times their samples. */
#if ODD
#define BOTH(taps, d, after, before) ((taps)[d] * (after) + (taps)[RADIUS + 1 + (d)] * (before))
#else
#define BOTH(taps, d, after, before) ((taps)[d] * ((after) + (before)))
#endif

ALWAYS_INLINE void tap_add(real sum[PRODUCTS][COLUMNS], const bits *line,
                           constant const float *taps, int d)
{
#pragma unroll
    for (int g = 0; g < COLUMNS; g++) {
        const real right = line_take(line, g, d), left = line_take(line, g, -d);
#pragma unroll
        for (int p = 0; p < PRODUCTS; p++)
            sum[p][g] += BOTH(taps + p * SET, d, right, left);
    }
}

#define TAP(d)                                                                                     \
    if (d <= RADIUS && d <= radius)                                                                \
        tap_add(sum, line, taps, d);

/* Multiplies a row by the taps along it. The sums of all columns are independent of each other, so
 * none waits for the one before. (Compilers do not unroll so long a loop.) */
ALWAYS_INLINE void row_multiply(real sum[PRODUCTS][COLUMNS], const bits *line,
                                constant const float *taps, int radius)
{
#pragma unroll
    for (int i = 0; i < PRODUCTS * COLUMNS; i++)
        sum[i / COLUMNS][i % COLUMNS] = taps[i / COLUMNS * SET] * line_take(line, i % COLUMNS, 0);
    /* clang-format off */
    TAP(1) TAP(2) TAP(3) TAP(4) TAP(5) TAP(6) TAP(7) TAP(8)
    TAP(9) TAP(10) TAP(11) TAP(12) TAP(13) TAP(14) TAP(15)
    /* clang-format on */
}

/* Adds the ring, times a product's taps along columns, to the sums of two rows, `above` and the one
 * below it. Each row that is loaded is for one tap of either. */
ALWAYS_INLINE void rows_add(real sum[2][TOGETHER], local const real *ring, int above,
                            constant const float *taps, int radius)
{
    const int rows = 2 * radius + 2;
    int up = above, down = above + 1 == rows ? 0 : above + 1;
    real higher[TOGETHER], lower[TOGETHER];
#pragma unroll
    for (int g = 0; g < TOGETHER; g++) {
        higher[g] = ring[up * RING_PITCH + g];
        lower[g] = ring[down * RING_PITCH + g];
        sum[0][g] += taps[0] * higher[g];
        sum[1][g] += taps[0] * lower[g];
    }
    for (int d = 1; d <= radius; d++) {
        up = up == 0 ? rows - 1 : up - 1;
        down = down + 1 == rows ? 0 : down + 1;
#pragma unroll
        for (int g = 0; g < TOGETHER; g++) {
            const real next_higher = ring[up * RING_PITCH + g];
            const real next_lower = ring[down * RING_PITCH + g];
            sum[0][g] += BOTH(taps, d, lower[g], next_higher);
            sum[1][g] += BOTH(taps, d, next_lower, higher[g]);
            higher[g] = next_higher;
            lower[g] = next_lower;
        }
    }
}

/* One item makes the block, two rows at a time. A row of the ring has what its samples are,
 * multiplied along rows, for each product. */
static inline void block_make(global uchar *result, struct block block, constant const float *taps,
                              local real *ring)
{
    const int radius = (int)taps[0], rows = 2 * radius + 2;
    const int end = min(BLOCK_Y, IMAGE_HEIGHT - block.y);
    taps++;
    for (int i = 0, at = 0; i < end + 2 * radius; i += 2, at = at + 2 == rows ? 0 : at + 2) {
#pragma unroll 1
        for (int k = 0; k < 2; k++) {
            const int y = row_of(block.map_y, block.y + i + k - radius);
            samples_await(block, block.x - TILE_MARGIN,
                          row_of(block.map_y, block.y + i + k - radius + AHEAD),
                          BLOCK_X + 2 * TILE_MARGIN + CACHE_LINE);
            if (i >= 2 * radius)
                place_await(result, block.x, block.y + i + k - 2 * radius, BLOCK_X);
            bits line[COLUMNS + 2 * MARGIN];
            real sum[PRODUCTS][COLUMNS];
            for (int g = 0; g < COLUMNS + 2 * MARGIN; g++)
                line[g] = TO_BITS(group_load(block.image, block.map_x,
                                             block.x + (g - MARGIN) * LANES, y BLOCK_CORRECTION));
            row_multiply(sum, line, taps, radius);
#pragma unroll
            for (int p = 0; p < PRODUCTS; p++)
#pragma unroll
                for (int g = 0; g < COLUMNS; g++)
                    ring[(at + k) * RING_PITCH + p * COLUMNS + g] = sum[p][g];
        }
        const int y = i - 2 * radius;
        if (y < 0)
            continue;
        for (int g = 0; g < COLUMNS; g += TOGETHER) {
            real sum[2][TOGETHER];
#pragma unroll
            for (int k = 0; k < 2 * TOGETHER; k++)
                sum[k / TOGETHER][k % TOGETHER] = 0;
#pragma unroll
            for (int p = 0; p < PRODUCTS; p++)
                rows_add(sum, ring + p * COLUMNS + g,
                         at >= radius ? at - radius : at - radius + rows,
                         taps + p * SET + 2 * (RADIUS + 1), radius);
#pragma unroll
            for (int k = 0; k < 2 * TOGETHER; k++) {
                const int x = block.x + (g + k % TOGETHER) * LANES, row = y + k / TOGETHER;
                if (x < IMAGE_WIDTH && row < end)
                    group_store(result, block, x, block.y + row, sum[k / TOGETHER][k % TOGETHER]);
            }
        }
    }
}

#else

/* Sets taken[d] to the LANES samples from column x + d - RADIUS on, in a row of the padded image
 * that counts from the first one of the tile. */
static inline void row_take(real *taken, struct block block, local const float *tile, bool is_tiled,
                            int x, int row)
{
    if (is_tiled) {
        local const float *from = tile + row * TILE_PITCH + (x - block.x);
#if GROUP == 1
#pragma unroll
        for (int d = 0; d < SIDE; d++)
            taken[d] = VLOAD(0, from + TILE_MARGIN - RADIUS + d);
#else /* in registers shifts cost nothing, and whole vectors have no conflicts of banks */
        float line[2 * TILE_MARGIN + LANES];
#pragma unroll
        for (int i = 0; i <= 2 * TILE_MARGIN / LANES; i++)
            VSTORE(((local const real *)from)[i], i, line);
#pragma unroll
        for (int d = 0; d < SIDE; d++)
            taken[d] = VLOAD(0, line + TILE_MARGIN - RADIUS + d);
#endif
        return;
    }
#if RADIUS == 0
    taken[0] = group_load(block.image, block.map_x, x, block.y + row BLOCK_CORRECTION);
#elif CHEAP_LOAD
    const int y = row_of(block.map_y, block.y - RADIUS + row);
#pragma unroll
    for (int d = 0; d < SIDE; d++)
        taken[d] = y < 0 ? (real)BORDER_VALUE
                         : samples_load(block.image, block.map_x, x + d - RADIUS, 0, true, y);
#endif
}

/* ---- taps ---------------------------------------------------------------------------------- */

#if GROUP > 1 && RADIUS > 0 && RADIUS <= 4

/* The sums of all rows of the strip are in registers. Each row of samples is loaded once, and adds
 * to those that it reaches. */
static inline void strip_make(global uchar *result, struct block block, local const float *tile,
                              bool is_tiled, constant const float *taps, int x, int strip)
{
    const int y = block.y + strip * STRIP;
    real sum[STRIP];
#pragma unroll
    for (int k = 0; k < STRIP; k++)
        sum[k] = 0;
#pragma unroll
    for (int i = 0; i < STRIP + 2 * RADIUS; i++) {
        real taken[SIDE];
        row_take(taken, block, tile, is_tiled, x, strip * STRIP + i);
#pragma unroll
        for (int d = 0; d < SIDE; d++)
#pragma unroll
            for (int k = 0; k < STRIP; k++)
                if (i >= k && i - k < SIDE)
                    sum[k] += taps[(i - k) * SIDE + d] * taken[d];
    }
#pragma unroll
    for (int k = 0; k < STRIP; k++)
        if (y + k < IMAGE_HEIGHT)
            group_store(result, block, x, y + k, sum[k]);
}

#else

/* Each row of samples is loaded once, and adds to the SIDE rows of the result that it reaches. */
static inline void strip_make(global uchar *result, struct block block, local const float *tile,
                              bool is_tiled, constant const float *taps, int x, int strip)
{
    real sum[SIDE];
#pragma unroll
    for (int k = 0; k < SIDE; k++)
        sum[k] = 0;
#if GROUP > 1
#pragma unroll
#endif
    for (int i = 0; i < STRIP + 2 * RADIUS; i++) {
        real taken[SIDE];
        const int y = block.y + strip * STRIP + i - 2 * RADIUS;
        if (y >= IMAGE_HEIGHT)
            break;
        row_take(taken, block, tile, is_tiled, x, strip * STRIP + i);
#pragma unroll
        for (int d = 0; d < SIDE; d++)
#pragma unroll
            for (int k = 0; k < SIDE; k++)
                sum[k] += taps[(SIDE - 1 - k) * SIDE + d] * taken[d];
        if (i >= 2 * RADIUS)
            group_store(result, block, x, y, sum[0]);
#pragma unroll
        for (int k = 0; k + 1 < SIDE; k++)
            sum[k] = sum[k + 1];
        sum[SIDE - 1] = 0;
    }
}

#endif

static inline void block_make(global uchar *result, struct block block, local const float *tile,
                              bool is_tiled, constant const float *taps)
{
    for (int i = get_local_id(0); i < COLUMNS * ROWS; i += GROUP) {
        const int x = block.x + i % COLUMNS * LANES;
        if (x < IMAGE_WIDTH)
            strip_make(result, block, tile, is_tiled, taps, x, i / COLUMNS);
    }
}

#endif

/* ---- the kernel ---------------------------------------------------------------------------- */

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
direct(global const uchar *restrict image, global uchar *restrict result,
       global const int *restrict map_x, global const int *restrict map_y,
       constant const float *restrict taps, local real *work KERNEL_CORRECTION CAPTURED_PARAMETERS)
{
    const struct block block = {(int)get_group_id(0) * BLOCK_X, (int)get_group_id(1) * BLOCK_Y,
                                CAPTURED(image + image_offset()), map_x, map_y CORRECTION_ARGUMENT};
#if PRODUCTS == 0 || GROUP > 1
    local float *tile = (local float *)work;
#endif
    result += image_offset();
#if PRODUCTS > 0 && GROUP == 1
    block_make(result, block, taps, work);
#elif PRODUCTS > 0
    block_make(result, block, taps, tile);
#elif RADIUS == 0
    block_make(result, block, tile, false, taps);
#else
#if CHEAP_LOAD
    if (block.x >= RADIUS && block.x + BLOCK_X + RADIUS <= IMAGE_WIDTH) {
        block_make(result, block, tile, false, taps);
        return;
    }
#endif
    tile_load(block, tile);
    block_make(result, block, tile, true, taps);
#endif
}
