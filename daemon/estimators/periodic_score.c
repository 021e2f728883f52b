/* The Makefile has -O3 for this file. */
#include "estimators/periodic_score.h"

#include <string.h>

#include "core/fft.h"

#define OUTER SCORE_OUTER
#define LOBE  ((unsigned)SCORE_LOBE)

static unsigned border_columns(const struct score *s)
{
    return score_stride(s->length) + 2 * OUTER;
}

static unsigned border_rows(const struct score *s)
{
    return s->length + 2 * OUTER;
}

static ALWAYS_INLINE void square_columns(unsigned x, floats *ret)
{
    floats square = {0};
    for (unsigned i = 0; i < FLOATS; i++)
        square[i] = (float)((x + i) * (x + i));
    *ret = square;
}

/* Fills in the powers of one patch's bins, flattened. Opposite frequencies of the square tell the
 * two patches apart. Numbers beyond the bins of a row are replaced by the borders, or have no
 * effect. */
static ALWAYS_INLINE void fill_bins(const struct score *s, unsigned which)
{
    const unsigned length = s->length, width = border_columns(s), stride = score_stride(s->length);
    for (unsigned y = 0; y < length; y++) {
        const float complex *row = s->square + (size_t)y * length;
        const float complex *opposite = s->square + (size_t)((length - y) & (length - 1)) * length;
        float *power = s->power + (size_t)(y + OUTER) * width + OUTER;
        const float square_y = score_flatten(s->length, 0, (int)y);
        for (unsigned x = 0; x < stride; x += FLOATS) {
            floats re, im, other_re, other_im, square;
            fft_take(row, x, &re, &im);
            fft_take_opposite(opposite, length, x, &other_re, &other_im);
            square_columns(x, &square);
            const floats a = 0.5F * (which == 0 ? re + other_re : im + other_im);
            const floats b = 0.5F * (which == 0 ? im - other_im : other_re - re);
            FLOATS_AT(power + x) = (a * a + b * b) * (square + square_y);
        }
    }
}

/* Opposite bins have the same power, and bins repeat after `length` of them. */
static void fill_borders(const struct score *s)
{
    const unsigned length = s->length, width = border_columns(s);
    const size_t row_bytes = width * sizeof *s->power;
    float *first = s->power + (size_t)OUTER * width, *end = first + (size_t)length * width;
    for (unsigned y = 0; y < length; y++) {
        float *row = first + (size_t)y * width + OUTER;
        const float *mirrored = first + (size_t)((length - y) & (length - 1)) * width + OUTER;
        for (int k = 1; k <= (int)OUTER; k++) {
            row[-k] = mirrored[k];
            row[(int)length / 2 + k] = mirrored[(int)length / 2 - k];
        }
    }
    memcpy(s->power, end - (size_t)OUTER * width, OUTER * row_bytes);
    memcpy(end, first, OUTER * row_bytes);
}

/* Adds up powers along rows: `all` has the sums of 2 OUTER + 1 of them, and `far` leaves out the 2
 * LOBE + 1 in the middle. */
static ALWAYS_INLINE void add_along_rows(const struct score *s, float *all, float *far)
{
    const unsigned width = border_columns(s), stride = score_stride(s->length);
    for (unsigned y = 0; y < border_rows(s); y++)
        for (unsigned x = 0; x < stride; x += FLOATS) {
            const float *power = s->power + (size_t)y * width + x;
            floats near = {0}, sum = {0};
            for (unsigned k = OUTER - LOBE; k <= OUTER + LOBE; k++)
                near += FLOATS_AT(power + k);
            for (unsigned k = 0; k < OUTER - LOBE; k++)
                sum += FLOATS_AT(power + k) + FLOATS_AT(power + 2 * OUTER - k);
            FLOATS_AT(far + (size_t)y * stride + x) = sum;
            FLOATS_AT(all + (size_t)y * stride + x) = sum + near;
        }
}

static ALWAYS_INLINE void add_scores(const struct score *s, const float *all, const float *far)
{
    const unsigned width = border_columns(s), stride = score_stride(s->length);
    const float around = (2 * OUTER + 1) * (2 * OUTER + 1) - (2 * LOBE + 1) * (2 * LOBE + 1);
    for (unsigned y = 0; y < s->length; y++)
        for (unsigned x = 0; x < stride; x += FLOATS) {
            float *score = s->total + (size_t)y * stride + x;
            const float *first = all + (size_t)y * stride + x;
            const float *middle = far + (size_t)(y + OUTER - LOBE) * stride + x;
            const floats power = FLOATS_AT(s->power + (size_t)(y + OUTER) * width + OUTER + x);
            floats sum = {0}, square;
            for (unsigned k = 0; k < OUTER - LOBE; k++)
                sum += FLOATS_AT(first + (size_t)k * stride) +
                       FLOATS_AT(first + (size_t)(2 * OUTER - k) * stride);
            for (unsigned k = 0; k <= 2 * LOBE; k++)
                sum += FLOATS_AT(middle + (size_t)k * stride);
            square_columns(x, &square);
            const floats mean =
                sum / around + 1e-3F * (square + score_flatten(s->length, 0, (int)y));
            FLOATS_AT(score) += power / (power + 4 * mean);
            FLOATS_AT(score + score_size(s->length)) += power;
        }
}

VECTORS void score_add(const struct score *s, unsigned which)
{
    float *all = s->sums, *far = s->sums + score_bordered(s->length);
    if (which == 0)
        fill_bins(s, 0);
    else
        fill_bins(s, 1);
    fill_borders(s);
    add_along_rows(s, all, far);
    add_scores(s, all, far);
}
