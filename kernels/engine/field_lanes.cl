/* Two kernels of a field of motion for a CPU, whose items use vectors and wait for no other item.
 * field_pictures.cl and field_fit.cl have those for a GPU, the data and the maths.
 *
 *   field_pictures   samples -> pictures
 *   field_solve      still, moved -> own, certainty, rest
 *
 * Work-items: a group of one has eight rows of samples; an item of field_solve has a block.
 * Launched by daemon/engine/field/field.c. */

/* ---- a frame at all sizes ---- */

/* The last vector of a row may overlap the one before it, since no picture is narrower than a
 * vector. */
kernel __attribute__((reqd_work_group_size(1, 1, 1))) void
field_pictures(global const float *samples, global float *pictures, float scale)
{
    int first = CELL * (int)get_global_id(1), rows = CELL;
    for (int level = 0; level < LEVELS; level++, first /= 2, rows /= 2) {
        const int width = picture_width[level], above = picture_width[max(level - 1, 0)];
        global const float *larger = pictures + picture_at[max(level - 1, 0)];
        for (int y = first; y < min(first + rows, picture_height[level]); y++)
            for (int i = 0; i < width; i += 8) {
                const int x = min(i, width - 8);
                float8 value;
                if (level == 0) {
                    value = scale * vload8(0, samples + y * SAMPLE_PITCH + x);
                    value = select((float8)0, value, value > -LARGEST && value < LARGEST);
                } else {
                    const float16 a = vload16(0, larger + 2 * y * above + 2 * x);
                    const float16 b = vload16(0, larger + (2 * y + 1) * above + 2 * x);
                    value = 0.25f * ((a.even + a.odd) + (b.even + b.odd));
                }
                vstore8(value, 0, pictures + picture_at[level] + y * width + x);
            }
    }
}

/* ---- blocks ---- */

/* The parts of a block: 16 cells each, 4 x 4 or two rows of 8; or the 4 cells of a 2 x 2 block. */
#define PARTS ((FULL_SIDE * FULL_SIDE + 15) / 16)

/* Returns one number of each cell of a part of a block. */
static inline cells cells_at(global const float *first, int pitch, int side)
{
    if (side == 4)
        return (float16)(vload4(0, first), vload4(0, first + pitch), vload4(0, first + 2 * pitch),
                         vload4(0, first + 3 * pitch));
    if (side == 8)
        return (float16)(vload8(0, first), vload8(0, first + pitch));
    return (float16)(vload2(0, first), vload2(0, first + pitch), (float4)0, (float8)0);
}

static inline float sum_of_cells(cells a)
{
    return sum_of(a.lo + a.hi);
}

/* Moves the cells of a part of a block by the block's own vector. */
static inline void move_part(global const float *last, global const float *derived, int level,
                             int column, int row, int side, float2 vector, cells ret[MOVED])
{
    float number[5][16] = {{0}};
    for (int i = 0; i < min(side * side, 16); i++) {
        columns sum[MOVED_SUMS];
        if (move_cell(last, derived, level, column + i % side, row + i / side, vector, 0, sum))
            number[4][i] = CELL * CELL;
        for (int k = 0; k < MOVED_SUMS; k++)
            number[k][i] = sum_of(sum[k]);
    }
    for (int k = 0; k < 5; k++)
        ret[k] = vload16(0, number[k]);
    ret[5] = vector.x;
    ret[6] = vector.y;
}

/* Returns the number that is greater than a quarter of the others in what is left of the cells
 * that are seen. */
static inline float quartile_of(const cells *left, int parts)
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
        const cells of_these = select((float16)0, left[p], below <= seen / 4);
        const float8 most = fmax(of_these.lo, of_these.hi);
        const float4 more = fmax(most.lo, most.hi);
        usual = fmax(usual, fmax(fmax(more.x, more.y), fmax(more.z, more.w)));
    }
    return usual;
}

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
field_solve(global const float *last, global const float *derived, global const float *still,
            global const float *moved, global const float4 *vectors, global const float4 *around,
            global const float *noise, global float4 *own, global float4 *certainty,
            global float *rest, int level, int pass)
{
    const int block = get_global_id(0), at = block_at[level] + block;
    const int column = block % block_columns[level], row = block / block_columns[level];
    if (row >= block_rows[level])
        return;
    const int side = FULL_SIDE == 4 ? 4 : block_cells[level], parts = side == 8 ? PARTS : 1;
    const int pitch = cell_columns[level];
    const float level_noise =
        pass > 0 && isfinite(noise[level]) ? noise[level] / DIFFERENCE_NOISE : 0;
    const float least = DIFFERENCE_NOISE * (level_noise + ROUNDING);
    const int16 index = (int16)(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const cells x_place = CELL * (convert_float16(index % side) - 0.5f * (side - 1));
    const float4 vector = vectors[at];
    const bool is_rough = around[at].z > 0;
    const float4 slope = is_rough ? 0 : slope_of(vectors, level, column, row);
    cells sum[PARTS][SUMS], left[PARTS];
    float total[SUMS] = {0};
    for (int p = 0; p < parts; p++) {
        const int x = column * (side / 2), y = row * (side / 2) + 2 * p;
        const int cell = cell_at[level] + y * pitch + x;
        cells is[STILL], here[MOVED];
#pragma unroll
        for (int k = 0; k < STILL; k++)
            is[k] = cells_at(still + k * CELLS + cell, pitch, side);
        /* Where the blocks around do not agree, the block's cells move by its own vector. */
        if (is_rough)
            move_part(last, derived, level, x, y, side, vector.xy, here);
        else
            for (int k = 0; k < MOVED; k++)
                here[k] = cells_at(moved + k * CELLS + cell, pitch, side);
        const cells y_place = CELL * (convert_float16(index / side + 2 * p) - 0.5f * (side - 1));
        sum_cells(is, here, vector.xy, slope, x_place, y_place, sum[p]);
        left[p] = select((cells)INFINITY, sum[p][10] / sum[p][11], sum[p][11] > 0);
    }
    const float usual = fmax(quartile_of(left, parts), least);
    for (int p = 0; p < parts; p++) {
        const cells far = left[p] / (OUTLYING * usual);
        const cells weight = select((cells)0, 1 / (1 + far * far), sum[p][11] > 0);
        for (int k = 0; k < SUMS; k++)
            total[k] += sum_of_cells(weight * sum[p][k]);
    }
    const struct solution found = solve(total, vector.xy, level_noise, side * side * CELL * CELL);
    own[at] = found.own;
    certainty[at] = found.certainty;
    rest[at] = found.rest;
}
