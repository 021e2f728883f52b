#include "core/fft.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/vectors.h"

#define LANES 8 /* lines that are transformed side by side; the strip is on the stack */

struct fft {
    unsigned length;
    unsigned *reversed;    /* the index whose bits are those of i in reverse order */
    float complex *factor; /* exp(-2 pi i k / length), k = 0 .. length / 2 - 1 */
};

int fft_create(struct fft **ret, unsigned length, struct error *why)
{
    if (length < 2 || length > FFT_MAX_LENGTH || (length & (length - 1)) != 0)
        return error_set(why, EINVAL,
                         "a transform of %u numbers is not possible: expected a power of two, "
                         "2 .. %u",
                         length, FFT_MAX_LENGTH);
    struct fft *fft = calloc(1, sizeof *fft);
    if (fft == NULL)
        return error_set(why, ENOMEM, "out of memory for a transform");
    fft->length = length;
    fft->reversed = calloc(length, sizeof *fft->reversed);
    fft->factor = calloc(length / 2, sizeof *fft->factor);
    if (fft->reversed == NULL || fft->factor == NULL) {
        fft_destroy(fft);
        return error_set(why, ENOMEM, "out of memory for a transform of %u numbers", length);
    }
    for (unsigned i = 1; i < length; i++)
        fft->reversed[i] = fft->reversed[i / 2] / 2 + (i % 2) * (length / 2);
    for (unsigned k = 0; k < length / 2; k++) {
        const double angle = -2 * M_PI * k / length;
        fft->factor[k] = (float)cos(angle) + (float)sin(angle) * I;
    }
    *ret = fft;
    return 0;
}

void fft_destroy(struct fft *fft)
{
    if (fft == NULL)
        return;
    free(fft->reversed);
    free(fft->factor);
    free(fft);
}

/* Numbers i of LANES lines are side by side, so that compilers make vectors of them. */
struct strip {
    float re[FFT_MAX_LENGTH * LANES], im[FFT_MAX_LENGTH * LANES];
};

static ALWAYS_INLINE void add_and_subtract(float *restrict a_re, float *restrict a_im,
                                           float *restrict b_re, float *restrict b_im)
{
    for (unsigned k = 0; k < LANES; k++) {
        const float re = b_re[k], im = b_im[k];
        b_re[k] = a_re[k] - re;
        b_im[k] = a_im[k] - im;
        a_re[k] += re;
        a_im[k] += im;
    }
}

static ALWAYS_INLINE void butterfly(float *restrict a_re, float *restrict a_im,
                                    float *restrict b_re, float *restrict b_im, float cosine,
                                    float sine)
{
    for (unsigned k = 0; k < LANES; k++) {
        const float re = b_re[k] * cosine - b_im[k] * sine;
        const float im = b_re[k] * sine + b_im[k] * cosine;
        b_re[k] = a_re[k] - re;
        b_im[k] = a_im[k] - im;
        a_re[k] += re;
        a_im[k] += im;
    }
}

/* The numbers come in reversed order of their bits. */
static ALWAYS_INLINE void transform_strip(const struct fft *fft, struct strip *strip, bool inverse)
{
    const unsigned length = fft->length;
    for (unsigned half = 1; half < length; half *= 2)
        for (unsigned first = 0; first < length; first += 2 * half) {
            float *re = strip->re + (size_t)first * LANES, *im = strip->im + (size_t)first * LANES;
            const size_t other = (size_t)half * LANES;
            add_and_subtract(re, im, re + other, im + other);
            for (unsigned p = 1; p < half; p++) {
                const float complex factor = fft->factor[p * (length / 2 / half)];
                re += LANES;
                im += LANES;
                butterfly(re, im, re + other, im + other, crealf(factor),
                          inverse ? -cimagf(factor) : cimagf(factor));
            }
        }
}

/* Transforms some lines that begin at `data` and are `next` numbers apart. */
static ALWAYS_INLINE void transform_lines(const struct fft *fft, struct strip *strip,
                                          float complex *data, unsigned lines, size_t step,
                                          size_t next, bool inverse)
{
    for (unsigned i = 0; i < fft->length; i++) {
        const float complex *from = data + fft->reversed[i] * step;
        for (unsigned k = 0; k < lines; k++) {
            strip->re[i * LANES + k] = crealf(from[k * next]);
            strip->im[i * LANES + k] = cimagf(from[k * next]);
        }
    }
    transform_strip(fft, strip, inverse);
    for (unsigned i = 0; i < fft->length; i++)
        for (unsigned k = 0; k < lines; k++)
            data[i * step + k * next] = strip->re[i * LANES + k] + strip->im[i * LANES + k] * I;
}

VECTORS void fft_square(const struct fft *fft, float complex *square, bool inverse)
{
    const unsigned length = fft->length;
    const unsigned lines = length < LANES ? length : LANES;
    struct strip strip;

    if (lines < LANES)
        memset(&strip, 0, sizeof strip);
    for (unsigned y = 0; y < length; y += lines)
        transform_lines(fft, &strip, square + (size_t)y * length, lines, 1, length, inverse);
    for (unsigned x = 0; x < length; x += lines)
        transform_lines(fft, &strip, square + x, lines, length, 1, inverse);
}
