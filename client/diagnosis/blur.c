/* Finds the blur that explains the spectrum of detail.c; detail.h has the maths. */
#include <math.h>
#include <stddef.h>

#include "core/normal.h"
#include "detail_private.h"

#define PROFILE        64u  /* places from frequency 0 to 0.5 */
#define LOWEST         0.03 /* cycles/pixel; below it is the scene's composition */
#define HIGHEST        0.47
#define ACROSS         0.1   /* cycles/pixel to each side of a direction */
#define BETWEEN        0.008 /* cycles/pixel: windowed squares mix frequencies that close */
#define FEWEST         4u    /* frequencies at a place of a profile */
#define CELLS          8u    /* at each place */
#define CORRELATED     2.25  /* times the variance of a mean, as windows mix frequencies */
#define TEXTURE        0.3   /* the relative variance of a scene's own power at a frequency */
#define NOTHING        1.3   /* errors by which a power of nothing seems greater, on average */
#define DOUBT          3.    /* errors of a power that counts by half */
#define LEAST_BLUR     2e-4  /* power that passes at the zeros of any blur */
#define USUAL          0.1   /* the weight of what terms usually are, beside errors of a profile */
#define TURNS          8u    /* iterations of the Gauss-Newton method */
#define FEWEST_SQUARES 4u
#define SHORTEST       5.2  /* pixels of a line; the first zero of a shorter one is too far out */
#define LONGEST        28.  /* pixels of a line; longer ones are the scene's own edges */
#define FIRST_ZERO     0.61 /* cycles/pixel times the radius of a disk */
#define LEAST_BEYOND   3.   /* places of a profile beyond a zero, by their weights */
#define LEAST_COST     0.01 /* mean square; a profile that fits better needs no blur */
/* Sharp photographs fit a law without blur several times better than one with any. */
#define LEAST_DISK     0.6 /* the share of the squares that a blur explains */
#define LEAST_LINE     0.5
#define DIRECTIONS     30u
#define LEAST_COARSE   0.3  /* LEAST_LINE for a direction that is roughly known */
#define PLANE_SHARE    0.8  /* share of what no blur leaves that a line may leave */
#define MOST_ACROSS    0.15 /* what a line leaves of the squares, of what one across it leaves */
#define MOST_TILES     0.85 /* what the worse of two lines leaves, of what a disk leaves */

/* Power by one coordinate of the frequency. Noise that is not quite averaged out makes a mean power
 * uncertain by its standard error, and a logarithm of less power than that means nothing. So the
 * error is added to the power, and to the power of a law, before the logarithm. */
struct profile {
    double level[PROFILE];  /* the logarithm */
    double error[PROFILE];  /* what is added to a law before its logarithm is taken */
    double weight[PROFILE]; /* 0 .. 1; 0: not known */
    double across;          /* cycles/pixel: what its frequencies have across it, on average */
};

/* Sums of power at each place of a profile, in cells that differ in the other coordinate. A scene
 * has more power in some directions, and no direction may decide alone. */
struct profile_cells {
    double power[PROFILE][CELLS], error[PROFILE][CELLS];
    unsigned count[PROFILE][CELLS];
};

static double frequency_of(unsigned place)
{
    return (place + 0.5) * 0.5 / PROFILE;
}

/* other: 0 .. 1 */
static void add_to_cell(const struct detail *detail, struct profile_cells *cells, size_t at,
                        double f, double other)
{
    const unsigned place = (unsigned)(f * 2 * PROFILE);
    const unsigned cell = (unsigned)fmin(other * CELLS, CELLS - 1);
    if (f < LOWEST || f > HIGHEST || place >= PROFILE)
        return;
    cells->power[place][cell] += detail->power[at];
    cells->error[place][cell] += detail->error[at];
    cells->count[place][cell]++;
}

/* Returns the power of a cell relative to the mean of all, where it is known well. */
static double share_of(const struct profile_cells *cells, const double mean[PROFILE], unsigned cell)
{
    double sum = 0, count = 0;
    for (unsigned at = 0; at < PROFILE; at++) {
        const double own = cells->count[at][cell];
        const double power = cells->power[at][cell];
        if (own == 0 || power < 3 * sqrt(CORRELATED * cells->error[at][cell]) || mean[at] <= 0)
            continue;
        sum += log(power / own / mean[at]);
        count++;
    }
    return count > 0 ? exp(sum / count) : 1;
}

static void draw_profile(const struct profile_cells *cells, double across, struct profile *ret)
{
    double mean[PROFILE] = {0}, count[PROFILE] = {0}, share[CELLS], most = 0;
    *ret = (struct profile){.across = across};
    for (unsigned at = 0; at < PROFILE; at++) {
        for (unsigned i = 0; i < CELLS; i++) {
            mean[at] += cells->power[at][i];
            count[at] += cells->count[at][i];
        }
        mean[at] /= fmax(count[at], 1);
    }
    for (unsigned i = 0; i < CELLS; i++)
        share[i] = share_of(cells, mean, i);
    for (unsigned at = PROFILE; at-- > 0;) {
        double power = 0, weights = 0, error = 0;
        if (count[at] < FEWEST)
            continue;
        for (unsigned i = 0; i < CELLS; i++) {
            const double own = cells->count[at][i];
            if (own == 0)
                continue;
            const double noise = CORRELATED * cells->error[at][i] / own / own / share[i] / share[i];
            const double weight = 1 / (noise + (TEXTURE * mean[at] * mean[at] + 1e-12) / own);
            power += weight * cells->power[at][i] / own / share[i];
            weights += weight;
            error += weight * weight * noise;
        }
        const double sigma = sqrt(error) / weights + 1e-9;
        power /= weights;
        ret->level[at] = log(fmax(power, 0) + sigma);
        ret->error[at] = NOTHING * sigma;
        /* A zero of a blur counts if there is something beyond it. */
        most = fmax(most, power);
        const double doubt = DOUBT * sigma / fmax(most, 1e-9);
        ret->weight[at] = 1 / (1 + doubt * doubt);
    }
}

/* Calls for each frequency of a half plane but those on the axes, where stripes and borders are. */
#define FOR_FREQUENCIES(detail, x, y)                                                              \
    for (unsigned y = 0; y < (detail)->side; y++)                                                  \
        for (unsigned x = (detail)->side / 2 + 2; x < (detail)->side; x++)                         \
            if (y + 2 <= (detail)->side / 2 || y >= (detail)->side / 2 + 2)

static void draw_radial(const struct detail *detail, struct profile *ret)
{
    struct profile_cells cells = {0};
    FOR_FREQUENCIES(detail, x, y)
    {
        const double fx = frequency_at(detail, x), fy = frequency_at(detail, y);
        add_to_cell(detail, &cells, (size_t)y * detail->side + x, hypot(fx, fy),
                    atan2(fy, fx) / M_PI + 0.5);
    }
    draw_profile(&cells, 0, ret);
}

/* By the frequency along a direction, of those that have little across it. */
static void draw_directed(const struct detail *detail, double degrees, struct profile *ret)
{
    const double c = cos(degrees * M_PI / 180), s = sin(degrees * M_PI / 180);
    struct profile_cells cells = {0};
    FOR_FREQUENCIES(detail, x, y)
    {
        const double fx = frequency_at(detail, x), fy = frequency_at(detail, y);
        const double along = fx * c + fy * s, across = fy * c - fx * s;
        if (fabs(across) < ACROSS)
            add_to_cell(detail, &cells, (size_t)y * detail->side + x, fabs(along),
                        (along > 0 ? across : -across) / ACROSS / 2 + 0.5);
    }
    draw_profile(&cells, ACROSS / 2, ret);
}

/* ---- shapes ---- */

/* The transform of a disk (an Airy function) or of a line. */
static double shape_at(enum detail_blur blur, double size, double f)
{
    const double x = 2 * M_PI * size * f;
    if (x < 1e-6 || blur == DETAIL_SHARP)
        return 1;
    return blur == DETAIL_DISK ? 2 * j1(x) / x : sin(x / 2) / (x / 2);
}

/* The law of a scene's power before the blur. Its logarithm is a sum of a constant, a slope and a
 * bend over the logarithm of the frequency, and a term in the square of the frequency, which stands
 * for a slightly soft lens. */
enum { TERMS = 4 };

struct law {
    double blur[PROFILE];        /* the power of the blur at each place */
    double term[PROFILE][TERMS]; /* what each term is there */
};

/* The usual value of each term, but for the constant, and how far it strays from that. */
static const double usual[TERMS] = {0, -2.2, -15, 0}, spread[TERMS] = {20, 0.7, 20, 0.3};

static void draw_law(struct law *ret, enum detail_blur blur, double size, double across)
{
    for (unsigned at = 0; at < PROFILE; at++) {
        const double f = frequency_of(at), r = hypot(f, across), logarithm = log(r / 0.1);
        const double b = shape_at(blur, size, f);
        const double below = shape_at(blur, size, fabs(f - BETWEEN));
        const double above = shape_at(blur, size, f + BETWEEN);
        ret->blur[at] = b * b / 2 + below * below / 4 + above * above / 4 + LEAST_BLUR;
        ret->term[at][0] = 1;
        ret->term[at][1] = logarithm;
        ret->term[at][2] = r * r - 0.01;
        ret->term[at][3] = logarithm * logarithm;
    }
}

struct fit {
    double size, cost;
    double power; /* at 0.1 cycles/pixel, before the blur */
};

/* Returns what a law with noise leaves of a profile: the mean of squared errors of its logarithm.
 * Its terms are found by the Gauss-Newton method. */
static double residual(const struct profile *profile, const struct law *law, double noise,
                       double *ret_power)
{
    double value[TERMS] = {profile->level[PROFILE / 5], usual[1], usual[2], usual[3]};
    double cost = 0, weight = 0;
    for (unsigned turn = 0; turn < TURNS; turn++) {
        double product[TERMS + 1][TERMS] = {{0}}, step[TERMS];
        cost = weight = 0;
        for (unsigned at = 0; at < PROFILE; at++) {
            double logarithm = 0;
            if (profile->weight[at] == 0)
                continue;
            for (unsigned i = 0; i < TERMS; i++)
                logarithm += value[i] * law->term[at][i];
            const double own = exp(fmin(logarithm, 60)) * law->blur[at];
            const double floor = noise + profile->error[at], all = own + floor + 1e-12;
            const double error = profile->level[at] - log(all);
            /* Where noise is most of it, the terms hardly matter. */
            const double share = own / all, w = profile->weight[at];
            for (unsigned i = 0; i < TERMS; i++) {
                for (unsigned k = 0; k <= i; k++)
                    product[i][k] += w * share * share * law->term[at][i] * law->term[at][k];
                product[TERMS][i] += w * share * law->term[at][i] * error;
            }
            cost += w * error * error;
            weight += w;
        }
        for (unsigned i = 0; i < TERMS; i++) {
            const double least = USUAL / spread[i] / spread[i];
            const double away = i > 0 ? value[i] - usual[i] : 0;
            product[i][i] += least;
            product[TERMS][i] -= least * away;
            cost += least * away * away;
        }
        normal_solve(&product[0][0], TERMS, TERMS, step);
        for (unsigned i = 0; i < TERMS && turn + 1 < TURNS; i++)
            value[i] += fmin(fmax(step[i], -spread[i]), spread[i]);
    }
    *ret_power = exp(value[0]);
    return weight > 0 ? cost / weight : 0;
}

static double least_power(const struct profile *profile)
{
    double least = INFINITY;
    for (unsigned at = PROFILE / 2; at < PROFILE; at++)
        if (profile->weight[at] > 0)
            least = fmin(least, exp(profile->level[at]) - profile->error[at]);
    return fmax(least, 0);
}

static void try_size(const struct profile *profile, enum detail_blur blur, double size,
                     struct fit *best)
{
    static const double shares[] = {0, 0.5, 0.9};
    const double least = least_power(profile);
    struct law law;
    double power;
    draw_law(&law, blur, size, profile->across);
    for (unsigned i = 0; i < sizeof shares / sizeof shares[0] && (i == 0 || least > 0); i++) {
        const double cost = residual(profile, &law, shares[i] * least, &power);
        if (cost < best->cost)
            *best = (struct fit){size, cost, power};
    }
}

static struct fit find_sharp(const struct profile *profile)
{
    struct fit fit = {.cost = INFINITY};
    try_size(profile, DETAIL_SHARP, 0, &fit);
    return fit;
}

/* Sizes that are tried, each greater than the last by a factor. */
struct sizes {
    double least, most, factor;
};
static const struct sizes lines = {4, LONGEST, 1.08};

static struct fit find_size(const struct profile *profile, enum detail_blur blur,
                            const struct sizes *sizes)
{
    struct fit fit = {.cost = INFINITY};
    double size = sizes->least;
    while (size > 0 && size <= sizes->most) {
        try_size(profile, blur, size, &fit);
        size *= sizes->factor;
    }
    return fit;
}

/* Returns the share of the squares that a blur explains beyond what no blur does. There has to be
 * power beyond the first zero, because a spectrum that only falls does not show the blur's shape.
 */
static double gain_of(const struct profile *profile, const struct fit *fit, double zero)
{
    double seen = 0;
    for (unsigned at = 0; at < PROFILE; at++)
        seen += frequency_of(at) > zero + BETWEEN ? profile->weight[at] : 0;
    return seen < LEAST_BEYOND ? 0 : 1 - fit->cost / fmax(find_sharp(profile).cost, LEAST_COST);
}

/* The share of the squares that a line in that direction explains beyond no blur. */
static double gain_of_line(const struct detail *detail, double degrees, const struct sizes *sizes,
                           struct fit *ret)
{
    struct profile profile;
    draw_directed(detail, degrees, &profile);
    *ret = find_size(&profile, DETAIL_LINE, sizes);
    return gain_of(&profile, ret, 1 / ret->size);
}

/* Returns the line that explains all frequencies best, of those that explain much of a profile. */
static struct detail_shape find_lines(const struct detail *detail)
{
    struct detail_shape ret = {.gain = 0};
    double least = PLANE_SHARE * detail_plane_cost(detail, 0, 0);
    for (unsigned i = 0; i < DIRECTIONS; i++) {
        struct detail_shape line = {.blur = DETAIL_LINE, .angle_deg = i * 180. / DIRECTIONS};
        struct fit fit;
        line.gain = gain_of_line(detail, line.angle_deg, &lines, &fit);
        line.size_px = fit.size;
        if (line.gain < LEAST_COARSE)
            continue;
        const double cost = detail_plane_refine(detail, &line.size_px, &line.angle_deg);
        if (cost >= least)
            continue;
        least = cost;
        ret = line;
    }
    ret.angle_deg = fmod(ret.angle_deg + 180, 180);
    return ret;
}

/* The same for a line whose size is within 5 % of that one. */
static double gain_near(const struct detail *detail, double degrees, double size, struct fit *ret)
{
    return gain_of_line(detail, degrees, &(struct sizes){size * 0.95, size * 1.05, 1.01}, ret);
}

static void find_line(const struct detail *detail, struct detail_shape *ret)
{
    struct fit fit;
    *ret = find_lines(detail);
    if (ret->gain <= 0)
        return;
    ret->gain = gain_near(detail, ret->angle_deg, ret->size_px, &fit);
    ret->size_px = fit.size;
    ret->power = fit.power;
    /* A disk has zeros in all directions, and squares of one size, such as those of a codec or of a
     * mosaic of tiles, have them along both of their sides. */
    gain_of_line(detail, ret->angle_deg + 90, &lines, &fit);
    ret->across = gain_near(detail, ret->angle_deg + 90, fit.size, &fit);
}

/* A disk of the size that explains most. */
static struct fit find_disk(const struct profile *radial)
{
    const struct fit coarse = find_size(radial, DETAIL_DISK, &(struct sizes){1.5, 12, 1.04});
    return find_size(radial, DETAIL_DISK,
                     &(struct sizes){coarse.size / 1.03, coarse.size * 1.031, 1.01});
}

/* Tiles have zeros that are parallel to their sides, and the first ones of both sides are about as
 * far out as the ring of a disk. But a line along either side explains them far better. In
 * measured tiles of 5 to 16 pixels, even the poorer of the two lines left at most 0.4 times as much
 * unexplained as the disk. In disks it left at least 1.8 times as much, if a line was found at all.
 */
static bool are_tiles(const struct detail_shape *line, double disk_gain)
{
    return 1 - fmin(line->gain, line->across) < MOST_TILES * (1 - disk_gain);
}

void detail_find_blur(const struct detail *detail, struct detail_shape *ret)
{
    struct profile radial;
    struct detail_shape line = {.gain = 0};
    *ret = (struct detail_shape){.blur = DETAIL_SHARP};
    if (detail->squares < FEWEST_SQUARES)
        return;
    draw_radial(detail, &radial);
    const struct fit disk = find_disk(&radial);
    const double gain = gain_of(&radial, &disk, FIRST_ZERO / disk.size);
    find_line(detail, &line);
    if (gain < LEAST_DISK && line.gain > LEAST_LINE && line.size_px > SHORTEST &&
        line.size_px < LONGEST && 1 - line.gain < MOST_ACROSS * (1 - line.across)) {
        *ret = line;
    } else if (gain > LEAST_DISK && !are_tiles(&line, gain)) {
        *ret = (struct detail_shape){DETAIL_DISK, disk.size, 0, gain, 0, disk.power};
    } else {
        ret->power = find_sharp(&radial).power;
        ret->gain = fmax(gain, line.gain);
    }
    ret->power *= detail->contrast / detail->weights / detail->weights / window_power(detail);
}
