/* How a chain stacks frames. Pure.
 *
 * The maths. Each frame is moved onto the first one of its stack by a similarity that was measured
 * against the stack's reference (estimators/motion/motion_aligner.h). The sample of a place is
 * interpolated between 8 x 8 captured ones. Over many frames places are at all parts of a sample:
 * then aliases of a single frame vanish in the mean, and what stays is the interpolation's mean
 * response. The weights, cubic polynomials in the part of a sample, are the least squares fit of
 * this response to 1 for pictures whose power falls with the square of the frequency, under a lens
 * of sigma 0.5 samples: along each axis it is 0.98 .. 1.00 up to 0.4 cycles a sample, 0.92 at 0.45
 * and 0.76 at 0.5. That is what a stack loses. Noise keeps 1.03 of its variance.
 *
 * Each pixel has a mean m of its n samples. A sample x of a frame that shows the pixel changes them
 * to n' = min(n + 1, frames) and m' = m + (x - m) / n'. So the first `frames` frames count alike;
 * then each new one counts 1 / frames, and those before it exponentially less.
 *
 * With `clip` a pixel has two such means, of samples that differ. A sample joins the first one if
 * it differs from it by at most clip s + g / 4, or else the second one, if it differs from that by
 * no more; a sample that joins neither takes one from the second one's count, and replaces it if
 * none is left (the vote of Boyer and Moore). If the second count is greater than the first, both
 * change places. So what passes through a few frames is not seen, the first frame included, and
 * what stays is. s is the deviation of the frame from the means, 1.4826 times the median of their
 * differences at samples of an eighth of all levels; g, the sum of the differences from the pixel
 * to the right and from that below, is for edges that a frame shows a part of a pixel beside.
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
 * compare, so nothing is clipped.
 *
 * Frames are stacked after calibration (calibration.h) and after lenses are undone (warp.h), and
 * before everything else: the curve (curve.h) and the chain's response. */
#ifndef FFTD_FILTERS_STACK_H
#define FFTD_FILTERS_STACK_H

#define STACK_MAX_FRAMES 4096

enum stack_model {
    STACK_NOT,   /* frames are not stacked */
    STACK_MEANS, /* all frames count alike */
    STACK_CLIPS, /* samples that differ are left out */
    STACK_WEIGHS /* frequencies are weighed by their magnitude */
};

struct stack {
    unsigned frames; /* that count alike; 0: frames are not stacked */
    double clip;     /* deviations by which a sample may differ; 0: any */
    double power;    /* exponent of the weights of spectra; 0: there are none */
};

static inline enum stack_model stack_model(const struct stack *stack)
{
    return stack->frames == 0 ? STACK_NOT
           : stack->clip > 0  ? STACK_CLIPS
           : stack->power > 0 ? STACK_WEIGHS
                              : STACK_MEANS;
}

#endif
