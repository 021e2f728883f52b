/* Tests of the transform alone on floats: its error against double precision for all forms of a
 * plan. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/cmocka.h"
#include "support/device.h"
#include "support/floats.h"
#include "support/reference.h"

#include "transform/transform.h"
#include "transform/tuner.h"

struct shape {
    uint32_t width, height, margin;
    enum plan_border border;
    const char *chain;
    unsigned more; /* images of this shape besides the first, in the same dispatches */
};

static size_t pixel_count(const struct shape *shape)
{
    return (size_t)shape->width * shape->height;
}

struct fixture {
    struct gpu_device *device;
    cl_command_queue queue;
};

static const char *const chains[] = {
    "none",
    "lowpass:shape=gaussian,cutoff=0.1",
    "lowpass:shape=ideal,cutoff=0.2",
    "highpass:shape=butterworth,cutoff=0.05,order=2",
    "bandpass:low=0.05,high=0.2",
    "bandstop:low=0.1,high=0.3,shape=ideal",
    "notch:at=0.25/0.1,width=0.02",
    "gaussian-blur:sigma=3 | sharpen:amount=1.5,sigma=2",
};

static struct transform *make(struct fixture *f, const struct transform_tuning *tuning,
                              const struct shape *shape)
{
    const struct transform_image image = floats_image(shape->width, shape->height, shape->more + 1);
    const struct transform_border border = {
        .mode = shape->border, .value = 100, .margin_x = shape->margin, .margin_y = shape->margin};
    struct transform *t;
    struct error why = {""}, warning = {""};
    if (transform_create(&t, f->device, &image, &border, tuning, NULL, &warning, &why) < 0)
        fail_msg("%ux%u: %s", shape->width, shape->height, why.text);
    return t;
}

/* Leaves NaN in all of a frame's spectrum, so that a frame with a narrower band fails if it reads
 * what it has not stored. */
static void spoil_spectrum(struct fixture *f, struct transform_frame *frame, size_t count,
                           const struct transform_buffers *like)
{
    struct error why;
    float *values = malloc(count * sizeof *values);
    for (size_t i = 0; i < count; i++)
        values[i] = NAN;
    struct transform_buffers buffers = *like;
    buffers.image = device_buffer(count * sizeof *values, values);
    buffers.response.band = 0;
    if (transform_frame_enqueue(frame, f->queue, &buffers, NULL, NULL, &why) < 0)
        fail_msg("%s", why.text);
    clReleaseMemObject(buffers.image);
    free(values);
}

/* Filters `count` samples of images with a response and its band; 0: all pairs. */
static void run_response(struct fixture *f, const struct transform *t, const void *response,
                         uint32_t band, const float *in, float *out, size_t count)
{
    struct error why = {""};
    cl_event first = NULL, last = NULL;
    struct transform_frame *frame;
    const struct transform_buffers buffers = {
        .image = device_buffer(count * sizeof *in, in),
        .result = device_buffer(count * sizeof *out, NULL),
        .response = {device_buffer(transform_response_bytes(t), response), band}};
    if (transform_frame_create(&frame, t, &why) < 0)
        fail_msg("%s", why.text);
    if (band < plan_pair_count(transform_plan(t)))
        spoil_spectrum(f, frame, count, &buffers);
    if (transform_frame_enqueue(frame, f->queue, &buffers, &first, &last, &why) < 0)
        fail_msg("%s", why.text);
    assert_int_equal(clEnqueueReadBuffer(f->queue, buffers.result, CL_TRUE, 0, count * sizeof *out,
                                         out, 0, NULL, NULL),
                     CL_SUCCESS);
    clReleaseEvent(first);
    clReleaseEvent(last);
    transform_frame_destroy(frame);
    clReleaseMemObject(buffers.image);
    clReleaseMemObject(buffers.result);
    clReleaseMemObject(buffers.response.numbers);
}

/* Runs one transform over the images in `in`; returns their results and the padded size. */
static void run(struct fixture *f, const struct transform_tuning *tuning, const struct shape *shape,
                const struct filter_chain *chain, const float *in, float *out, struct plan *ret)
{
    struct transform *t = make(f, tuning, shape);
    void *values = malloc(transform_response_bytes(t));
    struct error why = {""};
    uint32_t band;
    assert_int_equal(transform_response_fill(t, values, chain, 1, 1, &band, &why), 0);
    run_response(f, t, values, band, in, out, pixel_count(shape) * (shape->more + 1));
    *ret = *transform_plan(t);
    free(values);
    transform_destroy(t);
}

static double *random_images(const struct shape *shape, float **ret_float)
{
    const size_t count = pixel_count(shape) * (shape->more + 1);
    uint64_t state = count;
    double *image = malloc(count * sizeof *image);
    *ret_float = malloc(count * sizeof **ret_float);
    for (size_t i = 0; i < count; i++)
        image[i] = (*ret_float)[i] = (float)(255 * reference_noise(&state));
    return image;
}

/* The relative L2 error, and the error's size in units of full scale 255. */
static double measure(struct fixture *f, const struct transform_tuning *wanted,
                      const struct shape *shape, double *ret_rms)
{
    struct transform_tuning tuning = *wanted;
    const size_t count = pixel_count(shape) * (shape->more + 1);
    struct filter_chain chain;
    struct error why;
    struct plan plan;
    float *in_float;
    double *in = random_images(shape, &in_float);
    float *out_float = malloc(count * sizeof *out_float);
    double *out = malloc(count * sizeof *out);
    double *expected = malloc(count * sizeof *expected);
    if (filter_chain_parse(&chain, shape->chain, &why) < 0)
        fail_msg("%s", why.text);
    tuning.recipe.complex_response = filter_chain_is_complex(&chain);
    run(f, &tuning, shape, &chain, in_float, out_float, &plan);
    const struct reference reference = {.width = shape->width,
                                        .height = shape->height,
                                        .padded_x = plan.x.length,
                                        .padded_y = plan.y.length,
                                        .border = shape->border,
                                        .border_value = 100,
                                        .sub_x = 1,
                                        .sub_y = 1,
                                        .chain = &chain};
    for (size_t first = 0; first < count; first += pixel_count(shape))
        reference_filter(&reference, in + first, expected + first);
    *ret_rms = 0;
    for (size_t i = 0; i < count; i++) {
        out[i] = out_float[i];
        *ret_rms += (out[i] - expected[i]) * (out[i] - expected[i]) / (double)count;
    }
    *ret_rms = sqrt(*ret_rms);
    /* The error is relative to the input, because a filter that removes almost everything leaves a
     * result that is too small to compare with. */
    double difference = 0, norm = 0;
    for (size_t i = 0; i < count; i++) {
        difference += (out[i] - expected[i]) * (out[i] - expected[i]);
        norm += in[i] * in[i];
    }
    free(in);
    free(in_float);
    free(out);
    free(out_float);
    free(expected);
    return sqrt(difference / norm);
}

static void check(struct fixture *f, const struct transform_tuning *tuning,
                  const struct shape *shape)
{
    double rms;
    const double error = measure(f, tuning, shape, &rms);
    print_message("# %ux%u+%u %s: error %.2g\n", shape->width, shape->height, shape->margin,
                  shape->chain, error);
    if (!(error <= 5e-7))
        fail_msg("%ux%u margin %u border %d, %s: relative error %g", shape->width, shape->height,
                 shape->margin, shape->border, shape->chain, error);
}

/* Returns the device's settings. Rows first is possible only with one lane. */
static struct transform_tuning fused(const struct fixture *f, enum plan_order order)
{
    struct transform_tuning tuning;
    transform_default_tuning(&tuning, f->device);
    tuning.order = order;
    if (order == PLAN_ROWS_FIRST && tuning.lanes > 1) {
        tuning.lanes = 1;
        tuning.columns = 4;
    }
    return tuning;
}

static void check_sizes(struct fixture *f, enum plan_order order)
{
    static const uint32_t sizes[][2] = {{16, 16},    {17, 31},    {60, 48},    {120, 120},
                                        {256, 256},  {641, 479},  {640, 480},  {1000, 1000},
                                        {1280, 720}, {1366, 768}, {1920, 1080}};
    const struct transform_tuning tuning = fused(f, order);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        const struct shape shape = {sizes[i][0], sizes[i][1], 0, PLAN_MIRROR, chains[1], 0};
        /* An odd size with small factors, and one with large ones. */
        const bool quick = i == 1 || i == (order == PLAN_ROWS_FIRST ? 9 : 5);
        if (device_takes(shape.width, shape.height) && (quick || device_takes_every_layout()))
            check(f, &tuning, &shape);
    }
}

static void test_sizes(void **state)
{
    check_sizes(*state, PLAN_COLUMNS_FIRST);
}

static void test_sizes_rows_first(void **state)
{
    check_sizes(*state, PLAN_ROWS_FIRST);
}

static void test_filters_and_borders(void **state)
{
    struct fixture *f = *state;
    for (int order = PLAN_COLUMNS_FIRST; order <= PLAN_ROWS_FIRST; order++) {
        const struct transform_tuning tuning = fused(f, (enum plan_order)order);
        for (int border = PLAN_MIRROR; border <= PLAN_WRAP; border++)
            for (size_t i = 0; i < sizeof chains / sizeof chains[0]; i++) {
                const struct shape shape = {60, 48, 20, (enum plan_border)border, chains[i], 0};
                check(f, &tuning, &shape);
            }
    }
}

/* Tests every radix in every order that the planner finds for small lengths, with a response that
 * passes all frequencies and with one that has a narrow band. */
static void test_radices(void **state)
{
    struct fixture *f = *state;
    const struct {
        unsigned lanes;
        enum plan_order order;
    } kinds[] = {{1, PLAN_COLUMNS_FIRST},
                 {device_compiles_wide_lanes() ? 8 : 4, PLAN_COLUMNS_FIRST},
                 {1, PLAN_ROWS_FIRST}};
    for (size_t kind = 0; kind < sizeof kinds / sizeof kinds[0]; kind++) {
        static const struct {
            uint32_t size;
            unsigned max_radix;
        } cases[] = {{16, 4}, {50, 5}, {63, 7}, {90, 9}, {120, 16}, {225, 16}};
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
            struct transform_tuning tuning = fused(f, kinds[kind].order);
            const bool rows_first = kinds[kind].order == PLAN_ROWS_FIRST;
            tuning.lanes = kinds[kind].lanes;
            tuning.max_radix = cases[i].max_radix;
            const struct shape shape = {rows_first ? cases[i].size : 2 * cases[i].size,
                                        rows_first ? 2 * cases[i].size : cases[i].size,
                                        0,
                                        PLAN_MIRROR,
                                        chains[1],
                                        0};
            struct shape narrow = shape;
            narrow.chain = chains[7];
            if (device_takes(shape.width, shape.height) &&
                (i % 3 == kind || device_takes_every_layout())) {
                check(f, &tuning, &shape);
                check(f, &tuning, &narrow);
            }
        }
    }
}

/* A response of 1 with a band has the result of one that is 0 outside the band. Kernels that
 * compute all lines pass every other test. */
static void check_band(struct fixture *f, const struct transform_tuning *tuning)
{
    const struct shape shape = {60, 48, 7, PLAN_MIRROR, chains[0], 0};
    const size_t count = pixel_count(&shape);
    struct transform *t = make(f, tuning, &shape);
    const struct plan_axis *axis = plan_first(transform_plan(t));
    const size_t numbers = transform_response_frequencies(t, NULL);
    const uint32_t leg = axis->length / axis->radix[axis->stage_count - 1];
    const uint32_t band = transform_tuning(t)->order == PLAN_ROWS_FIRST ? leg : 5;
    uint16_t(*frequency)[2] = malloc(numbers * sizeof *frequency);
    float *response = malloc(transform_response_bytes(t)), *in, most = 0, worst = 0;
    float *expected = malloc(count * sizeof *expected), *out = malloc(count * sizeof *out);
    struct filter_chain none, blur;
    uint32_t all, few;
    assert_int_equal(filter_chain_parse(&none, "none", NULL), 0);
    assert_int_equal(filter_chain_parse(&blur, "gaussian-blur:sigma=10", NULL), 0);
    free(random_images(&shape, &in));
    transform_response_frequencies(t, frequency);
    assert_int_equal(transform_response_fill(t, response, &blur, 1, 1, &few, NULL), 0);
    assert_in_range(few, 1, axis->length / 2);
    assert_int_equal(transform_response_fill(t, response, &none, 1, 1, &all, NULL), 0);
    assert_int_equal(all, axis->length / 2 + 1);
    run_response(f, t, response, band, in, out, count);
    for (size_t i = 0; i < numbers; i++)
        if (frequency[i][0] >= band && axis->length - frequency[i][0] >= band)
            response[i] = 0;
    run_response(f, t, response, 0, in, expected, count);
    for (size_t i = 0; i < count; i++) {
        most = fmaxf(most, fabsf(expected[i] - in[i]));
        worst = fmaxf(worst, fabsf(expected[i] - out[i]));
    }
    assert_true(most > 10);
    if (!(worst < 1e-3f))
        fail_msg("lanes %u, order %d: a band of %u is off by %g", transform_tuning(t)->lanes,
                 (int)transform_tuning(t)->order, band, (double)worst);
    free(frequency);
    free(response);
    free(in);
    free(expected);
    free(out);
    transform_destroy(t);
}

static void test_bands(void **state)
{
    struct fixture *f = *state;
    struct transform_tuning tunings[] = {fused(f, PLAN_COLUMNS_FIRST), fused(f, PLAN_COLUMNS_FIRST),
                                         fused(f, PLAN_ROWS_FIRST), fused(f, PLAN_COLUMNS_FIRST)};
    tunings[0].lanes = 1;
    tunings[1].lanes = 4;
    tunings[3].technique = TRANSFORM_STAGED;
    for (size_t i = 0; i < sizeof tunings / sizeof tunings[0]; i++)
        check_band(f, &tunings[i]);
}

static void test_groups(void **state)
{
    struct fixture *f = *state;
    static const struct {
        unsigned lanes, group, columns, rows;
        bool skew, columns_held, rows_held;
        enum transform_twiddles twiddles;
    } cases[] = {{1, 128, 8, 1, true, false, false, TWIDDLES_READ},
                 {1, 64, 1, 1, false, false, false, TWIDDLES_COMBINED},
                 {1, 32, 4, 2, true, false, false, TWIDDLES_COMPUTED},
                 {1, 16, 8, 3, true, false, false, TWIDDLES_READ},
                 {2, 8, 3, 2, false, false, false, TWIDDLES_COMBINED},
                 {4, 1, 2, 2, false, false, false, TWIDDLES_COMPUTED},
                 {1, 1, 1, 1, false, false, false, TWIDDLES_READ},
                 {1, 128, 8, 1, true, true, true, TWIDDLES_COMBINED},
                 {1, 24, 4, 3, false, true, false, TWIDDLES_COMPUTED},
                 {1, 7, 3, 2, true, false, true, TWIDDLES_READ}};
    const size_t count = sizeof cases / sizeof cases[0];
    for (size_t n = 0; n < 2 * count; n++) {
        const size_t i = n % count;
        struct transform_tuning tuning = fused(f, n < count ? PLAN_COLUMNS_FIRST : PLAN_ROWS_FIRST);
        if (n >= count && cases[i].lanes > 1)
            continue;
        /* Even cases use rows first and odd ones columns first, with one shape each. */
        const bool every = device_takes_every_layout();
        if (!every && cases[i].lanes == 1 && (n >= count) == (i % 2 == 1))
            continue;
        tuning.lanes = cases[i].lanes;
        tuning.column_group = tuning.row_group = cases[i].group;
        tuning.columns = cases[i].columns;
        tuning.rows = cases[i].rows;
        tuning.skew = cases[i].skew;
        tuning.columns_held = cases[i].columns_held;
        tuning.rows_held = cases[i].rows_held;
        tuning.twiddles = cases[i].twiddles;
        const struct shape shape = {60, 48, 7, PLAN_REPLICATE, chains[7], 0};
        const struct shape one_stage = {16, 16, 0, PLAN_REPLICATE, chains[7], 0};
        const struct shape odd = {45, 30, 0, PLAN_MIRROR, chains[6], 0};
        if (every || i % 3 != 0)
            check(f, &tuning, &shape);
        if (every ? cases[i].lanes <= 4 : i % 6 == 0)
            check(f, &tuning, &one_stage);
        if (every ? n >= count : i % 6 == 3)
            check(f, &tuning, &odd);
    }
}

static void check_staged(struct fixture *f, unsigned stages_per_dispatch)
{
    static const uint32_t sizes[][3] = {{16, 16, 0},   {60, 48, 9},   {17, 31, 0},
                                        {120, 125, 0}, {641, 479, 0}, {1280, 720, 16}};
    struct transform_tuning tuning = fused(f, PLAN_COLUMNS_FIRST);
    tuning.technique = TRANSFORM_STAGED;
    tuning.column_group = tuning.row_group = 256;
    tuning.stages_per_dispatch = stages_per_dispatch;
    for (unsigned max_radix = 4; max_radix <= 16; max_radix *= 2) {
        tuning.max_radix = max_radix;
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
            const struct shape shape = {sizes[i][0], sizes[i][1], sizes[i][2],
                                        PLAN_MIRROR, chains[7],   0};
            /* Compilation takes most of the time. */
            const bool quick = stages_per_dispatch == 2   ? max_radix == 8 && i % 3 == 2
                               : stages_per_dispatch == 3 ? max_radix == 4 && (i == 1 || i == 2)
                                                          : max_radix == 16 && i == 1;
            const bool wanted = device_takes_every_layout() ? max_radix == 8 || i == 1 : quick;
            if (wanted && device_takes(shape.width, shape.height))
                check(f, &tuning, &shape);
        }
    }
}

static void test_staged(void **state)
{
    check_staged(*state, 1);
}

static void test_staged_in_pairs(void **state)
{
    check_staged(*state, 2);
}

static void test_staged_in_threes(void **state)
{
    check_staged(*state, 3);
}

/* clFFT crashes on an RK3288 at lengths of 1024, 2048 and 4096. Here they are tested stage by
 * stage, as a small GPU transforms them. */
static void test_lengths_that_fail_elsewhere(void **state)
{
    struct fixture *f = *state;
    static const uint32_t sizes[][2] = {{1024, 16}, {16, 2048}, {4096, 16}};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        const struct tuner_subject subject = {.device = f->device,
                                              .image = floats_image(sizes[i][0], sizes[i][1], 1),
                                              .technique = TRANSFORM_STAGED};
        const struct shape shape = {sizes[i][0], sizes[i][1], 0, PLAN_MIRROR, chains[1], 0};
        struct transform_tuning tuning;
        if (!device_takes(shape.width, shape.height))
            continue;
        tuner_start(&tuning, &subject);
        tuning.length_x = sizes[i][0];
        tuning.length_y = sizes[i][1];
        struct transform *t = make(f, &tuning, &shape);
        assert_int_equal(transform_plan(t)->x.length, sizes[i][0]);
        assert_int_equal(transform_plan(t)->y.length, sizes[i][1]);
        transform_destroy(t);
        check(f, &tuning, &shape);
    }
}

/* Tests complex responses with every technique and kind of lanes; the first has a narrow band. */
static void test_complex(void **state)
{
    struct fixture *f = *state;
    static const char *const moving[] = {
        "gaussian-blur:sigma=3 | shift:by=3.25/-1.5",
        "convolve:kernel=1 2 -3/0 4 5/-6 0.5 7,normalise=sum | gradient"};
    struct transform_tuning tunings[] = {fused(f, PLAN_COLUMNS_FIRST), fused(f, PLAN_COLUMNS_FIRST),
                                         fused(f, PLAN_ROWS_FIRST), fused(f, PLAN_COLUMNS_FIRST)};
    tunings[0].lanes = 1;
    tunings[0].columns = 4;
    tunings[1].lanes = 4;
    tunings[1].columns = 1;
    tunings[3].technique = TRANSFORM_STAGED;
    for (size_t i = 0; i < 2 * sizeof tunings / sizeof tunings[0]; i++) {
        struct transform_tuning tuning = tunings[i / 2];
        const struct shape shape = {60, 48, 7, PLAN_MIRROR, moving[i % 2], i % 2};
        const struct shape odd = {45, 31, 0, PLAN_WRAP, moving[1 - i % 2], 0};
        check(f, &tuning, &shape);
        if (device_takes_every_layout())
            check(f, &tuning, &odd);
        if (i % 2 == 1 && !device_takes_every_layout())
            continue;
        double rms;
        tuning.recipe.precision = RECIPE_HALF;
        measure(f, &tuning, &odd, &rms);
        const double psnr_db = 20 * log10(255 / rms);
        print_message("# half, %s: PSNR %.1f dB\n", odd.chain, psnr_db);
        if (!(psnr_db > 60))
            fail_msg("half, %s: PSNR %.1f dB", odd.chain, psnr_db);
    }
}

/* Tests several images in the same dispatches, with every technique and kind of lanes. */
static void test_images_alike(void **state)
{
    struct fixture *f = *state;
    struct transform_tuning tunings[] = {fused(f, PLAN_COLUMNS_FIRST), fused(f, PLAN_COLUMNS_FIRST),
                                         fused(f, PLAN_ROWS_FIRST), fused(f, PLAN_ROWS_FIRST),
                                         fused(f, PLAN_COLUMNS_FIRST)};
    tunings[1].lanes = 4;
    tunings[1].column_group = tunings[1].row_group = 1;
    tunings[3].columns = 3;
    tunings[3].columns_held = tunings[3].rows_held = true;
    tunings[4].technique = TRANSFORM_STAGED;
    for (size_t i = 0; i < sizeof tunings / sizeof tunings[0]; i++) {
        const struct shape three = {60, 48, 7, PLAN_MIRROR, chains[7], 2};
        const struct shape two = {45, 30, 0, PLAN_REPLICATE, chains[6], 1};
        const struct shape one = {60, 48, 7, PLAN_MIRROR, chains[7], 0};
        const bool every = device_takes_every_layout();
        if (every || i % 2 == 1)
            check(f, &tunings[i], &two);
        if (!every && i % 2 == 1)
            continue;
        check(f, &tunings[i], &three);
        if (!every && i == 2)
            continue;
        struct transform *together = make(f, &tunings[i], &three);
        struct transform *alone = make(f, &tunings[i], &one);
        assert_int_equal(transform_dispatches(together), transform_dispatches(alone));
        transform_destroy(together);
        transform_destroy(alone);
    }
}

/* Axes up to 4096 take at most 8 dispatches, unless the driver allows only small groups, which
 * cannot share stages. */
static void test_staged_dispatches(void **state)
{
    struct fixture *f = *state;
    static const uint32_t sizes[][3] = {
        {240, 240, 3}, {640, 480, 7}, {1280, 720, 7}, {1920, 1080, 7}, {3840, 2160, 7}};
    struct transform_tuning tuning = fused(f, PLAN_COLUMNS_FIRST);
    tuning.technique = TRANSFORM_STAGED;
    tuning.max_radix = 16;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        const struct shape shape = {sizes[i][0], sizes[i][1], 0, PLAN_MIRROR, chains[0], 0};
        if (!device_takes(shape.width, shape.height))
            continue;
        struct transform *t = make(f, &tuning, &shape);
        const struct plan *plan = transform_plan(t);
        const bool shares = transform_tuning(t)->column_group >= 64;
        const unsigned stages = plan->x.stage_count + plan->y.stage_count;
        const unsigned pairs = (plan->x.stage_count + 1) / 2 + (plan->y.stage_count + 1) / 2;
        assert_int_equal(transform_dispatches(t), 2 * (shares ? pairs : stages) - 1);
        if (shares && !f->device->midgard) /* whose model prefers smaller radices */
            assert_int_equal(transform_dispatches(t), sizes[i][2]);
        transform_destroy(t);
    }
}

static void test_half(void **state)
{
    struct fixture *f = *state;
    const size_t count = sizeof chains / sizeof chains[0];
    for (size_t n = 0; n < 2 * count + 1; n++) {
        const size_t i = n % count;
        struct transform_tuning tuning = fused(f, n < count ? PLAN_COLUMNS_FIRST : PLAN_ROWS_FIRST);
        if (n == 2 * count) { /* sums of the stages before the last are stored, too */
            tuning.technique = TRANSFORM_STAGED;
            tuning.max_radix = 4;
        }
        const struct shape shape = {120, 96, 16, PLAN_MIRROR, chains[i], 0};
        tuning.recipe.precision = RECIPE_HALF;
        double rms;
        measure(f, &tuning, &shape, &rms);
        const double psnr_db = 20 * log10(255 / rms);
        print_message("# half, %s: PSNR %.1f dB\n", chains[i], psnr_db);
        if (!(psnr_db > 60))
            fail_msg("half, %s: PSNR %.1f dB", chains[i], psnr_db);
    }
}

static int setup(void **state)
{
    static struct fixture f;
    cl_int code;
    device_setup(state);
    f.device = device;
    f.queue = clCreateCommandQueue(f.device->context, f.device->id, 0, &code);
    *state = &f;
    return code == CL_SUCCESS ? 0 : -1;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    clReleaseCommandQueue(f->queue);
    return device_teardown(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_radices),
                                       cmocka_unit_test(test_bands),
                                       cmocka_unit_test(test_groups),
                                       cmocka_unit_test(test_filters_and_borders),
                                       cmocka_unit_test(test_sizes),
                                       cmocka_unit_test(test_sizes_rows_first),
                                       cmocka_unit_test(test_staged),
                                       cmocka_unit_test(test_staged_in_pairs),
                                       cmocka_unit_test(test_staged_in_threes),
                                       cmocka_unit_test(test_lengths_that_fail_elsewhere),
                                       cmocka_unit_test(test_complex),
                                       cmocka_unit_test(test_images_alike),
                                       cmocka_unit_test(test_staged_dispatches),
                                       cmocka_unit_test(test_half)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
