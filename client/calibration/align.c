#include "align.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define RADIUS 8    /* cells; the mean of this neighbourhood is subtracted */
#define WHITE  255. /* of the numbers that are compared */

struct align {
    uint32_t stride, width, height; /* samples of a row; cells */
    unsigned cell;
    struct motion_estimator *motion; /* NULL: pictures are too small to be compared */
};

int align_create(struct align **ret, uint32_t width, uint32_t height, unsigned cell)
{
    struct align *align = malloc(sizeof *align);
    if (align == NULL)
        return -ENOMEM;
    *align = (struct align){
        .stride = width, .width = width / cell, .height = height / cell, .cell = cell};
    const uint32_t side = align->width < align->height ? align->width : align->height;
    const int r = side >= MOTION_MIN_SIZE
                      ? motion_create(&align->motion, align->width, align->height, NULL)
                      : 0;
    if (r < 0)
        align_destroy(align);
    else
        *ret = align;
    return r;
}

void align_destroy(struct align *align)
{
    if (align == NULL)
        return;
    motion_destroy(align->motion);
    free(align);
}

/* Fills a picture with the means of cells. */
static void reduce(const struct align *align, const float *level, float *ret)
{
    const unsigned cell = align->cell;
    for (uint32_t y = 0; y < align->height; y++)
        for (uint32_t x = 0; x < align->width; x++) {
            double sum = 0;
            for (unsigned v = 0; v < cell; v++)
                for (unsigned u = 0; u < cell; u++)
                    sum += (double)
                        level[((size_t)y * cell + v) * align->stride + (size_t)x * cell + u];
            ret[(size_t)y * align->width + x] = (float)(WHITE * sum / (cell * cell));
        }
}

/* Subtracts from each value of a line the mean of its neighbourhood. `sums` has room for length + 1
 * numbers. */
static void take_mean_off(float *line, uint32_t length, size_t step, double *sums)
{
    sums[0] = 0;
    for (uint32_t i = 0; i < length; i++)
        sums[i + 1] = sums[i] + (double)line[i * step];
    for (uint32_t i = 0; i < length; i++) {
        const uint32_t begin = i > RADIUS ? i - RADIUS : 0;
        const uint32_t end = i + RADIUS < length ? i + RADIUS + 1 : length;
        line[i * step] -= (float)((sums[end] - sums[begin]) / (end - begin));
    }
}

/* Removes offsets of whole columns and whole rows. */
static void take_lines_off(const struct align *align, float *value, double *sums)
{
    for (uint32_t x = 0; x < align->width; x++)
        take_mean_off(value + x, align->height, align->width, sums);
    for (uint32_t y = 0; y < align->height; y++)
        take_mean_off(value + (size_t)y * align->width, align->width, 1, sums);
}

static float least(float a, float b)
{
    return a < b ? a : b;
}

static float greatest(float a, float b)
{
    return a > b ? a : b;
}

/* Limits each value to the range of its eight neighbours. Hot pixels stay in place, and would
 * otherwise outweigh a scene of little contrast that moves. -ENOMEM. */
static int remove_single_pixels(const struct align *align, float *picture)
{
    const uint32_t width = align->width;
    float *rows = malloc(2 * (size_t)width * sizeof *rows);
    if (rows == NULL)
        return -ENOMEM;
    float *above = rows, *row = rows + width;
    memcpy(row, picture, width * sizeof *row);
    for (uint32_t y = 1; y + 1 < align->height; y++) {
        float *value = picture + (size_t)y * width;
        const float *below = value + width;
        float *next = above;
        above = row;
        row = next;
        memcpy(row, value, width * sizeof *row);
        for (uint32_t x = 1; x + 1 < width; x++) {
            float low = least(row[x - 1], row[x + 1]), high = greatest(row[x - 1], row[x + 1]);
            for (int u = -1; u <= 1; u++) {
                low = least(low, least(above[(int)x + u], below[(int)x + u]));
                high = greatest(high, greatest(above[(int)x + u], below[(int)x + u]));
            }
            value[x] = least(greatest(row[x], low), high);
        }
    }
    free(rows);
    return 0;
}

float *align_prepare(const struct align *align, const float *level)
{
    const uint32_t width = align->width, height = align->height;
    float *picture = malloc((size_t)width * height * sizeof *picture);
    double *sums = malloc(((width > height ? width : height) + (size_t)1) * sizeof *sums);
    int r = picture != NULL && sums != NULL ? 0 : -ENOMEM;
    if (r == 0) {
        reduce(align, level, picture);
        r = remove_single_pixels(align, picture);
    }
    if (r == 0)
        take_lines_off(align, picture, sums);
    free(sums);
    if (r == 0)
        return picture;
    free(picture);
    return NULL;
}

void align_find(struct align *align, const float *picture, const float *other, struct motion *ret)
{
    *ret = (struct motion){.is_sure = false};
    if (align->motion == NULL)
        return;
    motion_reset(align->motion);
    motion_observe(align->motion, picture, ret);
    motion_observe(align->motion, other, ret);
}
