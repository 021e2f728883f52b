#include "lens.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "core/normal.h"

#define CELLS      75u  /* about as many along the smaller side */
#define DIM        10.  /* grey levels: the noise of darker cells is much of their light */
#define PLAIN      0.03 /* the change of the logarithm from a cell to the next in a plain area */
#define POWERS     3u   /* r^2, r^4 and r^6, which the logarithm of a gain is a sum of */
#define HARMONICS  2u   /* harmonics of the flicker in the model */
#define ROUNDS     3u   /* in which what does not fit counts less and less */
#define ODD        3.   /* standard deviations; what is off by more counts less than half */
#define UNSURE     0.5  /* errors of shifts across bands, relative to the shifts; bands exceed it */
#define SIDEWAYS   2.   /* the same, relative to the errors along bands */
#define RIDGE      1e-6 /* what only frames share, as all their light, is not determined */
#define RINGS      16u  /* radii at which powers are fitted to a gain */
#define MOST_ERROR 0.05 /* greatest standard error of the light of the corners */

/* Unknowns of each frame: its light, the error of its shift along both axes, and a cosine and a
 * sine for each harmonic of the bands. */
enum { OWN_LIGHT, OWN_RIGHT, OWN_BELOW, OWN_BANDS, OWN = OWN_BANDS + 2 * HARMONICS };
#define UNKNOWNS (POWERS + LENS_VIEWS * OWN)

/* The equations of one scene. */
struct equations {
    double row[UNKNOWNS][UNKNOWNS + 1]; /* and the target */
    double found[UNKNOWNS];
    double product[POWERS][POWERS],
        target[POWERS];     /* for the powers, once all else is eliminated */
    unsigned unknowns, own; /* in all, and of each view */
};

struct lens {
    uint32_t width, height;
    double bands;
    unsigned cell, margin; /* pixels; cells that the scene has more than a frame, at each side */
    unsigned columns, rows;
    unsigned views;
    double x[LENS_VIEWS], y[LENS_VIEWS];
    double off_x[LENS_VIEWS], off_y[LENS_VIEWS]; /* errors of both, in pixels, as found so far */
    float *level; /* for each view: the logarithm of each cell of the scene; NaN: it is not seen */
    float *trust; /* the same: how much it counts, 0 .. 1 */
    /* Equations for the powers of r alone, summed over the scenes. */
    double product[POWERS][POWERS], target[POWERS];
    double squares, count;      /* what is left of all levels, and how many there are */
    double *line;               /* for each view: what is left, added up over each column and row */
    struct equations equations; /* for the current scene */
};

int lens_create(struct lens **ret, uint32_t width, uint32_t height, double bands)
{
    struct lens *lens = calloc(1, sizeof *lens);
    if (lens == NULL)
        return -ENOMEM;
    const uint32_t side = width < height ? width : height;
    lens->width = width;
    lens->height = height;
    lens->bands = bands;
    lens->cell = side / CELLS > 0 ? side / CELLS : 1;
    lens->margin = (unsigned)ceil(LENS_REACH * side / lens->cell);
    lens->columns = width / lens->cell + 2 * lens->margin;
    lens->rows = height / lens->cell + 2 * lens->margin;
    const size_t count = (size_t)LENS_VIEWS * lens->columns * lens->rows;
    lens->level = malloc(count * sizeof *lens->level);
    lens->trust = malloc(count * sizeof *lens->trust);
    lens->line = malloc((size_t)LENS_VIEWS * (lens->columns + lens->rows) * sizeof *lens->line);
    if (lens->level == NULL || lens->trust == NULL || lens->line == NULL) {
        lens_destroy(lens);
        return -ENOMEM;
    }
    *ret = lens;
    return 0;
}

void lens_destroy(struct lens *lens)
{
    if (lens == NULL)
        return;
    free(lens->level);
    free(lens->trust);
    free(lens->line);
    free(lens);
}

static float *cell_of(const struct lens *lens, float *values, unsigned view, size_t at)
{
    return values + (size_t)view * lens->columns * lens->rows + at;
}

/* Returns where a cell begins in a view, in pixels along an axis. */
static double begin_of(const struct lens *lens, unsigned index, double shift)
{
    return ((double)index - lens->margin) * lens->cell + shift;
}

/* Returns the logarithm of the mean of a cell that begins at (x, y); NaN: it is cut off. */
static float level_at(const struct lens *lens, const float *luma, double x, double y)
{
    if (x < 0 || y < 0 || x + lens->cell + 1 > lens->width || y + lens->cell + 1 > lens->height)
        return NAN;
    const size_t left = (size_t)x, top = (size_t)y, width = lens->width;
    const float u = (float)(x - (double)left), v = (float)(y - (double)top);
    float sum = 0;
    for (unsigned j = 0; j < lens->cell; j++)
        for (unsigned i = 0; i < lens->cell; i++) {
            const float *at = luma + (top + j) * width + left + i;
            sum += (1 - v) * ((1 - u) * at[0] + u * at[1]) +
                   v * ((1 - u) * at[width] + u * at[width + 1]);
        }
    return sum > 0 ? logf(sum / (float)(lens->cell * lens->cell)) : NAN;
}

void lens_add(struct lens *lens, const float *luma, double x, double y)
{
    if (lens->views == LENS_VIEWS)
        return;
    const unsigned view = lens->views++;
    lens->x[view] = x;
    lens->y[view] = y;
    for (unsigned j = 0; j < lens->rows; j++)
        for (unsigned i = 0; i < lens->columns; i++)
            *cell_of(lens, lens->level, view, (size_t)j * lens->columns + i) =
                level_at(lens, luma, begin_of(lens, i, x), begin_of(lens, j, y));
}

/* ---- a scene ---- */

/* A cell of the scene, as the views see it. */
struct seen {
    unsigned views;
    unsigned view[LENS_VIEWS];
    double level[LENS_VIEWS], trust[LENS_VIEWS];
    double power[LENS_VIEWS][POWERS], own[LENS_VIEWS][OWN];
    double weight; /* the whole cell's weight */
};

/* The powers of the radius of a place, which is 1 in the corners. */
static void powers_at(const struct lens *lens, double x, double y, double ret[POWERS])
{
    const double u = x - lens->width / 2., v = y - lens->height / 2.;
    const double r2 = 4 * (u * u + v * v) /
                      ((double)lens->width * lens->width + (double)lens->height * lens->height);
    for (unsigned i = 0; i < POWERS; i++)
        ret[i] = i == 0 ? r2 : ret[i - 1] * r2;
}

/* Returns the mean of a cell over the views that see it. NaN: less than two do. */
static double mean_at(const struct lens *lens, size_t at)
{
    double sum = 0;
    unsigned count = 0;
    for (unsigned view = 0; view < lens->views; view++) {
        const double level = (double)*cell_of(lens, lens->level, view, at);
        if (isfinite(level)) {
            sum += level;
            count++;
        }
    }
    return count < 2 ? (double)NAN : sum / count;
}

/* Looks at a cell. Returns whether it counts: an edge changes by far more than the lens does if its
 * shift is known a little wrong. */
static bool look(const struct lens *lens, unsigned i, unsigned j, struct seen *ret)
{
    const size_t at = (size_t)j * lens->columns + i;
    const double mean = mean_at(lens, at), dim = DIM / exp(mean);
    const double right = (mean_at(lens, at + 1) - mean_at(lens, at - 1)) / 2;
    const double below =
        (mean_at(lens, at + lens->columns) - mean_at(lens, at - lens->columns)) / 2;
    ret->weight = 1 / ((1 + (right * right + below * below) / (PLAIN * PLAIN)) * (1 + dim * dim));
    ret->views = 0;
    if (!(ret->weight > 0))
        return false;
    for (unsigned view = 0; view < lens->views; view++) {
        const double level = (double)*cell_of(lens, lens->level, view, at);
        const unsigned n = ret->views;
        if (!isfinite(level))
            continue;
        const double x = begin_of(lens, i, lens->x[view]), y = begin_of(lens, j, lens->y[view]);
        double *own = ret->own[n];
        ret->view[n] = view;
        ret->level[n] = level;
        ret->trust[n] = (double)*cell_of(lens, lens->trust, view, at);
        powers_at(lens, x + lens->cell / 2. - lens->off_x[view],
                  y + lens->cell / 2. - lens->off_y[view], ret->power[n]);
        own[OWN_LIGHT] = 1;
        own[OWN_RIGHT] = right;
        own[OWN_BELOW] = below;
        for (unsigned h = 0; h < HARMONICS; h++) {
            const double phase = 2 * M_PI * (h + 1) * lens->bands * y;
            own[OWN_BANDS + 2 * h] = cos(phase);
            own[OWN_BANDS + 2 * h + 1] = sin(phase);
        }
        ret->views++;
    }
    return true;
}

/* Subtracts from each column of a cell's own equations its mean over the views, which is the
 * scene's. Adds what is left. */
static void add_cell(struct equations *equations, const struct seen *seen)
{
    double mean[POWERS + 1] = {0}, total = 0;
    for (unsigned n = 0; n < seen->views; n++) {
        for (unsigned k = 0; k < POWERS; k++)
            mean[k] += seen->trust[n] * seen->power[n][k];
        mean[POWERS] += seen->trust[n] * seen->level[n];
        total += seen->trust[n];
    }
    for (unsigned k = 0; k <= POWERS; k++)
        mean[k] /= total;
    for (unsigned n = 0; n < seen->views; n++) {
        const double weight = seen->weight * seen->trust[n];
        double term[POWERS + 1];
        for (unsigned k = 0; k < POWERS; k++)
            term[k] = seen->power[n][k] - mean[k];
        term[POWERS] = seen->level[n] - mean[POWERS];
        for (unsigned k = 0; k < POWERS; k++) {
            for (unsigned i = 0; i <= k; i++)
                equations->row[k][i] += weight * term[k] * term[i];
            equations->row[k][equations->unknowns] += weight * term[k] * term[POWERS];
        }
        for (unsigned k = 0; k < equations->own; k++) {
            double *row = equations->row[POWERS + seen->view[n] * equations->own + k];
            const double own = weight * seen->own[n][k];
            for (unsigned i = 0; i < POWERS; i++)
                row[i] += own * term[i];
            row[equations->unknowns] += own * term[POWERS];
            /* The triangle below the diagonal is enough. */
            for (unsigned m = 0; m <= n; m++) {
                double *to = row + POWERS + seen->view[m] * equations->own;
                const double share = (m == n ? 1 : 0) - seen->trust[m] / total;
                for (unsigned i = 0; i < equations->own; i++)
                    to[i] += share * own * seen->own[m][i];
            }
        }
    }
}

/* Eliminates the unknowns from the last to the first, and finds all of them. */
static void eliminate(struct equations *equations)
{
    const unsigned unknowns = equations->unknowns;
    for (unsigned i = POWERS; i < unknowns; i++)
        equations->row[i][i] += RIDGE * equations->row[i][i];
    for (unsigned i = unknowns; i-- > 0;) {
        const double *from = equations->row[i];
        if (i + 1 == POWERS)
            for (unsigned k = 0; k < POWERS; k++) {
                for (unsigned n = 0; n < POWERS; n++)
                    equations->product[k][n] = equations->row[k > n ? k : n][k > n ? n : k];
                equations->target[k] = equations->row[k][unknowns];
            }
        for (unsigned k = 0; k < i && from[i] > 0; k++) {
            const double factor = from[k] / from[i];
            for (unsigned n = 0; n <= k; n++)
                equations->row[k][n] -= factor * from[n];
            equations->row[k][unknowns] -= factor * from[unknowns];
        }
    }
    for (unsigned i = 0; i < unknowns; i++) {
        const double *row = equations->row[i];
        double sum = row[unknowns];
        for (unsigned k = 0; k < i; k++)
            sum -= row[k] * equations->found[k];
        equations->found[i] = row[i] > 0 ? sum / row[i] : 0;
    }
}

/* Writes what the model leaves of a cell's levels. */
static void leave(const struct equations *equations, const struct seen *seen,
                  double ret[LENS_VIEWS])
{
    double mean = 0, total = 0;
    for (unsigned n = 0; n < seen->views; n++) {
        const double *own = equations->found + POWERS + seen->view[n] * equations->own;
        ret[n] = seen->level[n];
        for (unsigned k = 0; k < POWERS; k++)
            ret[n] -= seen->power[n][k] * equations->found[k];
        for (unsigned k = 0; k < equations->own; k++)
            ret[n] -= seen->own[n][k] * own[k];
        mean += seen->trust[n] * ret[n];
        total += seen->trust[n];
    }
    for (unsigned n = 0; n < seen->views; n++)
        ret[n] -= mean / total;
}

/* Finds the next cell that counts after cell *at. Begin with *at = 0. */
static bool next_cell(const struct lens *lens, size_t *at, struct seen *ret)
{
    for (size_t next = *at + 1; next < (size_t)lens->columns * (lens->rows - 1); next++) {
        const unsigned i = (unsigned)(next % lens->columns), j = (unsigned)(next / lens->columns);
        *at = next;
        if (i > 0 && i + 1 < lens->columns && j > 0 && look(lens, i, j, ret))
            return true;
    }
    return false;
}

/* What the model leaves unexplained of a scene. */
struct left {
    struct lens *lens;
    double squares, count; /* weighted squares, and for how many levels they stand */
    double own;            /* the squares again, with each weight squared */
    double most;           /* standard deviations, squared; what is beyond is odd */
};

static void add_to_left(struct left *left, const struct seen *seen, size_t at)
{
    const struct lens *lens = left->lens;
    double each[LENS_VIEWS];
    leave(&lens->equations, seen, each);
    for (unsigned n = 0; n < seen->views; n++) {
        const double weight = seen->weight * seen->trust[n];
        double *line = lens->line + (size_t)seen->view[n] * (lens->columns + lens->rows);
        line[at % lens->columns] += weight * each[n];
        line[lens->columns + at / lens->columns] += weight * each[n];
        left->squares += weight * each[n] * each[n];
        left->own += weight * weight * each[n] * each[n];
        left->count += weight * (1 - 1. / seen->views);
    }
}

/* Returns how many times the squares of the sums over lines exceed those of noise, which differs
 * from cell to cell. Stripes and bands do not. */
static double likeness(const struct left *left)
{
    const struct lens *lens = left->lens;
    const size_t lines = (size_t)lens->views * (lens->columns + lens->rows);
    double squares = 0;
    for (size_t i = 0; i < lines; i++)
        squares += lens->line[i] * lens->line[i];
    /* Each cell is in a column and in a row. */
    return fmax(squares / left->own - 1, 1);
}

static void trust_less(const struct left *left, const struct seen *seen, size_t at)
{
    double each[LENS_VIEWS];
    leave(&left->lens->equations, seen, each);
    for (unsigned n = 0; n < seen->views; n++)
        *cell_of(left->lens, left->lens->trust, seen->view[n], at) =
            (float)(1 / (1 + each[n] * each[n] / left->most));
}

/* Takes over how far each view is away from where it should be. Stripes that stand make the
 * measured shifts too short, and the lens would seem to change over a shorter distance. */
static void correct_shifts(struct lens *lens)
{
    for (unsigned view = 0; view < lens->views; view++) {
        const double *own = lens->equations.found + POWERS + view * lens->equations.own;
        lens->off_x[view] = own[OWN_RIGHT] * lens->cell;
        lens->off_y[view] = own[OWN_BELOW] * lens->cell;
    }
}

/* Returns the sum of squares of how far values are from their mean. */
static double spread_of(const double *value, unsigned count)
{
    double mean = 0, squares = 0;
    for (unsigned i = 0; i < count; i++)
        mean += value[i] / count;
    for (unsigned i = 0; i < count; i++)
        squares += (value[i] - mean) * (value[i] - mean);
    return squares;
}

/* Returns whether bands of light that hardly move explain the errors of the shifts: they look like
 * errors across them, of a picture that may stand still, and a lens would explain what is left. */
static bool has_slow_bands(const struct lens *lens)
{
    const double across = spread_of(lens->off_y, lens->views);
    const double moved = spread_of(lens->x, lens->views) + spread_of(lens->y, lens->views);
    return across > UNSURE * UNSURE * moved &&
           across > SIDEWAYS * SIDEWAYS * spread_of(lens->off_x, lens->views);
}

static void solve_scene(struct lens *lens)
{
    struct equations *equations = &lens->equations;
    struct left left = {.lens = lens};
    struct seen seen;
    const size_t count = (size_t)lens->views * lens->columns * lens->rows;
    const size_t lines = (size_t)lens->views * (lens->columns + lens->rows);
    for (size_t i = 0; i < count; i++)
        lens->trust[i] = 1;
    memset(lens->off_x, 0, sizeof lens->off_x);
    memset(lens->off_y, 0, sizeof lens->off_y);
    for (unsigned round = 0; round < ROUNDS; round++) {
        *equations = (struct equations){.own = lens->bands > 0 ? OWN : OWN_BANDS};
        equations->unknowns = POWERS + lens->views * equations->own;
        for (size_t at = 0; next_cell(lens, &at, &seen);)
            add_cell(equations, &seen);
        eliminate(equations);
        left.squares = left.count = left.own = 0;
        memset(lens->line, 0, lines * sizeof *lens->line);
        for (size_t at = 0; next_cell(lens, &at, &seen);)
            add_to_left(&left, &seen, at);
        left.most = ODD * ODD * left.squares / fmax(left.count, 1) + 1e-9;
        if (round + 1 == ROUNDS)
            break;
        for (size_t at = 0; next_cell(lens, &at, &seen);)
            trust_less(&left, &seen, at);
        correct_shifts(lens);
    }
    if (has_slow_bands(lens))
        return;
    for (unsigned i = 0; i < POWERS; i++) {
        for (unsigned k = 0; k < POWERS; k++)
            lens->product[i][k] += equations->product[i][k];
        lens->target[i] += equations->target[i];
    }
    lens->squares += left.squares * likeness(&left);
    lens->count += left.count;
}

void lens_end(struct lens *lens)
{
    if (lens->views > 1)
        solve_scene(lens);
    lens->views = 0;
}

/* ---- the gain ---- */

/* The powers of the radius whose sum is nearest to the logarithm of the light that a gain of
 * 1 + a r^2 + b r^4 makes up for, over the area of the picture. */
static void powers_of(double a, double b, double ret[POWERS])
{
    double m[POWERS + 1][POWERS] = {{0}};
    for (unsigned ring = 1; ring <= RINGS; ring++) {
        const double r = (double)ring / RINGS, r2 = r * r;
        const double wanted = -log(fmax(1 + a * r2 + b * r2 * r2, 0.1));
        const double power[POWERS] = {r2, r2 * r2, r2 * r2 * r2};
        for (unsigned i = 0; i < POWERS; i++) {
            for (unsigned k = 0; k <= i; k++)
                m[i][k] += r * power[i] * power[k];
            m[POWERS][i] += r * power[i] * wanted;
        }
    }
    normal_solve(m[0], POWERS, POWERS, ret);
}

/* The product of two sums of powers, as the levels see them. */
static double product_of(const struct lens *lens, const double a[POWERS], const double b[POWERS])
{
    double sum = 0;
    for (unsigned i = 0; i < POWERS; i++)
        for (unsigned k = 0; k < POWERS; k++)
            sum += a[i] * b[k] * lens->product[i][k];
    return sum;
}

/* The sum of squares that a gain leaves of all levels, but for a constant. */
static double left_by(const struct lens *lens, double a, double b)
{
    double power[POWERS];
    powers_of(a, b, power);
    double left = product_of(lens, power, power);
    for (unsigned i = 0; i < POWERS; i++)
        left -= 2 * power[i] * lens->target[i];
    return left;
}

/* Returns the standard error of the light of the corners. */
static double error_of(const struct lens *lens, double a, double b)
{
    const double step = 1e-3, corner = 1 / (1 + a + b);
    double own[POWERS], by_a[POWERS], by_b[POWERS];
    powers_of(a, b, own);
    powers_of(a + step, b, by_a);
    powers_of(a, b + step, by_b);
    for (unsigned i = 0; i < POWERS; i++) {
        by_a[i] = (by_a[i] - own[i]) / step;
        by_b[i] = (by_b[i] - own[i]) / step;
    }
    const double aa = product_of(lens, by_a, by_a), ab = product_of(lens, by_a, by_b);
    const double bb = product_of(lens, by_b, by_b), determinant = aa * bb - ab * ab;
    /* The variance of a + b, by the inverse of the 2 x 2 matrix. */
    return determinant > 0 && lens->count > 0
               ? corner * corner *
                     sqrt(lens->squares / lens->count * (aa + bb - 2 * ab) / determinant)
               : INFINITY;
}

bool lens_solve(const struct lens *lens, struct shading_gain *ret)
{
    static const double steps[] = {0.2, 0.08, 0.032, 0.0128, 0.005};
    double best = INFINITY, a = 2, b = 0;
    for (unsigned n = 0; n < sizeof steps / sizeof steps[0]; n++) {
        const double from_a = a, from_b = b, step = steps[n];
        const int reach = n > 0 ? 6 : 20;
        for (int i = -reach; i <= reach; i++)
            for (int k = -reach; k <= reach; k++) {
                const double at_a = from_a + i * step, at_b = from_b + k * step;
                /* No lens is darker in the middle than around it. */
                if (at_a < 0 || at_a + 2 * at_b < 0)
                    continue;
                const double left = left_by(lens, at_a, at_b);
                if (left < best) {
                    best = left;
                    a = at_a;
                    b = at_b;
                }
            }
    }
    const double error = error_of(lens, a, b);
    if (!(error < MOST_ERROR))
        return false;
    *ret = (struct shading_gain){.a = a,
                                 .b = b,
                                 .corner = 1 / (1 + a + b),
                                 .agreement = 1,
                                 .error = error,
                                 .is_measured = true};
    return true;
}
