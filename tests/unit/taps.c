/* Tests of the taps of short filters: their values, radius and products, what is not short, and
 * which reaches unite. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "support/chains.h"
#include "support/cmocka.h"

#include "filters/taps.h"

static const struct taps_samples bytes = {.sub_x = 1, .sub_y = 1, .bits = 8};

static struct taps *find(const char *text, const struct taps_samples *samples)
{
    const struct filter_chain chain = chain_of(text);
    struct taps *taps = malloc(sizeof *taps);
    struct error why;
    if (taps_find(taps, &chain, samples, &why) < 0)
        fail_msg("%s: %s", text, why.text);
    return taps;
}

static struct taps_reach reach(const char *text, const struct taps_samples *samples)
{
    const struct filter_chain chain = chain_of(text);
    return taps_reach_of(&chain, samples);
}

static double at(const struct taps *taps, int x, int y)
{
    const int radius = (int)taps->radius;
    return taps->tap[(y + radius) * (2 * radius + 1) + x + radius];
}

static void test_kernels_are_their_taps(void **state)
{
    static const double kernel[3][3] = {{1, 2, 3}, {-4, 5, 1}, {0, 0.5, 2}};
    struct taps *taps = find("convolve:kernel=1 2 3/-4 5 1/0 0.5 2", &bytes);
    (void)state;
    assert_int_equal(taps->radius, 1);
    assert_int_equal(taps->products, 2); /* and the middle */
    for (int y = -1; y <= 1; y++)
        for (int x = -1; x <= 1; x++)
            assert_true(fabs(at(taps, x, y) - kernel[y + 1][x + 1]) < 1e-12);
    free(taps);
    taps = find("shift:by=3/-2", &bytes);
    assert_int_equal(taps->radius, 3);
    assert_true(fabs(at(taps, 3, -2) - 1) < 1e-12);
    free(taps);
}

/* The taps of a Gaussian are its samples, with the sum 1. */
static void check_gaussian(double sigma)
{
    char text[64];
    double all = 0;
    for (int x = -40; x <= 40; x++)
        all += exp(-x * x / (2 * sigma * sigma));
    snprintf(text, sizeof text, "gaussian-blur:sigma=%g", sigma);
    for (int bits = 8; bits <= 16; bits += 4) {
        const struct taps_samples samples = {.sub_x = 1, .sub_y = 1, .bits = (unsigned)bits};
        const double step = 1 / (double)((1u << bits) - 1);
        struct taps *taps = find(text, &samples);
        double sum = 0;
        assert_int_equal(taps->products, 1);
        /* Beyond four times sigma are 0.00006 of it. */
        assert_true(taps->radius <= 5 * sigma);
        for (int y = -(int)taps->radius; y <= (int)taps->radius; y++)
            for (int x = -(int)taps->radius; x <= (int)taps->radius; x++) {
                const double expected = exp(-(x * x + y * y) / (2 * sigma * sigma)) / (all * all);
                assert_true(fabs(at(taps, x, y) - expected) < step);
                sum += at(taps, x, y);
            }
        assert_true(fabs(sum - 1) < 1e-12);
        free(taps);
    }
}

static void test_a_gaussian(void **state)
{
    static const double sigmas[] = {0.3, 0.5, 0.7, 1, 1.5, 2, 2.9};
    (void)state;
    for (size_t i = 0; i < sizeof sigmas / sizeof sigmas[0]; i++)
        check_gaussian(sigmas[i]);
}

static void test_products_make_the_taps(void **state)
{
    static const struct {
        const char *chain;
        unsigned products;
        double middle; /* and the sample itself, times this */
    } cases[] = {{"none", 1, 0},
                 {"gaussian-blur:sigma=3", 1, 0},
                 {"box-blur:radius=2.5", 1, 0},
                 {"convolve:kernel=1 0 -1/2 0 -2/1 0 -1", 1, 0},
                 {"laplacian", 2, 0},
                 {"sharpen:amount=1.5,sigma=2", 1, 2.5},
                 {"sharpen:amount=0.3,sigma=1.2", 1, 1.3},
                 {"sharpen:amount=2,sigma=1.5 | gain:dc=0.4,ac=0.4", 1, 1.2},
                 {"sharpen:sigma=1 | sharpen:sigma=1", 2, 4},
                 {"sharpen:sigma=1 | sharpen:sigma=1 | sharpen:sigma=1", 3, 8},
                 {"convolve:kernel=1 2 3/2 9 6/3 6 9", 1, 5},
                 {"convolve:kernel=1 0 2/0 3 0/3 0 6", 1, 3},
                 {"sharpen:sigma=1.5 | gaussian-blur:sigma=1.5", 2, 0},
                 {"convolve:kernel=1 0 0 0/0 2 0 0/0 0 3 0/0 0 0 4", 3, 3},
                 {"convolve:kernel=1 0 0 0 0/0 2 0 0 0/0 0 3 0 0/0 0 0 4 0/0 0 0 0 5", 0, 0}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct taps *taps = find(cases[i].chain, &bytes);
        const int radius = (int)taps->radius;
        if (taps->products != cases[i].products ||
            fabs(taps->middle - cases[i].middle) > 3e-3 * fmax(1, cases[i].middle))
            fail_msg("%s: %u products and %g", cases[i].chain, taps->products, taps->middle);
        for (int y = 0; taps->products > 0 && y <= 2 * radius; y++)
            for (int x = 0; x <= 2 * radius; x++) {
                double sum = x == radius && y == radius ? taps->middle : 0;
                for (unsigned k = 0; k < taps->products; k++)
                    sum += taps->down[k][y] * taps->across[k][x];
                assert_true(fabs(sum - at(taps, x - radius, y - radius)) < 1e-4);
            }
        free(taps);
    }
}

/* What a chain needs; radius -1: a transform. */
static void test_reaches(void **state)
{
    static const struct {
        const char *chain;
        unsigned sub, bits;
        int radius;
        unsigned products;
    } cases[] = {
        {"none", 1, 8, 0, 0},
        {"none", 2, 16, 0, 0},
        {"deflicker", 1, 8, 0, 0},
        {"homomorphic", 1, 8, 0, 0},
        {"gain:dc=0.5,ac=0.5", 1, 8, 0, 0},
        {"gain:dc=0.5", 1, 8, -1, 0}, /* the mean of the frame */
        {"laplacian", 1, 8, 1, 0},
        {"laplacian:dc=1", 1, 8, -1, 0},
        {"laplacian", 2, 8, -1, 0}, /* it is cut at half the sampling rate of chroma */
        {"convolve:kernel=1 2 1/2 4 2/1 2 1,normalise=sum", 1, 16, 1, 0},
        {"box-blur:radius=4", 1, 8, 4, 1}, /* equal taps have a radius of their own */
        {"box-blur:radius=4.5", 1, 8, 7, 1},
        {"gaussian-blur:sigma=1", 1, 8, 7, 1},
        {"gaussian-blur:sigma=1", 1, 16, 7, 1},
        {"gaussian-blur:sigma=1.2", 1, 8, 7, 1},
        {"gaussian-blur:sigma=2", 1, 8, 7, 1},
        {"gaussian-blur:sigma=2", 1, 12, 10, 1},
        {"gaussian-blur:sigma=3", 2, 8, 7, 1},
        {"gaussian-blur:sigma=3", 1, 8, 10, 1},
        {"gaussian-blur:sigma=3.5", 1, 8, -1, 0},
        {"gaussian-blur:sigma=2 | homomorphic", 1, 8, 10, 1},
        {"gaussian-blur:sigma=0.5", 1, 8, 1, 0},
        {"gaussian-blur:sigma=0.5", 1, 16, 7, 1},
        {"gaussian-blur:sigma=0.5", 2, 8, -1, 0}, /* it has not decayed at half that of chroma */
        {"sharpen", 1, 8, 7, 1},
        {"sharpen:amount=2,sigma=2", 1, 8, 7, 1},
        {"sharpen:sigma=1 | sharpen:sigma=1", 1, 8, 7, 2},
        {"notch:at=0.25/0.1,width=0.02", 1, 8, -1, 0},
        {"notch:at=0.2003/0.1,width=0.0005", 1, 8, -1, 0}, /* between the samples of the grid */
        {"lowpass:shape=ideal,cutoff=0.3", 1, 8, -1, 0},
        {"shift:by=0.5/0", 1, 8, -1, 0},
        {"shift:by=-9/0", 1, 8, 10, 1},
        {"shift:by=-11/0", 1, 8, 15, 1},
        {"shift:by=-16/0", 1, 8, -1, 0},
        {"box-blur:radius=15", 1, 8, 15, 1},
        {"box-blur:radius=16", 1, 8, -1, 0},
        {"sharpen:amount=1,sigma=4", 1, 8, 15, 1},
        {"sharpen:sigma=2 | sharpen:sigma=3", 1, 8, -1, 0}, /* more than one product */
        {"convolve:kernel=1 0 0 0/0 2 0 0/0 0 3 0/0 0 0 4", 1, 8, 2, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct taps_samples samples = {
            .sub_x = cases[i].sub, .sub_y = cases[i].sub, .bits = cases[i].bits};
        const struct taps_reach found = reach(cases[i].chain, &samples);
        const int radius = found.is_short ? (int)found.radius : -1;
        if (radius != cases[i].radius || found.products != cases[i].products)
            fail_msg("%s: radius %d, %u products: expected %d, %u", cases[i].chain, radius,
                     found.products, cases[i].radius, cases[i].products);
    }
}

/* What is left out of a Gaussian, whose taps are all positive, is less than half a step of the
 * largest sample, and no tap more than needed is left in. */
static void test_what_is_left_out_is_negligible(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 24; i++) {
        const double sigma = 1.5 * pow(1.03, i);
        char text[64];
        snprintf(text, sizeof text, "gaussian-blur:sigma=%.17g", sigma);
        struct taps *taps = find(text, &bytes);
        /* The share of a Gaussian beyond half a pixel outside, along both axes; the sum of its
         * samples there differs by up to a fifth. */
        assert_true(255 * 2 * erfc((taps->radius + 0.5) / (sigma * M_SQRT2)) < 0.6);
        /* Where integers of 16 bits have errors of their own, less may be left out. */
        const double least = taps->line == TAPS_SMALL ? 0.2 : 0.4;
        assert_true(255 * 2 * erfc((taps->radius - 0.5) / (sigma * M_SQRT2)) > least);
        free(taps);
    }
}

/* Longer filters may be transformed in tiles if their band is wide: blurs have a narrow one. A
 * Gaussian has to have decayed to half of what taps leave out, 0.25 of 255 in both axes. */
static void test_reach_of_tiles(void **state)
{
    static const struct {
        const char *chain;
        unsigned sub, bits;
        uint32_t radius; /* 0: the whole image is transformed */
    } cases[] = {
        {"sharpen:sigma=3", 1, 8, 12},
        {"sharpen:sigma=3", 2, 8, 12},
        {"sharpen:sigma=4.5", 1, 8, 16},
        {"sharpen:sigma=5", 1, 8, 24},
        {"sharpen:sigma=5", 1, 16, 24},
        {"sharpen:sigma=5 | homomorphic", 1, 8, 24},
        {"sharpen:sigma=8", 1, 8, 30},
        {"sharpen:sigma=11", 1, 8, 0},
        {"box-blur:radius=14", 1, 8, 16},
        {"box-blur:radius=16", 1, 8, 16},
        {"box-blur:radius=29", 1, 8, 30},
        {"box-blur:radius=31", 1, 8, 0},
        {"shift:by=12/-12", 1, 8, 12},
        {"shift:by=12/-13", 1, 8, 16},
        {"gaussian-blur:sigma=5", 1, 8, 0},
        {"gaussian-blur:sigma=3 | shift:by=9/9", 1, 8, 0}, /* the band is narrow */
        {"gaussian-blur:sigma=20", 1, 8, 0},
        {"notch:at=0.25/0.1,width=0.02", 1, 8, 0},
        {"lowpass:shape=ideal,cutoff=0.45", 1, 8, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct filter_chain chain = chain_of(cases[i].chain);
        const struct taps_samples samples = {
            .sub_x = cases[i].sub, .sub_y = cases[i].sub, .bits = cases[i].bits};
        const struct taps_reach found = taps_tile_reach_of(&chain, &samples, TAPS_MAX_TILE_RADIUS);
        if (found.is_short || found.radius != cases[i].radius || found.products != 0)
            fail_msg("%s: radius %u, expected %u", cases[i].chain, found.radius, cases[i].radius);
    }
}

static void test_reaches_of_tiles_unite(void **state)
{
    const struct taps_reach near = {.radius = 12}, wide = {.radius = 24}, whole = {.radius = 0};
    const struct taps_reach blur = reach("gaussian-blur:sigma=3", &bytes);
    (void)state;
    assert_true(taps_reach_is_far(whole) && !taps_reach_is_far(near) && !taps_reach_is_far(blur));
    assert_true(taps_reach_equal(taps_reach_unite(near, wide), wide));
    assert_true(taps_reach_equal(taps_reach_unite(blur, near), near));
    assert_true(taps_reach_equal(taps_reach_unite(wide, blur), wide));
    assert_true(taps_reach_is_far(taps_reach_unite(wide, whole)));
    assert_true(taps_reach_is_far(taps_reach_unite(whole, near)));
    assert_true(taps_reach_covers(wide, near) && !taps_reach_covers(near, wide));
    assert_true(taps_reach_covers(near, blur) && !taps_reach_covers(blur, near));
    assert_true(taps_reach_covers(whole, wide) && !taps_reach_covers(wide, whole));
}

/* ---- smaller pictures ---- */

/* Pictures of half the size by taps. They need a transform where H has not decayed at the edge of
 * the frequencies, and where it differs between both sides. */
static void test_reaches_of_smaller_pictures(void **state)
{
    static const struct {
        const char *chain;
        unsigned sub, bits;
        double edge;
        uint32_t radius; /* 0: a transform */
        enum taps_line line;
    } cases[] = {
        {"gaussian-blur:sigma=3", 1, 8, 0, 10, TAPS_SMALL},
        {"gaussian-blur:sigma=3", 1, 8, 0.001, 10, TAPS_SMALL},
        {"gaussian-blur:sigma=3", 1, 10, 0, 15, TAPS_EVEN},
        {"gaussian-blur:sigma=3", 1, 16, 0, 0, TAPS_ANY},
        {"gaussian-blur:sigma=3", 2, 8, 0, 0, TAPS_ANY},
        {"gaussian-blur:sigma=2", 1, 8, 0, 0, TAPS_ANY},
        {"gaussian-blur:sigma=4", 1, 8, 0, 15, TAPS_SMALL},
        {"gaussian-blur:sigma=5.5", 1, 8, 0, 0, TAPS_ANY},
        {"gaussian-blur:sigma=3 | gain:ac=3,dc=3", 1, 8, 0, 10, TAPS_EVEN},
        {"gaussian-blur:sigma=3 | shift:by=2/0", 1, 8, 0, 0, TAPS_ANY},
        {"gaussian-blur:sigma=3 | gradient", 1, 8, 0, 0, TAPS_ANY},
        {"lowpass:shape=ideal,cutoff=0.1", 1, 8, 0, 0, TAPS_ANY},
        {"none", 1, 8, 0, 0, TAPS_ANY},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct filter_chain chain = chain_of(cases[i].chain);
        const struct taps_samples samples = {.sub_x = cases[i].sub,
                                             .sub_y = cases[i].sub,
                                             .bits = cases[i].bits,
                                             .stride = TAPS_STRIDE,
                                             .edge = cases[i].edge};
        const struct taps_reach found =
            taps_reach_within(&chain, &samples, (struct taps_reach){.is_short = true});
        if (found.is_short != (cases[i].radius > 0) || found.radius != cases[i].radius ||
            found.line != cases[i].line)
            fail_msg("%s, %u bits: short %d, radius %u, line %d", cases[i].chain, cases[i].bits,
                     found.is_short, found.radius, (int)found.line);
    }
}

/* A flat area keeps the brightness that H gives it. */
static void test_smaller_pictures_keep_brightness(void **state)
{
    const struct filter_chain chain = chain_of("gaussian-blur:sigma=3 | gain:ac=0.5,dc=0.5");
    const struct taps_samples samples = {.sub_x = 1, .sub_y = 1, .bits = 8, .stride = TAPS_STRIDE};
    struct taps_stride taps;
    double across = 0, down = 0;
    (void)state;
    assert_int_equal(taps_stride_find(&taps, &chain, &samples, NULL), 0);
    for (uint32_t i = 0; i <= taps.radius; i++) {
        across += 2 * taps.across[i];
        down += 2 * taps.down[i];
    }
    assert_float_equal(across * down, 0.5, 1e-9);
}

/* ---- half the rate ---- */

/* A line of samples around 0, at the whole rate and at half of it. */
#define LINE_HALF 100
struct line {
    double at[2 * LINE_HALF + 1];
};

static double *place(struct line *line, int at)
{
    return &line->at[at + LINE_HALF];
}

/* Filters a sample of 1 at 0 as struct taps_half says. */
static struct line filter_line(const double *blur, int radius, int from)
{
    static const double binomial[] = {1, 5, 10, 10, 5, 1};
    struct line in = {{0}}, low = {{0}}, blurred = {{0}}, out = {{0}};
    *place(&in, from) = 1;
    for (int k = -45; k <= 45; k++)
        for (int m = 0; m < 6; m++)
            *place(&low, k) += binomial[m] / 32 * *place(&in, 2 * k - 2 + m);
    for (int k = -30; k <= 30; k++)
        for (int i = -radius; i <= radius; i++)
            *place(&blurred, k) += blur[abs(i)] * *place(&low, k + i);
    for (int k = -29; k <= 29; k++) {
        const double before = *place(&blurred, k - 1), own = *place(&blurred, k);
        const double after = *place(&blurred, k + 1);
        *place(&out, 2 * k) = (5 * before + 10 * own + after) / 16;
        *place(&out, 2 * k + 1) = (before + 10 * own + 5 * after) / 16;
    }
    return out;
}

/* What samples at an even or odd place give differs from a Gaussian by at most a 255th in all, as
 * what taps leave out does. All results of a sample are those of four phases. */
static void check_half(const char *text, double sigma, double level, unsigned expected)
{
    const struct filter_chain chain = chain_of(text);
    struct taps_half half;
    struct error why;
    double gaussian[2 * LINE_HALF + 1], all = 0;
    if (taps_half_find(&half, &chain, &bytes, &why) < 0)
        fail_msg("%s: %s", text, why.text);
    assert_int_equal(half.radius, expected);
    for (int i = 0; i <= 2 * LINE_HALF; i++)
        all += gaussian[i] = exp(-pow(i - LINE_HALF, 2) / (2 * sigma * sigma));
    for (int phase = 0; phase < 4; phase++) { /* of the results, seen from the samples */
        double apart = 0, sum = 0;
        for (int y = -55; y <= 55; y++) {
            /* A result at 0 or 1 from each sample around it. */
            const int row = phase / 2, column = phase % 2;
            const struct line down = filter_line(half.down, (int)half.radius, row + y);
            for (int x = -55; x <= 55; x++) {
                const struct line across = filter_line(half.across, (int)half.radius, column + x);
                const double tap = across.at[LINE_HALF + column] * down.at[LINE_HALF + row];
                const double wanted = level * gaussian[LINE_HALF + x] * gaussian[LINE_HALF + y];
                apart += fabs(tap - wanted / (all * all));
                sum += tap;
            }
        }
        if (apart > 1 / 255. || fabs(sum - level) > 1e-9)
            fail_msg("%s, phase %d: %g of the bound, sum %g", text, phase, 255 * apart, sum);
    }
}

static void test_half_rate_is_a_gaussian(void **state)
{
    (void)state;
    check_half("gaussian-blur:sigma=3", 3, 1, 6);
    check_half("gaussian-blur:sigma=4.5", 4.5, 1, 6);
    check_half("gaussian-blur:sigma=5", 5, 1, 8);
    check_half("gaussian-blur:sigma=6.5 | gain:dc=-0.7,ac=-0.7", 6.5, -0.7, 10);
    check_half("gaussian-blur:sigma=9", 9, 1, 14);
    check_half("gaussian-blur:sigma=3 | gaussian-blur:sigma=4", 5, 1, 8);
}

static void test_half_rates(void **state)
{
    static const struct {
        const char *chain;
        unsigned sub, bits;
        uint32_t radius; /* 0: none */
    } cases[] = {
        {"gaussian-blur:sigma=2.5", 1, 8, 0}, /* its upper half of frequencies is too strong */
        {"gaussian-blur:sigma=5", 2, 8, 0},   /* the same */
        {"gaussian-blur:sigma=8", 2, 8, 6},
        {"gaussian-blur:sigma=4", 1, 12, 0},
        {"gaussian-blur:sigma=5", 1, 12, 10},
        {"gaussian-blur:sigma=5", 1, 16, 0},
        {"gaussian-blur:sigma=10", 1, 8, 0}, /* too wide */
        {"gaussian-blur:sigma=20", 1, 8, 0},
        {"lowpass:shape=gaussian,cutoff=0.05", 1, 8, 6}, /* a sigma of 3 to 4 */
        {"gaussian-blur:sigma=5 | homomorphic", 1, 8, 0},
        {"gaussian-blur:sigma=5 | gradient:sigma=2", 1, 8, 0},
        {"gaussian-blur:sigma=5 | shift:by=1/0", 1, 8, 0},
        {"gaussian-blur:sigma=5 | gain:dc=0,ac=0", 1, 8, 0},
        {"sharpen:sigma=5", 1, 8, 0},
        {"box-blur:radius=12", 1, 8, 0},
        {"none", 1, 8, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct filter_chain chain = chain_of(cases[i].chain);
        const struct taps_samples samples = {
            .sub_x = cases[i].sub, .sub_y = cases[i].sub, .bits = cases[i].bits};
        const struct taps_reach found = taps_half_reach_of(&chain, &samples, TAPS_MAX_HALF_RADIUS);
        if (found.is_short || found.radius > 0 || found.half_radius != cases[i].radius)
            fail_msg("%s, %u bits: radius %u, expected %u", cases[i].chain, cases[i].bits,
                     found.half_radius, cases[i].radius);
    }
    const struct filter_chain blur = chain_of("gaussian-blur:sigma=5");
    assert_int_equal(taps_half_reach_of(&blur, &bytes, 6).half_radius, 0);
}

/* Where settings allow it, a reach names half the rate beside taps of the greatest radius, and
 * beside no shorter ones. Kernels for a reach with both serve only filters that both methods can
 * do. */
static void test_half_rate_beside_taps(void **state)
{
    const struct taps_reach most = {.is_short = true, .half_radius = TAPS_MAX_HALF_RADIUS};
    const struct taps_reach none = {.is_short = true};
    const struct filter_chain wide = chain_of("gaussian-blur:sigma=3.33");
    const struct filter_chain narrow = chain_of("gaussian-blur:sigma=3");
    const struct taps_reach half = taps_reach_within(&wide, &bytes, most);
    (void)state;
    const struct taps_reach taps = taps_reach_within(&wide, &bytes, none);
    const struct taps_reach far = {.half_radius = 6};
    assert_true(half.half_radius == 6 && half.is_short && half.radius == TAPS_MAX_RADIUS);
    assert_true(taps.half_radius == 0 && taps.radius == TAPS_MAX_RADIUS);
    assert_true(taps_reach_covers(half, half) && taps_reach_covers(taps, half));
    assert_false(taps_reach_covers(half, taps) || taps_reach_covers(half, far));
    assert_true(taps_reach_is_far(taps_reach_unite(half, taps)));
    assert_true(taps_reach_is_far(taps_reach_unite((struct taps_reach){.radius = 16}, half)));
    assert_int_equal(taps_reach_within(&narrow, &bytes, most).radius, TAPS_MAX_LOW_RADIUS);
    assert_int_equal(taps_reach_within(&narrow, &bytes, most).half_radius, 0);
}

/* Kernels for a wide blur do narrower ones, and nothing else; blends of two need a transform. */
static void test_half_rates_unite(void **state)
{
    const struct taps_reach narrow = {.half_radius = 6}, wide = {.half_radius = 14}, far = {0};
    const struct taps_reach blur = reach("gaussian-blur:sigma=2", &bytes), tiles = {.radius = 12};
    (void)state;
    assert_true(taps_reach_is_far(narrow));
    assert_true(taps_reach_covers(wide, narrow) && !taps_reach_covers(narrow, wide));
    assert_false(taps_reach_covers(wide, blur) || taps_reach_covers(wide, far) ||
                 taps_reach_covers(wide, tiles) || taps_reach_covers(blur, wide) ||
                 taps_reach_covers(tiles, wide));
    assert_true(taps_reach_covers(far, wide));
    assert_true(taps_reach_equal(taps_reach_unite(wide, wide), far));
    assert_true(taps_reach_equal(taps_reach_unite(wide, blur), far));
    assert_true(taps_reach_equal(taps_reach_unite(tiles, wide), far));
    assert_false(taps_reach_equal(narrow, wide) || taps_reach_equal(narrow, far));
}

/* Kernels for even taps are faster, and cannot do others. */
static void test_odd_taps_are_another_reach(void **state)
{
    const struct taps_reach even = reach("gaussian-blur:sigma=2", &bytes);
    const struct taps_reach both = reach("sharpen:amount=2,sigma=2", &bytes);
    const struct taps_reach odd = reach("gradient:along=y,sigma=2,dc=0", &bytes);
    const struct taps_reach moved = reach("shift:by=4/-7", &bytes);
    (void)state;
    assert_true(even.products == 1 && even.line == TAPS_SMALL && !even.has_middle);
    assert_true(both.products == 1 && both.line == TAPS_SMALL && both.has_middle);
    assert_true(taps_reach_covers(both, even) && !taps_reach_covers(even, both));
    assert_false(taps_reach_equal(both, even));
    assert_true(odd.products > 0 && odd.line == TAPS_ANY && moved.products == 1 &&
                moved.line == TAPS_ANY);
    assert_true(taps_reach_covers(moved, even) && !taps_reach_covers(even, moved));
    assert_false(taps_reach_equal(even, moved));
    assert_int_equal(reach("convolve:kernel=1 2 3/4 5 6/7 8 10", &bytes).line,
                     TAPS_ANY); /* no products */
}

/* Kernels for small or equal taps are faster, too. */
static void test_lines_of_taps(void **state)
{
    static const struct {
        const char *chain;
        unsigned bits;
        enum taps_line line;
    } cases[] = {
        {"gaussian-blur:sigma=2", 8, TAPS_SMALL},
        {"gaussian-blur:sigma=3", 8, TAPS_SMALL},
        {"gaussian-blur:sigma=2", 12, TAPS_EVEN}, /* more than 16 bits would be needed */
        {"gaussian-blur:sigma=1", 8, TAPS_SMALL},
        {"gaussian-blur:sigma=0.7", 8, TAPS_EVEN}, /* taps along columns of more than a half */
        {"gaussian-blur:sigma=2 | gain:dc=3,ac=3", 8, TAPS_EVEN},
        {"gaussian-blur:sigma=2 | gain:dc=1.2,ac=1.2", 8, TAPS_SMALL},
        {"gaussian-blur:sigma=2 | homomorphic", 8, TAPS_EVEN},
        {"box-blur:radius=2", 8, TAPS_EQUAL},
        {"box-blur:radius=15", 16, TAPS_EQUAL},
        {"box-blur:radius=3 | gain:dc=0.7,ac=0.7", 8, TAPS_EQUAL},
        {"box-blur:radius=2.5", 8, TAPS_SMALL},
        {"box-blur:radius=2 | box-blur:radius=2", 8, TAPS_SMALL},
        {"sharpen:amount=1,sigma=1.5", 8, TAPS_SMALL},
        {"sharpen:amount=1.5,sigma=2", 8, TAPS_SMALL},
        {"sharpen:amount=1,sigma=1.5", 12, TAPS_EVEN},
        {"sharpen:amount=4,sigma=2", 8, TAPS_EVEN},          /* too much for 16 bits */
        {"sharpen:sigma=1 | sharpen:sigma=1", 8, TAPS_EVEN}, /* two products */
        {"shift:by=4/-7", 8, TAPS_ANY},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct taps_samples samples = {.sub_x = 1, .sub_y = 1, .bits = cases[i].bits};
        const struct taps_reach found = reach(cases[i].chain, &samples);
        if (!found.is_short || found.line != cases[i].line)
            fail_msg("%s: %d, expected %d", cases[i].chain, (int)found.line, (int)cases[i].line);
    }
    const struct taps_reach small = reach("gaussian-blur:sigma=2", &bytes);
    const struct taps_reach equal = reach("box-blur:radius=4", &bytes);
    const struct taps_reach other = reach("box-blur:radius=3", &bytes);
    assert_true(taps_reach_covers(small, equal) && !taps_reach_covers(equal, small));
    assert_false(taps_reach_covers(equal, other));
}

static void test_reaches_unite(void **state)
{
    const struct taps_reach point = reach("none", &bytes), three = reach("laplacian", &bytes);
    const struct taps_reach blur = reach("gaussian-blur:sigma=2", &bytes);
    const struct taps_reach wide = reach("gaussian-blur:sigma=3", &bytes);
    const struct taps_reach far = reach("notch:at=0.25/0.1,width=0.02", &bytes);
    (void)state;
    assert_true(taps_reach_equal(taps_reach_unite(point, three), three));
    const struct taps_reach both = taps_reach_unite(three, blur);
    assert_true(both.is_short && both.radius == 7 && both.products == 0);
    assert_true(taps_reach_equal(taps_reach_unite(both, blur), both));
    assert_true(taps_reach_equal(taps_reach_unite(blur, blur), both)); /* products do not blend */
    assert_false(taps_reach_unite(wide, wide).is_short);
    assert_false(taps_reach_unite(wide, point).is_short);
    assert_false(taps_reach_unite(far, point).is_short);
    assert_false(taps_reach_unite(point, far).is_short);

    assert_true(taps_reach_covers(three, point) && !taps_reach_covers(point, three));
    assert_true(taps_reach_covers(blur, blur) && taps_reach_covers(both, blur));
    assert_true(taps_reach_covers(wide, blur) && !taps_reach_covers(blur, wide));
    assert_false(taps_reach_covers(wide, three));
    assert_true(taps_reach_covers(far, wide) && !taps_reach_covers(wide, far));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kernels_are_their_taps),
        cmocka_unit_test(test_a_gaussian),
        cmocka_unit_test(test_products_make_the_taps),
        cmocka_unit_test(test_reaches),
        cmocka_unit_test(test_what_is_left_out_is_negligible),
        cmocka_unit_test(test_reaches_unite),
        cmocka_unit_test(test_reach_of_tiles),
        cmocka_unit_test(test_reaches_of_tiles_unite),
        cmocka_unit_test(test_reaches_of_smaller_pictures),
        cmocka_unit_test(test_smaller_pictures_keep_brightness),
        cmocka_unit_test(test_half_rate_is_a_gaussian),
        cmocka_unit_test(test_half_rates),
        cmocka_unit_test(test_half_rate_beside_taps),
        cmocka_unit_test(test_half_rates_unite),
        cmocka_unit_test(test_odd_taps_are_another_reach),
        cmocka_unit_test(test_lines_of_taps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
