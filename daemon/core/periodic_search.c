#include "core/periodic_search.h"

#include <math.h>
#include <stdlib.h>

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Makes the amplitudes of all patches directions, of at most 1; weak patches count less. Returns
 * the sum of their sizes. */
static double level(const struct spectrum *s, double complex *projection)
{
    double size[SPECTRUM_MAX_PATCHES];
    unsigned count = 0;
    double sum = 0;
    for (unsigned i = 0; i < s->count; i++)
        if (s->patch[i].is_usable)
            size[count++] = cabs(projection[i]);
        else
            projection[i] = 0;
    if (count == 0)
        return 0;
    qsort(size, count, sizeof *size, compare);
    const double median = size[count / 2] + 1e-9;
    for (unsigned i = 0; i < s->count; i++) {
        projection[i] /= fmax(cabs(projection[i]), median);
        sum += cabs(projection[i]);
    }
    return sum;
}

static double complex sum_at(const struct spectrum *s, const double complex *projection, double dx,
                             double dy)
{
    double complex sum = 0;
    for (unsigned i = 0; i < s->count; i++) {
        const struct patch *patch = &s->patch[i];
        sum += projection[i] * cexp(-2 * M_PI * I * (dx * patch->to_x + dy * patch->to_y));
    }
    return sum;
}

double periodic_search(const struct spectrum *s, const struct sheet *sheet,
                       double complex *projection, double *ret_dx, double *ret_dy)
{
    const double all = level(s, projection);
    const double range = 0.8 / s->length;
    const double step_x = 0.35 / sheet->width;
    const double step_y = 0.35 / sheet->height;
    double best = -1;
    const int steps_x = (int)(2 * range / step_x);
    const int steps_y = (int)(2 * range / step_y);
    for (int i = 0; i <= steps_x; i++) {
        const double dx = i * step_x - range;
        double complex row[SPECTRUM_MAX_ALONG];
        for (unsigned r = 0; r < s->rows; r++) {
            row[r] = 0;
            for (unsigned c = 0; c < s->columns; c++)
                row[r] +=
                    projection[r * s->columns + c] * cexp(-2 * M_PI * I * dx * s->patch[c].to_x);
        }
        for (int j = 0; j <= steps_y; j++) {
            const double dy = j * step_y - range;
            double complex sum = 0;
            for (unsigned r = 0; r < s->rows; r++)
                sum += row[r] * cexp(-2 * M_PI * I * dy * s->patch[r * s->columns].to_y);
            if (cabs(sum) > best) {
                best = cabs(sum);
                *ret_dx = dx;
                *ret_dy = dy;
            }
        }
    }
    for (int halving = 1; halving <= 6; halving++)
        for (int k = 0; k < 4; k++) {
            const double size = ldexp(1, -halving);
            const double dx = *ret_dx + (k == 0 ? size : k == 1 ? -size : 0) * step_x;
            const double dy = *ret_dy + (k == 2 ? size : k == 3 ? -size : 0) * step_y;
            const double score = cabs(sum_at(s, projection, dx, dy));
            if (score > best) {
                best = score;
                *ret_dx = dx;
                *ret_dy = dy;
            }
        }
    return all > 0 ? best / all : 0;
}
