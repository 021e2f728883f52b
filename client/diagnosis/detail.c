#include "detail.h"

#include <complex.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/dft.h"

#define LARGE      128u /* pixels of a square's side */
#define SMALL      64u  /* in small frames */
#define PROFILE    64u  /* places from frequency 0 to 0.5 */
#define LOWEST     0.03 /* cycles/pixel; below it is the scene's composition */
#define HIGHEST    0.47
#define FEWEST     4u /* frequencies at a place of a profile */
#define PEAK       8. /* times the power around it */
#define MAX_PEAKS  24u
/* Shares of the squares that a blur explains; photographs have up to 0.8 and 0.5 by themselves. */
#define LEAST_LINE 0.85
#define LEAST_DISK 0.57

struct detail {
    uint32_t width, height;
    unsigned side, squares;
    float *window;
    double complex *square; /* side x side: scratch memory, as are line and sum */
    double complex *line;
    double *sum;     /* (side + 1) x (side + 1): powers, added up from the corner on */
    double *power;   /* side x side: added over squares, relative to the contrast of each */
    uint32_t *peaks; /* in how many squares a frequency stood out */
    double contrast; /* mean variance of the squares */
    struct dft *dft;
};

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

static void transform(struct detail *detail)
{
    const unsigned side = detail->side;
    for (unsigned y = 0; y < side; y++)
        dft_line(detail->dft, detail->square + (size_t)y * side);
    for (unsigned x = 0; x < side; x++) {
        for (unsigned y = 0; y < side; y++)
            detail->line[y] = detail->square[(size_t)y * side + x];
        dft_line(detail->dft, detail->line);
        for (unsigned y = 0; y < side; y++)
            detail->square[(size_t)y * side + x] = detail->line[y];
    }
}

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
static void add_square(struct detail *detail, const float *luma)
{
    const unsigned side = detail->side, half = side / 2;
    double mean = 0, variance = 0;
    for (unsigned y = 0; y < side; y++)
        for (unsigned x = 0; x < side; x++)
            mean += (double)luma[(size_t)y * detail->width + x];
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
    transform(detail);
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

void detail_add(struct detail *detail, const float *luma)
{
    const unsigned hop = detail->side / 2;
    for (unsigned y = 0; y + detail->side <= detail->height; y += hop)
        for (unsigned x = 0; x + detail->side <= detail->width; x += hop)
            add_square(detail, luma + (size_t)y * detail->width + x);
}

/* ---- blur ---- */

/* Logarithms of power by one coordinate of the frequency. */
struct profile {
    double level[PROFILE];
    double weight[PROFILE]; /* the number of frequencies; 0: not known */
};

static double frequency_at(const struct detail *detail, unsigned at)
{
    return ((double)at - detail->side / 2.) / detail->side;
}

/* Calls for each frequency of a half plane but those on the axes, where stripes and borders are. */
#define FOR_FREQUENCIES(detail, x, y)                                                              \
    for (unsigned y = 0; y < (detail)->side; y++)                                                  \
        for (unsigned x = (detail)->side / 2 + 2; x < (detail)->side; x++)                         \
            if (y + 2 <= (detail)->side / 2 || y >= (detail)->side / 2 + 2)

static double frequency_of(unsigned place)
{
    return (place + 0.5) * 0.5 / PROFILE;
}

static void add_radial(const struct detail *detail, struct profile *ret)
{
    *ret = (struct profile){{0}, {0}};
    FOR_FREQUENCIES(detail, x, y)
    {
        const double f = hypot(frequency_at(detail, x), frequency_at(detail, y));
        const unsigned at = (unsigned)(f * 2 * PROFILE);
        if (f < LOWEST || f > HIGHEST || at >= PROFILE)
            continue;
        ret->level[at] += log(detail->power[(size_t)y * detail->side + x] + 1e-9);
        ret->weight[at] += 1;
    }
    for (unsigned at = 0; at < PROFILE; at++) {
        ret->level[at] /= ret->weight[at] > 0 ? ret->weight[at] : 1;
        ret->weight[at] = ret->weight[at] >= FEWEST ? 1 : 0;
    }
}

/* The transform of a disk is an Airy function; of a Gaussian, one with sigma = -size. */
static double blur_at(double size, double f)
{
    const double x = 2 * M_PI * size * f;
    if (size < 0)
        return exp(-x * x / 2);
    return x < 1e-6 ? 1 : 2 * j1(x) / x;
}

/* What a power law with blur and noise leaves of a profile: the mean square of its logarithm. The
 * factor of the law is found by itself. */
static double residual(const struct profile *profile, double size, double slope, double noise)
{
    double factor = 0, cost = 0, weights = 0;
    for (unsigned turn = 0; turn < 4; turn++) {
        double sum = 0;
        cost = weights = 0;
        for (unsigned at = 0; at < PROFILE; at++) {
            const double f = frequency_of(at), b = blur_at(size, f);
            const double law = pow(f / 0.1, -slope) * (b * b + 2e-4);
            if (profile->weight[at] == 0)
                continue;
            const double error = profile->level[at] - log(exp(factor) * law + noise);
            /* Where noise is most of it, the factor hardly matters. */
            const double share = exp(factor) * law / (exp(factor) * law + noise);
            sum += share * error;
            weights += share;
            cost += error * error;
        }
        factor += weights > 0 ? sum / weights : 0;
    }
    return cost;
}

struct radial_fit {
    double size, slope, noise, cost;
};

static void try_size(const struct profile *profile, double least, double size,
                     struct radial_fit *best)
{
    static const double shares[] = {0, 0.5, 0.8, 0.95, 1.05};
    for (double slope = 1.6; slope < 3.61; slope += 0.25)
        for (unsigned i = 0; i < sizeof shares / sizeof shares[0]; i++) {
            const double noise = shares[i] * least;
            const double cost = residual(profile, size, slope, noise);
            if (cost < best->cost)
                *best = (struct radial_fit){size, slope, noise, cost};
        }
}

static double least_power(const struct profile *profile)
{
    double least = INFINITY;
    for (unsigned at = PROFILE / 2; at < PROFILE; at++)
        if (profile->weight[at] > 0)
            least = fmin(least, profile->level[at]);
    return exp(least);
}

static void find_disk(const struct profile *profile, struct radial_fit *sharp,
                      struct radial_fit *disk)
{
    const double least = least_power(profile);
    sharp->cost = disk->cost = INFINITY;
    for (double size = 0; size < 2.01; size += 0.25)
        try_size(profile, least, -size, sharp);
    for (double size = 1.5; size < 12; size *= 1.04)
        try_size(profile, least, size, disk);
}

/* The profile across the lines of a motion: what the logarithm of power has beyond its mean at that
 * radius, by the frequency along the motion. */
static void add_directed(const struct detail *detail, const struct profile *radial, double angle,
                         double floor, struct profile *ret)
{
    *ret = (struct profile){{0}, {0}};
    FOR_FREQUENCIES(detail, x, y)
    {
        const double fx = frequency_at(detail, x), fy = frequency_at(detail, y);
        const double f = hypot(fx, fy), g = fabs(fx * cos(angle) + fy * sin(angle));
        const unsigned ring = (unsigned)(f * 2 * PROFILE), at = (unsigned)(g * 2 * PROFILE);
        if (f < LOWEST || f > HIGHEST || ring >= PROFILE || radial->weight[ring] == 0 ||
            radial->level[ring] < floor)
            continue;
        ret->level[at] +=
            log(detail->power[(size_t)y * detail->side + x] + 1e-9) - radial->level[ring];
        ret->weight[at] += 1;
    }
    for (unsigned at = 0; at < PROFILE; at++)
        ret->level[at] /= ret->weight[at] > 0 ? ret->weight[at] : 1;
}

/* How much of the variance of a profile a line of this length explains beyond a parabola, which is
 * what scenes have whose edges have a direction. */
static double explained(const struct profile *profile, double length, double *ret_depth)
{
    double basis[4][PROFILE], norm, target[PROFILE], before = 0, after = 0;
    for (unsigned at = 0; at < PROFILE; at++) {
        const double g = frequency_of(at), x = M_PI * length * g, sinc = sin(x) / x;
        const double w = sqrt(profile->weight[at] >= FEWEST ? profile->weight[at] : 0);
        basis[0][at] = w;
        basis[1][at] = w * g;
        basis[2][at] = w * g * g;
        basis[3][at] = w * log(sinc * sinc + 0.01);
        target[at] = w * profile->level[at];
    }
    for (unsigned i = 0; i < 4; i++) {
        for (unsigned k = 0; k < i; k++) {
            double dot = 0;
            for (unsigned at = 0; at < PROFILE; at++)
                dot += basis[i][at] * basis[k][at];
            for (unsigned at = 0; at < PROFILE; at++)
                basis[i][at] -= dot * basis[k][at];
        }
        norm = 0;
        for (unsigned at = 0; at < PROFILE; at++)
            norm += basis[i][at] * basis[i][at];
        if (norm < 1e-9)
            return 0;
        double dot = 0;
        for (unsigned at = 0; at < PROFILE; at++) {
            basis[i][at] /= sqrt(norm);
            dot += basis[i][at] * target[at];
        }
        if (i == 3) {
            for (unsigned at = 0; at < PROFILE; at++)
                before += target[at] * target[at];
            after = before - dot * dot;
            *ret_depth = dot / sqrt(norm);
        }
        for (unsigned at = 0; at < PROFILE; at++)
            target[at] -= dot * basis[i][at];
    }
    return before > 0 && *ret_depth > 0 ? 1 - after / before : 0;
}

/* Squares of one size, such as those of a codec or of a mosaic of tiles, have the zeros of a motion
 * along both of their sides. */
static bool is_of_squares(const struct detail *detail, const struct profile *radial, double floor,
                          const struct detail_shape *line)
{
    struct profile directed;
    double depth = 0, most = 0;
    add_directed(detail, radial, (line->angle_deg + 90) * M_PI / 180, floor, &directed);
    for (double share = 0.9; share < 1.11; share += 0.02)
        most = fmax(most, explained(&directed, line->size_px * share, &depth));
    return most > 0.5 * line->gain;
}

static void find_line(const struct detail *detail, const struct profile *radial, double floor,
                      struct detail_shape *ret)
{
    struct profile directed;
    ret->gain = 0;
    for (double degrees = 0; degrees < 180; degrees += 3) {
        add_directed(detail, radial, degrees * M_PI / 180, floor, &directed);
        for (double length = 4; length < 28; length *= 1.03) {
            double depth = 0;
            const double gain = explained(&directed, length, &depth) * fmin(depth / 0.4, 1);
            if (gain > ret->gain)
                *ret = (struct detail_shape){DETAIL_LINE, length, degrees, gain, 0};
        }
    }
    if (ret->gain > LEAST_LINE && is_of_squares(detail, radial, floor, ret))
        ret->gain = 0;
}

void detail_find_blur(const struct detail *detail, struct detail_shape *ret)
{
    struct profile radial;
    struct radial_fit sharp, disk;
    struct detail_shape line;
    *ret = (struct detail_shape){.blur = DETAIL_SHARP};
    if (detail->squares == 0)
        return;
    add_radial(detail, &radial);
    find_disk(&radial, &sharp, &disk);
    find_line(detail, &radial, log(least_power(&radial) * 1.3), &line);
    const double gain = 1 - disk.cost / sharp.cost;
    const double law = exp(radial.level[(unsigned)(0.1 * 2 * PROFILE)]);
    if (line.gain > LEAST_LINE && line.gain > gain) {
        *ret = line;
    } else if (gain > LEAST_DISK) {
        ret->blur = DETAIL_DISK;
        ret->size_px = disk.size;
        ret->gain = gain;
    } else {
        ret->gain = fmax(gain, line.gain);
    }
    ret->noise = law > 0 ? disk.noise / law : 0;
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
    /* The squares of a window's samples add up to 3/8 of their number along each axis. */
    const double window = pow(0.375 * detail->side, 2);
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
