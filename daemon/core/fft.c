#include "core/fft.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define COLUMNS 4 /* transformed side by side; the strip is on the stack */

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

/* a * b, without the checks for infinite numbers that C prescribes for the operator. */
static inline float complex times(float complex a, float complex b)
{
    return (crealf(a) * crealf(b) - cimagf(a) * cimagf(b)) +
           (crealf(a) * cimagf(b) + cimagf(a) * crealf(b)) * I;
}

/* Transforms `lines` lines at once: number i of line k is data[i * lines + k]. */
static void transform(const struct fft *fft, float complex *data, unsigned lines, bool inverse)
{
    const unsigned length = fft->length;
    for (unsigned i = 0; i < length; i++) {
        const unsigned j = fft->reversed[i];
        for (unsigned k = 0; i < j && k < lines; k++) {
            const float complex kept = data[i * lines + k];
            data[i * lines + k] = data[j * lines + k];
            data[j * lines + k] = kept;
        }
    }
    for (unsigned half = 1; half < length; half *= 2)
        for (unsigned first = 0; first < length; first += 2 * half)
            for (unsigned p = 0; p < half; p++) {
                const float complex forward = fft->factor[p * (length / 2 / half)];
                const float complex factor = inverse ? conjf(forward) : forward;
                float complex *a = data + (first + p) * lines;
                float complex *b = a + half * lines;
                for (unsigned k = 0; k < lines; k++) {
                    const float complex turned = times(b[k], factor);
                    b[k] = a[k] - turned;
                    a[k] += turned;
                }
            }
}

void fft_line(const struct fft *fft, float complex *line, bool inverse)
{
    transform(fft, line, 1, inverse);
}

void fft_square(const struct fft *fft, float complex *square, bool inverse)
{
    const unsigned length = fft->length;
    const unsigned columns = length < COLUMNS ? length : COLUMNS;
    float complex strip[FFT_MAX_LENGTH * COLUMNS];

    for (unsigned y = 0; y < length; y++)
        fft_line(fft, square + (size_t)y * length, inverse);
    for (unsigned x = 0; x < length; x += columns) {
        for (unsigned y = 0; y < length; y++)
            for (unsigned k = 0; k < columns; k++)
                strip[y * columns + k] = square[(size_t)y * length + x + k];
        transform(fft, strip, columns, inverse);
        for (unsigned y = 0; y < length; y++)
            for (unsigned k = 0; k < columns; k++)
                square[(size_t)y * length + x + k] = strip[y * columns + k];
    }
}
