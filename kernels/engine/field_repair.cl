/* Improves the vectors of a field of motion by those around them.
 *
 *   field_predict    vectors, own, certainty -> predicted, around
 *   field_join       own, certainty, predicted, around -> vectors
 *   field_finish     vectors, own, around -> result
 *
 * The maths is that of daemon/estimators/motion/motion_repair.c, and the confidence that of
 * motion_field.c; the constants are those of motion_constants.h there.
 *
 * Data: as in field_choose.cl and field_fit.cl. `predicted` has for each block what others say of
 * its vector, the inverse of the variance of that, and by how much both differ more than noise
 * explains; `around` the mean vector of the blocks beside it, 1 if they disagree or are a pixel or
 * more from its own, and 1 if they agree and differ from it by less. `result` has three floats for
 * each block of the full size: right, down, confidence. Work-items: one for each block. Launched by
 * daemon/engine/field/field.c. */

/* A block of a size. */
struct place {
    int x, y, columns, rows;
};

static inline bool is_in(const struct place *p, int x, int y)
{
    return x >= 0 && y >= 0 && x < p->columns && y < p->rows;
}

/* What a pair of blocks says of the vector between them: it and its variance, which is INFINITY if
 * there is no such pair. At an edge of the picture, where one of them is missing, two blocks on one
 * side are continued. */
static inline float3 ask(global const float4 *vectors, const struct place *p, int pair)
{
    const int step_x = pairs[pair].x, step_y = pairs[pair].y;
    const bool has_a = is_in(p, p->x + step_x, p->y + step_y);
    const bool has_b = is_in(p, p->x - step_x, p->y - step_y);
    global const float4 *at = vectors + p->y * p->columns + p->x;
    const int step = step_y * p->columns + step_x, side = has_a ? 1 : -1;
    if (has_a && has_b) {
        const float4 a = at[step], b = at[-step];
        return (float3)(0.5f * (a.xy + b.xy), TOLERANCE2 + 0.25f * (a.z + b.z));
    }
    if ((!has_a && !has_b) || !is_in(p, p->x + 2 * side * step_x, p->y + 2 * side * step_y))
        return (float3)(0, 0, INFINITY);
    const float4 near = at[side * step], far = at[2 * side * step];
    return (float3)(2 * near.xy - far.xy, 2 * TOLERANCE2 + 4 * near.z + far.z);
}

/* The square of the distance of a vector from a block's own one, in standard deviations. */
static inline float far_from(float2 from_own, float4 certainty)
{
    return certainty.x * from_own.x * from_own.x + 2 * certainty.y * from_own.x * from_own.y +
           certainty.z * from_own.y * from_own.y;
}

static inline struct place place_of(int level, int at)
{
    const int columns = block_columns[level];
    return (struct place){at % columns, at / columns, columns, block_rows[level]};
}

kernel void field_predict(global const float4 *vectors, global const float4 *own,
                          global const float4 *certainty, global float4 *predicted,
                          global float4 *around, int level)
{
    const int at = get_global_id(0);
    const struct place place = place_of(level, at);
    if (place.y >= place.rows)
        return;
    const float2 own_vector = own[block_at[level] + at].xy;
    const float4 certain = certainty[block_at[level] + at];
    float3 opinion[PAIRS];
    float weight[PAIRS], weights = 0, count = 0, near = 0;
    float2 sum = 0, mean = 0;
#pragma unroll
    for (int i = 0; i < PAIRS; i++) {
        opinion[i] = ask(vectors + block_at[level], &place, i);
        const bool is_there = isfinite(opinion[i].z);
        const float far = is_there ? far_from(opinion[i].xy - own_vector, certain) /
                                         (1 + 0.5f * (certain.x + certain.z) * opinion[i].z)
                                   : 0;
        const float robust = 1 / (1 + far / 9);
        weight[i] = is_there ? robust * robust / opinion[i].z : 0;
        sum += weight[i] * opinion[i].xy;
        weights += weight[i];
        count += is_there;
        near += is_there && i < NEAR;
        mean += i < NEAR ? opinion[i].xy : 0;
    }
    mean /= fmax(near, 1.0f);
    bool is_rough = near == 0, is_lone = false;
#pragma unroll
    for (int i = 0; i < NEAR; i++) {
        const float2 apart = opinion[i].xy - mean;
        is_rough =
            is_rough || (isfinite(opinion[i].z) && dot(apart, apart) > ROUGH2 + 8 * opinion[i].z);
    }
    float4 ret = (float4)(own_vector, 0, 0);
    if (weights > 0) {
        float scatter = 0;
        ret.xy = sum / weights;
#pragma unroll
        for (int i = 0; i < PAIRS; i++) {
            const float2 apart = opinion[i].xy - ret.xy;
            scatter += weight[i] * dot(apart, apart);
        }
        /* Blocks overlap, so that pairs are not independent: four of them count as one. */
        ret.z = weights / (4 * fmax(scatter / (2 * count), 1.0f));
        ret.w = fmin(far_from(ret.xy - own_vector, certain), EXCESS) - 2;
        const float2 apart = mean - own_vector;
        const float far2 = dot(apart, apart);
        is_lone = far2 > LONE2 && !is_rough && far2 < REACH2;
        is_rough = is_rough || far2 >= REACH2;
    }
    predicted[block_at[level] + at] = ret;
    around[block_at[level] + at] = (float4)(mean, is_rough, is_lone);
}

/* By how much motion differs from block to block here: a variance. */
static inline float flow_of(global const float4 *certainty, global const float4 *predicted,
                            const struct place *p)
{
    float excess = 0, certain = 0;
    for (int y = max(p->y - 1, 0); y <= min(p->y + 1, p->rows - 1); y++)
        for (int x = max(p->x - 1, 0); x <= min(p->x + 1, p->columns - 1); x++) {
            const float4 here = predicted[y * p->columns + x];
            if (here.z <= 0)
                continue;
            excess += here.w;
            certain += certainty[y * p->columns + x].x + certainty[y * p->columns + x].z;
        }
    return fmax(excess / (certain + 1e-9f), LEAST_FLOW);
}

/* doubts: a block that differs a little from blocks that agree gets their vector, and has to leave
 * it again by itself. */
kernel void field_join(global const float4 *own, global const float4 *certainty,
                       global const float4 *predicted, global const float4 *around,
                       global float4 *vectors, int level, int doubts)
{
    const int at = get_global_id(0), first = block_at[level];
    const struct place place = place_of(level, at);
    if (place.y >= place.rows)
        return;
    const float4 certain = certainty[first + at], others = predicted[first + at];
    const float4 beside = around[first + at], vector = own[first + at];
    const float flow = flow_of(certainty + first, predicted + first, &place);
    const float trust = others.z > 0 ? 1 / (flow + 1 / others.z) : 1 / WORST;
    const float xx = certain.x + trust, yy = certain.z + trust, xy = certain.y;
    const float2 apart = trust * (others.xy - vector.xy);
    const float determinant = xx * yy - xy * xy;
    const float2 step = (float2)(yy * apart.x - xy * apart.y, xx * apart.y - xy * apart.x);
    vectors[first + at].xyz =
        (float3)(doubts && beside.w > 0 ? beside.xy : vector.xy + step / determinant,
                 fmin(0.5f * (xx + yy) / determinant, WORST));
}

/* Takes out what the bending of motion has added to means over blocks: a sixth of the second
 * difference between blocks along each axis. */
kernel void field_finish(global const float4 *vectors, global const float4 *own,
                         global const float4 *around, global float *result)
{
    const int at = get_global_id(0);
    const struct place place = place_of(0, at);
    if (place.y >= place.rows)
        return;
    const float4 vector = vectors[at];
    float2 bend = 0;
    float bend_variance = 0, variance = vector.z;
    for (int i = 0; i < 2; i++) {
        const float3 opinion = ask(vectors, &place, i);
        bend += (opinion.xy - vector.xy) / 3;
        bend_variance += (opinion.z + vector.z) / 9;
    }
    float2 moved = vector.xy;
    if (around[at].z <= 0 && isfinite(bend_variance)) {
        const float bend2 = dot(bend, bend), share = bend2 / (bend2 + 4 * bend_variance);
        moved -= share * bend;
        variance += 0.5f * (1 - share) * bend2 + share * bend_variance;
    }
    const float close = 1 - exp(-CLOSE * CLOSE / (2 * DOUBT * variance));
    const float confidence = vector.w > 0 ? 0.5f * close : close / fmax(own[at].z / MISFIT, 1.0f);
    vstore3((float3)(moved, confidence), at, result);
}
