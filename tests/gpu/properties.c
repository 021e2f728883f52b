/* Tests of the properties of every linear filter with a real response: linearity, Parseval's
 * theorem, shift invariance, a symmetric impulse response. Random sizes are compared with double
 * precision. Tests that wrap around use sizes without padding. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/cmocka.h"
#include "support/device.h"
#include "support/floats.h"
#include "support/queue.h"
#include "support/reference.h"

#include "transform/transform.h"

#define WIDTH       96 /* WIDTH x HEIGHT needs no padding with any settings */
#define HEIGHT      48
#define COUNT       (WIDTH * HEIGHT)
#define TOLERANCE   1e-6 /* relative L2; each of two results has at most 5e-7 */
#define LOWPASS     "lowpass:shape=gaussian,cutoff=0.1"
#define SHARPEN     "sharpen:amount=0.7,sigma=1.5"
#define KINDS       3
#define RANDOM_SIZE 6

/* Returns one of several settings: the device's defaults; staged; a GPU's, with numbers held in
 * registers. */
static struct transform_tuning tuning_of(unsigned kind)
{
    struct transform_tuning tuning;
    transform_default_tuning(&tuning, device);
    if (kind == 1)
        tuning.technique = TRANSFORM_STAGED;
    if (kind == 2) {
        tuning.lanes = 1;
        tuning.order = PLAN_ROWS_FIRST;
        tuning.columns_held = tuning.rows_held = true;
        tuning.twiddles = TWIDDLES_COMBINED;
    }
    if (kind != 0)
        tuning.column_group = tuning.row_group = 16;
    return tuning;
}

struct shape {
    uint32_t width, height, margin;
    enum plan_border border;
};

static const struct shape wrapping = {WIDTH, HEIGHT, 0, PLAN_WRAP};

/* Filters `count` images of one shape, one after another, in place. */
static struct plan filter(unsigned kind, const struct shape *shape, const char *text, float *images,
                          unsigned count)
{
    const struct transform_image image = floats_image(shape->width, shape->height, 1);
    const struct transform_border border = {
        .mode = shape->border, .margin_x = shape->margin, .margin_y = shape->margin};
    struct transform_tuning tuning = tuning_of(kind);
    const size_t bytes = (size_t)shape->width * shape->height * sizeof *images;
    struct transform *transform = NULL;
    struct transform_frame *frame = NULL;
    struct filter_chain chain;
    struct error why, warning;
    if (shape == &wrapping) { /* even if a padded size is faster */
        tuning.length_x = WIDTH;
        tuning.length_y = HEIGHT;
    }
    if (filter_chain_parse(&chain, text, &why) < 0 ||
        transform_create(&transform, device, &image, &border, &tuning, NULL, &warning, &why) < 0 ||
        transform_frame_create(&frame, transform, &why) < 0)
        fail_msg("%s", why.text);
    void *values = malloc(transform_response_bytes(transform));
    uint32_t band;
    assert_int_equal(transform_response_fill(transform, values, &chain, 1, 1, &band, &why), 0);
    const struct transform_buffers buffers = {
        .image = device_buffer(bytes, NULL),
        .result = device_buffer(bytes, NULL),
        .response = {device_buffer(transform_response_bytes(transform), values), band}};
    for (unsigned i = 0; i < count; i++) {
        float *at = images + i * (bytes / sizeof *images);
        assert_int_equal(
            clEnqueueWriteBuffer(queue, buffers.image, CL_TRUE, 0, bytes, at, 0, NULL, NULL),
            CL_SUCCESS);
        if (transform_frame_enqueue(frame, queue, &buffers, NULL, NULL, &why) < 0)
            fail_msg("%s", why.text);
        assert_int_equal(
            clEnqueueReadBuffer(queue, buffers.result, CL_TRUE, 0, bytes, at, 0, NULL, NULL),
            CL_SUCCESS);
    }
    const struct plan plan = *transform_plan(transform);
    if (shape == &wrapping && (plan.x.length != WIDTH || plan.y.length != HEIGHT))
        fail_msg("%dx%d is padded to %ux%u", WIDTH, HEIGHT, plan.x.length, plan.y.length);
    free(values);
    transform_frame_destroy(frame);
    clReleaseMemObject(buffers.image);
    clReleaseMemObject(buffers.result);
    clReleaseMemObject(buffers.response.numbers);
    transform_destroy(transform);
    return plan;
}

static void fill_noise(float *image, size_t count, uint64_t seed)
{
    uint64_t state = seed;
    for (size_t i = 0; i < count; i++)
        image[i] = (float)(255 * reference_noise(&state));
}

/* ||a - b|| / ||scale|| */
static double distance(const float *a, const float *b, const float *scale)
{
    double difference = 0, norm = 0;
    for (unsigned i = 0; i < COUNT; i++) {
        difference += (a[i] - b[i]) * (double)(a[i] - b[i]);
        norm += scale[i] * (double)scale[i];
    }
    return sqrt(difference / norm);
}

static double dot(const float *a, const float *b)
{
    double sum = 0;
    for (unsigned i = 0; i < COUNT; i++)
        sum += a[i] * (double)b[i];
    return sum;
}

static void test_linearity(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < KINDS; kind++) {
        static float in[3][COUNT], out[3][COUNT], sum[COUNT];
        fill_noise(in[0], COUNT, 1);
        fill_noise(in[1], COUNT, 2);
        for (unsigned i = 0; i < COUNT; i++)
            in[2][i] = 2 * in[0][i] - 3 * in[1][i];
        memcpy(out, in, sizeof out);
        filter(kind, &wrapping, SHARPEN, out[0], 3);
        for (unsigned i = 0; i < COUNT; i++)
            sum[i] = 2 * out[0][i] - 3 * out[1][i];
        /* Each addend contributes an error proportional to its size. */
        assert_true(distance(out[2], sum, in[0]) < 5 * TOLERANCE);
        assert_true(distance(out[2], in[2], in[2]) > 0.01); /* the filter has an effect */
    }
}

static void test_shifted_image_shifted_result(void **state)
{
    (void)state;
    static const unsigned shifts[][2] = {{1, 0}, {0, 1}, {WIDTH / 2, HEIGHT / 2}, {17, 31}};
    for (unsigned kind = 0; kind < KINDS; kind++) {
        static float in[COUNT], out[5][COUNT], moved[COUNT];
        fill_noise(in, COUNT, 3);
        memcpy(out[0], in, sizeof in);
        for (unsigned s = 0; s < 4; s++)
            for (unsigned i = 0; i < COUNT; i++)
                out[s + 1][(i / WIDTH + shifts[s][1]) % HEIGHT * WIDTH +
                           (i % WIDTH + shifts[s][0]) % WIDTH] = in[i];
        filter(kind, &wrapping, LOWPASS, out[0], 5);
        for (unsigned s = 0; s < 4; s++) {
            for (unsigned i = 0; i < COUNT; i++)
                moved[(i / WIDTH + shifts[s][1]) % HEIGHT * WIDTH +
                      (i % WIDTH + shifts[s][0]) % WIDTH] = out[0][i];
            assert_true(distance(out[s + 1], moved, in) < TOLERANCE);
        }
    }
}

/* With H = 1 an impulse returns unchanged. A lowpass with gain 1 at frequency 0 keeps its sum and
 * makes it a symmetric spot, because a real response has no phase. */
static void test_impulse(void **state)
{
    (void)state;
    const unsigned x = 7, y = 40;
    for (unsigned kind = 0; kind < KINDS; kind++) {
        static float in[COUNT], out[COUNT];
        memset(in, 0, sizeof in);
        in[y * WIDTH + x] = 255;
        memcpy(out, in, sizeof in);
        filter(kind, &wrapping, "none", out, 1);
        assert_true(distance(out, in, in) < TOLERANCE);

        memcpy(out, in, sizeof in);
        filter(kind, &wrapping, LOWPASS, out, 1);
        double sum = 0;
        for (unsigned dy = 0; dy < HEIGHT; dy++)
            for (unsigned dx = 0; dx < WIDTH; dx++) {
                const float there = out[(y + dy) % HEIGHT * WIDTH + (x + dx) % WIDTH];
                const float across =
                    out[(y + HEIGHT - dy) % HEIGHT * WIDTH + (x + WIDTH - dx) % WIDTH];
                assert_true(fabsf(there - across) < 255 * TOLERANCE);
                assert_true(there <= out[y * WIDTH + x]);
                sum += there;
            }
        assert_true(fabs(sum - 255) < 255 * TOLERANCE * 10);
    }
}

/* The energy of the result is sum |H|^2 |F|^2 over the frequencies, and so is the product of the
 * image with the image filtered twice. In the product of two images either one may be filtered. */
static void test_parseval(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < KINDS; kind++) {
        static float a[COUNT], b[COUNT], once[2][COUNT], twice[COUNT];
        fill_noise(a, COUNT, 4);
        fill_noise(b, COUNT, 5);
        memcpy(once[0], a, sizeof a);
        memcpy(once[1], b, sizeof b);
        memcpy(twice, a, sizeof a);
        filter(kind, &wrapping, SHARPEN, once[0], 2);
        filter(kind, &wrapping, SHARPEN " | " SHARPEN, twice, 1);
        assert_true(fabs(dot(once[0], once[0]) / dot(a, twice) - 1) < TOLERANCE);
        assert_true(fabs(dot(once[0], b) / dot(a, once[1]) - 1) < TOLERANCE);
        assert_true(fabs(dot(once[0], once[0]) / dot(a, a) - 1) > 0.01);
    }
}

static uint32_t pick(uint64_t *state, uint32_t from, uint32_t to)
{
    return from + (uint32_t)(reference_noise(state) * (to - from + 1));
}

static void test_sizes_at_random(void **state)
{
    (void)state;
    uint64_t seed = 20;
    for (unsigned n = 0; n < RANDOM_SIZE; n++) {
        const uint32_t largest = device_takes(300, 300) ? 300 : 60;
        const struct shape shape = {pick(&seed, 16, largest), pick(&seed, 16, largest),
                                    pick(&seed, 0, 40), (enum plan_border)pick(&seed, 0, 3)};
        const size_t count = (size_t)shape.width * shape.height;
        float *image = malloc(count * sizeof *image);
        double *in = malloc(count * sizeof *in), *expected = malloc(count * sizeof *expected);
        struct filter_chain chain;
        struct error why;
        assert_int_equal(filter_chain_parse(&chain, SHARPEN, &why), 0);
        fill_noise(image, count, n);
        for (size_t i = 0; i < count; i++)
            in[i] = image[i];
        const struct plan plan = filter(n % KINDS, &shape, SHARPEN, image, 1);
        const struct reference reference = {.width = shape.width,
                                            .height = shape.height,
                                            .padded_x = plan.x.length,
                                            .padded_y = plan.y.length,
                                            .border = shape.border,
                                            .sub_x = 1,
                                            .sub_y = 1,
                                            .chain = &chain};
        reference_filter(&reference, in, expected);
        double difference = 0, norm = 0;
        for (size_t i = 0; i < count; i++) {
            difference += (image[i] - expected[i]) * (image[i] - expected[i]);
            norm += in[i] * in[i];
        }
        const double error = sqrt(difference / norm);
        print_message("# %ux%u+%u in %ux%u, kind %u: error %.2g\n", shape.width, shape.height,
                      shape.margin, plan.x.length, plan.y.length, n % KINDS, error);
        assert_true(error <= 5e-7);
        free(image);
        free(in);
        free(expected);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_linearity), cmocka_unit_test(test_shifted_image_shifted_result),
        cmocka_unit_test(test_impulse), cmocka_unit_test(test_parseval),
        cmocka_unit_test(test_sizes_at_random)};
    return cmocka_run_group_tests(tests, queue_setup, queue_teardown);
}
