/* The direct technique with products, if a group is one item (direct_lines.cl). It makes two rows
 * at a time, because then each row of the ring is loaded for one tap of either. The arithmetic is
 * that of direct_float.cl or of direct_short.cl. A row of the ring has what its samples are,
 * multiplied along rows, for each product, and the samples times the factor of the MIDDLE. */

#define RING_PITCH ((PRODUCTS + MIDDLE) * COLUMNS) /* vectors, each of which is stored at once */
#define TOGETHER   (COLUMNS < 4 ? COLUMNS : 4)     /* groups of columns that are in registers */

ALWAYS_INLINE void tap_add(number sum[PRODUCTS][COLUMNS], const bits *line, tap_set taps, int d)
{
#pragma unroll
    for (int g = 0; g < COLUMNS; g++) {
        const number right = TO_NUMBER(line_take(line, g, d));
        const number left = TO_NUMBER(line_take(line, g, -d));
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
ALWAYS_INLINE void row_multiply(number sum[PRODUCTS][COLUMNS], const bits *line, tap_set taps,
                                int radius)
{
#pragma unroll
    for (int i = 0; i < PRODUCTS * COLUMNS; i++)
        sum[i / COLUMNS][i % COLUMNS] =
            FIRST(taps) +
            ONCE(taps + i / COLUMNS * SET, TO_NUMBER(line_take(line, i % COLUMNS, 0)));
    /* clang-format off */
    TAP(1) TAP(2) TAP(3) TAP(4) TAP(5) TAP(6) TAP(7) TAP(8)
    TAP(9) TAP(10) TAP(11) TAP(12) TAP(13) TAP(14) TAP(15)
    /* clang-format on */
}

/* Adds the ring, times a product's taps along columns, to the sums of two rows, `above` and the one
 * below it. Each row that is loaded is for one tap of either. */
ALWAYS_INLINE void rows_add(number sum[2][TOGETHER], local const number *ring, int above,
                            tap_set taps, int radius)
{
    const int rows = 2 * radius + 2;
    int up = above, down = above + 1 == rows ? 0 : above + 1;
    number higher[TOGETHER], lower[TOGETHER];
#pragma unroll
    for (int g = 0; g < TOGETHER; g++) {
        higher[g] = ring[up * RING_PITCH + g];
        lower[g] = ring[down * RING_PITCH + g];
        sum[0][g] += ONCE(taps, higher[g]);
        sum[1][g] += ONCE(taps, lower[g]);
    }
    for (int d = 1; d <= radius; d++) {
        up = up == 0 ? rows - 1 : up - 1;
        down = down + 1 == rows ? 0 : down + 1;
#pragma unroll
        for (int g = 0; g < TOGETHER; g++) {
            const number next_higher = ring[up * RING_PITCH + g];
            const number next_lower = ring[down * RING_PITCH + g];
            sum[0][g] += BOTH(taps, d, lower[g], next_higher);
            sum[1][g] += BOTH(taps, d, next_lower, higher[g]);
            higher[g] = next_higher;
            lower[g] = next_lower;
        }
    }
}

#if MIDDLE
ALWAYS_INLINE void middle_add(number sum[2][TOGETHER], local const number *ring, int above,
                              int rows)
{
    const int below = above + 1 == rows ? 0 : above + 1;
#pragma unroll
    for (int g = 0; g < TOGETHER; g++) {
        sum[0][g] = SUM(sum[0][g], ring[above * RING_PITCH + g]);
        sum[1][g] = SUM(sum[1][g], ring[below * RING_PITCH + g]);
    }
}
#endif

static inline void block_make(global uchar *result, struct block block, constant const float *taps,
                              local number *ring)
{
    const int radius = (int)taps[0], rows = 2 * radius + 2;
    const int end = min(BLOCK_Y, IMAGE_HEIGHT - block.y);
    TAPS_TAKE(set, taps, radius);
    for (int i = 0, at = 0; i < end + 2 * radius; i += 2, at = at + 2 == rows ? 0 : at + 2) {
#pragma unroll 1
        for (int k = 0; k < 2; k++) {
            const int y = row_begin(result, block, i + k, radius);
            bits line[LINE];
            number sum[PRODUCTS][COLUMNS];
            line_fill(line, block, y);
            row_multiply(sum, line, set, radius);
#pragma unroll
            for (int p = 0; p < PRODUCTS; p++)
#pragma unroll
                for (int g = 0; g < COLUMNS; g++)
                    ring[(at + k) * RING_PITCH + p * COLUMNS + g] = sum[p][g];
#if MIDDLE
#pragma unroll
            for (int g = 0; g < COLUMNS; g++)
                ring[(at + k) * RING_PITCH + PRODUCTS * COLUMNS + g] =
                    MIDDLE_OF(set, TO_NUMBER(line_take(line, g, 0)));
#endif
        }
        const int y = i - 2 * radius, above = at >= radius ? at - radius : at - radius + rows;
        if (y < 0)
            continue;
        for (int g = 0; g < COLUMNS; g += TOGETHER) {
            number sum[2][TOGETHER];
#pragma unroll
            for (int k = 0; k < 2 * TOGETHER; k++)
                sum[k / TOGETHER][k % TOGETHER] = FIRST(set + 2 * (RADIUS + 1));
#pragma unroll
            for (int p = 0; p < PRODUCTS; p++)
                rows_add(sum, ring + p * COLUMNS + g, above, set + p * SET + 2 * (RADIUS + 1),
                         radius);
#if MIDDLE
            middle_add(sum, ring + PRODUCTS * COLUMNS + g, above, rows);
#endif
#pragma unroll
            for (int k = 0; k < 2 * TOGETHER; k++) {
                const int x = block.x + (g + k % TOGETHER) * LANES, row = y + k / TOGETHER;
                if (x < IMAGE_WIDTH && row < end)
                    number_store(result, block, x, block.y + row, sum[k / TOGETHER][k % TOGETHER]);
            }
        }
    }
}
