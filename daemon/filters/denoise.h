/* How a chain reduces noise, and how strong the noise is. Pure.
 *
 * The maths. A frame is cut into blocks of `block` x `block` samples, each `hop` samples after the
 * one before, along both axes; beyond its edges it is mirrored about its outermost samples. A block
 * is multiplied by the sine window w(x) w(y), w(n) = sin(pi (n + 1/2) / block). F is its
 * two-dimensional DFT without that of its level m w(x) w(y), where m makes F(0, 0) = 0.
 *
 * First pass: F is multiplied by the Wiener gain max(0, 1 - 2.5 v W / |F|^2), where v is the
 * variance of the noise at level m and W the sum of the window's squares. The factor makes up for
 * |F|^2 being one observation and no mean (over-subtraction: Berouti, Schwartz and Makhoul, ICASSP
 * 1979). The level is added again, and the inverse, windowed once more, is added to the frame; the
 * sum of overlapping squared windows is constant.
 *
 * Second pass: the same with blocks of 16 in an orthonormal DCT-II. C is that of the captured
 * block, G that of the first pass's result, both without their levels; C is multiplied by G^2 /
 * (G^2 + v / 4), the empirical Wiener filter of the second step of BM3D (Dabov, Foi, Katkovnik and
 * Egiazarian, IEEE Trans. Image Processing 16(8), 2007). 1/4 is the mean of the window's squares.
 *
 * Past frames may be joined to a block in both passes, before its level is found. D is the
 * transform of a past frame's block at the same place without that of the captured block, as real
 * numbers: the products of cos(2 pi k n / block), k = 0 .. block/2, and sin(2 pi k n / block),
 * k = 1 .. block/2 - 1, along both axes, or those of the DCT. Noise gives its numbers a mean square
 * of 2 v W a, where a is halved along each axis unless k is 0 or block/2; in the second pass v / 2.
 * Let q be their squares divided by that, and m the mean of q over the n numbers whose frequencies
 * are at most 1/8 cycles per pixel along both axes: pictures are strong there, so that m shows
 * what moves. The frame counts with A = 1 - (m - 1) / s between 0 and 1, s = sqrt(40.5 / n), which
 * is three standard deviations of m (a windowed block has 4/9 as many independent numbers). A
 * number of it has the weight w = A min(1, 3 / q), so that what differs by more than noise counts
 * little. The captured block's transform becomes F + sum(w D) / (1 + sum(w)), and v becomes
 * v (1 + sum(A^2)) / (1 + sum(A))^2 in the gain of the pass.
 *
 * Noise is reduced after calibration (calibration.h) and after pixels are moved (warp.h), and
 * before everything else: corrections of the frame (correction.h), the curve (curve.h) and the
 * chain's response. */
#ifndef FFTD_FILTERS_DENOISE_H
#define FFTD_FILTERS_DENOISE_H

#include <stdbool.h>

#define DENOISE_SECOND_BLOCK 16
#define DENOISE_MAX_PAST     2

/* The settings that an engine is built for. */
struct denoise_settings {
    unsigned block;   /* 16 or 32; 0: noise is not reduced */
    unsigned overlap; /* hop = block / overlap: 2 or 4 */
    unsigned passes;  /* 1 or 2 */
    bool estimated;   /* the noise, from each frame */
    unsigned past;    /* frames before a frame that are joined to it: 0 .. DENOISE_MAX_PAST */
};

/* The variance of noise at a level m is constant + slope m, in grey levels of 0 .. 255 whatever the
 * bits of a sample. The slope is that of shot noise, which grows with the light. If the model is
 * estimated instead (kernels/engine/denoise_noise.cl), the estimate is multiplied by the factor. */
struct noise_model {
    double constant, slope;
    double factor;
};

/* The noise reduction of a chain. */
struct denoise {
    struct denoise_settings settings;
    struct noise_model noise;
};

#endif
