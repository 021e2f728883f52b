#include "estimators/motion/motion_scale.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

#include "estimators/motion/motion_constants.h"

const struct motion_opposite motion_opposites[] = {{1, 0},  {0, 1},  {1, 1}, {1, -1},
                                                   {2, 0},  {0, 2},  {2, 1}, {1, 2},
                                                   {2, -1}, {1, -2}, {2, 2}, {2, -2}};
_Static_assert(sizeof motion_opposites / sizeof *motion_opposites == PAIRS,
               "PAIRS is their number");

struct grid {
    struct motion_block *block;
    int columns, rows;
};

static const struct motion_block *at(const struct grid *grid, int x, int y)
{
    if (x < 0 || y < 0 || x >= grid->columns || y >= grid->rows)
        return NULL;
    return &grid->block[y * grid->columns + x];
}

/* What a pair of blocks says of the vector between them. At an edge of the picture, where one of
 * them is missing, two blocks on one side are continued. */
struct opinion {
    float dx, dy, variance;
};

static bool ask(const struct grid *grid, int x, int y, int step_x, int step_y, struct opinion *ret)
{
    const struct motion_block *a = at(grid, x + step_x, y + step_y);
    const struct motion_block *b = at(grid, x - step_x, y - step_y);
    if (a != NULL && b != NULL) {
        *ret = (struct opinion){0.5F * (a->dx + b->dx), 0.5F * (a->dy + b->dy),
                                TOLERANCE2 + 0.25F * (a->variance + b->variance)};
        return true;
    }
    const int side = a != NULL ? 1 : -1;
    const struct motion_block *near = a != NULL ? a : b;
    const struct motion_block *far = at(grid, x + 2 * side * step_x, y + 2 * side * step_y);
    if (near == NULL || far == NULL)
        return false;
    *ret = (struct opinion){2 * near->dx - far->dx, 2 * near->dy - far->dy,
                            2 * TOLERANCE2 + 4 * near->variance + far->variance};
    return true;
}

/* The square of the distance of a vector from a block's own one, in standard deviations. */
static float far_from(const struct motion_block *block, float dx, float dy)
{
    const float x = dx - block->own_dx, y = dy - block->own_dy;
    return block->xx * x * x + 2 * block->xy * x * y + block->yy * y * y;
}

/* The blocks around one move otherwise than each other, as at the edge of a thing that moves. */
static bool disagree(const struct opinion *opinion, unsigned count, float *ret_dx, float *ret_dy)
{
    float x = 0, y = 0;
    for (unsigned i = 0; i < count; i++) {
        x += opinion[i].dx / (float)count;
        y += opinion[i].dy / (float)count;
    }
    *ret_dx = x;
    *ret_dy = y;
    for (unsigned i = 0; i < count; i++) {
        const float ex = opinion[i].dx - x, ey = opinion[i].dy - y;
        if (ex * ex + ey * ey > ROUGH2 + 8 * opinion[i].variance)
            return true;
    }
    return count == 0;
}

static void predict(const struct grid *grid, int x, int y)
{
    struct motion_block *block = &grid->block[y * grid->columns + x];
    struct opinion opinion[PAIRS];
    float weight[PAIRS], sum_x = 0, sum_y = 0, weights = 0, scatter = 0;
    unsigned count = 0, near = 0;
    for (unsigned p = 0; p < PAIRS; p++) {
        struct opinion *o = &opinion[count];
        if (!ask(grid, x, y, motion_opposites[p].x, motion_opposites[p].y, o))
            continue;
        const float far =
            far_from(block, o->dx, o->dy) / (1 + 0.5F * (block->xx + block->yy) * o->variance);
        const float robust = 1 / (1 + far / 9);
        weight[count] = robust * robust / o->variance;
        sum_x += weight[count] * o->dx;
        sum_y += weight[count] * o->dy;
        weights += weight[count++];
        near += p < NEAR;
    }
    float mean_dx, mean_dy;
    block->is_rough = disagree(opinion, near, &mean_dx, &mean_dy);
    block->support = 0;
    block->predicted_dx = block->own_dx;
    block->predicted_dy = block->own_dy;
    block->excess = 0;
    if (weights <= 0)
        return;
    block->predicted_dx = sum_x / weights;
    block->predicted_dy = sum_y / weights;
    for (unsigned i = 0; i < count; i++) {
        const float ex = opinion[i].dx - block->predicted_dx;
        const float ey = opinion[i].dy - block->predicted_dy;
        scatter += weight[i] * (ex * ex + ey * ey);
    }
    /* Blocks overlap, so that pairs are not independent: four of them count as one. */
    block->support = weights / (4 * fmaxf(scatter / (2 * (float)count), 1));
    block->excess = fminf(far_from(block, block->predicted_dx, block->predicted_dy), EXCESS) - 2;
    const float ex = mean_dx - block->own_dx, ey = mean_dy - block->own_dy;
    const float far2 = ex * ex + ey * ey;
    block->is_lone = far2 > LONE2 && !block->is_rough && far2 < REACH2;
    if (far2 >= REACH2)
        block->is_rough = true;
    if (block->is_lone) {
        block->around_dx = mean_dx;
        block->around_dy = mean_dy;
    }
}

/* By how much motion differs from block to block here: a variance. */
static float find_flow(const struct grid *grid, int x, int y)
{
    float excess = 0, certainty = 0;
    for (int v = y - 1; v <= y + 1; v++)
        for (int u = x - 1; u <= x + 1; u++) {
            const struct motion_block *block = at(grid, u, v);
            if (block == NULL || block->support <= 0)
                continue;
            excess += block->excess;
            certainty += block->xx + block->yy;
        }
    return fmaxf(excess / (certainty + 1e-9F), LEAST_FLOW);
}

static void join(const struct grid *grid, int x, int y)
{
    struct motion_block *block = &grid->block[y * grid->columns + x];
    const float flow = find_flow(grid, x, y);
    const float trust = block->support > 0 ? 1 / (flow + 1 / block->support) : 1 / WORST;
    const float xx = block->xx + trust, yy = block->yy + trust, xy = block->xy;
    const float ex = trust * (block->predicted_dx - block->own_dx);
    const float ey = trust * (block->predicted_dy - block->own_dy);
    const float determinant = xx * yy - xy * xy;
    block->dx = block->own_dx + (yy * ex - xy * ey) / determinant;
    block->dy = block->own_dy + (xx * ey - xy * ex) / determinant;
    block->variance = fminf(0.5F * (xx + yy) / determinant, WORST);
}

/* A block's own vector is the mean over the block, which differs from that of its middle where
 * motion bends: by a sixth of the second difference between blocks along each axis. */
static void unbend(const struct grid *grid, int x, int y)
{
    struct motion_block *block = &grid->block[y * grid->columns + x];
    float dx = 0, dy = 0, variance = 0;
    block->around_dx = block->dx;
    block->around_dy = block->dy;
    block->excess = block->variance;
    for (unsigned p = 0; p < 2; p++) {
        struct opinion o;
        if (block->is_rough || !ask(grid, x, y, motion_opposites[p].x, motion_opposites[p].y, &o))
            return;
        dx += (o.dx - block->dx) / 3;
        dy += (o.dy - block->dy) / 3;
        variance += (o.variance + block->variance) / 9;
    }
    const float bend2 = dx * dx + dy * dy, share = bend2 / (bend2 + 4 * variance);
    block->around_dx -= share * dx;
    block->around_dy -= share * dy;
    block->excess += 0.5F * (1 - share) * bend2 + share * variance;
}

void motion_repair(struct motion_block *block, unsigned columns, unsigned rows)
{
    const struct grid grid = {block, (int)columns, (int)rows};
    for (unsigned sweep = 0; sweep < SWEEPS; sweep++) {
        for (int y = 0; y < grid.rows; y++)
            for (int x = 0; x < grid.columns; x++)
                predict(&grid, x, y);
        for (int y = 0; y < grid.rows; y++)
            for (int x = 0; x < grid.columns; x++)
                join(&grid, x, y);
    }
}

void motion_repair_doubts(struct motion_block *block, unsigned columns, unsigned rows)
{
    for (size_t i = 0; i < (size_t)columns * rows; i++)
        if (block[i].is_lone) {
            block[i].dx = block[i].around_dx;
            block[i].dy = block[i].around_dy;
        }
}

void motion_repair_bends(struct motion_block *block, unsigned columns, unsigned rows)
{
    const struct grid grid = {block, (int)columns, (int)rows};
    for (int y = 0; y < grid.rows; y++)
        for (int x = 0; x < grid.columns; x++)
            unbend(&grid, x, y);
    for (size_t i = 0; i < (size_t)columns * rows; i++) {
        block[i].dx = block[i].around_dx;
        block[i].dy = block[i].around_dy;
        block[i].variance = block[i].excess;
    }
}
