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
        cmocka_unit_test(test_odd_taps_are_another_reach),
        cmocka_unit_test(test_lines_of_taps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
