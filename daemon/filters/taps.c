#include "filters/taps.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "filters/taps_private.h"

#define ROUNDING      1e-7 /* rounding of a float, relative */

#define SHORT_FARTHER 2 /* pixels, that taps are tried for direct_short.cl */

static const uint32_t plain_radii[] = {0, 1, 2, 3, 4, TAPS_MAX_PLAIN_RADIUS};
static const uint32_t product_radii[] = {TAPS_MAX_PLAIN_RADIUS, TAPS_MAX_LOW_RADIUS,
                                         TAPS_MAX_RADIUS};
static const uint32_t tile_radii[] = {12, 16, 24, TAPS_MAX_TILE_RADIUS};

/* ---- taps ---- */

/* Finds the radius. */
static uint32_t find_radius(const struct sampler *sampler, double least)
{
    const int32_t half = (int32_t)sampler->side / 2;
    double ring[SAMPLER_WIDE_GRID / 2 + 1] = {0}, sum[SAMPLER_WIDE_GRID / 2 + 1] = {0};
    double outside = 0, balance = 0;
    for (int32_t y = -half; y < half; y++)
        for (int32_t x = -half; x < half; x++) {
            const int32_t distance = abs(x) > abs(y) ? abs(x) : abs(y);
            ring[distance] += fabs(sampler_tap(sampler, x, y));
            sum[distance] += sampler_tap(sampler, x, y);
        }
    for (int32_t distance = half / 2; distance <= half; distance++)
        outside += ring[distance] / 3; /* folded into the radius */
    int32_t radius = half;
    while (radius > 0 && outside + ring[radius] + fabs(balance + sum[radius]) <= least) {
        balance += sum[radius];
        outside += ring[radius--];
    }
    return (uint32_t)radius;
}

/* Returns whether a line of taps differs between both sides by more than rounding. */
static bool is_line_odd(const double *line, uint32_t side)
{
    double most = 0, apart = 0;
    for (uint32_t i = 0; i < side; i++) {
        most = fmax(most, fabs(line[i]));
        apart = fmax(apart, fabs(line[i] - line[side - 1 - i]));
    }
    return apart > ROUNDING * most;
}

/* Finds the products by elimination with complete pivoting, which ends after as many steps as the
 * matrix has ranks. With a middle, no pivot is in its row or column, so that nothing is divided by
 * what depends on it: it is what is left there. */
static void eliminate(struct taps *taps, double *rest, double least, bool has_middle)
{
    const uint32_t side = 2 * taps->radius + 1, count = side * side, middle = count / 2;
    memcpy(rest, taps->tap, count * sizeof *rest);
    taps->line = TAPS_EVEN;
    for (taps->products = 0; taps->products <= TAPS_MAX_PRODUCTS; taps->products++) {
        uint32_t pivot = 0;
        double sum = 0;
        for (uint32_t i = 0; i < count; i++) {
            const bool is_beside = i / side != taps->radius && i % side != taps->radius;
            sum += has_middle && i == middle ? 0 : fabs(rest[i]);
            if ((is_beside || !has_middle) && fabs(rest[i]) > fabs(rest[pivot]))
                pivot = i;
        }
        taps->middle = has_middle ? rest[middle] : 0;
        if (sum <= least && taps->products > 0)
            return;
        if (taps->products == TAPS_MAX_PRODUCTS || count * fabs(rest[pivot]) <= least)
            break;
        double *across = taps->across[taps->products], *down = taps->down[taps->products];
        for (uint32_t i = 0; i < side; i++) {
            across[i] = rest[pivot / side * side + i];
            down[i] = rest[i * side + pivot % side] / rest[pivot];
        }
        if (is_line_odd(across, side) || is_line_odd(down, side))
            taps->line = TAPS_ANY;
        for (uint32_t i = 0; i < count; i++)
            rest[i] -= down[i / side] * across[i % side];
    }
    taps->products = 0;
}

/* Finds the fewest products: with a middle, sharpening is one, otherwise two. */
static void find_products(struct taps *taps, double *rest, double least)
{
    eliminate(taps, rest, least, false);
    const uint32_t products = taps->products;
    if (products == 1)
        return;
    eliminate(taps, rest, least, true);
    if (taps->products == 0 || (products > 0 && products <= taps->products))
        eliminate(taps, rest, least, false);
}

/* Makes up for the taps that are left out: flat areas keep their brightness. What is missing goes
 * into the middle, if there is one, where it changes nothing else; products are scaled. */
static void make_up(struct taps *taps, double wanted)
{
    const uint32_t side = 2 * taps->radius + 1, count = side * side;
    const bool is_added = taps->middle != 0 || taps->products == 0;
    double sum = 0;
    for (uint32_t i = 0; i < count; i++)
        sum += taps->tap[i];
    const double missing = wanted - sum;
    const double scale = !is_added && fabs(missing) < 0.01 * fabs(sum) ? wanted / sum : 1;
    for (uint32_t i = 0; i < count; i++)
        taps->tap[i] *= scale;
    for (uint32_t i = 0; i < taps->products * side; i++)
        taps->down[i / side][i % side] *= scale;
    taps->tap[count / 2] += is_added ? missing : 0;
    taps->middle += taps->middle != 0 ? missing : 0;
}

static bool is_line_equal(const double *line, uint32_t side)
{
    for (uint32_t i = 1; i < side; i++)
        if (fabs(line[i] - line[0]) > ROUNDING * fabs(line[0]))
            return false;
    return true;
}

/* Copies the taps, finds their products, and what is known of their lines. */
static void find_lines(struct taps *taps, struct sampler *sampler, double least, bool may_be_small)
{
    const uint32_t side = 2 * taps->radius + 1;
    const int32_t radius = (int32_t)taps->radius;
    double sum = 0, *tap = taps->tap;
    for (int32_t y = -radius; y <= radius; y++)
        for (int32_t x = -radius; x <= radius; x++)
            *tap++ = sampler_tap(sampler, x, y);
    find_products(taps, sampler->rest, least / 4);
    make_up(taps, sampler_level(sampler));
    for (uint32_t i = 0; i < side && taps->products == 1; i++)
        sum += taps->across[0][i];
    if (taps->products != 1 || taps->line != TAPS_EVEN || fabs(sum) < ROUNDING)
        return;
    for (uint32_t i = 0; i < side; i++) {
        taps->across[0][i] /= sum;
        taps->down[0][i] *= sum;
    }
    if (find_radius(sampler, least * (1 - 2 * taps_short_error(taps->across[0], taps->down[0], side,
                                                               taps->middle))) > taps->radius)
        return;
    if (taps->middle == 0 && is_line_equal(taps->across[0], side) &&
        is_line_equal(taps->down[0], side))
        taps->line = TAPS_EQUAL;
    else if (may_be_small)
        taps->line = TAPS_SMALL;
}

/* Integers of 16 bits add errors of their own, so that taps for them may have to reach farther. */
static void find_taps(struct taps *taps, struct sampler *sampler, double least, uint32_t most,
                      bool may_be_small)
{
    const uint32_t radius = taps->radius;
    find_lines(taps, sampler, least, may_be_small);
    if (taps->products != 1 || !may_be_small)
        return;
    for (bool is_last = false; taps->line == TAPS_EVEN && !is_last;) {
        is_last = taps->radius == most || taps->radius == radius + SHORT_FARTHER;
        taps->radius = is_last ? radius : taps->radius + 1;
        find_lines(taps, sampler, least, may_be_small);
    }
}

int taps_find(struct taps *ret, const struct filter_chain *chain,
              const struct taps_samples *samples, struct error *why)
{
    const double least = taps_negligible(chain, samples);
    struct sampler *sampler = NULL;
    if (!filter_chain_has_response(chain)) {
        ret->radius = 0;
        ret->products = 1;
        ret->line = TAPS_EVEN;
        ret->middle = 0;
        ret->tap[0] = ret->across[0][0] = ret->down[0][0] = 1;
        return 0;
    }
    int r = sampler_open(&sampler, chain, samples, SAMPLER_GRID, why);
    if (r < 0)
        return r;
    /* Whether it removes the upper half of the frequencies along columns. */
    const bool is_low = sampler->band_y <= sampler->side / 4;
    ret->radius = find_radius(sampler, least);
    const uint32_t most = is_low ? TAPS_MAX_LOW_RADIUS : TAPS_MAX_RADIUS;
    if (ret->radius <= most) {
        const bool is_curved = filter_chain_curve(chain).kind != CURVE_NONE;
        find_taps(ret, sampler, least, most, samples->bits == 8 && !is_curved);
    } else {
        r = error_set(why, ERANGE, "the filter is not short: its taps reach %u pixels",
                      ret->radius);
    }
    sampler_close(sampler);
    return r;
}

uint64_t taps_bytes(const struct filter_chain *chain, const struct taps_samples *samples)
{
    return sizeof(struct taps) +
           (filter_chain_has_response(chain) ? sampler_bytes(chain, samples, SAMPLER_GRID) : 0);
}

/* ---- what is needed ---- */

static const struct taps_reach far = {.is_short = false};

static struct taps_reach reach_of(const struct taps *taps)
{
    const uint32_t side = 2 * taps->radius + 1;
    const bool is_product = taps->products > 0 && 2 * taps->products < side && side > 3;
    const uint32_t *radius = is_product ? product_radii : plain_radii;
    if (taps->radius > (!is_product          ? TAPS_MAX_PLAIN_RADIUS
                        : taps->products > 1 ? TAPS_MAX_LOW_RADIUS
                                             : TAPS_MAX_RADIUS))
        return far;
    while (*radius < taps->radius)
        radius++;
    const enum taps_line line = is_product ? taps->line : TAPS_ANY;
    return (struct taps_reach){
        .is_short = true,
        .radius = line == TAPS_EQUAL ? taps->radius : *radius,
        .products = is_product ? taps->products : 0,
        .line = line,
        .has_middle = is_product && taps->middle != 0,
    };
}

struct taps_reach taps_reach_of(const struct filter_chain *chain,
                                const struct taps_samples *samples)
{
    struct taps *taps = malloc(sizeof *taps);
    struct taps_reach ret = far;
    if (taps != NULL && taps_find(taps, chain, samples, NULL) == 0)
        ret = reach_of(taps);
    free(taps);
    return ret;
}

/* A transform of the whole image leaves out what is beyond the band of a filter, tiles do not. And
 * a tile has both what h has beyond the radius and, in place of the samples there, those of its far
 * end, so half as much may be left out as of taps. */
struct taps_reach taps_tile_reach_of(const struct filter_chain *chain,
                                     const struct taps_samples *samples, uint32_t most)
{
    const uint32_t *radius = tile_radii;
    struct sampler *sampler = NULL;
    if (most == 0 || sampler_open(&sampler, chain, samples, SAMPLER_WIDE_GRID, NULL) < 0)
        return far;
    const uint32_t found = find_radius(sampler, taps_negligible(chain, samples) / 2);
    const uint32_t band = sampler->band_x < sampler->band_y ? sampler->band_x : sampler->band_y;
    const bool is_narrow = 2 * band < NARROW_BAND * sampler->side;
    sampler_close(sampler);
    if (found > TAPS_MAX_TILE_RADIUS || is_narrow)
        return far;
    while (*radius < found)
        radius++;
    const struct taps_reach reach = {.radius = *radius};
    return *radius <= most ? reach : far;
}

struct taps_reach taps_reach_within(const struct filter_chain *chain,
                                    const struct taps_samples *samples, struct taps_reach most)
{
    if (samples->stride > 0)
        return taps_stride_reach_of(chain, samples);
    struct taps_reach reach = taps_reach_of(chain, samples);
    if (reach.is_short && reach.radius <= TAPS_MAX_LOW_RADIUS)
        return reach;
    if (!reach.is_short)
        reach = taps_tile_reach_of(chain, samples, most.radius);
    if (!reach.is_short && !taps_reach_is_far(reach))
        return reach;
    reach.half_radius = taps_half_reach_of(chain, samples, most.half_radius).half_radius;
    return reach;
}

struct taps_reach taps_reach_unite(struct taps_reach a, struct taps_reach b)
{
    const struct taps_reach both = {.is_short = true,
                                    .radius = a.radius > b.radius ? a.radius : b.radius};
    if (a.half_radius > 0 || b.half_radius > 0)
        return far;
    if (a.is_short && b.is_short)
        return both.radius <= TAPS_MAX_PLAIN_RADIUS ? both : far;
    return taps_reach_is_far(a) || taps_reach_is_far(b)
               ? far
               : (struct taps_reach){.radius = both.radius};
}

/* The engine may have the kernels of either method that `a` names, so `b` must allow both. */
bool taps_reach_covers(struct taps_reach a, struct taps_reach b)
{
    if (a.half_radius > 0 && (b.half_radius == 0 || b.half_radius > a.half_radius))
        return false;
    if (!a.is_short)
        return taps_reach_is_far(a) || (!taps_reach_is_far(b) && b.radius <= a.radius);
    return b.is_short && b.radius <= a.radius &&
           (a.products == 0 ||
            (b.products > 0 && b.products <= a.products && a.line <= b.line &&
             (a.has_middle || !b.has_middle) && (a.line != TAPS_EQUAL || a.radius == b.radius)));
}
