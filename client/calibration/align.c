#include "align.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define MAX_LEVELS    10
#define LARGE         32 /* pixels; pictures with shorter sides are not halved */
#define RADIUS        8  /* pixels; the mean of this neighbourhood is subtracted */
#define CANDIDATES    6  /* shifts of the smallest pictures that are refined */
#define FIT_STEPS     5
#define MAX_PART      0.75
#define MIN_SHARE     (1 / 3.) /* how much of each side both pictures must show */
#define FIT_ROWS      128      /* about as many rows are enough for the fit */
#define LANES         8        /* sums that a processor may add at once */
#define ENOUGH_CHANGE 1e-3
#define MIN_SQUARES   1e-12 /* squared levels; a picture without details matches no other */
#define CLOSE         0.005 /* px; the fit ends when a step is smaller */

struct plane {
    uint32_t width, height;
    float *value;
};

struct align_picture {
    unsigned levels;
    struct plane plane[MAX_LEVELS]; /* each half the size of the previous one */
};

/* ---- pictures ---- */

static int init_plane(struct plane *plane, uint32_t width, uint32_t height)
{
    *plane = (struct plane){
        .width = width,
        .height = height,
        .value = malloc((size_t)width * height * sizeof *plane->value),
    };
    return plane->value != NULL ? 0 : -ENOMEM;
}

/* Fills the plane with the means of cells of `cell` x `cell` samples. */
static void reduce(const struct plane *ret, const float *level, uint32_t stride, unsigned cell)
{
    for (uint32_t y = 0; y < ret->height; y++)
        for (uint32_t x = 0; x < ret->width; x++) {
            double sum = 0;
            for (unsigned v = 0; v < cell; v++)
                for (unsigned u = 0; u < cell; u++)
                    sum += (double)level[((size_t)y * cell + v) * stride + (size_t)x * cell + u];
            ret->value[(size_t)y * ret->width + x] = (float)(sum / (cell * cell));
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
static void take_lines_off(const struct plane *plane, double *sums)
{
    for (uint32_t x = 0; x < plane->width; x++)
        take_mean_off(plane->value + x, plane->height, plane->width, sums);
    for (uint32_t y = 0; y < plane->height; y++)
        take_mean_off(plane->value + (size_t)y * plane->width, plane->width, 1, sums);
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
static int remove_single_pixels(const struct plane *plane)
{
    const uint32_t width = plane->width;
    float *rows = malloc(2 * (size_t)width * sizeof *rows);
    if (rows == NULL)
        return -ENOMEM;
    float *above = rows, *row = rows + width;
    memcpy(row, plane->value, width * sizeof *row);
    for (uint32_t y = 1; y + 1 < plane->height; y++) {
        float *value = plane->value + (size_t)y * width;
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

static int fill(struct align_picture *picture, const float *level, uint32_t stride, uint32_t width,
                uint32_t height, unsigned cell)
{
    struct plane *plane = picture->plane;
    double *sums = malloc(((width > height ? width : height) + (size_t)1) * sizeof *sums);
    int r = sums == NULL ? -ENOMEM : init_plane(&plane[0], width, height);
    picture->levels = sums != NULL;
    if (r == 0)
        reduce(&plane[0], level, stride, cell);
    if (r == 0)
        r = remove_single_pixels(&plane[0]);
    for (unsigned i = 1; r == 0 && i < MAX_LEVELS && width >= LARGE && height >= LARGE; i++) {
        width /= 2;
        height /= 2;
        r = init_plane(&plane[i], width, height);
        picture->levels = i + 1;
        if (r == 0)
            reduce(&plane[i], plane[i - 1].value, plane[i - 1].width, 2);
    }
    for (unsigned i = 0; r == 0 && i < picture->levels; i++)
        take_lines_off(&plane[i], sums);
    free(sums);
    return r;
}

int align_create(struct align_picture **ret, const float *level, uint32_t width, uint32_t height,
                 unsigned cell)
{
    struct align_picture *picture = calloc(1, sizeof *picture);
    int r = picture == NULL ? -ENOMEM : 0;
    if (r == 0 && width >= cell && height >= cell)
        r = fill(picture, level, width, width / cell, height / cell, cell);
    if (r < 0)
        align_destroy(picture);
    else
        *ret = picture;
    return r;
}

void align_destroy(struct align_picture *picture)
{
    if (picture == NULL)
        return;
    for (unsigned i = 0; i < picture->levels; i++)
        free(picture->plane[i].value);
    free(picture);
}

/* ---- whole pixels ---- */

/* Finds the part of an axis that both pictures show: [begin, end) in the first one. */
static void shared(uint32_t length, int shift, int *begin, int *end)
{
    *begin = shift < 0 ? -shift : 0;
    *end = shift > 0 ? (int)length - shift : (int)length;
}

/* Adds up products of two rows, each over as many lanes as a vector has. */
struct products {
    float both[LANES], first[LANES], second[LANES];
};

static void add_products(struct products *sum, const float *p, const float *q, int count)
{
    for (int x = 0; x + LANES <= count; x += LANES)
        for (int i = 0; i < LANES; i++) {
            sum->both[i] += p[x + i] * q[x + i];
            sum->first[i] += p[x + i] * p[x + i];
            sum->second[i] += q[x + i] * q[x + i];
        }
    for (int x = count / LANES * LANES; x < count; x++) {
        sum->both[0] += p[x] * q[x];
        sum->first[0] += p[x] * p[x];
        sum->second[0] += q[x] * q[x];
    }
}

static double correlation(const struct plane *a, const struct plane *b, int dx, int dy)
{
    int left, right, top, bottom;
    shared(a->width, dx, &left, &right);
    shared(a->height, dy, &top, &bottom);
    if (right - left < MIN_SHARE * a->width || bottom - top < MIN_SHARE * a->height)
        return -1;
    struct products sum = {0};
    double both = 0, first = 0, second = 0;
    for (int y = top; y < bottom; y++)
        add_products(&sum, a->value + (ptrdiff_t)y * a->width + left,
                     b->value + (ptrdiff_t)(y + dy) * b->width + left + dx, right - left);
    for (unsigned i = 0; i < LANES; i++) {
        both += (double)sum.both[i];
        first += (double)sum.first[i];
        second += (double)sum.second[i];
    }
    return both / sqrt(fmax(first * second, MIN_SQUARES));
}

static bool is_beside(const struct align_shift *a, const struct align_shift *b)
{
    return abs(a->whole_x - b->whole_x) <= 1 && abs(a->whole_y - b->whole_y) <= 1;
}

/* Inserts a shift into the list of the best ones. The list is sorted by score, and no two of its
 * shifts are neighbours. */
static void insert(struct align_shift list[CANDIDATES], const struct align_shift *shift)
{
    unsigned at = 0, end = CANDIDATES - 1;
    while (at < CANDIDATES && list[at].score >= shift->score && !is_beside(&list[at], shift))
        at++;
    if (at == CANDIDATES || list[at].score >= shift->score)
        return; /* all of them, or a neighbour, are better */
    for (unsigned i = at; i < CANDIDATES; i++)
        if (list[i].score > -1 && is_beside(&list[i], shift)) {
            end = i;
            break;
        }
    for (unsigned i = end; i > at; i--)
        list[i] = list[i - 1];
    list[at] = *shift;
}

static void search_all(struct align_shift list[CANDIDATES], const struct plane *a,
                       const struct plane *b)
{
    const int reach_x = (int)a->width / 2, reach_y = (int)a->height / 2;
    for (unsigned i = 0; i < CANDIDATES; i++)
        list[i] = (struct align_shift){.score = -1};
    for (int dy = -reach_y; dy <= reach_y; dy++)
        for (int dx = -reach_x; dx <= reach_x; dx++) {
            const struct align_shift shift = {dx, dy, 0, 0, correlation(a, b, dx, dy)};
            insert(list, &shift);
        }
}

/* Returns the best shift of pictures that are twice as large. */
static struct align_shift refine(const struct align_shift *coarse, const struct plane *a,
                                 const struct plane *b)
{
    struct align_shift best = {.score = -1};
    for (int v = -1; v <= 1; v++)
        for (int u = -1; u <= 1; u++) {
            const int dx = 2 * coarse->whole_x + u, dy = 2 * coarse->whole_y + v;
            const double score = correlation(a, b, dx, dy);
            if (score > best.score)
                best = (struct align_shift){dx, dy, 0, 0, score};
        }
    return best;
}

/* ---- parts of a pixel ---- */

/* Interpolates the level at a fraction of a pixel, -1 .. 1, from a sample. Reads no neighbour if
 * the fraction is 0. */
static double interpolate(const float *at, ptrdiff_t stride, double part_x, double part_y)
{
    const double u = fabs(part_x), v = fabs(part_y);
    const ptrdiff_t beside = part_x > 0 ? 1 : part_x < 0 ? -1 : 0;
    const ptrdiff_t below = part_y > 0 ? stride : part_y < 0 ? -stride : 0;
    return (1 - v) * ((1 - u) * (double)at[0] + u * (double)at[beside]) +
           v * ((1 - u) * (double)at[below] + u * (double)at[below + beside]);
}

/* Moves both pictures by half the fraction, so that interpolation blurs both alike. Returns the
 * change of the fraction, or infinity if the pictures do not determine it. */
static double fit_step(struct align_shift *shift, const struct plane *a, const struct plane *b)
{
    int left, right, top, bottom;
    shared(a->width, shift->whole_x, &left, &right);
    shared(a->height, shift->whole_y, &top, &bottom);
    const ptrdiff_t stride = (ptrdiff_t)a->width;
    const int every = 1 + (bottom - top) / FIT_ROWS;
    double xx = 0, xy = 0, yy = 0, xd = 0, yd = 0;
    for (int y = top + 1; y < bottom - 1; y += every)
        for (int x = left + 1; x < right - 1; x++) {
            const float *p = a->value + y * stride + x;
            const float *q = b->value + (y + shift->whole_y) * stride + x + shift->whole_x;
            const double gx = (double)((p[1] - p[-1]) + (q[1] - q[-1])) / 4;
            const double gy = (double)((p[stride] - p[-stride]) + (q[stride] - q[-stride])) / 4;
            const double d = interpolate(p, stride, -shift->part_x / 2, -shift->part_y / 2) -
                             interpolate(q, stride, shift->part_x / 2, shift->part_y / 2);
            xx += gx * gx;
            xy += gx * gy;
            yy += gy * gy;
            xd += gx * d;
            yd += gy * d;
        }
    const double determinant = xx * yy - xy * xy;
    if (!(determinant > ENOUGH_CHANGE * xx * yy))
        return INFINITY;
    const double x = (yy * xd - xy * yd) / determinant, y = (xx * yd - xy * xd) / determinant;
    shift->part_x += x;
    shift->part_y += y;
    const bool is_near = fabs(shift->part_x) <= MAX_PART && fabs(shift->part_y) <= MAX_PART;
    return is_near ? hypot(x, y) : INFINITY;
}

static void fit_part(struct align_shift *shift, const struct plane *a, const struct plane *b)
{
    double change = INFINITY;
    for (unsigned i = 0; i < FIT_STEPS && change > CLOSE; i++) {
        change = fit_step(shift, a, b);
        if (!isfinite(change)) {
            shift->part_x = shift->part_y = 0;
            return;
        }
    }
}

void align_find(const struct align_picture *picture, const struct align_picture *other,
                struct align_shift *ret)
{
    struct align_shift list[CANDIDATES];
    unsigned level = picture->levels, count = CANDIDATES;
    *ret = (struct align_shift){.score = 0};
    if (level-- == 0)
        return;
    search_all(list, &picture->plane[level], &other->plane[level]);
    double score = list[0].score;
    while (level-- > 0) {
        struct align_shift better[CANDIDATES];
        for (unsigned i = 0; i < CANDIDATES; i++)
            better[i] = (struct align_shift){.score = -1};
        for (unsigned i = 0; i < count; i++)
            if (list[i].score > -1) {
                const struct align_shift refined =
                    refine(&list[i], &picture->plane[level], &other->plane[level]);
                insert(better, &refined);
            }
        for (unsigned i = 0; i < CANDIDATES; i++)
            list[i] = better[i];
        score = fmax(score, list[0].score);
        count = count > 2 ? count / 2 : 1;
    }
    if (list[0].score <= 0)
        return;
    *ret = list[0];
    ret->score = score; /* the best of all sizes: noise lowers the score of larger ones */
    fit_part(ret, &picture->plane[0], &other->plane[0]);
}
