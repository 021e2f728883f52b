/* Discrete Fourier transforms in double precision, of any length. Pure.
 *
 * X[k] = sum over n of x[n] exp(-2 pi i k n / N). Lengths without large prime factors are fast.
 * They serve the design of filters, which is not part of the frame path; core/fft.h is smaller and
 * faster, but its numbers are floats.
 *
 * A struct dft has its own scratch memory, so only one thread may use it at a time.
 *
 * Source of the maths: Stockham's form of the fast transform, which needs no reordering (W. T.
 * Cochran et al., What is the fast Fourier transform?, Proceedings of the IEEE 55, 1967). */
#ifndef FFTD_CORE_DFT_H
#define FFTD_CORE_DFT_H

#include <complex.h>
#include <stddef.h>

#include "core/error.h"

#define DFT_MAX_LENGTH 65536u

struct dft;

/* length: 1 .. DFT_MAX_LENGTH. -EINVAL, -ENOMEM. */
int dft_create(struct dft **ret, unsigned length, struct error *why);
void dft_destroy(struct dft *dft); /* NULL is allowed */

/* Transforms one line in place. */
void dft_line(struct dft *dft, double complex *line);

/* Transforms all lines of one axis in place. Each has `length` numbers, the length of the dft, that
 * are `step` apart; they begin `next` apart. `line` is scratch memory for one. */
void dft_axis(struct dft *dft, double complex *plane, double complex *line, size_t length,
              size_t lines, size_t step, size_t next);

#endif
