/* Planes of chroma that become smaller on the host: their frequencies, against a model in double
 * precision, and that nothing overflows. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/cmocka.h"
#include "support/reference.h"

#include "transform/resampler.h"

static struct resampler *create(const struct resampler_size *size)
{
    struct resampler *ret;
    struct error why = {""};
    if (resampler_create(&ret, size, &why) < 0)
        fail_msg("%s", why.text);
    return ret;
}

/* The magnitude of the response at a frequency, in units of half the sampling rate of the result,
 * where an axis becomes `ratio` times shorter and a sample's middle is `offset` from the nearest
 * one before it. */
static double magnitude(double frequency, double ratio, double offset)
{
    double re = 0, im = 0, sum = 0;
    const int reach = (int)ceil(RESAMPLER_REACH * ratio) + 1;
    for (int k = -reach; k <= reach; k++) {
        const double distance = (k - offset) / ratio;
        const double weight = resampler_impulse(distance);
        re += weight * cos(M_PI * frequency * distance);
        im += weight * sin(M_PI * frequency * distance);
        sum += weight;
    }
    return hypot(re, im) / sum;
}

/* Almost half of what the result can have is kept, and nothing is folded. */
static void keeps_half_and_folds_nothing(void **state)
{
    (void)state;
    static const double ratios[] = {1.25, 1.5, 2, 3, 4, 8};
    for (size_t i = 0; i < sizeof ratios / sizeof ratios[0]; i++) {
        double most_change = 0, most_folded = 1e-9;
        for (int k = 0; k < 4; k++) {
            const double offset = k / 4.;
            for (int f = 0; f <= 0.45 * 256; f++)
                most_change = fmax(most_change, fabs(magnitude(f / 256., ratios[i], offset) - 1));
            for (int f = 256; f <= ratios[i] * 256; f++)
                most_folded = fmax(most_folded, magnitude(f / 256., ratios[i], offset));
        }
        print_message("# 1/%g: kept within %.2f %%, folded %.1f dB, 3/4 of the band %.1f dB\n",
                      ratios[i], 100 * most_change, 20 * log10(most_folded),
                      20 * log10(magnitude(0.75, ratios[i], 0.5)));
        assert_true(most_change < 0.01);
        assert_true(20 * log10(most_folded) < -50);
    }
}

struct shape {
    struct resampler_size size;
    unsigned step;
};

static const struct shape shapes[] = {
    {{640, 360, 320, 180, 2}, 1}, {{640, 360, 160, 90, 2}, 1}, {{320, 120, 160, 60, 1}, 1},
    {{320, 240, 200, 150, 2}, 2}, {{161, 77, 53, 76, 1}, 1},   {{300, 40, 300, 17, 2}, 1},
    {{96, 33, 31, 33, 2}, 2},     {{640, 16, 8, 8, 2}, 1},     {{20, 20, 20, 20, 1}, 1},
    {{8, 8, 1, 1, 2}, 1},         {{1, 9, 1, 2, 1}, 1}};

/* What rounding may do to a sample besides half a step: a product is rounded to a 128th or a 64th,
 * and this is six standard deviations of their sum. */
static double rounding(const struct resampler_size *s)
{
    const double across = 2. * RESAMPLER_REACH * s->columns / s->to_columns;
    const double down = 2. * RESAMPLER_REACH * s->rows / s->to_rows;
    return 6 / sqrt(12) * sqrt(across / (64 * 64) + down / (128 * 128));
}

/* Makes a plane smaller, in which `fill` gives each sample, and returns the largest difference
 * from the model. What is beside the samples must not change. */
static double check(const struct shape *shape, uint8_t (*fill)(uint64_t *state, size_t i))
{
    const struct resampler_size *s = &shape->size;
    const size_t row = (size_t)s->columns * s->channels,
                 to_row = (size_t)s->to_columns * s->channels;
    const size_t stride = row * shape->step + 5, to_stride = to_row + 3;
    struct resampler *resampler = create(s);
    uint8_t *in = malloc(stride * s->rows), *out = malloc(to_stride * s->to_rows);
    double *exact = malloc(sizeof *exact * s->columns * s->rows), worst = 0;
    double *expected = malloc(sizeof *expected * s->to_columns * s->to_rows);
    uint64_t state = row;
    for (size_t i = 0; i < stride * s->rows; i++)
        in[i] = fill(&state, i);
    memset(out, 77, to_stride * s->to_rows);
    resampler_run(resampler, out, to_stride, in, stride, shape->step);
    resampler_run(resampler, out, to_stride, in, stride, shape->step);
    for (unsigned c = 0; c < s->channels; c++) {
        for (size_t y = 0; y < s->rows; y++)
            for (size_t x = 0; x < s->columns; x++)
                exact[y * s->columns + x] = in[y * stride + (x * s->channels + c) * shape->step];
        reference_resample(exact, s->columns, s->rows, expected, s->to_columns, s->to_rows);
        for (size_t y = 0; y < s->to_rows; y++)
            for (size_t x = 0; x < s->to_columns; x++) {
                const double want = fmin(fmax(expected[y * s->to_columns + x], 0), 255);
                const uint8_t got = out[y * to_stride + x * s->channels + c];
                worst = fmax(worst, fabs(got - want));
            }
    }
    for (size_t y = 0; y < s->to_rows; y++)
        for (size_t x = to_row; x < to_stride; x++)
            assert_int_equal(out[y * to_stride + x], 77);
    resampler_destroy(resampler);
    free(in);
    free(out);
    free(exact);
    free(expected);
    return worst;
}

static uint8_t noise(uint64_t *state, size_t i)
{
    (void)i;
    return (uint8_t)(256 * reference_noise(state));
}

/* Black and white: the largest sums that samples without a pattern can have. */
static uint8_t extreme(uint64_t *state, size_t i)
{
    (void)i;
    return reference_noise(state) < 0.5 ? 0 : 255;
}

static void is_the_model(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        const struct resampler_size *s = &shapes[i].size;
        const double worst = fmax(check(&shapes[i], noise), check(&shapes[i], extreme));
        print_message("# %ux%u to %ux%u: off by at most %.3f\n", s->columns, s->rows, s->to_columns,
                      s->to_rows, worst);
        assert_true(worst < 0.5 + rounding(s));
    }
}

static int16_t multiply(int16_t sample, int16_t tap)
{
    return (int16_t)((((int32_t)sample * tap >> 14) + 1) >> 1);
}

/* A scalar model of resampler.c's integer arithmetic, for one result. */
static uint8_t integer_model(const struct resampler *resampler, const uint8_t *plane,
                             const struct resampler_size *s, uint32_t x, uint32_t y, unsigned c)
{
    const struct resampler_axis *across = resampler_axes(resampler), *down = across + 1;
    int16_t sum = 0;
    for (uint32_t i = 0; i < across->taps && across->first[x] + i < s->columns; i++) {
        int16_t column = 0;
        for (uint32_t k = 0; k < down->taps && down->first[y] + k < s->rows; k++) {
            const size_t row = (size_t)(down->first[y] + k) * s->columns;
            const int sample = plane[(row + across->first[x] + i) * s->channels + c];
            column = (int16_t)(column + multiply((int16_t)((sample - 128) * 256),
                                                 down->tap[(size_t)y * down->taps + k]));
        }
        sum = (int16_t)(sum + multiply(column, across->tap[(size_t)x * across->taps + i]));
    }
    const int value = (((sum >> 5) + 1) >> 1) + 128;
    return (uint8_t)(value < 0 ? 0 : value > 255 ? 255 : value);
}

/* Every vector length, and a device, give exactly these integers. */
static void is_the_integer_model(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        const struct resampler_size *s = &shapes[i].size;
        const size_t row = (size_t)s->columns * s->channels;
        const size_t to_row = (size_t)s->to_columns * s->channels;
        struct resampler *resampler = create(s);
        uint8_t *in = malloc(row * s->rows), *out = malloc(to_row * s->to_rows);
        uint64_t seed = i + 1;
        for (size_t k = 0; k < row * s->rows; k++)
            in[k] = i % 2 == 0 ? noise(&seed, k) : extreme(&seed, k);
        resampler_run(resampler, out, to_row, in, row, 1);
        for (uint32_t y = 0; y < s->to_rows; y++)
            for (uint32_t x = 0; x < s->to_columns; x++)
                for (unsigned c = 0; c < s->channels; c++)
                    if (out[y * to_row + x * s->channels + c] !=
                        integer_model(resampler, in, s, x, y, c))
                        fail_msg("%ux%u to %ux%u: column %u, row %u", s->columns, s->rows,
                                 s->to_columns, s->to_rows, x, y);
        resampler_destroy(resampler);
        free(in);
        free(out);
    }
}

/* The largest sum that there can be, and its negative: each sample is white where its tap is
 * positive, and black where it is negative. */
static void nothing_overflows(void **state)
{
    (void)state;
    enum { SIDE = 96, SMALLER = 32, PLACE = 16 };
    const struct resampler_size size = {SIDE, SIDE, SMALLER, SMALLER, 1};
    struct resampler *resampler = create(&size);
    static uint8_t in[SIDE * SIDE], out[SMALLER * SMALLER];
    for (unsigned sign = 0; sign < 2; sign++) {
        for (int i = 0; i < SIDE * SIDE; i++) {
            const int row = i / SIDE, column = i % SIDE;
            const double x = (column - (PLACE * 3. + 1)) / 3;
            const double y = (row - (PLACE * 3. + 1)) / 3;
            const bool is_positive = resampler_impulse(x) * resampler_impulse(y) > 0;
            in[i] = is_positive == (sign == 0) ? 255 : 0;
        }
        resampler_run(resampler, out, SMALLER, in, SIDE, 1);
        assert_int_equal(out[PLACE * SMALLER + PLACE], sign == 0 ? 255 : 0);
    }
    resampler_destroy(resampler);
}

/* Many small products of the same number may all be rounded in one direction. */
static void constant_planes_stay(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        const struct resampler_size *s = &shapes[i].size;
        const size_t row = (size_t)s->columns * s->channels, bytes = row * s->rows;
        const size_t to_row = (size_t)s->to_columns * s->channels, to_bytes = to_row * s->to_rows;
        struct resampler *resampler = create(s);
        uint8_t *in = malloc(bytes), *out = malloc(to_bytes);
        for (unsigned value = 0; value<256; value += bytes> 100000 ? 51 : 1) {
            memset(in, (int)value, bytes);
            resampler_run(resampler, out, to_row, in, row, 1);
            for (size_t k = 0; k < to_bytes; k++)
                assert_true(abs(out[k] - (int)value) <= (s->columns > 8 * s->to_columns ? 2 : 0));
        }
        resampler_destroy(resampler);
        free(in);
        free(out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_half_and_folds_nothing), cmocka_unit_test(is_the_model),
        cmocka_unit_test(is_the_integer_model),         cmocka_unit_test(nothing_overflows),
        cmocka_unit_test(constant_planes_stay),
    };
    return cmocka_run_group_tests_name("resampler", tests, NULL, NULL);
}
