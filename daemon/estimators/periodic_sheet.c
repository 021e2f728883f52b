#include "estimators/periodic_sheet.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

int sheet_init(struct sheet *ret, unsigned width, unsigned height, struct error *why)
{
    struct sheet sheet = {.width = width, .height = height};
    sheet.cells_x = (width + SHEET_LANES - 1) / SHEET_LANES;
    sheet.cells_y = (height + SHEET_LANES - 1) / SHEET_LANES;
    sheet.stride = sheet.cells_x * SHEET_LANES;
    sheet.pixel = calloc((size_t)sheet.stride * height, sizeof *sheet.pixel);
    sheet.saturated = calloc((size_t)sheet.cells_x * sheet.cells_y, sizeof *sheet.saturated);
    sheet.window_x = calloc(sheet.stride, sizeof *sheet.window_x);
    sheet.window_y = calloc(height, sizeof *sheet.window_y);
    sheet.scratch = calloc((size_t)2 * SHEET_MAX_WAVES * sheet.stride, sizeof *sheet.scratch);
    if (sheet.pixel == NULL || sheet.saturated == NULL || sheet.window_x == NULL ||
        sheet.window_y == NULL || sheet.scratch == NULL) {
        sheet_clear(&sheet);
        return error_set(why, ENOMEM, "out of memory for a frame of %ux%u pixels", width, height);
    }
    for (unsigned x = 0; x < width; x++)
        sheet.window_x[x] = (float)(0.5 - 0.5 * cos(2 * M_PI * (x + 0.5) / width));
    for (unsigned y = 0; y < height; y++)
        sheet.window_y[y] = (float)(0.5 - 0.5 * cos(2 * M_PI * (y + 0.5) / height));
    *ret = sheet;
    return 0;
}

void sheet_clear(struct sheet *sheet)
{
    free(sheet->pixel);
    free(sheet->saturated);
    free(sheet->window_x);
    free(sheet->window_y);
    free(sheet->scratch);
    memset(sheet, 0, sizeof *sheet);
}

void sheet_load(struct sheet *sheet, const float *luma)
{
    memset(sheet->saturated, 0, (size_t)sheet->cells_x * sheet->cells_y * sizeof *sheet->saturated);
    for (unsigned y = 0; y < sheet->height; y++) {
        const float *from = luma + (size_t)y * sheet->width;
        float *to = sheet->pixel + (size_t)y * sheet->stride;
        unsigned short *cell = sheet->saturated + (size_t)(y / SHEET_LANES) * sheet->cells_x;
        for (unsigned x = 0; x < sheet->width; x++) {
            const float low = from[x] > 0 ? from[x] : 0; /* also false if it is not a number */
            to[x] = low < 255 ? low : 255;
        }
        for (unsigned c = 0; c < sheet->width / SHEET_LANES; c++) {
            unsigned count = 0;
            for (unsigned k = 0; k < SHEET_LANES; k++)
                count += (to[c * SHEET_LANES + k] < 0.5F) + (to[c * SHEET_LANES + k] > 254.5F);
            cell[c] += (unsigned short)count;
        }
    }
}

/* The sum of the window times exp(2 pi i f (x - centre)); real, because the window is symmetric. */
static double window_transform(const float *window, unsigned length, double f)
{
    const double complex step = cexp(2 * M_PI * I * f);
    double complex turn = cexp(-2 * M_PI * I * f * (length - 1) / 2);
    double sum = 0;
    for (unsigned x = 0; x < length; x++, turn *= step)
        sum += window[x] * creal(turn);
    return sum;
}

/* Solves a symmetric positive system. An unknown that the equations leave open becomes 0, such as
 * the sine part of a wave of exactly half a cycle per pixel. */
static void solve(double *a, double *b, unsigned n)
{
    double least[SHEET_MAX_WAVES] = {0};
    for (unsigned i = 0; i < n; i++)
        least[i] = fabs(a[i * SHEET_MAX_WAVES + i]) * 1e-6 + 1e-12;
    for (unsigned i = 0; i < n; i++) {
        const double pivot = a[i * SHEET_MAX_WAVES + i];
        for (unsigned j = i + 1; j < n && pivot > least[i]; j++) {
            const double factor = a[j * SHEET_MAX_WAVES + i] / pivot;
            for (unsigned k = i; k < n; k++)
                a[j * SHEET_MAX_WAVES + k] -= factor * a[i * SHEET_MAX_WAVES + k];
            b[j] -= factor * b[i];
        }
    }
    for (unsigned i = n; i-- > 0;) {
        const double pivot = a[i * SHEET_MAX_WAVES + i];
        for (unsigned k = i + 1; k < n; k++)
            b[i] -= a[i * SHEET_MAX_WAVES + k] * b[k];
        b[i] = pivot > least[i] ? b[i] / pivot : 0;
    }
}

/* projection[k]: the sum of window times frame times exp(-2 pi i f[k] (r - centre)). */
static void project(struct sheet *sheet, const struct sheet_frequency *f, unsigned count,
                    double complex *projection)
{
    const unsigned stride = sheet->stride;
    double complex turn[SHEET_MAX_WAVES];
    double complex step[SHEET_MAX_WAVES];
    memset(sheet->scratch, 0, (size_t)2 * count * stride * sizeof *sheet->scratch);
    for (unsigned k = 0; k < count; k++) {
        step[k] = cexp(-2 * M_PI * I * f[k].fy);
        turn[k] = cexp(2 * M_PI * I * f[k].fy * (sheet->height - 1) / 2);
    }
    for (unsigned y = 0; y < sheet->height; y++) {
        const float *row = sheet->pixel + (size_t)y * stride;
        for (unsigned k = 0; k < count; k++, row = sheet->pixel + (size_t)y * stride) {
            float *restrict re = sheet->scratch + (size_t)2 * k * stride;
            float *restrict im = re + stride;
            const float cosine = (float)creal(turn[k]) * sheet->window_y[y];
            const float sine = (float)cimag(turn[k]) * sheet->window_y[y];
            turn[k] *= step[k];
            for (unsigned c = 0; c < stride;
                 c += SHEET_LANES, re += SHEET_LANES, im += SHEET_LANES, row += SHEET_LANES)
                for (unsigned l = 0; l < SHEET_LANES; l++) {
                    re[l] += cosine * row[l];
                    im[l] += sine * row[l];
                }
        }
    }
    for (unsigned k = 0; k < count; k++) {
        const float *re = sheet->scratch + (size_t)2 * k * stride;
        const float *im = re + stride;
        const double complex along = cexp(-2 * M_PI * I * f[k].fx);
        double complex at = cexp(2 * M_PI * I * f[k].fx * (sheet->width - 1) / 2);
        projection[k] = 0;
        for (unsigned x = 0; x < sheet->width; x++, at *= along)
            projection[k] += sheet->window_x[x] * at * (re[x] + im[x] * I);
    }
}

void sheet_measure(struct sheet *sheet, const struct sheet_frequency *f, unsigned count,
                   double complex *ret)
{
    double complex projection[SHEET_MAX_WAVES];
    double cosine[SHEET_MAX_WAVES * SHEET_MAX_WAVES];
    double sine[SHEET_MAX_WAVES * SHEET_MAX_WAVES];
    double re[SHEET_MAX_WAVES];
    double im[SHEET_MAX_WAVES];
    project(sheet, f, count, projection);
    for (unsigned k = 0; k < count; k++) {
        re[k] = 2 * creal(projection[k]);
        im[k] = 2 * cimag(projection[k]);
        for (unsigned j = 0; j < count; j++) {
            const double below =
                window_transform(sheet->window_x, sheet->width, f[j].fx - f[k].fx) *
                window_transform(sheet->window_y, sheet->height, f[j].fy - f[k].fy);
            const double above =
                window_transform(sheet->window_x, sheet->width, f[j].fx + f[k].fx) *
                window_transform(sheet->window_y, sheet->height, f[j].fy + f[k].fy);
            cosine[k * SHEET_MAX_WAVES + j] = below + above;
            sine[k * SHEET_MAX_WAVES + j] = below - above;
        }
    }
    solve(cosine, re, count);
    solve(sine, im, count);
    for (unsigned k = 0; k < count; k++)
        ret[k] = re[k] + im[k] * I;
}

void sheet_subtract(struct sheet *sheet, const struct sheet_frequency *f,
                    const double complex *amplitude, unsigned count)
{
    const unsigned stride = sheet->stride;
    for (unsigned k = 0; k < count; k++) {
        float *re = sheet->scratch + (size_t)2 * k * stride;
        float *im = re + stride;
        const double complex along = cexp(2 * M_PI * I * f[k].fx);
        double complex at = amplitude[k] * cexp(-2 * M_PI * I * f[k].fx * (sheet->width - 1) / 2);
        for (unsigned x = 0; x < sheet->width; x++, at *= along) {
            re[x] = (float)creal(at);
            im[x] = (float)cimag(at);
        }
    }
    for (unsigned y = 0; y < sheet->height; y++)
        for (unsigned k = 0; k < count; k++) {
            const double complex turn =
                cexp(2 * M_PI * I * f[k].fy * (y - (sheet->height - 1) / 2.0));
            const float cosine = (float)creal(turn);
            const float sine = (float)cimag(turn);
            const float *restrict re = sheet->scratch + (size_t)2 * k * stride;
            const float *restrict im = re + stride;
            float *restrict row = sheet->pixel + (size_t)y * stride;
            for (unsigned c = 0; c < stride;
                 c += SHEET_LANES, re += SHEET_LANES, im += SHEET_LANES, row += SHEET_LANES)
                for (unsigned l = 0; l < SHEET_LANES; l++)
                    row[l] -= cosine * re[l] - sine * im[l];
        }
}
