/* What a finding's stage would make of the last frame. Each is the stage's formula in its plainest
 * form, of docs/FILTERS.md: no padding, one pass, and borders that wrap around. */
#include <complex.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/dft.h"
#include "filters/filter.h"
#include "private.h"

#define BLOCK 16u  /* pixels of a block of `denoise` */
#define SIDE  320u /* pixels of a small picture, at most */

/* ---- stages with a response ---- */

static double frequency(uint32_t index, uint32_t length)
{
    return (2 * index < length ? (double)index : (double)index - length) / length;
}

/* Multiplies the spectrum of luma by the chain's response. */
static bool filter(const struct filter_chain *chain, float *luma, uint32_t width, uint32_t height)
{
    const size_t count = (size_t)width * height;
    double complex *plane = malloc(count * sizeof *plane);
    double complex *line = malloc((width > height ? width : height) * sizeof *line);
    struct dft *rows = NULL, *columns = NULL;
    const bool ok = plane != NULL && line != NULL && dft_create(&rows, width, NULL) == 0 &&
                    dft_create(&columns, height, NULL) == 0;
    for (size_t i = 0; i < count && ok; i++)
        plane[i] = luma[i];
    /* The inverse is the transform of the conjugate, conjugated. */
    for (unsigned turn = 0; turn < 2 && ok; turn++) {
        dft_axis(rows, plane, line, width, height, 1, width);
        dft_axis(columns, plane, line, height, width, width, 1);
        for (size_t i = 0; i < count && turn == 0; i++)
            plane[i] = conj(plane[i] *
                            filter_chain_response(chain, frequency((uint32_t)(i % width), width),
                                                  frequency((uint32_t)(i / width), height)));
    }
    for (size_t i = 0; i < count && ok; i++)
        luma[i] = (float)(creal(plane[i]) / (double)count);
    dft_destroy(rows);
    dft_destroy(columns);
    free(plane);
    free(line);
    return ok;
}

/* ---- the other stages ---- */

static bool subtract_waves(const struct diagnosis *diagnosis, float *luma)
{
    const struct followed *followed = &diagnosis->followed;
    struct correction correction = {0};
    struct wave_fit *fit;
    if (wave_fit_create(&fit, diagnosis->format.width, diagnosis->format.height, NULL) < 0)
        return false;
    wave_fit_frame(fit, &followed->model[followed->models - 1], luma, &correction);
    diagnosis_subtract_waves(diagnosis, &correction, luma);
    wave_fit_destroy(fit);
    return true;
}

static void brighten(const struct diagnosis *diagnosis, float *luma)
{
    const uint32_t width = diagnosis->format.width, height = diagnosis->format.height;
    const struct shading_gain gain = diagnosis->gain;
    for (uint32_t y = 0; y < height; y++)
        for (uint32_t x = 0; x < width; x++) {
            const double u = x + 0.5 - width / 2., v = y + 0.5 - height / 2.;
            const double r2 =
                (u * u + v * v) / ((double)width * width / 4 + (double)height * height / 4);
            luma[(size_t)y * width + x] *= (float)(1 + gain.a * r2 + gain.b * r2 * r2);
        }
}

/* Shrinks one block's transform, but not its mean level. */
static void shrink(struct dft *dft, double complex block[BLOCK * BLOCK], double variance)
{
    double complex line[BLOCK];
    for (unsigned turn = 0; turn < 2; turn++) {
        dft_axis(dft, block, line, BLOCK, BLOCK, 1, BLOCK);
        dft_axis(dft, block, line, BLOCK, BLOCK, BLOCK, 1);
        for (unsigned i = 0; i < BLOCK * BLOCK && turn == 0; i++) {
            const double power =
                creal(block[i]) * creal(block[i]) + cimag(block[i]) * cimag(block[i]);
            block[i] = conj(block[i]) * (power > 2.5 * variance ? 1 - 2.5 * variance / power : 0);
        }
    }
}

static bool denoise(const struct diagnosis *diagnosis, double sigma, const float *from, float *luma)
{
    const uint32_t width = diagnosis->format.width, height = diagnosis->format.height;
    const double variance = sigma * sigma * (3. / 8 * BLOCK) * (3. / 8 * BLOCK);
    double window[BLOCK];
    struct dft *dft;
    if (dft_create(&dft, BLOCK, NULL) < 0)
        return false;
    for (unsigned i = 0; i < BLOCK; i++)
        window[i] = 0.5 - 0.5 * cos(2 * M_PI * (i + 0.5) / BLOCK);
    /* Blocks overlap by half, where their windows add up to 1; the border stays as it is. */
    float *sum = calloc((size_t)width * height, sizeof *sum);
    float *weight = calloc((size_t)width * height, sizeof *weight);
    for (uint32_t y = 0; y + BLOCK <= height && sum != NULL && weight != NULL; y += BLOCK / 2)
        for (uint32_t x = 0; x + BLOCK <= width; x += BLOCK / 2) {
            double complex block[BLOCK * BLOCK];
            double mean = 0;
            for (unsigned i = 0; i < BLOCK * BLOCK; i++)
                mean += (double)from[(size_t)(y + i / BLOCK) * width + x + i % BLOCK];
            mean /= BLOCK * BLOCK;
            for (unsigned i = 0; i < BLOCK * BLOCK; i++)
                block[i] = ((double)from[(size_t)(y + i / BLOCK) * width + x + i % BLOCK] - mean) *
                           window[i / BLOCK] * window[i % BLOCK];
            shrink(dft, block, variance);
            for (unsigned i = 0; i < BLOCK * BLOCK; i++) {
                const size_t at = (size_t)(y + i / BLOCK) * width + x + i % BLOCK;
                const double w = window[i / BLOCK] * window[i % BLOCK];
                sum[at] += (float)(creal(block[i]) / (BLOCK * BLOCK) + w * mean);
                weight[at] += (float)w;
            }
        }
    for (size_t i = 0; i < (size_t)width * height && sum != NULL && weight != NULL; i++)
        luma[i] = weight[i] > 0.5f ? sum[i] / weight[i] : from[i];
    const bool ok = sum != NULL && weight != NULL;
    free(sum);
    free(weight);
    dft_destroy(dft);
    return ok;
}

bool diagnosis_preview(struct diagnosis *diagnosis, const struct diagnosis_finding *finding,
                       float *ret_before, float *ret_after)
{
    const uint32_t width = diagnosis->format.width, height = diagnosis->format.height;
    const size_t count = (size_t)width * height;
    struct filter_chain chain;
    diagnosis_load(diagnosis, diagnosis->frames - 1, ret_before);
    memcpy(ret_after, ret_before, count * sizeof *ret_after);
    switch (finding->kind) {
    case DIAGNOSIS_PERIODIC:
        return subtract_waves(diagnosis, ret_after);
    case DIAGNOSIS_FLICKER:
        for (size_t i = 0; i < count; i++)
            ret_after[i] *= diagnosis->row_gain[i / width];
        return true;
    case DIAGNOSIS_HOT:
        findings_take_median(diagnosis, ret_before, ret_after);
        return finding->stage[0] != '\0';
    case DIAGNOSIS_SHADING:
        brighten(diagnosis, ret_after);
        return true;
    case DIAGNOSIS_NOISE:
        return denoise(diagnosis, finding->figure[0].value, ret_before, ret_after);
    case DIAGNOSIS_SCREEN:
    case DIAGNOSIS_STRIPES:
    case DIAGNOSIS_DEFOCUS:
    case DIAGNOSIS_MOTION:
        return finding->stage[0] != '\0' && filter_chain_parse(&chain, finding->stage, NULL) == 0 &&
               filter(&chain, ret_after, width, height);
    case DIAGNOSIS_SHAKE:
    case DIAGNOSIS_CLIPPING:
    case DIAGNOSIS_EXPOSURE:
    case DIAGNOSIS_KINDS:
        break;
    }
    return false;
}

/* ---- small pictures ---- */

/* The whole becomes small by leaving pixels out. */
static int draw(struct picture *ret, const struct diagnosis_format *format, const float *level,
                bool is_whole)
{
    const uint32_t width = format->width, height = format->height;
    const uint32_t larger = width > height ? width : height;
    const uint32_t step = is_whole ? (larger + SIDE - 1) / SIDE : 1;
    uint32_t columns = width / step, rows = height / step;
    columns = columns < SIDE ? columns : SIDE;
    rows = rows < SIDE ? rows : SIDE;
    const uint32_t left = (width - columns * step) / 2, top = (height - rows * step) / 2;
    const int r = picture_create(ret, columns, rows);
    for (uint32_t y = 0; y < rows && r == 0; y++)
        for (uint32_t x = 0; x < columns; x++) {
            const float at = level[(size_t)(top + y * step) * width + left + x * step];
            memset(ret->rgb + 3 * ((size_t)y * columns + x), (int)lrintf(fminf(fmaxf(at, 0), 255)),
                   3);
        }
    return r;
}

int diagnosis_draw(struct diagnosis *diagnosis, const struct diagnosis_finding *finding,
                   struct picture ret[2])
{
    const struct diagnosis_format *format = &diagnosis->format;
    const bool is_whole = diagnosis_faults[finding->kind].needs_whole_picture;
    const size_t count = (size_t)format->width * format->height;
    float *level = malloc(2 * count * sizeof *level);
    if (level == NULL)
        return -ENOMEM;
    const bool has_after = diagnosis_preview(diagnosis, finding, level, level + count);
    int r = draw(&ret[0], format, level, is_whole);
    if (r == 0 && has_after)
        r = draw(&ret[1], format, level + count, is_whole);
    free(level);
    return r < 0 ? r : 1 + has_after;
}
