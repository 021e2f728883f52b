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
 * Second pass: the same with blocks of 16 and an orthonormal DCT-II. Its blocks begin half of their
 * hop further left and up, so that the artefacts of both passes are at different places. C is the
 * DCT of the captured block, G that of the first pass's result, both without their levels; C is
 * multiplied by G^2 / (G^2 + v / 4), the empirical Wiener filter of the second step of BM3D (Dabov,
 * Foi, Katkovnik and Egiazarian, IEEE Trans. Image Processing 16(8), 2007). 1/4 is the mean of the
 * window's squares.
 *
 * Joined frames (below) have little noise, so fine texture and edges of many directions gain from
 * smaller blocks. The first pass then also filters blocks of 8 by the same method, and the second
 * one blocks of 8 and 4. Neighbouring blocks overlap by half. All blocks of a pass are added with
 * the weight (n / (4 + s))^2, where n is how many numbers a block has, and s is the sum of their
 * gains. If few numbers describe a block well, the filter removes nearly all noise from it. The 4
 * stands for the block's level, whose noise is never removed; it makes up a larger share of a small
 * block.
 *
 * Past frames may be joined to a frame before both passes, which then filter the joined frame. A
 * frame is joined to the joined frame before it, so that all of the past counts and one plane holds
 * it. This is a Kalman filter of each coefficient: R is what is left of the noise's variance in the
 * past, 1 without any.
 *
 * Motion: at four sizes, from an eighth to the whole, blocks of 16 or 32 samples look for the block
 * of the frame before from which they differ least, every second row counted. At the smallest size
 * all whole shifts of up to 5 samples are tried; at each other one those of the blocks around,
 * their mean, weighted by how sharp a minimum they have found, none, and what is next to the best
 * of them; then those of the neighbours once more. A shift costs something if it differs from that
 * mean, so that noise does not choose it. At the whole size, where the past is the joined frame, a
 * parabola through the costs finds a part of a sample, if it improves more than noise does, but no
 * more than noise leaves to improve. Larger shifts than 40 samples a frame are not found. If more
 * than 0.6 of the blocks with texture have not found half of it, the scene is another one, and the
 * frame has no past.
 *
 * The join: blocks of 16 with hop 8, the sine window and the DCT-II. The shift of a block is
 * between those of the four motion blocks around it, or the best of them where they differ by more
 * than a sample; its past is interpolated by a sinc of three lobes. D is the DCT of the past
 * without that of the captured block, and q = D^2 / (v / 4 (1 + R)), of mean 1 if the past shows
 * the same; v is for the level of the past. Three bands of frequencies have the means m: both below
 * 1/8 cycle, then below 1/4, then all others. A band's excess is e = max(0, m - 1 - (2 + 3 z) s, k
 * - 2.4 z 0.378 s). s = sqrt(2 / (n 4 / 9)) is the standard deviation of the mean of the band's n
 * numbers, of which 4/9 are independent in a windowed block; z is described below. The misfit k =
 * (m - 1) / 4 + 3/4 k' is a running mean over frames, which reveals what noise hides in a single
 * one; k' is k / (1 + e) of the frame before, at the place where the block was. The standard
 * deviation of k is 0.378 times that of m. The excess of the lowest band is added to that of the
 * others, and max(0, q - 18 - 20 z) / 5 to that of each number. The captured number becomes C + g
 * D, g = 1 / ((1 + R) (1 + e)), and what is left of its noise is (1 - g)^2 + g^2 R. The mean of
 * that over the block is its new R, which is at least 1 / (1 + temporal), and multiplies v in both
 * passes. Source of the idea: Arias and Morel, Kalman filtering of patches for frame-recursive
 * video denoising, CVPR Workshops (2019).
 *
 * Still scenes: z, from 0 to 1, says how surely the scene is still. Of the motion blocks with
 * texture, r have moved by at most 1/4 sample along each axis, and t by more: z = 0.2 ln((r + 1) /
 * (t + 1)), limited to 0 .. 1. z is 0 if the light has changed: at an eighth of the size, blocks
 * count that are brighter than what they come from by 4 standard deviations, if the square of that
 * is half of the difference's mean square or more. Those that are darker count against them, and
 * 0.3 of all blocks must be left. Where parts of a scene move, as many become darker as brighter.
 * z widens the limits of the join, because narrow ones sometimes take noise for change, and lose
 * the past. Where z > 0, a shift must also reduce the sum of D^2 by 40 z v / 4 (1 + R), compared
 * with no shift; levels are not corrected then, v is that of the shifted block, and R that without
 * a shift.
 *
 * A slow change of light is hidden by the noise in a band, and the past lags behind it. So the
 * level of the past's block is corrected before q is formed. Its bias b joins two values: the
 * difference between its level and the captured block's, and the bias that the previous frame
 * expected around it, averaged over 32 x 32 samples. The latter has the weight 0.5 + 0.3 z. The
 * part c b is subtracted from the level. The bias expected in the next frame is b - c b / 2: what
 * is left, and half of what was subtracted, because light that changes usually goes on changing.
 * Without that half, the past would lag by two thirds of one frame's change or more; all of it
 * would be worse in a scene that does not change. Here c = max(0, 1 - (0.4 + 0.8 z) u / b^2), and u
 * = 0.006 v (0.3 + R) is about the variance that noise gives b. 0.006 is the sum of the window's
 * squares over the square of its sum; 0.3 is the part of that variance which remains after
 * averaging with earlier frames and the blocks around.
 *
 * If the light has changed, the expected bias has the weight 0.15, because light may swing, and the
 * other numbers of the past's block are multiplied by 1 - max(0, 1 - 4 u / b^2) b / m, limited to
 * 0.5 .. 2, where m is its level: light scales texture as well.
 *
 * Captured noise is clipped at black and white, which makes the mean of dark areas brighter and
 * that of bright ones darker. With `clipping=undone`, the last pass restores the mean from the
 * noise model, without `strength` (kernels/engine/denoise_clipped.cl). It is not the default,
 * because a sigma far above the real noise makes shadows darker and highlights brighter.
 *
 * Noise is reduced after calibration (calibration.h) and after pixels are moved (warp.h), and
 * before everything else: corrections of the frame (correction.h), the curve (curve.h) and the
 * chain's response. */
#ifndef FFTD_FILTERS_DENOISE_H
#define FFTD_FILTERS_DENOISE_H

#include <stdbool.h>

#define DENOISE_SECOND_BLOCK 16
#define DENOISE_MAX_PAST     63

/* The settings that an engine is built for. */
struct denoise_settings {
    unsigned block;   /* 16 or 32; 0: noise is not reduced */
    unsigned overlap; /* hop = block / overlap: 2 or 4 */
    unsigned passes;  /* 1 or 2 */
    bool estimated;   /* the noise, from each frame */
    unsigned past;    /* frames before a frame that count at most: 0 .. DENOISE_MAX_PAST */
    bool unclips;     /* restores the mean where noise was clipped at black and white */
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
