/* How a chain stacks frames. Pure.
 *
 * The maths. Each frame is moved onto the first one of its stack by a similarity that was measured
 * against the stack's reference (estimators/motion/motion_aligner.h). The sample of a place is
 * interpolated between 8 x 8 captured ones, by A(x) A(y) - B(x) B(y) with weights A and B that are
 * cubic polynomials in the part of a sample. Over many frames places are at all parts of a sample:
 * then aliases of a single frame vanish in the mean, and what stays is the interpolation's mean
 * response. A and B are its least squares fit to 1 for pictures whose power at 0.1 cycles a sample
 * is 13600 times that of the noise of 64 frames and falls with the cube of the frequency, under a
 * lens of sigma 0.5 samples; noise and aliases count as a 64th. Two products, because detail ends
 * at a circle, not at a square: along each axis the response is 0.99 at 0.4 cycles a sample, 0.86
 * at 0.5 and 0.48 at 0.6, and along diagonals 0.97, 0.89 and 0.65. Noise keeps 1.04 of its
 * variance. A frame that did not move is not changed.
 *
 * Each pixel has a mean m of its n samples. A sample x of a frame that shows the pixel changes them
 * to n' = min(n + 1, frames) and m' = m + (x - m) / n'. So the first `frames` frames count alike;
 * then each new one counts 1 / frames, and those before it exponentially less.
 *
 * Of each pixel's samples the variance v is known, too: v' = v + ((x - m) (x - m') - v) / n'. So
 * v / (n - 1) is the variance of the mean if samples of a pixel differ by noise alone, and those of
 * different frames have nothing in common; beyond `frames` it is up to twice that. The shown
 * picture is m - q d. The detail d is what a blur by (1, 2, 1) / 4 along both axes takes away from
 * m, and q = min(1, 0.646 V / D), V: the sum of v / (n - 1) over 3 x 3 samples, D: that of d^2.
 * White noise leaves 0.641 of its variance in d, and 0.651 after it is interpolated as above; 0.646
 * is between them. So where there is no more detail than noise, the picture is blurred; where there
 * is more, it keeps all of it but the noise's part, as in Wiener's filter; and with more frames q
 * goes to 0. One sample has no variance, and is shown as it is. With `details=all` no variance is
 * kept, and m is shown.
 *
 * Two things make q too high, so that details are softened that are above the noise. Changes of
 * light count as noise, although they are the same at all pixels: if light steps by 40 levels
 * halfway through 64 frames, v is 400 more, and q is 0.93 on average for random texture of 2 levels
 * rms (0.04 with noise of 3 levels alone). And coarse noise, as demosaicing and JPEG leave it, has
 * less than 0.646 of its variance in d: white noise blurred by (1, 2, 1) / 4 along both axes 0.14.
 *
 * With `clip` a pixel has two such means, of samples that differ. A sample joins the first one if
 * it differs from it by at most clip s + g / 4, or else the second one, if it differs from that by
 * no more; a sample that joins neither takes one from the second one's count, and replaces it if
 * none is left (the vote of Boyer and Moore). If the second count is greater than the first, both
 * change places. The first count ends at `frames`; from then on a sample that joins the first mean
 * takes one from the second's count. So what passes through a few frames is not seen, the first
 * frame included, and what stays is. s is the deviation of the frame from the means, 1.4826 times
 * the median of their differences at samples of an eighth of all levels; g, the sum of the
 * differences from the pixel to the right and from that below, is for edges that a frame shows a
 * part of a pixel beside.
 *
 * With `power` frames are joined by their spectra (Delbracio and Sapiro, Removing camera shake via
 * weighted Fourier burst accumulation, IEEE Trans. Image Processing 24, 2015). A shake blurs only
 * along its path, so at each frequency the frames in which it is strong are the sharpest. Moved
 * frames are cut into blocks of 32 x 32 samples with hop 16 and the sine window of denoise.h, and
 * mirrored at their edges. F is a block's two-dimensional DFT, and P the power of F without that of
 * the block's level, averaged over the block and its eight neighbours, as far as there are any and
 * the frame shows all of them: weights that vary less from block to block follow the blur more than
 * the noise. The weight of a frequency is w = (P + N)^(power / 2). N is the mean of P where both
 * frequencies are 3/8 or more, averaged over frames, so that frequencies with only noise count more
 * alike. M' = M + w / W' (F - M) and W' = W + w; from frame number `frames` on, W is first
 * multiplied by 1 - 1 / frames. A frame that does not show all of a block leaves it as it is. The
 * result is the inverse DFT of M, windowed again and added up. Weighted spectra have no samples to
 * compare, so nothing is clipped, and no variance is known. At each frequency few frames count, so
 * aliases stay: frames are interpolated by one product, fitted as A, but with aliases and noise
 * counting as half, for a power of 90000 times that of the noise of one frame at 0.1 cycles a
 * sample. Its mean response is 0.95 at 0.4 cycles a sample, 0.81 at 0.45 and 0.59 at 0.5.
 *
 * Frames are stacked after calibration (calibration.h) and after lenses are undone (warp.h), and
 * before everything else: the curve (curve.h) and the chain's response. */
#ifndef FFTD_FILTERS_STACK_H
#define FFTD_FILTERS_STACK_H

#include <stdbool.h>

#define STACK_MAX_FRAMES 4096

enum stack_model {
    STACK_NOT,   /* frames are not stacked */
    STACK_MEANS, /* all frames count alike */
    STACK_CLIPS, /* samples that differ are left out */
    STACK_WEIGHS /* frequencies are weighed by their magnitude */
};

struct stack {
    unsigned frames;  /* that count alike; 0: frames are not stacked */
    double clip;      /* deviations by which a sample may differ; 0: any */
    double power;     /* exponent of the weights of spectra; 0: there are none */
    bool all_details; /* means are shown as they are */
};

static inline enum stack_model stack_model(const struct stack *stack)
{
    return stack->frames == 0 ? STACK_NOT
           : stack->clip > 0  ? STACK_CLIPS
           : stack->power > 0 ? STACK_WEIGHS
                              : STACK_MEANS;
}

/* Returns whether details of means are weighed by their noise. */
static inline bool stack_weighs_details(const struct stack *stack)
{
    const enum stack_model model = stack_model(stack);
    return !stack->all_details && (model == STACK_MEANS || model == STACK_CLIPS);
}

#endif
