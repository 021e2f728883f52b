/* The direct technique with equal taps, if a group is one item (direct_lines.cl): a mean of
 * samples. A row of the ring has the sums of SIDE samples along rows. They are added up from sums
 * of 2, 4, 8 and 16 samples, and those along columns change by two rows from one row to the next.
 * Floats hold sums of samples of 8 bits exactly, and others to within a hundredth of a step. */

/* Sums of more samples, from each place on. */
#define DOUBLE(count)                                                                              \
    _Pragma("unroll") for (int g = 0; g < LINE; g++) line[g] =                                     \
        TO_BITS(FROM_BITS(line[g]) + FROM_BITS(line_shift(line, g, count)));

/* Adds those of `count` samples, if SIDE has that bit, behind those of the higher bits. */
#define ADD(count)                                                                                 \
    if (SIDE & (count))                                                                            \
        _Pragma("unroll") for (int g = 0; g < COLUMNS; g++) sum[g] +=                              \
            FROM_BITS(line_take(line, g, (int)(SIDE & ~(2 * (count)-1)) - RADIUS));

#define NEXT(count)                                                                                \
    if (SIDE >= 2 * (count)) {                                                                     \
        DOUBLE(count)                                                                              \
        ADD(2 * (count))                                                                           \
    }

ALWAYS_INLINE void row_sum(real sum[COLUMNS], bits *line)
{
#pragma unroll
    for (int g = 0; g < COLUMNS; g++)
        sum[g] = 0;
    ADD(1)
    NEXT(1)
    NEXT(2)
    NEXT(4)
    NEXT(8)
}

static inline void block_make(global uchar *result, struct block block, constant const float *taps,
                              local real *ring)
{
    const int end = min(BLOCK_Y, IMAGE_HEIGHT - block.y);
    const float factor = taps[1] * taps[1 + 2 * (RADIUS + 1)];
    real sum[COLUMNS];
#pragma unroll
    for (int g = 0; g < COLUMNS; g++)
        sum[g] = 0;
    for (int i = 0; i < SIDE * COLUMNS; i++)
        ring[i] = 0;
    for (int i = 0, at = 0; i < end + 2 * RADIUS; i++, at = at + 1 == SIDE ? 0 : at + 1) {
        bits line[LINE];
        real row[COLUMNS];
        line_fill(line, block, row_begin(result, block, i, RADIUS));
        row_sum(row, line);
#pragma unroll
        for (int g = 0; g < COLUMNS; g++) {
            sum[g] += row[g] - ring[at * COLUMNS + g];
            ring[at * COLUMNS + g] = row[g];
        }
        if (i < 2 * RADIUS)
            continue;
#pragma unroll
        for (int g = 0; g < COLUMNS; g++)
            if (block.x + g * LANES < IMAGE_WIDTH)
                group_store(result, block, block.x + g * LANES, block.y + i - 2 * RADIUS,
                            factor * sum[g]);
    }
}
