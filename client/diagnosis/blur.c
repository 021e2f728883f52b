/* Finds the blur that explains the spectrum of detail.c; detail.h has the maths. */
#include <math.h>
#include <stddef.h>

#include "detail_private.h"

#define PROFILE        64u  /* places from frequency 0 to 0.5 */
#define LOWEST         0.03 /* cycles/pixel; below it is the scene's composition */
#define HIGHEST        0.47
#define FEWEST         4u /* frequencies at a place of a profile */
/* Shares of the squares that a blur explains; photographs have up to 0.8 and 0.5 by themselves. */
#define LEAST_LINE     0.85
#define LEAST_DISK     0.57
#define FEWEST_SQUARES 12u

/* Logarithms of power by one coordinate of the frequency. */
struct profile {
    double level[PROFILE];
    double weight[PROFILE]; /* the number of frequencies; 0: not known */
};

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

/* Returns what a power law with blur and noise leaves of a profile: the sum of squared errors of
 * its logarithm. The factor of the law is found by itself. */
static double residual(const struct profile *profile, double size, double slope, double noise,
                       double *ret_power)
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
    *ret_power = exp(factor);
    return cost;
}

struct radial_fit {
    double size, slope, noise, cost;
    double power; /* at 0.1 cycles/pixel, before the blur */
};

static void try_size(const struct profile *profile, double least, double size,
                     struct radial_fit *best)
{
    static const double shares[] = {0, 0.5, 0.8, 0.95, 1.05};
    for (unsigned step = 0; step <= 8; step++)
        for (unsigned i = 0; i < sizeof shares / sizeof shares[0]; i++) {
            const double slope = 1.6 + 0.25 * step;
            const double noise = shares[i] * least;
            double power;
            const double cost = residual(profile, size, slope, noise, &power);
            if (cost < best->cost)
                *best = (struct radial_fit){size, slope, noise, cost, power};
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
    for (unsigned i = 0; i <= 8; i++)
        try_size(profile, least, -0.25 * i, sharp);
    for (unsigned i = 0; i < 54; i++) /* up to 12 */
        try_size(profile, least, 1.5 * pow(1.04, i), disk);
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
    for (unsigned i = 0; i <= 10; i++)
        most = fmax(most, explained(&directed, line->size_px * (0.9 + 0.02 * i), &depth));
    return most > 0.5 * line->gain;
}

static void find_line(const struct detail *detail, const struct profile *radial, double floor,
                      struct detail_shape *ret)
{
    struct profile directed;
    ret->gain = 0;
    for (unsigned degrees = 0; degrees < 180; degrees += 3) {
        add_directed(detail, radial, degrees * M_PI / 180, floor, &directed);
        for (unsigned i = 0; i < 66; i++) { /* up to 28 */
            const double length = 4 * pow(1.03, i);
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
    if (detail->squares < FEWEST_SQUARES)
        return;
    add_radial(detail, &radial);
    find_disk(&radial, &sharp, &disk);
    find_line(detail, &radial, log(least_power(&radial) * 1.3), &line);
    const double gain = 1 - disk.cost / sharp.cost;
    if (line.gain > LEAST_LINE && line.gain > gain) {
        *ret = line;
    } else if (gain > LEAST_DISK) {
        ret->blur = DETAIL_DISK;
        ret->size_px = disk.size;
        ret->gain = gain;
    } else {
        ret->gain = fmax(gain, line.gain);
    }
    ret->power = (ret->blur == DETAIL_DISK ? disk.power : sharp.power) / detail->squares *
                 (detail->contrast / detail->squares) / window_power(detail);
}
