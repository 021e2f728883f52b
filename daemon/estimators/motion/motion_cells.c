#include "estimators/motion/motion_cells.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/order.h"

/* Where a comment gives no other reason, a threshold was chosen on the pairs of
 * tests/unit/motion_pairs.c. */
#define LANES         8u  /* numbers that are added up side by side */
#define COLUMNS       16u /* about this many columns of cells: LANES divides their width */
#define MAX_COLUMNS   23u /* with cells of 2 LANES, in less than 3 LANES * COLUMNS pixels */
#define MAX_CELL_ROWS 12u
#define MIN_CELL      16u /* pixels */
#define MAX_ROW       (CELLS_MAX_WIDTH + 2 * CELLS_SPARE)
#define TOLERANCE     0.1 /* pixels by which a cell may differ */
#define MISFIT        0.1 /* weight of what no shift of a cell explains */
#define TELLING       0.2 /* pixels: a cell that can tell as little counts half */
#define MAX_CONTRAST  0.7 /* change of contrast, as a share of the mean one: 0.48 to 2.1 times */
/* Squares of the offsets of cells, and of the gradient in any direction, as multiples of those that
 * noise makes. */
#define MAX_OFFSETS   2.0
#define MIN_SEEN      0.3
#define MAX_STEP      2.0  /* pixels that a shift may be improved by */
#define SETTLED       0.01 /* pixels; a smaller step is the last one */
#define ROUNDING      0.05 /* variance of noise that is always there, by rounding to 8 bits */

#define KERNEL_RADIUS 4u /* pixels */
#define KERNEL_TAPS   (2 * KERNEL_RADIUS + 1)

/* A sinc windowed by a Gaussian. Fine details determine a shift best, so a kernel should keep them.
 * When a kernel is moved by a fraction of a pixel, the part of its response beyond half a cycle per
 * pixel causes an error. This error is smaller than that of a plain Gaussian which keeps the same
 * details. */
struct kernel {
    double cut_off;   /* cycles/pixel, where the response is a half; 0: a Gaussian alone */
    double smoothing; /* standard deviation of the Gaussian, in pixels */
    double noise;     /* variance of the difference of two smoothed pictures with noise of 1 */
    double gradient;  /* what is taken for noise in the squares of a gradient, as a share of that */
    double error;     /* pixels; limits the weight of a cell with much contrast */
};

/* White noise leaves 0.094 and 0.122 of its variance in the squares of a gradient, according to the
 * taps. `gradient` is 1.39 times that: with the exact values, 4 of 417 pairs that no shift explains
 * seemed sure, and with these none. */
static const struct kernel KERNEL_SMOOTH = {0, 0.85, 0.220, 0.130, 0.004};
static const struct kernel KERNEL_FINE = {0.3, 1.4, 0.461, 0.169, 0.0015};

enum sum { XX, XY, YY, XS, YS, SS, XR, YR, SR, RR, X, Y, S, R, SUMS };

struct cell {
    double sum[SUMS];
    unsigned pixels;
    double raw[SUMS];  /* the sums before offset and contrast were taken out */
    double xx, xy, yy; /* squares of the gradient without those of the noise */
    double shift[2];   /* that is left */
    double rest;       /* squares of the difference that it leaves */
    double telling;    /* 0 .. 1 */
    double weight;
};

struct cells_work {
    const struct kernel *kernel;
    float vertical[2][MAX_ROW]; /* a row of each picture, smoothed along y */
    float mean[3][MAX_ROW];     /* the last three rows of the mean of both pictures */
    float difference[3][MAX_ROW];
    struct cell cell[MAX_COLUMNS * MAX_CELL_ROWS];
};

/* The part of both pictures that shows the same. */
struct overlap {
    unsigned x[2], y[2]; /* where it begins in each picture */
    unsigned width, height;
    float kernel_x[2][KERNEL_TAPS], kernel_y[2][KERNEL_TAPS];
    unsigned columns, rows, cell_width, cell_height;
};

struct cells_work *cells_create(void)
{
    return calloc(1, sizeof(struct cells_work));
}

void cells_destroy(struct cells_work *work)
{
    free(work);
}

/* Fills the taps of a kernel that is centred `at` pixels from the middle tap. */
static void kernel_make(const struct kernel *kernel, double at, float ret[KERNEL_TAPS])
{
    double value[KERNEL_TAPS], sum = 0;
    for (unsigned i = 0; i < KERNEL_TAPS; i++) {
        const double from = (double)i - KERNEL_RADIUS - at,
                     turn = 2 * M_PI * kernel->cut_off * from;
        const double wave = fabs(turn) < 1e-6 ? 1 : sin(turn) / turn;
        sum += value[i] = wave * exp(-0.5 * from * from / (kernel->smoothing * kernel->smoothing));
    }
    for (unsigned i = 0; i < KERNEL_TAPS; i++)
        ret[i] = (float)(value[i] / sum);
}

/* One axis of the overlap; false: it is too short. */
static bool overlap_axis(const struct kernel *kernel, unsigned size, double shift, unsigned at[2],
                         unsigned *length, float ret[2][KERNEL_TAPS])
{
    const double whole = round(shift);
    if (!(fabs(whole) + 2 * KERNEL_RADIUS + 2 + MIN_CELL <= size))
        return false;
    const unsigned apart = (unsigned)fabs(whole);
    at[0] = whole < 0 ? apart : 0;
    at[1] = whole > 0 ? apart : 0;
    *length = size - apart;
    kernel_make(kernel, -(shift - whole) / 2, ret[0]);
    kernel_make(kernel, (shift - whole) / 2, ret[1]);
    return true;
}

static bool find_overlap(const struct kernel *kernel, const struct cells_pictures *pictures,
                         const struct cells_shift *shift, struct overlap *ret)
{
    unsigned width, height;
    if (!overlap_axis(kernel, pictures->width, shift->dx, ret->x, &width, ret->kernel_x) ||
        !overlap_axis(kernel, pictures->height, shift->dy, ret->y, &height, ret->kernel_y))
        return false;
    ret->width = width;
    ret->height = height;
    width -= 2 * KERNEL_RADIUS + 2; /* a pixel at each edge has no gradient */
    height -= 2 * KERNEL_RADIUS + 2;
    ret->cell_width = width / COLUMNS / LANES * LANES;
    if (ret->cell_width < MIN_CELL)
        ret->cell_width = MIN_CELL;
    ret->cell_height = height / MAX_CELL_ROWS;
    if (ret->cell_height < MIN_CELL)
        ret->cell_height = MIN_CELL;
    ret->columns = width / ret->cell_width;
    ret->rows = height / ret->cell_height;
    if (ret->columns > MAX_COLUMNS)
        ret->columns = MAX_COLUMNS;
    if (ret->rows > MAX_CELL_ROWS)
        ret->rows = MAX_CELL_ROWS;
    return true;
}

/* Loops over LANES numbers are those that compilers turn into vector instructions. */
static void smooth_down(float *restrict to, const float *from, unsigned stride, unsigned width,
                        const float kernel[KERNEL_TAPS])
{
    for (unsigned x = 0; x < width; x += LANES) {
        float sum[LANES] = {0};
        for (unsigned t = 0; t < KERNEL_TAPS; t++) {
            const float *restrict row = from + (size_t)t * stride + x;
            for (unsigned l = 0; l < LANES; l++)
                sum[l] += kernel[t] * row[l];
        }
        memcpy(to + x, sum, sizeof sum);
    }
}

/* Smooths a row of each picture along x; makes their mean and their difference. */
static void smooth_along(float *restrict mean, float *restrict difference,
                         float vertical[2][MAX_ROW], unsigned width, float kernel[2][KERNEL_TAPS])
{
    for (unsigned x = 0; x < width; x += LANES) {
        float sum[2][LANES] = {{0}};
        for (unsigned i = 0; i < 2; i++)
            for (unsigned t = 0; t < KERNEL_TAPS; t++) {
                const float *restrict row = vertical[i] + x + t;
                const float tap = kernel[i][t];
                for (unsigned l = 0; l < LANES; l++)
                    sum[i][l] += tap * row[l];
            }
        for (unsigned l = 0; l < LANES; l++) {
            mean[x + l] = 0.5F * (sum[0][l] + sum[1][l]);
            difference[x + l] = sum[1][l] - sum[0][l];
        }
    }
}

static float sum_of(const float lane[LANES])
{
    float sum = 0;
    for (unsigned l = 0; l < LANES; l++)
        sum += lane[l];
    return sum;
}

/* Takes their means from a row, and from the difference what the contrast of the row explains,
 * unless rows are even. */
static void level_row(float *restrict mean, float *restrict difference, unsigned width,
                      bool is_even)
{
    float s[LANES] = {0}, r[LANES] = {0}, ss[LANES] = {0}, sr[LANES] = {0};
    const unsigned end = width / LANES * LANES;
    for (unsigned x = 0; x < end; x += LANES)
        for (unsigned l = 0; l < LANES; l++) {
            s[l] += mean[x + l];
            r[l] += difference[x + l];
        }
    const float s_mean = sum_of(s) / (float)end, r_mean = sum_of(r) / (float)end;
    for (unsigned x = 0; x < width; x += LANES)
        for (unsigned l = 0; l < LANES; l++) {
            mean[x + l] -= s_mean;
            difference[x + l] -= r_mean;
        }
    if (is_even)
        return;
    for (unsigned x = 0; x < end; x += LANES)
        for (unsigned l = 0; l < LANES; l++) {
            ss[l] += mean[x + l] * mean[x + l];
            sr[l] += mean[x + l] * difference[x + l];
        }
    float contrast = sum_of(sr) / (sum_of(ss) + (float)ROUNDING * (float)end);
    contrast = fminf(fmaxf(contrast, -(float)MAX_CONTRAST), (float)MAX_CONTRAST);
    for (unsigned x = 0; x < width; x += LANES)
        for (unsigned l = 0; l < LANES; l++)
            difference[x + l] -= contrast * mean[x + l];
}

/* Adds row y of the pictures to the sums of a cell that begins at column `at`. */
static void add_row(struct cell *cell, const struct cells_work *work, unsigned y, size_t at,
                    unsigned width)
{
    float sum[SUMS][LANES] = {{0}};
    for (unsigned x = 0; x < width; x += LANES) {
        const float *above = &work->mean[(y - 1) % 3][at + x], *row = &work->mean[y % 3][at + x];
        const float *below = &work->mean[(y + 1) % 3][at + x];
        const float *rest = &work->difference[y % 3][at + x];
        for (unsigned l = 0; l < LANES; l++) {
            const float gx = 0.5F * (row[l + 1] - row[(int)l - 1]);
            const float gy = 0.5F * (below[l] - above[l]);
            const float s = row[l], r = rest[l];
            sum[XX][l] += gx * gx;
            sum[XY][l] += gx * gy;
            sum[YY][l] += gy * gy;
            sum[XS][l] += gx * s;
            sum[YS][l] += gy * s;
            sum[SS][l] += s * s;
            sum[XR][l] += gx * r;
            sum[YR][l] += gy * r;
            sum[SR][l] += s * r;
            sum[RR][l] += r * r;
            sum[X][l] += gx;
            sum[Y][l] += gy;
            sum[S][l] += s;
            sum[R][l] += r;
        }
    }
    for (unsigned k = 0; k < SUMS; k++)
        cell->sum[k] += (double)sum_of(sum[k]);
    cell->pixels += width;
}

/* Rows are smoothed one after the other, and the last three are kept. */
static void add_up(struct cells_work *work, const struct cells_pictures *p, struct overlap *o)
{
    const float *from[2] = {p->last + (size_t)o->y[0] * p->width + o->x[0],
                            p->next + (size_t)o->y[1] * p->width + o->x[1]};
    const unsigned rows = o->rows * o->cell_height + 2, width = o->width - 2 * KERNEL_RADIUS;
    memset(work->cell, 0, sizeof work->cell);
    for (unsigned y = 0; y < rows; y++) {
        float *mean = work->mean[y % 3], *difference = work->difference[y % 3];
        for (unsigned i = 0; i < 2; i++)
            smooth_down(work->vertical[i], from[i] + (size_t)y * p->width, p->width, o->width,
                        o->kernel_y[i]);
        smooth_along(mean, difference, work->vertical, width, o->kernel_x);
        level_row(mean, difference, width, p->is_even);
        for (unsigned c = 0; y >= 2 && c < o->columns; c++)
            add_row(&work->cell[(y - 2) / o->cell_height * o->columns + c], work, y - 1,
                    1 + (size_t)c * o->cell_width, o->cell_width);
    }
}

/* Takes what offset and contrast explain out of the sums of a cell. */
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
    if (sum[SS] > 1e-6 * cell->pixels && fabs(sum[SR]) < MAX_CONTRAST * sum[SS])
        for (unsigned i = 0; i < sizeof of_contrast / sizeof *of_contrast; i++)
            sum[of_contrast[i].square] -= sum[of_contrast[i].a] * sum[of_contrast[i].b] / sum[SS];
}

/* Solves a cell; in a direction without gradient nothing is left. */
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

/* The variance of the noise, by the cells with the least difference. */
static double find_noise(struct cells_work *work, unsigned count)
{
    double rest[MAX_COLUMNS * MAX_CELL_ROWS] = {0};
    for (unsigned c = 0; c < count; c++)
        rest[c] = work->cell[c].rest / work->cell[c].pixels;
    qsort(rest, count, sizeof *rest, order_doubles);
    return rest[count / 4] / work->kernel->noise + ROUNDING;
}

/* Returns how badly a cell agrees with a shift: fully at 0, by half at 1. Adds up the squared
 * distance from the cell's own shift, along its gradients, and what even its own shift does not
 * explain; both are relative to what is tolerated. */
static double far_from(const struct kernel *kernel, const struct cell *cell, const double step[2],
                       double noise)
{
    const double x = step[0] - cell->shift[0], y = step[1] - cell->shift[1];
    const double trace = cell->xx + cell->yy;
    const double misfit = fmax(cell->rest - 1.5 * kernel->noise * noise * cell->pixels, 0);
    const double squares = cell->xx * x * x + 2 * cell->xy * x * y + cell->yy * y * y;
    return (squares + MISFIT * misfit) / (TOLERANCE * TOLERANCE * trace + 4 * noise);
}

static double weighted_median(const struct cells_work *work, unsigned count, unsigned axis)
{
    double at[MAX_COLUMNS * MAX_CELL_ROWS][2], total = 0, sum = 0;
    for (unsigned c = 0; c < count; c++) {
        const struct cell *cell = &work->cell[c];
        at[c][0] = cell->shift[axis];
        total += at[c][1] =
            cell->telling * (axis == 0 ? cell->xx : cell->yy) / (cell->xx + cell->yy);
    }
    qsort(at, count, sizeof *at, order_doubles);
    for (unsigned c = 0; c < count; c++)
        if ((sum += at[c][1]) >= 0.5 * total)
            return at[c][0];
    return 0;
}

/* Returns what noise adds to the squares of a cell's gradient. */
static double taken_by(const struct kernel *kernel, const struct cell *cell, double noise)
{
    return kernel->gradient * kernel->noise * noise * cell->pixels;
}

/* A smooth cell cannot tell a shift from an offset. If the cells need no offsets of their own, all
 * of them together know the shift better. */
static bool share_offset(const struct cells_work *work, unsigned count, const double step[2],
                         double noise, double ret[2])
{
    const double error2 = work->kernel->error * work->kernel->error;
    double xx = 0, xy = 0, yy = 0, x = 0, y = 0, offsets = 0, weights = 0;
    for (unsigned c = 0; c < count; c++) {
        const struct cell *cell = &work->cell[c];
        const double *raw = cell->raw;
        const double taken = taken_by(work->kernel, cell, noise);
        const double w = cell->weight / (noise + error2 * (cell->xx + cell->yy));
        const double offset = raw[R] + step[0] * raw[X] + step[1] * raw[Y];
        xx += w * fmax(raw[XX] - taken, 0);
        xy += w * raw[XY];
        yy += w * fmax(raw[YY] - taken, 0);
        x -= w * raw[XR];
        y -= w * raw[YR];
        offsets += cell->weight * offset * offset / (2 * noise * cell->pixels);
        weights += cell->weight;
    }
    const double determinant = xx * yy - xy * xy;
    if (!(determinant > 1e-6 * xx * yy) || offsets > MAX_OFFSETS * weights)
        return false;
    ret[0] = (yy * x - xy * y) / determinant;
    ret[1] = (xx * y - xy * x) / determinant;
    return true;
}

/* What the cells agree on; returns false if they do not see anything. */
static bool agree(struct cells_work *work, unsigned count, double step[2], struct cells_shift *ret)
{
    double total = 0;
    for (unsigned c = 0; c < count; c++) {
        struct cell *cell = &work->cell[c];
        project(cell);
        solve(cell, 0);
    }
    const double noise = ret->noise = fmin(ret->noise, find_noise(work, count));
    for (unsigned c = 0; c < count; c++) {
        struct cell *cell = &work->cell[c];
        const double taken = taken_by(work->kernel, cell, noise);
        cell->xx = fmax(cell->sum[XX] - taken, 0) + 1e-9;
        cell->yy = fmax(cell->sum[YY] - taken, 0) + 1e-9;
        cell->xy = cell->sum[XY];
        solve(cell, noise);
        cell->telling = 1 / (1 + noise / (TELLING * TELLING * (cell->xx + cell->yy)));
        total += cell->telling;
    }
    const double error2 = work->kernel->error * work->kernel->error;
    double xx = 0, xy = 0, yy = 0;
    for (unsigned axis = 0; axis < 2; axis++)
        step[axis] = weighted_median(work, count, axis);
    for (unsigned pass = 0; pass < 10; pass++) {
        double x = 0, y = 0;
        xx = xy = yy = 0;
        for (unsigned c = 0; c < count; c++) {
            struct cell *cell = &work->cell[c];
            const double trace = cell->xx + cell->yy;
            const double far = far_from(work->kernel, cell, step, noise);
            cell->weight = 1 / (1 + far) / (1 + far);
            const double w = cell->weight / (noise + error2 * trace);
            xx += w * cell->xx;
            xy += w * cell->xy;
            yy += w * cell->yy;
            x += w * (cell->xx * cell->shift[0] + cell->xy * cell->shift[1]);
            y += w * (cell->xy * cell->shift[0] + cell->yy * cell->shift[1]);
        }
        const double determinant = xx * yy - xy * xy;
        if (!(determinant > 1e-6 * xx * yy))
            return false;
        step[0] = (yy * x - xy * y) / determinant;
        step[1] = (xx * y - xy * x) / determinant;
    }
    /* In a direction in which nothing changes, the gradient is that of the noise. */
    double seen_xx = 0, seen_xy = 0, seen_yy = 0, seen_noise = 0;
    ret->agreed = 0;
    double spread_xx = 0, spread_xy = 0, spread_yy = 0;
    for (unsigned c = 0; c < count; c++) {
        const struct cell *cell = &work->cell[c];
        const double trace = cell->xx + cell->yy;
        const double far = far_from(work->kernel, cell, step, noise);
        ret->agreed += cell->telling / (1 + far * far);
        const double w = cell->weight / (noise + error2 * trace);
        const double dx = cell->shift[0] - step[0], dy = cell->shift[1] - step[1];
        const double taken = taken_by(work->kernel, cell, noise);
        seen_xx += w * (cell->sum[XX] - taken);
        seen_xy += w * cell->sum[XY];
        seen_yy += w * (cell->sum[YY] - taken);
        seen_noise += w * taken;
        const double x = w * (cell->xx * dx + cell->xy * dy);
        const double y = w * (cell->xy * dx + cell->yy * dy);
        spread_xx += x * x;
        spread_xy += x * y;
        spread_yy += y * y;
    }
    const double least = 0.5 * (seen_xx + seen_yy) - hypot(0.5 * (seen_xx - seen_yy), seen_xy);
    if (least < MIN_SEEN * seen_noise)
        return false;
    /* The variance of what minimises a sum, by the scatter of its parts. */
    const double determinant = xx * yy - xy * xy;
    const double inverse[3] = {yy / determinant, -xy / determinant, xx / determinant};
    double variance = 0;
    for (unsigned i = 0; i < 2; i++)
        variance += inverse[i] * inverse[i] * spread_xx +
                    2 * inverse[i] * inverse[i + 1] * spread_xy +
                    inverse[i + 1] * inverse[i + 1] * spread_yy;
    double raw_step[2];
    if (share_offset(work, count, step, noise, raw_step))
        memcpy(step, raw_step, sizeof raw_step);
    ret->deviation = sqrt(variance);
    ret->agreement = total > 0 ? ret->agreed / total : 0;
    return true;
}

bool cells_refine(struct cells_work *work, const struct cells_pictures *pictures, unsigned passes,
                  struct cells_shift *shift)
{
    struct cells_shift found = *shift;
    work->kernel = pictures->is_fine ? &KERNEL_FINE : &KERNEL_SMOOTH;
    for (unsigned pass = 0; pass < passes; pass++) {
        struct overlap overlap;
        double step[2];
        if (!find_overlap(work->kernel, pictures, &found, &overlap))
            return false;
        add_up(work, pictures, &overlap);
        if (!agree(work, overlap.columns * overlap.rows, step, &found))
            return false;
        found.dx += step[0];
        found.dy += step[1];
        if (hypot(found.dx - shift->dx, found.dy - shift->dy) > MAX_STEP)
            return false;
        if (hypot(step[0], step[1]) < SETTLED)
            break;
    }
    *shift = found;
    return true;
}
