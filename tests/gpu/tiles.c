/* Tests of the tiles technique: it makes of floats what double precision makes of them, and of
 * frames of every kind what the fused technique makes of them. */
#include <stdlib.h>

#include "support/beside_fused.h"
#include "support/chains.h"
#include "support/cmocka.h"
#include "support/device.h"

#include "engine/engine.h"
#include "engine/engine_private.h"

#define ENOUGH_BYTES 0x50000 /* of local memory, for all sides */
#define WIDE_BYTES   0x9000  /* for two tiles of 64x64 and 8 lanes */

static const struct beside tiles = {.name = "tiles",
                                    .technique = ENGINE_TILES,
                                    .most = {.is_short = true, .radius = TAPS_MAX_TILE_RADIUS},
                                    .border_value = 0.6,
                                    .margin = 160};

#define FAR      "shift:by=9/-7 | " SLANTED
#define FARTHEST "shift:by=-20/21 | convolve:kernel=1 2 3/-4 5 1/0 0.5 -2,normalise=sum"
#define EVEN     "sharpen:amount=1.5,sigma=4" /* H is real, and h has tails */
#define TWICE    "sharpen:sigma=5 | sharpen:sigma=5"
#define BOX      "box-blur:radius=14"

static void check_scenes(const struct scene *scenes, size_t count)
{
    beside_check(&tiles, scenes, count);
}

static void check_as_on_a_gpu(const struct scene *scenes, size_t count)
{
    beside_check_as_on_a_gpu(&tiles, scenes, count);
}

/* ---- tests --------------------------------------------------------------------------------- */

static void test_borders(void **state)
{
    struct scene scene = {.captured = "GREY"};
    (void)state;
    if (device->midgard) /* has too few registers */
        skip();
    for (int border = PLAN_MIRROR; border <= PLAN_WRAP; border++) {
        scene.border = (enum plan_border)border;
        scene.is_corrected = false;
        scene.chain = FAR;
        check_scenes(&scene, 1);
        scene.is_corrected = true;
        scene.chain = "deflicker | " EVEN;
        check_scenes(&scene, 1);
    }
}

static void test_formats(void **state)
{
    static const struct scene scenes[] = {
        {.captured = "Y10", .chain = FAR},
        {.captured = "Y16", .chain = FARTHEST, .precision = RECIPE_HALF},
        {.captured = "NV12", .chain = SLANTED, .planes = RECIPE_ALL},
        {.captured = "YUYV", .chain = FAR, .planes = RECIPE_ALL, .border = PLAN_REPLICATE},
        {.captured = "UYVY", .chain = FAR, .planes = RECIPE_LUMA_ONLY},
        {.captured = "BGR24", .chain = BOX, .planes = RECIPE_ALL},
        {.captured = "XRGB32", .chain = FAR},
        {.captured = "XRGB32", .chain = EVEN, .planes = RECIPE_LUMA_ONLY},
        {.captured = "SBGGR8", .chain = FAR},
        {.captured = "SGRBG12", .chain = BOX, .planes = RECIPE_ALL},
        {.captured = "Y12", .chain = EVEN, .border = PLAN_REPLICATE},
    };
    (void)state;
    if (device->midgard) /* has too few registers */
        skip();
    check_scenes(scenes, sizeof scenes / sizeof scenes[0]);
}

/* Of luma and of chroma: a radius of 30 needs tiles of 64x64. */
static void test_wide(void **state)
{
    static const struct scene scene = {.captured = "NV12", .chain = TWICE, .planes = RECIPE_ALL};
    (void)state;
    if (device->midgard || (gpu_device_is_cpu(device) && device->local_bytes < WIDE_BYTES))
        skip();
    check_scenes(&scene, 1);
}

static void test_what_the_load_and_the_store_do(void **state)
{
    static const struct scene scenes[] = {
        {.captured = "GREY", .chain = "homomorphic | " FAR},
        {.captured = "Y12", .chain = "linear-light | " SLANTED, .border = PLAN_CONSTANT},
        {.captured = "GREY", .chain = "vignette:a=0.5,b=0.1 | " LENS " | " FAR},
        {.captured = "GREY", .chain = "median | " FAR},
        {.captured = "SRGGB8", .chain = "vignette:a=0.5,b=0.1 | " EVEN},
        {.captured = "GREY", .chain = "denoise:sigma=5,passes=1 | " FAR, .border = PLAN_WRAP},
        {.captured = "YUV420",
         .chain = "deflicker | " FAR,
         .planes = RECIPE_LUMA_ONLY,
         .is_corrected = true},
        {.captured = "XRGB32",
         .chain = "deflicker | " EVEN,
         .planes = RECIPE_ALL,
         .is_corrected = true},
        {.captured = "YUYV", .chain = FAR, .view = VIEW_DIFFERENCE},
        {.captured = "NV12", .chain = FAR, .view = VIEW_EDGES},
    };
    (void)state;
    if (device->midgard) /* has too few registers */
        skip();
    check_scenes(scenes, sizeof scenes / sizeof scenes[0]);
}

/* An item makes each sample of two tiles in a loop of sixteen turns. */
static void test_long_loops(void **state)
{
    static const struct scene scene = {.captured = "GREY", .chain = TURNED " | " FAR};
    (void)state;
    if (device->midgard) /* has too few registers */
        skip();
    if (!device_ends_long_loops()) {
        print_message("skipped: the driver leaves a kernel's loops after 65535 turns\n");
        skip();
    }
    check_scenes(&scene, 1);
}

/* A frame in one tile, and one that is narrower than a vector. */
static void test_small_frames(void **state)
{
    static const struct scene scenes[] = {
        {.captured = "YUV420", .chain = FAR, .planes = RECIPE_ALL, .width = 16, .height = 16},
        {.captured = "GREY", .chain = FARTHEST, .border = PLAN_WRAP, .width = 33, .height = 65},
    };
    (void)state;
    if (device->midgard) /* has too few registers */
        skip();
    check_scenes(scenes, sizeof scenes / sizeof scenes[0]);
    check_as_on_a_gpu(scenes, sizeof scenes / sizeof scenes[0]);
}

static void test_as_on_a_gpu(void **state)
{
    static const struct scene scenes[] = {
        {.captured = "GREY", .chain = FAR, .border = PLAN_WRAP},
        {.captured = "Y12", .chain = FARTHEST, .border = PLAN_CONSTANT},
        {.captured = "XRGB32", .chain = EVEN},
        {.captured = "SGBRG8", .chain = FAR, .planes = RECIPE_ALL},
        {.captured = "GREY", .chain = "deflicker | homomorphic | " FAR, .is_corrected = true},
        {.captured = "NV12", .chain = SLANTED, .planes = RECIPE_ALL, .border = PLAN_REPLICATE},
        {.captured = "GREY", .chain = BOX, .view = VIEW_DIFFERENCE},
    };
    (void)state;
    if (device->midgard) /* has too few registers */
        skip();
    check_as_on_a_gpu(scenes, sizeof scenes / sizeof scenes[0]);
}

/* A frame of a fade is the blend of both pictures, as an engine that transforms makes it. */
static void test_fades(void **state)
{
    enum { FRAMES = 4 };
    const struct scene scene = {.captured = "GREY", .chain = FAR};
    const struct filter_chain from = chain_of(FAR), to = chain_of(EVEN);
    struct fftd_format format, captured;
    struct engine_response *response;
    struct engine *engine[2];
    struct error why;
    (void)state;
    if (device->midgard) /* has too few registers */
        skip();
    beside_lay_out(&format, &captured, &scene);
    uint8_t *in = beside_frame(&scene, &captured);
    uint8_t *expected = calloc(1, format.frame_bytes), *out = calloc(1, format.frame_bytes);
    for (unsigned i = 0; i < 2; i++) {
        engine[i] = beside_engine(&tiles, i == 1, &scene, &from, &format);
        if (engine_design(engine[i], &to, &response, &why) < 0 ||
            engine_design_fade(engine[i], response, FRAMES, NULL, &why) < 0)
            fail_msg("%s", why.text);
        engine_apply(engine[i], response, 2);
    }
    for (unsigned frame = 0; frame < FRAMES + 2; frame++) {
        assert_int_equal(engine_is_fading(engine[0]), engine_is_fading(engine[1]));
        beside_run(engine[0], &scene, &captured, in, out);
        beside_run(engine[1], &scene, &captured, in, expected);
        beside_compare(&scene, &format, out, expected);
    }
    engine_destroy(engine[0]);
    engine_destroy(engine[1]);
    free(in);
    free(expected);
    free(out);
}

/* ---- floats -------------------------------------------------------------------------------- */

/* Returns the greatest error of filtered noise, 0 .. 255. columns: the side of a tile in those of
 * the second radix; 0: the default. */
static double error_of(const char *text, enum plan_border mode, unsigned columns)
{
    const struct filter_chain chain = chain_of(text);
    const struct recipe settings = {.reach = {.is_short = true, .radius = TAPS_MAX_TILE_RADIUS}};
    const struct recipe recipe = recipe_of(&chain, &settings);
    const struct transform_border border = {.mode = mode, .value = 100};
    const struct tuner_subject subject = {.device = device,
                                          .image = beside_floats,
                                          .border = border,
                                          .technique = TRANSFORM_TILES,
                                          .reach = recipe.reach};
    struct transform_tuning tuning;
    struct transform *transform;
    struct error why = {""}, warning;
    tuner_start(&tuning, &subject);
    tuning.recipe = recipe;
    tuning.columns = columns > 0 ? columns : tuning.columns;
    if (transform_create(&transform, device, &beside_floats, &border, &tuning, NULL, &warning,
                         &why) < 0)
        fail_msg("%s: %s", text, why.text);
    /* Simulated devices have little local memory, and other lanes: there it is another side. */
    if (columns > 0 && device->local_bytes >= ENOUGH_BYTES && device->vector_width >= 8)
        assert_int_equal(transform_tuning(transform)->columns, columns);
    const double worst = beside_error_of(transform, &chain, mode, tiles.margin);
    print_message("# %s, border %d, %u: %.2g\n", text, (int)mode, columns, worst);
    transform_destroy(transform);
    return worst;
}

/* Taps that end within the radius leave rounding alone. What those of EVEN leave out is at most
 * half a step. */
static void check_floats(enum plan_border border, unsigned columns)
{
    static const char *const exact[] = {FAR, FARTHEST, "none"};
    for (size_t i = 0; i < sizeof exact / sizeof exact[0]; i++)
        if (!(error_of(exact[i], border, columns) < 1e-3))
            fail_msg("%s, border %d, %u columns", exact[i], (int)border, columns);
    if (!(error_of(EVEN, border, columns) < 0.5))
        fail_msg("%s, border %d, %u columns", EVEN, (int)border, columns);
}

static void test_floats(void **state)
{
    (void)state;
    if (device->midgard) /* has too few registers */
        skip();
    for (int border = PLAN_MIRROR; border <= PLAN_WRAP; border++)
        check_floats((enum plan_border)border, 0);
}

/* Stages of all kinds. */
static void test_sides(void **state)
{
    static const unsigned columns[] = {9, 10, 16, 24};
    const cl_device_type type = device->type;
    (void)state;
    if (device->midgard) /* has too few registers */
        skip();
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++)
        check_floats(PLAN_MIRROR, columns[i]);
    device->type = CL_DEVICE_TYPE_GPU;
    check_floats(PLAN_WRAP, 12);
    check_floats(PLAN_CONSTANT, 0);
    device->type = type;
}

/* What is chosen before anything is measured is what was fastest on an H100. */
static void test_choice_on_a_gpu(void **state)
{
    static const struct {
        uint32_t radius;
        enum transform_technique technique;
        unsigned columns;
    } chosen[] = {{3, TRANSFORM_DIRECT, 0},
                  {4, TRANSFORM_DIRECT, 0},
                  {7, TRANSFORM_TILES, 8},
                  {16, TRANSFORM_TILES, 12},
                  {24, TRANSFORM_FUSED, 0}};
    (void)state;
    if (device->midgard) /* has too few registers */
        skip();
    struct gpu_device *h100 = gpu_device_twin(device);
    h100->type = CL_DEVICE_TYPE_GPU;
    h100->compute_units = 132;
    h100->local_bytes = 48 * 1024;
    for (size_t i = 0; i < sizeof chosen / sizeof chosen[0]; i++) {
        const struct tuner_subject subject = {
            .device = h100,
            .image = {.count = 1, .width = 3840, .height = 2160, .stride = 3840, .step = 1},
            .reach = {.is_short = true, .radius = chosen[i].radius},
            .any_technique = true};
        struct transform_tuning tuning;
        tuner_start(&tuning, &subject);
        assert_int_equal(tuning.technique, chosen[i].technique);
        if (chosen[i].columns > 0) {
            assert_int_equal(tuning.columns, chosen[i].columns);
            assert_true(tuning.column_group <= h100->max_group);
        }
    }
    gpu_device_close(h100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_choice_on_a_gpu),
        cmocka_unit_test(test_floats),
        cmocka_unit_test(test_sides),
        cmocka_unit_test(test_borders),
        cmocka_unit_test(test_formats),
        cmocka_unit_test(test_wide),
        cmocka_unit_test(test_what_the_load_and_the_store_do),
        cmocka_unit_test(test_long_loops),
        cmocka_unit_test(test_small_frames),
        cmocka_unit_test(test_as_on_a_gpu),
        cmocka_unit_test(test_fades),
    };
    return cmocka_run_group_tests(tests, device_setup, device_teardown);
}
