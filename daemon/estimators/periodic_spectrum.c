#include "estimators/periodic_spectrum.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "estimators/periodic_score.h"

#define MIN_LENGTH 32u
#define LOBE       SCORE_LOBE
/* patch_sample: the distance in bins of the frequencies around, at which nothing of the wave is
 * left, since their peaks are as wide as its own; and how many of them. */
#define NEAR       (2. * LOBE)
#define NEAR_COUNT 16u
#define MOST_BLANK 2u         /* a patch is used unless more than half of its cells are blank */
#define EFFORT     (1u << 20) /* pixels of patches for each frame */
/* Noise scores 0.175 with a standard deviation of 0.13 in a patch, so in the mean of the 63 patches
 * of 320x240 pixels this is 7 standard deviations more. */
#define LEAST      0.3F
/* Here a wave is 36 times as strong as what is around it, and the score says no more how strong. */
#define SATURATED  0.9F
/* Frames over which the statistic is averaged: the mean of more would come later. Chosen on the
 * clips of tests/unit/periodic.c, of which 28 gave the same with 1. */
#define FRAMES     4u
/* A wave that begins makes this difference at once, which is 15 standard deviations of noise. */
#define SUDDEN     0.3F

static unsigned patch_length(unsigned width, unsigned height)
{
    const unsigned side = width < height ? width : height;
    unsigned length = MIN_LENGTH;
    if (side < SPECTRUM_MIN_FRAME)
        return 0;
    while (length < SPECTRUM_MAX_LENGTH && length * 2 <= side / 3)
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
    const size_t bordered = score_bordered(s.length);
    s.patch = calloc(s.count, sizeof *s.patch);
    s.order = calloc(s.count, sizeof *s.order);
    s.window = calloc(s.length, sizeof *s.window);
    s.square = calloc((size_t)s.length * s.length, sizeof *s.square);
    s.power = calloc(bordered, sizeof *s.power);
    s.sums = calloc(2 * bordered, sizeof *s.sums);
    s.frame_score = calloc(2 * score_size(s.length), sizeof *s.frame_score);
    s.score = calloc(2 * score_size(s.length), sizeof *s.score);
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
        unsigned blank = 0;
        for (unsigned y = top; y <= bottom; y++)
            for (unsigned x = left; x <= right; x++)
                blank += sheet_is_blank(sheet, x, y);
        patch->is_usable = blank * MOST_BLANK <= (right - left + 1) * (bottom - top + 1);
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

/* The power of the amplitude against that of a bin, both for white noise, times the fourth power of
 * the window's length. With the means 3/8 of the squares of a Hann window and 35/128 of their
 * squares it is 4 (35/128)^2 / (3/8)^6 = 107.54 if all bins count. Those of the lobe give 107.5 for
 * a wave on a bin and 108.6 for one between four. */
#define AMPLITUDE_POWER 107.6

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
    const double own = fmax(1, score_flatten(s->length, lobe->kx, lobe->ky));
    double mean = 0;
    double most = 0;
    for (unsigned k = 0; k < NEAR_COUNT; k++) {
        const double angle = 2 * M_PI * k / NEAR_COUNT;
        const int kx = lobe->kx + (int)lround(NEAR * cos(angle));
        const int ky = lobe->ky + (int)lround(NEAR * sin(angle));
        const float complex bin = bin_of(s, which, kx, ky);
        const double power = (crealf(bin) * crealf(bin) + cimagf(bin) * cimagf(bin)) *
                             fmin(1, score_flatten(s->length, kx, ky) / own);
        mean += power / NEAR_COUNT;
        most = power > most ? power : most;
    }
    const double area = (double)s->length * s->length;
    ret->power = AMPLITUDE_POWER * mean / (area * area);
    ret->power_most = AMPLITUDE_POWER * most / (area * area);
}

/* The mean of a patch as its window sees it. Without it nothing of the picture's brightness is left
 * beside frequency zero. */
static ALWAYS_INLINE float mean_of(const struct spectrum *s, const struct sheet *sheet,
                                   const struct patch *patch)
{
    floats sum = {0};
    double all = 0;
    for (unsigned y = 0; y < s->length; y++) {
        const float *row = sheet->pixel + (size_t)(patch->y + y) * sheet->stride + patch->x;
        floats line = {0};
        for (unsigned x = 0; x < s->length; x += FLOATS)
            line += FLOATS_AT(s->window + x) * FLOATS_AT(row + x);
        sum += line * s->window[y];
    }
    for (unsigned i = 0; i < FLOATS; i++)
        all += (double)sum[i];
    /* The window's mean is a half along each axis. */
    return (float)(all * 4 / ((double)s->length * s->length));
}

VECTORS static void load_pair(struct spectrum *s, const struct sheet *sheet, const struct patch *a,
                              const struct patch *b)
{
    const float mean_a = mean_of(s, sheet, a);
    const float mean_b = mean_of(s, sheet, b);
    for (unsigned y = 0; y < s->length; y++) {
        const float *from_a = sheet->pixel + (size_t)(a->y + y) * sheet->stride + a->x;
        const float *from_b = sheet->pixel + (size_t)(b->y + y) * sheet->stride + b->x;
        float *to = (float *)(s->square + (size_t)y * s->length);
        for (unsigned x = 0; x < s->length; x += FLOATS) {
            const floats window = s->window[y] * FLOATS_AT(s->window + x);
            const floats re = window * (FLOATS_AT(from_a + x) - mean_a);
            const floats im = window * (FLOATS_AT(from_b + x) - mean_b);
            FLOATS_AT(to + 2 * (size_t)x) = FLOATS_OF(re, im, 0, 8, 1, 9, 2, 10, 3, 11);
            FLOATS_AT(to + 2 * (size_t)x + FLOATS) = FLOATS_OF(re, im, 4, 12, 5, 13, 6, 14, 7, 15);
        }
    }
}

static void average(struct spectrum *s, unsigned usable)
{
    if (usable == 0)
        return;
    if (s->scored < FRAMES)
        s->scored++;
    const size_t size = score_size(s->length);
    for (size_t i = 0; i < size; i++) {
        const float score = s->frame_score[i] / (float)usable;
        const float level = s->frame_score[i + size] / (float)usable;
        const float gain = score > s->score[i] + SUDDEN ? 1 : 1 / (float)s->scored;
        s->score[i] += gain * (score - s->score[i]);
        s->score[i + size] += gain * (level - s->score[i + size]);
    }
}

void spectrum_process(struct spectrum *s, const struct sheet *sheet,
                      const struct sheet_frequency *f, unsigned count, struct patch_sample *sample,
                      unsigned *ret_patch, unsigned *ret_patches)
{
    struct lobe lobe[SHEET_MAX_WAVES];
    unsigned usable = 0;
    const unsigned patches = s->count < s->per_frame ? s->count : s->per_frame;
    const struct score score = {s->length, s->square, s->power, s->sums, s->frame_score};
    *ret_patches = patches;
    if (patches == 0)
        return;
    memset(s->frame_score, 0, 2 * score_size(s->length) * sizeof *s->frame_score);
    for (unsigned k = 0; k < count; k++)
        shape_lobe(s, f[k], &lobe[k]);
    for (unsigned i = 0; i < patches; i++)
        ret_patch[i] = s->order[(s->next + i) % s->count];
    s->next = (s->next + patches) % s->count;
    for (unsigned i = 0; i < patches; i += 2) {
        const unsigned pair = i + 1 < patches ? 2 : 1;
        load_pair(s, sheet, &s->patch[ret_patch[i]], &s->patch[ret_patch[i + pair - 1]]);
        fft_square(s->fft, s->square, false);
        for (unsigned which = 0; which < pair; which++) {
            const unsigned p = ret_patch[i + which];
            for (unsigned k = 0; k < count; k++)
                take_sample(s, which, &s->patch[p], f[k], &lobe[k], &sample[k * s->count + p]);
            if (!s->patch[p].is_usable)
                continue;
            score_add(&score, which);
            usable++;
        }
    }
    average(s, usable);
}

/* Returns the score or the mean power of a bin. Bins repeat beyond the borders. */
static float value_at(const struct spectrum *s, const float *values, int kx, int ky)
{
    const unsigned mask = s->length - 1;
    if (((unsigned)kx & mask) > s->length / 2) {
        kx = -kx;
        ky = -ky;
    }
    return values[(size_t)((unsigned)ky & mask) * score_stride(s->length) + ((unsigned)kx & mask)];
}

static float score_at(const struct spectrum *s, int kx, int ky)
{
    return value_at(s, s->score, kx, ky);
}

/* Moves from the bin at which a strong wave stands out most to that at which it is strongest: near
 * 1, scores are about the same over the whole width of a wave's peak. */
static struct sheet_frequency strongest_near(const struct spectrum *s, int kx, int ky)
{
    const float *level = s->score + score_size(s->length);
    int best_x = kx;
    int best_y = ky;
    for (int j = -LOBE; j <= LOBE; j++)
        for (int i = -LOBE; i <= LOBE; i++)
            if (value_at(s, level, kx + i, ky + j) > value_at(s, level, best_x, best_y)) {
                best_x = kx + i;
                best_y = ky + j;
            }
    return (struct sheet_frequency){(double)best_x / s->length, (double)best_y / s->length};
}

static bool is_peak(const struct spectrum *s, int kx, int ky)
{
    const float own = score_at(s, kx, ky);
    for (int j = -LOBE; j <= LOBE; j++)
        for (int i = -LOBE; i <= LOBE; i++) {
            const float other = score_at(s, kx + i, ky + j);
            if (other > own || (other == own && (j < 0 || (j == 0 && i < 0))))
                return false;
        }
    return true;
}

unsigned spectrum_peaks(const struct spectrum *s, struct spectrum_peak *ret, unsigned most)
{
    const int length = (int)s->length;
    unsigned count = 0;
    for (int ky = -length / 2; ky < length / 2; ky++)
        for (int kx = 0; kx <= length / 2; kx++) {
            const float score = score_at(s, kx, ky);
            /* In these columns, the other half is the same frequency. */
            if (kx % (length / 2) == 0 && ky < 0 && ky > -length / 2)
                continue;
            if (score < LEAST || kx * kx + ky * ky < 9 || !is_peak(s, kx, ky))
                continue;
            if (count == most && ret[most - 1].score >= score)
                continue;
            unsigned i = count < most ? count++ : most - 1;
            for (; i > 0 && ret[i - 1].score < score; i--)
                ret[i] = ret[i - 1];
            ret[i] = (struct spectrum_peak){{(double)kx / length, (double)ky / length}, score};
            if (score > SATURATED)
                ret[i].f = strongest_near(s, kx, ky);
        }
    return count;
}
