/* Measures of one picture: how sharp it is, how noisy, how bright, and how much of it is clipped.
 * Pure.
 *
 * They are taken from samples of the picture: from up to 32 square patches at its full size, from
 * as many at a quarter of it, and from every nth row.
 *
 *     sharpness   the root mean square of the spatial frequency, weighted by the square of the
 *                 frequency and the power that the picture has there beyond the noise;
 *                 cycles/pixel, 0 .. 0.5. About 0.1 to 0.2 for a sharp picture; it falls with blur,
 *                 up to one of 12 pixels, and hardly changes with contrast. 0: nothing rises above
 *                 the noise. It is multiplied by the share of the details that noise does not
 *                 explain, and by that of the picture which is not white if most of it is. So it is
 *                 low with a covered lens, in the dark, and in a picture that is burnt out.
 *     noise       the standard deviation of white noise, in 1/255 of the range of samples. Noise
 *                 that a codec or a filter has removed is not seen. NaN: all patches are clipped,
 *                 or the picture is smaller than a patch.
 *     mean        of all samples, 0 .. 255
 *     clipped     the share of samples at or beyond black or white, 0 .. 1
 *     burnt_out   the share at or beyond white
 *     state       what the picture is good for (measures.c has the thresholds)
 *
 * Sharpness is NaN for pictures that are smaller than a patch (16x16 pixels).
 *
 * Sources of the maths: periodograms of windowed segments, Welch, IEEE Trans. Audio Electroacoust.
 * 15 (1967); noise from the diagonal details of a Haar transform, Donoho and Johnstone, Biometrika
 * 81 (1994), here of the blocks whose coarse coefficients vary least. For white noise both kinds of
 * coefficients are independent, so the choice of blocks does not bias the result.
 *
 * Threads: a measurer has memory for its work, so only one thread at a time may use it. */
#ifndef FFTD_ESTIMATORS_MEASURES_H
#define FFTD_ESTIMATORS_MEASURES_H

#include <stdint.h>

#include "core/error.h"
#include "fftd/ring.h"

struct measures {
    float sharpness;
    float noise;
    float mean;
    float clipped;
    float burnt_out; /* the share of samples at or beyond white, 0 .. 1 */
    enum fftd_picture_state state;
};

/* Luma in 0 .. 255, rows without gaps. */
struct measures_picture {
    const float *samples;
    uint32_t width, height; /* pixels */
    float black, white;     /* the ends of the range: 0 and 255, or 16 and 235 */
};

struct measurer;

/* For pictures of this size, in pixels, at least 1x1. -ENOMEM. */
int measurer_create(struct measurer **ret, uint32_t width, uint32_t height, struct error *why);
void measurer_destroy(struct measurer *measurer); /* NULL is allowed */

/* Measures a picture of the size that the measurer was created for. */
void measurer_measure(struct measurer *measurer, const struct measures_picture *picture,
                      struct measures *ret);

#endif
