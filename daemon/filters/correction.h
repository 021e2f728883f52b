/* Corrections of a captured frame before it is filtered. Pure.
 *
 * Estimators (periodic.h, flicker.h) return a correction for the time at which a frame was
 * captured. The load of the engine's first dispatch applies it:
 *
 *     corrected(x, y) = limit(captured(x, y) - share * sum of the waves at (x, y)) * row_gain[y]
 *
 * Samples of a camera are 0 .. top, and limit() keeps them so. Where the captured sample is at such
 * a limit, what the scene and the waves were beyond it is lost, and `share` is how much of the
 * waves is subtracted on average to come nearest to the scene; elsewhere it is 1. Waves come first,
 * because the camera's electronics add interference to the effect of the light. Samples are in
 * their own units (0 .. 255 for 8 bits, 0 .. 4095 for 12). x is to the right and y down, in pixels
 * from the first pixel of the frame. */
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
    double top;                   /* the largest sample; 0: there are no limits */
    double share_low, share_high; /* 0 .. 1: of the waves, at captured samples of 0 and of top */
};

#endif
