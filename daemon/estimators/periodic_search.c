#include "estimators/periodic_search.h"

#include <math.h>
#include <stdlib.h>

#include "core/order.h"

#define RANGE         0.8 /* bins of a patch; patches half as far apart as they are long allow 1 */
/* How far the power of a line must exceed what chance gives, which it does once in 8000 times:
 * exp(-9). */
#define CHANCE        9.0
#define BESIDE        8u /* frequencies with which one is compared */
/* A strip is judged if this share of its window is visible, of a mean of 0.5, and if it has this
 * number of periods of the wave. */
#define LEAST_STRIP   0.25
#define LEAST_PERIODS 4
/* Lines count if their amplitude is at least LEAST_FACTOR of the wave's. A wave is the product of
 * two of them if their phases, added up, agree with its own: the weighted mean of the phasors of
 * all patches must be longer than AGREED. On fabrics of tests/unit/periodic.c it is 0.97 or more
 * for products, and at most 0.65 for others. */
#define LEAST_FACTOR  0.5
#define AGREED        0.8
/* Coherence of a wave whose nearest bin was tried. Other candidates take nine searches instead of
 * one. Chosen on the clips of tests/unit/periodic.c, of which 28 gave the same with 0.6. */
#define CERTAIN       0.95

/* Where a wave is, relative to the start of a search. */
struct match {
    double dx, dy;    /* cycles/pixel */
    double coherence; /* 0 .. 1 */
    double amplitude; /* the median of the patches */
};

/* Returns whether a frequency and its mirror image share a patch's peak. */
static bool is_near_mirror(struct sheet_frequency f, double distance)
{
    const double x = 2 * f.fx - round(2 * f.fx);
    const double y = 2 * f.fy - round(2 * f.fy);
    return hypot(x, y) < 2 * distance;
}

/* Makes the amplitudes of all patches directions, of at most 1; weak patches count less. Returns
 * the sum of their sizes. */
static double level(const struct spectrum *s, double complex *projection, double *ret_median)
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
    qsort(size, count, sizeof *size, order_doubles);
    const double median = size[count / 2] + 1e-9;
    *ret_median = median;
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

/* Searches the offset (cycles/pixel, within RANGE) from the frequency for which `projection` has
 * the amplitude in each patch, first on a grid. The amplitudes become directions. */
static struct match search_around(const struct spectrum *s, const struct sheet *sheet,
                                  double complex *projection)
{
    struct match ret = {0};
    const double all = level(s, projection, &ret.amplitude);
    const double range = RANGE / s->length;
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
                ret.dx = dx;
                ret.dy = dy;
            }
        }
    }
    for (int halving = 1; halving <= 6; halving++)
        for (int k = 0; k < 4; k++) {
            const double size = ldexp(1, -halving);
            const double dx = ret.dx + (k == 0 ? size : k == 1 ? -size : 0) * step_x;
            const double dy = ret.dy + (k == 2 ? size : k == 3 ? -size : 0) * step_y;
            const double score = cabs(sum_at(s, projection, dx, dy));
            if (score > best) {
                best = score;
                ret.dx = dx;
                ret.dy = dy;
            }
        }
    ret.coherence = all > 0 ? best / all : 0;
    return ret;
}

double periodic_search(const struct spectrum *s, const struct sheet *sheet,
                       double complex *projection, struct sheet_frequency *f, double *ret_amplitude)
{
    const double bin = 1.0 / s->length;
    const struct sheet_frequency middle = *f;
    struct match best = {.amplitude = -1};
    /* A strong wave stands out at the bins beside its own as well. The nearest bin, in which it is
     * strongest, is the one from which it is within the range. */
    bool is_projected[3] = {false};
    for (int k = 0; k < (int)SEARCH_STARTS; k++) {
        const int at = (k + 4) % 9; /* the middle first */
        const int column = at % 3;
        struct sheet_frequency start[3];
        double complex *amplitude = projection + (size_t)(3 * column) * s->count;
        for (int row = 0; row < 3; row++)
            start[row] = (struct sheet_frequency){middle.fx + (column - 1) * bin,
                                                  middle.fy + (row - 1) * bin};
        if (!is_projected[column])
            spectrum_project(s, sheet, start, 3, amplitude);
        is_projected[column] = true;
        const int row = at / 3;
        const struct match match = search_around(s, sheet, amplitude + (size_t)row * s->count);
        if (match.coherence * match.amplitude > best.coherence * best.amplitude) {
            best = match;
            *f = (struct sheet_frequency){start[row].fx + match.dx, start[row].fy + match.dy};
        }
        if (k == 0 && best.coherence > CERTAIN && !is_near_mirror(middle, 2.5 * bin))
            break;
    }
    *ret_amplitude = best.amplitude;
    return best.coherence;
}

bool periodic_has_line(const struct spectrum *s, const struct sheet *sheet,
                       double complex *projection, struct sheet_frequency f, double least)
{
    double power = 0;
    double count = 0;
    spectrum_project(s, sheet, &f, 1, projection);
    for (unsigned i = 0; i < s->count; i++)
        if (s->patch[i].is_usable) {
            power += cabs(projection[i]) * cabs(projection[i]);
            count++;
        } else {
            projection[i] = 0;
        }
    const double sum = cabs(sum_at(s, projection, 0, 0));
    /* By chance, the square of the sum is the sum of the squares; overlapping patches double it. */
    if (count == 0 || sum / count < least || sum * sum < CHANCE * 2 * power)
        return false;
    /* Scenery has as much beside the frequency, which a line has not. */
    double beside = 0;
    for (unsigned k = 0; k < BESIDE; k++) {
        const double dx = 2.5 * cos(2 * M_PI * k / BESIDE) / sheet->width;
        const double dy = 2.5 * sin(2 * M_PI * k / BESIDE) / sheet->height;
        beside = fmax(beside, cabs(sum_at(s, projection, dx, dy)));
    }
    return sum > 2 * beside;
}

/* A line in all patches. */
struct line {
    struct sheet_frequency f;
    const double complex *amplitude;
};

/* Returns whether a wave has m times the phase of one line and n times that of another, added up,
 * in nearly all patches. */
static bool has_phase_of(const struct spectrum *s, struct sheet_frequency f, int m,
                         const struct line *a, int n, const struct line *b)
{
    const double dx = m * a->f.fx + n * b->f.fx - f.fx;
    const double dy = m * a->f.fy + n * b->f.fy - f.fy;
    double complex sum = 0;
    double all = 0, power = 0;
    for (unsigned i = 0; i < s->count; i++) {
        const struct patch *patch = &s->patch[i];
        if (!patch->is_usable)
            continue;
        const double weight = fmin(cabs(a->amplitude[i]), cabs(b->amplitude[i]));
        const double phase = m * carg(a->amplitude[i]) + n * carg(b->amplitude[i]) +
                             2 * M_PI * (dx * patch->to_x + dy * patch->to_y);
        sum += weight * cexp(I * phase);
        all += weight;
        power += weight * weight;
    }
    const double agreed = cabs(sum);
    return agreed > AGREED * all && agreed * agreed > CHANCE * 2 * power;
}

static double mean_amplitude(const struct spectrum *s, const double complex *amplitude)
{
    double sum = 0, count = 0;
    for (unsigned i = 0; i < s->count; i++)
        if (s->patch[i].is_usable) {
            sum += cabs(amplitude[i]);
            count++;
        }
    return count > 0 ? sum / count : 0;
}

bool periodic_is_product(const struct spectrum *s, const struct sheet *sheet,
                         double complex *projection, const struct spectrum_line *line,
                         unsigned count, struct sheet_frequency f, double amplitude)
{
    static const int factors[][2] = {{1, 1}, {1, -1}, {2, 1}, {2, -1}, {1, 2}, {1, -2}};
    struct line known[SEARCH_LINES];
    unsigned lines = 0;
    for (unsigned i = 0; i < count && lines < SEARCH_LINES; i++) {
        double complex *at = projection + (size_t)lines * s->count;
        spectrum_project(s, sheet, &line[i].f, 1, at);
        for (unsigned k = 0; k < s->count; k++)
            at[k] += line[i].subtracted;
        if (mean_amplitude(s, at) < LEAST_FACTOR * amplitude)
            continue;
        const struct line own = {line[i].f, at};
        for (unsigned k = 0; k < lines; k++)
            for (size_t j = 0; j < sizeof factors / sizeof factors[0]; j++)
                if (has_phase_of(s, f, factors[j][0], &own, factors[j][1], &known[k]))
                    return true;
        known[lines++] = own;
    }
    return false;
}

/* The amplitude of what is left of a wave in a strip of the frame, along which a Hann window keeps
 * its brightness out. */
static double complex strip_amplitude(const struct sheet *sheet, struct sheet_frequency f,
                                      bool is_row, bool is_last)
{
    const unsigned across = is_row ? sheet->height : sheet->width;
    const unsigned first = is_last ? across - SHEET_LANES : 0;
    const unsigned length = is_row ? sheet->width : sheet->height;
    const float *window = is_row ? sheet->window_x : sheet->window_y;
    const double along = is_row ? f.fx : f.fy, other = is_row ? f.fy : f.fx;
    double complex sum = 0;
    double total = 0;
    for (unsigned k = first; k < first + SHEET_LANES; k++) {
        double complex turn =
            cexp(-2 * M_PI * I * (other * (k - (across - 1) / 2.0) - along * (length - 1) / 2.0));
        const double complex step = cexp(-2 * M_PI * I * along);
        for (unsigned i = 0; i < length; i++, turn *= step) {
            const unsigned x = is_row ? i : k, y = is_row ? k : i;
            if (sheet_is_blank(sheet, x / SHEET_LANES, y / SHEET_LANES))
                continue;
            const double weight = (double)window[i];
            sum += weight * (double)sheet->pixel[(size_t)y * sheet->stride + x] * turn;
            total += weight;
        }
    }
    return total > LEAST_STRIP * length * SHEET_LANES ? 2 * sum / total : 0;
}

bool periodic_reaches_borders(const struct sheet *sheet, struct sheet_frequency f,
                              double complex amplitude)
{
    for (int side = 0; side < 4; side++) {
        const bool is_row = side % 2 == 0;
        const double along = is_row ? f.fx * sheet->width : f.fy * sheet->height;
        const double length = is_row ? sheet->width : sheet->height;
        if (fabs(along - round(along / length) * length) < LEAST_PERIODS)
            continue; /* not told from a strip's brightness */
        const double complex left = strip_amplitude(sheet, f, is_row, side >= 2);
        if (cabs(amplitude + left) < cabs(amplitude) / 2)
            return false;
    }
    return true;
}
