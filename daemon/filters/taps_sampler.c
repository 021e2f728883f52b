#include "filters/taps_private.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "filters/filter_crop.h"

#define CURVE_SLOPE          16.0
#define MOST_SUPPORT_PX      (TAPS_MAX_RADIUS * M_SQRT2)  /* to the corner of a square */
#define MOST_TILE_SUPPORT_PX (1.5 * TAPS_MAX_TILE_RADIUS) /* the same */
#define NEGLIGIBLE_H         0x1p-24                      /* transform/response.c */

static size_t own_bytes(uint32_t side)
{
    return sizeof(struct sampler) + (size_t)(side / 2 + 1) * side * sizeof(double complex);
}

static struct filter_grid_shape grid_shape(const struct taps_samples *samples, uint32_t side)
{
    return (struct filter_grid_shape){.first_period = side * samples->sub_y,
                                      .second_period = side * samples->sub_x,
                                      .lines = side / 2 + 1,
                                      .slots = 1};
}

/* Returns H of the chain. */
static double complex chain_sample(const struct sampler *sampler, int32_t kx, int32_t ky)
{
    const double fx = kx / (sampler->side * sampler->sub_x);
    const double fy = ky / (sampler->side * sampler->sub_y);
    double complex transform[FILTER_MAX_STAGES];
    if (sampler->images == NULL)
        return filter_chain_response(sampler->chain, fx, fy);
    filter_grid_read(sampler->images, 0, ky < 0, kx, transform);
    return filter_chain_response_of(sampler->chain, transform, fx, fy);
}

/* Returns H. That of a smaller picture falls at the edges, and is moved by half a sample, so that
 * the middle of h is between the samples at -1 and 0. */
static double complex sample(const struct sampler *sampler, int32_t kx, int32_t ky)
{
    const double fx = kx / (double)sampler->side, fy = ky / (double)sampler->side;
    const double highest = sampler->stride > 0 ? 0.5 / sampler->stride : 1;
    const double complex h = chain_sample(sampler, kx, ky);
    return sampler->stride == 0
               ? h
               : h * filter_crop(fx / highest, sampler->edge) *
                     filter_crop(fy / highest, sampler->edge) * cexp(M_PI * I * (fx + fy));
}

double sampler_cut(const struct sampler *sampler)
{
    const int32_t highest = (int32_t)(sampler->side / 2 / sampler->stride);
    return fmax(cabs(chain_sample(sampler, highest, 0)), cabs(chain_sample(sampler, 0, highest)));
}

/* At half the sampling rate of the plane f and -f are the same, and H is their mean. */
static double complex response_at(const struct sampler *sampler, int32_t kx, int32_t ky)
{
    const int32_t half = (int32_t)sampler->side / 2;
    const int across = kx == half ? 2 : 1, down = ky == half ? 2 : 1;
    double complex sum = 0;
    for (int i = 0; i < across; i++)
        for (int k = 0; k < down; k++)
            sum += sample(sampler, i == 0 ? kx : -kx, k == 0 ? ky : -ky);
    return sum / (across * down);
}

static void note_band(struct sampler *sampler, const double complex *row, uint32_t ky)
{
    const uint32_t side = sampler->side;
    for (uint32_t k = 0; k < side; k++) {
        const uint32_t kx = k < side - k ? k : side - k;
        if (cabs(row[k]) < NEGLIGIBLE_H)
            continue;
        sampler->band_x = kx > sampler->band_x ? kx : sampler->band_x;
        sampler->band_y = ky;
    }
}

/* Transforms along rows. A forward transform of H is h at negative places. */
static void transform_rows(struct sampler *sampler)
{
    const uint32_t side = sampler->side;
    for (uint32_t ky = 0; ky <= side / 2; ky++) {
        double complex *row = &sampler->square[(size_t)ky * side];
        if (sampler->images != NULL)
            filter_grid_load(sampler->images, 0, ky);
        for (uint32_t k = 0; k < side; k++)
            row[k] = response_at(sampler, 2 * k <= side ? (int32_t)k : (int32_t)k - (int32_t)side,
                                 (int32_t)ky);
        note_band(sampler, row, ky);
        dft_line(sampler->dft, row);
    }
}

/* Transforms along columns. Negative frequencies have the conjugates, so h is real: a column of the
 * square holds two of its numbers in each of its first side / 2. */
static void transform_columns(struct sampler *sampler)
{
    const uint32_t side = sampler->side;
    const double scale = 1.0 / ((double)side * side);
    double complex *line = sampler->line;
    for (uint32_t x = 0; x < side; x++) {
        double complex *column = &sampler->square[x];
        for (uint32_t k = 0; k <= side / 2; k++)
            line[k] = column[(size_t)k * side];
        for (uint32_t k = side / 2 + 1; k < side; k++)
            line[k] = conj(line[side - k]);
        dft_line(sampler->dft, line);
        for (uint32_t k = 0; k < side / 2; k++)
            column[(size_t)k * side] = scale * (creal(line[2 * k]) + creal(line[2 * k + 1]) * I);
    }
}

double sampler_tap(const struct sampler *sampler, int32_t x, int32_t y)
{
    const uint32_t side = sampler->side;
    const uint32_t column = (uint32_t)(-x) & (side - 1), row = (uint32_t)(-y) & (side - 1);
    const double complex pair = sampler->square[(size_t)(row / 2) * side + column];
    return row % 2 == 0 ? creal(pair) : cimag(pair);
}

void sampler_close(struct sampler *sampler)
{
    filter_grid_destroy(sampler->images);
    dft_destroy(sampler->dft);
    free(sampler);
}

double sampler_level(const struct sampler *sampler)
{
    return creal(sample(sampler, 0, 0));
}

uint64_t sampler_bytes(const struct filter_chain *chain, const struct taps_samples *samples,
                       uint32_t side)
{
    const struct filter_grid_shape shape = grid_shape(samples, side);
    return own_bytes(side) + filter_grid_bytes(chain, &shape);
}

int sampler_open(struct sampler **ret, const struct filter_chain *chain,
                 const struct taps_samples *samples, uint32_t side, struct error *why)
{
    const double support_px = filter_chain_support(chain);
    const struct filter_grid_shape shape = grid_shape(samples, side);
    if (support_px > (side == SAMPLER_GRID ? MOST_SUPPORT_PX : MOST_TILE_SUPPORT_PX))
        return error_set(why, ERANGE, "the filter is not short: it reaches %.0f pixels",
                         support_px);
    struct sampler *sampler = malloc(own_bytes(side));
    if (sampler == NULL)
        return error_set(why, ENOMEM, "out of memory while computing the taps of a filter");
    *sampler = (struct sampler){.chain = chain,
                                .sub_x = samples->sub_x,
                                .sub_y = samples->sub_y,
                                .stride = samples->stride,
                                .edge = samples->edge > 0 ? samples->edge : FILTER_CROP_EDGE,
                                .side = side};
    int r = dft_create(&sampler->dft, side, why);
    if (r == 0)
        r = filter_grid_create(&sampler->images, chain, &shape, why);
    if (r < 0) {
        sampler_close(sampler);
        return r;
    }
    transform_rows(sampler);
    transform_columns(sampler);
    *ret = sampler;
    return 0;
}

double taps_negligible(const struct filter_chain *chain, const struct taps_samples *samples)
{
    const bool is_curved = filter_chain_curve(chain).kind != CURVE_NONE;
    return 1 / (double)((1u << samples->bits) - 1) / (is_curved ? CURVE_SLOPE : 1);
}
