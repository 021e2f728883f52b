/* Curves that samples pass before a chain filters them, and whose inverses they pass after it.
 * Pure.
 *
 * A curve rises and maps 0 .. max onto 0 .. max, where max is the largest sample (255 for 8 bits,
 * 4095 for 12). A sample, or a filtered value, beyond that range counts as its nearest end. The
 * kernels compute it (kernels/transform/curve.cl).
 *
 * The logarithm makes a product of illumination and reflectance a sum (A. V. Oppenheim, R. W.
 * Schafer, T. G. Stockham, Nonlinear Filtering of Multiplied and Convolved Signals, 1968). The
 * powers decode video as IEC 61966-2-1 (sRGB) and ITU-R BT.709-6 define it. */
#ifndef FFTD_CORE_CURVE_H
#define FFTD_CORE_CURVE_H

enum curve_kind {
    CURVE_NONE, /* samples are filtered as they are */
    CURVE_LOG,  /* max * ln(1 + sample) / ln(1 + max) */
    CURVE_POWER /* with s = sample / max: max * slope * s up to s = cut, above it
                   max * ((s + offset) / (1 + offset))^power */
};

struct curve {
    enum curve_kind kind;
    double power, offset, cut, slope; /* CURVE_POWER: power > 1, the others are 0 .. 1 */
};

#endif
