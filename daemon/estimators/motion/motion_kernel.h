/* The kernels that smooth two pictures and move them towards each other by fractions of a pixel,
 * for motion_cells.c. Pure. Threads: any. */
#ifndef FFTD_ESTIMATORS_MOTION_KERNEL_H
#define FFTD_ESTIMATORS_MOTION_KERNEL_H

#define KERNEL_RADIUS 4u /* pixels */
#define KERNEL_TAPS   (2 * KERNEL_RADIUS + 1)

/* A sinc windowed by a Gaussian. Fine details determine a shift best, so a kernel should keep them.
 * When a kernel is moved by a fraction of a pixel, the part of its response beyond half a cycle per
 * pixel causes an error. This error is smaller than that of a plain Gaussian which keeps the same
 * details. */
struct kernel {
    double cut_off;   /* cycles/pixel, where the response is a half; 0: a Gaussian alone */
    double smoothing; /* standard deviation of the Gaussian, in pixels */
    double noise;     /* variance of the difference of two smoothed pictures with noise of 1 */
    double gradient;  /* what is taken for noise in the squares of a gradient, as a share of that */
    double error;     /* pixels; limits the weight of a cell with much contrast */
};

extern const struct kernel KERNEL_SMOOTH, KERNEL_FINE;

/* Fills the taps of a kernel that is centred `at` pixels from the middle tap. */
void kernel_make(const struct kernel *kernel, double at, float ret[KERNEL_TAPS]);

#endif
