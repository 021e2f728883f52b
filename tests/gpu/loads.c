/* Engines that share loads: each makes what it would make alone, whatever the others do. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/cmocka.h"
#include "support/device.h"
#include "support/reference.h"

#include "core/format.h"
#include "engine/engine_private.h"
#include "gpu/device.h"

#define WIDTH       320
#define HEIGHT      240
#define MAX_ENGINES 4
#define MARGIN      24

/* An output, and how often it gets a frame. */
struct wanted {
    uint32_t width, height;
    const char *chain;
    enum recipe_planes planes;
    unsigned every; /* nth frame */
    int margin;     /* 0: MARGIN */
};

/* An engine with the frames that it has made. */
struct made {
    const struct wanted *wanted;
    struct gpu_device *device;
    struct engine *engine;
    struct fftd_format format;
    uint8_t *out;
    struct engine_done done;
    unsigned reports, built, programs; /* while it was made */
};

static struct fftd_format captured;
static uint8_t *frame;
static bool has_own_memory; /* the device is a graphics card, or taken for one: it is sent frames */

static struct filter_chain parse(const char *text)
{
    struct filter_chain chain;
    struct error why;
    if (filter_chain_parse(&chain, text, &why) < 0)
        fail_msg("%s", why.text);
    return chain;
}

static void capture(uint32_t fourcc)
{
    struct error why;
    if (format_layout(&captured, fourcc, WIDTH, HEIGHT, 64, &why) < 0)
        fail_msg("%s", why.text);
    free(frame);
    frame = malloc(captured.frame_bytes);
}

static void draw(uint64_t seed)
{
    for (uint32_t i = 0; i < captured.frame_bytes; i++)
        frame[i] = (uint8_t)(255 * reference_noise(&seed));
}

static void design(struct made *made, const char *text, unsigned fade, uint64_t serial)
{
    const struct filter_chain chain = parse(text);
    struct engine_response *response;
    struct error why = {""};
    if (engine_design(made->engine, &chain, &response, &why) < 0 ||
        (fade > 0 && engine_design_fade(made->engine, response, fade, NULL, &why) < 0))
        fail_msg("%s: %s", text, why.text);
    engine_apply(made->engine, response, serial);
}

static int note_build(void *context, unsigned done, unsigned total, struct error *why)
{
    (void)why;
    struct made *made = context;
    assert_true(made->reports == 0 || done > made->built);
    made->reports++;
    made->built = done;
    made->programs = total;
    return 0;
}

/* Makes the engine of an output. */
static void make(struct made *ret, const struct wanted *wanted, struct engine_loads *loads,
                 unsigned output)
{
    const struct filter_chain chain = parse(wanted->chain);
    const bool is_smaller = wanted->width != WIDTH || wanted->height != HEIGHT;
    struct engine_options options = {.technique = ENGINE_FUSED,
                                     .margin = wanted->margin > 0 ? wanted->margin : MARGIN,
                                     .in_flight = 3,
                                     .loads = loads,
                                     .output = output};
    struct error why = {""};
    options.recipe = (struct recipe){.planes = wanted->planes,
                                     .captured = captured.fourcc,
                                     .captured_width = is_smaller ? WIDTH : 0,
                                     .captured_height = is_smaller ? HEIGHT : 0};
    *ret = (struct made){.wanted = wanted, .device = gpu_device_twin(device)};
    if (has_own_memory) {
        ret->device->type = CL_DEVICE_TYPE_GPU;
        ret->device->unified_memory = false;
    }
    options.recipe = recipe_of(&chain, &options.recipe);
    if (format_layout(&ret->format,
                      engine_published(&(struct recipe){.planes = wanted->planes}, captured.fourcc),
                      wanted->width, wanted->height, 64, &why) < 0 ||
        engine_create(&ret->engine, ret->device, &ret->format, &options, 12, NULL,
                      &(struct engine_observer){note_build, ret}, &why) < 0)
        fail_msg("%s", why.text);
    ret->out = calloc(1, ret->format.frame_bytes);
    design(ret, wanted->chain, 0, 1);
}

static void finish(struct made *made)
{
    engine_destroy(made->engine);
    gpu_device_close(made->device);
    free(made->out);
}

/* From the first frame in `memory`, or, if that is NULL, from `frame`. */
static void submit_in(struct made *made, uint64_t number, struct frame_memory *memory)
{
    const uint8_t *const from = memory != NULL ? frame_memory_address(memory, 0) : frame;
    struct engine_job job = {
        .out = made->out, .is_dispatched = true, .number = number, .memory = memory};
    struct error why = {""};
    for (unsigned p = 0; p < captured.plane_count; p++) {
        job.in[p] = from + captured.plane[p].offset;
        job.in_stride[p] = captured.plane[p].stride;
    }
    if (engine_submit(made->engine, &job, &why) < 0)
        fail_msg("%s", why.text);
}

static void submit(struct made *made, uint64_t number)
{
    submit_in(made, number, NULL);
}

static void collect(struct made *made)
{
    struct error why = {""};
    if (engine_collect(made->engine, true, &made->done, &why) < 0)
        fail_msg("%s", why.text);
}

static unsigned count(const struct wanted wanted[MAX_ENGINES])
{
    unsigned ret = 0;
    while (ret < MAX_ENGINES && wanted[ret].chain != NULL)
        ret++;
    return ret;
}

static struct engine_loads *loads_for(const struct wanted wanted[MAX_ENGINES])
{
    uint32_t sizes[MAX_ENGINES][2];
    struct engine_loads *ret;
    for (unsigned i = 0; i < count(wanted); i++) {
        sizes[i][0] = wanted[i].width;
        sizes[i][1] = wanted[i].height;
    }
    assert_int_equal(engine_loads_create(&ret, sizes, count(wanted), NULL), 0);
    return ret;
}

/* The engines that are compared: one set shares loads, and each of the other is alone with the
 * same sizes. */
struct sets {
    struct made shared[MAX_ENGINES], alone[MAX_ENGINES];
    struct engine_loads *loads, *own[MAX_ENGINES];
    unsigned count;
};

static void make_sets(struct sets *ret, const struct wanted wanted[MAX_ENGINES])
{
    ret->loads = loads_for(wanted);
    ret->count = count(wanted);
    for (unsigned i = 0; i < ret->count; i++) {
        make(&ret->shared[i], &wanted[i], ret->loads, i);
        ret->own[i] = loads_for(wanted);
        make(&ret->alone[i], &wanted[i], ret->own[i], i);
    }
}

static void finish_sets(struct sets *sets)
{
    for (unsigned i = 0; i < sets->count; i++) {
        finish(&sets->shared[i]);
        finish(&sets->alone[i]);
        engine_loads_destroy(sets->own[i]);
    }
    engine_loads_destroy(sets->loads);
}

/* Gives a frame to the outputs that are due, in this order or the other; the first output is the
 * last one, as in a camera. Returns the bytes that were copied to the device for the engines that
 * share. */
static uint64_t run(struct sets *sets, uint64_t number, bool backwards)
{
    uint64_t copied = 0;
    draw(number);
    for (unsigned k = 1; k <= sets->count; k++) {
        const unsigned i = k == sets->count ? 0 : backwards ? sets->count - k : k;
        if (number % sets->shared[i].wanted->every == 0)
            submit(&sets->shared[i], number);
    }
    for (unsigned i = 0; i < sets->count; i++) {
        struct made *shared = &sets->shared[i], *alone = &sets->alone[i];
        if (number % shared->wanted->every != 0)
            continue;
        collect(shared);
        submit(alone, number);
        collect(alone);
        copied += shared->done.copies.in_bytes;
        if (memcmp(shared->out, alone->out, shared->format.frame_bytes) != 0)
            fail_msg("frame %u of output %u differs from what its engine makes alone",
                     (unsigned)number, i);
    }
    return copied;
}

/* Main, which is filtered as luma, two smaller pictures, of which one also transforms its chroma,
 * and one of main's size. */
static const struct wanted nv12[MAX_ENGINES] = {
    {WIDTH, HEIGHT, "gaussian-blur:sigma=6", RECIPE_LUMA, 1, 0},
    {WIDTH / 2, HEIGHT / 2, "none", RECIPE_ALL, 1, 0},
    {WIDTH / 4, HEIGHT / 4, "gradient:sigma=1,dc=0.5", RECIPE_LUMA, 2, 0},
    {WIDTH, HEIGHT, "sharpen:sigma=2", RECIPE_LUMA, 3, 0}};

static void check_frames(void)
{
    struct sets sets;
    uint64_t copied = 0;
    capture(FFTD_FOURCC('N', 'V', '1', '2'));
    make_sets(&sets, nv12);
    for (unsigned i = 0; i < sets.count; i++)
        if (strstr(engine_description(sets.shared[i].engine), ", load 1,") == NULL)
            fail_msg("%s", engine_description(sets.shared[i].engine));
    for (uint64_t number = 1; number <= 3; number++) /* which frequencies they need is not known */
        run(&sets, number, number % 2 == 0);
    for (uint64_t number = 4; number <= 15; number++)
        copied += run(&sets, number, number % 2 == 0);
    /* Each plane of each frame once; to a card whole frames, and the chroma that is transformed. */
    const uint64_t chroma = WIDTH * HEIGHT / 2;
    assert_int_equal(copied, 12 * (WIDTH * HEIGHT + (has_own_memory ? 2 : 1) * chroma));
    finish_sets(&sets);
}

static void test_frames(void **state)
{
    (void)state;
    check_frames();
}

static void test_frames_that_are_sent(void **state)
{
    (void)state;
    const bool had = has_own_memory;
    has_own_memory = true;
    check_frames();
    has_own_memory = had;
}

/* Filters that change and fade, in one output after the other; the others' frames are as before. */
static void test_changes(void **state)
{
    (void)state;
    static const char *const chains[] = {"lowpass:shape=ideal,cutoff=0.1", "none",
                                         "gaussian-blur:sigma=10"};
    struct sets sets;
    capture(FFTD_FOURCC('N', 'V', '1', '2'));
    make_sets(&sets, nv12);
    uint64_t number = 0;
    for (unsigned i = 0; i < sets.count; i++)
        for (unsigned k = 0; k < sizeof chains / sizeof chains[0]; k++) {
            const unsigned fade = k == 1 ? 0 : 4;
            if (i == 2)
                continue; /* complex, as these are not: its engine filters them as well */
            design(&sets.shared[i], chains[k], fade, k + 2);
            design(&sets.alone[i], chains[k], fade, k + 2);
            for (unsigned n = 0; n < 5; n++)
                run(&sets, ++number, n % 2 == 0);
        }
    finish_sets(&sets);
}

/* Frames that one output keeps, or of which nobody takes the result, stop no other. */
static void test_a_stuck_output(void **state)
{
    (void)state;
    struct sets sets;
    capture(FFTD_FOURCC('N', 'V', '1', '2'));
    make_sets(&sets, nv12);
    struct made stuck;
    make(&stuck, &nv12[1], sets.loads, 7);
    for (uint64_t number = 1; number <= 12; number++) {
        draw(number);
        if (number <= 3)
            submit(&stuck, number);
        run(&sets, number, false);
    }
    for (unsigned i = 0; i < 3; i++)
        collect(&stuck);
    finish(&stuck);
    finish_sets(&sets);
}

/* An output that is submitted after the first one, which has overwritten the spectrum, loads the
 * frame again. */
static void test_another_order(void **state)
{
    (void)state;
    struct sets sets;
    capture(FFTD_FOURCC('N', 'V', '1', '2'));
    make_sets(&sets, nv12);
    for (uint64_t number = 2; number <= 8; number += 2) {
        draw(number);
        submit(&sets.shared[0], number);
        submit(&sets.shared[2], number);
        submit(&sets.alone[2], number);
        collect(&sets.shared[0]);
        collect(&sets.shared[2]);
        collect(&sets.alone[2]);
        assert_int_equal(sets.shared[2].done.copies.in_bytes,
                         has_own_memory ? captured.frame_bytes : WIDTH * HEIGHT);
        assert_memory_equal(sets.shared[2].out, sets.alone[2].out,
                            sets.alone[2].format.frame_bytes);
    }
    finish_sets(&sets);
}

/* An engine that began the load may end before the others. */
static void test_the_first_engine_ends_first(void **state)
{
    (void)state;
    struct sets sets;
    struct made late;
    capture(FFTD_FOURCC('N', 'V', '1', '2'));
    make_sets(&sets, nv12);
    run(&sets, 1, false);
    finish(&sets.shared[0]);
    make(&sets.shared[0], &nv12[0], sets.loads, 0);
    run(&sets, 2, false);
    make(&late, &nv12[1], sets.loads, 5);
    submit(&late, 3);
    collect(&late);
    finish(&late);
    finish_sets(&sets);
}

/* Layouts whose store reads captured colours again, or whose luma shares a plane with chroma. */
static void test_formats(void **state)
{
    (void)state;
    static const struct {
        uint32_t fourcc;
        struct wanted wanted[MAX_ENGINES];
    } cases[] = {
        {FFTD_FOURCC('Y', 'U', 'Y', 'V'),
         {{WIDTH, HEIGHT, "gaussian-blur:sigma=6", RECIPE_LUMA, 1, 0},
          {WIDTH / 2, HEIGHT / 2, "none", RECIPE_LUMA_ONLY, 1, 0}}},
        {FFTD_FOURCC('Y', 'U', '1', '2'),
         {{WIDTH, HEIGHT, "gaussian-blur:sigma=6", RECIPE_ALL, 1, 0},
          {WIDTH / 2, HEIGHT / 2, "none", RECIPE_LUMA, 1, 0}}},
        {FFTD_FOURCC('R', 'G', '2', '4'),
         {{WIDTH, HEIGHT, "gaussian-blur:sigma=6", RECIPE_LUMA, 1, 0},
          {WIDTH / 2, HEIGHT / 2, "none", RECIPE_LUMA_ONLY, 1, 0},
          {WIDTH, HEIGHT, "none", RECIPE_ALL, 1, 0}}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct sets sets;
        capture(cases[i].fourcc);
        make_sets(&sets, cases[i].wanted);
        for (uint64_t number = 1; number <= 4; number++)
            run(&sets, number, number % 2 == 0);
        finish_sets(&sets);
    }
}

static bool has_load(const struct made *made, const char *number)
{
    char text[32];
    snprintf(text, sizeof text, ", load %s", number);
    return strstr(engine_description(made->engine), text) != NULL;
}

/* Of several loads a smaller picture has that of the output with the lowest number, and learns when
 * there is another one; a result of the captured size has only one of its own lengths. */
static void test_which_load(void **state)
{
    (void)state;
    static const struct wanted half = {WIDTH / 2, HEIGHT / 2, "none", RECIPE_LUMA_ONLY, 1, 0};
    static const struct wanted near = {WIDTH, HEIGHT, "none", RECIPE_LUMA_ONLY, 1, 0};
    static const struct wanted far = {WIDTH, HEIGHT, "none", RECIPE_LUMA_ONLY, 1, 2 * WIDTH / 3};
    static const struct wanted own = {WIDTH, HEIGHT, "median", RECIPE_LUMA_ONLY, 1, 0};
    static const uint32_t sizes[][2] = {{0, 0}, {WIDTH / 2, HEIGHT / 2}};
    struct engine_loads *loads;
    struct made made[5];
    capture(FFTD_FOURCC('N', 'V', '1', '2'));
    assert_int_equal(engine_loads_create(&loads, sizes, 2, NULL), 0);
    make(&made[0], &half, loads, 2);
    assert_true(has_load(&made[0], "1,"));
    make(&made[1], &near, loads, 1);
    assert_true(has_load(&made[1], "1,"));
    make(&made[2], &own, loads, 3);
    assert_false(has_load(&made[2], ""));
    assert_false(engine_has_better_load(made[0].engine, loads));
    const unsigned changes = engine_loads_changes(loads);
    make(&made[3], &far, loads, 0);
    assert_true(has_load(&made[3], "2,"));
    assert_true(engine_loads_changes(loads) != changes);
    assert_true(engine_has_better_load(made[0].engine, loads));
    assert_false(engine_has_better_load(made[1].engine, loads));
    assert_false(engine_has_better_load(made[2].engine, loads));
    make(&made[4], &half, loads, 4);
    assert_true(has_load(&made[4], "2,"));
    finish(&made[3]);
    assert_true(engine_has_better_load(made[4].engine, loads));
    assert_false(engine_has_better_load(made[0].engine, loads));
    for (unsigned i = 0; i < 5; i++)
        if (i != 3)
            finish(&made[i]);
    make(&made[0], &near, NULL, 0); /* for a camera with one output */
    assert_true(engine_has_better_load(made[0].engine, loads));
    assert_false(engine_has_better_load(made[0].engine, NULL));
    finish(&made[0]);
    engine_loads_destroy(loads);
}

/* Compares the luma of two engines that transform it in different lengths. Only the middle of the
 * picture counts, because borders do not reach it. */
static void check_same_luma(const struct made *a, const struct made *b)
{
    const struct fftd_plane *plane = &a->format.plane[0];
    for (uint32_t y = plane->rows / 4; y < plane->rows * 3 / 4; y++)
        for (uint32_t x = plane->row_bytes / 4; x < plane->row_bytes * 3 / 4; x++) {
            const size_t at = plane->offset + (size_t)y * plane->stride + x;
            if (abs(a->out[at] - b->out[at]) > 1)
                fail_msg("row %u, column %u: %u, but %u alone", y, x, a->out[at], b->out[at]);
        }
}

/* A smaller picture whose sides do not suit the lanes of main's load still shares that load, with
 * fewer lanes. An engine that shares no load makes the same picture in lengths of its own. Lines
 * that the load completes for its results are part of the test. */
static void test_fewer_lanes(void **state)
{
    (void)state;
    static const struct wanted wanted[MAX_ENGINES] = {
        {WIDTH, HEIGHT, "gaussian-blur:sigma=1", RECIPE_LUMA, 1, 0},
        {WIDTH / 16, HEIGHT / 2, "gaussian-blur:sigma=4", RECIPE_LUMA_ONLY, 1, 0},
        {WIDTH / 16, HEIGHT / 2, "gaussian-blur:sigma=6", RECIPE_LUMA_ONLY, 1, 0}};
    struct engine_loads *loads = loads_for(wanted);
    struct made shared[3], alone[3];
    capture(FFTD_FOURCC('N', 'V', '1', '2'));
    for (unsigned i = 0; i < 3; i++) {
        make(&shared[i], &wanted[i], loads, i);
        make(&alone[i], &wanted[i], NULL, i);
        assert_true(has_load(&shared[i], "1,"));
    }
    const struct load *load = shared[0].engine->component[0].use.load;
    for (uint64_t number = 1; number <= 4; number++) {
        draw(number);
        for (unsigned i = 3; i-- > 0; submit(&alone[i], number))
            submit(&shared[i], number);
        for (unsigned i = 0; i < 3; i++) {
            collect(&shared[i]);
            collect(&alone[i]);
            check_same_luma(&shared[i], &alone[i]);
        }
    }
    const unsigned lanes = transform_tuning(load_transform(load))->lanes;
    const struct transform *smaller = component_transform(&shared[1].engine->component[0]);
    if (lanes > 1)
        assert_true(load_shared_pairs(load, 4) > 0);
    if (lanes == 16) /* fewer lanes may suit both sizes */
        assert_true(transform_tuning(smaller)->lanes < lanes);
    for (unsigned i = 0; i < 3; i++) {
        finish(&shared[i]);
        finish(&alone[i]);
    }
    engine_loads_destroy(loads);
}

/* Engines on other contexts, as after a failure, have loads of their own. */
static void test_another_context(void **state)
{
    (void)state;
    const char *selector = getenv("FFTD_DEVICE");
    struct gpu_device *const before = device;
    struct engine_loads *loads = loads_for(nv12);
    struct made first, second;
    struct error why = {""};
    capture(FFTD_FOURCC('N', 'V', '1', '2'));
    make(&first, &nv12[0], loads, 0);
    if (gpu_device_open(&device, selector != NULL ? selector : "auto", &why) < 0)
        fail_msg("%s", why.text);
    make(&second, &nv12[1], loads, 1);
    assert_true(has_load(&first, "1,"));
    assert_true(has_load(&second, "2,"));
    draw(1);
    submit(&first, 1);
    submit(&second, 1);
    collect(&first);
    collect(&second);
    finish(&first);
    finish(&second);
    gpu_device_close(device);
    device = before;
    engine_loads_destroy(loads);
}

/* For an output that has lately had no frame of the camera, no frequencies are loaded that only it
 * would need, and nothing is completed. Frames that warm up its engine have no number. */
static void test_an_unread_output_widens_nothing(void **state)
{
    (void)state;
    struct engine_loads *loads = loads_for(nv12);
    struct made read, unread, third;
    capture(FFTD_FOURCC('N', 'V', '1', '2'));
    make(&read, &nv12[0], loads, 0);
    make(&unread, &nv12[1], loads, 1);
    make(&third, &nv12[3], loads, 3);
    const struct load *load = read.engine->component[0].use.load;
    assert_non_null(load);
    assert_ptr_equal(unread.engine->component[0].use.load, load);
    draw(1);
    submit(&read, 1);
    collect(&read);
    const uint32_t narrow = load_band(load, 1);
    assert_int_not_equal(narrow, 0);
    for (unsigned i = 0; i < 2; i++) {
        submit(i == 0 ? &unread : &third, 0);
        collect(i == 0 ? &unread : &third);
    }
    assert_int_equal(load_band(load, 1), narrow);
    assert_int_equal(load_shared_pairs(load, 1), 0);
    if (transform_tuning(load_transform(load))->lanes > 1) /* a warm-up uses all kernels */
        assert_true(load_shared_pairs(load, 0) >= narrow);
    submit(&unread, 2);
    collect(&unread);
    assert_true(load_band(load, 2) == 0 || load_band(load, 2) > narrow);
    assert_int_equal(load_shared_pairs(load, 2), 0);
    submit(&third, 3);
    collect(&third);
    if (transform_tuning(load_transform(load))->lanes > 1)
        assert_true(load_shared_pairs(load, 3) >= narrow);
    for (unsigned i = 4; i < 16; i++) {
        submit(&read, i);
        collect(&read);
    }
    assert_int_equal(load_band(load, 15), narrow);
    assert_int_equal(load_shared_pairs(load, 15), 0);
    finish(&read);
    finish(&unread);
    finish(&third);
    engine_loads_destroy(loads);
}

static bool has_same_chroma(const struct made *a, const struct made *b)
{
    const struct fftd_format *format = &a->format;
    bool ret = true;
    if (format->plane_count == 1) /* YUYV: every second byte */
        for (uint32_t y = 0; y < format->height; y++)
            for (uint32_t x = 1; x < format->plane[0].row_bytes; x += 2) {
                const size_t at = (size_t)y * format->plane[0].stride + x;
                ret &= a->out[at] == b->out[at];
            }
    for (unsigned p = 1; p < format->plane_count; p++)
        for (uint32_t y = 0; y < format->plane[p].rows; y++) {
            const size_t at = format->plane[p].offset + (size_t)y * format->plane[p].stride;
            ret &= memcmp(a->out + at, b->out + at, format->plane[p].row_bytes) == 0;
        }
    return ret;
}

/* Chroma that becomes smaller is made by the first engine that is given the frame, and copied by
 * the others, so what happens to the captured frame in between does not reach it. A frame without a
 * number is not shared, nor are those of an engine without loads or without others of its size. */
static void test_chroma_is_made_once(void **state)
{
    (void)state;
    static const uint32_t fourccs[] = {FFTD_FOURCC('N', 'V', '1', '2'),
                                       FFTD_FOURCC('Y', 'U', '1', '2'),
                                       FFTD_FOURCC('Y', 'U', 'Y', 'V')};
    static const struct wanted half = {WIDTH / 2,   HEIGHT / 2, "gradient:sigma=1,dc=0.5",
                                       RECIPE_LUMA, 1,          0};
    static const struct wanted other = {WIDTH / 2, HEIGHT / 2, "none", RECIPE_LUMA, 1, 0};
    static const struct wanted quarter = {WIDTH / 4, HEIGHT / 4, "none", RECIPE_LUMA, 1, 0};
    if (has_own_memory) /* makes it itself */
        skip();
    for (size_t i = 0; i < sizeof fourccs / sizeof fourccs[0]; i++) {
        const struct wanted *const wanted[] = {&half, &other, &quarter, &half};
        struct engine_loads *loads = loads_for(nv12);
        struct made made[4];
        capture(fourccs[i]);
        for (unsigned k = 0; k < 4; k++)
            make(&made[k], wanted[k], k < 3 ? loads : NULL, k);
        for (uint64_t number = 1; number <= 3; number++) {
            const uint64_t numbers[] = {number, number == 3 ? 0 : number, number, number};
            for (unsigned k = 0; k < 4; k++) {
                draw(number + (k == 0 || k == 3 ? 0 : 10));
                submit(&made[k], numbers[k]);
                collect(&made[k]);
            }
            assert_true(has_same_chroma(&made[0], &made[3]));
            assert_int_equal(has_same_chroma(&made[0], &made[1]), number != 3);
        }
        finish(&made[1]);
        draw(4); /* nothing is kept of this frame, since the first output is alone */
        submit(&made[0], 4);
        collect(&made[0]);
        make(&made[1], &other, loads, 1);
        draw(14);
        submit(&made[1], 4);
        collect(&made[1]);
        assert_false(has_same_chroma(&made[0], &made[1]));
        draw(13); /* what the third output was given last */
        finish(&made[3]);
        make(&made[3], &quarter, NULL, 3);
        submit(&made[3], 3);
        collect(&made[3]);
        assert_true(has_same_chroma(&made[2], &made[3]));
        for (unsigned k = 0; k < 4; k++)
            finish(&made[k]);
        engine_loads_destroy(loads);
    }
}

/* Frames in memory that the first output holds are read there for the others, too: when it is
 * finished, the source may write the next one. A second load of a frame copies it, unless it is the
 * first output's. */
static void check_lent_frames(void)
{
    static const struct wanted wanted[MAX_ENGINES] = {
        {WIDTH, HEIGHT, "gaussian-blur:sigma=6", RECIPE_LUMA, 1, 0},
        {WIDTH / 2, HEIGHT / 2, "gaussian-blur:sigma=6", RECIPE_LUMA, 1, 0},
        {WIDTH / 4, HEIGHT / 4, "none", RECIPE_LUMA, 1, 0}};
    static const struct {
        unsigned output; /* whose filter changes */
        const char *chain;
        bool is_copied[3];
    } frames[] = {{0, NULL, {0, 1}}, /* it is not known yet which frequencies they need */
                  {0, NULL, {0}},    {1, "none", {0, 1}},
                  {0, NULL, {0}},    {0, "sharpen:sigma=2", {0}},
                  {0, NULL, {0}}};
    struct frame_memory *memory;
    struct sets sets;
    struct error why = {""};
    capture(FFTD_FOURCC('N', 'V', '1', '2'));
    make_sets(&sets, wanted);
    if (!engine_waits_for_load(sets.shared[0].engine, sets.shared[1].engine)) {
        finish_sets(&sets);
        print_message("skipped: not a processor\n");
        skip();
    }
    if (engine_memory_create(&memory, sets.shared[0].engine, &why) < 0 ||
        frame_memory_share(memory, 0, captured.frame_bytes, &why) < 0)
        fail_msg("%s", why.text);
    for (unsigned n = 0; n < sizeof frames / sizeof frames[0]; n++) {
        if (frames[n].chain != NULL) {
            design(&sets.shared[frames[n].output], frames[n].chain, 0, n);
            design(&sets.alone[frames[n].output], frames[n].chain, 0, n);
        }
        draw(n);
        memcpy(frame_memory_address(memory, 0), frame, captured.frame_bytes);
        for (unsigned i = 3; i-- > 0;)
            submit_in(&sets.shared[i], n + 1, memory);
        collect(&sets.shared[0]);
        memset(frame_memory_address(memory, 0), 255, captured.frame_bytes);
        for (unsigned i = 0; i < 3; i++) {
            struct made *shared = &sets.shared[i], *alone = &sets.alone[i];
            if (i > 0)
                collect(shared);
            submit(alone, n + 1);
            collect(alone);
            if (memcmp(shared->out, alone->out, shared->format.frame_bytes) != 0)
                fail_msg("frame %u of output %u differs", n, i);
            const uint64_t copied = has_own_memory ? captured.frame_bytes : WIDTH * HEIGHT;
            const uint64_t found = shared->done.copies.in_bytes;
            /* The groups of a GPU may have loaded more frequencies than were asked for. */
            if (found != (frames[n].is_copied[i] ? copied : 0) &&
                (found != 0 || gpu_device_is_cpu(device)))
                fail_msg("frame %u of output %u: %u bytes were copied", n, i, (unsigned)found);
        }
    }
    engine_memory_destroy(memory);
    finish_sets(&sets);
}

static void test_lent_frames(void **state)
{
    (void)state;
    if (!device_unmaps_in_turn()) {
        print_message("skipped: the driver unmaps nothing that another queue is still to map\n");
        skip();
    }
    check_lent_frames();
}

static void test_lent_frames_that_are_sent(void **state)
{
    (void)state;
    const bool had = has_own_memory;
    has_own_memory = true;
    check_lent_frames();
    has_own_memory = had;
}

/* A device that is sent frames makes chroma smaller, bit for bit as the host does, and copies
 * nothing of it. */
static void test_chroma_of_a_device(void **state)
{
    (void)state;
    if (has_own_memory) /* nothing to compare with */
        skip();
    static const uint32_t fourccs[] = {FFTD_FOURCC('N', 'V', '1', '2'),
                                       FFTD_FOURCC('Y', 'U', '1', '2'),
                                       FFTD_FOURCC('N', 'V', '1', '6')};
    static const struct wanted sizes[] = {{WIDTH / 2, HEIGHT / 2, "none", RECIPE_LUMA, 1, 0},
                                          {WIDTH / 4, HEIGHT / 4, "none", RECIPE_LUMA, 1, 0},
                                          {WIDTH, HEIGHT / 2, "none", RECIPE_LUMA, 1, 0},
                                          {WIDTH / 8, HEIGHT / 8, "none", RECIPE_LUMA, 1, 0},
                                          {192, 144, "none", RECIPE_LUMA, 1, 0}};
    for (size_t i = 0; i < sizeof fourccs / sizeof fourccs[0]; i++)
        for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
            struct made made[2];
            capture(fourccs[i]);
            draw(i + k + 1);
            for (unsigned own = 0; own < 2; own++) {
                has_own_memory = own == 1;
                make(&made[own], &sizes[k], NULL, 0);
                submit(&made[own], 0);
                collect(&made[own]);
            }
            has_own_memory = false;
            assert_true(has_same_chroma(&made[0], &made[1]));
            assert_int_equal(made[1].done.copies.passed_bytes, 0);
            finish(&made[0]);
            finish(&made[1]);
        }
}

/* Not if the first output's frames are finished without the load, because the host copies them or
 * another load has them; nor if results read the frame again. */
static void test_frames_that_are_not_lent(void **state)
{
    (void)state;
    static const struct {
        uint32_t fourcc;
        const char *chain;
        enum recipe_planes planes;
    } last[] = {{FFTD_FOURCC('N', 'V', '1', '2'), "none", RECIPE_LUMA},
                {FFTD_FOURCC('N', 'V', '1', '2'), "gaussian-blur:sigma=6", RECIPE_ALL},
                {FFTD_FOURCC('N', 'V', '1', '2'), "median", RECIPE_LUMA},
                {FFTD_FOURCC('Y', 'U', 'Y', 'V'), "gaussian-blur:sigma=6", RECIPE_LUMA},
                {FFTD_FOURCC('R', 'G', '2', '4'), "gaussian-blur:sigma=6", RECIPE_LUMA}};
    for (size_t i = 0; i < sizeof last / sizeof last[0]; i++) {
        const struct wanted wanted[MAX_ENGINES] = {
            {WIDTH, HEIGHT, last[i].chain, last[i].planes, 1, 0},
            {WIDTH / 2, HEIGHT / 2, "none", RECIPE_LUMA_ONLY, 1, 0}};
        struct engine_loads *loads = loads_for(wanted);
        struct made made[2];
        capture(last[i].fourcc);
        make(&made[0], &wanted[0], loads, 0);
        make(&made[1], &wanted[1], loads, 1);
        if (engine_waits_for_load(made[0].engine, made[1].engine))
            fail_msg("%zu: %s", i, last[i].chain);
        finish(&made[0]);
        finish(&made[1]);
        engine_loads_destroy(loads);
    }
}

/* Reports come before any program is compiled, after the load's, and after the result's. */
static void test_building_is_reported_after_the_load(void **state)
{
    (void)state;
    static const struct wanted half = {WIDTH / 2, HEIGHT / 2, "none", RECIPE_LUMA_ONLY, 1, 0};
    static const uint32_t sizes[][2] = {{WIDTH / 2, HEIGHT / 2}};
    struct engine_loads *loads;
    struct made made;
    capture(FFTD_FOURCC('N', 'V', '1', '2'));
    assert_int_equal(engine_loads_create(&loads, sizes, 1, NULL), 0);
    make(&made, &half, loads, 0);
    assert_int_equal(made.reports, 3);
    assert_int_equal(made.built, made.programs);
    finish(&made);
    engine_loads_destroy(loads);
}

static int setup(void **state)
{
    const int r = device_setup(state);
    has_own_memory = r == 0 && device != NULL && !device->unified_memory;
    return r;
}

static int teardown(void **state)
{
    free(frame);
    return device_teardown(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_frames),
        cmocka_unit_test(test_frames_that_are_sent),
        cmocka_unit_test(test_changes),
        cmocka_unit_test(test_a_stuck_output),
        cmocka_unit_test(test_another_order),
        cmocka_unit_test(test_the_first_engine_ends_first),
        cmocka_unit_test(test_formats),
        cmocka_unit_test(test_which_load),
        cmocka_unit_test(test_fewer_lanes),
        cmocka_unit_test(test_another_context),
        cmocka_unit_test(test_an_unread_output_widens_nothing),
        cmocka_unit_test(test_chroma_is_made_once),
        cmocka_unit_test(test_lent_frames),
        cmocka_unit_test(test_lent_frames_that_are_sent),
        cmocka_unit_test(test_chroma_of_a_device),
        cmocka_unit_test(test_frames_that_are_not_lent),
        cmocka_unit_test(test_building_is_reported_after_the_load),
    };
    return cmocka_run_group_tests_name("engines that share loads", tests, setup, teardown);
}
