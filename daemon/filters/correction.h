/* Corrections of a captured frame before it is filtered. Pure.
 *
 * Estimators (periodic.h, flicker.h) return a correction for the time at which a frame was
 * captured. The load of the engine's first dispatch applies it:
 *
 *     corrected(x, y) = (captured(x, y) - sum of the waves at (x, y)) * row_gain[y]
 *
 * Waves come first, because the camera's electronics add interference to the effect of the light.
 * Samples are in their own units (0 .. 255 for 8 bits, 0 .. 4095 for 12). x is to the right and y
 * down, in pixels from the first pixel of the frame. */
#ifndef FFTD_FILTERS_CORRECTION_H
#define FFTD_FILTERS_CORRECTION_H

#define CORRECTION_MAX_WAVES 8

/* A wave is the real part of (re + i im) exp(2 pi i (fx x + fy y)). */
struct wave {
    double fx, fy; /* cycles/pixel, |f| <= 0.5 */
    double re, im; /* amplitude, in units of a sample */
};

struct correction {
    const float *row_gain; /* one factor for each row of the frame; NULL: all are 1 */
    unsigned wave_count;
    struct wave wave[CORRECTION_MAX_WAVES];
};

#endif
