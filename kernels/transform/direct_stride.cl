/* The direct technique for a smaller picture (struct taps_stride of daemon/filters/taps.h), if a
 * group is one item. It makes only the results that the picture has. Columns come first, because
 * along them neighbours are whole vectors, and what remains for rows is half as much. The
 * arithmetic is that of direct_float.cl or direct_short.cl, whose first taps are here those along
 * columns.
 *
 * Along rows, neighbouring results are STRIDE samples apart, which is 2. So a line is held as two
 * *phases*, its even and its odd samples. In each phase the samples of neighbouring results are
 * neighbours. The ring has the samples of the last rows. BLOCK_X and BLOCK_Y count results. */

#define MIDDLE_RIGHT (STRIDE / 2) /* from the first sample that a result covers */
#define WIDE         (STRIDE * LINE)
#define TOGETHER     (WIDE % 5 == 0 ? 5 : WIDE % 4 == 0 ? 4 : 2) /* groups that are in registers */

#if IN_SHORTS
#define LINE_OF(value) (value)
#else
#define LINE_OF(value) TO_BITS(value)
#endif

/* Unpacks two bytes for each lane. */
#if IN_SHORTS && IMAGE_STEP == 1
#define HAS_GROUP_FILL 1
ALWAYS_INLINE void bytes_unpack(local number *line, int g, PASTE(ushort, LANES) both)
{
    line[g] = (TO_SHORT(both & (ushort)255) - (short)128) << (short)7;
    line[LINE + g] = (TO_SHORT(both >> (ushort)8) - (short)128) << (short)7;
}

ALWAYS_INLINE void group_fill(local number *line, int g, struct block block, int x, int y)
{
    bytes_unpack(line, g, ((global const packed_shorts *)(BYTES(block.image) + PLACE(x, y)))->all);
}
#endif

/* Loads a group that may reach beyond the image, but only the samples that results need. `column`
 * says where the samples of the line come from. */
#if HAS_GROUP_FILL && !BORDER_CONSTANT
ALWAYS_INLINE void group_gather(local number *line, int g, struct block block, const int *column,
                                int x, int y)
{
    union {
        PASTE(ushort, LANES) all;
        uchar one[STRIDE * LANES];
    } taken = {.all = 0};
    global const uchar *const from = BYTES(block.image) + PLACE(0, y);
    const int end = min(STRIDE * LANES, IMAGE_WIDTH + RADIUS - x);
    for (int i = max(0, -RADIUS - x); i < end; i++)
        taken.one[i] = from[column[g * STRIDE * LANES + i]];
    bytes_unpack(line, g, taken.all);
}
#else
ALWAYS_INLINE void group_gather(local number *line, int g, struct block block, const int *column,
                                int x, int y)
{
    bits_lane lane[STRIDE * LANES], taken[LANES];
#pragma unroll 1
    for (int i = 0; i < STRIDE; i++)
        VSTORE(line_load(block, x + i * LANES, y), i, lane);
#pragma unroll
    for (int p = 0; p < STRIDE; p++) {
#pragma unroll
        for (int i = 0; i < LANES; i++)
            taken[i] = lane[i * STRIDE + p];
        line[p * LINE + g] = TO_NUMBER(VLOAD(0, taken));
    }
}
#endif

/* Loads a line from MARGIN groups before the block on. */
ALWAYS_INLINE void line_unpack(local number *line, struct block block, const int *column, int y)
{
    const int first = STRIDE * (block.x - MARGIN * LANES);
#if HAS_GROUP_FILL
    if (first >= 0 && first + WIDE * LANES <= IMAGE_WIDTH && y >= 0) {
#pragma unroll
        for (int g = 0; g < LINE; g++)
            group_fill(line, g, block, first + g * STRIDE * LANES, y);
        return;
    }
#endif
#pragma unroll 1
    for (int g = 0; g < LINE; g++) {
        const int x = first + g * STRIDE * LANES;
#if HAS_GROUP_FILL
        if (x >= 0 && x + STRIDE * LANES <= IMAGE_WIDTH && y >= 0) {
            group_fill(line, g, block, x, y);
            continue;
        }
#endif
        group_gather(line, g, block, column, x, y);
    }
}

/* Multiplies the ring by the taps along columns. `last`: where the newest row is in it. */
ALWAYS_INLINE void columns_multiply(bits phase[STRIDE][LINE], local const number *ring, int last,
                                    tap_set taps, int radius)
{
    local const number *const end = ring + (2 * radius + 2) * WIDE;
    local const number *const middle =
        ring + (last > radius ? last - radius - 1 : last + radius + 1) * WIDE;
#pragma unroll
    for (int first = 0; first < WIDE; first += TOGETHER) {
        local const number *higher = middle, *lower = middle;
        number sum[TOGETHER];
#pragma unroll
        for (int g = 0; g < TOGETHER; g++)
            sum[g] = FIRST(taps);
        for (int d = 0; d <= radius; d++) {
            lower = lower + WIDE == end ? ring : lower + WIDE;
#pragma unroll
            for (int g = 0; g < TOGETHER; g++)
                sum[g] += BOTH(taps, d, lower[first + g], higher[first + g]);
            higher = (higher == ring ? end : higher) - WIDE;
        }
#pragma unroll
        for (int g = 0; g < TOGETHER; g++)
            phase[(first + g) / LINE][(first + g) % LINE] = LINE_OF(sum[g]);
    }
}

/* Returns the samples at distance d from the first one that each result of a group covers. */
ALWAYS_INLINE number phases_take(bits phase[STRIDE][LINE], int g, int d)
{
    const int p = d & (STRIDE - 1); /* d may be negative; STRIDE is a power of two */
    return TO_NUMBER(line_take(phase[p], g, (d - p) / STRIDE));
}

ALWAYS_INLINE void tap_add(number sum[COLUMNS], bits phase[STRIDE][LINE], tap_set taps, int d)
{
#pragma unroll
    for (int g = 0; g < COLUMNS; g++)
        sum[g] += BOTH(taps, d, phases_take(phase, g, MIDDLE_RIGHT + d),
                       phases_take(phase, g, MIDDLE_RIGHT - 1 - d));
}

#define TAP(d)                                                                                     \
    if (d <= RADIUS && d <= radius)                                                                \
        tap_add(sum, phase, taps, d);

ALWAYS_INLINE void row_multiply(number sum[COLUMNS], bits phase[STRIDE][LINE], tap_set taps,
                                int radius)
{
#pragma unroll
    for (int g = 0; g < COLUMNS; g++)
        sum[g] = FIRST(taps);
    /* clang-format off */
    TAP(0) TAP(1) TAP(2) TAP(3) TAP(4) TAP(5) TAP(6) TAP(7)
    TAP(8) TAP(9) TAP(10) TAP(11) TAP(12) TAP(13) TAP(14) TAP(15)
    /* clang-format on */
}

/* Stores LANES results from column x on. */
ALWAYS_INLINE void results_store(global uchar *result, int x, int y, number value)
{
    global uchar *const at =
        result + (size_t)y * SMALLER_STRIDE + SMALLER_OFFSET + (size_t)x * SMALLER_STEP;
#if IN_SHORTS
    const bits rounded = (value >> (short)6) + (short)128;
    const real filtered = TO_REAL(clamp(rounded, (bits)0, (bits)255));
#if SMALLER_STEP == 1
    if (x + LANES <= SMALLER_WIDTH) {
        ((global packed_bytes *)at)->all =
            PASTE(convert_uchar, LANES)(clamp(rounded, (bits)0, (bits)255));
        return;
    }
#endif
#else
    const real filtered = to_result(value);
#if SMALLER_BYTES == 1 && SMALLER_STEP == 1
    if (x + LANES <= SMALLER_WIDTH) {
        STORE_BYTES(filtered, at);
        return;
    }
#endif
#endif
    float lane[LANES];
    VSTORE(filtered, 0, lane);
    for (int i = 0; i < LANES && x + i < SMALLER_WIDTH; i++) {
        global uchar *const to = at + i * SMALLER_STEP;
#if SMALLER_BYTES == 1
        *to = to_byte(lane[i]);
#elif SMALLER_BYTES == 2
        *(global ushort *)to = convert_ushort_rte(clamp(lane[i], 0.0f, (float)RESULT_MAX));
#else
        *(global float *)to = lane[i];
#endif
    }
}

static inline void block_make(global uchar *result, struct block block, constant const float *taps,
                              local number *ring)
{
    const int radius = (int)taps[0], rows = 2 * radius + 2;
    const int first = STRIDE * block.y + MIDDLE_RIGHT - 1 - radius;
    const int end = STRIDE * (min(BLOCK_Y, SMALLER_HEIGHT - block.y) - 1) + rows;
    TAPS_TAKE(set, taps, radius);
    int column[WIDE * LANES];
    for (int i = 0; i < WIDE * LANES; i++)
        column[i] = column_of(block.map_x, STRIDE * (block.x - MARGIN * LANES) + i);
    for (int i = 0, at = 0; i < end; i++, at = at + 1 == rows ? 0 : at + 1) {
        bits phase[STRIDE][LINE];
        number sum[COLUMNS];
        samples_await(block, STRIDE * (block.x - MARGIN * LANES),
                      row_of(block.map_y, first + i + AHEAD), WIDE * LANES + CACHE_LINE);
        line_unpack(ring + at * WIDE, block, column, row_of(block.map_y, first + i));
        if (i + 1 < rows || (i + 1 - rows) % STRIDE != 0)
            continue;
        columns_multiply(phase, ring, at, set, radius);
        row_multiply(sum, phase, set + 2 * (RADIUS + 1), radius);
        const int y = block.y + (i + 1 - rows) / STRIDE;
#pragma unroll
        for (int g = 0; g < COLUMNS; g++)
            if (block.x + g * LANES < SMALLER_WIDTH)
                results_store(result, block.x + g * LANES, y, sum[g]);
    }
}
