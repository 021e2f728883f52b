#include "estimators/measures.h"

#include <complex.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/fft.h"
#include "core/order.h"

#define SIDE            32 /* pixels of a patch, if the picture is large enough */
#define SMALL_SIDE      16
#define MAX_COLUMNS     8 /* patches */
#define MAX_ROWS        4
#define BLOCK           8 /* pixels of a block, in which noise is estimated */
#define MAX_BLOCKS      (MAX_COLUMNS * MAX_ROWS * (SIDE / BLOCK) * (SIDE / BLOCK))
#define FLAT_SHARE      8  /* one of this number of blocks is taken for flat */
#define LEVELS          4U /* parts of the blocks, by their level, with a noise of their own */
/* The median of a chi-squared variable of as many degrees of freedom as a block has cells, divided
 * by its mean: (1 - 2 / (9 k))^3, Wilson and Hilferty, Proc. Natl. Acad. Sci. 17 (1931). */
#define CHI2_MEDIAN     0.9589F
#define MAX_LIGHT       90 /* rows from which mean and clipped share are taken */
#define SCALES          2
#define REDUCTION       4 /* by which the second scale is smaller */
/* Rings of the second scale that are used, and the first ring of the other one, which goes on from
 * there. Ring 1 of the second scale has the shading. */
#define FIRST_COARSE    2u
#define END_COARSE      12u
#define FIRST_FINE      3u
/* Variance of details below which a picture shows nothing: that of 0.7/255, and a share of the
 * noise's, for noise that is not quite white. */
#define LEAST_DETAIL    0.5
#define NOISE_SHARE     0.03
/* A ring whose power exceeds the floor by less than this many standard deviations has no power. */
#define SIGNIFICANCE    3.0
/* The state. The first two are guesses that were never varied; the third was chosen on the first 8
 * series of tests/unit/measures_focus.c. */
#define MOST_BURNT_OUT  0.5F   /* share of the samples that are white */
#define LEAST_VISIBLE   0.7    /* share of the details that is not what noise leaves */
#define LEAST_SHARPNESS 0.055F /* cycles/pixel, as after a blur of 3 pixels */
#define FLOOR_ERROR     0.15   /* relative error of the estimated noise */
#define LEAST_NOISE     0.01 /* 1/255 of the range; more than the rounding errors of a transform */
/* The power of the corners may exceed that of the noise in flat blocks by SAME_NOISE standard
 * deviations and still be noise alone. Beyond OTHER_NOISE, only the flat blocks count. On the 80
 * series of tests/unit/measures_focus.c (seed 28115501), 2 and 6, 4 and 6, and 3 and 9 do as well;
 * with 3 and 4 the AUC falls from 1.000 to 0.988. */
#define SAME_NOISE      3.0
#define OTHER_NOISE     6.0
#define MIDDLE          0.84 /* efficiency of the mean of the middle half, for normal numbers */

struct block {
    float level;     /* mean of its samples */
    float structure; /* variance of the coarse coefficients */
    float noise;     /* mean square of the diagonal ones */
};

/* Sums over the bins of the spectra of all patches. */
struct ring_sum {
    double power;
    unsigned bins;
};

struct measurer {
    uint32_t width, height;
    unsigned side; /* a patch's side; 0: the picture is too small for one */
    unsigned columns[SCALES], rows[SCALES];
    struct fft *fft;
    float window[SIDE];             /* along each axis */
    double window_sum, window_sum2; /* over a patch, of the values and of their squares */
    uint8_t ring_of[SIDE * SIDE];
    /* By scale, and by frequency in cycles a patch; the last one: the corners. */
    struct ring_sum ring[SCALES][SIDE / 2 + 2];
    unsigned scales;
    struct block block[MAX_BLOCKS];
    unsigned block_count;
    float patch[SIDE * SIDE];
    float complex square[SIDE * SIDE];
};

/* ---- patches ---- */

/* Where patch `number` of `count` begins: they are spread evenly, and touch both edges. */
static size_t patch_origin(uint32_t length, unsigned side, unsigned number, unsigned count)
{
    const size_t free = length - side;
    return count > 1 ? free * number / (count - 1) : free / 2;
}

/* At the second scale a sample is the mean of REDUCTION x REDUCTION. */
static void load_patch(struct measurer *measurer, const struct measures_picture *picture,
                       unsigned scale, unsigned column, unsigned row)
{
    const unsigned factor = scale == 0 ? 1 : REDUCTION, side = measurer->side * factor;
    const size_t origin =
        patch_origin(measurer->height, side, row, measurer->rows[scale]) * picture->width +
        patch_origin(measurer->width, side, column, measurer->columns[scale]);
    memset(measurer->patch, 0, sizeof measurer->patch);
    for (unsigned y = 0; y < side; y++) {
        float *to = measurer->patch + (size_t)(y / factor) * measurer->side;
        for (unsigned x = 0; x < side; x += factor, to++)
            for (unsigned i = 0; i < factor; i++)
                *to += picture->samples[origin + y * picture->width + x + i];
    }
    for (unsigned i = 0; factor > 1 && i < measurer->side * measurer->side; i++)
        measurer->patch[i] /= (float)(factor * factor);
}

/* ---- noise ---- */

static bool is_clipped(float sample, const struct measures_picture *picture)
{
    return sample <= picture->black || sample >= picture->white;
}

/* One block; clipped samples have lost their noise, and constant ones never had any. */
static void add_block(struct measurer *measurer, const float *from,
                      const struct measures_picture *picture)
{
    const unsigned cells = BLOCK / 2 * BLOCK / 2;
    const float first = *from;
    float sum = 0, sum2 = 0, diagonal2 = 0;
    for (unsigned y = 0; y < BLOCK; y += 2, from += 2 * (size_t)measurer->side)
        for (unsigned x = 0; x < BLOCK; x += 2) {
            const float a = from[x];
            const float b = from[x + 1];
            const float c = from[x + measurer->side];
            const float d = from[x + measurer->side + 1];
            if (is_clipped(a, picture) || is_clipped(b, picture) || is_clipped(c, picture) ||
                is_clipped(d, picture))
                return;
            const float coarse = (a + b + c + d) / 2 - 2 * first; /* exactly 0 if constant */
            const float diagonal = (a - b - c + d) / 2;
            sum += coarse;
            sum2 += coarse * coarse;
            diagonal2 += diagonal * diagonal;
        }
    const float mean = sum / cells;
    const float structure = fmaxf(sum2 / cells - mean * mean, 0);
    if (sum2 == 0 && diagonal2 == 0)
        return;
    measurer->block[measurer->block_count++] =
        (struct block){first + mean / 2, structure, diagonal2 / cells};
}

static void add_blocks(struct measurer *measurer, const struct measures_picture *picture)
{
    for (unsigned y = 0; y < measurer->side; y += BLOCK)
        for (unsigned x = 0; x < measurer->side; x += BLOCK)
            add_block(measurer, measurer->patch + (size_t)y * measurer->side + x, picture);
}

static int compare_level(const void *a, const void *b)
{
    return order_floats(&((const struct block *)a)->level, &((const struct block *)b)->level);
}

static int compare_structure(const void *a, const void *b)
{
    return order_floats(&((const struct block *)a)->structure,
                        &((const struct block *)b)->structure);
}

static int compare_noise(const void *a, const void *b)
{
    return order_floats(&((const struct block *)a)->noise, &((const struct block *)b)->noise);
}

static unsigned count_flat(unsigned blocks)
{
    return (blocks + FLAT_SHARE - 1) / FLAT_SHARE;
}

/* Returns the noise's variance: the mean of the middle half of the flattest blocks, where a few
 * with detail do not count. */
static float noise_of(struct block *block, unsigned count)
{
    const unsigned flat = count_flat(count), first = flat / 4, end = flat - flat / 4;
    qsort(block, count, sizeof *block, compare_structure);
    qsort(block, flat, sizeof *block, compare_noise);
    float sum = 0;
    for (unsigned i = first; i < end; i++)
        sum += block[i].noise;
    return sum / (float)(end - first) / CHI2_MEDIAN;
}

/* A picture of which every block is constant has no noise; one of which every block is clipped does
 * not show it. */
static float estimate_noise(struct measurer *measurer, float clipped)
{
    if (measurer->block_count == 0)
        return clipped > 0 ? NAN : 0;
    return sqrtf(noise_of(measurer->block, measurer->block_count));
}

/* Returns the mean of the variances at different levels. A sensor's noise grows with light, and the
 * flattest blocks of a picture are often its darkest ones. */
static double noise_of_levels(struct measurer *measurer)
{
    const unsigned count = measurer->block_count;
    double sum = 0;
    qsort(measurer->block, count, sizeof *measurer->block, compare_level);
    for (unsigned i = 0; i < LEVELS; i++) {
        const unsigned begin = count * i / LEVELS, end = count * (i + 1) / LEVELS;
        sum += end > begin ? (double)noise_of(measurer->block + begin, end - begin) : 0;
    }
    return sum / fmin(count, LEVELS);
}

/* ---- sharpness ---- */

/* Makes the patch the real or the imaginary part of what is transformed. */
static void window_patch(struct measurer *measurer, bool is_second)
{
    const unsigned side = measurer->side;
    const float *from = measurer->patch;
    float sum = 0;
    for (unsigned y = 0; y < side; y++) {
        float row = 0;
        for (unsigned x = 0; x < side; x++)
            row += measurer->window[x] * from[y * side + x];
        sum += row * measurer->window[y];
    }
    const float mean = sum / (float)measurer->window_sum;
    for (unsigned y = 0; y < side; y++)
        for (unsigned x = 0; x < side; x++) {
            const float value =
                (from[y * side + x] - mean) * measurer->window[x] * measurer->window[y];
            float complex *to = &measurer->square[y * side + x];
            *to = is_second ? crealf(*to) + value * I : value;
        }
}

/* Two patches in one transform: the sum of both powers at k and -k is that of its power there. */
static void add_spectrum(struct measurer *measurer, unsigned scale)
{
    const unsigned bins = measurer->side * measurer->side;
    float power[SIDE / 2 + 2] = {0};
    fft_square(measurer->fft, measurer->square, false);
    for (unsigned i = 0; i < bins; i++) {
        const float complex value = measurer->square[i];
        power[measurer->ring_of[i]] +=
            crealf(value) * crealf(value) + cimagf(value) * cimagf(value);
    }
    for (unsigned r = 0; r <= measurer->side / 2 + 1; r++)
        measurer->ring[scale][r].power += (double)power[r];
}

/* Returns the power of noise, between the estimates from the corners and from flat blocks. Fine
 * texture adds to the corners. In a picture of noise alone, however, the corners are the better
 * estimate, and a floor that is too low by chance would make noise look sharp. */
static double lesser_noise(double corners, double flat, unsigned blocks)
{
    const double cells = BLOCK / 2.0 * BLOCK / 2.0;
    const double deviation = sqrt(2 / (cells * MIDDLE * fmax(blocks, 1)));
    const double off = (corners - flat) / (deviation * flat + 1e-9);
    const double share = fmin(fmax((OTHER_NOISE - off) / (OTHER_NOISE - SAME_NOISE), 0), 1);
    return flat + share * (corners - flat);
}

/* The power of white noise in a bin. Where samples are clipped, the blocks that are left are not
 * typical. */
static double noise_floor(struct measurer *measurer, float clipped)
{
    const struct ring_sum *corners = &measurer->ring[0][measurer->side / 2 + 1];
    const unsigned patches = measurer->columns[0] * measurer->rows[0];
    double floor = corners->power / corners->bins / measurer->window_sum2 / patches;
    if (measurer->block_count > 0 && clipped < 0.02F)
        floor = lesser_noise(floor, noise_of_levels(measurer), count_flat(measurer->block_count));
    return fmax(floor, LEAST_NOISE * LEAST_NOISE);
}

/* The power of each ring beyond the noise is multiplied by the square of its frequency, which makes
 * that of a sharp picture equal at all frequencies. Each ring counts by the share of its power that
 * is not noise, so that rings of noise do not make the result uncertain. */
static float estimate_sharpness(struct measurer *measurer, float clipped, double *detail)
{
    const double floor = noise_floor(measurer, clipped);
    const unsigned corner = measurer->side / 2 + 1;
    double sum = 0, sum_f2 = 0, variance = 0;
    bool has_ended = false;
    for (unsigned scale = 0; scale < measurer->scales; scale++) {
        const unsigned patches = measurer->columns[scale] * measurer->rows[scale];
        const unsigned factor = scale == 0 ? 1 : REDUCTION;
        const unsigned first = scale > 0 ? FIRST_COARSE : measurer->scales > 1 ? FIRST_FINE : 1;
        const unsigned end = scale > 0 ? END_COARSE : corner;
        for (unsigned r = first; r < end; r++) {
            const struct ring_sum *ring = &measurer->ring[scale][r];
            const double step = 1.0 / measurer->side / factor, f = r * step;
            /* The mean of samples, whose noise is as much smaller, and whose waves are, too. */
            const double mean = scale == 0 ? 1 : sin(M_PI * f * factor) / (M_PI * f * factor);
            const double power =
                ring->power / ring->bins / measurer->window_sum2 / patches * factor * factor;
            const double excess = power - floor;
            /* The window makes neighbouring bins depend on each other; about every second is new.
             * Beyond a ring of noise only a strong one counts: the others are noise, too. */
            const double deviation = floor * sqrt(2.0 / ring->bins / patches);
            const double least = has_ended ? floor : FLOOR_ERROR * floor;
            if (power <= 0 || excess <= SIGNIFICANCE * deviation + least) {
                has_ended = variance > 0;
                continue;
            }
            const double density = excess / (mean * mean) * 2 * M_PI * f * step;
            const double weight = density * f * f * (excess / power) * (excess / power);
            variance += density;
            sum += weight;
            sum_f2 += weight * f * f;
        }
    }
    *detail = variance / (variance + LEAST_DETAIL + NOISE_SHARE * floor);
    return sum > 0 ? (float)(*detail * sqrt(sum_f2 / sum)) : 0;
}

/* ---- light ---- */

static void measure_light(const struct measures_picture *picture, struct measures *ret)
{
    const uint32_t step = 1 + (picture->height - 1) / MAX_LIGHT;
    double sum = 0;
    uint64_t count = 0, clipped = 0, burnt_out = 0;
    for (uint32_t y = 0; y < picture->height; y += step) {
        const size_t row = y * picture->width;
        uint32_t row_clipped = 0, row_burnt_out = 0;
        float row_sum = 0;
        for (uint32_t x = 0; x < picture->width; x++) {
            const float sample = picture->samples[row + x];
            row_sum += sample;
            row_clipped += is_clipped(sample, picture);
            row_burnt_out += sample >= picture->white;
        }
        sum += (double)row_sum;
        clipped += row_clipped;
        burnt_out += row_burnt_out;
        count += picture->width;
    }
    ret->mean = (float)(sum / (double)count);
    ret->clipped = (float)((double)clipped / (double)count);
    ret->burnt_out = (float)((double)burnt_out / (double)count);
}

static enum fftd_picture_state find_state(const struct measures *measures, double detail)
{
    if (measures->burnt_out >= MOST_BURNT_OUT)
        return FFTD_PICTURE_OVEREXPOSED;
    if (detail < LEAST_VISIBLE)
        return FFTD_PICTURE_COVERED;
    return measures->sharpness < LEAST_SHARPNESS ? FFTD_PICTURE_DEFOCUSED : FFTD_PICTURE_FINE;
}

static void add_patches(struct measurer *measurer, const struct measures_picture *picture,
                        unsigned scale)
{
    unsigned patches = 0;
    for (unsigned row = 0; row < measurer->rows[scale]; row++)
        for (unsigned column = 0; column < measurer->columns[scale]; column++) {
            load_patch(measurer, picture, scale, column, row);
            if (scale == 0)
                add_blocks(measurer, picture);
            window_patch(measurer, patches % 2 != 0);
            if (patches++ % 2 != 0)
                add_spectrum(measurer, scale);
        }
    if (patches % 2 != 0)
        add_spectrum(measurer, scale);
}

void measurer_measure(struct measurer *measurer, const struct measures_picture *picture,
                      struct measures *ret)
{
    double detail;
    *ret = (struct measures){.sharpness = NAN, .noise = NAN};
    measure_light(picture, ret);
    if (measurer->side == 0)
        return;
    measurer->block_count = 0;
    for (unsigned scale = 0; scale < measurer->scales; scale++) {
        for (unsigned r = 0; r <= measurer->side / 2 + 1; r++)
            measurer->ring[scale][r].power = 0;
        add_patches(measurer, picture, scale);
    }
    ret->noise = estimate_noise(measurer, ret->clipped);
    ret->sharpness = estimate_sharpness(measurer, ret->clipped, &detail);
    if (ret->burnt_out >= MOST_BURNT_OUT)
        ret->sharpness *= fmaxf(1 - ret->burnt_out, 0);
    ret->state = find_state(ret, detail);
}

/* ---- life ---- */

static void make_window(struct measurer *measurer)
{
    double sum = 0, sum2 = 0;
    for (unsigned i = 0; i < measurer->side; i++) {
        const double value = 0.5 - 0.5 * cos(2 * M_PI * (i + 0.5) / measurer->side);
        measurer->window[i] = (float)value;
        sum += value;
        sum2 += value * value;
    }
    measurer->window_sum = sum * sum;
    measurer->window_sum2 = sum2 * sum2;
}

static void make_rings(struct measurer *measurer)
{
    const int side = (int)measurer->side;
    for (int y = 0; y < side; y++)
        for (int x = 0; x < side; x++) {
            const double fx = x < side / 2 ? x : x - side;
            const double fy = y < side / 2 ? y : y - side;
            const unsigned r = (unsigned)lround(sqrt(fx * fx + fy * fy));
            const unsigned last = measurer->side / 2 + 1;
            measurer->ring_of[y * side + x] = (uint8_t)(r < last ? r : last);
            for (unsigned scale = 0; scale < SCALES; scale++)
                measurer->ring[scale][r < last ? r : last].bins++;
        }
}

int measurer_create(struct measurer **ret, uint32_t width, uint32_t height, struct error *why)
{
    const uint32_t least = width < height ? width : height;
    int r = 0;
    struct measurer *measurer = calloc(1, sizeof *measurer);
    if (measurer == NULL)
        return error_set(why, ENOMEM, "out of memory for measures of frames");
    measurer->width = width;
    measurer->height = height;
    measurer->side = least >= SIDE ? SIDE : least >= SMALL_SIDE ? SMALL_SIDE : 0;
    if (measurer->side > 0) {
        measurer->scales = least >= measurer->side * REDUCTION ? SCALES : 1;
        for (unsigned scale = 0, side = measurer->side; scale < measurer->scales;
             scale++, side *= REDUCTION) {
            measurer->columns[scale] = width / side < MAX_COLUMNS ? width / side : MAX_COLUMNS;
            measurer->rows[scale] = height / side < MAX_ROWS ? height / side : MAX_ROWS;
        }
        make_window(measurer);
        make_rings(measurer);
        r = fft_create(&measurer->fft, measurer->side, why);
    }
    if (r < 0) {
        measurer_destroy(measurer);
        return r;
    }
    *ret = measurer;
    return 0;
}

void measurer_destroy(struct measurer *measurer)
{
    if (measurer == NULL)
        return;
    fft_destroy(measurer->fft);
    free(measurer);
}
