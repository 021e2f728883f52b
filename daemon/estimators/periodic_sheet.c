#include "estimators/periodic_sheet.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/vectors.h"

/* Half the width of a wave's peak, in units of 1/width and 1/height, with some distance. */
#define PEAK         2.5
/* The same unit: how far the frequency of a wave is moved in one frame. A step of first order
 * leaves a tenth of 0.3. */
#define MOST_OFF     0.3
/* Sums of rows for each wave, column by column: the real parts, the imaginary parts, and the same
 * times the distance from the centre along y. A wave that is subtracted needs two of these rows. */
#define SUM_ROWS     4u
#define SCRATCH_ROWS (SUM_ROWS * SHEET_MAX_WAVES)
#define TOGETHER     8u /* rows that are summed up at once */
#define UNKNOWNS     (2 * SHEET_MAX_WAVES)
#define MOST_CELLS   (16384 / SHEET_LANES)
#define LEAST_PART   0.02 /* share of a wave's squares in its sine or cosine part */
#define LEAST_SEEN   0.1  /* share of the window, in cells that are not cut off */
#define LEAST_MOVED  0.1  /* grey levels: of weaker waves the frequency is not moved */
#define WEAK         0.1  /* share of a wave's amplitude; one below it does not disturb the wave */

int sheet_init(struct sheet *ret, unsigned width, unsigned height, unsigned least_rows,
               struct error *why)
{
    const unsigned step = least_rows > 0 && height > least_rows ? height / least_rows : 1;
    struct sheet sheet = {.width = width, .height = height, .rows = height / step};
    sheet.cells_x = (width + SHEET_LANES - 1) / SHEET_LANES;
    sheet.cells_y = (height + SHEET_LANES - 1) / SHEET_LANES;
    sheet.stride = sheet.cells_x * SHEET_LANES;
    sheet.row = calloc(sheet.rows, sizeof *sheet.row);
    sheet.pixel = calloc((size_t)sheet.stride * height, sizeof *sheet.pixel);
    sheet.saturated = calloc((size_t)sheet.cells_x * sheet.cells_y, sizeof *sheet.saturated);
    sheet.window_x = calloc(sheet.stride, sizeof *sheet.window_x);
    sheet.window_y = calloc(height, sizeof *sheet.window_y);
    sheet.scratch = calloc((size_t)SCRATCH_ROWS * sheet.stride, sizeof *sheet.scratch);
    if (sheet.row == NULL || sheet.pixel == NULL || sheet.saturated == NULL ||
        sheet.window_x == NULL || sheet.window_y == NULL || sheet.scratch == NULL) {
        sheet_clear(&sheet);
        return error_set(why, ENOMEM, "out of memory for a frame of %ux%u pixels", width, height);
    }
    for (unsigned x = 0; x < width; x++)
        sheet.window_x[x] = (float)(0.5 - 0.5 * cos(2 * M_PI * (x + 0.5) / width));
    for (unsigned y = 0; y < height; y++)
        sheet.window_y[y] = (float)(0.5 - 0.5 * cos(2 * M_PI * (y + 0.5) / height));
    for (unsigned i = 0; i < sheet.rows; i++)
        sheet.row[i] = i * step + (i * 2654435761u >> 16) % step;
    for (unsigned x = 0; x < width; x++)
        sheet_add_moments(&sheet.along_x, sheet.window_x, x, width);
    for (unsigned i = 0; i < sheet.rows; i++)
        sheet_add_moments(&sheet.along_y, sheet.window_y, sheet.row[i], height);
    *ret = sheet;
    return 0;
}

void sheet_clear(struct sheet *sheet)
{
    free(sheet->row);
    free(sheet->pixel);
    free(sheet->saturated);
    free(sheet->window_x);
    free(sheet->window_y);
    free(sheet->scratch);
    memset(sheet, 0, sizeof *sheet);
}

/* The sum of exp(2 pi i f u) over `length` numbers u = ... -1/2, 1/2 ... or ... -1, 0, 1 ...; and
 * its derivative by 2 pi f. */
static double dirichlet(unsigned length, double f, double *ret_slope)
{
    const double sine = sin(M_PI * f), cosine = cos(M_PI * f);
    const double many = sin(M_PI * f * length), turned = cos(M_PI * f * length);
    *ret_slope = 0;
    if (fabs(sine) < 1e-9)
        return length * turned / cosine;
    *ret_slope = (length * turned * sine - many * cosine) / (2 * sine * sine);
    return many / sine;
}

/* The sum of a Hann window of that length times exp(2 pi i f u), which is real, because the window
 * is symmetric. *ret_moment: the imaginary part of the same times u, of which there is no real
 * one. */
static double window_transform(unsigned length, double f, double *ret_moment)
{
    double slope, below, above;
    const double sum = 0.5 * dirichlet(length, f, &slope) +
                       0.25 * dirichlet(length, f - 1.0 / length, &below) +
                       0.25 * dirichlet(length, f + 1.0 / length, &above);
    *ret_moment = -(0.5 * slope + 0.25 * below + 0.25 * above);
    return sum;
}

/* Solves a symmetric positive system. An unknown that the equations leave open becomes 0, such as
 * the sine part of a wave of half a cycle per pixel, exactly or nearly: the little of it that is in
 * the frame would make an amplitude out of noise. */
static void solve(double a[UNKNOWNS][UNKNOWNS], double *b, unsigned n)
{
    double least[UNKNOWNS] = {0}, most = 0;
    for (unsigned i = 0; i < n; i++)
        most = fmax(most, a[i][i]);
    for (unsigned i = 0; i < n; i++)
        least[i] = a[i][i] > LEAST_PART * most ? a[i][i] * 1e-6 + 1e-12 : INFINITY;
    for (unsigned i = 0; i < n; i++) {
        const double pivot = a[i][i];
        for (unsigned j = i + 1; j < n && pivot > least[i]; j++) {
            const double factor = a[j][i] / pivot;
            for (unsigned k = i; k < n; k++)
                a[j][k] -= factor * a[i][k];
            b[j] -= factor * b[i];
        }
    }
    for (unsigned i = n; i-- > 0;) {
        const double pivot = a[i][i];
        for (unsigned k = i + 1; k < n; k++)
            b[i] -= a[i][k] * b[k];
        b[i] = pivot > least[i] ? b[i] / pivot : 0;
    }
}

/* The same along y, over the rows that are loaded. These are not symmetric, so that neither sum is
 * real or imaginary alone. */
static double complex rows_transform(const struct sheet *sheet, double f,
                                     double complex *ret_moment)
{
    double imaginary;
    double complex sum = 0, moment = 0;
    if (sheet->rows == sheet->height) {
        sum = window_transform(sheet->height, f, &imaginary);
        *ret_moment = I * imaginary;
        return sum;
    }
    const double centre = (sheet->height - 1) / 2.0;
    for (unsigned i = 0; i < sheet->rows; i++) {
        const double v = sheet->row[i] - centre;
        const double complex turn =
            (double)sheet->window_y[sheet->row[i]] * cexp(2 * M_PI * I * f * v);
        sum += turn;
        moment += v * turn;
    }
    *ret_moment = moment;
    return sum;
}

/* Sums over the frame of window times pixel times exp(-2 pi i f (r - centre)): alone, and times the
 * distance from the centre along each axis. */
struct sums {
    double complex all, x, y;
};

/* Adds a few rows to the sums of a wave. factor: what each row is multiplied by for each sum. */
VECTORS static void add_rows(float *sum, unsigned stride, const float *const *row, unsigned rows,
                             const float factor[][SUM_ROWS])
{
    for (unsigned x = 0; x < stride; x += 2 * FLOATS) {
        floats left[SUM_ROWS], right[SUM_ROWS];
        for (unsigned k = 0; k < SUM_ROWS; k++) {
            left[k] = FLOATS_AT(sum + (size_t)k * stride + x);
            right[k] = FLOATS_AT(sum + (size_t)k * stride + x + FLOATS);
        }
        for (unsigned i = 0; i < rows; i++) {
            const floats a = FLOATS_AT(row[i] + x), b = FLOATS_AT(row[i] + x + FLOATS);
            for (unsigned k = 0; k < SUM_ROWS; k++) {
                left[k] += factor[i][k] * a;
                right[k] += factor[i][k] * b;
            }
        }
        for (unsigned k = 0; k < SUM_ROWS; k++) {
            FLOATS_AT(sum + (size_t)k * stride + x) = left[k];
            FLOATS_AT(sum + (size_t)k * stride + x + FLOATS) = right[k];
        }
    }
}

/* A few rows at a time serve all waves, so that each row is read from memory once. */
static void sum_columns(struct sheet *sheet, const struct sheet_frequency *f, unsigned count)
{
    const double centre = (sheet->height - 1) / 2.0;
    const size_t sums = (size_t)SUM_ROWS * sheet->stride;
    memset(sheet->scratch, 0, count * sums * sizeof *sheet->scratch);
    for (unsigned first = 0; first < sheet->rows; first += TOGETHER) {
        const float *row[TOGETHER];
        float factor[TOGETHER][SUM_ROWS];
        const unsigned rest = sheet->rows - first, rows = rest < TOGETHER ? rest : TOGETHER;
        for (unsigned i = 0; i < rows; i++)
            row[i] = sheet->pixel + (size_t)sheet->row[first + i] * sheet->stride;
        for (unsigned k = 0; k < count; k++) {
            for (unsigned i = 0; i < rows; i++) {
                const unsigned y = sheet->row[first + i];
                const float distance = (float)(y - centre);
                const double complex turn = cexp(-2 * M_PI * I * f[k].fy * (y - centre));
                const float re = (float)creal(turn) * sheet->window_y[y];
                const float im = (float)cimag(turn) * sheet->window_y[y];
                memcpy(factor[i], (float[]){re, im, re * distance, im * distance}, sizeof *factor);
            }
            add_rows(sheet->scratch + k * sums, sheet->stride, row, rows,
                     (const float(*)[SUM_ROWS])factor);
        }
    }
}

static void project(struct sheet *sheet, const struct sheet_frequency *f, unsigned count,
                    struct sums *ret)
{
    const unsigned stride = sheet->stride;
    sum_columns(sheet, f, count);
    for (unsigned k = 0; k < count; k++) {
        const float *sum = sheet->scratch + (size_t)k * SUM_ROWS * stride;
        const double complex along = cexp(-2 * M_PI * I * f[k].fx);
        double complex at = cexp(2 * M_PI * I * f[k].fx * (sheet->width - 1) / 2);
        ret[k] = (struct sums){0};
        for (unsigned x = 0; x < sheet->width; x++, at *= along) {
            const double complex turned = sheet->window_x[x] * at;
            const double complex column = turned * (sum[x] + sum[stride + x] * I);
            ret[k].all += column;
            ret[k].x += column * (x - (sheet->width - 1) / 2.0);
            ret[k].y += turned * (sum[2 * stride + x] + sum[3 * stride + x] * I);
        }
    }
}

/* Sums along x of a cell: the window times exp(2 pi i f u), and times u as well. */
static void sum_cell(const struct sheet *sheet, unsigned cell, double f, double complex *ret,
                     double complex *ret_moment)
{
    const unsigned first = cell * SHEET_LANES, end = sheet_cell_end(cell, sheet->width);
    const double centre = (sheet->width - 1) / 2.0;
    const double complex step = cexp(2 * M_PI * I * f);
    double complex turn = cexp(2 * M_PI * I * f * (first - centre));
    *ret = *ret_moment = 0;
    for (unsigned x = first; x < end; x++, turn *= step) {
        *ret += (double)sheet->window_x[x] * turn;
        *ret_moment += (double)sheet->window_x[x] * (x - centre) * turn;
    }
}

/* What the blank cells have of the sums of a wave exp(2 pi i off (r - centre)). */
static struct sums sums_of_blank_cells(const struct sheet *sheet, double off_x, double off_y)
{
    const double centre = (sheet->height - 1) / 2.0;
    double complex along[MOST_CELLS], moment[MOST_CELLS], all = 0, times_x = 0;
    struct sums ret = {0};
    unsigned cell_y = UINT_MAX;
    for (unsigned x = 0; x < sheet->cells_x; x++)
        sum_cell(sheet, x, off_x, &along[x], &moment[x]);
    for (unsigned i = 0; i < sheet->rows; i++) {
        const unsigned y = sheet->row[i];
        if (y / SHEET_LANES != cell_y) {
            cell_y = y / SHEET_LANES;
            all = times_x = 0;
            for (unsigned x = 0; x < sheet->cells_x; x++)
                if (sheet_is_blank(sheet, x, cell_y)) {
                    all += along[x];
                    times_x += moment[x];
                }
        }
        const double complex turn =
            (double)sheet->window_y[y] * cexp(2 * M_PI * I * off_y * (y - centre));
        ret.all += turn * all;
        ret.x += turn * times_x;
        ret.y += turn * (y - centre) * all;
    }
    return ret;
}

/* The sums that a wave exp(2 pi i off (r - centre)) gives at frequency 0. */
static struct sums sums_of(const struct sheet *sheet, double off_x, double off_y)
{
    double moment_x;
    double complex moment_y;
    const double x = window_transform(sheet->width, off_x, &moment_x);
    const double complex y = rows_transform(sheet, off_y, &moment_y);
    struct sums ret = {x * y, I * moment_x * y, moment_y * x};
    if (sheet->seen < 1) {
        const struct sums blank = sums_of_blank_cells(sheet, off_x, off_y);
        ret.all -= blank.all;
        ret.x -= blank.x;
        ret.y -= blank.y;
    }
    return ret;
}

/* What wave j of amplitude a gives at wave k is (a near + conj(a) far) / 2. */
struct coupling {
    struct sums near[SHEET_MAX_WAVES][SHEET_MAX_WAVES], far[SHEET_MAX_WAVES][SHEET_MAX_WAVES];
};

static void couple(const struct sheet *sheet, const struct sheet_frequency *f, unsigned count,
                   struct coupling *ret)
{
    for (unsigned k = 0; k < count; k++)
        for (unsigned j = 0; j <= k; j++) {
            const struct sums near = sums_of(sheet, f[j].fx - f[k].fx, f[j].fy - f[k].fy);
            ret->near[k][j] = near;
            ret->near[j][k] = (struct sums){conj(near.all), conj(near.x), conj(near.y)};
            ret->far[k][j] = ret->far[j][k] =
                sums_of(sheet, -f[j].fx - f[k].fx, -f[j].fy - f[k].fy);
        }
}

/* Fits the amplitudes of all waves together by least squares. */
static void fit_amplitudes(const struct coupling *coupling, unsigned count, const struct sums *sums,
                           double complex *ret)
{
    double a[UNKNOWNS][UNKNOWNS] = {{0}};
    double b[UNKNOWNS] = {0};
    for (unsigned k = 0; k < count; k++) {
        b[2 * k] = 2 * creal(sums[k].all);
        b[2 * k + 1] = 2 * cimag(sums[k].all);
        for (unsigned j = 0; j < count; j++) {
            const double complex near = coupling->near[k][j].all, far = coupling->far[k][j].all;
            a[2 * k][2 * j] = creal(near) + creal(far);
            a[2 * k][2 * j + 1] = cimag(far) - cimag(near);
            a[2 * k + 1][2 * j] = cimag(far) + cimag(near);
            a[2 * k + 1][2 * j + 1] = creal(near) - creal(far);
        }
    }
    solve(a, b, 2 * count);
    for (unsigned k = 0; k < count; k++)
        ret[k] = b[2 * k] + b[2 * k + 1] * I;
}

/* Returns whether no other wave, and no mirror image of one, is within the peak of wave k. A weak
 * wave there does not count: it may be what a drift of wave k has left, or nothing, and must not
 * keep the drift from being followed. */
static bool is_alone(const struct sheet *sheet, const struct sheet_frequency *f,
                     const double complex *amplitude, unsigned count, unsigned k)
{
    for (unsigned j = 0; j < count; j++) {
        if (cabs(amplitude[j]) < WEAK * cabs(amplitude[k]))
            continue;
        for (int sign = -1; sign <= 1; sign += 2) {
            const double x = f[k].fx + sign * f[j].fx;
            const double y = f[k].fy + sign * f[j].fy;
            if ((j != k || sign > 0) && fabs(x - round(x)) * sheet->width < PEAK &&
                fabs(y - round(y)) * sheet->height < PEAK)
                return false;
        }
    }
    return true;
}

static double limit(double value, double most)
{
    return fmin(fmax(value, -most), most);
}

/* Returns by how much the frequency of wave k is off. If that of the wave a * exp(2 pi i f r) is
 * off by d, the fit leaves a * 2 pi i d r, to first order, where r is counted from the centre of
 * the cells that are not blank. The sum contains half of that, times the scatter of these cells. */
static struct sheet_frequency offset_of(const struct sheet *sheet, const struct coupling *coupling,
                                        unsigned count, unsigned k, struct sums left,
                                        const double complex *amplitude)
{
    for (unsigned j = 0; j < count; j++) {
        const struct sums *near = &coupling->near[k][j], *far = &coupling->far[k][j];
        left.x -= 0.5 * (amplitude[j] * near->x + conj(amplitude[j]) * far->x);
        left.y -= 0.5 * (amplitude[j] * near->y + conj(amplitude[j]) * far->y);
    }
    const double x = cimag(left.x / (M_PI * amplitude[k]));
    const double y = cimag(left.y / (M_PI * amplitude[k]));
    const struct sheet_scatter *s = &sheet->scatter;
    const double determinant = s->xx * s->yy - s->xy * s->xy;
    return (struct sheet_frequency){
        limit((s->yy * x - s->xy * y) / determinant, MOST_OFF / sheet->width),
        limit((s->xx * y - s->xy * x) / determinant, MOST_OFF / sheet->height)};
}

void sheet_fit(struct sheet *sheet, struct sheet_frequency *f, unsigned count, double complex *ret)
{
    struct coupling coupling;
    struct sums sums[SHEET_MAX_WAVES];
    struct sheet_frequency off[SHEET_MAX_WAVES] = {{0, 0}};
    memset(ret, 0, count * sizeof *ret);
    if (!(sheet->seen > LEAST_SEEN))
        return;
    project(sheet, f, count, sums);
    couple(sheet, f, count, &coupling);
    fit_amplitudes(&coupling, count, sums, ret);
    for (unsigned k = 0; k < count; k++)
        if (cabs(ret[k]) > LEAST_MOVED && is_alone(sheet, f, ret, count, k))
            off[k] = offset_of(sheet, &coupling, count, k, sums[k], ret);
    for (unsigned k = 0; k < count; k++) {
        if (off[k].fx == 0 && off[k].fy == 0)
            continue;
        /* The fit of a wave that is off is a mean over what is seen: too small, and with the phase
         * that the wave has at the centre of that, not of the frame. */
        ret[k] *= coupling.near[k][k].all / sums_of(sheet, off[k].fx, off[k].fy).all;
        f[k].fx += off[k].fx;
        f[k].fy += off[k].fy;
    }
}

void sheet_prepare(struct sheet *sheet, const struct sheet_frequency *f,
                   const double complex *amplitude, unsigned count)
{
    for (unsigned k = 0; k < count; k++) {
        float *re = sheet->scratch + (size_t)2 * k * sheet->stride;
        float *im = re + sheet->stride;
        const double complex along = cexp(2 * M_PI * I * f[k].fx);
        double complex at = amplitude[k] * cexp(-2 * M_PI * I * f[k].fx * (sheet->width - 1) / 2);
        for (unsigned x = 0; x < sheet->width; x++, at *= along) {
            re[x] = (float)creal(at);
            im[x] = (float)cimag(at);
        }
    }
}

static ALWAYS_INLINE void subtract_from_cell(float *to, const float *re, const float *im,
                                             float cosine, float sine)
{
    for (unsigned l = 0; l < SHEET_LANES; l += FLOATS)
        FLOATS_AT(to + l) -= cosine * FLOATS_AT(re + l) - sine * FLOATS_AT(im + l);
}

VECTORS void sheet_subtract_row(const struct sheet *sheet, const struct sheet_frequency *f,
                                unsigned count, unsigned y, bool skips_blank, float *row)
{
    for (unsigned k = 0; k < count; k++) {
        const double complex turn = cexp(2 * M_PI * I * f[k].fy * (y - (sheet->height - 1) / 2.0));
        const float cosine = (float)creal(turn), sine = (float)cimag(turn);
        const float *re = sheet->scratch + (size_t)2 * k * sheet->stride;
        const float *im = re + sheet->stride;
        for (unsigned x = 0; x < sheet->stride; x += SHEET_LANES)
            if (!skips_blank || !sheet_is_blank(sheet, x / SHEET_LANES, y / SHEET_LANES))
                subtract_from_cell(row + x, re + x, im + x, cosine, sine);
    }
}

void sheet_subtract(struct sheet *sheet, const struct sheet_frequency *f,
                    const double complex *amplitude, unsigned count)
{
    sheet_prepare(sheet, f, amplitude, count);
    for (unsigned y = 0; y < sheet->height; y++)
        sheet_subtract_row(sheet, f, count, y, true, sheet->pixel + (size_t)y * sheet->stride);
}
