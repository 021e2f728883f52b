#include "estimators/motion/motion_refine.h"

#include <math.h>

#include "core/normal.h"

#define NUMBERS 5 /* dx, dy, angle, logarithm of the zoom, difference of brightness */
#define MARGIN  2 /* pixels: nearer to an edge, pictures are made of repeated samples */

struct sums {
    double product[NUMBERS + 1][NUMBERS]; /* core/normal.h */
    double both, first, second;           /* products of gradients */
};

static bool is_seen(const struct motion_pair *pair, unsigned x, unsigned y)
{
    const double *m = pair->map;
    const double u = m[0] * x + m[1] * y + m[2], v = m[3] * x + m[4] * y + m[5];
    return x >= MARGIN && y >= MARGIN && x + MARGIN < pair->width && y + MARGIN < pair->height &&
           u >= MARGIN && v >= MARGIN && u <= pair->width - 1 - MARGIN &&
           v <= pair->height - 1 - MARGIN;
}

static void add_pixel(const struct motion_pair *pair, unsigned x, unsigned y, struct sums *sums)
{
    const float *a = pair->reference + y * pair->width + x, *b = pair->moved + y * pair->width + x;
    const int row = (int)pair->width;
    const double ax = 0.5 * (double)(a[1] - a[-1]), ay = 0.5 * (double)(a[row] - a[-row]);
    const double bx = 0.5 * (double)(b[1] - b[-1]), by = 0.5 * (double)(b[row] - b[-row]);
    const double gx = 0.5 * (ax + bx), gy = 0.5 * (ay + by), left = (double)(*a - *b);
    const double u = x + 0.5 - pair->middle[0], v = y + 0.5 - pair->middle[1];
    const double slope[NUMBERS] = {gx, gy, u * gy - v * gx, u * gx + v * gy, 1};
    for (unsigned i = 0; i < NUMBERS; i++) {
        for (unsigned k = 0; k <= i; k++)
            sums->product[i][k] += slope[i] * slope[k];
        sums->product[NUMBERS][i] += slope[i] * left;
    }
    sums->both += ax * bx + ay * by;
    sums->first += ax * ax + ay * ay;
    sums->second += bx * bx + by * by;
}

/* Returns the correlation of the gradients of both pictures; 0 if there are none. */
static double correlation(const struct sums *sums)
{
    const double most = sqrt(sums->first * sums->second);
    return most > 0 ? sums->both / most : 0;
}

static void add_cell(const struct motion_pair *pair, unsigned left, unsigned above,
                     bool is_left_out, struct sums *all)
{
    struct sums cell = {.both = 0};
    for (unsigned y = above; y < above + pair->cell && y < pair->height; y++)
        for (unsigned x = left; x < left + pair->cell && x < pair->width; x++)
            if (is_seen(pair, x, y))
                add_pixel(pair, x, y, &cell);
    all->both += cell.both;
    all->first += cell.first;
    all->second += cell.second;
    const double alike = fmax(correlation(&cell), 0), weight = is_left_out ? 0 : alike * alike;
    for (unsigned i = 0; i < NUMBERS; i++) {
        for (unsigned k = 0; k <= i; k++)
            all->product[i][k] += weight * cell.product[i][k];
        all->product[NUMBERS][i] += weight * cell.product[NUMBERS][i];
    }
}

/* Returns false if the equations leave a number open. */
static bool solve(struct sums *sums, double ret[NUMBERS])
{
    bool is_solved = true;
    normal_solve(sums->product[0], NUMBERS, NUMBERS, ret);
    for (unsigned i = 0; i < NUMBERS; i++)
        is_solved &= sums->product[i][i] > 0;
    return is_solved;
}

double motion_refine(const struct motion_pair *pair, struct similarity *ret)
{
    struct sums sums = {.both = 0};
    double found[NUMBERS];
    const bool *is_left_out = pair->is_left_out;
    *ret = (struct similarity){.dx = 0};
    for (unsigned above = 0; above < pair->height; above += pair->cell)
        for (unsigned left = 0; left < pair->width; left += pair->cell)
            add_cell(pair, left, above, *is_left_out++, &sums);
    const double alike = correlation(&sums);
    if (solve(&sums, found))
        *ret = (struct similarity){
            .dx = found[0], .dy = found[1], .angle_rad = found[2], .log_zoom = found[3]};
    return alike;
}
