/* What is corrected in a captured frame before it is filtered. Pure.
 *
 * The estimators (periodic.h, flicker.h) return it for the time at which a frame was captured, and
 * the load of the engine's first dispatch applies it:
 *
 *     corrected(x, y) = (captured(x, y) - sum of the waves at (x, y)) * row_gain[y]
 *
 * Waves come first, because interference is added by the camera's electronics to what the light has
 * made. Samples are in their own units (0 .. 255 for 8 bits, 0 .. 4095 for 12), x to the right and
 * y down, in pixels from the first pixel of the frame. */
#ifndef FFTD_FILTERS_CORRECTION_H
#define FFTD_FILTERS_CORRECTION_H

#define CORRECTION_MAX_WAVES 8

/* The real part of (re + i im) exp(2 pi i (fx x + fy y)). */
struct wave {
    double fx, fy; /* cycles/pixel, |f| <= 0.5 */
    double re, im; /* of the amplitude, in units of a sample */
};

struct correction {
    const float *row_gain; /* one factor for each row of the frame; NULL: all are 1 */
    unsigned wave_count;
    struct wave wave[CORRECTION_MAX_WAVES];
};

#endif
