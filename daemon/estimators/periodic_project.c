/* Waves in each patch of a frame, whatever their frequencies. */
#include <math.h>
#include <stddef.h>

#include "core/vectors.h"
#include "estimators/periodic_spectrum.h"

/* A row of a patch times its window and the wave along it, summed up. */
static ALWAYS_INLINE double complex sum_row(const float *row, const float *re, const float *im,
                                            unsigned length)
{
    floats sum_re = {0}, sum_im = {0};
    for (unsigned x = 0; x < length; x += FLOATS) {
        sum_re += FLOATS_AT(row + x) * FLOATS_AT(re + x);
        sum_im += FLOATS_AT(row + x) * FLOATS_AT(im + x);
    }
    double line_re = 0, line_im = 0;
    for (unsigned l = 0; l < FLOATS; l++) {
        line_re += (double)sum_re[l];
        line_im += (double)sum_im[l];
    }
    return line_re + line_im * I;
}

VECTORS void spectrum_project(const struct spectrum *s, const struct sheet *sheet,
                              const struct sheet_frequency *f, unsigned count, double complex *ret)
{
    const double complex step_x = cexp(-2 * M_PI * I * f->fx);
    double complex start[SPECTRUM_MAX_PROJECTED], step[SPECTRUM_MAX_PROJECTED];
    float re[SPECTRUM_MAX_LENGTH] = {0};
    float im[SPECTRUM_MAX_LENGTH] = {0};
    double total = 0;
    double complex at = cexp(M_PI * I * f->fx * (s->length - 1));
    for (unsigned x = 0; x < s->length; x++, at *= step_x) {
        re[x] = (float)creal(at) * s->window[x];
        im[x] = (float)cimag(at) * s->window[x];
        total += s->window[x];
    }
    for (unsigned k = 0; k < count; k++) {
        start[k] = cexp(M_PI * I * f[k].fy * (s->length - 1));
        step[k] = cexp(-2 * M_PI * I * f[k].fy);
    }
    for (unsigned p = 0; p < s->count; p++) {
        const struct patch *patch = &s->patch[p];
        double complex sum[SPECTRUM_MAX_PROJECTED] = {0};
        double complex turn[SPECTRUM_MAX_PROJECTED];
        for (unsigned k = 0; k < count; k++)
            turn[k] = start[k];
        for (unsigned y = 0; y < s->length; y++) {
            const float *row = sheet->pixel + (size_t)(patch->y + y) * sheet->stride + patch->x;
            const double complex line = sum_row(row, re, im, s->length);
            for (unsigned k = 0; k < count; k++) {
                sum[k] += line * turn[k] * s->window[y];
                turn[k] *= step[k];
            }
        }
        for (unsigned k = 0; k < count; k++)
            ret[k * s->count + p] =
                2 * sum[k] / (total * total) *
                cexp(-2 * M_PI * I * (f[k].fx * patch->to_x + f[k].fy * patch->to_y));
    }
}
