#include "estimators/motion/motion_agreement.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/order.h"

/* Where a comment gives no other reason, a threshold was chosen on the pairs of
 * tests/unit/motion_pairs.c. */
#define TOLERANCE   0.1 /* pixels by which a cell may differ */
#define MISFIT      0.1 /* weight of what no shift of a cell explains */
#define TELLING     0.2 /* pixels; a cell whose shift is that uncertain counts half */
/* Squared offsets of cells, and squared gradients in any direction, as multiples of what noise
 * alone causes. */
#define MAX_OFFSETS 2.0
#define MIN_SEEN    0.3

/* Removes from the sums of a cell what offset and contrast explain. */
static void project(struct cell *cell)
{
    double *sum = cell->sum;
    memcpy(cell->raw, sum, sizeof cell->raw);
    static const struct {
        enum sum square, a, b;
    } of_mean[] = {{XX, X, X}, {XY, X, Y}, {YY, Y, Y}, {XS, X, S}, {YS, Y, S},
                   {SS, S, S}, {XR, X, R}, {YR, Y, R}, {SR, S, R}, {RR, R, R}},
      of_contrast[] = {{XX, XS, XS}, {XY, XS, YS}, {YY, YS, YS},
                       {XR, XS, SR}, {YR, YS, SR}, {RR, SR, SR}};
    for (unsigned i = 0; i < sizeof of_mean / sizeof *of_mean; i++)
        sum[of_mean[i].square] -= sum[of_mean[i].a] * sum[of_mean[i].b] / cell->pixels;
    if (sum[SS] > 1e-6 * cell->pixels && fabs(sum[SR]) < CELLS_MAX_CONTRAST * sum[SS])
        for (unsigned i = 0; i < sizeof of_contrast / sizeof *of_contrast; i++)
            sum[of_contrast[i].square] -= sum[of_contrast[i].a] * sum[of_contrast[i].b] / sum[SS];
}

/* Solves a cell for its shift, which is 0 in a direction without gradient. */
static void solve(struct cell *cell, double noise)
{
    const double *sum = cell->sum;
    const double share = 0.5 * (sum[XX] + sum[YY]);
    const double least = fmax(1e-3 * share, 0.02 * noise * cell->pixels) + 1e-9;
    const double determinant = (sum[XX] + least) * (sum[YY] + least) - sum[XY] * sum[XY];
    cell->shift[0] = -((sum[YY] + least) * sum[XR] - sum[XY] * sum[YR]) / determinant;
    cell->shift[1] = -((sum[XX] + least) * sum[YR] - sum[XY] * sum[XR]) / determinant;
    cell->rest = fmax(sum[RR] + cell->shift[0] * sum[XR] + cell->shift[1] * sum[YR], 0);
}

/* Returns the variance of the noise, estimated from the cells with the least difference. */
static double find_noise(struct cells *cells)
{
    double rest[CELLS_MAX_COLUMNS * CELLS_MAX_ROWS] = {0};
    for (unsigned c = 0; c < cells->count; c++)
        rest[c] = cells->cell[c].rest / cells->cell[c].pixels;
    qsort(rest, cells->count, sizeof *rest, order_doubles);
    return rest[cells->count / 4] / cells->kernel->noise + CELLS_ROUNDING;
}

/* Returns how badly a cell agrees with a shift: 0 is full agreement, and 1 is half. It adds the
 * squared distance from the cell's own shift, along its gradients, to what even its own shift does
 * not explain; both are relative to what is tolerated. */
static double far_from(const struct cells_kernel *kernel, const struct cell *cell,
                       const double step[2], double noise)
{
    const double x = step[0] - cell->shift[0], y = step[1] - cell->shift[1];
    const double trace = cell->xx + cell->yy;
    const double misfit = fmax(cell->rest - 1.5 * kernel->noise * noise * cell->pixels, 0);
    const double squares = cell->xx * x * x + 2 * cell->xy * x * y + cell->yy * y * y;
    return (squares + MISFIT * misfit) / (TOLERANCE * TOLERANCE * trace + 4 * noise);
}

static double weighted_median(const struct cells *cells, unsigned axis)
{
    double at[CELLS_MAX_COLUMNS * CELLS_MAX_ROWS][2], total = 0, sum = 0;
    for (unsigned c = 0; c < cells->count; c++) {
        const struct cell *cell = &cells->cell[c];
        at[c][0] = cell->shift[axis];
        total += at[c][1] =
            cell->telling * (axis == 0 ? cell->xx : cell->yy) / (cell->xx + cell->yy);
    }
    qsort(at, cells->count, sizeof *at, order_doubles);
    for (unsigned c = 0; c < cells->count; c++)
        if ((sum += at[c][1]) >= 0.5 * total)
            return at[c][0];
    return 0;
}

/* Returns what noise adds to the squares of a cell's gradient. */
static double taken_by(const struct cells_kernel *kernel, const struct cell *cell, double noise)
{
    return kernel->gradient * kernel->noise * noise * cell->pixels;
}

/* Weighted sums over cells of the squares of their gradients. */
struct squares {
    double xx, xy, yy;
};

static double weight_of(const struct cells *cells, const struct cell *cell, double noise)
{
    const double error2 = cells->kernel->error * cells->kernel->error;
    return cell->weight / (noise + error2 * (cell->xx + cell->yy));
}

/* Solves the sums for the shift; returns false if they do not determine it in one direction. */
static bool solve_sums(const struct squares *sum, double x, double y, double ret[2])
{
    const double determinant = sum->xx * sum->yy - sum->xy * sum->xy;
    if (!(determinant > 1e-6 * sum->xx * sum->yy))
        return false;
    ret[0] = (sum->yy * x - sum->xy * y) / determinant;
    ret[1] = (sum->xx * y - sum->xy * x) / determinant;
    return true;
}

/* A smooth cell cannot tell a shift from an offset. If the cells need no offsets of their own, the
 * shift that fits all of them together is better. */
static bool share_offset(const struct cells *cells, const double step[2], double noise,
                         double ret[2])
{
    struct squares sum = {0, 0, 0};
    double x = 0, y = 0, offsets = 0, weights = 0;
    for (unsigned c = 0; c < cells->count; c++) {
        const struct cell *cell = &cells->cell[c];
        const double *raw = cell->raw;
        const double taken = taken_by(cells->kernel, cell, noise);
        const double w = weight_of(cells, cell, noise);
        const double offset = raw[R] + step[0] * raw[X] + step[1] * raw[Y];
        sum.xx += w * fmax(raw[XX] - taken, 0);
        sum.xy += w * raw[XY];
        sum.yy += w * fmax(raw[YY] - taken, 0);
        x -= w * raw[XR];
        y -= w * raw[YR];
        offsets += cell->weight * offset * offset / (2 * noise * cell->pixels);
        weights += cell->weight;
    }
    return !(offsets > MAX_OFFSETS * weights) && solve_sums(&sum, x, y, ret);
}

/* Solves the cells without the share of the noise in their gradients; returns the sum of their
 * `telling`. */
static double solve_cells(struct cells *cells, double noise)
{
    double total = 0;
    for (unsigned c = 0; c < cells->count; c++) {
        struct cell *cell = &cells->cell[c];
        const double taken = taken_by(cells->kernel, cell, noise);
        cell->xx = fmax(cell->sum[XX] - taken, 0) + 1e-9;
        cell->yy = fmax(cell->sum[YY] - taken, 0) + 1e-9;
        cell->xy = cell->sum[XY];
        solve(cell, noise);
        cell->telling = 1 / (1 + noise / (TELLING * TELLING * (cell->xx + cell->yy)));
        total += cell->telling;
    }
    return total;
}

/* Finds the shift of all cells, starting from their median. Cells that are far from it count less
 * in the next pass. */
static bool find_step(struct cells *cells, double noise, double step[2], struct squares *sum)
{
    for (unsigned axis = 0; axis < 2; axis++)
        step[axis] = weighted_median(cells, axis);
    for (unsigned pass = 0; pass < 10; pass++) {
        double x = 0, y = 0;
        *sum = (struct squares){0, 0, 0};
        for (unsigned c = 0; c < cells->count; c++) {
            struct cell *cell = &cells->cell[c];
            const double far = far_from(cells->kernel, cell, step, noise);
            cell->weight = 1 / (1 + far) / (1 + far);
            const double w = weight_of(cells, cell, noise);
            sum->xx += w * cell->xx;
            sum->xy += w * cell->xy;
            sum->yy += w * cell->yy;
            x += w * (cell->xx * cell->shift[0] + cell->xy * cell->shift[1]);
            y += w * (cell->xy * cell->shift[0] + cell->yy * cell->shift[1]);
        }
        if (!solve_sums(sum, x, y, step))
            return false;
    }
    return true;
}

/* Returns whether there is a gradient in every direction. In one along which nothing changes, the
 * gradient is that of the noise. */
static bool is_seen(const struct cells *cells, double noise)
{
    struct squares seen = {0, 0, 0};
    double seen_noise = 0;
    for (unsigned c = 0; c < cells->count; c++) {
        const struct cell *cell = &cells->cell[c];
        const double w = weight_of(cells, cell, noise);
        const double taken = taken_by(cells->kernel, cell, noise);
        seen.xx += w * (cell->sum[XX] - taken);
        seen.xy += w * cell->sum[XY];
        seen.yy += w * (cell->sum[YY] - taken);
        seen_noise += w * taken;
    }
    const double least = 0.5 * (seen.xx + seen.yy) - hypot(0.5 * (seen.xx - seen.yy), seen.xy);
    return least >= MIN_SEEN * seen_noise;
}

/* Returns the standard deviation of a step, estimated from the scatter of the cells. `sum` is what
 * find_step() returned. */
static double find_deviation(const struct cells *cells, double noise, const double step[2],
                             const struct squares *sum)
{
    struct squares spread = {0, 0, 0};
    for (unsigned c = 0; c < cells->count; c++) {
        const struct cell *cell = &cells->cell[c];
        const double w = weight_of(cells, cell, noise);
        const double dx = cell->shift[0] - step[0], dy = cell->shift[1] - step[1];
        const double x = w * (cell->xx * dx + cell->xy * dy);
        const double y = w * (cell->xy * dx + cell->yy * dy);
        spread.xx += x * x;
        spread.xy += x * y;
        spread.yy += y * y;
    }
    const double determinant = sum->xx * sum->yy - sum->xy * sum->xy;
    const double inverse[3] = {sum->yy / determinant, -sum->xy / determinant,
                               sum->xx / determinant};
    double variance = 0;
    for (unsigned i = 0; i < 2; i++)
        variance += inverse[i] * inverse[i] * spread.xx +
                    2 * inverse[i] * inverse[i + 1] * spread.xy +
                    inverse[i + 1] * inverse[i + 1] * spread.yy;
    return sqrt(variance);
}

bool cells_agree(struct cells *cells, double step[2], struct cells_shift *shift)
{
    for (unsigned c = 0; c < cells->count; c++) {
        project(&cells->cell[c]);
        solve(&cells->cell[c], 0);
    }
    const double noise = shift->noise = fmin(shift->noise, find_noise(cells));
    const double total = solve_cells(cells, noise);
    struct squares sum;
    if (!find_step(cells, noise, step, &sum))
        return false;
    shift->agreed = 0;
    for (unsigned c = 0; c < cells->count; c++) {
        const double far = far_from(cells->kernel, &cells->cell[c], step, noise);
        shift->agreed += cells->cell[c].telling / (1 + far * far);
    }
    if (!is_seen(cells, noise))
        return false;
    shift->deviation = find_deviation(cells, noise, step, &sum);
    shift->agreement = total > 0 ? shift->agreed / total : 0;
    double raw_step[2];
    if (share_offset(cells, step, noise, raw_step))
        memcpy(step, raw_step, sizeof raw_step);
    return true;
}
