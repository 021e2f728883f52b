/* The direct technique with products, if a group is one item (direct.cl): it makes the block row by
 * row. A row of samples is loaded, is multiplied by the taps along it, and joins the ring of the
 * last rows, which are multiplied by the taps along columns.
 *
 * This file has what the three kinds of such kernels share:
 *   direct_float.cl   any taps, and any samples
 *   direct_short.cl   small taps, and samples of 8 bits: integers of 16 bits
 *   direct_equal.cl   equal taps: running sums */

/* Vectors beside a block. */
#define MARGIN        ((RADIUS / STRIDE + (STRIDE > 1) + LANES - 1) / LANES)
#define LINE          (COLUMNS + 2 * MARGIN) /* vectors of a line */
#define SET           (4 * (RADIUS + 1))     /* floats of a product's taps */
#define HEAD          (1 + MIDDLE)           /* those before them */
#define ALWAYS_INLINE static inline __attribute__((always_inline))

/* Returns the row of the image for row i of a block, which counts from its first one on. What is
 * loaded and stored some rows later is asked for. */
static inline int row_begin(global uchar *result, struct block block, int i, int radius)
{
    samples_await(block, block.x - TILE_MARGIN, row_of(block.map_y, block.y + i - radius + AHEAD),
                  BLOCK_X + 2 * TILE_MARGIN + CACHE_LINE);
    if (i >= 2 * radius)
        place_await(result, block.x, block.y + i - 2 * radius, BLOCK_X);
    return row_of(block.map_y, block.y + i - radius);
}

/* Floats are shifted as integers, because LLVM does that by one instruction, and shifts floats by a
 * permutation with indices. Limits of shorts are vectors because oclgrind's clamp of integers reads
 * one for each lane. */
#if IN_SHORTS
typedef PASTE(short, LANES) bits;
typedef short bits_lane;
typedef PASTE(int, LANES) wholes;
#define TO_SHORT PASTE(convert_short, LANES)
#define TO_WHOLE PASTE(convert_int, LANES)
#else
typedef PASTE(int, LANES) bits;
typedef int bits_lane;
#define TO_BITS(value)   PASTE(as_int, LANES)(value)
#define FROM_BITS(value) PASTE(as_float, LANES)(value)
#endif

/* Lanes d .. d + LANES - 1 of two vectors, for a d that the compiler knows. A load of them from
 * memory takes twice as long, because it is from two lines of the cache. */
#define FROM4(d)  d, d + 1, d + 2, d + 3
#define FROM8(d)  FROM4(d), FROM4(d + 4)
#define FROM16(d) FROM8(d), FROM8(d + 8)
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

/* The samples d to the right of group g of a line, as far as it goes. */
ALWAYS_INLINE bits line_shift(const bits *line, int g, int d)
{
    const int at = g + d / LANES < LINE ? g + d / LANES : LINE - 1;
    return shift(line[at], line[at + 1 < LINE ? at + 1 : at], d % LANES);
}

/* The samples d to the right of group g of a line, which begins MARGIN groups to the left. */
ALWAYS_INLINE bits line_take(const bits *line, int g, int d)
{
    const int lane = (d + MARGIN * LANES) % LANES, at = g + (d + MARGIN * LANES) / LANES;
    return shift(line[at], line[lane > 0 ? at + 1 : at], lane);
}

/* The samples of a line: in shorts less 128, and in 128ths. */
#if IN_SHORTS

ALWAYS_INLINE bits line_inner_load(struct block block, int x, int y)
{
#if IMAGE_STEP == 1
    return (TO_SHORT(VLOAD(0, BYTES(block.image) + PLACE(x, y))) - (short)128) << (short)7;
#else
    return TO_SHORT((inner_load(block.image, block.map_x, x, y) - 128.0f) * 128.0f);
#endif
}

ALWAYS_INLINE bits line_load(struct block block, int x, int y)
{
    return TO_SHORT((group_load(block.image, block.map_x, x, y) - 128.0f) * 128.0f);
}

#else

ALWAYS_INLINE bits line_inner_load(struct block block, int x, int y)
{
    return TO_BITS(inner_load(block.image, block.map_x, x, y BLOCK_CORRECTION));
}

ALWAYS_INLINE bits line_load(struct block block, int x, int y)
{
    return TO_BITS(group_load(block.image, block.map_x, x, y BLOCK_CORRECTION));
}

#endif

/* Loads the samples of a row from MARGIN groups before the block on. */
ALWAYS_INLINE void line_fill(bits *line, struct block block, int y)
{
    const int first = block.x - TILE_MARGIN;
#if CHEAP_LOAD
    if (first >= 0 && first + LINE * LANES <= IMAGE_WIDTH && y >= 0) {
#pragma unroll
        for (int g = 0; g < LINE; g++)
            line[g] = line_inner_load(block, first + g * LANES, y);
        return;
    }
#endif
#pragma unroll 1
    for (int g = 0; g < LINE; g++)
        line[g] = line_load(block, first + g * LANES, y);
}
