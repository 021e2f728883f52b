#include "core/fft.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/vectors.h"

#define LANES FLOATS /* lines that are transformed side by side; the strip is on the stack */

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

/* LANES lines, whose numbers i are side by side. */
struct strip {
    float re[FFT_MAX_LENGTH * LANES], im[FFT_MAX_LENGTH * LANES];
};

/* One number of each of LANES lines. */
struct lanes {
    floats re, im;
};

static ALWAYS_INLINE void get(struct lanes *ret, const struct strip *strip, unsigned i)
{
    ret->re = FLOATS_AT(strip->re + (size_t)i * LANES);
    ret->im = FLOATS_AT(strip->im + (size_t)i * LANES);
}

static ALWAYS_INLINE void put(struct strip *strip, unsigned i, const floats *re, const floats *im)
{
    FLOATS_AT(strip->re + (size_t)i * LANES) = *re;
    FLOATS_AT(strip->im + (size_t)i * LANES) = *im;
}

static ALWAYS_INLINE void turn(struct lanes *numbers, float complex factor, bool inverse)
{
    const float cosine = crealf(factor), sine = inverse ? -cimagf(factor) : cimagf(factor);
    const floats re = numbers->re * cosine - numbers->im * sine;
    numbers->im = numbers->re * sine + numbers->im * cosine;
    numbers->re = re;
}

/* a becomes a + b, and b becomes a - b. */
static ALWAYS_INLINE void add_and_subtract(struct lanes *a, struct lanes *b)
{
    const struct lanes sum = {a->re + b->re, a->im + b->im};
    b->re = a->re - b->re;
    b->im = a->im - b->im;
    *a = sum;
}

/* Does two stages at once: four transforms of `half` numbers become one. */
static ALWAYS_INLINE void double_stage(const struct fft *fft, struct strip *strip, unsigned half,
                                       bool inverse)
{
    const unsigned length = fft->length, step = length / 4 / half;
    for (unsigned first = 0; first < length; first += 4 * half)
        for (unsigned p = 0; p < half; p++) {
            struct lanes number[4];
            for (unsigned k = 0; k < 4; k++)
                get(&number[k], strip, first + p + k * half);
            turn(&number[1], fft->factor[2 * p * step], inverse);
            turn(&number[3], fft->factor[2 * p * step], inverse);
            add_and_subtract(&number[0], &number[1]);
            add_and_subtract(&number[2], &number[3]);
            turn(&number[2], fft->factor[p * step], inverse);
            turn(&number[3], fft->factor[(p + half) * step], inverse);
            add_and_subtract(&number[0], &number[2]);
            add_and_subtract(&number[1], &number[3]);
            for (unsigned k = 0; k < 4; k++)
                put(strip, first + p + k * half, &number[k].re, &number[k].im);
        }
}

static ALWAYS_INLINE void last_stage(const struct fft *fft, struct strip *strip, bool inverse)
{
    const unsigned half = fft->length / 2;
    for (unsigned p = 0; p < half; p++) {
        struct lanes a, b;
        get(&a, strip, p);
        get(&b, strip, p + half);
        turn(&b, fft->factor[p], inverse);
        add_and_subtract(&a, &b);
        put(strip, p, &a.re, &a.im);
        put(strip, p + half, &b.re, &b.im);
    }
}

/* The numbers come in reversed order of their bits. */
static ALWAYS_INLINE void transform_strip(const struct fft *fft, struct strip *strip, bool inverse)
{
    unsigned half = 1;
    for (; 4 * half <= fft->length; half *= 4)
        double_stage(fft, strip, half, inverse);
    if (half < fft->length)
        last_stage(fft, strip, inverse);
}

/* Transforms LANES columns that are side by side. */
static ALWAYS_INLINE void transform_columns(const struct fft *fft, struct strip *strip,
                                            float complex *data, bool inverse)
{
    for (unsigned i = 0; i < fft->length; i++) {
        const float *from = (const float *)(data + (size_t)fft->reversed[i] * fft->length);
        const floats a = FLOATS_AT(from), b = FLOATS_AT(from + FLOATS);
        const floats re = FLOATS_OF(a, b, 0, 2, 4, 6, 8, 10, 12, 14);
        const floats im = FLOATS_OF(a, b, 1, 3, 5, 7, 9, 11, 13, 15);
        put(strip, i, &re, &im);
    }
    transform_strip(fft, strip, inverse);
    for (unsigned i = 0; i < fft->length; i++) {
        float *to = (float *)(data + (size_t)i * fft->length);
        struct lanes own;
        get(&own, strip, i);
        FLOATS_AT(to) = FLOATS_OF(own.re, own.im, 0, 8, 1, 9, 2, 10, 3, 11);
        FLOATS_AT(to + FLOATS) = FLOATS_OF(own.re, own.im, 4, 12, 5, 13, 6, 14, 7, 15);
    }
}

/* Transposes FLOATS x FLOATS numbers: exchanges single numbers within squares of 2 x 2, then such
 * squares within squares of 4 x 4, and then these. */
static ALWAYS_INLINE void transpose(floats row[FLOATS])
{
    for (unsigned i = 0; i < FLOATS; i += 2) {
        const floats a = row[i], b = row[i + 1];
        row[i] = FLOATS_OF(a, b, 0, 8, 2, 10, 4, 12, 6, 14);
        row[i + 1] = FLOATS_OF(a, b, 1, 9, 3, 11, 5, 13, 7, 15);
    }
    for (unsigned i = 0; i < FLOATS; i += i % 2 == 1 ? 3 : 1) {
        const floats a = row[i], b = row[i + 2];
        row[i] = FLOATS_OF(a, b, 0, 1, 8, 9, 4, 5, 12, 13);
        row[i + 2] = FLOATS_OF(a, b, 2, 3, 10, 11, 6, 7, 14, 15);
    }
    for (unsigned i = 0; i < FLOATS / 2; i++) {
        const floats a = row[i], b = row[i + 4];
        row[i] = FLOATS_OF(a, b, 0, 1, 2, 3, 8, 9, 10, 11);
        row[i + 4] = FLOATS_OF(a, b, 4, 5, 6, 7, 12, 13, 14, 15);
    }
}

/* Transforms LANES rows below each other. */
static ALWAYS_INLINE void transform_rows(const struct fft *fft, struct strip *strip,
                                         float complex *data, bool inverse)
{
    floats re[FLOATS], im[FLOATS];
    for (unsigned i = 0; i < fft->length; i += FLOATS) {
        for (unsigned k = 0; k < LANES; k++) {
            const float *from = (const float *)(data + (size_t)k * fft->length + i);
            const floats a = FLOATS_AT(from), b = FLOATS_AT(from + FLOATS);
            re[k] = FLOATS_OF(a, b, 0, 2, 4, 6, 8, 10, 12, 14);
            im[k] = FLOATS_OF(a, b, 1, 3, 5, 7, 9, 11, 13, 15);
        }
        transpose(re);
        transpose(im);
        for (unsigned k = 0; k < FLOATS; k++)
            put(strip, fft->reversed[i + k], &re[k], &im[k]);
    }
    transform_strip(fft, strip, inverse);
    for (unsigned i = 0; i < fft->length; i += FLOATS) {
        for (unsigned k = 0; k < FLOATS; k++) {
            struct lanes own;
            get(&own, strip, i + k);
            re[k] = own.re;
            im[k] = own.im;
        }
        transpose(re);
        transpose(im);
        for (unsigned k = 0; k < LANES; k++) {
            float *to = (float *)(data + (size_t)k * fft->length + i);
            FLOATS_AT(to) = FLOATS_OF(re[k], im[k], 0, 8, 1, 9, 2, 10, 3, 11);
            FLOATS_AT(to + FLOATS) = FLOATS_OF(re[k], im[k], 4, 12, 5, 13, 6, 14, 7, 15);
        }
    }
}

/* Transforms the lines of a square that has fewer than LANES. */
static ALWAYS_INLINE void transform_few(const struct fft *fft, struct strip *strip,
                                        float complex *data, size_t step, size_t next, bool inverse)
{
    const unsigned length = fft->length;
    for (unsigned i = 0; i < length; i++)
        for (unsigned k = 0; k < length; k++) {
            strip->re[i * LANES + k] = crealf(data[fft->reversed[i] * step + k * next]);
            strip->im[i * LANES + k] = cimagf(data[fft->reversed[i] * step + k * next]);
        }
    transform_strip(fft, strip, inverse);
    for (unsigned i = 0; i < length; i++)
        for (unsigned k = 0; k < length; k++)
            data[i * step + k * next] = strip->re[i * LANES + k] + strip->im[i * LANES + k] * I;
}

VECTORS void fft_square(const struct fft *fft, float complex *square, bool inverse)
{
    const unsigned length = fft->length;
    struct strip strip;

    if (length < LANES) {
        memset(&strip, 0, sizeof strip);
        transform_few(fft, &strip, square, 1, length, inverse);
        transform_few(fft, &strip, square, length, 1, inverse);
        return;
    }
    for (unsigned y = 0; y < length; y += LANES)
        transform_rows(fft, &strip, square + (size_t)y * length, inverse);
    for (unsigned x = 0; x < length; x += LANES)
        transform_columns(fft, &strip, square + x, inverse);
}
