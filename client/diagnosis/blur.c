/* Finds the blur that explains the spectrum of detail.c; detail.h has the maths. */
#include <math.h>
#include <stddef.h>

#include "detail_private.h"

#define PROFILE        64u  /* places from frequency 0 to 0.5 */
#define LOWEST         0.03 /* cycles/pixel; below it is the scene's composition */
#define HIGHEST        0.47
#define ACROSS         0.1   /* cycles/pixel */
#define BETWEEN        0.008 /* cycles/pixel: windowed squares mix frequencies that close */
#define FEWEST         4u    /* frequencies at a place of a profile */
#define FEWEST_SQUARES 6u
#define LONGEST        28.  /* pixels of a line; longer ones are the scene's own edges */
#define LEAST_COST     0.01 /* mean square; a profile that fits better needs no blur */
/* Sharp photographs fit a law without blur several times better than one with any. */
#define LEAST_DISK     0.35 /* the share of the squares that a blur explains */
#define LEAST_LINE     0.15
#define MOST_ACROSS    0.1 /* what a line leaves of the squares, of what one across it leaves */

/* Logarithms of power by one coordinate of the frequency. */
struct profile {
    double level[PROFILE];
    double weight[PROFILE]; /* 1; 0: not known */
    double across;          /* cycles/pixel: what its frequencies have across it, on average */
};

static double frequency_of(unsigned place)
{
    return (place + 0.5) * 0.5 / PROFILE;
}

/* Returns the logarithm of the power, which is taken to be at least its own standard error. */
static double level_at(const struct detail *detail, size_t at)
{
    return log(fmax(detail->power[at], sqrt(detail->error[at])) + 1e-9);
}

static void add_to_profile(const struct detail *detail, struct profile *ret, size_t at, double f)
{
    const unsigned place = (unsigned)(f * 2 * PROFILE);
    if (f < LOWEST || f > HIGHEST || place >= PROFILE)
        return;
    ret->level[place] += level_at(detail, at);
    ret->weight[place] += 1;
}

static void finish_profile(struct profile *ret)
{
    for (unsigned at = 0; at < PROFILE; at++) {
        ret->level[at] /= ret->weight[at] > 0 ? ret->weight[at] : 1;
        ret->weight[at] = ret->weight[at] >= FEWEST ? 1 : 0;
    }
}

/* Calls for each frequency of a half plane but those on the axes, where stripes and borders are. */
#define FOR_FREQUENCIES(detail, x, y)                                                              \
    for (unsigned y = 0; y < (detail)->side; y++)                                                  \
        for (unsigned x = (detail)->side / 2 + 2; x < (detail)->side; x++)                         \
            if (y + 2 <= (detail)->side / 2 || y >= (detail)->side / 2 + 2)

static void draw_radial(const struct detail *detail, struct profile *ret)
{
    *ret = (struct profile){.across = 0};
    FOR_FREQUENCIES(detail, x, y)
    add_to_profile(detail, ret, (size_t)y * detail->side + x,
                   hypot(frequency_at(detail, x), frequency_at(detail, y)));
    finish_profile(ret);
}

/* By the frequency along a direction, of those that have little across it. */
static void draw_directed(const struct detail *detail, double degrees, struct profile *ret)
{
    const double c = cos(degrees * M_PI / 180), s = sin(degrees * M_PI / 180);
    *ret = (struct profile){.across = ACROSS / 2};
    FOR_FREQUENCIES(detail, x, y)
    {
        const double fx = frequency_at(detail, x), fy = frequency_at(detail, y);
        if (fabs(fy * c - fx * s) < ACROSS)
            add_to_profile(detail, ret, (size_t)y * detail->side + x, fabs(fx * c + fy * s));
    }
    finish_profile(ret);
}

/* ---- shapes ---- */

/* The transform of a Gaussian, of a disk (an Airy function) or of a line. */
static double shape_at(enum detail_blur blur, double size, double f)
{
    const double x = 2 * M_PI * size * f;
    if (blur == DETAIL_SHARP)
        return exp(-x * x / 2);
    if (x < 1e-6)
        return 1;
    return blur == DETAIL_DISK ? 2 * j1(x) / x : sin(x / 2) / (x / 2);
}

struct fit {
    double size, cost;
    double power; /* at 0.1 cycles/pixel, before the blur */
};

/* Returns what a law with noise leaves of a profile: the mean of squared errors of its logarithm.
 * The factor of the law is found by itself. */
static double residual(const struct profile *profile, const double *law, double noise,
                       double *ret_power)
{
    double factor = 0, cost = 0, places = 0;
    for (unsigned turn = 0; turn < 4; turn++) {
        const double scale = exp(factor);
        double sum = 0, weights = 0;
        cost = places = 0;
        for (unsigned at = 0; at < PROFILE; at++) {
            if (profile->weight[at] == 0)
                continue;
            const double error = profile->level[at] - log(scale * law[at] + noise);
            /* Where noise is most of it, the factor hardly matters. */
            const double share = scale * law[at] / (scale * law[at] + noise);
            sum += share * error;
            weights += share;
            cost += error * error;
            places++;
        }
        factor += weights > 0 ? sum / weights : 0;
    }
    *ret_power = exp(factor);
    return places > 0 ? cost / places : 0;
}

static double least_level(const struct profile *profile)
{
    double least = INFINITY;
    for (unsigned at = PROFILE / 2; at < PROFILE; at++)
        if (profile->weight[at] > 0)
            least = fmin(least, profile->level[at]);
    return least;
}

static void try_size(const struct profile *profile, enum detail_blur blur, double size,
                     struct fit *best)
{
    static const double shares[] = {0, 0.5, 0.8, 0.95, 1.05};
    const double least = exp(least_level(profile));
    double b2[PROFILE], law[PROFILE], power;
    for (unsigned at = 0; at < PROFILE; at++) {
        const double f = frequency_of(at), b = shape_at(blur, size, f);
        const double below = shape_at(blur, size, f - BETWEEN);
        const double above = shape_at(blur, size, f + BETWEEN);
        b2[at] = b * b / 2 + below * below / 4 + above * above / 4 + 2e-4;
    }
    for (unsigned step = 0; step <= 5; step++)
        for (unsigned i = 0; i < sizeof shares / sizeof shares[0]; i++) {
            for (unsigned at = 0; at < PROFILE && i == 0; at++) {
                const double f = hypot(frequency_of(at), profile->across);
                law[at] = pow(f / 0.1, -1.6 - 0.4 * step) * b2[at];
            }
            const double cost = residual(profile, law, shares[i] * least, &power);
            if (cost < best->cost)
                *best = (struct fit){size, cost, power};
        }
}

static struct fit find_sharp(const struct profile *profile)
{
    struct fit fit = {.cost = INFINITY};
    for (unsigned i = 0; i <= 8; i++)
        try_size(profile, DETAIL_SHARP, 0.25 * i, &fit);
    return fit;
}

/* Tries sizes from least to most, each greater than the last by a factor. */
static struct fit find_size(const struct profile *profile, enum detail_blur blur, double least,
                            double most, double factor)
{
    struct fit fit = {.cost = INFINITY};
    double size = least;
    while (size <= most) {
        try_size(profile, blur, size, &fit);
        size *= factor;
    }
    return fit;
}

/* The share of the squares that a line in that direction explains beyond no blur. */
static double gain_of_line(const struct detail *detail, double degrees, double least, double most,
                           double factor, struct fit *ret)
{
    struct profile profile;
    draw_directed(detail, degrees, &profile);
    *ret = find_size(&profile, DETAIL_LINE, least, most, factor);
    return 1 - ret->cost / fmax(find_sharp(&profile).cost, LEAST_COST);
}

static void try_line(const struct detail *detail, double degrees, double least, double most,
                     double factor, struct detail_shape *best)
{
    struct fit fit;
    const double gain = gain_of_line(detail, degrees, least, most, factor, &fit);
    if (gain > best->gain)
        *best = (struct detail_shape){DETAIL_LINE, fit.size, fmod(degrees + 180, 180),
                                      gain,        0,        fit.power};
}

static void find_line(const struct detail *detail, struct detail_shape *ret)
{
    struct fit fit;
    ret->gain = 0;
    for (unsigned degrees = 0; degrees < 180; degrees += 6)
        try_line(detail, degrees, 4, LONGEST, 1.08, ret);
    if (ret->gain <= 0)
        return;
    const struct detail_shape coarse = *ret;
    for (int i = -5; i <= 5; i++)
        try_line(detail, coarse.angle_deg + i, coarse.size_px * 0.9, coarse.size_px * 1.1, 1.02,
                 ret);
    /* A disk has zeros in all directions, and squares of one size, such as those of a codec or of a
     * mosaic of tiles, have them along both of their sides. */
    ret->across = gain_of_line(detail, ret->angle_deg + 90, 4, LONGEST, 1.08, &fit);
}

void detail_find_blur(const struct detail *detail, struct detail_shape *ret)
{
    struct profile radial;
    struct detail_shape line = {.gain = 0};
    *ret = (struct detail_shape){.blur = DETAIL_SHARP};
    if (detail->squares < FEWEST_SQUARES)
        return;
    draw_radial(detail, &radial);
    const struct fit sharp = find_sharp(&radial);
    const struct fit disk = find_size(&radial, DETAIL_DISK, 1.5, 12, 1.04);
    const double gain = 1 - disk.cost / fmax(sharp.cost, LEAST_COST);
    find_line(detail, &line);
    if (line.gain > LEAST_LINE && line.size_px < LONGEST &&
        1 - line.gain < MOST_ACROSS * (1 - line.across)) {
        *ret = line;
    } else if (gain > LEAST_DISK) {
        *ret = (struct detail_shape){DETAIL_DISK, disk.size, 0, gain, 0, disk.power};
    } else {
        ret->power = sharp.power;
        ret->gain = fmax(gain, line.gain);
    }
    ret->power *= detail->contrast / detail->squares / detail->squares / window_power(detail);
}
