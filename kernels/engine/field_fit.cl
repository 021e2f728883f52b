/* Improves the vectors of a field of motion from about a pixel to hundredths of one.
 *
 *   field_move       pictures, vectors -> moved       moves each cell, and sums what is left of it
 *   field_solve      still, moved -> own, certainty, rest     fits each block
 *   field_usual      numbers -> a number              their lower quartile
 *
 * The maths is that of daemon/estimators/motion/motion_level.c and motion_fit.c.
 *
 * Data: as in field_pictures.cl and field_choose.cl. `moved` has MOVED floats for each cell: xr,
 * yr, r, rr, pixels, dx, dy; each is a plane. `own` has for each block its own vector, the ratio of
 * what it leaves to what noise and usual flow explain, and 0; `certainty` the inverse of the
 * vector's covariance: xx, xy, yy, 0; `rest` the mean square of what it leaves; `around` is that of
 * field_repair.cl. Work-items: ITEMS share the columns of a cell; a group of field_solve has a
 * block (LANES > 1: in field_lanes.cl each item has one); one group of USUAL_GROUP items has all
 * numbers. Launched by daemon/engine/field/field.c. */

#define MOVED_SUMS 4
#define TAPS       4
#define SUMS       12 /* xx, xy, yy, x, y, s, ss, xr, yr, r, rr, pixels */

/* What an item of field_solve has of a block at a time: a cell, or on a CPU 16 of them. */
#if LANES == 1
typedef float cells;
#else
typedef float16 cells;
#endif

/* ---- cells ---- */

/* The weights of the samples at -1, 0, 1 and 2 for a place t between 0 and 1. */
static inline float4 spline(float t)
{
    const float u = 1 - t;
    return (float4)(u * u * u, t * t * (3 * t - 6) + 4, u * u * (3 * u - 6) + 4, t * t * t) *
           (1.0f / 6);
}

/* Moves a cell of the last picture, and adds up what is left of the difference, in the columns that
 * the item has. Returns false, and adds nothing, if the shift leads out of the picture. */
static inline bool move_cell(global const float *last, global const float *derived, int level,
                             int column, int row, float2 shift, int item, columns ret[MOVED_SUMS])
{
    const int width = picture_width[level], height = picture_height[level];
    const float2 whole = floor(-shift);
    const int left = column * CELL + (int)whole.x - 1, top = row * CELL + (int)whole.y - 1;
#pragma unroll
    for (int k = 0; k < MOVED_SUMS; k++)
        ret[k] = 0;
    if (left < 0 || top < 0 || left + CELL + TAPS - 1 > width || top + CELL + TAPS - 1 > height)
        return false;
    const float4 wx = spline(-shift.x - whole.x), wy = spline(-shift.y - whole.y);
    const int first = item % ITEMS;
    global const float *from = last + picture_at[level] + top * width + left + first;
    global const float *at =
        derived + picture_at[level] + row * CELL * width + column * CELL + first;
    columns line[TAPS];
#pragma unroll
    for (int v = 0; v < CELL + TAPS - 1; v++, from += width) {
        line[v % TAPS] = wx.x * COLUMNS_AT(from) + wx.y * COLUMNS_AT(from + 1) +
                         wx.z * COLUMNS_AT(from + 2) + wx.w * COLUMNS_AT(from + 3);
        if (v < TAPS - 1)
            continue;
        const columns rest =
            COLUMNS_AT(at) - (wy.x * line[(v + 1) % TAPS] + wy.y * line[(v + 2) % TAPS] +
                              wy.z * line[(v + 3) % TAPS] + wy.w * line[v % TAPS]);
        ret[0] += COLUMNS_AT(at + PIXELS) * rest;
        ret[1] += COLUMNS_AT(at + 2 * PIXELS) * rest;
        ret[2] += rest;
        ret[3] += rest * rest;
        at += width;
    }
    return true;
}

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
field_move(global const float *last, global const float *derived, global const float4 *vectors,
           global float *moved, int level)
{
    local float part[MOVED_SUMS][GROUP];
    const int item = get_local_id(0), wanted = get_group_id(0) * GROUP_CELLS + item / ITEMS;
    const int count = cell_columns[level] * cell_rows[level], cell = min(wanted, count - 1);
    const int column = cell % cell_columns[level], row = cell / cell_columns[level];
    const float hop = block_cells[level] / 2, half_block = 0.5f * block_cells[level] - 0.5f;
    const float2 shift =
        quad_at(vectors, level, (column - half_block) / hop, (row - half_block) / hop).shift;
    global float *to = wanted < count ? moved + cell_at[level] + cell : 0;
    columns sum[MOVED_SUMS];
    const bool is_inside = move_cell(last, derived, level, column, row, shift, item, sum);
    put_sums(sum, MOVED_SUMS, part, item, to);
    if (item % ITEMS > 0 || to == 0)
        return;
    to[4 * CELLS] = is_inside ? CELL * CELL : 0;
    to[5 * CELLS] = shift.x;
    to[6 * CELLS] = shift.y;
}

/* ---- blocks ---- */

/* By how much the shift differs from pixel to pixel: of dx along x and y, and of dy. */
static inline float4 slope_of(global const float4 *vectors, int level, int column, int row)
{
    const int columns = block_columns[level], rows = block_rows[level];
    const int left = column > 0, right = column + 1 < columns;
    const int up = row > 0, down = row + 1 < rows;
    global const float4 *at = vectors + block_at[level] + row * columns + column;
    const float hop = block_cells[level] / 2 * CELL;
    const float2 x = (at[right].xy - at[-left].xy) / (hop * (left + right) + 1e-6f);
    const float2 y = (at[down * columns].xy - at[-up * columns].xy) / (hop * (up + down) + 1e-6f);
    return (float4)(x.x, y.x, x.y, y.y);
}

/* Makes the sums of cells from those that no shift changes and those of moved cells. A cell was
 * moved as a whole, by a vector between those of several blocks; the sums have what would be left
 * if the block's vector and slope had moved each pixel. x, y: distance of the cell's middle from
 * the block's, in pixels. */
static inline void sum_cells(const cells *still, const cells *moved, float2 vector, float4 slope,
                             cells x, cells y, cells ret[SUMS])
{
    const cells mx = vector.x + slope.x * x + slope.y * y - moved[5];
    const cells my = vector.y + slope.z * x + slope.w * y - moved[6];
#pragma unroll
    for (int k = 0; k < 7; k++)
        ret[k] = still[k];
    ret[7] = moved[0] + mx * still[0] + my * still[1] + slope.x * still[10] + slope.y * still[7] +
             slope.z * still[11] + slope.w * still[8];
    ret[8] = moved[1] + mx * still[1] + my * still[2] + slope.x * still[11] + slope.y * still[8] +
             slope.z * still[12] + slope.w * still[9];
    ret[9] = moved[2] + mx * still[3] + my * still[4];
    ret[10] = moved[3] + 2 * (mx * moved[0] + my * moved[1]) + mx * mx * still[0] +
              2 * mx * my * still[1] + my * my * still[2];
    ret[11] = moved[4];
}

/* What follows from the sums of a block: its own vector, and how certain that is. */
struct solution {
    float4 own, certainty;
    float rest;
};

static inline struct solution solve(const float *sum, float2 vector, float noise,
                                    float block_pixels)
{
    struct solution ret = {(float4)(vector, INFINITY, 0), 0, INFINITY};
    const float pixels = sum[11];
    if (pixels < MIN_SEEN * block_pixels)
        return ret;
    /* A shift of brightness is no motion. */
    const float part = 1 / pixels;
    const float xr = sum[7] - sum[3] * sum[9] * part, yr = sum[8] - sum[4] * sum[9] * part;
    const float rr = sum[10] - sum[9] * sum[9] * part, ss = sum[6] - sum[5] * sum[5] * part;
    const float xy = sum[1] - sum[3] * sum[4] * part;
    const float taken = GRADIENT_NOISE * noise * pixels;
    const float least = 0.1f * taken + 1e-3f * pixels;
    const float xx = fmax(sum[0] - sum[3] * sum[3] * part - taken, 0.0f) + least;
    const float yy = fmax(sum[2] - sum[4] * sum[4] * part - taken, 0.0f) + least;
    const float determinant = fmax(xx * yy - xy * xy, 1e-3f * xx * yy);
    const float2 step = (float2)(xy * yr - yy * xr, xy * xr - xx * yr) / determinant;
    const float rest = fmax(rr + step.x * xr + step.y * yr, 0.0f) * part;
    const float expected = DIFFERENCE_NOISE * (noise + ROUNDING);
    const float certainty = 1 / (CORRELATED * fmax(rest, expected));
    const float most = 0.999f * sqrt(xx * yy);
    ret.own.xy += clamp(step, -MAX_STEP, MAX_STEP);
    ret.own.z = rest / (expected + MODEL_ERROR * fmax(ss * part, 0.0f));
    ret.certainty = certainty * (float4)(xx, clamp(0.999f * xy, -most, most), yy, 0);
    ret.rest = rest;
    return ret;
}

#if LANES == 1

/* Adds up the cells of a block. Those with much more left than others count little: they are hidden
 * in one of the pictures, or move otherwise. */
kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
field_solve(global const float *last, global const float *derived, global const float *still,
            global const float *moved, global const float4 *vectors, global const float4 *around,
            global const float *noise, global float4 *own, global float4 *certainty,
            global float *rest, int level, int pass)
{
    local float part[MOVED_SUMS][GROUP], moved_here[MAX_CELLS][MOVED];
    local float sum[SUMS][MAX_CELLS], left[MAX_CELLS], total[SUMS];
    local float usual;
    const int item = get_local_id(0), block = get_group_id(0);
    const int column = block % block_columns[level], row = block / block_columns[level];
    const int side = block_cells[level], cells = side * side, at = block_at[level] + block;
    const float4 vector = vectors[at];
    const bool is_rough = around[at].z > 0;
    const float level_noise =
        pass > 0 && isfinite(noise[level]) ? noise[level] / DIFFERENCE_NOISE : 0;
    /* Where the blocks around do not agree, the block's cells move by its own vector. */
    for (int first = 0; is_rough && first < cells; first += GROUP_CELLS) {
        const int cell = min(first + item / CELL, cells - 1), k = item % CELL;
        float here[MOVED_SUMS];
        const bool is_inside = move_cell(last, derived, level, column * (side / 2) + cell % side,
                                         row * (side / 2) + cell / side, vector.xy, k, here);
        for (int i = 0; i < MOVED_SUMS; i++)
            part[i][item] = here[i];
        barrier(CLK_LOCAL_MEM_FENCE);
        float value = k == 4 ? (is_inside ? CELL * CELL : 0) : k == 5 ? vector.x : vector.y;
        if (k < MOVED_SUMS)
            value = sum_of_cell(part[k], item / CELL);
        if (first + item / CELL < cells && k < MOVED)
            moved_here[cell][k] = value;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (item == 0)
        usual = 0;
    if (item < cells) {
        const int x = item % side, y = item / side;
        const int cell =
            cell_at[level] + (row * (side / 2) + y) * cell_columns[level] + column * (side / 2) + x;
        const float2 place = CELL * ((float2)(x, y) - 0.5f * (side - 1));
        const float4 slope = is_rough ? 0 : slope_of(vectors, level, column, row);
        float is[STILL], numbers[MOVED], sums[SUMS];
        for (int k = 0; k < STILL; k++)
            is[k] = still[k * CELLS + cell];
        for (int k = 0; k < MOVED; k++)
            numbers[k] = is_rough ? moved_here[item][k] : moved[k * CELLS + cell];
        sum_cells(is, numbers, vector.xy, slope, place.x, place.y, sums);
        const bool is_seen = sums[11] > 0;
        for (int k = 0; k < SUMS; k++)
            sum[k][item] = is_seen ? sums[k] : 0;
        left[item] = is_seen ? sums[10] / sums[11] : INFINITY;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item < cells) {
        int seen = 0, below = 0;
        for (int i = 0; i < cells; i++) {
            seen += isfinite(left[i]);
            below += left[i] < left[item] || (left[i] == left[item] && i < item);
        }
        if (below == seen / 4 && isfinite(left[item]))
            usual = left[item];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item < cells && isfinite(left[item])) {
        const float least = DIFFERENCE_NOISE * (level_noise + ROUNDING);
        const float far = left[item] / (OUTLYING * fmax(usual, least));
        for (int k = 0; k < SUMS; k++)
            sum[k][item] /= 1 + far * far;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item < SUMS) {
        float all = 0;
        for (int i = 0; i < cells; i++)
            all += sum[item][i];
        total[item] = all;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item > 0)
        return;
    float sums[SUMS];
    for (int k = 0; k < SUMS; k++)
        sums[k] = total[k];
    const struct solution found = solve(sums, vector.xy, level_noise, cells * CELL * CELL);
    own[at] = found.own;
    certainty[at] = found.certainty;
    rest[at] = found.rest;
}

#endif

/* ---- what is usual ---- */

/* Sets ret[level] to the number that is greater than a quarter of the others, of a size's blocks.
 * No number is negative, so they are sorted as their bits are. Each round finds eight bits. */
kernel __attribute__((reqd_work_group_size(USUAL_GROUP, 1, 1))) void
field_usual(global const float *numbers, global float *ret, int level)
{
    local uint bin[USUAL_GROUP], next[USUAL_GROUP];
    local uint prefix, before;
    const int item = get_local_id(0), count = block_columns[level] * block_rows[level];
    global const float *from = numbers + block_at[level];
    if (item == 0) {
        prefix = 0;
        before = count / 4;
    }
    for (int shift = 24; shift >= 0; shift -= 8) {
        bin[item] = 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int i = item; i < count; i += USUAL_GROUP) {
            const uint bits = as_uint(from[i]);
            if (shift == 24 || bits >> (shift + 8) == prefix)
                atomic_inc(&bin[bits >> shift & 255]);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        const uint own = bin[item];
        for (int apart = 1; apart < USUAL_GROUP; apart *= 2) {
            next[item] = bin[item] + (item >= apart ? bin[item - apart] : 0);
            barrier(CLK_LOCAL_MEM_FENCE);
            bin[item] = next[item];
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        const uint rank = before, head = prefix, upto = bin[item];
        barrier(CLK_LOCAL_MEM_FENCE);
        if (upto > rank && upto - own <= rank) {
            prefix = head << 8 | (uint)item;
            before = rank - (upto - own);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (item == 0)
        ret[level] = as_float(prefix);
}
