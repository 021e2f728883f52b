/* Tests of noise reduction in blocks: its error against a model in double precision that is written
 * from daemon/filters/denoise.h, and whole frames of the engine, whose other planes and colours
 * stay.
 */
#include <complex.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/cmocka.h"
#include "support/chains.h"
#include "support/device.h"
#include "support/floats.h"
#include "support/leaves.h"
#include "support/reference.h"
#include "support/scene.h"

#include "engine/denoiser/denoiser.h"
#include "engine/denoiser/denoiser_motion.h"
#include "engine/engine.h"
#include "gpu/frame_ring.h"

#define PI        3.14159265358979323846
#define MAX_BLOCK 32
#define ROUNDING  (1e-11 * 255 * 255) /* variance that joined frames have at least */

struct picture {
    long width, height;
    double *sample;
};

static struct picture make_picture(long width, long height)
{
    struct picture ret = {width, height, calloc((size_t)(width * height), sizeof *ret.sample)};
    assert_non_null(ret.sample);
    return ret;
}

/* A scene with noise. */
static struct picture draw(long width, long height, double sigma, double shot, uint64_t seed)
{
    struct picture ret = make_picture(width, height);
    struct scene scene;
    float *clean = malloc((size_t)(width * height) * sizeof *clean);
    scene_make(&scene, 256, &seed);
    scene_draw(&scene, 0, 0, 0, (unsigned)width, (unsigned)height, clean);
    for (long i = 0; i < width * height; i++)
        ret.sample[i] =
            (float)(clean[i] + sqrt(sigma * sigma + shot * clean[i]) * scene_normal(&seed));
    free(clean);
    return ret;
}

/* ---- the model ---- */

struct block {
    double value[MAX_BLOCK][MAX_BLOCK];
};

struct spectrum {
    double complex value[MAX_BLOCK][MAX_BLOCK];
};

static long mirror(long i, long length)
{
    i = i < 0 ? -i : i >= length ? 2 * length - 2 - i : i;
    return i < 0 ? 0 : i >= length ? length - 1 : i;
}

static long lmin(long a, long b)
{
    return a < b ? a : b;
}

static long lmax(long a, long b)
{
    return a > b ? a : b;
}

static double window_at(long n, long side)
{
    return sin(PI * ((double)n + 0.5) / (double)side);
}

static void cut(struct block *ret, const struct picture *from, long left, long top, long side)
{
    for (long y = 0; y < side; y++)
        for (long x = 0; x < side; x++)
            ret->value[y][x] = from->sample[mirror(top + y, from->height) * from->width +
                                            mirror(left + x, from->width)] *
                               window_at(x, side) * window_at(y, side);
}

/* sum of z(y, x) exp(sign 2 pi i (kx x + ky y) / side) */
static void fourier(struct spectrum *z, long side, double sign)
{
    static struct spectrum rows;
    double complex turn[MAX_BLOCK];
    for (long k = 0; k < side; k++)
        turn[k] = cexp(sign * 2 * PI * I * (double)k / (double)side);
    for (long y = 0; y < side; y++)
        for (long k = 0; k < side; k++) {
            rows.value[y][k] = 0;
            for (long x = 0; x < side; x++)
                rows.value[y][k] += z->value[y][x] * turn[k * x % side];
        }
    for (long k = 0; k < side; k++)
        for (long x = 0; x < side; x++) {
            z->value[k][x] = 0;
            for (long y = 0; y < side; y++)
                z->value[k][x] += rows.value[y][x] * turn[k * y % side];
        }
}

/* The basis of the orthonormal DCT-II, which its inverse shares. */
static double cosine_at(long k, long n, long side)
{
    return sqrt((k == 0 ? 1. : 2.) / (double)side) *
           cos(PI * (2 * (double)n + 1) * (double)k / (2 * (double)side));
}

static double variance(const struct noise_model *noise, double level)
{
    return fmax(noise->constant + noise->slope * fmax(level, 0), 0);
}

/* Entry (k, n) of the transform into real numbers that past frames are compared in, and of its
 * inverse. */
static double real_basis(long k, long n, long side, bool is_cosine, bool inverse)
{
    const long half = side / 2, turns = k <= half ? k * n : (k - half) * n;
    const double phase = 2 * PI * (double)turns / (double)side;
    const double scale = !inverse ? 1 : (k == 0 || k == half ? 1. : 2.) / (double)side;
    if (is_cosine)
        return cosine_at(k, n, side);
    return scale * (k <= half ? cos(phase) : sin(phase));
}

static void real_transform(struct block *b, long side, bool is_cosine, bool inverse)
{
    static struct block rows;
    static double basis[MAX_BLOCK][MAX_BLOCK];
    for (long k = 0; k < side; k++)
        for (long n = 0; n < side; n++)
            basis[inverse ? n : k][inverse ? k : n] = real_basis(k, n, side, is_cosine, inverse);
    for (long y = 0; y < side; y++)
        for (long k = 0; k < side; k++) {
            rows.value[y][k] = 0;
            for (long x = 0; x < side; x++)
                rows.value[y][k] += b->value[y][x] * basis[k][x];
        }
    for (long k = 0; k < side; k++)
        for (long x = 0; x < side; x++) {
            b->value[k][x] = 0;
            for (long y = 0; y < side; y++)
                b->value[k][x] += rows.value[y][x] * basis[k][y];
        }
}

/* What the next frame reads of a frame: its joined samples, and around each eighth sample what is
 * left of the noise, the bias of the level, and the misfits of three bands of frequencies. */
struct history {
    struct picture joined;
    long columns, rows;
    double *remaining, *bias, *misfit[3];
};

static void clear_history(struct history *history)
{
    free(history->joined.sample);
    free(history->remaining);
    free(history->bias);
    for (int i = 0; i < 3; i++)
        free(history->misfit[i]);
    *history = (struct history){0};
}

static double number_at(const struct history *history, const double *numbers, double y, double x)
{
    y = fmin(fmax(y / 8, 0), (double)history->rows - 1);
    x = fmin(fmax(x / 8, 0), (double)history->columns - 1);
    const long row = lmin((long)y, history->rows - 2), column = lmin((long)x, history->columns - 2);
    const double *at = numbers + row * history->columns + column;
    const double down = y - (double)row, right = x - (double)column;
    return (at[0] * (1 - right) + at[1] * right) * (1 - down) +
           (at[history->columns] * (1 - right) + at[history->columns + 1] * right) * down;
}

/* The mean over 32 x 32 samples. */
static double mean_around(const struct history *history, const double *numbers, double y, double x)
{
    double sum = 0;
    for (int j = -1; j <= 1; j++)
        for (int i = -1; i <= 1; i++)
            sum += (2 - abs(j)) * (2 - abs(i)) * number_at(history, numbers, y + 8 * j, x + 8 * i);
    return sum / 16;
}

/* The mean over a block. */
static double block_remaining(const struct history *history, long left, long top, long side)
{
    const double y = (double)top + (double)side / 2, x = (double)left + (double)side / 2;
    if (history == NULL)
        return 1;
    return side <= 16 ? number_at(history, history->remaining, y, x)
                      : mean_around(history, history->remaining, y, x);
}

/* Vectors of blocks whose middles are 16 samples apart, four numbers each; and the counts of the
 * search. */
struct field {
    long columns, rows;
    float *vector;
    cl_uint count[DENOISER_COUNTS];
};

static bool light_changes(const struct field *field)
{
    return abs((int)field->count[4]) > 0.3 * field->count[3];
}

/* How surely the scene is still. */
static double stillness_of(const struct field *field)
{
    const double still = field->count[2], moving = field->count[1] - still;
    return light_changes(field) ? 0 : fmin(fmax(0.2 * log((still + 1) / (moving + 1)), 0), 1);
}

static double difference_at(const struct picture *a, const struct picture *b, long top, long left,
                            const double moved[2])
{
    double sum = 0;
    for (long y = 0; y < 16; y += 2)
        for (long x = 0; x < 16; x++) {
            const long from_y = mirror(top + y - lrint(moved[0]), b->height);
            const long from_x = mirror(left + x - lrint(moved[1]), b->width);
            sum +=
                pow(a->sample[mirror(top + y, a->height) * a->width + mirror(left + x, a->width)] -
                        b->sample[from_y * b->width + from_x],
                    2);
        }
    return sum;
}

static void vector_at(double ret[2], const struct field *field, const struct picture *captured,
                      const struct picture *past, long top, long left)
{
    const double y = (double)(top + 8) / 16, x = (double)(left + 8) / 16;
    const long row = lmin((long)y, lmax(field->rows - 2, 0));
    const long column = lmin((long)x, lmax(field->columns - 2, 0));
    const double down = fmin(y - (double)row, 1), right = fmin(x - (double)column, 1);
    double near[4][2], spread = 0;
    for (int i = 0; i < 4; i++)
        for (int c = 0; c < 2; c++)
            near[i][c] =
                (double)field->vector[4 * (lmin(row + i / 2, field->rows - 1) * field->columns +
                                           lmin(column + i % 2, field->columns - 1)) +
                                      c];
    for (int c = 0; c < 2; c++)
        ret[c] = rint(16 * ((near[0][c] * (1 - right) + near[1][c] * right) * (1 - down) +
                            (near[2][c] * (1 - right) + near[3][c] * right) * down)) /
                 16;
    for (int i = 0; i < 8; i++)
        spread = fmax(spread, fabs(near[i / 2][i % 2] - ret[i % 2]));
    if (spread <= 1)
        return;
    ret[0] = ret[1] = 0;
    double least = difference_at(captured, past, top, left, ret);
    for (int i = 0; i < 4; i++) {
        const double cost = difference_at(captured, past, top, left, near[i]);
        if (cost < 0.999 * least) {
            least = cost;
            memcpy(ret, near[i], sizeof near[i]);
        }
    }
}

static double lanczos(double x)
{
    return x == 0 ? 1 : fabs(x) >= 3 ? 0 : 3 * sin(PI * x) * sin(PI * x / 3) / (PI * PI * x * x);
}

/* The windowed block that has moved to a place. */
static void cut_moved(struct block *ret, const struct picture *from, long left, long top,
                      const double moved[2])
{
    const double y0 = (double)top - moved[0], x0 = (double)left - moved[1];
    double down[6], across[6], down_sum = 0, across_sum = 0;
    for (int i = 0; i < 6; i++) {
        down_sum += down[i] = lanczos(i - 2 - (y0 - floor(y0)));
        across_sum += across[i] = lanczos(i - 2 - (x0 - floor(x0)));
    }
    for (long y = 0; y < 16; y++)
        for (long x = 0; x < 16; x++) {
            double sum = 0;
            for (int j = 0; j < 6; j++)
                for (int i = 0; i < 6; i++)
                    sum += down[j] * across[i] *
                           from->sample[mirror((long)floor(y0) + y + j - 2, from->height) *
                                            from->width +
                                        mirror((long)floor(x0) + x + i - 2, from->width)];
            ret->value[y][x] = sum / down_sum / across_sum * window_at(x, 16) * window_at(y, 16);
        }
}

/* The level of a transformed block of 16. */
static double level_of(const struct block *b)
{
    double window = 0;
    for (long x = 0; x < 16; x++)
        window += window_at(x, 16) / 4; /* the cosine transform's number 0 of the window */
    return b->value[0][0] / (window * window);
}

/* Corrects the light of a block of the past. `bias` is expected of its level. Returns the bias
 * expected in the next frame. */
static double correct_light(struct block *past, const struct block *b, double bias, bool is_lit,
                            double left_in_past, const struct noise_model *noise, double stillness)
{
    static struct block w;
    const double level = level_of(past), kept = is_lit ? 0.15 : 0.5 + 0.3 * stillness;
    const double now = (level - level_of(b)) * (1 - kept) + bias * kept;
    const double expected = 0.006 * variance(noise, level) * (0.3 + left_in_past);
    const double part = fmax(1 - (0.4 + 0.8 * stillness) * expected / (now * now), 0);
    for (long i = 0; i < 256; i++)
        w.value[i / 16][i % 16] = window_at(i / 16, 16) * window_at(i % 16, 16);
    real_transform(&w, 16, true, false);
    const double sure = is_lit ? fmax(1 - 4 * expected / (now * now), 0) : 0;
    const double gain = fmin(fmax(1 - sure * now / fmax(level, 1), 0.5), 2);
    for (long i = 0; i < 256; i++)
        past->value[i / 16][i % 16] = gain * past->value[i / 16][i % 16] +
                                      ((1 - gain) * level - part * now) * w.value[i / 16][i % 16];
    return now - part * now / 2;
}

/* Joins a transformed block of the past to a captured one. Returns what is left of the noise. */
static double join_blocks(struct block *b, const struct block *past, double left_in_past,
                          const struct noise_model *noise, unsigned most, double stillness,
                          double misfit[3])
{
    static const double count[3] = {16, 48, 192};
    double mean[3] = {0}, excess[3] = {0}, remaining = 0;
    const double v = fmax(variance(noise, level_of(past)), 1e-6);
    for (long i = 0; i < 256; i++) {
        const long frequency = lmax(i / 16, i % 16);
        const int band = frequency < 4 ? 0 : frequency < 8 ? 1 : 2;
        const double d = past->value[i / 16][i % 16] - b->value[i / 16][i % 16];
        mean[band] += d * d / (v / 4 * (1 + left_in_past)) / count[band];
    }
    for (int i = 0; i < 3; i++) {
        const double deviation = sqrt(4.5 / count[i]), now = mean[i] - 1;
        const double kept = 0.25 * now + 0.75 * misfit[i];
        excess[i] = fmax(now - (2 + 3 * stillness) * deviation, 0);
        excess[i] = fmax(kept - 2.4 * stillness * 0.378 * deviation, excess[i]);
        misfit[i] = kept / (1 + excess[i]);
        excess[i] += i > 0 ? excess[0] : 0;
    }
    for (long i = 0; i < 256; i++) {
        const long frequency = lmax(i / 16, i % 16);
        const double d = past->value[i / 16][i % 16] - b->value[i / 16][i % 16];
        const double q = d * d / (v / 4 * (1 + left_in_past));
        const double e = excess[frequency < 4   ? 0
                                : frequency < 8 ? 1
                                                : 2] +
                         0.2 * fmax(q - 18 - 20 * stillness, 0);
        const double gain = 1 / ((1 + left_in_past) * (1 + e));
        b->value[i / 16][i % 16] += gain * d;
        remaining += (pow(1 - gain, 2) + gain * gain * left_in_past) / 256;
    }
    return fmin(fmax(remaining, 1. / (1 + most)), 1);
}

static double square_difference(const struct block *a, const struct block *b)
{
    double sum = 0;
    for (long i = 0; i < 256; i++)
        sum += pow(a->value[i / 16][i % 16] - b->value[i / 16][i % 16], 2);
    return sum;
}

/* Gets the transformed past of a transformed block, and by how much it has moved. */
static void past_of(struct block *ret, double moved[2], const struct block *b,
                    const struct history *past, const struct noise_model *noise, double stillness,
                    long left, long top)
{
    static const double none[2] = {0, 0};
    static struct block same;
    cut_moved(ret, &past->joined, left, top, moved);
    real_transform(ret, 16, true, false);
    cut_moved(&same, &past->joined, left, top, none);
    real_transform(&same, 16, true, false);
    const double left_in_past =
        number_at(past, past->remaining, (double)(top + 8), (double)(left + 8));
    const double unit = variance(noise, level_of(ret)) / 4 * (1 + left_in_past);
    if (stillness > 0 &&
        square_difference(&same, b) <= square_difference(ret, b) + 40 * stillness * unit) {
        *ret = same;
        moved[0] = moved[1] = 0;
    }
}

/* The history of a frame; past: that of the frame before, or NULL. */
static struct history join(const struct picture *in, const struct history *past,
                           const struct field *field, const struct denoise *denoise)
{
    static struct block b, before;
    struct history ret = {.joined = make_picture(in->width, in->height),
                          .columns = (in->width + 7) / 8 + 1,
                          .rows = (in->height + 7) / 8 + 1};
    ret.remaining = calloc((size_t)(ret.columns * ret.rows), sizeof *ret.remaining);
    ret.bias = calloc((size_t)(ret.columns * ret.rows), sizeof *ret.bias);
    for (int i = 0; i < 3; i++)
        ret.misfit[i] = calloc((size_t)(ret.columns * ret.rows), sizeof *ret.misfit[i]);
    const double stillness = stillness_of(field);
    for (long row = 0; row < ret.rows; row++)
        for (long column = 0; column < ret.columns; column++) {
            const long top = 8 * row - 8, left = 8 * column - 8;
            double moved[2], *remaining = &ret.remaining[row * ret.columns + column];
            cut(&b, in, left, top, 16);
            *remaining = 1;
            if (past != NULL) {
                vector_at(moved, field, in, &past->joined, top, left);
                real_transform(&b, 16, true, false);
                past_of(&before, moved, &b, past, &denoise->noise, stillness, left, top);
                const double y = (double)(top + 8) - moved[0], x = (double)(left + 8) - moved[1];
                const double left_in_past = number_at(past, past->remaining, y, x);
                ret.bias[row * ret.columns + column] =
                    correct_light(&before, &b, mean_around(past, past->bias, y, x),
                                  light_changes(field), left_in_past, &denoise->noise, stillness);
                double misfit[3];
                for (int i = 0; i < 3; i++)
                    misfit[i] = number_at(past, past->misfit[i], y, x);
                *remaining = join_blocks(&b, &before, left_in_past, &denoise->noise,
                                         denoise->settings.past, stillness, misfit);
                for (int i = 0; i < 3; i++)
                    ret.misfit[i][row * ret.columns + column] = misfit[i];
                real_transform(&b, 16, true, true);
            }
            for (long y = lmax(top, 0); y < lmin(top + 16, in->height); y++)
                for (long x = lmax(left, 0); x < lmin(left + 16, in->width); x++)
                    ret.joined.sample[y * in->width + x] += b.value[y - top][x - left] *
                                                            window_at(x - left, 16) *
                                                            window_at(y - top, 16);
        }
    return ret;
}

/* Returns the sum of the gains. */
static double filter_first(struct block *b, long side, const struct noise_model *noise)
{
    static struct spectrum f, w;
    double power = 0, gains = 0;
    for (long y = 0; y < side; y++)
        for (long x = 0; x < side; x++) {
            w.value[y][x] = window_at(x, side) * window_at(y, side);
            power += creal(w.value[y][x]) * creal(w.value[y][x]);
            f.value[y][x] = b->value[y][x];
        }
    fourier(&f, side, -1);
    fourier(&w, side, -1);
    const double level = creal(f.value[0][0]) / creal(w.value[0][0]);
    for (long y = 0; y < side; y++)
        for (long x = 0; x < side; x++) {
            const double complex z = f.value[y][x] - level * w.value[y][x];
            const double found = creal(z) * creal(z) + cimag(z) * cimag(z);
            const double floor = 2.5 * variance(noise, level) * power;
            const double gain = found > floor ? 1 - floor / found : 0;
            f.value[y][x] = level * w.value[y][x] + z * gain;
            gains += gain;
        }
    fourier(&f, side, 1);
    for (long y = 0; y < side; y++)
        for (long x = 0; x < side; x++)
            b->value[y][x] = creal(f.value[y][x]) / (double)(side * side);
    return gains;
}

/* Returns the sum of the gains. */
static double filter_second(struct block *b, struct block *guide, long side,
                            const struct noise_model *noise)
{
    static struct block w;
    double gains = 0;
    for (long y = 0; y < side; y++)
        for (long x = 0; x < side; x++)
            w.value[y][x] = window_at(x, side) * window_at(y, side);
    real_transform(&w, side, true, false);
    real_transform(b, side, true, false);
    real_transform(guide, side, true, false);
    const double level = b->value[0][0] / w.value[0][0];
    const double guide_level = guide->value[0][0] / w.value[0][0];
    const double power = variance(noise, guide_level) / 4;
    for (long y = 0; y < side; y++)
        for (long x = 0; x < side; x++) {
            const double g = guide->value[y][x] - guide_level * w.value[y][x];
            const double c = b->value[y][x] - level * w.value[y][x];
            const double gain = g != 0 ? g * g / (g * g + power) : 0;
            b->value[y][x] = level * w.value[y][x] + c * gain;
            gains += gain;
        }
    real_transform(b, side, true, true);
    return gains;
}

/* A weighted sum of blocks, and the sum of their weights. */
struct blend {
    struct picture sum, weight;
};

static struct blend make_blend(const struct picture *like)
{
    return (struct blend){make_picture(like->width, like->height),
                          make_picture(like->width, like->height)};
}

static struct picture blended(struct blend *blend)
{
    for (long i = 0; i < blend->sum.width * blend->sum.height; i++)
        blend->sum.sample[i] /= blend->weight.sample[i];
    free(blend->weight.sample);
    return blend->sum;
}

/* Adds the blocks of one pass, which is the second one if there is a guide. history: that of `in`,
 * if it is joined. shift: the samples by which all blocks are moved up and to the left. */
static void add_blocks(struct blend *ret, const struct picture *in, const struct history *history,
                       const struct picture *guide, long side, long hop, long shift,
                       const struct noise_model *noise)
{
    static struct block b, g;
    const double overlap = pow(2. * (double)hop / (double)side, 2);
    for (long top = hop - side - shift; top < in->height; top += hop)
        for (long left = hop - side - shift; left < in->width; left += hop) {
            double by = overlap;
            cut(&b, in, left, top, side);
            const double remaining = block_remaining(history, left, top, side);
            const struct noise_model kept = {noise->constant * remaining +
                                                 (history != NULL ? ROUNDING : 0),
                                             noise->slope * remaining, 1};
            if (guide != NULL)
                cut(&g, guide, left, top, side);
            const double gains =
                guide != NULL ? filter_second(&b, &g, side, &kept) : filter_first(&b, side, &kept);
            if (history != NULL)
                by *= pow((double)(side * side) / (4 + gains), 2);
            for (long y = 0; y < side; y++)
                for (long x = 0; x < side; x++) {
                    const long at = (top + y) * in->width + left + x;
                    const double w = window_at(x, side) * window_at(y, side);
                    if (top + y < 0 || top + y >= in->height || left + x < 0 ||
                        left + x >= in->width)
                        continue;
                    ret->sum.sample[at] += by * b.value[y][x] * w;
                    ret->weight.sample[at] += by * w * w;
                }
        }
}

static struct picture passes(const struct picture *in, const struct history *history,
                             const struct denoise *denoise)
{
    const struct denoise_settings *settings = &denoise->settings;
    const struct noise_model *noise = &denoise->noise;
    const long side = settings->block, overlap = settings->overlap;
    struct blend one = make_blend(in), two = make_blend(in);
    add_blocks(&one, in, history, NULL, side, side / overlap, 0, noise);
    if (history != NULL)
        add_blocks(&one, in, history, NULL, 8, 4, 0, noise);
    struct picture first = blended(&one);
    if (settings->passes == 1) {
        free(two.sum.sample);
        free(two.weight.sample);
        return first;
    }
    const long hop = 16 / overlap;
    add_blocks(&two, in, history, &first, 16, hop, hop / 2, noise);
    if (history != NULL)
        for (long fine = 4; fine <= 8; fine += 4)
            add_blocks(&two, in, history, &first, fine, fine / 2, hop / 2 % (fine / 2), noise);
    free(first.sample);
    return blended(&two);
}

static struct picture model(const struct picture *in, const struct denoise *denoise)
{
    return passes(in, NULL, denoise);
}

/* ---- the denoiser alone ---- */

/* Runs the denoiser over `frames` frames of `count` pictures of the same size, which it replaces.
 * is_bytes: their samples are captured as 8 bits, which cut noise off at black and white.
 * ret_noise: NULL, or the numbers of the model that it has estimated for the last one. ret_field:
 * NULL, or for each frame where to store the motion of its first picture. */
static void run_frames(const struct denoise *denoise, unsigned lanes, struct picture *picture,
                       unsigned count, unsigned frames, bool is_bytes, float *ret_noise,
                       struct field *ret_field)
{
    const size_t pixels = (size_t)(picture->width * picture->height);
    struct transform_image image =
        floats_image((uint32_t)picture->width, (uint32_t)picture->height, count);
    if (is_bytes) {
        image.kind = SAMPLE_U8;
        image.step = 1;
        image.stride = image.width;
        image.apart = (uint32_t)pixels;
    }
    const struct recipe recipe = {.denoise = denoise->settings};
    const size_t floats = denoiser_plane_size(&image) * count;
    float *in = malloc(count * pixels * sizeof *in), *out = malloc(floats * sizeof *out);
    unsigned char *bytes_in = malloc(count * pixels);
    struct denoiser *denoiser = NULL;
    struct frame_ring *before = NULL;
    struct denoiser_frame *frame = NULL;
    struct error why = {""}, warning = {""};
    cl_mem wanted = NULL;
    cl_int code;
    const cl_mem captured = device_buffer(count * pixels * sizeof *in, NULL);
    const cl_command_queue queue = clCreateCommandQueue(device->context, device->id, 0, &code);
    assert_int_equal(code, CL_SUCCESS);
    if (denoiser_prepare(&denoiser, device, &image, &recipe, lanes, &why) < 0 ||
        denoiser_build(denoiser, true, NULL, &warning, &why) < 0 ||
        denoiser_noise(&wanted, denoiser, &denoise->noise, -1, &why) < 0 ||
        denoiser_frame_create(&frame, denoiser, &why) < 0 ||
        denoiser_past_for(&before, denoiser, 1, &why) < 0)
        fail_msg("%s", why.text);
    for (unsigned f = 0; f < frames; f++) {
        struct picture *const each = picture + (size_t)f * count;
        for (size_t i = 0; i < count * pixels; i++) {
            in[i] = (float)each[i / pixels].sample[i % pixels];
            bytes_in[i] = (unsigned char)rint(fmin(fmax((double)in[i], 0), 255));
        }
        assert_int_equal(clEnqueueWriteBuffer(queue, captured, CL_TRUE, 0,
                                              count * pixels * (is_bytes ? 1 : sizeof *in),
                                              is_bytes ? (void *)bytes_in : in, 0, NULL, NULL),
                         CL_SUCCESS);
        struct transform_buffers buffers = {.image = captured};
        if (denoiser_frame_enqueue(frame, queue, &buffers, wanted, before, NULL, NULL, &why) < 0)
            fail_msg("%s", why.text);
        assert_int_equal(clEnqueueReadBuffer(queue, buffers.denoised, CL_TRUE, 0,
                                             floats * sizeof *out, out, 0, NULL, NULL),
                         CL_SUCCESS);
        for (size_t i = 0; i < count * pixels; i++)
            each[i / pixels].sample[i % pixels] =
                out[i / pixels * denoiser_plane_size(&image) +
                    i % pixels / image.width * denoiser_pitch(&image) + i % pixels % image.width];
        if (ret_field == NULL)
            continue;
        struct field *field = &ret_field[f];
        *field = (struct field){picture->width / 16 + 1, picture->height / 16 + 1, NULL, {0}};
        const size_t bytes = (size_t)(field->columns * field->rows) * 4 * sizeof *field->vector;
        field->vector = malloc(bytes);
        assert_int_equal(clEnqueueReadBuffer(queue, denoiser_frame_vectors(frame), CL_TRUE, 0,
                                             bytes, field->vector, 0, NULL, NULL),
                         CL_SUCCESS);
        assert_int_equal(clEnqueueReadBuffer(queue, denoiser_frame_counts(frame), CL_TRUE, 0,
                                             sizeof field->count, field->count, 0, NULL, NULL),
                         CL_SUCCESS);
    }
    if (ret_noise != NULL)
        assert_int_equal(clEnqueueReadBuffer(queue, denoiser_frame_noise(frame), CL_TRUE, 0,
                                             2 * sizeof *ret_noise, ret_noise, 0, NULL, NULL),
                         CL_SUCCESS);
    clReleaseMemObject(captured);
    clReleaseMemObject(wanted);
    frame_ring_destroy(before);
    denoiser_frame_destroy(frame);
    denoiser_destroy(denoiser);
    clReleaseCommandQueue(queue);
    free(in);
    free(bytes_in);
    free(out);
}

static void run_estimating(const struct denoise *denoise, unsigned lanes, struct picture *picture,
                           unsigned count, float *ret_noise)
{
    run_frames(denoise, lanes, picture, count, 1, false, ret_noise, NULL);
}

static void run(const struct denoise *denoise, unsigned lanes, struct picture *picture,
                unsigned count)
{
    run_estimating(denoise, lanes, picture, count, NULL);
}

static double change(const struct picture *a, const struct picture *b)
{
    double sum = 0;
    for (long i = 0; i < a->width * a->height; i++)
        sum += (a->sample[i] - b->sample[i]) * (a->sample[i] - b->sample[i]);
    return sqrt(sum / (double)(a->width * a->height));
}

static void check(const struct denoise *denoise, unsigned lanes, long width, long height,
                  unsigned count)
{
    const double sigma = sqrt(denoise->noise.constant);
    struct picture picture[2], expected[2];
    for (unsigned i = 0; i < count; i++) {
        picture[i] = draw(width, height, sigma, denoise->noise.slope, 5 + i);
        expected[i] = model(&picture[i], denoise);
        if (sigma > 0) /* the test is worth nothing if the model does nothing */
            assert_true(change(&picture[i], &expected[i]) > sigma / 2);
    }
    run(denoise, lanes, picture, count);
    for (unsigned i = 0; i < count; i++) {
        const double error =
            reference_error(picture[i].sample, expected[i].sample, (uint64_t)(width * height));
        printf("# figures: %ldx%ld, blocks of %u, hop 1/%u, %u passes, %u lanes: error %.1e\n",
               width, height, denoise->settings.block, denoise->settings.overlap,
               denoise->settings.passes, lanes, error);
        assert_true(error < 3e-7);
        free(picture[i].sample);
        free(expected[i].sample);
    }
}

/* Sizes that no tile and no block divides. The last picture is hardly larger than a block. */
static void test_model(void **state)
{
    static const struct denoise two_passes = {{32, 2, 2, false, 0, false}, {225, 0, 1}};
    static const struct denoise shot_noise = {{16, 4, 1, false, 0, false}, {25, 0.5, 1}};
    static const struct denoise small = {{16, 2, 2, false, 0, false}, {625, 2, 1}};
    (void)state;
    if (device_takes(301, 139))
        check(&two_passes, 0, 301, 139, 2); /* several tiles, two images */
    check(&shot_noise, 0, 93, 61, 1);
    check(&small, 0, 17, 16, 1);
}

/* One lane is what GPUs have. 16 lanes hold a whole row of a small block, and fewer a part of it.
 */
static void test_lanes(void **state)
{
    static const unsigned lanes[] = {1, 16, 8, 4};
    static const struct denoise cases[] = {{{32, 2, 2, false, 0, false}, {225, 0, 1}},
                                           {{16, 4, 1, false, 0, false}, {100, 0, 1}}};
    (void)state;
    for (size_t i = 0; i < (device_takes_every_layout() ? 4 : 2); i++)
        for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++)
            if ((k == i || device_takes_every_layout()) &&
                (lanes[i] <= 4 || device_compiles_wide_lanes()))
                check(&cases[k], lanes[i], 93, 61, 1);
}

#define CLIP 6

/* A scene that moves by (dx, dy) a frame and turns, with other noise in each frame; from frame
 * `cut_at` on another scene. */
struct clip {
    double dx, dy, turn_rad;
    unsigned cut_at; /* CLIP: never */
    long black;      /* rows at the top that are exactly 0 */
    double fade;     /* the light of each frame, as a part of that of the one before; 0: it rests */
};

static void draw_clip(struct picture *ret, struct picture *ret_clean, const struct clip *clip,
                      long width, long height, const struct noise_model *noise)
{
    uint64_t seed = 77;
    struct leaves scene[2];
    float *clean = malloc((size_t)(width * height) * sizeof *clean);
    leaves_make(&scene[0], 400, 0.4, &seed);
    leaves_make(&scene[1], 400, 0.4, &seed);
    for (unsigned f = 0; f < CLIP; f++) {
        const struct leaves_view view = {-(double)f * clip->dx, -(double)f * clip->dy,
                                         f * clip->turn_rad, 0.7};
        ret[f] = make_picture(width, height);
        ret_clean[f] = make_picture(width, height);
        for (long i = 0; i < width * height; i++)
            clean[i] = 128;
        leaves_draw(&scene[f >= clip->cut_at], &view, (unsigned)width, (unsigned)height, clean);
        for (long i = 0; i < width * height && clip->fade > 0; i++)
            clean[i] *= (float)pow(clip->fade, f);
        for (long i = 0; i < width * height; i++) {
            const bool is_black = i < clip->black * width;
            ret_clean[f].sample[i] = is_black ? 0 : (double)clean[i];
            const double v = noise->constant + noise->slope * fmax((double)clean[i], 0);
            const double noisy = (double)clean[i] + sqrt(v) * scene_normal(&seed);
            ret[f].sample[i] = is_black ? 0 : (double)(float)noisy;
        }
    }
    leaves_clear(&scene[0]);
    leaves_clear(&scene[1]);
    free(clean);
}

static void free_clip(struct picture *picture)
{
    for (unsigned f = 0; f < CLIP; f++)
        free(picture[f].sample);
}

/* Each frame of a clip against the model, which is given the vectors that were found. */
static void check_past(const struct denoise *denoise, unsigned lanes, const struct clip *clip)
{
    const long width = 144, height = 112;
    struct picture frame[CLIP], captured[CLIP], clean[CLIP], unused[CLIP];
    struct field field[CLIP];
    struct history history = {0};
    draw_clip(frame, clean, clip, width, height, &denoise->noise);
    draw_clip(captured, unused, clip, width, height, &denoise->noise);
    run_frames(denoise, lanes, frame, 1, CLIP, false, NULL, field);
    for (unsigned f = 0; f < CLIP; f++) {
        const bool has_past = f > 0 && f != clip->cut_at;
        struct history next = join(&captured[f], has_past ? &history : NULL, &field[f], denoise);
        struct picture expected = passes(&next.joined, &next, denoise);
        const struct picture alone = model(&captured[f], denoise);
        const double error =
            reference_error(frame[f].sample, expected.sample, (uint64_t)(width * height));
        const double joined = change(&frame[f], &clean[f]), one = change(&alone, &clean[f]);
        printf("# figures: moved by %g, %g, cut at %u, %u lanes, frame %u: error %.1e; from the "
               "scene %.2f, one frame alone %.2f\n",
               clip->dx, clip->dy, clip->cut_at, lanes, f, error, joined, one);
        assert_true(error < 3e-6);
        if (!has_past)
            assert_true(joined < 1.001 * one);
        else {
            assert_true(joined < one);
            assert_int_equal(light_changes(&field[f]), clip->fade > 0);
        }
        clear_history(&history);
        history = next;
        free(field[f].vector);
        free(expected.sample);
        free(alone.sample);
    }
    clear_history(&history);
    free_clip(frame);
    free_clip(captured);
    free_clip(clean);
    free_clip(unused);
}

static void test_past(void **state)
{
    static const struct denoise two = {{32, 2, 2, false, 15, false}, {225, 0, 1}};
    static const struct denoise one = {{16, 4, 1, false, 3, false}, {200, 1, 1}};
    static const struct denoise quarter = {{16, 4, 2, false, 31, false}, {60, 0.4, 1}};
    static const struct denoise shot = {{32, 2, 2, false, 15, false}, {0, 1, 1}};
    static const struct clip still = {.cut_at = CLIP}, pan = {3, 0, .cut_at = 4},
                             slow = {0.4, -1.3, 0.01, .cut_at = CLIP},
                             fading = {0.4, -1.3, 0.01, .cut_at = CLIP, .fade = 0.95},
                             letterbox = {.cut_at = CLIP, .black = 44};
    (void)state;
    if (!device_takes(144, 112)) { /* what is interpreted takes minutes for the others */
        check_past(&one, 0, &slow);
        return;
    }
    check_past(&two, 0, &still);
    check_past(&two, 0, &pan);
    check_past(&quarter, 0, &slow);
    check_past(&quarter, 0, &fading);
    check_past(&shot, 0, &letterbox);
    check_past(&one, 1, &slow);
    if (device_takes_every_layout()) {
        check_past(&two, 1, &pan);
        check_past(&quarter, 1, &slow);
        check_past(&shot, 1, &letterbox);
        check_past(&two, 4, &slow);
        check_past(&one, 8, &pan);
    }
}

/* What GPUs with little local memory have suffices for large blocks, too. */
static void test_little_local_memory(void **state)
{
    static const struct denoise half = {{32, 2, 2, false, 3, false}, {225, 0, 1}};
    static const struct clip pan = {3, 0, .cut_at = 4};
    const cl_ulong local_bytes = device->local_bytes;
    const struct transform_image image = floats_image(144, 112, 1);
    (void)state;
    if (local_bytes > 32768)
        device->local_bytes = 32768;
    for (unsigned overlap = 2; overlap <= 4; overlap *= 2) {
        struct recipe recipe = {.denoise = half.settings};
        struct denoiser *denoiser;
        struct error why;
        recipe.denoise.overlap = overlap;
        if (denoiser_prepare(&denoiser, device, &image, &recipe, 1, &why) < 0)
            fail_msg("%s", why.text);
        denoiser_destroy(denoiser);
    }
    if (device_takes(144, 112))
        check_past(&half, 1, &pan);
    device->local_bytes = local_bytes;
}

#define REST_FRAMES 24

/* How the light of a scene changes: each frame has `fade` times that of the one before, and it
 * swings by a part, with a period of 16 frames. */
struct light {
    double fade, swing;
};

static double light_at(const struct light *light, unsigned frame)
{
    return pow(light->fade, frame) * (1 + light->swing * sin(PI * frame / 8));
}

/* Returns what the last frames of a scene that rests gain over one frame alone, dB. */
static double gain_of_a_still_scene(struct light light, double sigma)
{
    const long width = 144, height = 112, pixels = width * height;
    const struct denoise past = {{16, 2, 2, false, 31, false}, {sigma * sigma, 0, 1}};
    const struct denoise none = {{16, 2, 2, false, 0, false}, {sigma * sigma, 0, 1}};
    const struct leaves_view view = {0, 0, 0, 0.7};
    struct picture joined[REST_FRAMES], alone[REST_FRAMES], clean = make_picture(width, height);
    struct leaves scene;
    uint64_t seed = 78;
    double joined_power = 0, alone_power = 0;
    float *drawn = malloc((size_t)pixels * sizeof *drawn);
    for (long i = 0; i < pixels; i++)
        drawn[i] = 128;
    leaves_make(&scene, 400, 0.4, &seed);
    leaves_draw(&scene, &view, (unsigned)width, (unsigned)height, drawn);
    for (unsigned f = 0; f < REST_FRAMES; f++) {
        joined[f] = make_picture(width, height);
        alone[f] = make_picture(width, height);
        for (long i = 0; i < pixels; i++)
            joined[f].sample[i] = alone[f].sample[i] =
                (double)drawn[i] * light_at(&light, f) + sigma * scene_normal(&seed);
    }
    run_frames(&past, 0, joined, 1, REST_FRAMES, false, NULL, NULL);
    run_frames(&none, 0, alone, 1, REST_FRAMES, false, NULL, NULL);
    for (unsigned f = 0; f < REST_FRAMES; f++) {
        for (long i = 0; i < pixels; i++)
            clean.sample[i] = (double)drawn[i] * light_at(&light, f);
        joined_power += f < REST_FRAMES / 2 ? 0 : pow(change(&joined[f], &clean), 2);
        alone_power += f < REST_FRAMES / 2 ? 0 : pow(change(&alone[f], &clean), 2);
        free(joined[f].sample);
        free(alone[f].sample);
    }
    leaves_clear(&scene);
    free(clean.sample);
    free(drawn);
    return 10 * log10(alone_power / joined_power);
}

/* The wider limits of a still scene gain more than 1 dB. They do not apply while the light changes.
 */
static void test_still_scenes(void **state)
{
    (void)state;
    if (!device_takes(144, 112))
        skip();
    const double still = gain_of_a_still_scene((struct light){1, 0}, 20);
    const double fading = gain_of_a_still_scene((struct light){0.97, 0}, 20);
    printf("# figures: gain of a still scene %.2f dB, fading %.2f dB\n", still, fading);
    assert_true(still > 7.75);
    assert_true(fading > 5);
}

/* Light that changes scales texture, too, and may change in both directions. */
static void test_changing_light(void **state)
{
    (void)state;
    if (!device_takes(144, 112))
        skip();
    const double fast = gain_of_a_still_scene((struct light){0.96, 0}, 10);
    const double swinging = gain_of_a_still_scene((struct light){1, 0.1}, 10);
    printf("# figures: gain in light that fades fast %.2f dB, that swings %.2f dB\n", fast,
           swinging);
    assert_true(fast > 5);
    assert_true(swinging > 5);
}

#define FLAT 64

static struct picture draw_flat(double level, double sigma, uint64_t *seed)
{
    struct picture ret = make_picture(FLAT, FLAT);
    for (long i = 0; i < FLAT * FLAT; i++)
        ret.sample[i] = level + sigma * scene_normal(seed);
    return ret;
}

static double mean_of(const struct picture *picture)
{
    double sum = 0;
    for (long i = 0; i < picture->width * picture->height; i++)
        sum += picture->sample[i];
    return sum / (double)(picture->width * picture->height);
}

/* Returns by how much the last frames of a surface that becomes brighter are too dark. */
static double lag_of(double rise, double sigma)
{
    enum { FRAMES = 40 };
    const struct denoise denoise = {{16, 2, 2, false, 31, false}, {225, 0, 1}};
    struct picture frame[FRAMES];
    uint64_t seed = 91;
    double late = 0;
    for (unsigned f = 0; f < FRAMES; f++)
        frame[f] = draw_flat(80 + rise * f, sigma, &seed);
    run_frames(&denoise, 0, frame, 1, FRAMES, false, NULL, NULL);
    for (unsigned f = FRAMES / 2; f < FRAMES; f++)
        late += (80 + rise * f - mean_of(&frame[f])) / (FRAMES / 2.0);
    printf("# figures: rises by %.2f a frame: %.2f too dark\n", rise, late);
    for (unsigned f = 0; f < FRAMES; f++)
        free(frame[f].sample);
    return late;
}

/* A surface that becomes brighter too slowly to be seen in the noise from one frame to the next,
 * and one in light that changes fast, and goes on changing. */
static void test_drift(void **state)
{
    const double sigma = 15, slow = 0.03 * sigma, fast = 0.25 * sigma;
    (void)state;
    assert_true(fabs(lag_of(slow, sigma)) < 2 * slow);
    assert_true(fabs(lag_of(fast, sigma)) < 0.2 * fast);
}

/* Black and white that captured noise turns into grey become black and white again, with one frame
 * and several, and half grey stays. `strength` does not change what the noise was. */
static void test_clipped(void **state)
{
    static const double levels[] = {0, 6, 20, 128, 245, 255};
    static const struct denoise cases[] = {{{16, 2, 2, false, 0, true}, {400, 0, 1}},
                                           {{32, 2, 1, false, 0, true}, {1600, 0, 4}},
                                           {{32, 2, 2, false, 7, true}, {400, 0, 1}},
                                           {{16, 2, 2, false, 7, true}, {5625, 0, 1}}};
    uint64_t seed = 92;
    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        const double sigma = sqrt(cases[k].noise.constant / cases[k].noise.factor);
        for (size_t i = 0; i < sizeof levels / sizeof levels[0]; i++) {
            struct picture frame[4];
            for (unsigned f = 0; f < 4; f++)
                frame[f] = draw_flat(levels[i], sigma, &seed);
            run_frames(&cases[k], 0, frame, 1, 4, true, NULL, NULL);
            const double found = mean_of(&frame[3]);
            printf("# figures: case %zu: %g becomes %.2f\n", k, levels[i], found);
            assert_true(fabs(found - levels[i]) < 0.075 * sigma);
            for (unsigned f = 0; f < 4; f++)
                free(frame[f].sample);
        }
    }
}

/* Without noise nothing is taken away. */
static void test_no_noise(void **state)
{
    const struct denoise denoise = {{16, 4, 1, false, 0, false}, {0, 0, 1}};
    struct picture in = draw(93, 61, 4, 0, 9), out = draw(93, 61, 4, 0, 9);
    (void)state;
    run(&denoise, 0, &out, 1);
    assert_true(reference_error(out.sample, in.sample, 93 * 61) < 3e-7);
    free(in.sample);
    free(out.sample);
}

/* The pictures of these tests are 480 x 320. */
static void skip_if_too_large(void)
{
    if (device_takes(480, 320))
        return;
    printf("skipped: pictures of 480x320\n");
    skip();
}

/* Surfaces of six levels with noise of that variance above a scene. */
static struct picture draw_surfaces(double sigma, double shot, uint64_t seed)
{
    struct picture ret = draw(480, 320, sigma, shot, seed);
    for (long i = 0; i < 480 * 200; i++) {
        const double level = 40 + 35 * floor((double)(i % 480) / 80);
        ret.sample[i] = (float)(level + sqrt(sigma * sigma + shot * level) * scene_normal(&seed));
    }
    return ret;
}

/* The estimate on pictures of known noise; what it does then is what the same numbers do if they
 * are given. The factor multiplies the estimate. */
static void test_estimate(void **state)
{
    static const struct {
        double sigma, shot;
    } noises[] = {{3, 0}, {10, 0}, {30, 0}, {4, 1}};
    (void)state;
    skip_if_too_large();
    for (size_t i = 0; i < sizeof noises / sizeof noises[0]; i++) {
        const double sigma = noises[i].sigma, shot = noises[i].shot;
        struct denoise estimated = {{16, 2, 1, true, 0, false}, {0, 0, 1}};
        struct picture picture = draw_surfaces(sigma, shot, 20 + i);
        const struct picture captured = draw_surfaces(sigma, shot, 20 + i);
        float noise[2];
        run_estimating(&estimated, 0, &picture, 1, noise);
        printf("# figures: variance %g + %g m: estimated %.2f + %.3f m\n", sigma * sigma, shot,
               noise[0], noise[1]);
        for (int level = 64; level <= 192; level += 64) {
            const double ratio = (noise[0] + noise[1] * level) / (sigma * sigma + shot * level);
            assert_true(ratio > 0.81 && ratio < 1.21); /* 10 % of its square root */
        }
        const struct denoise given = {{16, 2, 1, false, 0, false}, {noise[0], noise[1], 1}};
        const struct picture expected = model(&captured, &given);
        assert_true(reference_error(picture.sample, expected.sample, 480 * 320) < 3e-7);
        free(picture.sample);
        free(captured.sample);
        free(expected.sample);
    }
}

/* In the dark noise is cut off at black, and what is left of it counts. Where more than a quarter
 * of a picture is black, it says nothing. */
static void test_estimate_in_the_dark(void **state)
{
    const struct denoise denoise = {{16, 2, 1, true, 0, false}, {0, 0, 1}};
    static const struct {
        double level, least, most;
    } dark[] = {{16, 0.75, 1}, {2, 0, 0}};
    (void)state;
    skip_if_too_large();
    for (size_t i = 0; i < sizeof dark / sizeof dark[0]; i++) {
        struct picture picture = make_picture(480, 320);
        uint64_t seed = 6;
        float noise[2];
        for (long k = 0; k < 480 * 320; k++)
            picture.sample[k] = fmax(rint(dark[i].level + 15 * scene_normal(&seed)), 0);
        run_estimating(&denoise, 0, &picture, 1, noise);
        const double found = sqrt((double)noise[0] + (double)noise[1] * dark[i].level) / 15;
        printf("# figures: level %g: estimated %.2f of sigma\n", dark[i].level, found);
        assert_true(found >= dark[i].least && found <= dark[i].most);
        free(picture.sample);
    }
}

/* A factor of 4 doubles the noise that is expected, and frames without noise stay as they are. */
static void test_factor_of_estimate(void **state)
{
    struct denoise denoise = {{16, 2, 1, true, 0, false}, {0, 0, 1}};
    float once[2], four_times[2], none[2];
    (void)state;
    skip_if_too_large();
    struct picture picture = draw_surfaces(10, 0, 3), even = make_picture(480, 320);
    run_estimating(&denoise, 0, &picture, 1, once);
    free(picture.sample);
    picture = draw_surfaces(10, 0, 3);
    denoise.noise.factor = 4;
    run_estimating(&denoise, 0, &picture, 1, four_times);
    assert_true(fabs((double)four_times[0] / (double)once[0] - 4) < 1e-5);
    for (long i = 0; i < 480 * 320; i++)
        even.sample[i] = floor(17 + (double)(i % 480) / 8); /* steps and flat blocks */
    run_estimating(&denoise, 0, &even, 1, none);
    assert_true(none[0] == 0 && none[1] == 0);
    assert_true(fabs(even.sample[5 * 480 + 83] - 27) < 1e-4);
    free(picture.sample);
    free(even.sample);
}

/* ---- whole frames ---- */

struct scene_case {
    const char *format;
    enum engine_technique technique;
    enum recipe_planes planes;
    bool calibrated; /* by vignette:a=0.5,b=0 */
    const char *chain;
};

static struct engine *make_engine(const struct fftd_format *format,
                                  const struct engine_options *options)
{
    struct engine *engine;
    struct error why;
    if (engine_create(&engine, device, format, options, 0, NULL, NULL, &why) < 0)
        fail_msg("%s", why.text);
    return engine;
}

/* Applies a chain and filters a frame with it. */
static void filter_frame(struct engine *engine, const struct filter_chain *chain,
                         const struct fftd_format *format, const uint8_t *in, uint8_t *out)
{
    struct engine_job job = {0};
    struct engine_response *response;
    struct engine_done done;
    struct error why;
    job.out = out;
    for (unsigned i = 0; i < format->plane_count; i++) {
        job.in[i] = in + format->plane[i].offset;
        job.in_stride[i] = format->plane[i].stride;
    }
    if (engine_design(engine, chain, &response, &why) < 0)
        fail_msg("%s", why.text);
    engine_apply(engine, response, 1);
    if (engine_submit(engine, &job, &why) < 0 || engine_collect(engine, true, &done, &why) < 0)
        fail_msg("%s", why.text);
}

/* The model of a plane of samples 0 .. top: calibration, noise, and then the chain's response. */
static void filter_model(struct picture *picture, const struct scene_case *scene,
                         const struct engine *engine, unsigned plan_index, double top)
{
    const struct filter_chain chain = chain_of(scene->chain);
    const struct plan *plan = engine_plan(engine, plan_index);
    struct denoise denoise = filter_chain_denoise(&chain);
    const long width = picture->width, height = picture->height;
    denoise.noise.constant *= pow(top / 255, 2);
    denoise.noise.slope *= top / 255;
    for (long i = 0; i < width * height && scene->calibrated; i++) {
        const double x = 2 * (double)(i % width) - (double)width + 1;
        const long row = i / width;
        const double y = 2 * (double)row - (double)height + 1;
        picture->sample[i] *= 1 + 0.5 * (x * x + y * y) / (double)(width * width + height * height);
    }
    const struct picture clean = model(picture, &denoise);
    const struct reference reference = {.width = (uint32_t)width,
                                        .height = (uint32_t)height,
                                        .padded_x = plan->x.length,
                                        .padded_y = plan->y.length,
                                        .border = PLAN_MIRROR,
                                        .sub_x = 1,
                                        .sub_y = 1,
                                        .chain = &chain};
    reference_filter(&reference, clean.sample, picture->sample);
    free(clean.sample);
}

static double load(const uint8_t *at, const struct format_info *info)
{
    if (info->kind == SAMPLE_RGB8)
        return 0.299 * at[info->rgb[0]] + 0.587 * at[info->rgb[1]] + 0.114 * at[info->rgb[2]];
    return info->bits > 8 ? at[0] | at[1] << 8 : at[info->offset];
}

static void check_scene(const struct scene_case *scene)
{
    const long width = 70, height = 46;
    const struct format_info *info = format_by_name(scene->format);
    const double top = (1 << info->bits) - 1;
    const struct filter_chain chain = chain_of(scene->chain);
    struct fftd_format format;
    struct error why;
    assert_int_equal(
        format_layout(&format, info->fourcc, (uint32_t)width, (uint32_t)height, 4, &why), 0);
    const struct engine_options options = {.recipe.planes = scene->planes,
                                           .technique = scene->technique,
                                           .margin = 16,
                                           .in_flight = 1,
                                           .recipe.calibrated = scene->calibrated,
                                           .recipe.denoise = filter_chain_denoise(&chain).settings};
    struct engine *engine = make_engine(&format, &options);
    uint8_t *in = calloc(2, format.frame_bytes), *out = in + format.frame_bytes;
    struct picture drawn = draw(width, height, 12, 0, 3), expected = make_picture(width, height);
    const uint8_t *const plane = in + format.plane[0].offset;
    uint64_t seed = 8;
    double worst = 0;
    for (size_t i = 0; i < format.frame_bytes; i++)
        in[i] = (uint8_t)(90 + 40 * reference_noise(&seed));
    for (long i = 0; i < width * height; i++) {
        uint8_t *at = in + format.plane[0].offset + i / width * format.plane[0].stride +
                      i % width * info->step;
        const double value = 20 + drawn.sample[i] * 0.5;
        const unsigned code = (unsigned)(value / 255 * top);
        if (info->bits > 8) {
            at[0] = (uint8_t)code;
            at[1] = (uint8_t)(code >> 8);
        } else if (info->kind == SAMPLE_RGB8)
            for (unsigned c = 0; c < 3; c++)
                at[c] = (uint8_t)(code + 10 * c);
        else
            at[info->offset] = (uint8_t)code;
        expected.sample[i] = load(at, info);
    }
    filter_frame(engine, &chain, &format, in, out);
    filter_model(&expected, scene, engine, 0, top);
    for (long i = 0; i < width * height; i++) {
        const size_t at = (size_t)(i / width * format.plane[0].stride + i % width * info->step);
        const double captured = load(plane + at, info);
        const double got = load(out + format.plane[0].offset + at, info);
        worst = fmax(worst, fabs(got - fmin(fmax(expected.sample[i], 0), top)));
        if (info->kind != SAMPLE_RGB8)
            continue;
        const double change = expected.sample[i] - captured; /* the same in all colours */
        for (unsigned c = 0; c < 3; c++)
            assert_true(fabs(out[format.plane[0].offset + at + c] - plane[at + c] - change) < 0.51);
    }
    printf("# figures: %s %s: at most %.3f from the model\n", scene->format,
           scene->technique == ENGINE_STAGED ? "staged" : "fused", worst);
    assert_true(worst < 0.51);
    assert_non_null(strstr(engine_description(engine), ", denoised"));
    free(in);
    free(drawn.sample);
    free(expected.sample);
    engine_destroy(engine);
}

#define BLUR " | gaussian-blur:sigma=0.7"

static void test_frames(void **state)
{
    static const struct scene_case scenes[] = {
        {"GREY", .chain = "vignette:a=0.5,b=0 | denoise:sigma=6,block=16" BLUR, .calibrated = true},
        {"RGB24", .chain = "denoise:sigma=6,block=16,passes=1" BLUR},
        {"Y12", ENGINE_STAGED, .chain = "denoise:sigma=6,shot=0.1,block=16,passes=1" BLUR},
        {"YUYV", ENGINE_STAGED, RECIPE_ALL, .chain = "denoise:sigma=6,block=16,passes=1" BLUR},
    };
    (void)state;
    for (size_t i = 0; i < (device_takes_every_layout() ? sizeof scenes / sizeof scenes[0] : 3);
         i++)
        check_scene(&scenes[i]);
}

/* An engine reduces noise in one way; the noise's strength belongs to a filter. */
static void test_design(void **state)
{
    const struct filter_chain chain = chain_of("denoise:sigma=6,block=16,passes=1");
    const struct filter_chain stronger = chain_of("denoise:sigma=60,block=16,passes=1");
    const struct filter_chain other = chain_of("denoise:sigma=6,block=32,passes=1");
    const struct filter_chain plain = chain_of("gaussian-blur:sigma=1");
    const struct engine_options options = {
        .margin = 8, .in_flight = 1, .recipe.denoise = filter_chain_denoise(&chain).settings};
    struct engine_response *response;
    struct fftd_format format;
    struct error why;
    (void)state;
    assert_int_equal(format_layout(&format, format_by_name("GREY")->fourcc, 64, 48, 4, &why), 0);
    struct engine *engine = make_engine(&format, &options);
    assert_int_equal(engine_design(engine, &other, &response, &why), -EINVAL);
    assert_int_equal(engine_design(engine, &plain, &response, &why), -EINVAL);
    assert_non_null(strstr(why.text, "expected an engine with the same settings"));
    uint8_t *in = calloc(3, format.frame_bytes);
    uint8_t *weak = in + format.frame_bytes, *strong = weak + format.frame_bytes;
    uint64_t seed = 4;
    double changed[2] = {0};
    for (size_t i = 0; i < format.frame_bytes; i++)
        in[i] = (uint8_t)(100 + 40 * reference_noise(&seed));
    filter_frame(engine, &chain, &format, in, weak);
    filter_frame(engine, &stronger, &format, in, strong);
    for (size_t i = 0; i < format.frame_bytes; i++) {
        changed[0] += abs(in[i] - weak[i]);
        changed[1] += abs(in[i] - strong[i]);
    }
    assert_true(changed[0] > 0 && changed[1] > 1.2 * changed[0]);
    free(in);
    engine_destroy(engine);
}

#define SEQUENCE 8

/* Filters frames, whose results follow them. They are submitted as long as the engine takes any, so
 * that they overlap; some are the first of a start of the source, and before some the filter is
 * applied again, whose table corrects samples. */
static void submit_sequence(struct engine *engine, const struct filter_chain *chain,
                            const struct fftd_format *format, uint8_t *frames, const bool *is_first)
{
    struct engine_response *response;
    struct engine_done done;
    struct error why;
    for (unsigned i = 0; i < SEQUENCE; i++) {
        uint8_t *const in = frames + i * format->frame_bytes;
        struct engine_job job = {.out = in + SEQUENCE * format->frame_bytes,
                                 .is_first = i > 0 && is_first[i] && i % 2 == 1};
        job.in[0] = in;
        job.in_stride[0] = format->plane[0].stride;
        if (is_first[i] && !job.is_first) {
            assert_int_equal(engine_design(engine, chain, &response, &why), 0);
            engine_apply(engine, response, 1);
        }
        int r = engine_submit(engine, &job, &why);
        if (r == -EBUSY) {
            assert_int_equal(engine_collect(engine, true, &done, &why), 0);
            r = engine_submit(engine, &job, &why);
        }
        if (r < 0)
            fail_msg("%s", why.text);
    }
    while (engine_in_flight(engine) > 0)
        assert_int_equal(engine_collect(engine, true, &done, &why), 0);
}

/* Frames in flight are joined to those before them, however the device orders their work, but not
 * to those of another start of the source or of another table. */
static void test_past_of_frames(void **state)
{
    static const bool is_first[SEQUENCE] = {true, [5] = true, [6] = true};
    const long width = 70, height = 46;
    const struct filter_chain chain =
        chain_of("vignette:a=0.5,b=0 | denoise:sigma=12,block=16,passes=1,temporal=15");
    const struct denoise denoise = filter_chain_denoise(&chain);
    const struct engine_options options = {.margin = 16,
                                           .in_flight = 3,
                                           .recipe.calibrated = true,
                                           .recipe.denoise = denoise.settings};
    struct fftd_format format;
    struct error why;
    (void)state;
    assert_int_equal(format_layout(&format, format_by_name("GREY")->fourcc, (uint32_t)width,
                                   (uint32_t)height, 4, &why),
                     0);
    struct engine *engine = make_engine(&format, &options);
    uint8_t *in = calloc((size_t)2 * SEQUENCE, format.frame_bytes);
    const uint8_t *const out = in + SEQUENCE * format.frame_bytes;
    struct picture captured[SEQUENCE];
    uint64_t seed = 12;
    for (unsigned i = 0; i < SEQUENCE; i++) {
        captured[i] = make_picture(width, height);
        for (long k = 0; k < width * height; k++) {
            const long x = k % width, y = k / width;
            uint8_t *at = in + i * format.frame_bytes + y * format.plane[0].stride + x;
            *at = (uint8_t)(60 + x + y / 2. + (x > 30 ? 20 : 0) + 12 * scene_normal(&seed));
            const double u = 2 * (double)x - width + 1, v = 2 * (double)y - height + 1;
            captured[i].sample[k] =
                *at * (1 + 0.5 * (u * u + v * v) / (double)(width * width + height * height));
        }
    }
    submit_sequence(engine, &chain, &format, in, is_first);
    unsigned start = 0;
    for (unsigned i = 1; i <= SEQUENCE; i++) {
        if (i < SEQUENCE && !is_first[i])
            continue;
        run_frames(&denoise, 0, &captured[start], 1, i - start, false, NULL, NULL);
        start = i;
    }
    for (unsigned i = 0; i < SEQUENCE; i++) {
        const uint8_t *const result = out + i * format.frame_bytes;
        double worst = 0;
        for (long k = 0; k < width * height; k++) {
            const long row = k / width;
            const double got = result[row * format.plane[0].stride + k % width];
            worst = fmax(worst, fabs(got - fmin(fmax(captured[i].sample[k], 0), 255)));
        }
        printf("# figures: frame %u: at most %.3f from the denoiser alone\n", i, worst);
        assert_true(worst < 0.51);
    }
    for (unsigned i = 0; i < SEQUENCE; i++)
        free(captured[i].sample);
    free(in);
    engine_destroy(engine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_model),
        cmocka_unit_test(test_lanes),
        cmocka_unit_test(test_past),
        cmocka_unit_test(test_little_local_memory),
        cmocka_unit_test(test_still_scenes),
        cmocka_unit_test(test_changing_light),
        cmocka_unit_test(test_drift),
        cmocka_unit_test(test_clipped),
        cmocka_unit_test(test_no_noise),
        cmocka_unit_test(test_estimate),
        cmocka_unit_test(test_factor_of_estimate),
        cmocka_unit_test(test_estimate_in_the_dark),
        cmocka_unit_test(test_frames),
        cmocka_unit_test(test_design),
        cmocka_unit_test(test_past_of_frames),
    };
    return cmocka_run_group_tests(tests, device_setup, device_teardown);
}
