#include "estimators/wave_fit.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/vectors.h"

/* 1/width, 1/height: how far apart the newest frequency of a wave and that of the model may be. The
 * model may be a few frames old. */
#define SAME       1.0
/* With this many rows, the scene adds less to an amplitude than a tenth of a grey level, unless the
 * wave has few periods along the rows. Then whole rows of the scene add up, and those that are left
 * out make its brightness look like waves of any frequency. */
#define LEAST_ROWS 240u
#define FEW        4.0
#define TOP        255.0F
/* So many of the rows tell what samples that were cut off have lost. */
#define CUT_ROWS   60u

struct wave_fit {
    struct sheet few, all; /* rows */
    struct sheet *sheet;   /* few or all: the rows that were fitted last */
    unsigned count;        /* waves of the frame before */
    struct sheet_frequency f[CORRECTION_MAX_WAVES];
    double complex amplitude[CORRECTION_MAX_WAVES];
    float row[WAVE_FIT_MAX_SIDE]; /* the waves of one, subtracted from nothing */
};

int wave_fit_create(struct wave_fit **ret, unsigned width, unsigned height, struct error *why)
{
    struct wave_fit *fit = calloc(1, sizeof *fit);
    if (fit == NULL)
        return error_set(why, ENOMEM, "out of memory for the waves in a frame");
    int r = sheet_init(&fit->few, width, height, LEAST_ROWS, why);
    if (r == 0)
        r = sheet_init(&fit->all, width, height, 0, why);
    if (r < 0) {
        wave_fit_destroy(fit);
        return r;
    }
    *ret = fit;
    return 0;
}

void wave_fit_destroy(struct wave_fit *fit)
{
    if (fit == NULL)
        return;
    sheet_clear(&fit->few);
    sheet_clear(&fit->all);
    free(fit);
}

static bool is_same(struct sheet_frequency a, struct sheet_frequency b, unsigned width,
                    unsigned height)
{
    return fabs(a.fx - b.fx) < SAME / width && fabs(a.fy - b.fy) < SAME / height;
}

bool wave_model_adds(const struct wave_model *model, const struct wave_model *before,
                     unsigned width, unsigned height)
{
    for (unsigned i = 0; i < model->count; i++) {
        bool is_known = false;
        for (unsigned k = 0; k < before->count && !is_known; k++)
            is_known = is_same(model->wave[i].f, before->wave[k].f, width, height);
        if (!is_known)
            return true;
    }
    return false;
}

/* A wave's frequency in the frame before, or what the model says. */
static struct sheet_frequency newest_of(const struct wave_fit *fit, struct sheet_frequency f)
{
    for (unsigned i = 0; i < fit->count; i++)
        if (is_same(fit->f[i], f, fit->all.width, fit->all.height))
            return fit->f[i];
    return f;
}

static bool needs_all(const struct wave_fit *fit, const struct wave_model *model)
{
    for (unsigned i = 0; i < model->count; i++) {
        const double fx = model->wave[i].f.fx;
        if (fabs(fx - round(fx)) * fit->all.width < FEW)
            return true;
    }
    return false;
}

unsigned wave_fit_rows(const struct wave_fit *fit, const struct wave_model *model,
                       const unsigned **ret)
{
    const struct sheet *sheet = needs_all(fit, model) ? &fit->all : &fit->few;
    *ret = sheet->row;
    return sheet->rows;
}

/* Sums over the samples that are cut off: the wave there times the scene's distance from the limit,
 * and the square of the wave. */
struct cut {
    double product, square;
};

static double share_of(struct cut cut)
{
    return cut.square > 0 ? cut.product / cut.square : 1;
}

/* What a sample of the scene, `distance` from a limit, would lose by a wave towards it. */
static void add_cut(struct cut *ret, float distance, float wave)
{
    const float near = distance > 0 ? distance : 0;
    if (near < wave) {
        ret->product += (double)(near * wave);
        ret->square += (double)(wave * wave);
    }
}

/* Fills fit->row with the negative of the prepared waves in row y. */
static void draw_opposite(struct wave_fit *fit, const struct sheet *sheet, unsigned y)
{
    memset(fit->row, 0, sheet->stride * sizeof *fit->row);
    sheet_subtract_row(sheet, fit->f, fit->count, y, false, fit->row);
}

/* Where a wave is negative, nothing of the scene is lost at the upper limit. So the scene is known
 * there, and how much of it is lost where the wave is positive follows, because a wave has both
 * signs equally often. The same holds for the lower limit. */
static void measure_cut(struct wave_fit *fit, const float *luma, struct correction *ret)
{
    struct sheet *sheet = fit->sheet;
    struct cut low = {0, 0}, high = {0, 0};
    const unsigned apart = (sheet->rows + CUT_ROWS - 1) / CUT_ROWS;
    sheet_prepare(sheet, fit->f, fit->amplitude, fit->count);
    for (unsigned i = 0; i < sheet->rows; i += apart) {
        const unsigned y = sheet->row[i];
        draw_opposite(fit, sheet, y);
        for (unsigned x = 0; x < sheet->width; x++) {
            const float opposite = fit->row[x];
            const float scene = luma[(size_t)y * sheet->width + x] + opposite;
            if (opposite > 0)
                add_cut(&high, TOP - scene, opposite);
            else
                add_cut(&low, scene, -opposite);
        }
    }
    ret->share_low = share_of(low);
    ret->share_high = share_of(high);
}

void wave_fit_find(struct wave_fit *fit, const struct wave_model *model, const float *luma)
{
    struct sheet_frequency f[CORRECTION_MAX_WAVES];
    double complex amplitude[CORRECTION_MAX_WAVES];
    for (unsigned i = 0; i < model->count; i++)
        f[i] = newest_of(fit, model->wave[i].f);
    fit->count = 0;
    if (model->count == 0)
        return;
    fit->sheet = needs_all(fit, model) ? &fit->all : &fit->few;
    sheet_load(fit->sheet, luma);
    sheet_fit(fit->sheet, f, model->count, amplitude);
    for (unsigned i = 0; i < model->count; i++) {
        if (!(cabs(amplitude[i]) > model->wave[i].least))
            continue;
        fit->amplitude[fit->count] = amplitude[i];
        fit->f[fit->count++] = f[i];
    }
}

/* Waves of frames count from the first pixel, and those of sheets from the middle. */
static struct wave wave_at_first_pixel(const struct wave_fit *fit, unsigned i)
{
    const struct sheet_frequency f = fit->f[i];
    const struct sheet *sheet = fit->sheet;
    const double complex first =
        fit->amplitude[i] *
        cexp(-M_PI * I * (f.fx * (sheet->width - 1) + f.fy * (sheet->height - 1)));
    return (struct wave){f.fx - round(f.fx), f.fy - round(f.fy), creal(first), cimag(first)};
}

void wave_fit_frame(struct wave_fit *fit, const struct wave_model *model, const float *luma,
                    struct correction *ret)
{
    wave_fit_find(fit, model, luma);
    ret->wave_count = fit->count;
    if (model->count == 0)
        return;
    for (unsigned i = 0; i < fit->count; i++)
        ret->wave[i] = wave_at_first_pixel(fit, i);
    ret->top = (double)TOP;
    measure_cut(fit, luma, ret);
}

/* Adds `row` to another row, where the latter is within the limits. */
VECTORS static void add_within(float *to, const float *row, unsigned width)
{
    unsigned x = 0;
    for (; x + FLOATS <= width; x += FLOATS) {
        const floats own = FLOATS_AT(to + x);
        FLOATS_AT(to + x) = own + FLOATS_IF((own > 0) & (own < TOP), FLOATS_AT(row + x));
    }
    for (; x < width; x++)
        to[x] += to[x] > 0 && to[x] < TOP ? row[x] : 0;
}

void wave_fit_subtract(struct wave_fit *fit, float *luma)
{
    const struct sheet *sheet = &fit->all;
    if (fit->count == 0)
        return;
    sheet_prepare(&fit->all, fit->f, fit->amplitude, fit->count);
    for (unsigned y = 0; y < sheet->height; y++) {
        draw_opposite(fit, sheet, y);
        add_within(luma + (size_t)y * sheet->width, fit->row, sheet->width);
    }
}
