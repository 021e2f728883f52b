#include "estimators/wave_fit.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* 1/width, 1/height: how far apart the newest frequency of a wave and that of the model may be. The
 * model may be a few frames old. */
#define SAME       1.0
/* With so many, the scene adds less to an amplitude than a tenth of a grey level. */
#define LEAST_ROWS 240u

struct wave_fit {
    struct sheet sheet;
    unsigned count; /* waves of the frame before */
    struct sheet_frequency f[CORRECTION_MAX_WAVES];
};

int wave_fit_create(struct wave_fit **ret, unsigned width, unsigned height, struct error *why)
{
    struct wave_fit *fit = calloc(1, sizeof *fit);
    if (fit == NULL)
        return error_set(why, ENOMEM, "out of memory for the waves in a frame");
    const int r = sheet_init(&fit->sheet, width, height, LEAST_ROWS, why);
    if (r < 0) {
        free(fit);
        return r;
    }
    *ret = fit;
    return 0;
}

void wave_fit_destroy(struct wave_fit *fit)
{
    if (fit == NULL)
        return;
    sheet_clear(&fit->sheet);
    free(fit);
}

/* A wave's frequency in the frame before, or what the model says. */
static struct sheet_frequency newest_of(const struct wave_fit *fit, struct sheet_frequency f)
{
    for (unsigned i = 0; i < fit->count; i++)
        if (fabs(fit->f[i].fx - f.fx) < SAME / fit->sheet.width &&
            fabs(fit->f[i].fy - f.fy) < SAME / fit->sheet.height)
            return fit->f[i];
    return f;
}

unsigned wave_fit_rows(const struct wave_fit *fit, const unsigned **ret)
{
    *ret = fit->sheet.row;
    return fit->sheet.rows;
}

unsigned wave_fit_frame(struct wave_fit *fit, const struct wave_model *model, const float *luma,
                        struct wave ret[CORRECTION_MAX_WAVES])
{
    struct sheet_frequency f[CORRECTION_MAX_WAVES];
    double complex amplitude[CORRECTION_MAX_WAVES];
    unsigned count = 0;
    if (model->count == 0) {
        fit->count = 0;
        return 0;
    }
    for (unsigned i = 0; i < model->count; i++)
        f[i] = newest_of(fit, model->wave[i].f);
    fit->count = 0;
    sheet_load(&fit->sheet, luma);
    sheet_fit(&fit->sheet, f, model->count, amplitude);
    for (unsigned i = 0; i < model->count; i++) {
        if (!(cabs(amplitude[i]) > model->wave[i].least))
            continue;
        fit->f[fit->count++] = f[i];
        /* Waves of frames count from the first pixel. */
        const double complex first =
            amplitude[i] *
            cexp(-M_PI * I *
                 (f[i].fx * (fit->sheet.width - 1) + f[i].fy * (fit->sheet.height - 1)));
        ret[count++] = (struct wave){f[i].fx - round(f[i].fx), f[i].fy - round(f[i].fy),
                                     creal(first), cimag(first)};
    }
    return count;
}
