/* The pictures of which a field of motion is made (daemon/engine/field/field.h), their derivatives,
 * and the sums of each cell.
 *
 *   field_pictures   samples -> pictures          a frame at all sizes
 *   field_derive     pictures -> derived          it smoothed, and its gradient
 *   field_sum        derived -> still             the sums that no shift changes
 *
 * The maths is that of daemon/estimators/motion/motion_level.c. Constants that the processor's C
 * has, too (motion_constants.h there), stand before these files: daemon/engine/field/field_layout.c
 * writes them.
 *
 * Data: constants with one number for each size, from the full one on, say where it begins in a
 * buffer (..._at) and how large it is. `pictures` has PIXELS floats; `derived` has three planes of
 * as many, smooth, gx and gy; `still` has STILL floats for each cell: xx, xy, yy, x, y, s, ss, xxv,
 * xyv, yyv, xxu, xyu, yyu. Work-items: a group of field_pictures has 8 x 8 items, each with four
 * samples; an item of field_derive has a pixel; eight items of field_sum have the columns of a
 * cell. LANES > 1: field_lanes.cl has the kernels. Launched by daemon/engine/field/field.c. */

#if LANES == 1

#define STILL_SUMS 10

/* The size to which a number of a buffer belongs. */
static inline int level_at(constant int *begin, int at)
{
    int level = 0;
    while (level + 1 < LEVELS && at >= begin[level + 1])
        level++;
    return level;
}

/* ---- a frame at all sizes ---- */

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

/* ---- derivatives ---- */

struct plane {
    global const float *sample;
    int width, height;
};

/* The picture smoothed by a cubic B-spline at one place, which may be one pixel outside. */
static inline float smooth_at(const struct plane *plane, int x, int y)
{
    float sum = 0;
    for (int v = -1; v <= 1; v++) {
        global const float *row = plane->sample + clamp(y + v, 0, plane->height - 1) * plane->width;
        const float along = row[clamp(x - 1, 0, plane->width - 1)] + 4 * row[x] +
                            row[clamp(x + 1, 0, plane->width - 1)];
        sum += v == 0 ? 4 * along : along;
    }
    return sum * (1.0f / 36);
}

kernel void field_derive(global const float *pictures, global float *derived)
{
    const int at = get_global_id(0);
    if (at >= PIXELS)
        return;
    const int level = level_at(picture_at, at);
    const struct plane plane = {pictures + picture_at[level], picture_width[level],
                                picture_height[level]};
    const int x = (at - picture_at[level]) % plane.width;
    const int y = (at - picture_at[level]) / plane.width;
    const float above = smooth_at(&plane, x, max(y - 1, 0));
    const float below = smooth_at(&plane, x, min(y + 1, plane.height - 1));
    derived[at] = smooth_at(&plane, x, y);
    derived[PIXELS + at] = x == 0 || x == plane.width - 1
                               ? 0
                               : 0.5f * (smooth_at(&plane, x + 1, y) - smooth_at(&plane, x - 1, y));
    derived[2 * PIXELS + at] = 0.5f * (below - above);
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

/* The same, times each column's place. */
static inline float moment_of_cell(local const float *part, int cell)
{
    float sum = 0;
    for (int l = 0; l < CELL; l++)
        sum += ((float)l - 0.5f * (CELL - 1)) * part[cell * CELL + l];
    return sum;
}

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
field_sum(global const float *derived, global float *still)
{
    local float part[STILL_SUMS][GROUP];
    const int item = get_local_id(0), first = get_group_id(0) * GROUP_CELLS;
    const int cell = min(first + item / CELL, CELLS - 1), level = level_at(cell_at, cell);
    const int column = (cell - cell_at[level]) % cell_columns[level];
    const int row = (cell - cell_at[level]) / cell_columns[level];
    global const float *from = derived + picture_at[level] + row * CELL * picture_width[level] +
                               column * CELL + item % CELL;
    float sum[STILL_SUMS] = {0};
    for (int v = 0; v < CELL; v++, from += picture_width[level]) {
        const float s = from[0], gx = from[PIXELS], gy = from[2 * PIXELS];
        const float place = (float)v - 0.5f * (CELL - 1);
        const float numbers[STILL_SUMS] = {
            gx * gx,         gx * gy,         gy * gy,        gx, gy, s, s * s,
            place * gx * gx, place * gx * gy, place * gy * gy};
        for (int k = 0; k < STILL_SUMS; k++)
            sum[k] += numbers[k];
    }
    for (int k = 0; k < STILL_SUMS; k++)
        part[k][item] = sum[k];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = item; i < GROUP_CELLS * STILL; i += GROUP) {
        const int own = i / STILL, k = i % STILL;
        if (first + own >= CELLS || k >= STILL_SUMS + 3)
            continue;
        still[(first + own) * STILL + k] =
            k < STILL_SUMS ? sum_of_cell(part[k], own) : moment_of_cell(part[k - STILL_SUMS], own);
    }
}

#endif
