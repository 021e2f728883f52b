/* Several results of one load: each is bit for bit what a transform of its own makes, whatever the
 * others do; and what they cost together. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/cmocka.h"
#include "support/device.h"
#include "support/floats.h"
#include "support/queue.h"
#include "support/reference.h"

#include "transform/transform.h"

#define MAX_RESULTS 4

/* A result and the filter that makes it. */
struct wanted {
    uint32_t width, height;
    const char *chain;
};

struct shape {
    uint32_t width, height, margin;
    enum plan_border border;
    unsigned more; /* images besides the first, in the same dispatches */
    struct wanted result[MAX_RESULTS];
};

/* A transform with what it needs for a frame. */
struct run {
    struct transform *transform;
    struct transform_frame *frame;
    struct transform_buffers buffers;
    size_t count; /* floats of the result */
};

static struct transform_image image_of(const struct shape *shape, const struct wanted *wanted)
{
    struct transform_image image = floats_image(shape->width, shape->height, shape->more + 1);
    if (wanted->width != shape->width || wanted->height != shape->height)
        floats_make_smaller(&image, wanted->width, wanted->height);
    return image;
}

static struct transform_border border_of(const struct shape *shape)
{
    return (struct transform_border){
        .mode = shape->border, .value = 100, .margin_x = shape->margin, .margin_y = shape->margin};
}

static struct filter_chain parse(const char *text)
{
    struct filter_chain chain;
    struct error why;
    if (filter_chain_parse(&chain, text, &why) < 0)
        fail_msg("%s", why.text);
    return chain;
}

static struct recipe recipe_for(const struct transform_tuning *tuning, const char *text)
{
    const struct filter_chain chain = parse(text);
    return recipe_of(&chain, &tuning->recipe);
}

static void equip(struct transform *transform)
{
    struct error why = {""}, warning = {""};
    if (transform_equip(transform, &why) < 0 ||
        transform_build(transform, true, NULL, &warning, &why) < 0)
        fail_msg("%s", why.text);
}

/* Equips and builds a planned transform, and makes its buffers but for the image. */
static void prepare(struct run *run, const struct shape *shape, const struct wanted *wanted)
{
    const struct filter_chain chain = parse(wanted->chain);
    struct error why = {""};
    equip(run->transform);
    void *response = malloc(transform_response_bytes(run->transform));
    uint32_t band;
    assert_int_equal(transform_response_fill(run->transform, response, &chain, 1, 1, &band, &why),
                     0);
    run->count = (size_t)(shape->more + 1) * wanted->width * wanted->height;
    run->buffers.result = device_buffer(run->count * sizeof(float), NULL);
    run->buffers.response = (struct transform_response){
        device_buffer(transform_response_bytes(run->transform), response), band};
    assert_int_equal(transform_frame_create(&run->frame, run->transform, &why), 0);
    free(response);
}

static void finish(struct run *run)
{
    transform_frame_destroy(run->frame);
    transform_destroy(run->transform);
    if (run->buffers.result != NULL)
        clReleaseMemObject(run->buffers.result);
    if (run->buffers.response.numbers != NULL)
        clReleaseMemObject(run->buffers.response.numbers);
}

static void enqueue(struct run *run)
{
    struct error why = {""};
    if (transform_frame_enqueue(run->frame, queue, &run->buffers, NULL, NULL, &why) < 0)
        fail_msg("%s", why.text);
}

static float *read_result(const struct run *run)
{
    float *ret = malloc(run->count * sizeof *ret);
    assert_int_equal(clEnqueueReadBuffer(queue, run->buffers.result, CL_TRUE, 0,
                                         run->count * sizeof *ret, ret, 0, NULL, NULL),
                     CL_SUCCESS);
    return ret;
}

static void clear(const struct run *run)
{
    const cl_float zero = 0;
    assert_int_equal(clEnqueueFillBuffer(queue, run->buffers.result, &zero, sizeof zero, 0,
                                         run->count * sizeof zero, 0, NULL, NULL),
                     CL_SUCCESS);
}

/* What a transform of its own makes, in the lengths of the load. */
static float *expect(const struct transform_tuning *wanted_tuning, const struct shape *shape,
                     const struct wanted *wanted, const struct plan *plan, cl_mem image,
                     double *traffic)
{
    const struct transform_image own = image_of(shape, wanted);
    const struct transform_border border = border_of(shape);
    struct transform_tuning tuning = *wanted_tuning;
    struct run run = {.buffers = {.image = image}};
    struct error why = {""};
    tuning.length_x = plan->x.length;
    tuning.length_y = plan->y.length;
    tuning.recipe = recipe_for(wanted_tuning, wanted->chain);
    if (transform_sketch(&run.transform, device, &own, &border, &tuning, &why) < 0)
        fail_msg("%s", why.text);
    assert_int_equal(transform_plan(run.transform)->x.length, plan->x.length);
    assert_int_equal(transform_plan(run.transform)->y.length, plan->y.length);
    prepare(&run, shape, wanted);
    assert_int_equal(transform_dispatches(run.transform), 3);
    *traffic += transform_traffic(run.transform);
    enqueue(&run);
    float *ret = read_result(&run);
    finish(&run);
    return ret;
}

/* Makes results in this order, each in another frame of the load's spectrum than the last time. */
static void check_order(struct run *load, struct run result[MAX_RESULTS], unsigned count,
                        float *const expected[MAX_RESULTS], bool backwards, uint32_t completed)
{
    load->buffers.completed =
        transform_whole_groups(load->transform, completed, load->buffers.response.band);
    for (unsigned i = 0; i < count; i++)
        clear(&result[i]);
    enqueue(load);
    for (unsigned i = 0; i < count; i++) {
        struct run *run = &result[backwards ? count - 1 - i : i];
        run->buffers.spectrum = transform_frame_spectrum(load->frame);
        run->buffers.complete = transform_frame_complete(load->frame);
        run->buffers.completed = load->buffers.completed;
        enqueue(run);
    }
    for (unsigned i = 0; i < count; i++) {
        float *found = read_result(&result[i]);
        if (memcmp(found, expected[i], result[i].count * sizeof *found) != 0)
            fail_msg("result %u differs from that of a transform of its own", i);
        free(found);
    }
}

/* Overwrites the spectrum with the lines of a result of the same size. */
static void check_in_place(struct run *load, struct run *result, const float *expected)
{
    clear(result);
    enqueue(load);
    result->buffers.in_place = true;
    enqueue(result);
    result->buffers.in_place = false;
    float *found = read_result(result);
    if (memcmp(found, expected, result->count * sizeof *found) != 0)
        fail_msg("a result made in place differs from that of a transform of its own");
    free(found);
}

static void check(const struct transform_tuning *tuning, const struct shape *shape)
{
    const struct transform_border border = border_of(shape);
    const size_t in_count = (size_t)(shape->more + 1) * shape->width * shape->height;
    struct transform_tuning first = *tuning;
    struct run load = {.transform = NULL}, result[MAX_RESULTS] = {{.transform = NULL}};
    struct transform_size size[MAX_RESULTS];
    float *expected[MAX_RESULTS], *in = malloc(in_count * sizeof *in);
    double together = 0, apart = 0;
    struct error why = {""};
    unsigned count = 0;
    uint64_t state = in_count;
    for (size_t i = 0; i < in_count; i++)
        in[i] = (float)(255 * reference_noise(&state));
    for (; count < MAX_RESULTS && shape->result[count].chain != NULL; count++)
        size[count] =
            (struct transform_size){shape->result[count].width, shape->result[count].height};
    const struct transform_image image = image_of(shape, &shape->result[0]);
    first.recipe = recipe_for(tuning, shape->result[0].chain);
    if (transform_sketch_load(&load.transform, device, &image, &border, &first, size, count, &why) <
        0)
        fail_msg("%s", why.text);
    equip(load.transform);
    const struct plan plan = *transform_plan(load.transform);
    load.buffers.image = device_buffer(in_count * sizeof *in, in);
    together = transform_traffic(load.transform);
    load.buffers.response.band = 1;
    for (unsigned i = 0; i < count; i++) {
        const struct wanted *wanted = &shape->result[i];
        const struct transform_image own = image_of(shape, wanted);
        const struct recipe recipe = recipe_for(tuning, wanted->chain);
        expected[i] = expect(tuning, shape, wanted, &plan, load.buffers.image, &apart);
        assert_true(transform_load_suits(load.transform, &own, &border, &recipe));
        if (transform_sketch_result(&result[i].transform, load.transform, &own, &recipe, &why) < 0)
            fail_msg("%s", why.text);
        prepare(&result[i], shape, wanted);
        result[i].buffers.image = load.buffers.image;
        assert_int_equal(transform_dispatches(result[i].transform), 2);
        assert_int_equal(transform_plan(result[i].transform)->x.length, plan.x.length);
        together += transform_traffic(result[i].transform);
        if (result[i].buffers.response.band > load.buffers.response.band)
            load.buffers.response.band = result[i].buffers.response.band;
    }
    assert_true(together < apart);
    assert_int_equal(transform_frame_create(&load.frame, load.transform, &why), 0);
    for (unsigned turn = 0; turn < 2; turn++) {
        const uint32_t band = load.buffers.response.band, some = 1 + band / 3;
        check_order(&load, result, count, expected, turn == 1, 0);
        check_order(&load, result, count, expected, turn == 1, some);
        check_order(&load, result, count, expected, turn == 1, band);
        for (unsigned i = 0; i < count; i++)
            if (shape->result[i].width == shape->width && shape->result[i].height == shape->height)
                check_in_place(&load, &result[i], expected[i]);
        transform_frame_destroy(load.frame); /* another spectrum */
        assert_int_equal(transform_frame_create(&load.frame, load.transform, &why), 0);
    }
    for (unsigned i = 0; i < count; i++) {
        finish(&result[i]);
        free(expected[i]);
    }
    clReleaseMemObject(load.buffers.image);
    finish(&load);
    free(in);
}

/* Filters with wide and narrow bands, complex ones and one with a threshold. The smallest image has
 * lines of one stage. */
static const struct shape shapes[] = {
    {120,
     96,
     30,
     PLAN_MIRROR,
     0,
     {{120, 96, "gaussian-blur:sigma=6"},
      {60, 48, "none"},
      {30, 24, "gradient:sigma=1,dc=0.5"},
      {120, 96, "sharpen:sigma=2"}}},
    {120,
     96,
     20,
     PLAN_REPLICATE,
     2,
     {{60, 48, "gaussian-blur:sigma=1.5"}, {40, 32, "none"}, {120, 96, "shift:by=1.5/-2"}}},
    {90,
     120,
     24,
     PLAN_CONSTANT,
     0,
     {{90, 120, "soft-threshold:sigma=3"}, {60, 120, "lowpass:shape=ideal,cutoff=0.1"}}},
    {32, 12, 0, PLAN_WRAP, 0, {{32, 12, "gaussian-blur:sigma=1"}, {32, 12, "none"}}},
};

static void test_forms(void **state)
{
    (void)state;
    struct transform_tuning common, tuning[FLOATS_FORMS];
    transform_default_tuning(&common, device);
    common.technique = TRANSFORM_FUSED;
    if (common.lanes > 4)
        common.lanes = 4; /* more suit few sizes of images as small as these */
    floats_forms(tuning, &common);
    for (unsigned i = 0; i < FLOATS_FORMS; i++)
        for (size_t k = 0; k < sizeof shapes / sizeof shapes[0]; k++)
            if (device_takes_every_layout() || k == i % 4 || k == (i + 1) % 4)
                check(&tuning[i], &shapes[k]);
}

static void test_frames(void **state)
{
    (void)state;
    static const struct shape shape = {
        640, 480,
        40,  PLAN_MIRROR,
        0,   {{640, 480, "gaussian-blur:sigma=10"}, {320, 240, "none"}, {160, 120, "none"}}};
    struct transform_tuning tuning;
    transform_default_tuning(&tuning, device);
    tuning.technique = TRANSFORM_FUSED;
    if (device_takes(shape.width, shape.height))
        check(&tuning, &shape);
}

/* A smaller picture begins a load in the lengths in which the whole picture would, so that both
 * have one load, whichever comes first. */
static void test_a_smaller_picture_begins(void **state)
{
    (void)state;
    unsigned begun = 0;
    static const struct shape shape = {1280,        720, 40,
                                       PLAN_MIRROR, 0,   {{320, 180, "none"}, {320, 180, "none"}}};
    const struct transform_image image = image_of(&shape, &shape.result[0]);
    struct transform_image whole = image;
    const struct transform_border border = border_of(&shape);
    const struct transform_size size = {320, 180};
    memset(&whole.smaller, 0, sizeof whole.smaller);
    struct transform_tuning tuning;
    transform_default_tuning(&tuning, device);
    tuning.technique = TRANSFORM_FUSED;
    for (tuning.lanes = 4; tuning.lanes <= 16; tuning.lanes *= 2) {
        struct transform *load = NULL, *result = NULL, *other = NULL;
        struct error why = {""};
        tuning.order = PLAN_COLUMNS_FIRST;
        int r = transform_sketch_load(&load, device, &image, &border, &tuning, &size, 1, &why);
        if (r == 0)
            r = transform_sketch_result(&result, load, &image, &tuning.recipe, &why);
        if (r == -ERANGE) { /* the device has too little local memory for these lanes */
            transform_destroy(load);
            break;
        }
        if (r < 0 ||
            transform_sketch_load(&other, device, &whole, &border, &tuning, &size, 1, &why) < 0)
            fail_msg("lanes %u: %s", tuning.lanes, why.text);
        begun++;
        assert_true(transform_load_suits(load, &image, &border, &tuning.recipe));
        assert_int_equal(transform_plan(load)->x.length, transform_plan(other)->x.length);
        assert_int_equal(transform_plan(load)->y.length, transform_plan(other)->y.length);
        transform_destroy(other);
        transform_destroy(result);
        transform_destroy(load);
    }
    if (begun == 0)
        skip();
}

/* Plans a load of 1280x720 for main and `count` results of half the size, with 16 lanes. The best
 * lines for main have 1440 samples, of which half the size has half as many lanes; 1536 suit all.
 */
static uint32_t length_for_halves(unsigned count)
{
    static const struct shape shape = {1280, 720, 80, PLAN_MIRROR, 0, {{1280, 720, "none"}}};
    const struct transform_image image = image_of(&shape, &shape.result[0]);
    const struct transform_border border = border_of(&shape);
    struct transform_size size[5] = {{1280, 720}};
    struct transform_tuning tuning;
    struct transform *load;
    struct error why = {""};
    assert_true(count < sizeof size / sizeof size[0]);
    for (unsigned i = 1; i <= count; i++)
        size[i] = (struct transform_size){640, 360};
    transform_default_tuning(&tuning, device);
    tuning.technique = TRANSFORM_FUSED;
    tuning.order = PLAN_COLUMNS_FIRST;
    tuning.lanes = 16;
    const int r =
        transform_sketch_load(&load, device, &image, &border, &tuning, size, count + 1, &why);
    if (r == -ERANGE)
        skip(); /* the device has too little local memory for these lanes, or takes fewer, below */
    if (r < 0)
        fail_msg("%s", why.text);
    const uint32_t length = transform_plan(load)->x.length;
    const unsigned lanes = transform_tuning(load)->lanes;
    transform_destroy(load);
    if (lanes < 16)
        skip();
    return length;
}

/* Longer lines, with which smaller pictures have more lanes, cost main more than one smaller
 * picture gains. */
static void test_lengths_are_the_best_for_all(void **state)
{
    (void)state;
    assert_int_equal(length_for_halves(0), 1440);
    assert_int_equal(length_for_halves(1), 1440);
    assert_int_equal(length_for_halves(4), 1536);
}

/* ---- what has a load of its own ------------------------------------------------------------ */

static const struct shape plain = {120, 96, 12, PLAN_MIRROR, 0, {{120, 96, "none"}}};

static struct transform *plain_load(void)
{
    const struct transform_image image = image_of(&plain, &plain.result[0]);
    const struct transform_border border = border_of(&plain);
    struct transform_tuning tuning;
    struct transform *ret;
    struct error why = {""};
    transform_default_tuning(&tuning, device);
    tuning.technique = TRANSFORM_FUSED;
    if (transform_sketch_load(&ret, device, &image, &border, &tuning, NULL, 0, &why) < 0)
        fail_msg("%s", why.text);
    return ret;
}

static void test_filters_with_a_load_of_their_own(void **state)
{
    (void)state;
    static const char *const chains[] = {"median", "homomorphic", "denoise:sigma=5", "auto-notch",
                                         "undistort:fx=100,fy=100,cx=60,cy=48,k1=0.1"};
    struct transform *load = plain_load();
    const struct transform_image image = image_of(&plain, &plain.result[0]);
    const struct transform_border border = border_of(&plain);
    struct transform_tuning tuning;
    transform_default_tuning(&tuning, device);
    for (size_t i = 0; i < sizeof chains / sizeof chains[0]; i++) {
        struct transform *other;
        struct error why = {""};
        struct transform_tuning own = tuning;
        own.technique = TRANSFORM_FUSED;
        own.recipe = recipe_for(&tuning, chains[i]);
        if (transform_load_suits(load, &image, &border, &own.recipe))
            fail_msg("%s does not load frames as they are", chains[i]);
        assert_int_equal(
            transform_sketch_load(&other, device, &image, &border, &own, NULL, 0, &why), -ERANGE);
    }
    struct recipe view = tuning.recipe;
    view.view = VIEW_SPECTRUM;
    assert_false(transform_load_suits(load, &image, &border, &view));
    transform_destroy(load);
}

/* Another part of the frame, border, precision or margin, and sides without lengths. */
static void test_other_loads(void **state)
{
    (void)state;
    struct transform *load = plain_load();
    const struct plan *plan = transform_plan(load);
    const struct transform_border border = border_of(&plain);
    const struct transform_image image = image_of(&plain, &plain.result[0]);
    const struct recipe recipe = transform_tuning(load)->recipe;
    assert_true(transform_load_suits(load, &image, &border, &recipe));
    struct transform_image other = image;
    other.offset = 4;
    assert_false(transform_load_suits(load, &other, &border, &recipe));
    other = image;
    other.kind = SAMPLE_U8;
    assert_false(transform_load_suits(load, &other, &border, &recipe));
    struct transform_border edge = border;
    edge.mode = PLAN_WRAP;
    assert_false(transform_load_suits(load, &image, &edge, &recipe));
    edge = border;
    edge.margin_x = plan->x.length - plain.width;
    assert_true(transform_load_suits(load, &image, &edge, &recipe));
    edge.margin_x++;
    assert_false(transform_load_suits(load, &image, &edge, &recipe));
    struct recipe half = recipe;
    half.precision = RECIPE_HALF;
    assert_false(transform_load_suits(load, &image, &border, &half));
    const struct wanted odd = {119, 96, "none"};
    const struct transform_image smaller = image_of(&plain, &odd);
    assert_false(transform_load_suits(load, &smaller, &border, &recipe));
    transform_destroy(load);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forms),
        cmocka_unit_test(test_frames),
        cmocka_unit_test(test_a_smaller_picture_begins),
        cmocka_unit_test(test_lengths_are_the_best_for_all),
        cmocka_unit_test(test_filters_with_a_load_of_their_own),
        cmocka_unit_test(test_other_loads),
    };
    return cmocka_run_group_tests_name("results of one load", tests, queue_setup, queue_teardown);
}
