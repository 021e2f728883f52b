#include "detail_private.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define LARGE      128u /* pixels of a square's side */
#define SMALL      64u  /* in small frames */
#define PEAK       8.   /* times the power around it */
#define MAX_PEAKS  24u
#define LOWEST     0.07 /* cycles/pixel of a screen; below it is the scene */
#define NEAR       1.f  /* grey levels; samples this close to black or white are cut off */
#define REACH      20.f /* pixels from what is cut off, over which samples count less */
#define LEAST_LEFT 0.25 /* a square is left out if clipping leaves less of its weight */
#define COLUMNS    12u  /* squares side by side, at most */
#define ROWS       8u

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
                              .spectrum = malloc(count * sizeof *detail->spectrum),
                              .noise = malloc(count * sizeof *detail->noise),
                              .mask = malloc((size_t)width * height * sizeof *detail->mask),
                              .power = calloc(count, sizeof *detail->power),
                              .error = calloc(count, sizeof *detail->error),
                              .peaks = calloc(count, sizeof *detail->peaks)};
    if (detail->window == NULL || detail->square == NULL || detail->line == NULL ||
        detail->sum == NULL || detail->spectrum == NULL || detail->noise == NULL ||
        detail->mask == NULL || detail->power == NULL || detail->error == NULL ||
        detail->peaks == NULL || dft_create(&detail->dft, side, NULL) < 0) {
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
    free(detail->spectrum);
    free(detail->noise);
    free(detail->mask);
    free(detail->power);
    free(detail->error);
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
                detail->spectrum[(size_t)((y + half) % side) * side + (x + half) % side];
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

/* Writes the weight of each sample: 0 where it is cut off, 1 from REACH pixels away. Single bright
 * points are no edge, and count. */
static void draw_mask(struct detail *detail, const float *luma, float black, float white)
{
    const size_t width = detail->width, height = detail->height;
    float *mask = detail->mask;
    for (size_t y = 0; y < height; y++)
        for (size_t x = 0; x < width; x++) {
            unsigned cut = 0;
            for (size_t v = y > 0 ? y - 1 : 0; v <= y + 1 && v < height; v++)
                for (size_t u = x > 0 ? x - 1 : 0; u <= x + 1 && u < width; u++)
                    cut +=
                        luma[v * width + u] <= black + NEAR || luma[v * width + u] >= white - NEAR;
            mask[y * width + x] = cut >= 3 ? 0 : REACH;
        }
    /* Distances, in steps along the axes and diagonals. */
    for (size_t y = 0; y < height; y++)
        for (size_t x = 0; x < width; x++) {
            float *at = mask + y * width + x;
            if (x > 0)
                *at = fminf(*at, at[-1] + 1);
            if (y > 0)
                *at = fminf(*at, *(at - width) + 1);
            if (x > 0 && y > 0)
                *at = fminf(*at, *(at - width - 1) + 1.4f);
        }
    for (size_t y = height; y-- > 0;)
        for (size_t x = width; x-- > 0;) {
            float *at = mask + y * width + x;
            if (x + 1 < width)
                *at = fminf(*at, at[1] + 1);
            if (y + 1 < height)
                *at = fminf(*at, at[width] + 1);
            if (x + 1 < width && y + 1 < height)
                *at = fminf(*at, at[width + 1] + 1.4f);
        }
    for (size_t i = 0; i < width * height; i++)
        mask[i] = mask[i] >= REACH ? 1 : 0.5f - 0.5f * cosf((float)M_PI * mask[i] / REACH);
}

/* Writes the transform of a square of `luma`. `mask` is that of the same place of the scene.
 * Returns its variance, or 0 if too little of it is left. */
static double transform(struct detail *detail, const float *luma, const float *mask)
{
    const unsigned side = detail->side;
    double weights = 0, energy = 0, mean = 0, variance = 0;
    for (unsigned y = 0; y < side; y++)
        for (unsigned x = 0; x < side; x++) {
            const size_t at = (size_t)y * detail->width + x;
            const double weight = (double)(detail->window[x] * detail->window[y] * mask[at]);
            weights += weight;
            energy += weight * weight;
            mean += weight * (double)luma[at];
        }
    if (energy < LEAST_LEFT * window_power(detail))
        return 0;
    mean /= weights;
    const double scale = sqrt(window_power(detail) / energy);
    for (unsigned y = 0; y < side; y++)
        for (unsigned x = 0; x < side; x++) {
            const size_t at = (size_t)y * detail->width + x;
            const double weight = (double)(detail->window[x] * detail->window[y] * mask[at]);
            const double level = scale * weight * ((double)luma[at] - mean);
            variance += level * level;
            detail->square[(size_t)y * side + x] = level;
        }
    dft_axis(detail->dft, detail->square, detail->line, side, side, 1, side);
    dft_axis(detail->dft, detail->square, detail->line, side, side, side, 1);
    return variance / window_power(detail);
}

/* Adds the transform of a square that is parts of a pixel to the right of and below the others. */
static void add_transform(struct detail *detail, double right, double below)
{
    const unsigned side = detail->side, half = side / 2;
    for (unsigned y = 0; y < side; y++)
        for (unsigned x = 0; x < side; x++) {
            const size_t at = (size_t)y * side + x;
            const double fx = x < half ? x : x - (double)side, fy = y < half ? y : y - (double)side;
            const double complex f =
                detail->square[at] * cexp(2 * M_PI * I * (fx * right + fy * below) / side);
            detail->spectrum[at] += f;
            detail->noise[at] += creal(f) * creal(f) + cimag(f) * cimag(f);
        }
}

/* Adds the square at (left, top) of the first view. Each counts by its own contrast, so that one
 * edge does not outweigh the rest of a picture. */
static void add_square(struct detail *detail, const struct detail_view *view, unsigned views,
                       unsigned left, unsigned top)
{
    const unsigned side = detail->side, half = side / 2;
    const float *mask = detail->mask + (size_t)top * detail->width + left;
    double variance = 0;
    unsigned count = 0;
    for (size_t i = 0; i < (size_t)side * side; i++)
        detail->spectrum[i] = detail->noise[i] = 0;
    for (unsigned i = 0; i < views; i++) {
        const double x = left + view[i].dx, y = top + view[i].dy;
        const long u = lround(x), v = lround(y);
        if (u < 0 || v < 0 || u + (long)side > (long)detail->width ||
            v + (long)side > (long)detail->height)
            continue;
        const double own =
            transform(detail, view[i].luma + (size_t)v * detail->width + (size_t)u, mask);
        if (own < 4)
            return;
        add_transform(detail, x - (double)u, y - (double)v);
        variance += own;
        count++;
    }
    variance /= count;
    count_peaks(detail);
    for (unsigned y = 0; y < side; y++)
        for (unsigned x = 0; x < side; x++) {
            const size_t from = (size_t)((y + half) % side) * side + (x + half) % side;
            const size_t at = (size_t)y * side + x;
            const double complex f = detail->spectrum[from];
            const double all = creal(f) * creal(f) + cimag(f) * cimag(f);
            const double own = detail->noise[from], pairs = (double)count * (count - 1);
            /* Noise differs from frame to frame, so products of two frames are free of it. */
            detail->power[at] += (count > 1 ? (all - own) / pairs : all) / variance;
            if (count > 1)
                detail->error[at] += own * own / count / count / pairs / variance / variance;
        }
    detail->contrast += variance;
    detail->squares++;
}

void detail_add(struct detail *detail, const struct detail_view *view, unsigned views, float black,
                float white)
{
    const unsigned side = detail->side, across = detail->width - side, down = detail->height - side;
    unsigned columns = 1 + across / (side / 2), rows = 1 + down / (side / 2);
    columns = columns < COLUMNS ? columns : COLUMNS;
    rows = rows < ROWS ? rows : ROWS;
    draw_mask(detail, view[0].luma, black, white);
    for (unsigned j = 0; j < rows; j++)
        for (unsigned i = 0; i < columns; i++)
            add_square(detail, view, views, columns > 1 ? i * across / (columns - 1) : 0,
                       rows > 1 ? j * down / (rows - 1) : 0);
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
            bool is_greatest = f > LOWEST;
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
    /* Sums that are folded to the lowest frequencies would take the scene, and its brightness. */
    if (!is_sure && hypot(wrap(fx), wrap(fy)) < LOWEST)
        return;
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
