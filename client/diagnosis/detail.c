#include "detail_private.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PEAK           8. /* times the power around it */
#define MAX_PEAKS      24u
#define LOWEST         0.07 /* cycles/pixel of a screen; below it is the scene */
#define NEAR           1.f  /* grey levels; samples this close to black or white are cut off */
#define REACH          20.f /* pixels from what is cut off, over which samples count less */
#define LEAST_LEFT     0.25 /* a square is left out if clipping leaves less of its weight */
#define LEAST_VARIANCE 4.   /* a square of less is left out */
#define STANDS_OUT     2. /* times the root mean square of what a view and a scene have in common */

/* Returns how many squares are side by side: they overlap by half, unless there are too many. */
static unsigned squares_along(uint32_t length, unsigned side, unsigned most)
{
    const unsigned count = 1 + (length - side) / (side / 2);
    return count < most ? count : most;
}

int detail_create(struct detail **ret, uint32_t width, uint32_t height)
{
    struct detail *detail = calloc(1, sizeof *detail);
    if (detail == NULL)
        return -ENOMEM;
    const unsigned half = DETAIL_SIDE / 2;
    const unsigned side = width >= 4 * half && height >= 3 * half ? DETAIL_SIDE : half;
    detail->width = width;
    detail->height = height;
    detail->side = side;
    detail->columns = squares_along(width, side, DETAIL_COLUMNS);
    detail->rows = squares_along(height, side, DETAIL_ROWS);
    const size_t count = (size_t)side * side * detail->columns * detail->rows;
    detail->mask = malloc((size_t)width * height * sizeof *detail->mask);
    detail->spectrum = malloc(count * sizeof *detail->spectrum);
    detail->view = malloc(count * sizeof *detail->view);
    detail->own = malloc(count * sizeof *detail->own);
    if (detail->mask == NULL || detail->spectrum == NULL || detail->view == NULL ||
        detail->own == NULL || dft_create(&detail->dft, side, NULL) < 0) {
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
    free(detail->mask);
    free(detail->spectrum);
    free(detail->view);
    free(detail->own);
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
static void count_peaks(struct detail *detail, const float complex *spectrum)
{
    const unsigned side = detail->side, half = side / 2;
    for (unsigned y = 0; y < side; y++) {
        double line = 0;
        for (unsigned x = 0; x < side; x++) {
            const double complex f =
                spectrum[(size_t)((y + half) % side) * side + (x + half) % side];
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

/* Turns the transform of a square that is some pixels to the right of and below the others. */
static void turn(const struct detail *detail, float complex *view, double right, double below)
{
    const unsigned side = detail->side, half = side / 2;
    const double complex step = cexp(2 * M_PI * I * right / side);
    for (unsigned y = 0; y < side; y++) {
        const double fy = y < half ? y : y - (double)side;
        double complex at = cexp(2 * M_PI * I * (fy * below - half * right) / side);
        for (unsigned k = 0; k < side; k++, at *= step)
            view[(size_t)y * side + (k + half) % side] *= (float complex)at;
    }
}

void detail_begin(struct detail *detail, const float *luma, float black, float white)
{
    const size_t count = (size_t)detail->columns * detail->rows * detail->side * detail->side;
    draw_mask(detail, luma, black, white);
    detail->views = 0;
    memset(detail->place, 0, sizeof detail->place);
    for (size_t i = 0; i < count; i++) {
        detail->spectrum[i] = 0;
        detail->own[i] = 0;
    }
}

/* Writes where a square of the scene begins. */
static void locate(const struct detail *detail, size_t place, unsigned *ret_left, unsigned *ret_top)
{
    const unsigned across = detail->width - detail->side, down = detail->height - detail->side;
    const unsigned column = (unsigned)(place % detail->columns);
    const unsigned row = (unsigned)(place / detail->columns);
    *ret_left = detail->columns > 1 ? column * across / (detail->columns - 1) : 0;
    *ret_top = detail->rows > 1 ? row * down / (detail->rows - 1) : 0;
}

/* Transforms the squares of a view where they are expected, in whole pixels. */
static void transform_view(struct detail *detail, const struct detail_view *view)
{
    const long side = detail->side, width = detail->width, height = detail->height;
    const size_t count = (size_t)side * side;
    for (size_t place = 0; place < (size_t)detail->columns * detail->rows; place++) {
        struct detail_square *square = &detail->place[place];
        unsigned left, top;
        locate(detail, place, &left, &top);
        const double x = left + view->dx, y = top + view->dy;
        const long u = lround(x), v = lround(y);
        square->is_seen =
            !square->is_left_out && u >= 0 && v >= 0 && u + side <= width && v + side <= height;
        if (!square->is_seen)
            continue;
        const double variance = transform(detail, view->luma + v * width + u,
                                          detail->mask + (size_t)top * detail->width + left);
        square->is_left_out = variance < LEAST_VARIANCE;
        square->is_seen = !square->is_left_out;
        square->added = variance;
        for (size_t i = 0; i < count; i++)
            detail->view[place * count + i] = (float complex)detail->square[i];
        turn(detail, detail->view + place * count, x - (double)u, y - (double)v);
    }
}

/* Writes what the view and the scene have in common at each shift, and at each frequency. */
static void correlate(struct detail *detail)
{
    const size_t side = detail->side, count = side * side;
    for (size_t i = 0; i < count; i++)
        detail->cross[i] = 0;
    for (size_t place = 0; place < (size_t)detail->columns * detail->rows; place++)
        for (size_t i = 0; i < count && detail->place[place].is_seen; i++)
            detail->cross[i] +=
                detail->spectrum[place * count + i] * conjf(detail->view[place * count + i]);
    for (size_t i = 0; i < count; i++)
        detail->square[i] = detail->cross[i];
    dft_axis(detail->dft, detail->square, detail->line, side, side, 1, side);
    dft_axis(detail->dft, detail->square, detail->line, side, side, side, 1);
}

/* Finds the shift at which they have most in common, in whole pixels. Returns false if it does not
 * stand out from all other shifts. */
static bool find_whole(const struct detail *detail, long reach, long *ret_dx, long *ret_dy)
{
    const long side = detail->side;
    double most = -INFINITY, squares = 0;
    for (long i = 0; i < side * side; i++)
        squares += pow(creal(detail->square[i]), 2);
    for (long v = -reach; v <= reach; v++)
        for (long u = -reach; u <= reach; u++) {
            const long at = (v + side) % side * side + (u + side) % side;
            if (creal(detail->square[at]) <= most)
                continue;
            most = creal(detail->square[at]);
            *ret_dx = u;
            *ret_dy = v;
        }
    return most > STANDS_OUT * sqrt(squares / (double)(side * side));
}

/* Refines a shift to parts of a pixel, by Newton's method for the maximum of what they have in
 * common. */
static void find_part(const struct detail *detail, double *dx, double *dy)
{
    const unsigned side = detail->side, half = side / 2;
    for (unsigned i = 0; i < 3; i++) {
        double gx = 0, gy = 0, xx = 0, xy = 0, yy = 0;
        for (unsigned y = 0; y < side; y++)
            for (unsigned x = 0; x < side; x++) {
                const double fx = 2 * M_PI * (x < half ? x : x - (double)side) / side;
                const double fy = 2 * M_PI * (y < half ? y : y - (double)side) / side;
                const double complex f =
                    detail->cross[(size_t)y * side + x] * cexp(-I * (fx * *dx + fy * *dy));
                gx += fx * cimag(f);
                gy += fy * cimag(f);
                xx += fx * fx * creal(f);
                xy += fx * fy * creal(f);
                yy += fy * fy * creal(f);
            }
        const double det = xx * yy - xy * xy;
        if (!(det > 1e-3 * xx * yy) || xx <= 0)
            return;
        *dx += fmin(fmax((yy * gx - xy * gy) / det, -0.5), 0.5);
        *dy += fmin(fmax((xx * gy - xy * gx) / det, -0.5), 0.5);
    }
}

bool detail_add(struct detail *detail, const struct detail_view *view, double *ret_dx,
                double *ret_dy)
{
    const size_t count = (size_t)detail->side * detail->side;
    double dx = 0, dy = 0;
    transform_view(detail, view);
    if (detail->views > 0 && view->reach > 0) {
        long u = 0, v = 0;
        correlate(detail);
        const bool is_found = find_whole(detail, (long)ceil(view->reach), &u, &v);
        if (!is_found && view->reach > 1)
            return false;
        dx = (double)u;
        dy = (double)v;
        find_part(detail, &dx, &dy);
    }
    for (size_t place = 0; place < (size_t)detail->columns * detail->rows; place++) {
        struct detail_square *square = &detail->place[place];
        float complex *f = detail->view + place * count;
        if (!square->is_seen)
            continue;
        turn(detail, f, dx, dy);
        for (size_t i = 0; i < count; i++) {
            detail->spectrum[place * count + i] += f[i];
            detail->own[place * count + i] +=
                crealf(f[i]) * crealf(f[i]) + cimagf(f[i]) * cimagf(f[i]);
        }
        square->variance += square->added;
        square->views++;
    }
    detail->views++;
    *ret_dx = view->dx + dx;
    *ret_dy = view->dy + dy;
    return true;
}

/* Returns the power that all views of a square have in common. Noise differs from view to view, so
 * products of two of them are free of it. */
static double common_power(double complex sum, double own, unsigned views)
{
    const double all = creal(sum) * creal(sum) + cimag(sum) * cimag(sum);
    return views > 1 ? (all - own) / ((double)views * (views - 1)) : all;
}

/* Adds a square. Each is divided by its contrast, so that one edge does not outweigh the rest of a
 * picture, and weighted by the share of its contrast that is not noise. */
static void end_square(struct detail *detail, size_t place)
{
    const unsigned side = detail->side, half = side / 2;
    const struct detail_square *square = &detail->place[place];
    const float complex *spectrum = detail->spectrum + place * side * side;
    const float *own = detail->own + place * side * side;
    const double views = square->views, variance = square->variance / views;
    double common = 0, all = 0;
    count_peaks(detail, spectrum);
    for (size_t i = 0; i < (size_t)side * side; i++) {
        common += common_power(spectrum[i], (double)own[i], square->views);
        all += (double)own[i] / views;
    }
    const double weight = fmax(common / all, 0);
    for (unsigned y = 0; y < side; y++)
        for (unsigned x = 0; x < side; x++) {
            const size_t from = (size_t)((y + half) % side) * side + (x + half) % side;
            const size_t at = (size_t)y * side + x;
            const double scale = weight / variance, mean = (double)own[from] / views;
            const double power = common_power(spectrum[from], (double)own[from], square->views);
            const double noise = fmax(mean - fmax(power, 0), 0);
            detail->power[at] += scale * power;
            if (square->views > 1)
                detail->error[at] +=
                    scale * scale * noise * (noise / (views - 1) + 2 * fmax(power, 0)) / views;
        }
    detail->contrast += weight * variance;
    detail->weights += weight;
    detail->squares++;
}

void detail_end(struct detail *detail)
{
    for (size_t place = 0; place < (size_t)detail->columns * detail->rows; place++)
        if (4 * detail->place[place].views > detail->views && !detail->place[place].is_left_out)
            end_square(detail, place);
}

/* ---- screens ---- */

struct peak {
    double fx, fy, power;
};

/* Adds a peak, in place of the weakest one if there is no room. */
static void keep_peak(struct peak peak, struct peak list[MAX_PEAKS], unsigned *count)
{
    unsigned weakest = 0;
    if (*count < MAX_PEAKS) {
        list[(*count)++] = peak;
        return;
    }
    for (unsigned i = 1; i < MAX_PEAKS; i++)
        weakest = list[i].power < list[weakest].power ? i : weakest;
    if (list[weakest].power < peak.power)
        list[weakest] = peak;
}

/* Returns the strongest peaks that most squares have, with their frequencies between those of the
 * spectrum. */
static unsigned list_peaks(const struct detail *detail, struct peak ret[MAX_PEAKS])
{
    const unsigned side = detail->side;
    unsigned count = 0;
    for (unsigned y = 4; y + 4 < side; y++)
        for (unsigned x = 4; x + 4 < side; x++) {
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
            if (is_greatest && 2 * detail->peaks[(size_t)y * side + x] > detail->squares)
                keep_peak((struct peak){frequency_at(detail, x) + dx / sum / side,
                                        frequency_at(detail, y) + dy / sum / side, sum},
                          ret, &count);
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
                (a->power + b->power) / detail->weights * (detail->contrast / detail->weights);
            const struct detail_screen screen = {
                .fx = (a->fx + b->fy) / 2,
                .fy = (a->fy - b->fx) / 2,
                .rms = sqrt(2 * power / window / detail->side / detail->side)};
            if (!found || screen.rms > ret->rms)
                *ret = screen;
            found = true;
        }
    if (found)
        add_points(detail, ret);
    return found;
}
