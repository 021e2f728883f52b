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

#define FFT_MAX_LENGTH 4096u

struct fft;

/* length: a power of two, 2 .. FFT_MAX_LENGTH. -EINVAL, -ENOMEM. */
int fft_create(struct fft **ret, unsigned length, struct error *why);
void fft_destroy(struct fft *fft); /* NULL is allowed */

/* Transforms a square of length x length numbers, rows side by side, along both axes. */
void fft_square(const struct fft *fft, float complex *square, bool inverse);

#endif
