#include "estimators/motion/motion_scale.h"

#include <math.h>
#include <string.h>

#define CELL  MOTION_CELL
#define TAPS  4u
#define LANES 8u /* numbers that compilers turn into vector instructions */

/* Along y; the factor is that of both axes. */
static void smooth_row(float *restrict to, const float *restrict above, const float *restrict row,
                       const float *restrict below, unsigned width)
{
    for (unsigned x = 0; x < width / LANES * LANES; x += LANES)
        for (unsigned l = 0; l < LANES; l++)
            to[x + l] = (above[x + l] + 4 * row[x + l] + below[x + l]) * (1.F / 36);
    for (unsigned x = width / LANES * LANES; x < width; x++)
        to[x] = (above[x] + 4 * row[x] + below[x]) * (1.F / 36);
}

static void smooth_along(float *restrict to, const float *restrict line, unsigned width)
{
    const unsigned end = 1 + (width - 2) / LANES * LANES;
    to[0] = 5 * line[0] + line[1];
    for (unsigned x = 1; x < end; x += LANES)
        for (unsigned l = 0; l < LANES; l++)
            to[x + l] = line[x + l - 1] + 4 * line[x + l] + line[x + l + 1];
    for (unsigned x = end; x + 1 < width; x++)
        to[x] = line[x - 1] + 4 * line[x] + line[x + 1];
    to[width - 1] = line[width - 2] + 5 * line[width - 1];
}

static void differentiate(float *restrict to, const float *restrict before,
                          const float *restrict after, unsigned width)
{
    for (unsigned x = 0; x < width / LANES * LANES; x += LANES)
        for (unsigned l = 0; l < LANES; l++)
            to[x + l] = 0.5F * (after[x + l] - before[x + l]);
    for (unsigned x = width / LANES * LANES; x < width; x++)
        to[x] = 0.5F * (after[x] - before[x]);
}

static float sum_of(const float lane[LANES])
{
    return ((lane[0] + lane[4]) + (lane[1] + lane[5])) +
           ((lane[2] + lane[6]) + (lane[3] + lane[7]));
}

/* The sum of what is in each column, times the column's place. */
static float moment_of(const float lane[LANES])
{
    return 3.5F * (lane[7] - lane[0]) + 2.5F * (lane[6] - lane[1]) + 1.5F * (lane[5] - lane[2]) +
           0.5F * (lane[4] - lane[3]);
}

static void sum_still(const struct motion_level *level, unsigned column, unsigned row)
{
    float xx[LANES] = {0}, xy[LANES] = {0}, yy[LANES] = {0}, x[LANES] = {0}, y[LANES] = {0},
          s[LANES] = {0}, ss[LANES] = {0}, xxv[LANES] = {0}, xyv[LANES] = {0}, yyv[LANES] = {0};
    const size_t at = (size_t)row * CELL * level->width + (size_t)column * CELL;
    for (unsigned v = 0; v < CELL; v++) {
        const float *restrict gx = level->gx + at + (size_t)v * level->width;
        const float *restrict gy = level->gy + at + (size_t)v * level->width;
        const float *restrict smooth = level->smooth + at + (size_t)v * level->width;
        const float place = (float)v - 0.5F * (CELL - 1);
        for (unsigned l = 0; l < LANES; l++) {
            const float gxx = gx[l] * gx[l], gxy = gx[l] * gy[l], gyy = gy[l] * gy[l];
            xx[l] += gxx;
            xy[l] += gxy;
            yy[l] += gyy;
            xxv[l] += place * gxx;
            xyv[l] += place * gxy;
            yyv[l] += place * gyy;
        }
        for (unsigned l = 0; l < LANES; l++) {
            x[l] += gx[l];
            y[l] += gy[l];
            s[l] += smooth[l];
            ss[l] += smooth[l] * smooth[l];
        }
    }
    level->still[(size_t)row * level->columns + column] = (struct cell_still){
        .xx = sum_of(xx),
        .xy = sum_of(xy),
        .yy = sum_of(yy),
        .x = sum_of(x),
        .y = sum_of(y),
        .s = sum_of(s),
        .ss = sum_of(ss),
        .xxu = moment_of(xx),
        .xyu = moment_of(xy),
        .yyu = moment_of(yy),
        .xxv = sum_of(xxv),
        .xyv = sum_of(xyv),
        .yyv = sum_of(yyv),
    };
}

void motion_level_prepare(struct motion_level *level)
{
    const unsigned width = level->width, height = level->height;
    float *line = level->gx; /* free until the gradient is made */
    for (unsigned y = 0; y < height; y++) {
        const float *row = level->next + (size_t)y * width;
        smooth_row(line, y > 0 ? row - width : row, row, y + 1 < height ? row + width : row, width);
        smooth_along(level->smooth + (size_t)y * width, line, width);
    }
    for (unsigned y = 0; y < height; y++) {
        const size_t at = (size_t)y * width;
        const float *row = level->smooth + at;
        level->gx[at] = level->gx[at + width - 1] = 0;
        differentiate(level->gx + at + 1, row, row + 2, width - 2);
        differentiate(level->gy + at, y > 0 ? row - width : row, y + 1 < height ? row + width : row,
                      width);
    }
    for (unsigned row = 0; row < level->rows; row++)
        for (unsigned column = 0; column < level->columns; column++)
            sum_still(level, column, row);
}

/* The weights of the samples at -1, 0, 1 and 2 for a place t between 0 and 1. */
static void spline(float t, float ret[TAPS])
{
    const float u = 1 - t;
    ret[0] = u * u * u / 6;
    ret[1] = (t * t * (3 * t - 6) + 4) / 6;
    ret[2] = (u * u * (3 * u - 6) + 4) / 6;
    ret[3] = t * t * t / 6;
}

void motion_level_sum(const struct motion_level *level, unsigned column, unsigned row, float dx,
                      float dy, struct cell_moved *ret)
{
    const int width = (int)level->width, height = (int)level->height;
    const float fx = floorf(-dx), fy = floorf(-dy);
    const int left = (int)(column * CELL) + (int)fx - 1, top = (int)(row * CELL) + (int)fy - 1;
    if (left < 0 || top < 0 || left + (int)(CELL + TAPS) - 1 > width ||
        top + (int)(CELL + TAPS) - 1 > height) {
        *ret = (struct cell_moved){.pixels = 0};
        return;
    }
    float wx[TAPS], wy[TAPS], line[CELL + TAPS - 1][LANES];
    spline(-dx - fx, wx);
    spline(-dy - fy, wy);
    const float *from = level->last + (size_t)top * level->width + left;
    for (unsigned v = 0; v < CELL + TAPS - 1; v++, from += width) {
        const float *restrict p = from;
        for (unsigned l = 0; l < LANES; l++)
            line[v][l] = wx[0] * p[l] + wx[1] * p[l + 1] + wx[2] * p[l + 2] + wx[3] * p[l + 3];
    }
    float xr[LANES] = {0}, yr[LANES] = {0}, r[LANES] = {0}, rr[LANES] = {0};
    const size_t at = (size_t)row * CELL * level->width + (size_t)column * CELL;
    for (unsigned v = 0; v < CELL; v++) {
        const float *restrict gx = level->gx + at + (size_t)v * level->width;
        const float *restrict gy = level->gy + at + (size_t)v * level->width;
        const float *restrict smooth = level->smooth + at + (size_t)v * level->width;
        float rest[LANES];
        for (unsigned l = 0; l < LANES; l++)
            rest[l] = smooth[l] - (wy[0] * line[v][l] + wy[1] * line[v + 1][l] +
                                   wy[2] * line[v + 2][l] + wy[3] * line[v + 3][l]);
        for (unsigned l = 0; l < LANES; l++) {
            xr[l] += gx[l] * rest[l];
            yr[l] += gy[l] * rest[l];
            r[l] += rest[l];
            rr[l] += rest[l] * rest[l];
        }
    }
    *ret = (struct cell_moved){sum_of(xr), sum_of(yr), sum_of(r), sum_of(rr), CELL * CELL, dx, dy};
}

float motion_level_difference(const struct motion_level *level, int left, int top, int side, int dx,
                              int dy)
{
    /* The part of the square whose content was in the last picture. */
    const int x0 = left - dx < 0 ? dx : left, y0 = top - dy < 0 ? dy : top;
    const int x_end = left + side - dx > (int)level->width ? (int)level->width + dx : left + side;
    const int y_end = top + side - dy > (int)level->height ? (int)level->height + dy : top + side;
    const int columns = (x_end - x0) / (int)LANES * (int)LANES;
    if (columns < side / 2 || y_end - y0 < side / 2)
        return INFINITY;
    float sum[LANES] = {0}, squares[LANES] = {0};
    unsigned rows = 0;
    for (int y = y0; y < y_end; y += 2, rows++) {
        const float *restrict next = level->next + (size_t)y * level->width + x0;
        const float *restrict last = level->last + (size_t)(y - dy) * level->width + (x0 - dx);
        for (int x = 0; x < columns; x += (int)LANES)
            for (unsigned l = 0; l < LANES; l++) {
                const float difference = next[x + (int)l] - last[x + (int)l];
                sum[l] += difference;
                squares[l] += difference * difference;
            }
    }
    const float count = (float)columns * (float)rows, mean = sum_of(sum) / count;
    return fmaxf(sum_of(squares) / count - mean * mean, 0);
}
