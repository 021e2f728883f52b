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
 * 4/cutoff, leave 2.5%, and are also the limit for the other shapes. */
#include "filters/filter_shape.h"

#include <math.h>

#define HALF_LN2   0.34657359027997264 /* exp(-HALF_LN2) = 1/sqrt(2) */
#define GAUSS_STOP 1.2279471772995154  /* 1 - exp(-GAUSS_STOP) = 1/sqrt(2) */
#define RINGS      4.0                 /* an ideal filter's support ends after as many rings */

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

double filter_gaussian(double sigma, double f2)
{
    return exp(-2 * square(M_PI * sigma) * f2);
}

double filter_gaussian_support(double sigma)
{
    return sigma * sqrt(FILTER_LEFT_LN);
}
