/* The error of taps in integers of 16 bits (kernels/transform/direct_short.cl). */
#include <math.h>

#include "filters/taps_private.h"

#define SHORT_MOST_SUM    1.25 /* the magnitudes of taps along rows, added up */
#define SHORT_MOST_ACROSS 0.99
#define SHORT_MOST_DOWN   0.49
#define SHORT_MOST_MIDDLE 3.4
#define SHORT_MOST        3.9 /* times 128 steps, in 64ths: below 2^15 */

/* Returns the sum of the magnitudes of numbers. Sets the greatest one, and by how much the numbers
 * change in all if each becomes a multiple of 1 / scale and the one in the middle keeps their sum.
 * If their count is even, the two in the middle keep it, to half a multiple each. */
static double measure_line(const double *line, uint32_t count, double scale, double *ret_most,
                           double *ret_rounding)
{
    const bool has_two = count % 2 == 0;
    double magnitudes = 0, most = 0, sum = 0, rounded = 0, rounding = 0, middle = 0;
    for (uint32_t i = 0; i < count; i++) {
        magnitudes += fabs(line[i]);
        most = fmax(most, fabs(line[i]));
        sum += line[i];
        if (i == count / 2 || (has_two && i == count / 2 - 1)) {
            middle += line[i];
        } else {
            rounded += round(line[i] * scale) / scale;
            rounding += fabs(round(line[i] * scale) / scale - line[i]);
        }
    }
    *ret_most = most;
    *ret_rounding =
        rounding + fabs(round(sum * scale) / scale - rounded - middle) + (has_two ? 1 / scale : 0);
    return magnitudes;
}

/* Samples are at most 128 from the middle of their range, and each product is rounded down to a
 * 64th, of which half is added again. */
double taps_short_error(const double *across_line, const double *down_line, uint32_t count,
                        double middle)
{
    const bool has_middle = middle != 0;
    double across_most, across_rounding, down_most, down_rounding;
    const double across = measure_line(across_line, count, 0x1p15, &across_most, &across_rounding);
    const double down = measure_line(down_line, count, 0x1p16, &down_most, &down_rounding);
    const uint32_t in_ring = (count + 3) / 4, in_sum = (count + 3 + 2 * has_middle) / 4;
    double level = middle; /* what a flat area is multiplied by: the sum of all taps */
    for (uint32_t i = 0; i < count; i++)
        level += down_line[i];
    if (across > SHORT_MOST_SUM || across * down + fabs(level - 1) > SHORT_MOST ||
        fabs(middle) > SHORT_MOST_MIDDLE || across_most > SHORT_MOST_ACROSS ||
        down_most > SHORT_MOST_DOWN)
        return HUGE_VAL;
    return 128 * (across_rounding * down + down_rounding * across + has_middle * 0x1p-16) +
           (in_ring * down + in_sum) / 64.;
}
