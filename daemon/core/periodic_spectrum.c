#include "core/periodic_spectrum.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MIN_LENGTH 32u
#define MAX_LENGTH 512u
#define OUTER      5u  /* the frequencies around are those within OUTER bins along each axis ... */
#define INNER      2u  /* ... but not within INNER, where a wave itself is */
#define NEAR       4.0 /* patch_sample: the distance in bins of the frequencies around */
#define NEAR_COUNT 16u /* how many of them */
#define LOBE       2   /* half the width of a wave's peak, in bins */
#define EFFORT     (1u << 20) /* pixels of patches for each frame */
#define FRAMES     4u         /* over which the statistic is averaged */

static unsigned patch_length(unsigned width, unsigned height)
{
    const unsigned side = width < height ? width : height;
    unsigned length = MIN_LENGTH;
    if (side < SPECTRUM_MIN_FRAME)
        return 0;
    while (length < MAX_LENGTH && length * 2 <= side / 3)
        length *= 2;
    return length;
}

static unsigned patches_along(unsigned side, unsigned length)
{
    const unsigned count = (side - length + length / 2 - 1) / (length / 2) + 1;
    return count < SPECTRUM_MAX_ALONG ? count : SPECTRUM_MAX_ALONG;
}

/* The patches in an order that is spread over the frame: their number times a large factor. */
static void place(struct spectrum *s, unsigned width, unsigned height)
{
    unsigned stride = (unsigned)(s->count * 0.618);
    for (;; stride++) {
        unsigned a = stride;
        unsigned b = s->count;
        while (b != 0) {
            const unsigned rest = a % b;
            a = b;
            b = rest;
        }
        if (a == 1)
            break;
    }
    for (unsigned i = 0; i < s->count; i++) {
        struct patch *patch = &s->patch[i];
        const unsigned column = i % s->columns;
        const unsigned row = i / s->columns;
        patch->x = (unsigned)((unsigned long)column * (width - s->length) / (s->columns - 1));
        patch->y = (unsigned)((unsigned long)row * (height - s->length) / (s->rows - 1));
        patch->to_x = patch->x + (s->length - 1) / 2.0 - (width - 1) / 2.0;
        patch->to_y = patch->y + (s->length - 1) / 2.0 - (height - 1) / 2.0;
        s->order[i] = (unsigned)((unsigned long)i * stride % s->count);
    }
}

static size_t score_size(const struct spectrum *s)
{
    return (size_t)s->length * (s->length / 2 + 1);
}

static unsigned border_columns(const struct spectrum *s)
{
    return s->length / 2 + 1 + 2 * OUTER;
}

static unsigned border_rows(const struct spectrum *s)
{
    return s->length + 2 * OUTER;
}

int spectrum_init(struct spectrum *ret, const struct sheet *sheet, struct error *why)
{
    struct spectrum s = {.length = patch_length(sheet->width, sheet->height)};
    if (s.length == 0) {
        *ret = s;
        return 0;
    }
    s.columns = patches_along(sheet->width, s.length);
    s.rows = patches_along(sheet->height, s.length);
    s.count = s.columns * s.rows;
    s.per_frame = EFFORT / (s.length * s.length) & ~1u;
    const size_t bordered = (size_t)border_columns(&s) * border_rows(&s);
    s.patch = calloc(s.count, sizeof *s.patch);
    s.order = calloc(s.count, sizeof *s.order);
    s.window = calloc(s.length, sizeof *s.window);
    s.square = calloc((size_t)s.length * s.length, sizeof *s.square);
    s.power = calloc(bordered, sizeof *s.power);
    s.sums = calloc(2 * bordered, sizeof *s.sums);
    s.frame_score = calloc(score_size(&s), sizeof *s.frame_score);
    s.score = calloc(score_size(&s), sizeof *s.score);
    int r = 0;
    if (s.patch == NULL || s.order == NULL || s.window == NULL || s.square == NULL ||
        s.power == NULL || s.sums == NULL || s.frame_score == NULL || s.score == NULL) {
        r = error_set(why, ENOMEM, "out of memory for %u patches", s.count);
        goto fail;
    }
    r = fft_create(&s.fft, s.length, why);
    if (r < 0)
        goto fail;
    for (unsigned i = 0; i < s.length; i++)
        s.window[i] = (float)(0.5 - 0.5 * cos(2 * M_PI * (i + 0.5) / s.length));
    place(&s, sheet->width, sheet->height);
    *ret = s;
    return 0;
fail:
    spectrum_clear(&s);
    return r;
}

void spectrum_clear(struct spectrum *s)
{
    fft_destroy(s->fft);
    free(s->patch);
    free(s->order);
    free(s->window);
    free(s->square);
    free(s->power);
    free(s->sums);
    free(s->frame_score);
    free(s->score);
    memset(s, 0, sizeof *s);
}

void spectrum_mark(struct spectrum *s, const struct sheet *sheet)
{
    for (unsigned i = 0; i < s->count; i++) {
        struct patch *patch = &s->patch[i];
        const unsigned left = patch->x / SHEET_LANES;
        const unsigned top = patch->y / SHEET_LANES;
        const unsigned right = (patch->x + s->length - 1) / SHEET_LANES;
        const unsigned bottom = (patch->y + s->length - 1) / SHEET_LANES;
        unsigned saturated = 0;
        for (unsigned y = top; y <= bottom; y++)
            for (unsigned x = left; x <= right; x++)
                saturated += sheet->saturated[(size_t)y * sheet->cells_x + x];
        patch->is_usable = saturated * 25 < s->length * s->length;
    }
}

/* The powers of one of the two patches in the square, continued over all borders. Patch 0 is the
 * real part of the square's pixels, patch 1 the imaginary part. */
static float complex bin_of(const struct spectrum *s, unsigned which, int kx, int ky)
{
    const unsigned mask = s->length - 1;
    const float complex z =
        s->square[(size_t)((unsigned)ky & mask) * s->length + ((unsigned)kx & mask)];
    const float complex m =
        s->square[(size_t)((unsigned)-ky & mask) * s->length + ((unsigned)-kx & mask)];
    if (which == 0)
        return 0.5F * ((crealf(z) + crealf(m)) + (cimagf(z) - cimagf(m)) * I);
    return 0.5F * ((cimagf(z) + cimagf(m)) + (crealf(m) - crealf(z)) * I);
}

static void fill_power(struct spectrum *s, unsigned which)
{
    const unsigned width = border_columns(s);
    for (unsigned y = 0; y < border_rows(s); y++)
        for (unsigned x = 0; x < width; x++) {
            const float complex bin = bin_of(s, which, (int)x - (int)OUTER, (int)y - (int)OUTER);
            s->power[(size_t)y * width + x] = crealf(bin) * crealf(bin) + cimagf(bin) * cimagf(bin);
        }
}

/* Adds the score of one patch, whose powers are in `power`. */
static void add_score(struct spectrum *s)
{
    const unsigned width = border_columns(s);
    const unsigned bins = s->length / 2 + 1;
    const float around = (2 * OUTER + 1) * (2 * OUTER + 1) - (2 * INNER + 1) * (2 * INNER + 1);
    float *outer = s->sums;
    float *inner = s->sums + (size_t)width * border_rows(s);
    for (unsigned y = 0; y < border_rows(s); y++) {
        const float *power = s->power + (size_t)y * width;
        for (unsigned x = 0; x < bins; x++) {
            float near = 0;
            for (unsigned k = OUTER - INNER; k <= OUTER + INNER; k++)
                near += power[x + k];
            float far = near;
            for (unsigned k = 0; k < OUTER - INNER; k++)
                far += power[x + k] + power[x + 2 * OUTER - k];
            inner[(size_t)y * bins + x] = near;
            outer[(size_t)y * bins + x] = far;
        }
    }
    for (unsigned y = 0; y < s->length; y++) {
        float *score = s->frame_score + (size_t)y * bins;
        const float *power = s->power + (size_t)(y + OUTER) * width + OUTER;
        for (unsigned x = 0; x < bins; x++) {
            float sum = 0;
            for (unsigned k = 0; k <= 2 * OUTER; k++)
                sum += outer[(size_t)(y + k) * bins + x];
            for (unsigned k = OUTER - INNER; k <= OUTER + INNER; k++)
                sum -= inner[(size_t)(y + k) * bins + x];
            const float mean = (sum > 0 ? sum : 0) / around + 1e-3F;
            score[x] += power[x] / (power[x] + 4 * mean);
        }
    }
}

/* The transform of the window at `offset` bins, with the phase at the patch's centre. */
static double window_at(const struct spectrum *s, double offset)
{
    double sum = 0;
    const double complex step = cexp(2 * M_PI * I * offset / s->length);
    double complex turn = cexp(-M_PI * I * offset * (s->length - 1) / s->length);
    for (unsigned i = 0; i < s->length; i++, turn *= step)
        sum += s->window[i] * creal(turn);
    return sum;
}

/* A wave's peak in the spectrum of any patch. */
struct lobe {
    int kx, ky; /* the bin next to it */
    double x[2 * LOBE + 1], y[2 * LOBE + 1];
    double norm;
};

static void shape_lobe(const struct spectrum *s, struct sheet_frequency f, struct lobe *ret)
{
    double square_x = 0;
    double square_y = 0;
    ret->kx = (int)lround(f.fx * s->length);
    ret->ky = (int)lround(f.fy * s->length);
    for (int i = 0; i <= 2 * LOBE; i++) {
        ret->x[i] = window_at(s, ret->kx + i - LOBE - f.fx * s->length);
        ret->y[i] = window_at(s, ret->ky + i - LOBE - f.fy * s->length);
        square_x += ret->x[i] * ret->x[i];
        square_y += ret->y[i] * ret->y[i];
    }
    ret->norm = 2 / (square_x * square_y);
}

static void take_sample(const struct spectrum *s, unsigned which, const struct patch *patch,
                        struct sheet_frequency f, const struct lobe *lobe, struct patch_sample *ret)
{
    const double half = (s->length - 1) / 2.0;
    /* Bins have their phase at the patch's first pixel; the window's transform, at its centre. */
    double complex sum = 0;
    for (int j = -LOBE; j <= LOBE; j++)
        for (int i = -LOBE; i <= LOBE; i++) {
            const double to_centre = 2 * M_PI * (lobe->kx + i + lobe->ky + j) * half / s->length;
            sum += (double complex)bin_of(s, which, lobe->kx + i, lobe->ky + j) *
                   cexp(I * to_centre) * (lobe->x[i + LOBE] * lobe->y[j + LOBE]);
        }
    ret->amplitude =
        sum * lobe->norm * cexp(-2 * M_PI * I * (f.fx * patch->to_x + f.fy * patch->to_y));
    double mean = 0;
    double most = 0;
    for (unsigned k = 0; k < NEAR_COUNT; k++) {
        const double angle = 2 * M_PI * k / NEAR_COUNT;
        const float complex bin = bin_of(s, which, lobe->kx + (int)lround(NEAR * cos(angle)),
                                         lobe->ky + (int)lround(NEAR * sin(angle)));
        const double power = crealf(bin) * crealf(bin) + cimagf(bin) * cimagf(bin);
        mean += power / NEAR_COUNT;
        most = power > most ? power : most;
    }
    /* The power of a Hann window's bin against that of the amplitude, both for white noise. */
    const double area = (double)s->length * s->length;
    ret->power = 107.6 * mean / (area * area);
    ret->power_most = 107.6 * most / (area * area);
}

static void load_pair(struct spectrum *s, const struct sheet *sheet, const struct patch *a,
                      const struct patch *b)
{
    for (unsigned y = 0; y < s->length; y++) {
        const float *from_a = sheet->pixel + (size_t)(a->y + y) * sheet->stride + a->x;
        const float *from_b = sheet->pixel + (size_t)(b->y + y) * sheet->stride + b->x;
        float complex *to = s->square + (size_t)y * s->length;
        for (unsigned x = 0; x < s->length; x++) {
            const float window = s->window[y] * s->window[x];
            to[x] = window * from_a[x] + window * from_b[x] * I;
        }
    }
    fft_square(s->fft, s->square, false);
}

static void average(struct spectrum *s, unsigned usable)
{
    if (usable == 0)
        return;
    if (s->scored < FRAMES)
        s->scored++;
    for (size_t i = 0; i < score_size(s); i++)
        s->score[i] += (s->frame_score[i] / (float)usable - s->score[i]) / (float)s->scored;
}

void spectrum_process(struct spectrum *s, const struct sheet *sheet,
                      const struct sheet_frequency *f, unsigned count, struct patch_sample *sample,
                      unsigned *ret_patch, unsigned *ret_patches)
{
    struct lobe lobe[SHEET_MAX_WAVES];
    unsigned usable = 0;
    const unsigned patches = s->count < s->per_frame ? s->count : s->per_frame;
    *ret_patches = patches;
    if (patches == 0)
        return;
    memset(s->frame_score, 0, score_size(s) * sizeof *s->frame_score);
    for (unsigned k = 0; k < count; k++)
        shape_lobe(s, f[k], &lobe[k]);
    for (unsigned i = 0; i < patches; i++)
        ret_patch[i] = s->order[(s->next + i) % s->count];
    s->next = (s->next + patches) % s->count;
    for (unsigned i = 0; i < patches; i += 2) {
        const unsigned pair = i + 1 < patches ? 2 : 1;
        load_pair(s, sheet, &s->patch[ret_patch[i]], &s->patch[ret_patch[i + pair - 1]]);
        for (unsigned which = 0; which < pair; which++) {
            const unsigned p = ret_patch[i + which];
            for (unsigned k = 0; k < count; k++)
                take_sample(s, which, &s->patch[p], f[k], &lobe[k], &sample[k * s->count + p]);
            if (!s->patch[p].is_usable)
                continue;
            fill_power(s, which);
            add_score(s);
            usable++;
        }
    }
    average(s, usable);
}

/* The score of a bin, continued over all borders. */
static float score_at(const struct spectrum *s, int kx, int ky)
{
    const unsigned mask = s->length - 1;
    if (((unsigned)kx & mask) > s->length / 2) {
        kx = -kx;
        ky = -ky;
    }
    return s->score[(size_t)((unsigned)ky & mask) * (s->length / 2 + 1) + ((unsigned)kx & mask)];
}

static bool is_peak(const struct spectrum *s, int kx, int ky)
{
    const float own = score_at(s, kx, ky);
    for (int j = -2; j <= 2; j++)
        for (int i = -2; i <= 2; i++) {
            const float other = score_at(s, kx + i, ky + j);
            if (other > own || (other == own && (j < 0 || (j == 0 && i < 0))))
                return false;
        }
    return true;
}

unsigned spectrum_peaks(const struct spectrum *s, struct spectrum_peak *ret, unsigned most)
{
    const int length = (int)s->length;
    const float least = 0.3F;
    unsigned count = 0;
    for (int ky = -length / 2; ky < length / 2; ky++)
        for (int kx = 0; kx <= length / 2; kx++) {
            const float score = score_at(s, kx, ky);
            /* In these columns, the other half is the same frequency. */
            if (kx % (length / 2) == 0 && ky < 0 && ky > -length / 2)
                continue;
            if (score < least || kx * kx + ky * ky < 9 || !is_peak(s, kx, ky))
                continue;
            if (count == most && ret[most - 1].score >= score)
                continue;
            unsigned i = count < most ? count++ : most - 1;
            for (; i > 0 && ret[i - 1].score < score; i--)
                ret[i] = ret[i - 1];
            ret[i] = (struct spectrum_peak){{(double)kx / length, (double)ky / length}, score};
        }
    return count;
}

void spectrum_project(const struct spectrum *s, const struct sheet *sheet, struct sheet_frequency f,
                      double complex *ret)
{
    const double complex step_x = cexp(-2 * M_PI * I * f.fx);
    const double complex step_y = cexp(-2 * M_PI * I * f.fy);
    float re[MAX_LENGTH] = {0};
    float im[MAX_LENGTH] = {0};
    double total = 0;
    double complex at = cexp(M_PI * I * f.fx * (s->length - 1));
    for (unsigned x = 0; x < s->length; x++, at *= step_x) {
        re[x] = (float)creal(at) * s->window[x];
        im[x] = (float)cimag(at) * s->window[x];
        total += s->window[x];
    }
    for (unsigned p = 0; p < s->count; p++) {
        const struct patch *patch = &s->patch[p];
        double complex sum = 0;
        double complex turn = cexp(M_PI * I * f.fy * (s->length - 1));
        for (unsigned y = 0; y < s->length; y++, turn *= step_y) {
            const float *row = sheet->pixel + (size_t)(patch->y + y) * sheet->stride + patch->x;
            float sum_re[SHEET_LANES] = {0};
            float sum_im[SHEET_LANES] = {0};
            for (unsigned x = 0; x < s->length; x += SHEET_LANES)
                for (unsigned l = 0; l < SHEET_LANES; l++) {
                    sum_re[l] += row[x + l] * re[x + l];
                    sum_im[l] += row[x + l] * im[x + l];
                }
            double line_re = 0;
            double line_im = 0;
            for (unsigned l = 0; l < SHEET_LANES; l++) {
                line_re += sum_re[l];
                line_im += sum_im[l];
            }
            sum += (line_re + line_im * I) * turn * s->window[y];
        }
        ret[p] = 2 * sum / (total * total) *
                 cexp(-2 * M_PI * I * (f.fx * patch->to_x + f.fy * patch->to_y));
    }
}
