/* The pictures of which a field of motion is made (daemon/engine/field/field.h), their derivatives,
 * and the sums of each cell.
 *
 *   field_pictures   samples -> pictures          a frame at all sizes
 *   field_derive     pictures -> derived, still   smooth pictures, their gradient, and the sums
 *                                                 that no shift changes
 *
 * The maths is that of daemon/estimators/motion/motion_level.c. Constants that the processor's C
 * also has (motion_constants.h there) come before these files: daemon/engine/field/field_layout.c
 * writes them.
 *
 * Data: constants with one number for each size, from the full one on, say where it begins in a
 * buffer (..._at) and how large it is. `pictures` has PIXELS floats; `derived` has three planes of
 * as many, smooth, gx and gy, filled where cells are; `still` has STILL planes of CELLS floats: xx,
 * xy, yy, x, y, s, ss, xxv, xyv, yyv, xxu, xyu, yyu. Work-items: a group of field_pictures has 8 x
 * 8 items, each with four samples (LANES > 1: that of field_lanes.cl has eight rows); ITEMS items
 * of field_derive have a cell. Launched by daemon/engine/field/field.c. */

/* What an item has of a cell. On a GPU it is a column, so that eight items have a cell, and GROUP
 * of them a block. On a CPU it is all columns in a vector: an item has a cell or a block by itself,
 * and waits for no other one. */
#if LANES == 1
#define ITEMS       CELL
#define BLOCK_ITEMS GROUP
typedef float columns;
#define COLUMN(item)           ((float)((item) % CELL))
#define COLUMNS_AT(from)       (*(from))
#define PUT_COLUMNS(value, to) (*(to) = (value))
#else
#define ITEMS                  1
#define BLOCK_ITEMS            1
typedef float8 columns;
#define COLUMN(item)           ((float8)(0, 1, 2, 3, 4, 5, 6, 7))
#define COLUMNS_AT(from)       vload8(0, from)
#define PUT_COLUMNS(value, to) vstore8(value, 0, to)
#endif

#define GROUP_CELLS (GROUP / ITEMS)

/* The size to which a number of a buffer belongs. */
static inline int level_at(constant int *begin, int at)
{
    int level = 0;
    while (level + 1 < LEVELS && at >= begin[level + 1])
        level++;
    return level;
}

/* ---- sums ---- */

/* Adds up what the eight items of a cell of the group have. */
static inline float sum_of_cell(local const float *part, int cell)
{
    float sum = 0;
    for (int l = 0; l < CELL; l++)
        sum += part[cell * CELL + l];
    return sum;
}

static inline float sum_of(float8 a)
{
    const float4 b = a.lo + a.hi;
    return (b.x + b.y) + (b.z + b.w);
}

/* Adds up the columns of each cell of the group. to: where the first sum of the item's cell goes;
 * the others follow in planes. 0: nothing is stored. */
static inline void put_sums(const columns *sum, int count, local float (*part)[GROUP], int item,
                            global float *to)
{
#if LANES == 1
    for (int k = 0; k < count; k++)
        part[k][item] = sum[k];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = item % CELL; k < count && to != 0; k += CELL)
        to[k * CELLS] = sum_of_cell(part[k], item / CELL);
#else
#pragma unroll
    for (int k = 0; k < count; k++)
        if (to != 0)
            to[k * CELLS] = sum_of(sum[k]);
#endif
}

/* ---- a frame at all sizes ---- */

#if LANES == 1

static inline float mean_of(local const float *from, int x, int y, int pitch)
{
    local const float *at = from + 2 * y * pitch + 2 * x;
    return 0.25f * (at[0] + at[1] + at[pitch] + at[pitch + 1]);
}

static inline void put_pixel(global float *pictures, int level, int x, int y, float value)
{
    if (level < LEVELS && x < picture_width[level] && y < picture_height[level])
        pictures[picture_at[level] + y * picture_width[level] + x] = value;
}

kernel __attribute__((reqd_work_group_size(8, 8, 1))) void
field_pictures(global const float *samples, global float *pictures, float scale)
{
    local float half_size[8 * 8], quarter[4 * 4];
    const int x = get_global_id(0), y = get_global_id(1);
    const int u = get_local_id(0), v = get_local_id(1);
    float sum = 0;
    for (int i = 0; i < 4; i++) {
        const int column = 2 * x + i % 2, row = 2 * y + i / 2;
        float value = 0;
        if (column < picture_width[0] && row < picture_height[0])
            value = scale * samples[row * SAMPLE_PITCH + column];
        value = value > -LARGEST && value < LARGEST ? value : 0;
        put_pixel(pictures, 0, column, row, value);
        sum += value;
    }
    put_pixel(pictures, 1, x, y, 0.25f * sum);
    half_size[8 * v + u] = 0.25f * sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (u < 4 && v < 4) {
        quarter[4 * v + u] = mean_of(half_size, u, v, 8);
        put_pixel(pictures, 2, 4 * get_group_id(0) + u, 4 * get_group_id(1) + v,
                  quarter[4 * v + u]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (u < 2 && v < 2)
        put_pixel(pictures, 3, 2 * get_group_id(0) + u, 2 * get_group_id(1) + v,
                  mean_of(quarter, u, v, 4));
}

#endif

/* ---- derivatives ---- */

/* Returns samples of a row; those outside it are the nearest one inside. */
static inline columns samples_at(global const float *row, int x, int width, bool is_inside)
{
#if LANES == 1
    return row[clamp(x, 0, width - 1)];
#else
    float sample[CELL];
    if (is_inside)
        return COLUMNS_AT(row + x);
    for (int i = 0; i < CELL; i++)
        sample[i] = row[clamp(x + i, 0, width - 1)];
    return vload8(0, sample);
#endif
}

/* The picture smoothed by a cubic B-spline, and its slope, in the rows from one above a cell to one
 * below it. x: the item's first column. is_inside: all samples it needs of a row are inside. */
static inline void smooth_cell(global const float *picture, int width, int height, int x, int top,
                               bool is_inside, columns smooth[CELL + 2], columns slope[CELL + 2])
{
    columns along[3], across[3];
#pragma unroll
    for (int i = 0; i < CELL + 4; i++) {
        global const float *row = picture + clamp(top - 2 + i, 0, height - 1) * width;
        const columns a = samples_at(row, x - 2, width, is_inside),
                      b = samples_at(row, x - 1, width, is_inside);
        const columns c = samples_at(row, x, width, is_inside),
                      d = samples_at(row, x + 1, width, is_inside);
        const columns e = samples_at(row, x + 2, width, is_inside);
        along[i % 3] = b + 4 * c + d;
        across[i % 3] = (e - a) + 4 * (d - b);
        if (i < 2)
            continue;
        smooth[i - 2] = (along[(i + 1) % 3] + 4 * along[(i + 2) % 3] + along[i % 3]) * (1.0f / 36);
        slope[i - 2] =
            (across[(i + 1) % 3] + 4 * across[(i + 2) % 3] + across[i % 3]) * (1.0f / 72);
    }
    if (top == 0)
        smooth[0] = smooth[1];
    if (top + CELL == height)
        smooth[CELL + 1] = smooth[CELL];
}

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
field_derive(global const float *pictures, global float *derived, global float *still)
{
    local float part[STILL][GROUP];
    const int item = get_local_id(0), wanted = get_group_id(0) * GROUP_CELLS + item / ITEMS;
    const int cell = min(wanted, CELLS - 1), level = level_at(cell_at, cell);
    const int left = (cell - cell_at[level]) % cell_columns[level] * CELL;
    const int top = (cell - cell_at[level]) / cell_columns[level] * CELL;
    const int width = picture_width[level], height = picture_height[level];
    const int x = left + item % ITEMS;
    const columns column = COLUMN(item), from_edge = (columns)(width - 1 - left) - column;
    const bool has_cell = wanted < CELLS;
    columns smooth[CELL + 2], slope[CELL + 2], sum[STILL] = {0};
    global const float *picture = pictures + picture_at[level];
    if (ITEMS == 1 && left >= 2 && left + CELL + 2 <= width)
        smooth_cell(picture, width, height, x, top, true, smooth, slope);
    else
        smooth_cell(picture, width, height, x, top, false, smooth, slope);
    global float *to = derived + picture_at[level] + top * width + x;
#pragma unroll
    for (int v = 0; v < CELL; v++, to += width) {
        const float place = (float)v - 0.5f * (CELL - 1);
        const columns s = smooth[v + 1], gy = 0.5f * (smooth[v + 2] - smooth[v]);
        const columns gx = select(slope[v + 1], (columns)0, column + left == 0 || from_edge == 0);
        if (has_cell) {
            PUT_COLUMNS(s, to);
            PUT_COLUMNS(gx, to + PIXELS);
            PUT_COLUMNS(gy, to + 2 * PIXELS);
        }
        const columns xx = gx * gx, xy = gx * gy, yy = gy * gy;
        const columns numbers[] = {xx, xy,    yy,         gx,         gy,
                                   s,  s * s, place * xx, place * xy, place * yy};
#pragma unroll
        for (int k = 0; k < 10; k++)
            sum[k] += numbers[k];
    }
#pragma unroll
    for (int k = 0; k < 3; k++)
        sum[10 + k] = (column - 0.5f * (CELL - 1)) * sum[k];
    put_sums(sum, STILL, part, item, has_cell ? still + cell : 0);
}
