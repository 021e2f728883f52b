/* The shifts with which the blocks of a field of motion begin, to about a pixel.
 *
 *   field_search     pictures -> peaks                 phase correlation of squares
 *   field_choose     pictures, peaks, vectors -> vectors, left
 *
 * The maths is that of daemon/estimators/motion/motion_search.c and motion_start.c, except that
 * blocks are searched again all at once, and hand on what was found to neighbours in steps.
 *
 * Data: as in field_pictures.cl; each size has blocks from block_at[] on. A vector is (right, down,
 * variance, whether it is ambiguous). `left` has for each block what differs with its vector, and
 * after BLOCKS numbers what may differ between whole pixels. A block has PEAKS peaks, the highest
 * first; NOT_SEARCHED: none. Work-items: a group of SIDE items searches a square, each a row or a
 * column of it; BLOCK_ITEMS items of field_choose have a block. Launched by
 * daemon/engine/field/field.c. */

#define MASK         (SIDE - 1)
#define PITCH        (SIDE + 1)
#define NOT_SEARCHED 127

/* What is left of a block's difference is more than usual. */
static inline bool is_unusual(global const float *left, float usual, int at)
{
    return left[at] > UNUSUAL * usual + left[BLOCKS + at];
}

/* ---- the search ---- */

static inline float2 times(float2 a, float2 b)
{
    return (float2)(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}

/* Transforms SIDE numbers that are `step` apart, in place. Decimation in frequency, radix 2. */
static inline void transform_line(local float2 *line, int step)
{
    float2 z[SIDE];
    for (int i = 0; i < SIDE; i++)
        z[i] = line[i * step];
#pragma unroll
    for (int stage = 0; stage < 5; stage++) {
        const int apart = SIDE / 2 >> stage;
#pragma unroll
        for (int k = 0; k < SIDE / 2; k++) {
            const int low = k & (apart - 1), i = 2 * (k - low) + low;
            const float2 sum = z[i] + z[i + apart], difference = z[i] - z[i + apart];
            z[i] = sum;
            z[i + apart] = times(difference, root[low << stage]);
        }
    }
#pragma unroll
    for (int i = 0; i < SIDE; i++) {
        const int mirrored = (i & 1) << 4 | (i & 2) << 2 | (i & 4) | (i & 8) >> 2 | (i & 16) >> 4;
        line[mirrored * step] = z[i];
    }
}

static inline void transform_square(local float2 *work, int item)
{
    transform_line(work + item * PITCH, 1);
    barrier(CLK_LOCAL_MEM_FENCE);
    transform_line(work + item, PITCH);
    barrier(CLK_LOCAL_MEM_FENCE);
}

/* The mean over all items. */
static inline float2 mean_over(float2 own, local float2 *shared, int item)
{
    float2 sum = 0;
    shared[item] = own;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = 0; i < SIDE; i++)
        sum += shared[i];
    barrier(CLK_LOCAL_MEM_FENCE);
    return sum / (SIDE * SIDE);
}

/* Both squares without their means, the last one in the real part and the new one in the other. */
static inline void load_squares(local float2 *work, local float2 *shared, int item,
                                global const float *last, global const float *next, int width)
{
    float2 sum = 0;
    for (int y = 0; y < SIDE; y++) {
        work[y * PITCH + item] = (float2)(last[y * width + item], next[y * width + item]);
        sum += work[y * PITCH + item];
    }
    const float2 mean = mean_over(sum, shared, item);
    for (int y = 0; y < SIDE; y++)
        work[y * PITCH + item] = window[y] * window[item] * (work[y * PITCH + item] - mean);
    barrier(CLK_LOCAL_MEM_FENCE);
}

/* Replaces the transform of both squares by the cross spectrum, last times conjugated new, whose
 * numbers are normalised to one magnitude, but for the weakest. Half of the numbers are conjugates
 * of the others. The transform of that is the correlation, its conjugate, because that is real. */
static inline void cross_spectrum(local float2 *work, local float2 *shared, int item)
{
    float size = 0;
    for (int x = 0; x < SIDE; x++) {
        const int at = item * PITCH + x, other = (-item & MASK) * PITCH + (-x & MASK);
        if (at > other)
            continue;
        const float2 z = work[at], o = work[other];
        const float2 last = (float2)(z.x + o.x, z.y - o.y); /* twice the last one */
        const float2 sum = (float2)(z.x - o.x, z.y + o.y);  /* twice i times the new one */
        const float2 cross =
            (float2)(last.x * sum.y - last.y * sum.x, last.x * sum.x + last.y * sum.y);
        work[at] = cross;
        work[other] = (float2)(cross.x, -cross.y);
        size += (at == other ? 1 : 2) * length(cross);
    }
    const float least = FLOOR * mean_over((float2)(size, 0), shared, item).x + 1e-9f;
    for (int x = 0; x < SIDE; x++) {
        const float2 z = work[item * PITCH + x];
        work[item * PITCH + x] = z / (length(z) + least);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
}

kernel __attribute__((reqd_work_group_size(SIDE, 1, 1))) void
field_search(global const float *last, global const float *next, global const float *left,
             global const float *usual, global char2 *peaks, int level)
{
    local float2 work[SIDE * PITCH], shared[SIDE];
    local int found;
    const int item = get_local_id(0), at = block_at[level] + get_group_id(0);
    const bool is_last = level == LEVELS - 1;
    if (!is_last && !is_unusual(left, usual[level], at)) {
        if (item == 0)
            peaks[PEAKS * at] = (char2)(NOT_SEARCHED, 0);
        return;
    }
    const int column = get_group_id(0) % block_columns[level];
    const int row = get_group_id(0) / block_columns[level];
    const int spare = (block_cells[level] * CELL - SIDE) / 2, hop = block_cells[level] / 2 * CELL;
    const int width = picture_width[level];
    const int x = clamp(column * hop + spare, 0, width - SIDE);
    const int y = clamp(row * hop + spare, 0, picture_height[level] - SIDE);
    const int begin = picture_at[level] + y * width + x;
    load_squares(work, shared, item, last + begin, next + begin, width);
    transform_square(work, item);
    cross_spectrum(work, shared, item);
    transform_square(work, item);
    for (int p = 0; p < PEAKS; p++) {
        float best = -INFINITY;
        int place = 0;
        const int v = item - REACH;
        for (int u = -REACH; u <= REACH && v <= REACH; u++) {
            const float here = work[(v & MASK) * PITCH + (u & MASK)].x;
            if (here > best) {
                best = here;
                place = u;
            }
        }
        shared[item] = (float2)(best, (float)place);
        barrier(CLK_LOCAL_MEM_FENCE);
        if (item == 0) {
            found = 0;
            for (int i = 1; i < SIDE; i++)
                if (shared[i].x > shared[found].x)
                    found = i;
            peaks[PEAKS * at + p] = (char2)((char)shared[found].y, (char)(found - REACH));
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (item < 9) {
            const int peak_x = (int)shared[found].y + item % 3 - 1;
            const int peak_y = found - REACH + item / 3 - 1;
            work[(peak_y & MASK) * PITCH + (peak_x & MASK)].x = -INFINITY;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

/* ---- the choice ---- */

/* The shifts that a block tries, and how well each fits. The whole group shares them: PoCL does not
 * keep a private number across barriers if only one item has set it. */
struct trial {
    float2 shift[MAX_TRIED];
    float difference[MAX_TRIED];
    int count;
    float ambiguous;
};

static inline void try_shift(local struct trial *trial, float2 shift)
{
    for (int i = 0; i < trial->count; i++) {
        const float2 apart = rint(trial->shift[i]) - rint(shift);
        if (apart.x == 0 && apart.y == 0)
            return;
    }
    if (trial->count < MAX_TRIED)
        trial->shift[trial->count++] = shift;
}

static inline void try_peaks(local struct trial *trial, global const char2 *peaks, int count)
{
    for (int p = 0; p < count; p++)
        try_shift(trial, convert_float2(peaks[p]));
}

/* Where a place is between blocks: the one before it and what is left. */
static inline int between(float place, int count, float *ret_rest)
{
    const int before = clamp((int)place, 0, max(count - 2, 0));
    *ret_rest = count == 1 ? 0 : clamp(place - (float)before, 0.0f, 1.0f);
    return before;
}

/* The four blocks around a place in a size, which is given in blocks from the middle of the first
 * one, and what lies between their vectors. Outside, the nearest ones. */
struct quad {
    float4 vector[4];
    float2 shift;
};

static inline struct quad quad_at(global const float4 *vectors, int level, float column, float row)
{
    struct quad ret;
    float u, v;
    const int columns = block_columns[level], rows = block_rows[level];
    const int x = between(column, columns, &u), y = between(row, rows, &v);
    global const float4 *at = vectors + block_at[level] + y * columns + x;
    const int right = columns > 1, down = rows > 1 ? columns : 0;
    ret.vector[0] = at[0];
    ret.vector[1] = at[right];
    ret.vector[2] = at[down];
    ret.vector[3] = at[down + right];
    ret.shift = (1 - v) * ((1 - u) * ret.vector[0].xy + u * ret.vector[1].xy) +
                v * ((1 - u) * ret.vector[2].xy + u * ret.vector[3].xy);
    return ret;
}

/* What is tried first is the vector that a block has. */
static inline void list_trials(local struct trial *trial, global const float4 *vectors,
                               global const char2 *peaks, int level, int mode, int column, int row)
{
    const int columns = block_columns[level], rows = block_rows[level];
    const int at = block_at[level] + row * columns + column;
    trial->count = 0;
    if (mode == CHOOSE_SEARCHED) {
        try_shift(trial, 0);
        for (int y = max(row - 1, 0); y <= min(row + 1, rows - 1); y++)
            for (int x = max(column - 1, 0); x <= min(column + 1, columns - 1); x++)
                try_peaks(trial, peaks + PEAKS * (block_at[level] + y * columns + x),
                          x == column && y == row ? PEAKS : 1);
        trial->ambiguous = 0;
    } else if (mode == CHOOSE_COARSE) {
        const float hop = 0.5f * block_cells[level + 1];
        const float ratio = 0.5f * (block_cells[level] / 2) / hop;
        const float first = (0.25f * block_cells[level] - hop) / hop;
        const struct quad quad =
            quad_at(vectors, level + 1, first + ratio * column, first + ratio * row);
        float ambiguous = 1;
        try_shift(trial, 2 * quad.shift);
        for (int i = 0; i < 4; i++) {
            try_shift(trial, 2 * quad.vector[i].xy);
            ambiguous = fmin(ambiguous, quad.vector[i].w);
        }
        trial->ambiguous = ambiguous;
    } else {
        try_shift(trial, vectors[at].xy);
        for (int i = 0; i < 4; i++) {
            const int x = column + (i < 2 ? 2 * i - 1 : 0), y = row + (i < 2 ? 0 : 2 * i - 5);
            if (x >= 0 && x < columns && y >= 0 && y < rows)
                try_shift(trial, vectors[block_at[level] + y * columns + x].xy);
        }
        if (mode == CHOOSE_AGAIN && peaks[PEAKS * at].x != NOT_SEARCHED)
            try_peaks(trial, peaks + PEAKS * at, PEAKS);
        trial->ambiguous = vectors[at].w;
    }
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

/* A square of both pictures, shifted by whole pixels, as far as both pictures have it. */
struct square {
    global const float *last, *next;
    int pitch, columns, rows; /* whole cells; every second row */
};

/* `rows` is 0 if most of the square would come from outside the picture. */
static inline struct square square_at(global const float *last, global const float *next, int level,
                                      int2 from, int2 shift)
{
    const int side = block_cells[level] * CELL, pitch = picture_width[level];
    const int x0 = max(from.x, shift.x), y0 = max(from.y, shift.y);
    const int x_end = min(from.x + side, pitch + shift.x);
    const int y_end = min(from.y + side, picture_height[level] + shift.y);
    const int columns = (x_end - x0) / CELL * CELL;
    const bool is_seen = columns >= side / 2 && y_end - y0 >= side / 2;
    return (struct square){last + picture_at[level] + (y0 - shift.y) * pitch + x0 - shift.x,
                           next + picture_at[level] + y0 * pitch + x0, pitch, columns,
                           is_seen ? (y_end - y0 + 1) / 2 : 0};
}

/* Returns the variance of differences from their sum and the sum of their squares. */
static inline float variance_of(const struct square *square, float sum, float squares)
{
    const float count = square->columns * square->rows, mean = sum / count;
    return square->rows == 0 ? INFINITY : fmax(squares / count - mean * mean, 0.0f);
}

/* Sets the variance of the differences for each shift that is tried. */
#if LANES == 1
static inline void differ(global const float *last, global const float *next, int level, int2 from,
                          local struct trial *trial, local float2 (*part)[GROUP], int item)
{
    for (int i = 0; i < trial->count; i++) {
        const struct square square =
            square_at(last, next, level, from, convert_int2_rte(trial->shift[i]));
        float2 sum = 0;
        for (int y = item / 32; y < square.rows; y += GROUP / 32)
            for (int x = item % 32; x < square.columns; x += 32) {
                const int at = 2 * y * square.pitch + x;
                const float difference = square.next[at] - square.last[at];
                sum += (float2)(difference, difference * difference);
            }
        part[i][item] = sum;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    float2 sum = 0;
    for (int i = 0; i < GROUP / 4 && item / 4 < trial->count; i++)
        sum += part[item / 4][4 * i + item % 4];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item / 4 < trial->count)
        part[item / 4][item % 4] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = item; i < trial->count; i += GROUP) {
        const float2 whole = part[i][0] + part[i][1] + part[i][2] + part[i][3];
        const struct square square =
            square_at(last, next, level, from, convert_int2_rte(trial->shift[i]));
        trial->difference[i] = variance_of(&square, whole.x, whole.y);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
}
#else
static inline void differ(global const float *last, global const float *next, int level, int2 from,
                          local struct trial *trial)
{
    for (int i = 0; i < trial->count; i++) {
        const struct square square =
            square_at(last, next, level, from, convert_int2_rte(trial->shift[i]));
        float8 sum = 0, squares = 0;
        for (int y = 0; y < square.rows; y++)
            for (int x = 0; x < square.columns; x += CELL) {
                const int at = 2 * y * square.pitch + x;
                const float8 difference = vload8(0, square.next + at) - vload8(0, square.last + at);
                sum += difference;
                squares += difference * difference;
            }
        trial->difference[i] = variance_of(&square, sum_of(sum), sum_of(squares));
    }
}
#endif

/* Takes the shift with which both pictures differ least. `mode`: CHOOSE_SEARCHED, of the peaks of
 * the blocks around; CHOOSE_COARSE, of the vectors at half the size; CHOOSE_AGAIN, where much is
 * left, of its peaks, and of the vectors beside it; CHOOSE_BESIDE, there of these alone. */
kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
field_choose(global const float *last, global const float *next, global const float *still,
             global const char2 *peaks, global const float *usual, global const float4 *vectors,
             global const float *left, global float4 *ret_vectors, global float *ret_left,
             global float4 *around, int level, int mode)
{
    local struct trial trials[GROUP / BLOCK_ITEMS];
    const int own = get_local_id(0) / BLOCK_ITEMS, item = get_local_id(0) % BLOCK_ITEMS;
    const int block = get_global_id(0) / BLOCK_ITEMS, at = block_at[level] + block;
    const int column = block % block_columns[level], row = block / block_columns[level];
    const bool is_first = mode == CHOOSE_SEARCHED || mode == CHOOSE_COARSE;
    local struct trial *trial = trials + own;
    if (row >= block_rows[level])
        return;
    if (!is_first && !is_unusual(left, usual[level], at)) {
        if (item == 0) {
            ret_vectors[at] = vectors[at];
            ret_left[at] = left[at];
            ret_left[BLOCKS + at] = left[BLOCKS + at];
        }
        return;
    }
    if (item == 0)
        list_trials(trial, vectors, peaks, level, mode, column, row);
    const int2 from = (int2)(column, row) * (block_cells[level] / 2 * CELL);
#if LANES == 1
    local float2 part[MAX_TRIED][GROUP];
    barrier(CLK_LOCAL_MEM_FENCE);
    differ(last, next, level, from, trial, part, item);
#else
    differ(last, next, level, from, trial);
#endif
    if (item > 0)
        return;
    local const float *difference = trial->difference;
    const float between_pixels =
        is_first ? BETWEEN * mean_gradient2(still, level, column, row) : left[BLOCKS + at];
    int best = 0;
    for (int i = 1; i < trial->count; i++)
        best = difference[i] < difference[best] ? i : best;
    const float rival = AMBIGUOUS * difference[best] + between_pixels;
    for (int i = 0; i < trial->count && mode == CHOOSE_SEARCHED; i++)
        if (difference[i] < rival && distance(trial->shift[i], trial->shift[best]) > SAME)
            trial->ambiguous = 1;
    ret_vectors[at] = (float4)(trial->shift[best], 0, trial->ambiguous);
    ret_left[at] = difference[best];
    ret_left[BLOCKS + at] = between_pixels;
    if (is_first)
        around[at] = 0;
}
