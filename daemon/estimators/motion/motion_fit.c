#include "estimators/motion/motion_scale.h"

#include <math.h>
#include <string.h>

#include "estimators/motion/motion_constants.h"

/* Moves each cell by what is between the blocks around it. */
static void move_cells(struct motion_scale *scale)
{
    const struct motion_level *pictures = &scale->pictures;
    const float half = 0.5F * (float)scale->cells - 0.5F;
    for (unsigned row = 0; row < pictures->rows; row++)
        for (unsigned column = 0; column < pictures->columns; column++) {
            const struct motion_quad quad =
                motion_scale_at(scale, ((float)column - half) / (float)scale->hop,
                                ((float)row - half) / (float)scale->hop);
            motion_level_sum(pictures, column, row, quad.dx, quad.dy,
                             &scale->moved[(size_t)row * pictures->columns + column]);
        }
}

struct sums {
    float xx, xy, yy, x, y, s, ss, xr, yr, r, rr, pixels;
};

/* By how much the shift differs from pixel to pixel: of dx along x and y, and of dy. */
struct slope {
    float xx, xy, yx, yy;
};

static struct slope find_slope(const struct motion_scale *scale, unsigned column, unsigned row)
{
    const size_t at = (size_t)row * scale->columns + column;
    if (scale->block[at].is_rough)
        return (struct slope){0};
    const unsigned left = column > 0, right = column + 1 < scale->columns;
    const size_t up = row > 0 ? scale->columns : 0,
                 down = row + 1 < scale->rows ? scale->columns : 0;
    const struct motion_block *a = &scale->block[at - left], *b = &scale->block[at + right];
    const struct motion_block *c = &scale->block[at - up], *d = &scale->block[at + down];
    const float hop = (float)(scale->hop * MOTION_CELL);
    const float x = 1 / (hop * (float)(left + right) + 1e-6F);
    const float y = 1 / (hop * (float)((up > 0) + (down > 0)) + 1e-6F);
    return (struct slope){x * (b->dx - a->dx), y * (d->dx - c->dx), x * (b->dy - a->dy),
                          y * (d->dy - c->dy)};
}

/* The sums of one cell, with what would be left if each of its pixels had been moved by the block's
 * vector and slope: it was moved as a whole, by what lies between several blocks. (u, v): from the
 * middle of the block to that of the cell, in pixels. */
static struct sums sum_cell(const struct cell_still *still, const struct cell_moved *moved,
                            const struct motion_block *block, const struct slope *slope, float u,
                            float v)
{
    const float mx = block->dx + slope->xx * u + slope->xy * v - moved->dx;
    const float my = block->dy + slope->yx * u + slope->yy * v - moved->dy;
    return (struct sums){
        .xx = still->xx,
        .xy = still->xy,
        .yy = still->yy,
        .x = still->x,
        .y = still->y,
        .s = still->s,
        .ss = still->ss,
        .xr = moved->xr + mx * still->xx + my * still->xy + slope->xx * still->xxu +
              slope->xy * still->xxv + slope->yx * still->xyu + slope->yy * still->xyv,
        .yr = moved->yr + mx * still->xy + my * still->yy + slope->xx * still->xyu +
              slope->xy * still->xyv + slope->yx * still->yyu + slope->yy * still->yyv,
        .r = moved->r + mx * still->x + my * still->y,
        .rr = moved->rr + 2 * (mx * moved->xr + my * moved->yr) + mx * mx * still->xx +
              2 * mx * my * still->xy + my * my * still->yy,
        .pixels = moved->pixels,
    };
}

/* Adds up the cells of a block. Those with much more left than others count little: they are hidden
 * in one of the pictures, or move otherwise. */
static struct sums add_up(const struct motion_scale *scale, float noise, unsigned column,
                          unsigned row)
{
    const struct motion_level *pictures = &scale->pictures;
    const struct motion_block *block = &scale->block[row * scale->columns + column];
    const struct slope slope = find_slope(scale, column, row);
    const float half = 0.5F * (float)(scale->cells - 1);
    struct sums cell[MAX_CELLS], sum = {0};
    float left[MAX_CELLS];
    unsigned count = 0;
    for (unsigned j = 0; j < scale->cells; j++)
        for (unsigned i = 0; i < scale->cells; i++) {
            const unsigned x = column * scale->hop + i, y = row * scale->hop + j;
            const size_t at = (size_t)y * pictures->columns + x;
            struct cell_moved own, *moved = &scale->moved[at];
            if (block->is_rough) {
                motion_level_sum(pictures, x, y, block->dx, block->dy, &own);
                moved = &own;
            }
            if (moved->pixels <= 0)
                continue;
            cell[count] =
                sum_cell(&pictures->still[at], moved, block, &slope,
                         MOTION_CELL * ((float)i - half), MOTION_CELL * ((float)j - half));
            left[count] = cell[count].rr / cell[count].pixels;
            count++;
        }
    if (count == 0)
        return sum;
    float sorted[MAX_CELLS];
    memcpy(sorted, left, count * sizeof *sorted);
    const float usual =
        fmaxf(motion_scale_quartile(sorted, count), MOTION_DIFFERENCE_NOISE * (noise + ROUNDING));
    for (unsigned i = 0; i < count; i++) {
        const float far = left[i] / (OUTLYING * usual), w = 1 / (1 + far * far);
        sum.xx += w * cell[i].xx;
        sum.xy += w * cell[i].xy;
        sum.yy += w * cell[i].yy;
        sum.x += w * cell[i].x;
        sum.y += w * cell[i].y;
        sum.s += w * cell[i].s;
        sum.ss += w * cell[i].ss;
        sum.xr += w * cell[i].xr;
        sum.yr += w * cell[i].yr;
        sum.r += w * cell[i].r;
        sum.rr += w * cell[i].rr;
        sum.pixels += w * cell[i].pixels;
    }
    return sum;
}

static float limited(double step)
{
    return (float)fmin(fmax(step, -MAX_STEP), MAX_STEP);
}

/* Finds a block's own vector and how certain it is. Returns the mean square of what is left. */
static float solve(const struct motion_scale *scale, float noise, unsigned column, unsigned row)
{
    struct motion_block *block = &scale->block[row * scale->columns + column];
    struct sums sum = add_up(scale, noise, column, row);
    block->own_dx = block->dx;
    block->own_dy = block->dy;
    block->xx = block->xy = block->yy = 0;
    block->misfit = INFINITY;
    const double pixels = sum.pixels;
    if (pixels < MIN_SEEN * scale->cells * scale->cells * MOTION_CELL * MOTION_CELL)
        return INFINITY;
    /* A shift of brightness is no motion. */
    sum.xx -= sum.x * sum.x / pixels;
    sum.xy -= sum.x * sum.y / pixels;
    sum.yy -= sum.y * sum.y / pixels;
    sum.ss -= sum.s * sum.s / pixels;
    sum.xr -= sum.x * sum.r / pixels;
    sum.yr -= sum.y * sum.r / pixels;
    sum.rr -= sum.r * sum.r / pixels;
    const double taken = (double)MOTION_GRADIENT_NOISE * noise * pixels;
    const double least = 0.1 * taken + 1e-3 * pixels;
    const double xx = fmax(sum.xx - taken, 0) + least, yy = fmax(sum.yy - taken, 0) + least;
    const double xy = sum.xy, determinant = fmax(xx * yy - xy * xy, 1e-3 * xx * yy);
    const double dx = -(yy * sum.xr - xy * sum.yr) / determinant;
    const double dy = -(xx * sum.yr - xy * sum.xr) / determinant;
    block->own_dx += limited(dx);
    block->own_dy += limited(dy);
    const double rest = fmax(sum.rr + dx * sum.xr + dy * sum.yr, 0) / pixels;
    const double seen = fmax(rest, (double)MOTION_DIFFERENCE_NOISE * (noise + ROUNDING));
    const double certainty = 1 / (CORRELATED * seen);
    block->xx = (float)(xx * certainty);
    block->xy = (float)(fmin(fmax(xy, -sqrt(xx * yy)), sqrt(xx * yy)) * certainty * 0.999);
    block->yy = (float)(yy * certainty);
    block->misfit = (float)(rest / ((double)MOTION_DIFFERENCE_NOISE * (noise + ROUNDING) +
                                    MODEL_ERROR * fmax(sum.ss / pixels, 0)));
    return (float)rest;
}

void motion_fit(struct motion_scale *scale, unsigned passes)
{
    const unsigned count = scale->columns * scale->rows;
    float noise = 0; /* variance of a sample's noise */
    for (unsigned pass = 0; pass < passes; pass++) {
        move_cells(scale);
        for (unsigned row = 0; row < scale->rows; row++)
            for (unsigned column = 0; column < scale->columns; column++)
                scale->sorted[row * scale->columns + column] = solve(scale, noise, column, row);
        const float rest = motion_scale_quartile(scale->sorted, count);
        noise = isfinite(rest) ? rest / MOTION_DIFFERENCE_NOISE : 0;
        motion_repair(scale->block, scale->columns, scale->rows);
        if (pass + 1 < passes)
            motion_repair_doubts(scale->block, scale->columns, scale->rows);
    }
}
