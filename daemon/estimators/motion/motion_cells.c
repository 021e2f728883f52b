#include "estimators/motion/motion_cells.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/vectors.h"
#include "estimators/motion/motion_agreement.h"

/* Where a comment gives no other reason, a threshold was chosen on the pairs of
 * tests/unit/motion_pairs.c. */
#define COLUMNS       16u /* about this many columns of cells, whose width FLOATS divides */
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
    float sum[CELLS_MAX_COLUMNS][SUMS][FLOATS]; /* sums of the present row of cells */
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
    ret->cell_width = width / COLUMNS / FLOATS * FLOATS;
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

static ALWAYS_INLINE void smooth_down(float *to, const float *from, unsigned stride, unsigned width,
                                      const float kernel[KERNEL_TAPS])
{
    for (unsigned x = 0; x < width; x += FLOATS) {
        floats sum = {0};
        for (unsigned t = 0; t < KERNEL_TAPS; t++)
            sum += kernel[t] * FLOATS_AT(from + (size_t)t * stride + x);
        FLOATS_AT(to + x) = sum;
    }
}

/* Smooths a row of each picture along x; makes their mean and their difference. */
static ALWAYS_INLINE void smooth_along(float *mean, float *difference, float vertical[2][MAX_ROW],
                                       unsigned width, float kernel[2][KERNEL_TAPS])
{
    for (unsigned x = 0; x < width; x += FLOATS) {
        floats last = {0}, next = {0};
        for (unsigned t = 0; t < KERNEL_TAPS; t++) {
            last += kernel[0][t] * FLOATS_AT(vertical[0] + x + t);
            next += kernel[1][t] * FLOATS_AT(vertical[1] + x + t);
        }
        FLOATS_AT(mean + x) = 0.5F * (last + next);
        FLOATS_AT(difference + x) = next - last;
    }
}

static ALWAYS_INLINE float sum_of(const floats *numbers)
{
    float sum = 0;
    for (unsigned i = 0; i < FLOATS; i++)
        sum += (*numbers)[i];
    return sum;
}

/* Takes their means from a row, and from the difference what the contrast of the row explains,
 * unless rows are even. */
static ALWAYS_INLINE void level_row(float *mean, float *difference, unsigned width, bool is_even)
{
    floats s = {0}, r = {0}, ss = {0}, sr = {0};
    const unsigned end = width / FLOATS * FLOATS;
    for (unsigned x = 0; x < end; x += FLOATS) {
        s += FLOATS_AT(mean + x);
        r += FLOATS_AT(difference + x);
    }
    const float s_mean = sum_of(&s) / (float)end, r_mean = sum_of(&r) / (float)end;
    for (unsigned x = 0; x < width; x += FLOATS) {
        FLOATS_AT(mean + x) -= s_mean;
        FLOATS_AT(difference + x) -= r_mean;
    }
    if (is_even)
        return;
    for (unsigned x = 0; x < end; x += FLOATS) {
        const floats own = FLOATS_AT(mean + x);
        ss += own * own;
        sr += own * FLOATS_AT(difference + x);
    }
    float contrast = sum_of(&sr) / (sum_of(&ss) + (float)CELLS_ROUNDING * (float)end);
    contrast = fminf(fmaxf(contrast, -(float)CELLS_MAX_CONTRAST), (float)CELLS_MAX_CONTRAST);
    for (unsigned x = 0; x < width; x += FLOATS)
        FLOATS_AT(difference + x) -= contrast * FLOATS_AT(mean + x);
}

/* Adds row y of the pictures to the sums of a cell that begins at column `at`. */
static ALWAYS_INLINE void add_row(float to[SUMS][FLOATS], const struct cells_work *work, unsigned y,
                                  size_t at, unsigned width)
{
    const float *above = work->mean[(y - 1) % 3] + at, *row = work->mean[y % 3] + at;
    const float *below = work->mean[(y + 1) % 3] + at, *rest = work->difference[y % 3] + at;
    floats sum[SUMS];
    memcpy(sum, to, sizeof sum);
    for (unsigned x = 0; x < width; x += FLOATS) {
        const floats gx = 0.5F * (FLOATS_AT(row + x + 1) - FLOATS_AT(row + x - 1));
        const floats gy = 0.5F * (FLOATS_AT(below + x) - FLOATS_AT(above + x));
        const floats s = FLOATS_AT(row + x), r = FLOATS_AT(rest + x);
        sum[XX] += gx * gx;
        sum[XY] += gx * gy;
        sum[YY] += gy * gy;
        sum[XS] += gx * s;
        sum[YS] += gy * s;
        sum[SS] += s * s;
        sum[XR] += gx * r;
        sum[YR] += gy * r;
        sum[SR] += s * r;
        sum[RR] += r * r;
        sum[X] += gx;
        sum[Y] += gy;
        sum[S] += s;
        sum[R] += r;
    }
    memcpy(to, sum, sizeof sum);
}

/* Adds the sums of a row of cells to its cells, and begins those of the next row. */
static void finish_cells(struct cells_work *work, const struct overlap *o, unsigned row)
{
    for (unsigned c = 0; c < o->columns; c++) {
        struct cell *cell = &work->cells.cell[row * o->columns + c];
        for (unsigned k = 0; k < SUMS; k++)
            for (unsigned i = 0; i < FLOATS; i++)
                cell->sum[k] += (double)work->sum[c][k][i];
        cell->pixels = o->cell_width * o->cell_height;
    }
    memset(work->sum, 0, sizeof work->sum);
}

/* Rows are smoothed one after the other, and the last three are kept. */
VECTORS static void add_up(struct cells_work *work, const struct cells_pictures *p,
                           struct overlap *o)
{
    const float *from[2] = {p->last + (size_t)o->y[0] * p->width + o->x[0],
                            p->next + (size_t)o->y[1] * p->width + o->x[1]};
    const unsigned rows = o->rows * o->cell_height + 2, width = o->width - 2 * KERNEL_RADIUS;
    work->cells.count = o->columns * o->rows;
    memset(work->cells.cell, 0, sizeof work->cells.cell);
    memset(work->sum, 0, sizeof work->sum);
    for (unsigned y = 0; y < rows; y++) {
        float *mean = work->mean[y % 3], *difference = work->difference[y % 3];
        for (unsigned i = 0; i < 2; i++)
            smooth_down(work->vertical[i], from[i] + (size_t)y * p->width, p->width, o->width,
                        o->kernel_y[i]);
        smooth_along(mean, difference, work->vertical, width, o->kernel_x);
        level_row(mean, difference, width, p->is_even);
        for (unsigned c = 0; y >= 2 && c < o->columns; c++)
            add_row(work->sum[c], work, y - 1, 1 + (size_t)c * o->cell_width, o->cell_width);
        if (y >= 2 && (y - 1) % o->cell_height == 0)
            finish_cells(work, o, (y - 2) / o->cell_height);
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
