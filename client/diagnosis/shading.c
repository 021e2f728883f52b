#include "shading.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>

#define CELLS       120u /* about as many along the smaller side */
#define RINGS       16u
#define QUARTERS    4u
#define BINS        401u /* number of bins in the histogram of gradients */
#define MIDDLE      200. /* the bin of no change */
#define BIN         1e-3 /* width of a bin: a change of the logarithm from one cell to the next */
#define DARK        10.f /* cells closer to black or white are cut off, or nearly */
#define BRIGHT      245.f
#define FEWEST      40u  /* gradients of a ring in a quarter; fewer have no median */
#define INNERMOST   2u   /* rings that are so small that they say nothing */
#define POWERS      3u   /* r^2, r^4 and r^6, which the logarithm of a vignette is a sum of */
#define HARMONICS   2u   /* of the flicker's frequency that the model has */
#define EDGE        0.4  /* a greater change of the logarithm is an edge, or moves otherwise */
#define PLAIN       0.03 /* the change of the logarithm from a cell to the next in a plain area */
#define LEAST_MOVED 2.   /* pixels between frames that are compared */
#define LEAST_SEEN  400. /* squared pixels; what moves less determines nothing */

struct shading {
    uint32_t width, height;
    unsigned cell, columns, rows;
    float *level; /* logarithm of each cell; NaN: cut off */
    uint32_t count[QUARTERS][RINGS][BINS];
    /* Least-squares equations for the powers of r, summed over the pairs of frames compared. */
    double product[POWERS][POWERS], target[POWERS];
    double moved; /* squared pixels, added up */
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

/* ---- what moves ---- */

/* The powers of the radius of a place, which is 1 in the corners. */
static void powers_at(const struct shading *shading, double x, double y, double ret[POWERS])
{
    const double u = x - shading->width / 2., v = y - shading->height / 2.;
    const double r2 =
        4 * (u * u + v * v) /
        ((double)shading->width * shading->width + (double)shading->height * shading->height);
    for (unsigned i = 0; i < POWERS; i++)
        ret[i] = i == 0 ? r2 : ret[i - 1] * r2;
}

/* Returns the logarithm of a cell's mean that begins at (x, y); NaN: it is cut off. */
static double level_between(const struct shading *shading, const float *luma, double x, double y)
{
    const size_t left = (size_t)x, top = (size_t)y, width = shading->width;
    const float u = (float)(x - (double)left), v = (float)(y - (double)top);
    float sum = 0;
    for (unsigned j = 0; j < shading->cell; j++)
        for (unsigned i = 0; i < shading->cell; i++) {
            const float *at = luma + (top + j) * width + left + i;
            if (at[0] < DARK || at[0] > BRIGHT)
                return (double)NAN;
            sum += (1 - v) * ((1 - u) * at[0] + u * at[1]) +
                   v * ((1 - u) * at[width] + u * at[width + 1]);
        }
    return log((double)sum / (shading->cell * shading->cell));
}

/* The change of a cell between two frames is modelled as a sum: the gain; a change of the light;
 * the slopes of the scene there, because the measured shift is a little wrong; and what is left of
 * the flicker's bands. Only the gain is wanted, so the other terms are eliminated for each pair. */
enum {
    TERM_LIGHT = POWERS,
    TERM_RIGHT,
    TERM_BELOW,
    TERM_BANDS, /* a cosine and a sine for each harmonic */
    TERMS = TERM_BANDS + 2 * HARMONICS
};

struct equations {
    double product[TERMS][TERMS + 1]; /* and the target */
    unsigned terms, cells;
};

/* Writes a cell's slopes to the next ones. Returns what it counts: an edge changes by far more than
 * the lens does if its shift is known a little wrong. NaN: it is cut off. */
static double weight_of(const struct shading *shading, const float *luma, double x, double y,
                        double slope[2])
{
    const double cell = shading->cell, own = level_between(shading, luma, x, y);
    const double right = x + 2 * cell + 1 < shading->width ? cell : -cell;
    const double below = y + 2 * cell + 1 < shading->height ? cell : -cell;
    slope[0] = (level_between(shading, luma, x + right, y) - own) * cell / right;
    slope[1] = (level_between(shading, luma, x, y + below) - own) * cell / below;
    return 1 / (1 + (slope[0] * slope[0] + slope[1] * slope[1]) / (PLAIN * PLAIN));
}

static void add_cell(struct equations *equations, const double term[TERMS], double change,
                     double weight)
{
    const unsigned terms = equations->terms;
    for (unsigned k = 0; k < terms; k++) {
        for (unsigned n = 0; n < terms; n++)
            equations->product[k][n] += weight * term[k] * term[n];
        equations->product[k][TERMS] += weight * term[k] * change;
    }
    equations->cells++;
}

/* Adds each cell that both frames show. */
static void compare_cells(const struct shading *shading, const float *before, const float *luma,
                          const struct shading_pair *pair, struct equations *equations)
{
    const double dx = pair->dx, dy = pair->dy, reach = shading->cell + 1;
    equations->terms = pair->bands > 0 ? TERMS : TERM_BANDS;
    for (unsigned j = 0; j < shading->rows; j++)
        for (unsigned i = 0; i < shading->columns; i++) {
            const double x = (double)i * shading->cell, y = (double)j * shading->cell;
            if (x + dx < 0 || y + dy < 0 || x + fmax(dx, 0) + reach > shading->width ||
                y + fmax(dy, 0) + reach > shading->height)
                continue;
            const double change =
                level_between(shading, luma, x + dx, y + dy) - level_between(shading, before, x, y);
            double term[TERMS] = {[TERM_LIGHT] = 1}, other[POWERS];
            const double weight = weight_of(shading, before, x, y, term + TERM_RIGHT);
            if (!(fabs(change) < EDGE) || !(weight > 0))
                continue;
            powers_at(shading, x + shading->cell / 2., y + shading->cell / 2., term);
            powers_at(shading, x + dx + shading->cell / 2., y + dy + shading->cell / 2., other);
            for (unsigned k = 0; k < POWERS; k++)
                term[k] -= other[k];
            for (unsigned h = 0; h < HARMONICS && pair->bands > 0; h++) {
                const double phase = 2 * M_PI * (h + 1) * pair->bands * y;
                term[TERM_BANDS + 2 * h] = cos(phase);
                term[TERM_BANDS + 2 * h + 1] = sin(phase);
            }
            add_cell(equations, term, change, weight);
        }
}

void shading_compare(struct shading *shading, const float *before, const float *luma,
                     const struct shading_pair *pair)
{
    struct equations equations = {.cells = 0};
    if (hypot(pair->dx, pair->dy) < LEAST_MOVED)
        return;
    compare_cells(shading, before, luma, pair, &equations);
    if (equations.cells < shading->columns * shading->rows / 8.)
        return;
    for (unsigned i = equations.terms; i-- > POWERS;)
        for (unsigned k = 0; k < i && equations.product[i][i] > 0; k++) {
            const double factor = equations.product[k][i] / equations.product[i][i];
            for (unsigned n = 0; n < i; n++)
                equations.product[k][n] -= factor * equations.product[i][n];
            equations.product[k][TERMS] -= factor * equations.product[i][TERMS];
        }
    for (unsigned i = 0; i < POWERS; i++) {
        for (unsigned k = 0; k < POWERS; k++)
            shading->product[i][k] += equations.product[i][k];
        shading->target[i] += equations.product[i][TERMS];
    }
    shading->moved += pair->dx * pair->dx + pair->dy * pair->dy;
}

/* The powers of the radius whose sum is nearest to the logarithm of the gain 1 + a r^2 + b r^4,
 * over the area of the picture. */
static void powers_of(double a, double b, double ret[POWERS])
{
    double m[POWERS][POWERS + 1] = {{0}};
    for (unsigned ring = 1; ring <= RINGS; ring++) {
        const double r = (double)ring / RINGS, r2 = r * r;
        const double wanted = log(fmax(1 + a * r2 + b * r2 * r2, 0.1));
        const double power[POWERS] = {r2, r2 * r2, r2 * r2 * r2};
        for (unsigned i = 0; i < POWERS; i++) {
            for (unsigned k = 0; k < POWERS; k++)
                m[i][k] += r * power[i] * power[k];
            m[i][POWERS] += r * power[i] * wanted;
        }
    }
    for (unsigned i = 0; i < POWERS; i++)
        for (unsigned k = 0; k < POWERS; k++) {
            const double factor = k == i ? 0 : m[k][i] / m[i][i];
            for (unsigned n = i; n <= POWERS; n++)
                m[k][n] -= factor * m[i][n];
        }
    for (unsigned i = 0; i < POWERS; i++)
        ret[i] = m[i][POWERS] / m[i][i];
}

/* The sum of squares that a gain leaves of all changes, but for a constant. */
static double left_by(const struct shading *shading, double a, double b)
{
    double power[POWERS], left = 0;
    powers_of(a, b, power);
    for (unsigned i = 0; i < POWERS; i++) {
        left -= 2 * power[i] * shading->target[i];
        for (unsigned k = 0; k < POWERS; k++)
            left += power[i] * power[k] * shading->product[i][k];
    }
    return left;
}

/* Finds the gain that leaves least of the changes, in steps that become smaller. */
static bool solve_moved(const struct shading *shading, struct shading_gain *ret)
{
    if (shading->moved < LEAST_SEEN)
        return false;
    static const double steps[] = {0.1, 0.04, 0.016, 0.0064};
    double best = INFINITY;
    ret->a = ret->b = 1;
    for (unsigned n = 0; n < sizeof steps / sizeof steps[0]; n++) {
        const double a = ret->a, b = ret->b, step = steps[n];
        const int reach = best < INFINITY ? 6 : 14;
        for (int i = -reach; i <= reach; i++)
            for (int k = -reach; k <= reach; k++) {
                const double at_a = a + i * step, at_b = b + k * step;
                const double left = left_by(shading, at_a, at_b);
                if (left < best && at_a >= -0.3 && at_b >= -0.3) {
                    best = left;
                    ret->a = at_a;
                    ret->b = at_b;
                }
            }
    }
    ret->corner = 1 / (1 + ret->a + ret->b);
    ret->agreement = ret->balance = 1;
    ret->is_measured = true;
    return true;
}

bool shading_solve(const struct shading *shading, struct shading_gain *ret)
{
    /* Quarters: 1 upper left, 2 upper right, 4 lower left, 8 lower right. */
    static const unsigned all = 1 | 2 | 4 | 8, half[] = {1 | 2, 4 | 8, 1 | 4, 2 | 8};
    double a, b, darkening[4], least = INFINITY;
    if (solve_moved(shading, ret))
        return true;
    ret->is_measured = false;
    if (!fit(shading, all, &ret->a, &ret->b))
        return false;
    ret->corner = 1 / (1 + ret->a + ret->b);
    for (unsigned i = 0; i < sizeof half / sizeof half[0]; i++) {
        if (!fit(shading, half[i], &a, &b))
            return false;
        darkening[i] = 1 - 1 / (1 + a + b);
        least = fmin(least, darkening[i]);
    }
    ret->agreement = ret->corner < 1 ? fmax(least, 0) / (1 - ret->corner) : 0;
    /* A scene that is brighter at one side adds to one half what it takes from the opposite one. */
    const double pair = fmin(darkening[0] + darkening[1], darkening[2] + darkening[3]) / 2;
    ret->balance = ret->corner < 1 ? pair / (1 - ret->corner) : 0;
    return true;
}
