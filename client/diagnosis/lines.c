#include "lines.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>

#include "core/order.h"

#define BANDS  8u
#define NORMAL 1.4826 /* the standard deviation, in median magnitudes */

float lines_median(float *value, unsigned count)
{
    qsort(value, count, sizeof *value, order_floats);
    return count % 2 != 0 ? value[count / 2] : (value[count / 2 - 1] + value[count / 2]) / 2;
}

/* The median magnitude of `count` numbers, which it changes. */
static double magnitude(float *value, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        value[i] = fabsf(value[i]);
    return NORMAL * (double)lines_median(value, count);
}

/* Compares line `at` with its neighbours in each band across it. */
static void compare(const float *luma, size_t along, size_t across, uint32_t length, unsigned step,
                    float *scratch, float ret[BANDS])
{
    for (unsigned band = 0; band < BANDS; band++) {
        const uint32_t first = band * length / BANDS, end = (band + 1) * length / BANDS;
        for (uint32_t i = first; i < end; i++) {
            const float *p = luma + i * across;
            scratch[i - first] = p[0] - (p[-(ptrdiff_t)(step * along)] + p[step * along]) / 2;
        }
        ret[band] = lines_median(scratch, end - first);
    }
}

double lines_deviation(const float *luma, uint32_t width, uint32_t height, unsigned step,
                       bool of_rows)
{
    const uint32_t lines = of_rows ? height : width, length = of_rows ? width : height;
    const size_t along = of_rows ? width : 1, across = of_rows ? 1 : width;
    float *scratch = malloc((length + 2 * (size_t)lines) * sizeof *scratch);
    unsigned count = 0;
    if (scratch == NULL)
        return -1;
    float *common = scratch + length, *error = common + lines;
    for (uint32_t at = step; at + step < lines; at++, count++) {
        float band[BANDS], odd[BANDS / 2], even[BANDS / 2];
        compare(luma + at * along, along, across, length, step, scratch, band);
        for (unsigned i = 0; i < BANDS / 2; i++) {
            even[i] = band[2 * i];
            odd[i] = band[2 * i + 1];
        }
        error[count] = (lines_median(even, BANDS / 2) - lines_median(odd, BANDS / 2)) / 2;
        common[count] = lines_median(band, BANDS);
    }
    const double both = magnitude(common, count), chance = magnitude(error, count);
    free(scratch);
    /* What is compared has the variance of an offset and of half of two others. */
    return sqrt(fmax(both * both - 2 * chance * chance, 0) / 1.5);
}
