/* Every cut-off filter is a function of a ratio d that is 1 at the cutoff:
 *     pass(d): 1 at d = 0, 1/sqrt(2) at d = 1, 0 far beyond
 *     stop(d): 0 at d = 0, 1/sqrt(2) at d = 1, 1 far beyond
 * All shapes leave half of the power at the cutoff (-3 dB), as is usual in signal processing.
 * Gonzalez and Woods, Digital Image Processing, chapter 4, give the same shapes, but with |H| = 0.5
 * at the cutoff for Butterworth and 0.607 for the Gaussian.
 *
 * The Butterworth shape (S. Butterworth, On the Theory of Filter Amplifiers, 1930) has the
 * amplitude pass(d) = 1 / sqrt(1 + d^2n), and stop(d) = pass(1/d). The Gaussian has pass(d) =
 * exp(-ln(2)/2 d^2). Its stop(d) is 1 - exp(-k d^2), which is smooth at d = 0, where sqrt(1 -
 * pass^2) has a kink; k puts its half-power point at d = 1.
 *
 * A Gaussian lowpass with standard deviation s in space has exp(-r^2/s^2) of its energy beyond the
 * radius r. A Butterworth's impulse response decays as exp(-2 pi r cutoff sin(pi/2n)), from the
 * branch points of its H nearest to the real axis. The ideal filter decays so slowly that 1e-3 is
 * out of reach: 1/(pi^2 cutoff r) of the energy of an Airy pattern is beyond r. Four rings,
 * 4/cutoff, leave 2.5%, and are also the limit for the other shapes.
 *
 * Gaussian blurs have the taps w(n) = exp(-n^2 / 2 s^2), divided by their sum, along both axes, as
 * everywhere where a Gaussian is computed by taps. The transform of these samples is that of the
 * function, exp(-2 (pi s f)^2), repeated at all whole multiples of the sampling rate and added up
 * (Poisson's sum; Oppenheim and Schafer, Discrete-Time Signal Processing, chapter 4). So it is
 * smooth across half the sampling rate, where the function alone would be cut off with 0.7% for s =
 * 1, and its taps end as the Gaussian does. Both differ by as much there, and by 3e-9 for s = 2.
 * As s goes to 0, samples become a unit impulse and H becomes 1. Below s = 0.5 they blur less than
 * the function: their standard deviation is 0.46 for s = 0.5, and 0.09 for s = 0.3 (T. Lindeberg,
 * Scale-Space for Discrete Signals, 1990).
 *
 * The slope has the taps -n w(n), and its transform is the sum of the repeated 2 pi i f exp(-2 (pi
 * s f)^2). */
#include "filters/filter_shape.h"

#include <math.h>

#define HALF_LN2      0.34657359027997264 /* exp(-HALF_LN2) = 1/sqrt(2) */
#define GAUSS_STOP    1.2279471772995154  /* 1 - exp(-GAUSS_STOP) = 1/sqrt(2) */
#define RINGS         4.0                 /* an ideal filter's support ends after as many rings */

/* The error of sums over samples of a Gaussian, or over repetitions of its transform. */
#define NARROW_SIGMA  0.4 /* 1 / sqrt(2 pi): both decay equally fast */
#define MOST_REPEATED 4   /* the fifth one is below exp(-60) */
#define NEGLIGIBLE    40. /* exp(-40) is below the rounding of 1 */

const char *const filter_interpolation_names[] = {"bilinear", "bicubic", NULL};
const char *const filter_shape_names[] = {"ideal", "butterworth", "gaussian", NULL};

double filter_pass(enum filter_shape shape, double order, double d2)
{
    switch (shape) {
    case SHAPE_IDEAL:
        return d2 <= 1 ? 1 : 0;
    case SHAPE_BUTTERWORTH:
        return 1 / sqrt(1 + pow(d2, order));
    case SHAPE_GAUSSIAN:
        return exp(-HALF_LN2 * d2);
    }
    return 1;
}

double filter_stop(enum filter_shape shape, double order, double d2)
{
    switch (shape) {
    case SHAPE_IDEAL:
        return d2 <= 1 ? 0 : 1;
    case SHAPE_BUTTERWORTH:
        return 1 / sqrt(1 + pow(d2, -order)); /* pow(0, -order) is infinite: 0 */
    case SHAPE_GAUSSIAN:
        return -expm1(-GAUSS_STOP * d2);
    }
    return 1;
}

double filter_cutoff_support(enum filter_shape shape, double order, double cutoff)
{
    double limit = RINGS / cutoff, radius = limit;
    switch (shape) {
    case SHAPE_IDEAL:
        break;
    case SHAPE_BUTTERWORTH:
        radius = FILTER_LEFT_LN / (4 * M_PI * cutoff * sin(M_PI / (2 * order)));
        break;
    case SHAPE_GAUSSIAN:
        /* exp(-k d^2) = exp(-2 (pi s f)^2); the larger of the two k gives the wider s. */
        radius = sqrt(GAUSS_STOP / 2 * FILTER_LEFT_LN) / (M_PI * cutoff);
        break;
    }
    return fmin(radius, limit);
}

/* G before it is divided by its value at f = 0. Few samples are enough for a narrow Gaussian, and
 * few repetitions of its transform for a wide one. */
static double repeated_gaussian(double sigma, double f)
{
    const double width = 2 * square(M_PI * sigma);
    double sum = 0;
    if (sigma < NARROW_SIGMA) {
        for (int n = MOST_REPEATED; n > 0; n--)
            sum += 2 * exp(-square(n / sigma) / 2) * cos(2 * M_PI * n * f);
        return sum + 1;
    }
    for (int k = -MOST_REPEATED; k <= MOST_REPEATED; k++)
        if (width * square(f - k) < NEGLIGIBLE)
            sum += exp(-width * square(f - k));
    return sum;
}

/* D before it is divided by its slope at f = 0. */
static double repeated_slope(double sigma, double f)
{
    const double width = 2 * square(M_PI * sigma);
    double sum = 0;
    for (int k = -MOST_REPEATED; k <= MOST_REPEATED; k++)
        if (width * square(f - k) < NEGLIGIBLE)
            sum += 2 * M_PI * (f - k) * exp(-width * square(f - k));
    return sum;
}

/* Returns whether repetitions add nothing below half the sampling rate. */
static bool is_wide(double sigma)
{
    return square(M_PI * sigma) / 2 >= NEGLIGIBLE;
}

double filter_gaussian(double sigma, double fx, double fy)
{
    if (is_wide(sigma))
        return exp(-2 * square(M_PI * sigma) * (square(fx) + square(fy)));
    return repeated_gaussian(sigma, fabs(fx)) * repeated_gaussian(sigma, fabs(fy)) /
           square(repeated_gaussian(sigma, 0));
}

double filter_gaussian_slope(double sigma, double f, double across)
{
    const double width = 2 * square(M_PI * sigma);
    double slope = 0;
    if (is_wide(sigma))
        return 2 * M_PI * f * exp(-width * (square(f) + square(across)));
    for (int k = -MOST_REPEATED; k <= MOST_REPEATED; k++)
        slope += (1 - 2 * width * square(k)) * exp(-width * square(k));
    return copysign(repeated_slope(sigma, fabs(f)), f) / slope *
           repeated_gaussian(sigma, fabs(across)) / repeated_gaussian(sigma, 0);
}

double filter_gaussian_support(double sigma)
{
    return sigma * sqrt(FILTER_LEFT_LN);
}
