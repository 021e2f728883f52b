/* Makes planes of bytes smaller, on the host. It serves chroma that no filter changes but that has
 * to become smaller with luma: a transform of it takes several times as long.
 *
 * Each axis is a convolution with a windowed sinc, sampled for each sample of the result, whose
 * middle is the middle of what it covers. In units of half the sampling rate of the result,
 * frequencies up to 0.45 are kept within 1 %, 0.75 is 8 dB lower, and those above 1, which would be
 * folded, are 50 dB lower. Luma has a steeper edge (transform.h), which would take five times as
 * many taps. Beyond its edges the plane is mirrored. An axis whose length does not change is left
 * alone. Rounding of products adds a few hundredths of a step (standard deviation) to that of the
 * result. Constant planes stay what they are at ratios of up to 8, and change by at most 2 beyond.
 */
#ifndef FFTD_TRANSFORM_RESAMPLER_H
#define FFTD_TRANSFORM_RESAMPLER_H

#include <stddef.h>
#include <stdint.h>

#include "core/error.h"

#define RESAMPLER_REACH 6 /* samples of the result, on either side */

/* The sizes of a plane and of its result, in samples of each of `channels` components (1 or 2)
 * that alternate in a row. Each side is at least that of the result. */
struct resampler_size {
    uint32_t columns, rows, to_columns, to_rows;
    unsigned channels;
};

/* The impulse response of one axis: `distance` from the middle in samples of the result. */
double resampler_impulse(double distance);

/* Creates a resampler, which one thread at a time may use. -ENOMEM. */
struct resampler;
int resampler_create(struct resampler **ret, const struct resampler_size *size, struct error *why);
void resampler_destroy(struct resampler *resampler); /* NULL is allowed */

/* How it makes an axis smaller: sample i of the result is the sum of `taps` samples from first[i]
 * on, times tap[i * taps ...]. Taps of samples that do not exist are 0. resampler_axes returns two
 * of these: along rows, and then along columns. The tables of the second follow those of the first
 * in memory. */
struct resampler_axis {
    uint32_t taps, *first;
    int16_t *tap;
};
const struct resampler_axis *resampler_axes(const struct resampler *resampler);

/* How many taps both axes have, and the bytes of a resampler. */
size_t resampler_tap_count(const struct resampler_size *size);
uint64_t resampler_bytes(const struct resampler_size *size);

/* Reads all samples of `from`, which are `step` (1 or 2) bytes apart, and writes those of `to`,
 * which follow each other. Strides are bytes from row to row. The planes do not overlap. */
void resampler_run(struct resampler *resampler, uint8_t *to, size_t to_stride, const uint8_t *from,
                   size_t stride, unsigned step);

#endif
