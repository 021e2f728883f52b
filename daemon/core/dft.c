#include "core/dft.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct dft {
    unsigned length;
    double complex *turn; /* exp(-2 pi i k / length), k = 0 .. length - 1; owns all three */
    double complex *scratch;
    double complex *leg; /* the numbers of one butterfly */
};

int dft_create(struct dft **ret, unsigned length, struct error *why)
{
    if (length < 1 || length > DFT_MAX_LENGTH)
        return error_set(why, EINVAL, "a transform of %u numbers is not possible: expected 1 .. %u",
                         length, DFT_MAX_LENGTH);
    struct dft *dft = calloc(1, sizeof *dft);
    if (dft == NULL)
        return error_set(why, ENOMEM, "out of memory for a transform");
    dft->length = length;
    dft->turn = calloc(3 * (size_t)length, sizeof *dft->turn);
    if (dft->turn == NULL) {
        dft_destroy(dft);
        return error_set(why, ENOMEM, "out of memory for a transform of %u numbers", length);
    }
    dft->scratch = dft->turn + length;
    dft->leg = dft->scratch + length;
    for (unsigned k = 0; k < length; k++)
        dft->turn[k] = cos(2 * M_PI * k / length) - I * sin(2 * M_PI * k / length);
    *ret = dft;
    return 0;
}

void dft_destroy(struct dft *dft)
{
    if (dft != NULL)
        free(dft->turn);
    free(dft);
}

/* a * b, without the checks for infinite numbers that C prescribes for the operator. */
static inline double complex times(double complex a, double complex b)
{
    return (creal(a) * creal(b) - cimag(a) * cimag(b)) +
           (creal(a) * cimag(b) + cimag(a) * creal(b)) * I;
}

static inline double complex minus_i(double complex a)
{
    return cimag(a) - creal(a) * I;
}

/* The smallest factor but 1, or 4. */
static unsigned next_radix(unsigned length)
{
    if (length % 4 == 0)
        return 4;
    for (unsigned radix = 2; radix * radix <= length; radix++)
        if (length % radix == 0)
            return radix;
    return length;
}

/* One stage: `count` transforms of n numbers, `count` apart, become radix times as many of n /
 * radix. Butterfly (p, q) reads its legs at q + count (p + k n / radix), multiplies result j by
 * exp(-2 pi i p j / n) and writes it to q + count (radix p + j). */
static void any_stage(const struct dft *dft, const double complex *from, double complex *to,
                      unsigned n, unsigned count, unsigned radix)
{
    const unsigned m = n / radix;
    double complex *leg = dft->leg;
    for (unsigned p = 0; p < m; p++)
        for (unsigned q = 0; q < count; q++) {
            for (unsigned k = 0; k < radix; k++)
                leg[k] = from[q + (size_t)count * (p + k * m)];
            for (unsigned j = 0; j < radix; j++) {
                double complex sum = leg[0];
                for (unsigned k = 1; k < radix; k++)
                    sum += times(leg[k], dft->turn[(size_t)j * k % radix * (dft->length / radix)]);
                to[q + (size_t)count * (radix * p + j)] =
                    times(sum, dft->turn[(size_t)p * j * count % dft->length]);
            }
        }
}

static void stage_2(const struct dft *dft, const double complex *from, double complex *to,
                    unsigned n, unsigned count)
{
    const unsigned m = n / 2;
    for (unsigned p = 0; p < m; p++) {
        const double complex turn = dft->turn[p * count];
        const double complex *a = from + (size_t)count * p, *b = a + (size_t)count * m;
        double complex *even = to + 2 * (size_t)count * p, *odd = even + count;
        for (unsigned q = 0; q < count; q++) {
            even[q] = a[q] + b[q];
            odd[q] = times(a[q] - b[q], turn);
        }
    }
}

static void stage_4(const struct dft *dft, const double complex *from, double complex *to,
                    unsigned n, unsigned count)
{
    const size_t m = n / 4 * (size_t)count;
    for (unsigned p = 0; p < n / 4; p++) {
        const double complex turn1 = dft->turn[p * count], turn2 = dft->turn[2 * p * count],
                             turn3 = dft->turn[3 * p * count];
        const double complex *a = from + (size_t)count * p;
        double complex *out = to + 4 * (size_t)count * p;
        for (unsigned q = 0; q < count; q++) {
            const double complex sum = a[q] + a[q + 2 * m], difference = a[q] - a[q + 2 * m];
            const double complex other = a[q + m] + a[q + 3 * m];
            const double complex turned = minus_i(a[q + m] - a[q + 3 * m]);
            out[q] = sum + other;
            out[q + count] = times(difference + turned, turn1);
            out[q + 2 * (size_t)count] = times(sum - other, turn2);
            out[q + 3 * (size_t)count] = times(difference - turned, turn3);
        }
    }
}

void dft_line(struct dft *dft, double complex *line)
{
    double complex *from = line, *to = dft->scratch;
    unsigned count = 1;
    for (unsigned n = dft->length; n > 1;) {
        const unsigned radix = next_radix(n);
        if (radix == 4)
            stage_4(dft, from, to, n, count);
        else if (radix == 2)
            stage_2(dft, from, to, n, count);
        else
            any_stage(dft, from, to, n, count, radix);
        double complex *swapped = from;
        from = to;
        to = swapped;
        n /= radix;
        count *= radix;
    }
    if (from != line)
        memcpy(line, from, dft->length * sizeof *line);
}

void dft_axis(struct dft *dft, double complex *plane, double complex *line, size_t length,
              size_t lines, size_t step, size_t next)
{
    for (size_t k = 0; k < lines; k++) {
        for (size_t i = 0; i < length; i++)
            line[i] = plane[k * next + i * step];
        dft_line(dft, line);
        for (size_t i = 0; i < length; i++)
            plane[k * next + i * step] = line[i];
    }
}
