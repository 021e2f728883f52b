#include "detail_private.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define LARGE     128u /* pixels of a square's side */
#define SMALL     64u  /* in small frames */
#define PEAK      8.   /* times the power around it */
#define MAX_PEAKS 24u
#define NEAR      1.f   /* grey levels; samples this close to black or white are cut off */
#define CLIPPED   0.004 /* a square with a greater share of clipped samples is left out */

int detail_create(struct detail **ret, uint32_t width, uint32_t height)
{
    struct detail *detail = calloc(1, sizeof *detail);
    if (detail == NULL)
        return -ENOMEM;
    const unsigned side = width >= 2 * LARGE && height >= 3 * SMALL ? LARGE : SMALL;
    const size_t count = (size_t)side * side;
    *detail = (struct detail){.width = width,
                              .height = height,
                              .side = side,
                              .window = malloc(side * sizeof *detail->window),
                              .square = malloc(count * sizeof *detail->square),
                              .line = malloc(side * sizeof *detail->line),
                              .sum = calloc((size_t)(side + 1) * (side + 1), sizeof *detail->sum),
                              .power = calloc(count, sizeof *detail->power),
                              .peaks = calloc(count, sizeof *detail->peaks)};
    if (detail->window == NULL || detail->square == NULL || detail->line == NULL ||
        detail->sum == NULL || detail->power == NULL || detail->peaks == NULL ||
        dft_create(&detail->dft, side, NULL) < 0) {
        detail_destroy(detail);
        return -ENOMEM;
    }
    for (unsigned i = 0; i < side; i++)
        detail->window[i] = (float)(0.5 - 0.5 * cos(2 * M_PI * (i + 0.5) / side));
    *ret = detail;
    return 0;
}

void detail_destroy(struct detail *detail)
{
    if (detail == NULL)
        return;
    free(detail->window);
    free(detail->square);
    free(detail->line);
    free(detail->sum);
    free(detail->power);
    free(detail->peaks);
    dft_destroy(detail->dft);
    free(detail);
}

/* ---- the spectrum ---- */

/* Adds up a box of powers, of 2 radius + 1 frequencies a side, without wrapping around. */
static double box(const struct detail *detail, unsigned x, unsigned y, unsigned radius)
{
    const size_t row = detail->side + 1;
    const double *sum = detail->sum;
    const size_t left = x - radius, right = x + radius + 1;
    const size_t top = (y - radius) * row, bottom = (y + radius + 1) * row;
    return sum[bottom + right] - sum[bottom + left] - sum[top + right] + sum[top + left];
}

/* Counts the frequencies that stand out from those around them. Frequency 0 is in the middle of
 * `sum`, so that only the edges of the spectrum are left out. */
static void count_peaks(struct detail *detail)
{
    const unsigned side = detail->side, half = side / 2;
    for (unsigned y = 0; y < side; y++) {
        double line = 0;
        for (unsigned x = 0; x < side; x++) {
            const double complex f =
                detail->square[(size_t)((y + half) % side) * side + (x + half) % side];
            line += creal(f) * creal(f) + cimag(f) * cimag(f);
            detail->sum[(size_t)(y + 1) * (side + 1) + x + 1] =
                detail->sum[(size_t)y * (side + 1) + x + 1] + line;
        }
    }
    for (unsigned y = 4; y + 4 < side; y++)
        for (unsigned x = 4; x + 4 < side; x++) {
            const double near = box(detail, x, y, 1),
                         around = box(detail, x, y, 4) - box(detail, x, y, 2);
            detail->peaks[(size_t)y * side + x] += near / 9 > PEAK * around / 56;
        }
}

/* Adds one square, if it shows something. Each counts by its own contrast, so that one edge does
 * not outweigh the rest of a picture. */
static void add_square(struct detail *detail, const float *luma, float black, float white)
{
    const unsigned side = detail->side, half = side / 2;
    double mean = 0, variance = 0;
    unsigned clipped = 0;
    for (unsigned y = 0; y < side; y++)
        for (unsigned x = 0; x < side; x++) {
            const float level = luma[(size_t)y * detail->width + x];
            mean += (double)level;
            clipped += level <= black + NEAR || level >= white - NEAR;
        }
    if (clipped > CLIPPED * side * side)
        return;
    mean /= (double)side * side;
    for (unsigned y = 0; y < side; y++)
        for (unsigned x = 0; x < side; x++) {
            const double level = (double)luma[(size_t)y * detail->width + x] - mean;
            variance += level * level;
            detail->square[(size_t)y * side + x] =
                level * (double)(detail->window[x] * detail->window[y]);
        }
    variance /= (double)side * side;
    if (variance < 4)
        return;
    dft_axis(detail->dft, detail->square, detail->line, side, side, 1, side);
    dft_axis(detail->dft, detail->square, detail->line, side, side, side, 1);
    count_peaks(detail);
    for (unsigned y = 0; y < side; y++)
        for (unsigned x = 0; x < side; x++) {
            const double complex f =
                detail->square[(size_t)((y + half) % side) * side + (x + half) % side];
            detail->power[(size_t)y * side + x] +=
                (creal(f) * creal(f) + cimag(f) * cimag(f)) / variance;
        }
    detail->contrast += variance;
    detail->squares++;
}

void detail_add(struct detail *detail, const float *luma, float black, float white)
{
    const unsigned hop = detail->side / 2;
    for (unsigned y = 0; y + detail->side <= detail->height; y += hop)
        for (unsigned x = 0; x + detail->side <= detail->width; x += hop)
            add_square(detail, luma + (size_t)y * detail->width + x, black, white);
}

/* ---- screens ---- */

struct peak {
    double fx, fy, share, power;
};

/* Returns the peaks that most squares have, with their frequencies between those of the spectrum.
 */
static unsigned list_peaks(const struct detail *detail, struct peak ret[MAX_PEAKS])
{
    const unsigned side = detail->side;
    unsigned count = 0;
    for (unsigned y = 4; y + 4 < side; y++)
        for (unsigned x = 4; x + 4 < side && count < MAX_PEAKS; x++) {
            const double *at = detail->power + (size_t)y * side + x;
            double sum = 0, dx = 0, dy = 0;
            const double f = hypot(frequency_at(detail, x), frequency_at(detail, y));
            bool is_greatest = f > 0.07;
            for (int v = -1; v <= 1; v++)
                for (int u = -1; u <= 1; u++) {
                    const double power = at[v * (int)side + u];
                    is_greatest = is_greatest && power <= at[0];
                    sum += power;
                    dx += u * power;
                    dy += v * power;
                }
            const double share = (double)detail->peaks[(size_t)y * side + x] / detail->squares;
            if (is_greatest && share > 0.5)
                ret[count++] = (struct peak){frequency_at(detail, x) + dx / sum / side,
                                             frequency_at(detail, y) + dy / sum / side, share, sum};
        }
    return count;
}

/* Returns a frequency between -0.5 and 0.5 that looks the same. */
static double wrap(double f)
{
    return f - round(f);
}

/* Adds a sum of the screen's frequencies, if a third of the squares have it: how many others there
 * are depends on the dots' shape and on the lens. */
static void add_point(const struct detail *detail, double fx, double fy, bool is_sure,
                      struct detail_screen *ret)
{
    const unsigned side = detail->side;
    const long x = lround(wrap(fx) * side) + side / 2, y = lround(wrap(fy) * side) + side / 2;
    const bool is_inside = x >= 0 && y >= 0 && x < (long)side && y < (long)side;
    const double share =
        is_inside ? (double)detail->peaks[(size_t)y * side + (size_t)x] / detail->squares : 0;
    if (is_sure || share > 0.33) {
        ret->point[ret->points][0] = wrap(fx);
        ret->point[ret->points++][1] = wrap(fy);
    }
}

static void add_points(const struct detail *detail, struct detail_screen *ret)
{
    const double fx = ret->fx, fy = ret->fy;
    ret->points = 0;
    add_point(detail, fx, fy, true, ret);
    add_point(detail, -fy, fx, true, ret);
    add_point(detail, fx - fy, fy + fx, false, ret);
    add_point(detail, fx + fy, fy - fx, false, ret);
    add_point(detail, 2 * fx, 2 * fy, false, ret);
    add_point(detail, -2 * fy, 2 * fx, false, ret);
}

bool detail_find_screen(const struct detail *detail, struct detail_screen *ret)
{
    struct peak peak[MAX_PEAKS];
    const unsigned count = detail->squares > 0 ? list_peaks(detail, peak) : 0;
    const double window = window_power(detail);
    bool found = false;
    for (unsigned i = 0; i < count; i++)
        for (unsigned k = 0; k < count; k++) {
            const struct peak *a = &peak[i], *b = &peak[k];
            const double f = hypot(a->fx, a->fy);
            if (hypot(b->fx + a->fy, b->fy - a->fx) > 0.04 * f || a->fx < 0 || a->fy < 0)
                continue;
            const double power =
                (a->power + b->power) / detail->squares * (detail->contrast / detail->squares);
            const struct detail_screen screen = {
                .fx = (a->fx + b->fy) / 2,
                .fy = (a->fy - b->fx) / 2,
                .rms = sqrt(2 * power / window / detail->side / detail->side),
                .share = fmin(a->share, b->share)};
            if (!found || screen.rms > ret->rms)
                *ret = screen;
            found = true;
        }
    if (found)
        add_points(detail, ret);
    return found;
}
