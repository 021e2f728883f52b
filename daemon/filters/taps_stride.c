/* The taps of a smaller picture. Those along one axis are the sums of h along the other one,
 * divided by the whole sum. All of h is then compared with their product. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "filters/taps_private.h"

#define GRID        SAMPLER_WIDE_GRID
#define HALF        ((int)GRID / 2)
#define MOST        TAPS_MAX_RADIUS
#define LEAST_LEVEL 1e-3

/* A bound on what a cut at the highest frequency adds to h outside the grid, along both axes, as a
 * multiple of H at the cut. It adds 1 / (pi n) at a distance of n samples; the bound is the sum up
 * to the ends of the largest frames. */
#define BEYOND_GRID 5

/* Returns the distance from the middle, which is between -1 and 0. */
static int distance_of(int at)
{
    return at < 0 ? -at - 1 : at;
}

/* Returns the sum of the magnitudes by which products differ from h, and of what may be folded onto
 * the grid (taps_private.h). */
static double find_error(const struct taps_stride *taps, const struct sampler *sampler)
{
    double error = BEYOND_GRID * sampler_cut(sampler);
    for (int y = -HALF; y < HALF; y++)
        for (int x = -HALF; x < HALF; x++) {
            const int across = distance_of(x), down = distance_of(y);
            const int radius = (int)taps->radius;
            const double h = sampler_tap(sampler, x, y);
            const double own =
                across <= radius && down <= radius ? taps->across[across] * taps->down[down] : 0;
            const bool is_folded = across >= HALF / 2 || down >= HALF / 2;
            error += fabs(h - own) + (is_folded ? fabs(h) / 3 : 0);
        }
    return error;
}

/* Sums h along the other axis, on one side. Where h is even, the other side is the same; the error
 * tells if it is not. The taps add up to `sum`. */
static void sum_line(double *ret, const struct sampler *sampler, uint32_t radius, bool is_across,
                     double sum)
{
    double whole = 0;
    for (int at = 0; at <= (int)radius; at++) {
        ret[at] = 0;
        for (int i = -HALF; i < HALF; i++)
            ret[at] += is_across ? sampler_tap(sampler, at, i) : sampler_tap(sampler, i, at);
        whole += 2 * ret[at];
    }
    for (uint32_t at = 0; at <= radius; at++)
        ret[at] *= sum / whole;
}

/* Makes taps of a radius, and returns how much they differ from h. */
static double make(struct taps_stride *ret, const struct sampler *sampler, uint32_t radius,
                   double level)
{
    *ret = (struct taps_stride){.radius = radius, .line = TAPS_EVEN};
    sum_line(ret->across, sampler, radius, true, level);
    sum_line(ret->down, sampler, radius, false, 1);
    return find_error(ret, sampler);
}

static double short_error(const struct taps_stride *taps)
{
    double across[2 * (MOST + 1)], down[2 * (MOST + 1)];
    const uint32_t half = taps->radius + 1;
    for (uint32_t i = 0; i < half; i++) {
        across[half - 1 - i] = across[half + i] = taps->across[i];
        down[half - 1 - i] = down[half + i] = taps->down[i];
    }
    return taps_short_error(down, across, 2 * half, 0); /* columns come first */
}

/* Integers of 16 bits add errors of their own, so taps for them may reach two samples farther than
 * taps for floats. */
static bool find(struct taps_stride *ret, const struct sampler *sampler, double least,
                 bool may_be_small)
{
    const double level = sampler_level(sampler);
    bool is_found = false;
    struct taps_stride taps;
    if (fabs(level) < LEAST_LEVEL || make(&taps, sampler, MOST, level) > least)
        return false;
    for (uint32_t radius = 0; radius <= MOST; radius++) {
        const double error = make(&taps, sampler, radius, level);
        if (error > least)
            continue;
        if (may_be_small && error <= least * (1 - 2 * short_error(&taps)))
            taps.line = TAPS_SMALL;
        if (!is_found || taps.line == TAPS_SMALL)
            *ret = taps;
        is_found = true;
        if (taps.line == TAPS_SMALL || !may_be_small || radius >= ret->radius + 2)
            break;
    }
    return is_found;
}

int taps_stride_find(struct taps_stride *ret, const struct filter_chain *chain,
                     const struct taps_samples *samples, struct error *why)
{
    const bool is_curved = filter_chain_curve(chain).kind != CURVE_NONE;
    struct sampler *sampler = NULL;
    const int r = sampler_open(&sampler, chain, samples, GRID, why);
    if (r < 0)
        return r;
    const bool is_found =
        find(ret, sampler, taps_negligible(chain, samples), samples->bits == 8 && !is_curved);
    sampler_close(sampler);
    return is_found
               ? 0
               : error_set(why, ERANGE, "the filter is too long for taps in a smaller picture");
}

struct taps_reach taps_stride_reach_of(const struct filter_chain *chain,
                                       const struct taps_samples *samples)
{
    static const uint32_t radii[] = {TAPS_MAX_PLAIN_RADIUS, TAPS_MAX_LOW_RADIUS, MOST};
    const uint32_t *radius = radii;
    struct taps_stride taps;
    if (taps_stride_find(&taps, chain, samples, NULL) < 0)
        return (struct taps_reach){.is_short = false};
    while (*radius < taps.radius)
        radius++;
    return (struct taps_reach){
        .is_short = true, .radius = *radius, .products = 1, .line = taps.line};
}
