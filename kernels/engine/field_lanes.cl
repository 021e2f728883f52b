/* The kernels of field_pictures.cl, field_choose.cl and field_fit.cl for a device whose vectors are
 * those of a CPU: an item has whole rows, and vectors of eight columns, so that nothing waits for
 * other items and no number of an item has to be kept for all of a group.
 *
 *   field_pictures   samples -> pictures
 *   field_derive     pictures -> derived, still
 *   field_choose     pictures, peaks, vectors -> vectors, left
 *   field_move       pictures, vectors -> moved
 *   field_solve      still, moved -> own, certainty, rest
 *
 * The maths is that of those files. Functions that do not depend on the work-items are theirs.
 *
 * Data: as there, but what is read of many cells at a time lies side by side: `still` and `moved`
 * have a plane of CELLS numbers for each of their sums. `derived` has for each cell its eight rows:
 * eight numbers each of smooth, gx and gy. Work-items: a group of one item has eight rows of
 * samples, a row of cells, or a row of blocks. Launched by daemon/engine/field/field.c. */

#define CELL_DERIVED (3 * CELL * CELL)

#define ALONE        __attribute__((reqd_work_group_size(1, 1, 1)))

/* ---- a frame at all sizes ---- */

/* Makes a row of half the size of two rows. */
static inline void halve_row(global const float *above, int pitch, global float *to, int width)
{
    global const float *below = above + pitch;
    int x = 0;
    for (; x + 8 <= width; x += 8) {
        const float16 a = vload16(0, above + 2 * x), b = vload16(0, below + 2 * x);
        vstore8(0.25f * ((a.even + a.odd) + (b.even + b.odd)), 0, to + x);
    }
    for (; x < width; x++)
        to[x] = 0.25f * ((above[2 * x] + above[2 * x + 1]) + (below[2 * x] + below[2 * x + 1]));
}

static inline void take_row(global const float *samples, global float *to, float scale)
{
    int x = 0;
    for (; x + 8 <= picture_width[0]; x += 8) {
        const float8 value = scale * vload8(0, samples + x);
        vstore8(select((float8)0, value, value > -LARGEST && value < LARGEST), 0, to + x);
    }
    for (; x < picture_width[0]; x++) {
        const float value = scale * samples[x];
        to[x] = value > -LARGEST && value < LARGEST ? value : 0;
    }
}

kernel ALONE void field_pictures(global const float *samples, global float *pictures, float scale)
{
    int first = CELL * (int)get_global_id(1), rows = CELL;
    for (int y = first; y < min(first + rows, picture_height[0]); y++)
        take_row(samples + y * SAMPLE_PITCH, pictures + y * picture_width[0], scale);
    for (int level = 1; level < LEVELS; level++) {
        first /= 2;
        rows /= 2;
        const int pitch = picture_width[level - 1], width = picture_width[level];
        for (int y = first; y < min(first + rows, picture_height[level]); y++)
            halve_row(pictures + picture_at[level - 1] + 2 * y * pitch, pitch,
                      pictures + picture_at[level] + y * width, width);
    }
}

/* ---- cells ---- */

/* The sums of the numbers of four vectors. */
static inline float4 sums_of(float8 a, float8 b, float8 c, float8 d)
{
    const float4 p = a.lo + a.hi, q = b.lo + b.hi, r = c.lo + c.hi, s = d.lo + d.hi;
    const float4 left = (float4)(p.even, q.even) + (float4)(p.odd, q.odd);
    const float4 right = (float4)(r.even, s.even) + (float4)(r.odd, s.odd);
    return (float4)(left.even, right.even) + (float4)(left.odd, right.odd);
}

static inline float sum_of(float8 a)
{
    const float4 b = a.lo + a.hi;
    return (b.x + b.y) + (b.z + b.w);
}

/* Eight samples of a row; what is outside is the nearest one. */
static inline float8 samples_at(global const float *row, int x, int width, bool is_inside)
{
    if (is_inside)
        return vload8(0, row + x);
    const int last = width - 1;
    return (float8)(row[clamp(x, 0, last)], row[clamp(x + 1, 0, last)], row[clamp(x + 2, 0, last)],
                    row[clamp(x + 3, 0, last)], row[clamp(x + 4, 0, last)],
                    row[clamp(x + 5, 0, last)], row[clamp(x + 6, 0, last)],
                    row[clamp(x + 7, 0, last)]);
}

/* The derivatives of a cell and their sums. is_inside: all samples that it needs of a row are in
 * the picture. */
static inline void derive_cell(global const float *picture, int width, int height, int left,
                               int top, bool is_inside, global float *derived, global float *still)
{
    float8 smooth[CELL + 2], gx[CELL + 2]; /* of the rows from top - 1 on */
    float8 along[3], slope[3];
#pragma unroll
    for (int i = 0; i < CELL + 4; i++) {
        global const float *row = picture + clamp(top - 2 + i, 0, height - 1) * width;
        const float8 a = samples_at(row, left - 2, width, is_inside);
        const float8 b = samples_at(row, left - 1, width, is_inside);
        const float8 c = samples_at(row, left, width, is_inside);
        const float8 d = samples_at(row, left + 1, width, is_inside);
        const float8 e = samples_at(row, left + 2, width, is_inside);
        along[i % 3] = b + 4 * c + d;
        slope[i % 3] = (e - a) + 4 * (d - b);
        if (i < 2)
            continue;
        smooth[i - 2] = (along[(i + 1) % 3] + 4 * along[(i + 2) % 3] + along[i % 3]) * (1.0f / 36);
        gx[i - 2] = (slope[(i + 1) % 3] + 4 * slope[(i + 2) % 3] + slope[i % 3]) * (1.0f / 72);
    }
    if (top == 0)
        smooth[0] = smooth[1];
    if (top + CELL == height)
        smooth[CELL + 1] = smooth[CELL];
    const float8 from_middle = (float8)(0, 1, 2, 3, 4, 5, 6, 7) - (float8)(0.5f * (CELL - 1));
    const int8 column = left + (int8)(0, 1, 2, 3, 4, 5, 6, 7);
    float8 xx = 0, xy = 0, yy = 0, x = 0, y = 0, s = 0, ss = 0, xxv = 0, xyv = 0, yyv = 0;
#pragma unroll
    for (int v = 0; v < CELL; v++) {
        const float place = (float)v - 0.5f * (CELL - 1);
        const float8 here = smooth[v + 1], down = 0.5f * (smooth[v + 2] - smooth[v]);
        float8 right = gx[v + 1];
        if (!is_inside)
            right = select(right, (float8)0, column == 0 || column == width - 1);
        vstore8(here, 3 * v, derived);
        vstore8(right, 3 * v + 1, derived);
        vstore8(down, 3 * v + 2, derived);
        const float8 xx_here = right * right, xy_here = right * down, yy_here = down * down;
        xx += xx_here;
        xy += xy_here;
        yy += yy_here;
        x += right;
        y += down;
        s += here;
        ss += here * here;
        xxv += place * xx_here;
        xyv += place * xy_here;
        yyv += place * yy_here;
    }
    const float4 first = sums_of(xx, xy, yy, x), second = sums_of(y, s, ss, xxv);
    const float4 third = sums_of(xyv, yyv, from_middle * xx, from_middle * xy);
    still[0] = first.x;
    still[CELLS] = first.y;
    still[2 * CELLS] = first.z;
    still[3 * CELLS] = first.w;
    still[4 * CELLS] = second.x;
    still[5 * CELLS] = second.y;
    still[6 * CELLS] = second.z;
    still[7 * CELLS] = second.w;
    still[8 * CELLS] = third.x;
    still[9 * CELLS] = third.y;
    still[10 * CELLS] = third.z;
    still[11 * CELLS] = third.w;
    still[12 * CELLS] = sum_of(from_middle * yy);
}

kernel ALONE void field_derive(global const float *pictures, global float *derived,
                               global float *still)
{
    int level = 0, row = get_global_id(0);
    while (level + 1 < LEVELS && row >= cell_rows[level])
        row -= cell_rows[level++];
    const int width = picture_width[level], height = picture_height[level];
    global const float *picture = pictures + picture_at[level];
    for (int column = 0; column < cell_columns[level]; column++) {
        const int cell = cell_at[level] + row * cell_columns[level] + column;
        const int left = column * CELL, top = row * CELL;
        global float *to = derived + cell * CELL_DERIVED;
        if (left >= 2 && left + CELL + 2 <= width)
            derive_cell(picture, width, height, left, top, true, to, still + cell);
        else
            derive_cell(picture, width, height, left, top, false, to, still + cell);
    }
}

/* Moves a cell of the last picture, and adds up what is left of the difference. Returns false, and
 * sums of 0, if the shift leads out of the picture. */
static inline bool move_cell(global const float *last, global const float *derived, int level,
                             int column, int row, float2 shift, float4 *ret)
{
    const int width = picture_width[level], height = picture_height[level];
    const float2 whole = floor(-shift);
    const int left = column * CELL + (int)whole.x - 1, top = row * CELL + (int)whole.y - 1;
    *ret = 0;
    if (left < 0 || top < 0 || left + CELL + TAPS - 1 > width || top + CELL + TAPS - 1 > height)
        return false;
    const float4 wx = spline(-shift.x - whole.x), wy = spline(-shift.y - whole.y);
    global const float *from = last + picture_at[level] + top * width + left;
    global const float *at =
        derived + (cell_at[level] + row * cell_columns[level] + column) * CELL_DERIVED;
    float8 line[TAPS], xr = 0, yr = 0, r = 0, rr = 0;
#pragma unroll
    for (int v = 0; v < CELL + TAPS - 1; v++, from += width) {
        line[v % TAPS] = wx.x * vload8(0, from) + wx.y * vload8(0, from + 1) +
                         wx.z * vload8(0, from + 2) + wx.w * vload8(0, from + 3);
        if (v < TAPS - 1)
            continue;
        const float8 rest =
            vload8(0, at) - (wy.x * line[(v + 1) % TAPS] + wy.y * line[(v + 2) % TAPS] +
                             wy.z * line[(v + 3) % TAPS] + wy.w * line[v % TAPS]);
        xr += vload8(1, at) * rest;
        yr += vload8(2, at) * rest;
        r += rest;
        rr += rest * rest;
        at += 3 * CELL;
    }
    *ret = sums_of(xr, yr, r, rr);
    return true;
}

kernel ALONE void field_move(global const float *last, global const float *derived,
                             global const float4 *vectors, global float *moved, int level)
{
    const int row = get_global_id(0);
    const float hop = block_cells[level] / 2, half_block = 0.5f * block_cells[level] - 0.5f;
    for (int column = 0; column < cell_columns[level]; column++) {
        const float2 shift =
            quad_at(vectors, level, (column - half_block) / hop, (row - half_block) / hop).shift;
        float4 sum;
        const bool is_inside = move_cell(last, derived, level, column, row, shift, &sum);
        global float *to = moved + cell_at[level] + row * cell_columns[level] + column;
        to[0] = sum.x;
        to[CELLS] = sum.y;
        to[2 * CELLS] = sum.z;
        to[3 * CELLS] = sum.w;
        to[4 * CELLS] = is_inside ? CELL * CELL : 0;
        to[5 * CELLS] = shift.x;
        to[6 * CELLS] = shift.y;
    }
}

/* ---- the choice ---- */

/* The variance of the difference of a square of both pictures, whole pixels apart, from every
 * second row; INFINITY: most of the square would come from outside the picture. */
static inline float difference_of(global const float *last, global const float *next, int level,
                                  int2 from, int side, int2 shift)
{
    const int width = picture_width[level], height = picture_height[level];
    const int x0 = max(from.x, shift.x), y0 = max(from.y, shift.y);
    const int x_end = min(from.x + side, width + shift.x);
    const int y_end = min(from.y + side, height + shift.y);
    const int columns = (x_end - x0) / CELL * CELL, rows = (y_end - y0 + 1) / 2;
    if (columns < side / 2 || y_end - y0 < side / 2)
        return INFINITY;
    global const float *new = next + picture_at[level] + y0 *width + x0;
    global const float *old = last + picture_at[level] + (y0 - shift.y) * width + x0 - shift.x;
    float8 sum = 0, squares = 0;
    for (int y = 0; y < rows; y++, new += 2 * width, old += 2 * width)
        for (int x = 0; x < columns; x += CELL) {
            const float8 difference = vload8(0, new + x) - vload8(0, old + x);
            sum += difference;
            squares += difference * difference;
        }
    const float count = columns * rows, mean = sum_of(sum) / count;
    return fmax(sum_of(squares) / count - mean * mean, 0.0f);
}

/* The mean square of a block's gradient. */
static inline float mean_gradient2(global const float *still, int level, int column, int row)
{
    const int side = block_cells[level], hop = side / 2;
    global const float *cell =
        still + cell_at[level] + row * hop * cell_columns[level] + column * hop;
    float sum = 0;
    for (int y = 0; y < side; y++, cell += cell_columns[level])
        for (int x = 0; x < side; x++)
            sum += cell[x] + cell[2 * CELLS + x];
    return sum / (float)(side * side * CELL * CELL);
}

kernel ALONE void field_choose(global const float *last, global const float *next,
                               global const float *still, global const char2 *peaks,
                               global const float *usual, global const float4 *vectors,
                               global const float *left, global float4 *ret_vectors,
                               global float *ret_left, global float4 *around, int level, int mode)
{
    local struct trial trial;
    const int row = get_global_id(0), side = block_cells[level] * CELL;
    const bool is_first = mode == CHOOSE_SEARCHED || mode == CHOOSE_COARSE;
    for (int column = 0; column < block_columns[level]; column++) {
        const int at = block_at[level] + row * block_columns[level] + column;
        if (!is_first && !is_unusual(left, usual[level], at)) {
            ret_vectors[at] = vectors[at];
            ret_left[at] = left[at];
            ret_left[BLOCKS + at] = left[BLOCKS + at];
            continue;
        }
        float ambiguous, difference[MAX_TRIED];
        int best = 0;
        list_trials(&trial, vectors, peaks, level, mode, column, row, &ambiguous);
        for (int i = 0; i < trial.count; i++) {
            difference[i] = difference_of(last, next, level, (int2)(column, row) * (side / 2), side,
                                          convert_int2_rte(trial.shift[i]));
            best = difference[i] < difference[best] ? i : best;
        }
        const float between_pixels =
            is_first ? BETWEEN * mean_gradient2(still, level, column, row) : left[BLOCKS + at];
        const float rival = AMBIGUOUS * difference[best] + between_pixels;
        for (int i = 0; i < trial.count && mode == CHOOSE_SEARCHED; i++)
            if (difference[i] < rival && distance(trial.shift[i], trial.shift[best]) > SAME)
                ambiguous = 1;
        ret_vectors[at] = (float4)(trial.shift[best], 0, ambiguous);
        ret_left[at] = difference[best];
        ret_left[BLOCKS + at] = between_pixels;
        if (is_first)
            around[at] = 0;
    }
}

/* ---- blocks ---- */

#define PARTS                                                                                      \
    ((FULL_SIDE * FULL_SIDE + 15) / 16) /* of a block: 16 cells each, but of 2 x 2 four            \
                                         */

/* One number of the cells of a part of a block: of 4 x 4 cells, two rows of 8, or 2 x 2 cells. */
static inline float16 cells_at(global const float *first, int pitch, int side)
{
    if (side == 4)
        return (float16)(vload4(0, first), vload4(0, first + pitch), vload4(0, first + 2 * pitch),
                         vload4(0, first + 3 * pitch));
    if (side == 8)
        return (float16)(vload8(0, first), vload8(0, first + pitch));
    return (float16)(vload2(0, first), vload2(0, first + pitch), (float4)0, (float8)0);
}

static inline float sum_of_cells(float16 a)
{
    return sum_of(a.lo + a.hi);
}

/* As sum_cell, of 16 cells. */
static inline void sum_cells(global const float *still, int pitch, int side, const float16 *moved,
                             float2 vector, float4 slope, float16 x_place, float16 y_place,
                             float16 ret[SUMS])
{
    float16 is[13];
#pragma unroll
    for (int k = 0; k < 13; k++)
        is[k] = cells_at(still + k * CELLS, pitch, side);
    const float16 mx = vector.x + slope.x * x_place + slope.y * y_place - moved[5];
    const float16 my = vector.y + slope.z * x_place + slope.w * y_place - moved[6];
#pragma unroll
    for (int k = 0; k < 7; k++)
        ret[k] = is[k];
    ret[7] = moved[0] + mx * is[0] + my * is[1] + slope.x * is[10] + slope.y * is[7] +
             slope.z * is[11] + slope.w * is[8];
    ret[8] = moved[1] + mx * is[1] + my * is[2] + slope.x * is[11] + slope.y * is[8] +
             slope.z * is[12] + slope.w * is[9];
    ret[9] = moved[2] + mx * is[3] + my * is[4];
    ret[10] = moved[3] + 2 * (mx * moved[0] + my * moved[1]) + mx * mx * is[0] +
              2 * mx * my * is[1] + my * my * is[2];
    ret[11] = moved[4];
}

/* Moves the cells of a part of a block by the block's own vector. */
static inline void move_part(global const float *last, global const float *derived, int level,
                             int column, int row, int side, float2 vector, float16 ret[MOVED - 1])
{
    float number[5][16];
    for (int i = 0; i < 16; i++) {
        float4 sum = 0;
        const bool is_inside = i < side * side && move_cell(last, derived, level, column + i % side,
                                                            row + i / side, vector, &sum);
        number[0][i] = sum.x;
        number[1][i] = sum.y;
        number[2][i] = sum.z;
        number[3][i] = sum.w;
        number[4][i] = is_inside ? CELL * CELL : 0;
    }
    for (int k = 0; k < 5; k++)
        ret[k] = vload16(0, number[k]);
    ret[5] = vector.x;
    ret[6] = vector.y;
}

/* Of what is left of the cells that are seen, the number that is greater than a quarter of the
 * others. */
static inline float quartile_of(const float16 *left, int parts)
{
    float all[16 * PARTS], usual = 0;
    int seen = 0;
    for (int p = 0; p < parts; p++)
        vstore16(left[p], p, all);
    for (int i = 0; i < 16 * parts; i++)
        seen += isfinite(all[i]) ? 1 : 0;
    for (int p = 0; p < parts; p++) {
        int16 below = 0;
        for (int i = 0; i < 16 * parts; i++)
            below -= all[i] < left[p];
        const float16 of_these = select((float16)0, left[p], below <= seen / 4);
        const float8 most = fmax(of_these.lo, of_these.hi);
        const float4 more = fmax(most.lo, most.hi);
        usual = fmax(usual, fmax(fmax(more.x, more.y), fmax(more.z, more.w)));
    }
    return usual;
}

kernel ALONE void field_solve(global const float *last, global const float *derived,
                              global const float *still, global const float *moved,
                              global const float4 *vectors, global const float4 *around,
                              global const float *noise, global float4 *own,
                              global float4 *certainty, global float *rest, int level, int pass)
{
    local float total[SUMS];
    const int row = get_global_id(0), pitch = cell_columns[level];
    const int side = FULL_SIDE == 4 ? 4 : block_cells[level], parts = side == 8 ? PARTS : 1;
    const float level_noise =
        pass > 0 && isfinite(noise[level]) ? noise[level] / DIFFERENCE_NOISE : 0;
    const float least = DIFFERENCE_NOISE * (level_noise + ROUNDING);
    const int16 index = (int16)(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const float16 x_place = CELL * (convert_float16(index % side) - 0.5f * (side - 1));
    for (int column = 0; column < block_columns[level]; column++) {
        const int at = block_at[level] + row * block_columns[level] + column;
        const float4 vector = vectors[at];
        const bool is_rough = around[at].z > 0;
        const float4 slope = is_rough ? 0 : slope_of(vectors, level, column, row);
        float16 sum[PARTS][SUMS], left[PARTS];
        for (int p = 0; p < parts; p++) {
            const int x = column * (side / 2), y = row * (side / 2) + 2 * p;
            const int cell = cell_at[level] + y * pitch + x;
            float16 here[MOVED - 1];
            /* Where the blocks around do not agree, the block's cells move by its own vector. */
            if (is_rough)
                move_part(last, derived, level, x, y, side, vector.xy, here);
            else
                for (int k = 0; k < MOVED - 1; k++)
                    here[k] = cells_at(moved + k * CELLS + cell, pitch, side);
            const float16 y_place =
                CELL * (convert_float16(index / side + 2 * p) - 0.5f * (side - 1));
            sum_cells(still + cell, pitch, side, here, vector.xy, slope, x_place, y_place, sum[p]);
            left[p] = select((float16)INFINITY, sum[p][10] / sum[p][11], sum[p][11] > 0);
        }
        const float usual = fmax(quartile_of(left, parts), least);
        for (int k = 0; k < SUMS; k++)
            total[k] = 0;
        for (int p = 0; p < parts; p++) {
            const float16 far = left[p] / (OUTLYING * usual);
            const float16 weight = select((float16)0, 1 / (1 + far * far), sum[p][11] > 0);
            for (int k = 0; k < SUMS; k++)
                total[k] += sum_of_cells(weight * sum[p][k]);
        }
        const struct solution found =
            solve(total, vector.xy, level_noise, side * side * CELL * CELL);
        own[at] = found.own;
        certainty[at] = found.certainty;
        rest[at] = found.rest;
    }
}
