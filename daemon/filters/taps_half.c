/* A blur at half the rate. Decimation and interpolation are binomial, so only the numbers of the
 * blur have to be found: for each axis those with the least squares of what h differs by, of which
 * the sums of h along the other axis are known. Whether they do is seen from the whole response.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "core/normal.h"
#include "filters/taps_private.h"

#define GRID        SAMPLER_WIDE_GRID
#define HALF        ((int)GRID / 2)
#define MOST        TAPS_MAX_HALF_RADIUS
#define BEFORE      4 /* samples that an even result reaches to its left without a blur */
#define LEAST_LEVEL 1e-3

static const uint32_t half_radii[] = {6, 8, 10, MOST};

/* Decimation and interpolation: the responses of all even results. */
static double plain_response(int offset)
{
    static const double decimated[] = {1, 5, 10, 10, 5, 1}, interpolated[] = {5, 10, 1};
    double sum = 0;
    for (int t = 0; t < 3; t++)
        if (offset + BEFORE >= 2 * t && offset + BEFORE < 2 * t + 6)
            sum += interpolated[t] * decimated[offset + BEFORE - 2 * t] / (16 * 32);
    return sum;
}

/* How much of the sample at an offset an even result has. Of odd ones it is mirrored. */
static double response_at(const double *blur, int radius, int offset)
{
    double sum = 0;
    for (int k = -radius; k <= radius; k++)
        sum += blur[abs(k)] * plain_response(offset - 2 * k);
    return sum;
}

/* Finds the blur of a line of HALF numbers and those mirrored before it. The number in the middle
 * is what the others leave of the sum. */
static void fit_line(double *ret, unsigned radius, const double *line, double sum)
{
    double product[(MOST + 1) * MOST] = {0}, column[MOST + 1], others = 0;
    for (int at = 1 - HALF; at < HALF; at++) {
        const double plain = plain_response(at);
        for (int k = 1; k <= (int)radius; k++)
            column[k - 1] = plain_response(at - 2 * k) + plain_response(at + 2 * k) - 2 * plain;
        column[radius] = line[abs(at)] - sum * plain;
        for (unsigned i = 0; i <= radius; i++)
            for (unsigned k = 0; k < radius; k++)
                product[i * MOST + k] += column[i] * column[k];
    }
    normal_solve(product, MOST, radius, ret + 1);
    for (unsigned k = 1; k <= radius; k++)
        others += 2 * ret[k];
    ret[0] = sum - others;
}

/* Returns the greatest sum of magnitudes by which the response of a phase differs from h, with what
 * may be folded onto the grid (taps_private.h). */
static double find_error(const struct taps_half *half, const struct sampler *sampler)
{
    double across[2 * HALF + 1], down[2 * HALF + 1], worst = 0;
    for (int at = -HALF; at <= HALF; at++) {
        across[at + HALF] = response_at(half->across, (int)half->radius, at);
        down[at + HALF] = response_at(half->down, (int)half->radius, at);
    }
    for (int phase = 0; phase < 4; phase++) {
        double error = 0;
        for (int y = -HALF; y < HALF; y++)
            for (int x = -HALF; x < HALF; x++) {
                const double h = sampler_tap(sampler, x, y);
                const double own =
                    across[HALF + (phase & 1 ? x : -x)] * down[HALF + (phase & 2 ? y : -y)];
                const bool is_folded = abs(x) >= HALF / 2 || abs(y) >= HALF / 2;
                error += fabs(h - own) + (is_folded ? fabs(h) / 3 : 0);
            }
        worst = fmax(worst, error);
    }
    return worst;
}

/* Sums h along columns, and along rows; the latter in parts of its whole sum. */
static void sum_lines(double *ret_across, double *ret_down, const struct sampler *sampler,
                      double level)
{
    for (int at = 0; at < HALF; at++) {
        ret_across[at] = ret_down[at] = 0;
        for (int i = -HALF; i < HALF; i++) {
            ret_across[at] += sampler_tap(sampler, at, i) / level;
            ret_down[at] += sampler_tap(sampler, i, at);
        }
    }
}

int taps_half_find(struct taps_half *ret, const struct filter_chain *chain,
                   const struct taps_samples *samples, struct error *why)
{
    double across[HALF], down[HALF];
    struct sampler *sampler = NULL;
    int r = filter_chain_curve(chain).kind != CURVE_NONE
                ? error_set(why, ERANGE, "the filter has a curve: expected a linear one")
                : sampler_open(&sampler, chain, samples, GRID, why);
    if (r < 0)
        return r;
    const double level = sampler_level(sampler), least = taps_negligible(chain, samples);
    const uint32_t band = sampler->band_x > sampler->band_y ? sampler->band_x : sampler->band_y;
    bool is_found = false;
    if (2 * band < NARROW_BAND * GRID && fabs(level) > LEAST_LEVEL) {
        sum_lines(across, down, sampler, level);
        for (size_t i = 0; i < sizeof half_radii / sizeof half_radii[0] && !is_found; i++) {
            ret->radius = half_radii[i];
            fit_line(ret->across, ret->radius, across, 1);
            fit_line(ret->down, ret->radius, down, level);
            is_found = find_error(ret, sampler) <= least;
        }
    }
    sampler_close(sampler);
    return is_found ? 0 : error_set(why, ERANGE, "the filter is no blur at half the rate");
}

uint64_t taps_half_bytes(const struct filter_chain *chain, const struct taps_samples *samples)
{
    return sampler_bytes(chain, samples, GRID);
}

struct taps_reach taps_half_reach_of(const struct filter_chain *chain,
                                     const struct taps_samples *samples, uint32_t most)
{
    struct taps_half half;
    const bool is_found = most > 0 && taps_half_find(&half, chain, samples, NULL) == 0;
    const struct taps_reach reach = {.half_radius =
                                         is_found && half.radius <= most ? half.radius : 0};
    return reach;
}
