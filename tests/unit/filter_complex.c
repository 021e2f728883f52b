/* The filters whose response is complex, and wiener, against models of their own: convolutions
 * pixel by pixel, and transforms of blurs integrated numerically. */
#include <complex.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "support/chains.h"
#include "support/cmocka.h"

#include "filters/filter.h"

/* ---- pictures, on a circle of SIDE x SIDE pixels ---- */

enum { SIDE = 16 };

typedef double picture[SIDE][SIDE];

static void random_picture(picture ret, uint64_t *random)
{
    for (int y = 0; y < SIDE; y++)
        for (int x = 0; x < SIDE; x++)
            ret[y][x] = random_between(random, 0, 255);
}

static double complex turn(double turns)
{
    return cexp(-2 * M_PI * I * turns);
}

/* Multiplies the transform by the response. The definition of the transform, term by term. */
static void filter_picture(picture ret, picture from, const struct filter_chain *chain)
{
    static double complex spectrum[SIDE][SIDE];
    for (int v = 0; v < SIDE; v++)
        for (int u = 0; u < SIDE; u++) {
            double complex sum = 0;
            for (int y = 0; y < SIDE; y++)
                for (int x = 0; x < SIDE; x++)
                    sum += from[y][x] * turn((u * x + v * y) / (double)SIDE);
            spectrum[v][u] =
                sum * filter_chain_response(chain, (u <= SIDE / 2 ? u : u - SIDE) / (double)SIDE,
                                            (v <= SIDE / 2 ? v : v - SIDE) / (double)SIDE);
        }
    for (int y = 0; y < SIDE; y++)
        for (int x = 0; x < SIDE; x++) {
            double complex sum = 0;
            for (int v = 0; v < SIDE; v++)
                for (int u = 0; u < SIDE; u++)
                    sum += spectrum[v][u] * conj(turn((u * x + v * y) / (double)SIDE));
            if (fabs(cimag(sum)) > 1e-6)
                fail_msg("pixel %d, %d has an imaginary part: %g", x, y, cimag(sum));
            ret[y][x] = creal(sum) / SIDE / SIDE;
        }
}

static void check_same(picture a, picture b, const char *what)
{
    for (int y = 0; y < SIDE; y++)
        for (int x = 0; x < SIDE; x++)
            if (!(fabs(a[y][x] - b[y][x]) < 1e-8))
                fail_msg("%s: pixel %d, %d is %.12g, expected %.12g", what, x, y, a[y][x], b[y][x]);
}

static int circle(int i)
{
    return (i % SIDE + SIDE) % SIDE;
}

/* ---- convolve ---- */

static void convolutions_are_what_they_say(void **state)
{
    (void)state;
    static const struct {
        int columns, rows, anchor_x, anchor_y;
        const char *options;
        bool correlate, by_sum;
    } cases[] = {
        {3, 3, 0, 0, "", false, false},
        {3, 3, 0, 0, ",correlate=true", true, false},
        {1, 1, 0, 0, ",normalise=sum", false, true},
        {7, 5, -2, 1, ",anchor=-2/1,normalise=sum", false, true},
        {2, 4, 0, 0, "", false, false}, /* the middle of 2 is the second, of 4 the third */
        {4, 1, 7, -7, ",anchor=7/-7,correlate=true", true, false},
        {1, 7, 0, 0, "", false, false},
    };
    uint64_t random = 21;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        double kernel[FILTER_KERNEL_SIDE][FILTER_KERNEL_SIDE], sum = 0;
        char text[1024] = "convolve:kernel=";
        picture in, out, expected;
        for (int j = 0; j < cases[i].rows; j++)
            for (int k = 0; k < cases[i].columns; k++) {
                kernel[j][k] = rint(random_between(&random, -3, 12)) / 8;
                sum += kernel[j][k];
                sprintf(text + strlen(text), "%s%g", k > 0 ? " " : j > 0 ? "/" : "", kernel[j][k]);
            }
        strcat(text, cases[i].options);
        random_picture(in, &random);
        const int origin_x = cases[i].columns / 2 + cases[i].anchor_x;
        const int origin_y = cases[i].rows / 2 + cases[i].anchor_y;
        for (int y = 0; y < SIDE; y++)
            for (int x = 0; x < SIDE; x++) {
                double value = 0;
                for (int j = 0; j < cases[i].rows; j++)
                    for (int k = 0; k < cases[i].columns; k++) {
                        const int dx = k - origin_x, dy = j - origin_y;
                        value += kernel[j][k] * (cases[i].correlate
                                                     ? in[circle(y + dy)][circle(x + dx)]
                                                     : in[circle(y - dy)][circle(x - dx)]);
                    }
                expected[y][x] = cases[i].by_sum ? value / sum : value;
            }
        const struct filter_chain chain = chain_of(text);
        filter_picture(out, in, &chain);
        check_same(out, expected, text);
    }
}

static void symmetric_kernels_are_real(void **state)
{
    (void)state;
    static const struct {
        const char *chain;
        bool is_complex;
    } cases[] = {
        {"convolve:kernel=1", false},
        {"convolve:kernel=1 2 1", false},
        {"convolve:kernel=1 2 3/4 5 4/3 2 1", false},
        {"convolve:kernel=1 2 3/4 5 6/7 8 9", true},
        {"convolve:kernel=1 1", true},
        {"convolve:kernel=0 1 1", true},
        {"convolve:kernel=0 1 2 1,anchor=0/0", false}, /* the middle of 4 is the third */
        {"convolve:kernel=1 2 1,anchor=1/0", true},
        {"convolve:kernel=1 2 1 | shift:by=0/0", true},
        {"gradient", true},
        {"wiener:size=2", false},
        {"none", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct filter_chain chain = chain_of(cases[i].chain);
        if (filter_chain_is_complex(&chain) != cases[i].is_complex)
            fail_msg("%s: expected %s", cases[i].chain, cases[i].is_complex ? "complex" : "real");
        const double complex h = filter_chain_response(&chain, 0.1, 0.2);
        if (!cases[i].is_complex)
            assert_true(fabs(cimag(h)) < 1e-12);
    }
}

static void kernels_are_read_and_printed(void **state)
{
    (void)state;
    static const struct {
        const char *text, *printed;
    } good[] = {
        {" -1 0  1 / -2 0 2 /-1 0 1", "-1 0 1/-2 0 2/-1 0 1"},
        {"0.1 1e-3 -1000", "0.1 0.001 -1000"},
        {"0.3333333333", "0.33333334"},
        {"1\t2\n/\n3  4", "1 2/3 4"},
    };
    static const struct {
        const char *text, *says;
    } bad[] = {
        {"", "is not a kernel"},
        {"1 2/3", "is not a kernel"},
        {"1 2/", "is not a kernel"},
        {"1 x 2", "is not a kernel"},
        {"nan", "is not a kernel"},
        {"1 2 3 4 5 6 7 8", "too many numbers"},
        {"1/2/3/4/5/6/7/8", "too many numbers"},
        {"1 1000.5", "out of range"},
        {"1 2 3", "anchor = 0.5/0 is between pixels"},
        {"1 -1", "sum is 0"},
    };
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        struct filter_stage stage;
        char printed[FILTER_TEXT_BYTES], expected[256];
        filter_stage_init(&stage, filter_kind_by_name("convolve"));
        assert_int_equal(filter_stage_check(&stage, NULL), -EINVAL);
        assert_int_equal(filter_stage_set(&stage, "kernel", good[i].text, NULL), 0);
        assert_int_equal(filter_stage_check(&stage, NULL), 0);
        print_stage(&stage, printed, sizeof printed);
        snprintf(expected, sizeof expected,
                 "convolve:kernel=%s,anchor=0/0,normalise=none,correlate=false", good[i].printed);
        assert_string_equal(printed, expected);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct filter_chain chain = {.count = 9};
        struct error why = {""};
        char text[256];
        snprintf(text, sizeof text, "convolve:kernel=%s,normalise=%s,anchor=%s", bad[i].text,
                 strstr(bad[i].says, "sum") != NULL ? "sum" : "none",
                 strstr(bad[i].says, "between") != NULL ? "0.5/0" : "0/0");
        assert_int_equal(filter_chain_parse(&chain, text, &why), -EINVAL);
        if (strstr(why.text, bad[i].says) == NULL)
            fail_msg("%s: %s", text, why.text);
        assert_int_equal(chain.count, 9);
    }
}

/* ---- shift, gradient ---- */

static void whole_shifts_move_pixels(void **state)
{
    (void)state;
    uint64_t random = 5;
    picture in, out, expected;
    random_picture(in, &random);
    for (int y = 0; y < SIDE; y++)
        for (int x = 0; x < SIDE; x++)
            expected[y][x] = in[circle(y + 5)][circle(x - 3)];
    const struct filter_chain once = chain_of("shift:by=3/-5");
    filter_picture(out, in, &once);
    check_same(out, expected, "3/-5");
    const struct filter_chain back = chain_of("shift:by=3/-5 | shift:by=-3/5");
    filter_picture(out, in, &back);
    check_same(out, in, "there and back");
}

/* The transform of a Gaussian's samples; with `is_slope`, of those of its slope. */
static double sampled(double sigma, double f, bool is_slope)
{
    double sum = 0, all = 0;
    for (int n = -20; n <= 20; n++) {
        const double weight = exp(-n * n / (2 * sigma * sigma));
        sum += is_slope ? n * weight * sin(2 * M_PI * n * f) : weight * cos(2 * M_PI * n * f);
        all += is_slope ? n * n * weight : weight;
    }
    return sum / all;
}

/* A wave below half the sampling rate, moved or differentiated by its formula. */
static void waves_move_and_have_slopes(void **state)
{
    (void)state;
    picture in, moved, slope, out;
    const double u = 3, v = -2, by_x = 0.375, by_y = -2.7, sigma = 0.8, gain = 2.5;
    const double fx = u / SIDE, fy = v / SIDE;
    const double rise = sampled(sigma, fy, true) * sampled(sigma, fx, false);
    for (int y = 0; y < SIDE; y++)
        for (int x = 0; x < SIDE; x++) {
            in[y][x] = 100 + 20 * sin(2 * M_PI * (fx * x + fy * y) + 0.4);
            moved[y][x] = 100 + 20 * sin(2 * M_PI * (fx * (x - by_x) + fy * (y - by_y)) + 0.4);
            slope[y][x] = 50 + gain * rise * 20 * cos(2 * M_PI * (fx * x + fy * y) + 0.4);
        }
    const struct filter_chain shift = chain_of("shift:by=0.375/-2.7");
    filter_picture(out, in, &shift);
    check_same(out, moved, "shift");
    const struct filter_chain gradient = chain_of("gradient:along=y,sigma=0.8,gain=2.5,dc=0.5");
    filter_picture(out, in, &gradient);
    check_same(out, slope, "gradient");
}

/* ---- wiener ---- */

/* Transforms of a disk and of a line of sum 1, as sums over many points of them. */
static double disk_transform(double radius, double fx, double fy)
{
    double sum = 0, count = 0;
    for (int i = 0; i < 2000; i++) {
        const double y = (i + 0.5) / 1000 - 1;
        /* Each row of the disk is a line, whose integral is known. */
        const double half = radius * sqrt(1 - y * y), turns = 2 * M_PI * fx * half;
        sum += 2 * half * (turns != 0 ? sin(turns) / turns : 1) * cos(2 * M_PI * fy * radius * y);
        count += 2 * half;
    }
    return sum / count;
}

static double line_transform(double length, double degrees, double fx, double fy)
{
    const int points = 20000;
    double sum = 0;
    for (int i = 0; i < points; i++) {
        const double along = length * ((i + 0.5) / points - 0.5);
        sum += cos(2 * M_PI * along *
                   (fx * cos(degrees * M_PI / 180) + fy * sin(degrees * M_PI / 180)));
    }
    return sum / points;
}

static void wiener_follows_its_formula(void **state)
{
    (void)state;
    uint64_t random = 77;
    for (int i = 0; i < 60; i++) {
        const double fx = random_between(&random, -0.49, 0.49);
        const double fy = random_between(&random, -0.49, 0.49);
        const double size = random_between(&random, 0.5, 6);
        const double angle = random_between(&random, -180, 180);
        const double noise = pow(10, random_between(&random, -3, 0));
        const double falloff = random_between(&random, 0, 4);
        const double ratio = noise * pow(10 * hypot(fx, fy), falloff);
        const double blurs[] = {exp(-2 * M_PI * M_PI * size * size * (fx * fx + fy * fy)),
                                disk_transform(size, fx, fy), line_transform(size, angle, fx, fy)};
        static const char *const names[] = {"gaussian", "disk", "motion"};
        for (int b = 0; b < 3; b++) {
            char text[256];
            snprintf(text, sizeof text,
                     "wiener:blur=%s,size=%.17g,angle=%.17g,noise=%.17g,falloff=%.17g", names[b],
                     size, angle, noise, falloff);
            const struct filter_chain chain = chain_of(text);
            const double complex h = filter_chain_response(&chain, fx, fy);
            const double wanted = blurs[b] / (blurs[b] * blurs[b] + ratio);
            /* H changes at most 1 / ratio times as fast as the blur, which is known to 2e-5. */
            if (cimag(h) != 0 || !(fabs(creal(h) - wanted) <= 2e-5 / ratio))
                fail_msg("%s at %g, %g: %.9g, expected %.9g", text, fx, fy, creal(h), wanted);
            assert_true(filter_chain_response(&chain, 0, 0) == 1);
        }
    }
}

/* ---- support ---- */

/* Part of the impulse response's energy farther out than the radius, on a circle of WIDE pixels. */
static double energy_beyond(const struct filter_chain *chain, double radius)
{
    enum { WIDE = 128 };
    static double complex h[WIDE][WIDE], rows[WIDE][WIDE], turns[WIDE];
    double beyond = 0, all = 0;
    for (int i = 0; i < WIDE; i++)
        turns[i] = conj(turn(i / (double)WIDE));
    for (int v = 0; v < WIDE; v++)
        for (int u = 0; u < WIDE; u++)
            h[v][u] = filter_chain_response(chain, (u <= WIDE / 2 ? u : u - WIDE) / (double)WIDE,
                                            (v <= WIDE / 2 ? v : v - WIDE) / (double)WIDE);
    for (int v = 0; v < WIDE; v++)
        for (int x = 0; x < WIDE; x++) {
            rows[v][x] = 0;
            for (int u = 0; u < WIDE; u++)
                rows[v][x] += h[v][u] * turns[u * x % WIDE];
        }
    for (int y = 0; y < WIDE; y++)
        for (int x = 0; x < WIDE; x++) {
            double complex value = 0;
            for (int v = 0; v < WIDE; v++)
                value += rows[v][x] * turns[v * y % WIDE];
            const double energy = creal(value) * creal(value);
            all += energy;
            if (hypot(x < WIDE / 2 ? x : WIDE - x, y < WIDE / 2 ? y : WIDE - y) > radius)
                beyond += energy;
        }
    return beyond / all;
}

static void energy_is_within_support(const char *text, double most)
{
    const struct filter_chain chain = chain_of(text);
    const double radius = filter_chain_support(&chain);
    const double beyond = energy_beyond(&chain, radius);
    if (!(beyond <= most))
        fail_msg("%s: %g of the energy is beyond %g pixels", text, beyond, radius);
}

static void support_holds_the_energy(void **state)
{
    (void)state;
    static const struct {
        const char *chain;
        double beyond;
    } cases[] = {
        {"convolve:kernel=1 2 3/4 5 6/7 8 9", 1e-12},
        {"convolve:kernel=1 2 3 4/7 8 9 1,anchor=-1/3", 1e-12},
        {"gradient:sigma=1,dc=0", 1e-3},
        {"gradient:sigma=4,along=y,dc=0", 1e-3},
        {"shift:by=7/-9", 1e-12},
        {"shift:by=0.5/0", 0.01},
        {"wiener:size=1", 1e-3},
        {"wiener:size=3,noise=0.001,falloff=0", 1e-3},
        {"wiener:size=3,noise=0.001", 1e-3},
        {"wiener:blur=disk,size=4", 0.01},
        {"wiener:blur=motion,size=6,angle=20", 0.01},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        energy_is_within_support(cases[i].chain, cases[i].beyond);
    unsigned count;
    const struct filter_kind *const *kinds = filter_kinds(&count);
    for (unsigned i = 0; i < count; i++)
        if ((kinds[i]->response != NULL || kinds[i]->complex_response != NULL) &&
            strstr(kinds[i]->example, "image=") == NULL)
            energy_is_within_support(kinds[i]->example, 2e-3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(convolutions_are_what_they_say),
        cmocka_unit_test(symmetric_kernels_are_real),
        cmocka_unit_test(kernels_are_read_and_printed),
        cmocka_unit_test(whole_shifts_move_pixels),
        cmocka_unit_test(waves_move_and_have_slopes),
        cmocka_unit_test(wiener_follows_its_formula),
        cmocka_unit_test(support_holds_the_energy),
    };
    return cmocka_run_group_tests_name("filter_complex", tests, NULL, NULL);
}
