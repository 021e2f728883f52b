#include "estimators/motion/motion_cells.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "estimators/motion/motion_agreement.h"

/* Where a comment gives no other reason, a threshold was chosen on the pairs of
 * tests/unit/motion_pairs.c. */
#define LANES         8u  /* numbers that are added up side by side */
#define COLUMNS       16u /* about this many columns of cells: LANES divides their width */
#define MIN_CELL      16u /* pixels */
#define MAX_ROW       (CELLS_MAX_WIDTH + 2 * CELLS_SPARE)
#define MAX_STEP      2.0  /* pixels that a shift may be improved by */
#define SETTLED       0.01 /* pixels; a smaller step is the last one */

#define KERNEL_RADIUS 4u /* pixels */
#define KERNEL_TAPS   (2 * KERNEL_RADIUS + 1)

/* White noise leaves 0.094 and 0.122 of its variance in the squares of a gradient, according to the
 * taps. `gradient` is 1.39 times that: with the exact values, 4 of 417 pairs that no shift explains
 * seemed sure, and with these none. */
static const struct cells_kernel KERNEL_SMOOTH = {0, 0.85, 0.220, 0.130, 0.004};
static const struct cells_kernel KERNEL_FINE = {0.3, 1.4, 0.461, 0.169, 0.0015};

struct cells_work {
    float vertical[2][MAX_ROW]; /* a row of each picture, smoothed along y */
    float mean[3][MAX_ROW];     /* the last three rows of the mean of both pictures */
    float difference[3][MAX_ROW];
    struct cells cells;
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
static void kernel_make(const struct cells_kernel *kernel, double at, float ret[KERNEL_TAPS])
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
static bool overlap_axis(const struct cells_kernel *kernel, unsigned size, double shift,
                         unsigned at[2], unsigned *length, float ret[2][KERNEL_TAPS])
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

static bool find_overlap(const struct cells_kernel *kernel, const struct cells_pictures *pictures,
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
    ret->cell_height = height / CELLS_MAX_ROWS;
    if (ret->cell_height < MIN_CELL)
        ret->cell_height = MIN_CELL;
    ret->columns = width / ret->cell_width;
    ret->rows = height / ret->cell_height;
    if (ret->columns > CELLS_MAX_COLUMNS)
        ret->columns = CELLS_MAX_COLUMNS;
    if (ret->rows > CELLS_MAX_ROWS)
        ret->rows = CELLS_MAX_ROWS;
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
    float contrast = sum_of(sr) / (sum_of(ss) + (float)CELLS_ROUNDING * (float)end);
    contrast = fminf(fmaxf(contrast, -(float)CELLS_MAX_CONTRAST), (float)CELLS_MAX_CONTRAST);
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
    work->cells.count = o->columns * o->rows;
    memset(work->cells.cell, 0, sizeof work->cells.cell);
    for (unsigned y = 0; y < rows; y++) {
        float *mean = work->mean[y % 3], *difference = work->difference[y % 3];
        for (unsigned i = 0; i < 2; i++)
            smooth_down(work->vertical[i], from[i] + (size_t)y * p->width, p->width, o->width,
                        o->kernel_y[i]);
        smooth_along(mean, difference, work->vertical, width, o->kernel_x);
        level_row(mean, difference, width, p->is_even);
        for (unsigned c = 0; y >= 2 && c < o->columns; c++)
            add_row(&work->cells.cell[(y - 2) / o->cell_height * o->columns + c], work, y - 1,
                    1 + (size_t)c * o->cell_width, o->cell_width);
    }
}

bool cells_refine(struct cells_work *work, const struct cells_pictures *pictures, unsigned passes,
                  struct cells_shift *shift)
{
    struct cells_shift found = *shift;
    work->cells.kernel = pictures->is_fine ? &KERNEL_FINE : &KERNEL_SMOOTH;
    for (unsigned pass = 0; pass < passes; pass++) {
        struct overlap overlap;
        double step[2];
        if (!find_overlap(work->cells.kernel, pictures, &found, &overlap))
            return false;
        add_up(work, pictures, &overlap);
        if (!cells_agree(&work->cells, step, &found))
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
