/* The maths of the filters, against formulas written anew, transforms of explicit kernels, and
 * properties that hold for every kind. */
#include <complex.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/chains.h"
#include "support/cmocka.h"

#include "filters/filter.h"

#define HALF_POWER 0.70710678118654752440
#define EPSILON    1e-12

static void close_to(double value, double wanted, const char *what)
{
    if (!(fabs(value - wanted) <= EPSILON * fmax(1, fabs(wanted))))
        fail_msg("%s: %.17g is not %.17g", what, value, wanted);
}

static double response(const char *text, double fx, double fy)
{
    struct filter_chain chain = chain_of(text);
    const double complex h = filter_chain_response(&chain, fx, fy);
    assert_true(cimag(h) == 0);
    return creal(h);
}

static const char *const shapes[] = {"ideal", "butterworth", "gaussian"};

/* ---- every kind ---- */

static void known_values(void **state)
{
    (void)state;
    static const struct {
        const char *chain;
        double fx, fy, wanted;
    } cases[] = {
        {"none", 0.3, 0.1, 1},
        {"lowpass:cutoff=0.1", 0, 0, 1},
        {"lowpass:cutoff=0.1", 0.1, 0, HALF_POWER},
        {"lowpass:cutoff=0.1", 0.06, 0.08, HALF_POWER},
        {"lowpass:cutoff=0.1", 0.2, 0, 0.25},
        {"lowpass:shape=butterworth,cutoff=0.1,order=1", 0.1, 0, HALF_POWER},
        {"lowpass:shape=butterworth,cutoff=0.1,order=7", 0, -0.1, HALF_POWER},
        {"lowpass:shape=butterworth,cutoff=0.1,order=1", 0.2, 0, 0.44721359549995793},
        {"lowpass:shape=ideal,cutoff=0.1", 0.1, 0, 1},
        {"lowpass:shape=ideal,cutoff=0.1", 0.1001, 0, 0},
        {"highpass:cutoff=0.1", 0, 0, 0},
        {"highpass:cutoff=0.1", 0.1, 0, HALF_POWER},
        {"highpass:shape=butterworth,cutoff=0.1", 0, 0, 0},
        {"highpass:shape=butterworth,cutoff=0.1", 0, 0.1, HALF_POWER},
        {"highpass:shape=ideal,cutoff=0.1", 0.1, 0, 0},
        {"highpass:shape=ideal,cutoff=0.1", 0.1001, 0, 1},
        {"highpass:cutoff=0.1,dc=1", 0, 0, 1},
        {"highpass:cutoff=0.1,dc=0.5", 0, 0, 0.5},
        {"bandpass:low=0.1,high=0.4", 0.1, 0, HALF_POWER},
        {"bandpass:low=0.1,high=0.4", 0, 0.4, HALF_POWER},
        {"bandpass:low=0.1,high=0.4", 0.2, 0, 1}, /* the geometric middle */
        {"bandpass:low=0.1,high=0.4", 0, 0, 0},
        {"bandpass:low=0.1,high=0.4,dc=2", 0, 0, 2},
        {"bandpass:shape=ideal,low=0.1,high=0.2", 0.1, 0, 1},
        {"bandpass:shape=ideal,low=0.1,high=0.2", 0.2, 0, 1},
        {"bandpass:shape=ideal,low=0.1,high=0.2", 0.0999, 0, 0},
        {"bandpass:shape=ideal,low=0.1,high=0.2", 0.2001, 0, 0},
        {"bandstop:low=0.1,high=0.4", 0, 0, 1},
        {"bandstop:low=0.1,high=0.4", 0.1, 0, HALF_POWER},
        {"bandstop:low=0.1,high=0.4", 0.4, 0, HALF_POWER},
        {"bandstop:low=0.1,high=0.4", 0.2, 0, 0},
        {"bandstop:shape=butterworth,low=0.1,high=0.4", 0.2, 0, 0},
        {"notch:at=0.25/0,width=0.01", 0.25, 0, 0},
        {"notch:at=0.25/0,width=0.01", -0.25, 0, 0},
        {"notch:at=0.25/0,width=0.01", 0.255, 0, HALF_POWER},
        {"notch:at=0.25/0,width=0.01", -0.25, 0.005, HALF_POWER},
        {"notch:at=0.25/0,width=0.01", 0, 0, 1},
        {"notch:at=0.25/0,width=0.01", 0, 0.25, 1},
        {"notch:at=0.2/0.1,width=0.01", -0.2, 0.1, 1},
        {"notch:at=0/0,width=0.2", 0, 0, 0},
        {"notch:at=0/0,width=0.2", 0.1, 0, HALF_POWER},
        {"gaussian-blur:sigma=1", 0, 0, 1},
        {"gaussian-blur:sigma=1", 0.5, 0,
         0.014383766634691268}, /* the taps 1, exp(-1/2), exp(-2) ... */
        {"gaussian-blur:sigma=0.5", 0.5, 0, 0.5741968743895974},
        {"gaussian-blur:sigma=0.05", 0.5, 0.5, 1},
        {"box-blur:radius=0", 0.3, 0.4, 1},
        {"box-blur:radius=1", 0.5, 0, -1.0 / 3},
        {"box-blur:radius=1", 0.25, 0, 1.0 / 3},
        {"sharpen:amount=1,sigma=1", 0, 0, 1},
        {"sharpen:amount=2,sigma=50", 0.5, 0.5, 3},
        {"sharpen:amount=0", 0.3, 0.3, 1},
        {"highboost:base=0.5,boost=2,cutoff=0.1", 0, 0, 0.5},
        {"highboost:base=0.5,boost=2,cutoff=0.1,shape=ideal", 0.2, 0, 2.5},
        {"laplacian", 0, 0, 0},
        {"laplacian:dc=1", 0, 0, 1},
        {"laplacian", 0.5, 0, 4},
        {"laplacian:gain=-2", 0.5, 0.5, -16},
        {"directional:angle=0,width=20", 0, 0, 1},
        {"directional:angle=0,width=20", 0.3, 0, 1},
        {"directional:angle=180,width=20", 0.3, 0, 1},
        {"directional:angle=90,width=20,shape=ideal", 0, 0.2, 1},
        {"directional:angle=90,width=20,shape=ideal", 0.2, 0, 0},
        {"directional:angle=90,width=20,shape=ideal,keep=outside", 0, 0.2, 0},
        {"directional:angle=90,width=20,keep=outside,above=0.1", 0, 0.1, 1 - HALF_POWER},
        {"directional:angle=45,width=90,shape=butterworth", 0.2, 0, HALF_POWER},
        {"directional:angle=45,width=20", -0.2, -0.2, 1},
        {"gain:dc=0.5,ac=2", 0, 0, 0.5},
        {"gain:dc=0.5,ac=2", 0, 0.001, 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        close_to(response(cases[i].chain, cases[i].fx, cases[i].fy), cases[i].wanted,
                 cases[i].chain);
}

/* H(-f) is the conjugate of H(f) to the last bit, and 0.5 is -0.5. */
static void the_response_is_hermitian_and_periodic(void **state)
{
    (void)state;
    unsigned count;
    const struct filter_kind *const *kinds = filter_kinds(&count);
    uint64_t random = 3;
    for (int i = 0; i < 20000; i++) {
        struct filter_chain chain = {.count = 1};
        random_stage(&chain.stage[0], kinds[random_bits(&random) % count], &random);
        double fx = random_between(&random, -0.5, 0.5), fy = random_between(&random, -0.5, 0.5);
        if (i % 4 == 1)
            fx = 0;
        if (i % 4 == 2)
            fy = 0;
        double complex h = filter_chain_response(&chain, fx, fy);
        assert_true(isfinite(creal(h)) && isfinite(cimag(h)));
        assert_true(filter_chain_response(&chain, -fx, -fy) == conj(h));
        assert_true(fabs(cimag(h)) <= 1e-12 * fmax(1, cabs(h)) || filter_chain_is_complex(&chain));

        double complex edge = filter_chain_response(&chain, 0.5, fy);
        assert_true(filter_chain_response(&chain, -0.5, fy) == edge);
        assert_true(filter_chain_response(&chain, -0.5, -fy) == conj(edge));
        edge = filter_chain_response(&chain, fx, 0.5);
        assert_true(filter_chain_response(&chain, fx, -0.5) == edge);
        assert_true(filter_chain_response(&chain, -fx, -0.5) == conj(edge));
        edge = filter_chain_response(&chain, 0.5, 0.5);
        assert_true(cimag(edge) == 0);
        assert_true(filter_chain_response(&chain, 0.5, -0.5) == edge);
        assert_true(filter_chain_response(&chain, -0.5, 0.5) == edge);
    }
}

static void a_chain_is_the_product_of_its_stages(void **state)
{
    (void)state;
    uint64_t random = 11;
    for (int i = 0; i < 2000; i++) {
        struct filter_chain chain;
        random_chain(&chain, &random);
        double fx = random_between(&random, -0.5, 0.5), fy = random_between(&random, -0.5, 0.5);
        double complex product = 1;
        for (unsigned s = 0; s < chain.count; s++) {
            struct filter_chain single = {.count = 1, .stage = {chain.stage[s]}};
            product *= filter_chain_response(&single, fx, fy);
        }
        double complex h = filter_chain_response(&chain, fx, fy);
        assert_true(cabs(h - product) <= EPSILON * cabs(product));
    }
}

/* ---- shapes and bands, by other formulas ---- */

static double other_pass(const char *shape, double order, double d)
{
    if (strcmp(shape, "ideal") == 0)
        return d <= 1;
    if (strcmp(shape, "gaussian") == 0)
        return pow(2, -d * d / 2);
    return sqrt(1 / (1 + pow(fabs(d), 2 * order)));
}

static double other_stop(const char *shape, double order, double d)
{
    if (strcmp(shape, "ideal") == 0)
        return d > 1;
    if (strcmp(shape, "gaussian") == 0)
        return 1 - pow(1 - HALF_POWER, d * d);
    return pow(fabs(d), order) / sqrt(1 + pow(fabs(d), 2 * order));
}

static void shapes_follow_their_formulas(void **state)
{
    (void)state;
    uint64_t random = 5;
    for (int i = 0; i < 5000; i++) {
        const char *shape = shapes[i % 3];
        double order = 1 + (double)(random_bits(&random) % 10);
        double low = random_between(&random, 0.001, 0.3);
        double high = low + random_between(&random, 0.001, 0.15);
        double fx = random_between(&random, -0.49, 0.49);
        double fy = random_between(&random, -0.49, 0.49), f = hypot(fx, fy);
        double band = (f - low * high / f) / (high - low);
        char text[256];

        snprintf(text, sizeof text, "lowpass:shape=%s,order=%g,cutoff=%.17g", shape, order, low);
        close_to(response(text, fx, fy), other_pass(shape, order, f / low), text);
        snprintf(text, sizeof text, "highpass:shape=%s,order=%g,cutoff=%.17g", shape, order, low);
        close_to(response(text, fx, fy), other_stop(shape, order, f / low), text);
        snprintf(text, sizeof text, "bandpass:shape=%s,order=%g,low=%.17g,high=%.17g", shape, order,
                 low, high);
        close_to(response(text, fx, fy), other_pass(shape, order, fabs(band)), text);
        snprintf(text, sizeof text, "bandstop:shape=%s,order=%g,low=%.17g,high=%.17g", shape, order,
                 low, high);
        close_to(response(text, fx, fy), other_stop(shape, order, fabs(band)), text);
    }
}

/* ---- notches ---- */

static void a_notch_has_a_mirror_and_no_edge(void **state)
{
    (void)state;
    uint64_t random = 9;
    for (int i = 0; i < 3000; i++) {
        double ax = random_between(&random, -0.5, 0.5), ay = random_between(&random, -0.5, 0.5);
        double width = random_between(&random, 0.001, 0.4);
        double fx = random_between(&random, -0.49, 0.49);
        double fy = random_between(&random, -0.49, 0.49);
        /* The nearest of the centre, its mirror, and all their copies one period away. */
        double nearest = INFINITY;
        for (int mirror = -1; mirror <= 1; mirror += 2)
            for (int px = -1; px <= 1; px++)
                for (int py = -1; py <= 1; py++)
                    nearest = fmin(nearest, hypot(fx - mirror * ax - px, fy - mirror * ay - py));
        const char *shape = shapes[i % 3];
        char text[256];
        snprintf(text, sizeof text, "notch:at=%.17g/%.17g,width=%.17g,shape=%s,order=3", ax, ay,
                 width, shape);
        if (fabs(nearest - width / 2) > 1e-9)
            close_to(response(text, fx, fy), other_stop(shape, 3, nearest / (width / 2)), text);
    }
    /* Just beyond +0.5 is just inside -0.5. */
    close_to(response("notch:at=0.49/0,width=0.04", -0.5 + 0.01, 0), 0, "mirror");
    close_to(response("notch:at=0.49/0,width=0.04", 0.5, 0.0), 1 - pow(1 - HALF_POWER, 0.25),
             "across the edge");
    close_to(response("notch:at=0.5/0.2,width=0.04", -0.5, 0.2), 0, "both sides of the edge");
    close_to(response("notch:at=0.5/0.2,width=0.04", 0.5, -0.2), 0, "and its mirror");
    close_to(response("notch:at=0.5/0.5,width=0.04", -0.5, 0.5), 0, "all corners");
}

/* ---- kernels ---- */

/* Transform of a symmetric kernel of (2r + 1)^2 weights. */
static double transform(int r, double (*weight)(int x, int y, double parameter), double parameter,
                        double fx, double fy)
{
    double sum = 0;
    for (int y = -r; y <= r; y++)
        for (int x = -r; x <= r; x++)
            sum += weight(x, y, parameter) * cos(2 * M_PI * (fx * x + fy * y));
    return sum;
}

static double box_weight(int x, int y, double radius)
{
    double inside_x = fmin(1, fmax(0, radius + 1 - abs(x)));
    double inside_y = fmin(1, fmax(0, radius + 1 - abs(y)));
    return inside_x * inside_y / ((2 * radius + 1) * (2 * radius + 1));
}

static double laplacian_weight(int x, int y, double gain)
{
    return abs(x) + abs(y) == 0 ? 4 * gain : abs(x) + abs(y) == 1 ? -gain : 0;
}

static double gaussian_weight(int x, int y, double sigma)
{
    double sum = 0;
    for (int i = -24; i <= 24; i++)
        sum += exp(-i * i / (2 * sigma * sigma));
    return exp(-(x * x + y * y) / (2 * sigma * sigma)) / (sum * sum);
}

static void kernels_have_their_transforms(void **state)
{
    (void)state;
    uint64_t random = 13;
    for (int i = 0; i < 300; i++) {
        double fx = random_between(&random, -0.49, 0.49);
        double fy = i % 5 == 0 ? 0 : random_between(&random, -0.49, 0.49);
        double radius = i % 3 == 0 ? (double)(i % 8) : random_between(&random, 0, 8);
        double gain = random_between(&random, 0.1, 5), sigma = random_between(&random, 0.05, 3.5);
        char text[128];
        snprintf(text, sizeof text, "box-blur:radius=%.17g", radius);
        close_to(response(text, fx, fy), transform(9, box_weight, radius, fx, fy), text);
        snprintf(text, sizeof text, "laplacian:gain=%.17g", gain);
        close_to(response(text, fx, fy), transform(1, laplacian_weight, gain, fx, fy), text);
        snprintf(text, sizeof text, "gaussian-blur:sigma=%.17g", sigma);
        double blurred = transform(24, gaussian_weight, sigma, fx, fy);
        close_to(response(text, fx, fy), blurred, text);
        snprintf(text, sizeof text, "sharpen:amount=%.17g,sigma=%.17g", gain, sigma);
        close_to(response(text, fx, fy), 1 + gain * (1 - blurred), text);
    }
}

/* ---- directions ---- */

static void a_wedge_is_as_wide_as_it_says(void **state)
{
    (void)state;
    for (int degrees = -180; degrees < 180; degrees += 7) {
        for (int angle = -180; angle <= 180; angle += 45) {
            char text[128];
            snprintf(text, sizeof text, "directional:angle=%d,width=40,shape=ideal", angle);
            double fx = 0.3 * cos(degrees * M_PI / 180), fy = 0.3 * sin(degrees * M_PI / 180);
            int off = abs(degrees - angle) % 180;
            bool inside = (off < 90 ? off : 180 - off) <= 20;
            assert_true(response(text, fx, fy) == (inside ? 1 : 0));
            strcat(text, ",keep=outside");
            assert_true(response(text, fx, fy) == (inside ? 0 : 1));
        }
    }
}

/* ---- support ---- */

enum { SIDE = 128 };

/* Part of the impulse response's energy farther out than the radius: the inverse transform on a
 * circle of SIDE x SIDE pixels of a response that is even in x and in y. */
static double energy_beyond(const struct filter_chain *chain, double radius)
{
    static double cosine[SIDE], h[SIDE][SIDE], rows[SIDE][SIDE];
    for (int i = 0; i < SIDE; i++)
        cosine[i] = cos(2 * M_PI * i / SIDE);
    for (int v = 0; v < SIDE; v++)
        for (int u = 0; u < SIDE; u++)
            h[v][u] =
                creal(filter_chain_response(chain, (u < SIDE / 2 ? u : u - SIDE) / (double)SIDE,
                                            (v < SIDE / 2 ? v : v - SIDE) / (double)SIDE));
    memset(rows, 0, sizeof rows);
    for (int v = 0; v < SIDE; v++)
        for (int x = 0; x < SIDE; x++)
            for (int u = 0; u < SIDE; u++)
                rows[v][x] += h[v][u] * cosine[u * x % SIDE];
    double beyond = 0, all = 0;
    for (int y = 0; y < SIDE; y++)
        for (int x = 0; x < SIDE; x++) {
            double value = 0;
            for (int v = 0; v < SIDE; v++)
                value += rows[v][x] * cosine[v * y % SIDE];
            all += value * value;
            if (hypot(x < SIDE / 2 ? x : SIDE - x, y < SIDE / 2 ? y : SIDE - y) > radius)
                beyond += value * value;
        }
    return beyond / all;
}

static void support_holds_the_energy(void **state)
{
    (void)state;
    static const struct {
        const char *chain;
        double beyond;
    } cases[] = {
        {"lowpass:cutoff=0.05", 1e-3},
        {"lowpass:cutoff=0.2", 1e-3},
        {"lowpass:shape=butterworth,cutoff=0.1,order=1", 1e-3},
        {"lowpass:shape=butterworth,cutoff=0.1,order=2", 1e-3},
        {"lowpass:shape=butterworth,cutoff=0.1,order=4", 1e-3},
        {"lowpass:shape=ideal,cutoff=0.1", 0.03},
        {"highpass:cutoff=0.05", 1e-3},
        {"highpass:shape=butterworth,cutoff=0.05", 1e-3},
        {"bandpass:low=0.1,high=0.3", 1e-3},
        {"gaussian-blur:sigma=3", 1e-3},
        {"box-blur:radius=3", 1e-3},
        {"sharpen:amount=2,sigma=2", 1e-3},
        {"laplacian", 1e-12},
        {"gain:dc=1,ac=1", 1e-12},
        {"gaussian-blur:sigma=2 | lowpass:cutoff=0.1", 1e-3},
        {"gaussian-blur:sigma=2 | gaussian-blur:sigma=1.5 | gaussian-blur:sigma=1.5", 1e-3},
        {"gaussian-blur:sigma=2 | sharpen:amount=2,sigma=2 | sharpen:amount=2,sigma=2", 1e-3},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct filter_chain chain = chain_of(cases[i].chain);
        double radius = filter_chain_support(&chain);
        assert_true(radius >= 0 && radius < SIDE / 2.0);
        double beyond = energy_beyond(&chain, radius);
        if (beyond > cases[i].beyond)
            fail_msg("%s: %g of the energy is beyond %g pixels", cases[i].chain, beyond, radius);
    }
}

static double support(const char *text)
{
    struct filter_chain chain = chain_of(text);
    return filter_chain_support(&chain);
}

/* Kinds that share a prototype share its reach, and half the frequency is twice the reach. */
static void support_follows_the_cutoff(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        char text[3][128];
        snprintf(text[0], sizeof text[0], "lowpass:cutoff=0.05,shape=%s", shapes[i]);
        double reach = support(text[0]);
        assert_true(reach >= 0.5 / 0.05 && reach <= 4 / 0.05);
        snprintf(text[1], sizeof text[1], "lowpass:cutoff=0.1,shape=%s", shapes[i]);
        close_to(2 * support(text[1]), reach, text[1]);
        snprintf(text[1], sizeof text[1], "highboost:cutoff=0.05,shape=%s", shapes[i]);
        close_to(support(text[1]), reach, text[1]);
        snprintf(text[1], sizeof text[1], "notch:at=0.2/0.1,width=0.1,shape=%s", shapes[i]);
        close_to(support(text[1]), reach, text[1]);
        snprintf(text[1], sizeof text[1], "bandpass:low=0.3,high=0.4,shape=%s", shapes[i]);
        close_to(support(text[1]), reach, text[1]); /* half the band */
        snprintf(text[1], sizeof text[1], "bandstop:low=0.05,high=0.4,shape=%s", shapes[i]);
        close_to(support(text[1]), reach, text[1]); /* its distance from 0 */
    }
    close_to(support("lowpass:cutoff=0.05,shape=ideal"), 80, "four rings");
    close_to(support("box-blur:radius=3"), 3 * sqrt(2), "the corner");
    close_to(support("gain:ac=2"), 0, "a point");
    /* Steeper rings longer, but never longer than the ideal shape. */
    double last = 0;
    for (int order = 1; order <= 10; order++) {
        char text[128];
        snprintf(text, sizeof text, "lowpass:cutoff=0.05,shape=butterworth,order=%d", order);
        double reach = support(text);
        assert_true(reach > last && reach <= 80);
        last = reach;
    }
}

static void support_adds_up_to_a_limit(void **state)
{
    (void)state;
    struct filter_chain none = {.count = 0};
    assert_true(filter_chain_support(&none) == 0);
    struct filter_chain blur = chain_of("gaussian-blur:sigma=2");
    struct filter_chain twice = chain_of("gaussian-blur:sigma=2 | gaussian-blur:sigma=2");
    close_to(filter_chain_support(&twice), sqrt(2) * filter_chain_support(&blur), "Gaussians");
    struct filter_chain box = chain_of("box-blur:radius=3");
    struct filter_chain three =
        chain_of("gaussian-blur:sigma=2 | box-blur:radius=3 | gaussian-blur:sigma=2");
    close_to(filter_chain_support(&three),
             filter_chain_support(&twice) + filter_chain_support(&box), "sum");
    struct filter_chain wide = chain_of("lowpass:shape=ideal,cutoff=0.001");
    assert_true(filter_chain_support(&wide) == FILTER_MAX_SUPPORT_PX);

    uint64_t random = 17;
    for (int i = 0; i < 1000; i++) {
        struct filter_chain chain;
        random_chain(&chain, &random);
        double support = filter_chain_support(&chain);
        assert_true(support >= 0 && support <= FILTER_MAX_SUPPORT_PX);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_values),
        cmocka_unit_test(the_response_is_hermitian_and_periodic),
        cmocka_unit_test(a_chain_is_the_product_of_its_stages),
        cmocka_unit_test(shapes_follow_their_formulas),
        cmocka_unit_test(a_notch_has_a_mirror_and_no_edge),
        cmocka_unit_test(kernels_have_their_transforms),
        cmocka_unit_test(a_wedge_is_as_wide_as_it_says),
        cmocka_unit_test(support_holds_the_energy),
        cmocka_unit_test(support_follows_the_cutoff),
        cmocka_unit_test(support_adds_up_to_a_limit),
    };
    return cmocka_run_group_tests_name("filter_response", tests, NULL, NULL);
}
