/* Discrete Fourier transforms on the processor, of lengths that are powers of two. Pure.
 *
 * The daemon filters frames on the device (engine/engine.h). These transforms serve what is
 * estimated from small parts of frames beside the frame path, such as shifts and periodic noise.
 *
 * Forward: X[k] = sum over n of x[n] exp(-2 pi i k n / N). Inverse: the conjugate, without the
 * factor 1/N. Both work in place and leave the numbers in natural order. Errors are about 1e-7
 * log2(N) of the largest number (float). A plan may be used by several threads at once.
 *
 * Source of the maths: Cooley and Tukey, Mathematics of Computation 19 (1965), radix 2. */
#ifndef FFTD_CORE_FFT_H
#define FFTD_CORE_FFT_H

#include <complex.h>
#include <stdbool.h>

#include "core/error.h"
#include "core/vectors.h"

#define FFT_MAX_LENGTH 4096u

struct fft;

/* length: a power of two, 2 .. FFT_MAX_LENGTH. -EINVAL, -ENOMEM. */
int fft_create(struct fft **ret, unsigned length, struct error *why);
void fft_destroy(struct fft *fft); /* NULL is allowed */

/* Transforms a square of length x length numbers, rows side by side, along both axes. */
void fft_square(const struct fft *fft, float complex *square, bool inverse);

/* Gets the real and imaginary parts of numbers x .. x + FLOATS - 1 of a row. */
static ALWAYS_INLINE void fft_take(const float complex *row, unsigned x, floats *ret_re,
                                   floats *ret_im)
{
    const float *from = (const float *)(row + x);
    const floats a = FLOATS_AT(from), b = FLOATS_AT(from + FLOATS);
    *ret_re = FLOATS_OF(a, b, 0, 2, 4, 6, 8, 10, 12, 14);
    *ret_im = FLOATS_OF(a, b, 1, 3, 5, 7, 9, 11, 13, 15);
}

/* Gets the numbers of a row at the opposite frequencies of these. */
static ALWAYS_INLINE void fft_take_opposite(const float complex *row, unsigned length, unsigned x,
                                            floats *ret_re, floats *ret_im)
{
    if (x == 0) { /* zero is its own opposite */
        floats re = {0}, im = {0};
        for (unsigned i = 0; i < FLOATS; i++) {
            re[i] = crealf(row[(length - i) % length]);
            im[i] = cimagf(row[(length - i) % length]);
        }
        *ret_re = re;
        *ret_im = im;
        return;
    }
    const float *from = (const float *)(row + (length - x - (FLOATS - 1)));
    const floats a = FLOATS_AT(from), b = FLOATS_AT(from + FLOATS);
    *ret_re = FLOATS_OF(a, b, 14, 12, 10, 8, 6, 4, 2, 0);
    *ret_im = FLOATS_OF(a, b, 15, 13, 11, 9, 7, 5, 3, 1);
}

#endif
