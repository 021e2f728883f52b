#include "shading.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>

#define CELLS     120u /* about as many along the smaller side */
#define RINGS     16u
#define QUARTERS  4u
#define BINS      401u /* number of bins in the histogram of gradients */
#define MIDDLE    200. /* the bin of no change */
#define BIN       1e-3 /* width of a bin: a change of the logarithm from one cell to the next */
#define DARK      10.f /* cells closer to black or white are cut off, or nearly */
#define BRIGHT    245.f
#define FEWEST    40u /* gradients of a ring in a quarter; fewer have no median */
#define INNERMOST 2u  /* rings that are so small that they say nothing */

struct shading {
    uint32_t width, height;
    unsigned cell, columns, rows;
    float *level; /* logarithm of each cell; NaN: cut off */
    uint32_t count[QUARTERS][RINGS][BINS];
};

int shading_create(struct shading **ret, uint32_t width, uint32_t height)
{
    struct shading *shading = calloc(1, sizeof *shading);
    if (shading == NULL)
        return -ENOMEM;
    const uint32_t side = width < height ? width : height;
    shading->width = width;
    shading->height = height;
    shading->cell = side / CELLS > 0 ? side / CELLS : 1;
    shading->columns = width / shading->cell;
    shading->rows = height / shading->cell;
    shading->level = malloc((size_t)shading->columns * shading->rows * sizeof *shading->level);
    if (shading->level == NULL) {
        shading_destroy(shading);
        return -ENOMEM;
    }
    *ret = shading;
    return 0;
}

void shading_destroy(struct shading *shading)
{
    if (shading == NULL)
        return;
    free(shading->level);
    free(shading);
}

static float cell_level(const struct shading *shading, const float *luma, unsigned i, unsigned j)
{
    float sum = 0;
    for (unsigned y = 0; y < shading->cell; y++)
        for (unsigned x = 0; x < shading->cell; x++)
            sum += luma[(size_t)(j * shading->cell + y) * shading->width + i * shading->cell + x];
    sum /= (float)(shading->cell * shading->cell);
    return sum > DARK && sum < BRIGHT ? logf(sum) : NAN;
}

/* Returns the radius of a cell's middle, 1 in the corners, and the direction to it. */
static double place(const struct shading *shading, unsigned i, unsigned j, double *x, double *y)
{
    const double half_x = shading->columns / 2., half_y = shading->rows / 2.;
    *x = i + 0.5 - half_x;
    *y = j + 0.5 - half_y;
    return hypot(*x, *y) / hypot(half_x, half_y);
}

void shading_add(struct shading *shading, const float *luma)
{
    const unsigned columns = shading->columns;
    for (unsigned j = 0; j < shading->rows; j++)
        for (unsigned i = 0; i < columns; i++)
            shading->level[(size_t)j * columns + i] = cell_level(shading, luma, i, j);
    for (unsigned j = 1; j + 1 < shading->rows; j++)
        for (unsigned i = 1; i + 1 < columns; i++) {
            const float *at = shading->level + (size_t)j * columns + i;
            double x, y;
            const double radius = place(shading, i, j, &x, &y);
            const double length = hypot(x, y);
            const double slope = ((double)(at[1] - at[-1]) * x +
                                  (double)(at[columns] - at[-(ptrdiff_t)columns]) * y) /
                                 (2 * length);
            const long bin = isfinite(slope) ? lround(slope / BIN + MIDDLE) : -1;
            const unsigned ring = (unsigned)(radius * RINGS);
            if (bin >= 0 && bin < (long)BINS && ring < RINGS)
                shading->count[(x > 0) + 2 * (y > 0)][ring][bin]++;
        }
}

/* Returns the median of a ring's slopes, by cell, and the number of them, in these quarters. */
static double median(const struct shading *shading, unsigned half, unsigned ring, double *ret_count)
{
    uint32_t count[BINS] = {0};
    double total = 0, below = 0;
    for (unsigned q = 0; q < QUARTERS; q++)
        for (unsigned bin = 0; bin < BINS && (half & 1u << q) != 0; bin++) {
            count[bin] += shading->count[q][ring][bin];
            total += shading->count[q][ring][bin];
        }
    *ret_count = total;
    for (unsigned bin = 0; bin < BINS; bin++) {
        if (count[bin] > 0 && below + count[bin] >= total / 2)
            return (bin - 0.5 + (total / 2 - below) / count[bin] - MIDDLE) * BIN;
        below += count[bin];
    }
    return 0;
}

/* Fits the gain to the slopes of its logarithm in these quarters. False: too few rings are known.
 */
static bool fit(const struct shading *shading, unsigned half, double *ret_a, double *ret_b)
{
    const double cells = hypot(shading->columns / 2., shading->rows / 2.);
    double slope[RINGS], weight[RINGS], best = INFINITY;
    unsigned known = 0;
    for (unsigned ring = INNERMOST; ring < RINGS; ring++) {
        slope[ring] = median(shading, half, ring, &weight[ring]) * cells;
        weight[ring] = weight[ring] >= FEWEST ? sqrt(weight[ring]) : 0;
        known += weight[ring] > 0;
    }
    if (known < RINGS / 2)
        return false;
    for (int i = -6; i <= 40; i++)
        for (int k = 0; k <= 20; k++) {
            const double a = 0.05 * i, b = 0.1 * k;
            double cost = 0;
            for (unsigned ring = INNERMOST; ring < RINGS; ring++) {
                const double r = (ring + 0.5) / RINGS, r2 = r * r;
                const double wanted = -(2 * a * r + 4 * b * r * r2) / (1 + a * r2 + b * r2 * r2);
                /* An object that fills a part of a ring must not decide. */
                cost += weight[ring] * fmin(fabs(slope[ring] - wanted), 0.5);
            }
            if (cost < best) {
                best = cost;
                *ret_a = a;
                *ret_b = b;
            }
        }
    return true;
}

bool shading_solve(const struct shading *shading, struct shading_gain *ret)
{
    /* Quarters: 1 upper left, 2 upper right, 4 lower left, 8 lower right. */
    static const unsigned all = 1 | 2 | 4 | 8, half[] = {1 | 2, 4 | 8, 1 | 4, 2 | 8};
    double a, b, least = INFINITY;
    ret->is_measured = false;
    ret->error = 0;
    if (!fit(shading, all, &ret->a, &ret->b))
        return false;
    ret->corner = 1 / (1 + ret->a + ret->b);
    for (unsigned i = 0; i < sizeof half / sizeof half[0]; i++) {
        if (!fit(shading, half[i], &a, &b))
            return false;
        least = fmin(least, 1 - 1 / (1 + a + b));
    }
    ret->agreement = ret->corner < 1 ? fmax(least, 0) / (1 - ret->corner) : 0;
    return true;
}
