/* The kernels that smooth two pictures and move them towards each other by fractions of a pixel,
 * for motion_cells.c. Pure. Threads: any. */
#ifndef FFTD_ESTIMATORS_MOTION_KERNEL_H
#define FFTD_ESTIMATORS_MOTION_KERNEL_H

#define KERNEL_RADIUS 4u /* pixels */
#define KERNEL_TAPS   (2 * KERNEL_RADIUS + 1)

/* A sinc that a Gaussian ends. Where it is moved by a fraction of a pixel, what it leaves above
 * half a cycle per pixel adds an error; that is less than with a Gaussian alone that leaves as much
 * of the fine details, which tell most of a shift. */
struct kernel {
    double cut_off;   /* cycles/pixel, which it halves; 0: it is a Gaussian alone */
    double smoothing; /* pixels, of the Gaussian */
    double noise;     /* variance of the difference of two smoothed pictures with noise of 1 */
    double gradient;  /* what is taken for noise in a gradient's squares, as a share of that */
    double error;     /* pixels; limits what one cell with much contrast counts */
};

extern const struct kernel KERNEL_SMOOTH, KERNEL_FINE;

/* Fills the taps of a kernel whose middle is `at` pixels from the middle tap. */
void kernel_make(const struct kernel *kernel, double at, float ret[KERNEL_TAPS]);

#endif
