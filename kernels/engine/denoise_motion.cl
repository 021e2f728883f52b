/* Where the blocks of a captured frame come from in the frame before (daemon/filters/denoise.h).
 *
 *   motion_shrink    samples -> smaller planes   halves a plane; once for each smaller level
 *   motion_search    planes -> vectors           improves the vectors of a level; twice for each
 *
 * Data: level 0 of the captured frame is its samples, and that of the past its joined plane; levels
 * 1 .. 3 have half, a quarter and an eighth of the samples along each axis. A history has the
 * joined planes of all images, laid out like `samples`, and HISTORY_REST floats for each image.
 * These are the smaller levels at level_at[], with rows level_width[] floats apart, and numbers for
 * each block of denoise_join.cl: its remaining noise, from REMAINING_AT on, the bias of its level,
 * from BIAS_AT on, and from MISFIT_AT on the misfit of each of BANDS bands of frequencies. A vector
 * is (down, right, confidence, cost), in samples of its level. VECTORS of them belong to each
 * image; those of a level are level_columns[] x level_rows[], level_spacing[] samples of level 0
 * apart, the first one at the corner. `counts` has COUNTS numbers for each image. Three count
 * blocks with texture that are wholly inside the image: those not found in the past, all of them,
 * and those that are still. Two count blocks of the smallest level: all of them, and those that
 * became brighter less those that became darker. Work-items: those of a group of motion_shrink
 * share a row. A group of SEARCH_GROUP items of motion_search has a block, and shares its columns.
 * The third dimension counts images. Launched by denoiser_motion_enqueue
 * (daemon/engine/denoiser/denoiser_motion.c). */

/* Vectors of a CPU take a second of compile time for each copy of the loop over a block. */
#if LANES > 1
#define NEVER_INLINE __attribute__((noinline))
#else
#define NEVER_INLINE inline
#endif

#define SMALLEST_LEVEL 3
#define SEARCH_RADIUS  5    /* samples of the smallest level */
#define MOST_MOVED     128  /* samples of a level */
#define HESITATION     0.5f /* times the deviation of a difference, for each doubling of a step */
#define CERTAIN        1.0f /* deviations by which a cost's curvature counts as noise */
#define FRACTION_FROM  6.0f /* deviations by which a fraction of a sample must pay */
#define CLEAR          4.0f /* deviations from which a block has texture */
#define FAILED_PART    0.5f /* share of its variance that is not found again */
#define MOST_FAILED    0.6f
#define STILL          0.25f /* samples */
#define ROW_STEP       2     /* every second row of a block is compared */
#define LIT            16.0f /* square of deviations from which light has changed */
#define LIT_PART       0.5f  /* share of a difference that is then the same everywhere */
#define STEPS          16.0f /* a vector's steps in a sample */

/* What is counted for each image. */
enum { FAILED_BLOCKS, CLEAR_BLOCKS, STILL_BLOCKS, LARGE_BLOCKS, LIT_BLOCKS };

/* The planes of level l of an image: `whole` is level 0. */
static inline global const float *level_of(global const float *whole, global const float *history,
                                           uint l)
{
    const size_t image = get_group_id(2);
    return l == 0 ? whole + image * PLANE_SIZE
                  : history + BATCH * PLANE_SIZE + image * HISTORY_REST + level_at[l];
}

static inline uint level_pitch(uint l)
{
    return l == 0 ? PLANE_PITCH : level_width[l];
}

kernel void motion_shrink(global const float *samples, global float *history, global uint *counts,
                          uint level)
{
    const uint y = get_global_id(1), image = get_group_id(2);
    const uint pitch = level_pitch(level - 1), width = level_width[level];
    const uint below = min(2 * y + 1, level_height[level - 1] - 1);
    global const float *upper = level_of(samples, history, level - 1) + 2 * y * pitch;
    global const float *lower = level_of(samples, history, level - 1) + below * pitch;
    global float *to =
        history + BATCH * PLANE_SIZE + image * HISTORY_REST + level_at[level] + y * width;
    for (uint x = get_global_id(0); x < width; x += get_global_size(0)) {
        const uint right = min(2 * x + 1, level_width[level - 1] - 1);
        to[x] = 0.25f * (upper[2 * x] + upper[right] + lower[2 * x] + lower[right]);
    }
    if (y == 0 && get_global_id(0) == 0)
        for (uint i = 0; i < COUNTS; i++)
            counts[image * COUNTS + i] = 0;
}

/* ---- the search ---- */

struct search {
    global const float *captured, *past;
    int width, height, pitch; /* the level's size */
    int top, left, side;      /* where the block is */
    local float *scratch;
};

/* Returns the sum of a number of each item and lane to all items. */
static inline float group_sum(real x, local float *scratch)
{
    float sum = 0;
#if LANES == 1
    scratch[get_local_id(0)] = x;
    sync_items();
    for (uint i = 0; i < get_local_size(0); i++)
        sum += scratch[i];
    sync_items();
#else
    float lane[LANES];
    VSTORE(x, 0, lane);
    for (uint i = 0; i < LANES; i++)
        sum += lane[i];
#endif
    return sum;
}

/* Returns whether `side` samples from a place are within a length. */
static inline bool is_in(int from, int side, int length)
{
    return from >= 0 && from + side <= length;
}

/* The mean square of the difference of the block from one of the past that has moved. */
static NEVER_INLINE float cost_of(const struct search *s, int2 moved)
{
    const int top = s->top - moved.x, left = s->left - moved.y;
    const bool is_inside = is_in(s->left, s->side, s->width);
    const bool was_inside = is_in(left, s->side, s->width);
    real sum = 0;
    for (int j = 0; j < s->side; j += ROW_STEP) {
        global const float *row = s->captured + mirrored(s->top + j, s->height) * s->pitch;
        global const float *past = s->past + mirrored(top + j, s->height) * s->pitch;
        for (int i = 0; i < s->side; i += SEARCH_GROUP * LANES) {
            const int x = i + (int)get_local_id(0) * LANES;
            const real d = samples_from(row, s->left + x, s->width, is_inside) -
                           samples_from(past, left + x, s->width, was_inside);
            sum += d * d;
        }
    }
    return group_sum(sum, s->scratch) / (s->side * s->side / ROW_STEP);
}

static inline float block_variance(const struct search *s)
{
    const bool is_inside = is_in(s->left, s->side, s->width);
    real sum = 0, squares = 0;
    for (int j = 0; j < s->side; j++) {
        global const float *row = s->captured + mirrored(s->top + j, s->height) * s->pitch;
        for (int i = 0; i < s->side; i += SEARCH_GROUP * LANES) {
            const real z =
                samples_from(row, s->left + i + (int)get_local_id(0) * LANES, s->width, is_inside);
            sum += z;
            squares += z * z;
        }
    }
    const float mean = group_sum(sum, s->scratch) / (s->side * s->side);
    return group_sum(squares, s->scratch) / (s->side * s->side) - mean * mean;
}

/* Returns how much brighter the block is than one of the past that has moved, in the mean. */
static inline float brighter_by(const struct search *s, int2 moved)
{
    const int top = s->top - moved.x, left = s->left - moved.y;
    const bool is_inside = is_in(s->left, s->side, s->width);
    const bool was_inside = is_in(left, s->side, s->width);
    real sum = 0;
    for (int j = 0; j < s->side; j++) {
        global const float *row = s->captured + mirrored(s->top + j, s->height) * s->pitch;
        global const float *past = s->past + mirrored(top + j, s->height) * s->pitch;
        for (int i = 0; i < s->side; i += SEARCH_GROUP * LANES) {
            const int x = i + (int)get_local_id(0) * LANES;
            sum += samples_from(row, s->left + x, s->width, is_inside) -
                   samples_from(past, left + x, s->width, was_inside);
        }
    }
    return group_sum(sum, s->scratch) / (s->side * s->side);
}

static inline float step_cost(int2 moved, int2 expected, float unit)
{
    const float2 d = convert_float2(moved - expected);
    return HESITATION * unit * log2(1.0f + sqrt(d.x * d.x + d.y * d.y));
}

/* The best and the cost of its difference, and with the cost of the step to it. */
struct best {
    int2 moved;
    float cost, whole;
};

static inline void consider(struct best *best, const struct search *s, int2 moved, int2 expected,
                            float unit)
{
    const float cost = cost_of(s, moved), whole = cost + step_cost(moved, expected, unit);
    if (whole < best->whole)
        *best = (struct best){moved, cost, whole};
}

static inline struct best search_all(const struct search *s, float unit)
{
    struct best ret = {0, 0, INFINITY};
    for (int y = -SEARCH_RADIUS; y <= SEARCH_RADIUS; y++)
        for (int x = -SEARCH_RADIUS; x <= SEARCH_RADIUS; x++)
            consider(&ret, s, (int2)(y, x), 0, unit);
    return ret;
}

/* The nearest whole vector; samples that are not finite must not lead out of the planes. */
static inline int2 whole_of(float2 moved)
{
    return clamp(convert_int2_sat_rte(moved), -MOST_MOVED, MOST_MOVED);
}

/* The vectors around a block, without those that are there twice. */
struct offers {
    int2 mean; /* weighted by confidence */
    int2 own;
    int2 moved[7];
    int count;
};

static inline void offer(struct offers *offers, int2 moved)
{
    bool is_new = true;
    for (int i = 0; i < offers->count; i++)
        is_new = is_new && (offers->moved[i].x != moved.x || offers->moved[i].y != moved.y);
    offers->moved[offers->count] = moved;
    offers->count += is_new;
}

static inline struct offers offers_of(global const float4 *vectors, int row, int column, int rows,
                                      int columns, float scale)
{
    struct offers ret;
    float weights = 0;
    float2 sum = 0;
    ret.count = 0;
    ret.own = whole_of(scale * vectors[row * columns + column].xy);
    offer(&ret, ret.own);
    for (int y = -1; y <= 1; y++)
        for (int x = -1; x <= 1; x++) {
            const float4 near =
                vectors[clamp(row + y, 0, rows - 1) * columns + clamp(column + x, 0, columns - 1)];
            const float weight = near.z * (y == 0 && x == 0 ? 2.0f : 1.0f) + 1e-3f;
            weights += weight;
            sum += weight * scale * near.xy;
            if ((y == 0) != (x == 0))
                offer(&ret, whole_of(scale * near.xy));
        }
    ret.mean = whole_of(sum / weights);
    offer(&ret, ret.mean);
    return ret;
}

/* The place of the lowest point between three costs, if it is low enough, but not lower than noise
 * lets it be: costs of strong texture are no parabola. */
static inline float fraction_of(float before, float here, float after, float least, float most)
{
    const float curvature = 0.5f * (before + after) - here;
    const float place = clamp(0.25f * (before - after) / max(curvature, 1e-9f), -0.5f, 0.5f);
    const float gain = curvature * place * place;
    return gain > least && gain < most ? place : 0;
}

kernel __attribute__((reqd_work_group_size(SEARCH_GROUP, 1, 1))) void
motion_search(global const float *samples, global const float *history,
              global const float *past_history, global const float *noise,
              global const float4 *before, global float4 *vectors, global uint *counts, uint level,
              uint turn, local float *scratch)
{
    const int column = get_group_id(0), row = get_group_id(1);
    const uint image = get_group_id(2);
    const int spacing = level_spacing[level], side = level_side[level];
    const int y = row * spacing, x = column * spacing;
    const struct search s = {
        .captured = level_of(samples, history, level),
        .past = level_of(past_history, past_history, level),
        .width = level_width[level],
        .height = level_height[level],
        .pitch = level_pitch(level),
        .top = (y >> level) - side / 2,
        .left = (x >> level) - side / 2,
        .side = side,
        .scratch = scratch,
    };
    const float light =
        level_of(samples, history,
                 SMALLEST_LEVEL)[min(y >> SMALLEST_LEVEL, (int)level_height[SMALLEST_LEVEL] - 1) *
                                     level_width[SMALLEST_LEVEL] +
                                 min(x >> SMALLEST_LEVEL, (int)level_width[SMALLEST_LEVEL] - 1)];
    const float variance = variance_at(noise + image * NOISE_NUMBERS, light) + 1e-6f;
    const float expected_cost = level == 0 ? variance * (1 + remaining_at(past_history, y, x))
                                           : 2 * variance / (1 << 2 * level);
    const float unit = expected_cost * sqrt(2.0f * ROW_STEP) / side;

    /* In the second turn the costs of the block's vector and of those next to it are known. */
    struct best best = {0, 0, INFINITY};
    struct offers offers;
    float certain = 0;
    bool is_known = false;
    if (level == SMALLEST_LEVEL && turn == 0) {
        offers.mean = 0;
        best = search_all(&s, unit);
        const float brighter = brighter_by(&s, best.moved);
        if (get_local_id(0) == 0) {
            atomic_inc(counts + COUNTS * image + LARGE_BLOCKS);
            if (brighter * brighter >
                max(LIT * expected_cost / (side * side), LIT_PART * (best.cost - expected_cost)))
                atomic_add(counts + COUNTS * image + LIT_BLOCKS, brighter > 0 ? 1 : -1);
        }
    } else {
        const uint from = turn == 0 ? level + 1 : level;
        const int apart = level_spacing[from], columns = level_columns[from];
        const int near_row = min((2 * y + apart) / (2 * apart), (int)level_rows[from] - 1);
        const int near_column = min((2 * x + apart) / (2 * apart), columns - 1);
        const float4 own = before[image * VECTORS + near_row * columns + near_column];
        offers = offers_of(before + image * VECTORS, near_row, near_column, level_rows[from],
                           columns, turn == 0 ? 2.0f : 1.0f);
        if (turn == 0)
            offer(&offers, 0);
        else {
            const float whole = own.w + step_cost(offers.own, offers.mean, unit);
            best = (struct best){offers.own, own.w, whole};
            certain = own.z;
        }
        for (int i = turn; i < offers.count; i++)
            consider(&best, &s, offers.moved[i], offers.mean, unit);
        is_known = turn == 1 && best.moved.x == offers.own.x && best.moved.y == offers.own.y;
    }
    if (!is_known) {
        const struct best middle = best;
        float cost[9];
        for (int i = 0; i < 9; i++) {
            const int2 moved = middle.moved + (int2)(i / 3 - 1, i % 3 - 1);
            cost[i] = i == 4 ? middle.cost : cost_of(&s, moved);
            const float whole = cost[i] + step_cost(moved, offers.mean, unit);
            if (whole < best.whole)
                best = (struct best){moved, cost[i], whole};
        }
        const float down = 0.5f * (cost[1] + cost[7]) - cost[4];
        const float right = 0.5f * (cost[3] + cost[5]) - cost[4];
        certain = fmax(min(down, right) / unit - CERTAIN, 0.0f);
    }
    float2 moved = convert_float2(best.moved);
    if (level == 0 && turn == 1) {
        const float least = FRACTION_FROM * expected_cost * ROW_STEP / (side * side);
        const float most = best.cost - expected_cost + 3 * unit;
        float cost[4];
        for (int i = 0; i < 4; i++) {
            const int step = 2 * (i % 2) - 1;
            cost[i] = cost_of(&s, best.moved + (i < 2 ? (int2)(step, 0) : (int2)(0, step)));
        }
        moved.x += fraction_of(cost[0], best.cost, cost[1], least, most);
        moved.y += fraction_of(cost[2], best.cost, cost[3], least, most);
        moved = rint(moved * STEPS) / STEPS;
    }
    if (level == 0 && turn == 1) {
        const float texture = max(block_variance(&s) - variance, 0.0f);
        const float excess = best.cost - expected_cost;
        if (get_local_id(0) == 0 && is_in(s.top, side, s.height) && is_in(s.left, side, s.width) &&
            max(texture, excess) > CLEAR * unit) {
            atomic_inc(counts + COUNTS * image + CLEAR_BLOCKS);
            if (excess > FAILED_PART * texture)
                atomic_inc(counts + COUNTS * image + FAILED_BLOCKS);
            if (fmax(fabs(moved.x), fabs(moved.y)) <= STILL)
                atomic_inc(counts + COUNTS * image + STILL_BLOCKS);
        }
    }
    if (get_local_id(0) == 0)
        vectors[image * VECTORS + row * level_columns[level] + column] =
            (float4)(moved, certain, best.cost);
}
