/* How a chain stacks frames. Pure.
 *
 * The maths. Each frame is moved onto the first one of its stack by a similarity that was measured
 * against the stack's reference (estimators/motion/motion_aligner.h). The sample of a place is
 * interpolated between 6 x 6 captured ones by Lanczos' sinc of three lobes, whose weights add up to
 * 1. Their response, the mean over all parts of a pixel, is within 1.3 % of 1 up to 0.3 cycles a
 * sample along each axis, 0.93 at 0.35 and 0.82 at 0.4: that is what a stack loses. Each pixel has
 * a mean m of its n samples. A sample x of a frame that shows the pixel changes them to n' =
 * min(n + 1, frames) and m' = m + (x - m) / n'. So the first `frames` frames count alike; then each
 * new one counts 1 / frames, and those before it exponentially less.
 *
 * Frames are stacked after calibration (calibration.h) and after lenses are undone (warp.h), and
 * before everything else: the curve (curve.h) and the chain's response. */
#ifndef FFTD_FILTERS_STACK_H
#define FFTD_FILTERS_STACK_H

#define STACK_MAX_FRAMES 4096

struct stack {
    unsigned frames; /* that count alike; 0: frames are not stacked */
};

/* What becomes of a frame. */
enum stack_place {
    STACK_JOINS,
    STACK_BEGINS,   /* a new stack, of which it is the first */
    STACK_LEFT_OUT, /* it is not seen; the stack is shown as it is */
};

#endif
