/* Tests of the direct technique: short filters make of floats what double precision makes of them,
 * and of frames of every kind what the fused technique makes of them. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/beside_fused.h"
#include "support/chains.h"
#include "support/cmocka.h"
#include "support/device.h"
#include "support/reference.h"

#include "engine/engine.h"
#include "engine/engine_private.h"
#include "engine/forecast.h"

#define KERNEL      "convolve:kernel=1 2 3/-4 5 1/0 0.5 -2,normalise=sum"
#define DIAGONAL    "convolve:kernel=1 0 0 0 0/0 2 0 0 0/0 0 3 0 0/0 0 0 4 0/0 0 0 0 5,normalise=sum"
#define WEIGHTED    DIAGONAL " | " SLANTED
#define WIDE(sigma) "gaussian-blur:sigma=" #sigma

static const struct beside direct = {.name = "direct",
                                     .technique = ENGINE_DIRECT,
                                     .most = {.is_short = true},
                                     .border_value = 0.7,
                                     .margin = 128};

/* Wide blurs at half the rate, on a GPU. */
static const struct beside half_rate = {
    .name = "direct at half the rate",
    .technique = ENGINE_DIRECT,
    .most = {.is_short = true, .half_radius = TAPS_MAX_HALF_RADIUS},
    .border_value = 0.7,
    .margin = 128};

static void check_scenes(const struct scene *scenes, size_t count)
{
    beside_check(&direct, scenes, count);
}

/* ---- tests --------------------------------------------------------------------------------- */

static void test_factors(void **state)
{
    static const struct scene scenes[] = {
        {.captured = "GREY", .chain = "none"},
        {.captured = "Y12", .chain = "gain:dc=0.7071,ac=0.7071"},
        {.captured = "YUV420", .chain = "none", .planes = RECIPE_ALL},
        {.captured = "YUYV",
         .chain = "gain:dc=0.45,ac=0.45",
         .planes = RECIPE_ALL,
         .precision = RECIPE_HALF},
        {.captured = "UYVY", .chain = "none", .planes = RECIPE_LUMA_ONLY},
        {.captured = "XRGB32", .chain = "gain:dc=1.21,ac=1.21"},
        {.captured = "RGB24", .chain = "none", .planes = RECIPE_ALL},
        {.captured = "SRGGB10", .chain = "none"},
        {.captured = "SGBRG8", .chain = "gain:dc=0.45,ac=0.45", .planes = RECIPE_ALL},
        {.captured = "NV12", .chain = "homomorphic | gain:dc=0.9,ac=0.9"},
        {.captured = "GREY", .chain = "linear-light"},
        {.captured = "GREY", .chain = "deflicker", .is_corrected = true},
        {.captured = "NV16", .chain = LENS, .planes = RECIPE_ALL},
        {.captured = "NV12", .chain = TURNED " | gain:dc=0.9,ac=0.9", .planes = RECIPE_ALL},
        {.captured = "GREY", .chain = "vignette:a=0.5,b=0.1", .border = PLAN_CONSTANT},
        {.captured = "GREY", .chain = "denoise:sigma=5,passes=1"},
    };
    (void)state;
    check_scenes(scenes, sizeof scenes / sizeof scenes[0]);
}

static void test_borders(void **state)
{
    struct scene scene = {.captured = "GREY", .chain = SLANTED};
    (void)state;
    for (int border = PLAN_MIRROR; border <= PLAN_WRAP; border++) {
        scene.border = (enum plan_border)border;
        scene.is_corrected = false;
        scene.chain = SLANTED;
        check_scenes(&scene, 1);
        scene.is_corrected = true;
        scene.chain = "deflicker | " DIAGONAL;
        check_scenes(&scene, 1);
    }
}

static void test_formats(void **state)
{
    static const struct scene scenes[] = {
        {.captured = "Y10", .chain = KERNEL},
        {.captured = "Y16", .chain = DIAGONAL, .precision = RECIPE_HALF},
        {.captured = "NV12", .chain = KERNEL},
        {.captured = "YUYV", .chain = DIAGONAL},
        {.captured = "UYVY", .chain = KERNEL, .planes = RECIPE_LUMA_ONLY},
        {.captured = "BGR24", .chain = KERNEL, .planes = RECIPE_ALL},
        {.captured = "XRGB32", .chain = SLANTED},
        {.captured = "XRGB32", .chain = KERNEL, .planes = RECIPE_LUMA_ONLY},
        {.captured = "SBGGR8", .chain = SLANTED},
        {.captured = "SGRBG12", .chain = KERNEL, .planes = RECIPE_ALL},
        {.captured = "GREY", .chain = WEIGHTED},
        {.captured = "Y12", .chain = WEIGHTED, .border = PLAN_REPLICATE},
    };
    (void)state;
    check_scenes(scenes, sizeof scenes / sizeof scenes[0]);
}

/* Chroma that is subsampled needs a transform where luma does not. */
static void test_chroma_may_need_a_transform(void **state)
{
    static const struct scene scenes[] = {
        {.captured = "NV12", .chain = KERNEL, .planes = RECIPE_ALL},
        {.captured = "YUYV", .chain = KERNEL, .planes = RECIPE_ALL, .border = PLAN_REPLICATE},
    };
    (void)state;
    if (device->midgard) /* pads what it transforms in another way than `fused` */
        skip();
    check_scenes(scenes, sizeof scenes / sizeof scenes[0]);
}

static void test_what_the_load_and_the_store_do(void **state)
{
    static const struct scene scenes[] = {
        {.captured = "GREY", .chain = "homomorphic | " KERNEL},
        {.captured = "Y12", .chain = "linear-light | " DIAGONAL, .border = PLAN_CONSTANT},
        {.captured = "XRGB32", .chain = "linear-light | " KERNEL},
        {.captured = "GREY", .chain = "vignette:a=0.5,b=0.1 | " LENS " | " DIAGONAL},
        {.captured = "SRGGB8", .chain = "vignette:a=0.5,b=0.1 | " KERNEL},
        {.captured = "GREY", .chain = "denoise:sigma=5,passes=1 | " DIAGONAL, .border = PLAN_WRAP},
        {.captured = "YUV420",
         .chain = "deflicker | " KERNEL,
         .planes = RECIPE_LUMA_ONLY,
         .is_corrected = true},
        {.captured = "NV12",
         .chain = "deflicker | homomorphic | " DIAGONAL,
         .is_corrected = true,
         .border = PLAN_CONSTANT},
        {.captured = "XRGB32",
         .chain = "deflicker | " KERNEL,
         .planes = RECIPE_ALL,
         .is_corrected = true},
        {.captured = "GREY", .chain = KERNEL, .view = VIEW_DIFFERENCE},
        {.captured = "YUYV", .chain = KERNEL, .view = VIEW_DIFFERENCE},
        {.captured = "NV12", .chain = DIAGONAL, .view = VIEW_EDGES},
    };
    (void)state;
    check_scenes(scenes, sizeof scenes / sizeof scenes[0]);
}

/* Chroma has 8 columns here, fewer than a vector. */
static void test_small_frames(void **state)
{
    static const struct scene scenes[] = {
        {.captured = "YUV420",
         .chain = "shift:by=2/-2",
         .planes = RECIPE_ALL,
         .width = 16,
         .height = 16},
        {.captured = "NV12",
         .chain = "shift:by=-6/2",
         .planes = RECIPE_ALL,
         .border = PLAN_WRAP,
         .width = 16,
         .height = 18},
        {.captured = "GREY", .chain = SLANTED, .width = 17, .height = 65},
    };
    (void)state;
    check_scenes(scenes, sizeof scenes / sizeof scenes[0]);
}

/* Sums of products: only a CPU device takes all of these. */
static void test_products(void **state)
{
    static const struct scene scenes[] = {
        {.captured = "GREY", .chain = "gaussian-blur:sigma=3", .width = 16, .height = 16},
        {.captured = "GREY", .chain = "gaussian-blur:sigma=2"},
        {.captured = "Y12", .chain = "gaussian-blur:sigma=1.5", .border = PLAN_CONSTANT},
        {.captured = "NV12",
         .chain = "gaussian-blur:sigma=3",
         .planes = RECIPE_ALL,
         .precision = RECIPE_HALF},
        {.captured = "YUYV", .chain = "box-blur:radius=3", .border = PLAN_WRAP},
        {.captured = "XRGB32", .chain = "sharpen:sigma=1.5"},
        {.captured = "NV12", .chain = "sharpen:amount=2,sigma=2", .planes = RECIPE_ALL},
        {.captured = "UYVY", .chain = "sharpen:sigma=1.3", .planes = RECIPE_LUMA_ONLY},
        {.captured = "GREY", .chain = "deflicker | homomorphic | sharpen", .is_corrected = true},
        {.captured = "GREY", .chain = "sharpen:sigma=1.5", .width = 17, .height = 16},
        {.captured = "BGR24", .chain = "shift:by=2/1 | sharpen | shift:by=-2/-1"},
        {.captured = "GREY", .chain = "sharpen:sigma=1 | sharpen:sigma=1"},
        {.captured = "GREY",
         .chain = "deflicker | homomorphic | box-blur:radius=2",
         .is_corrected = true},
        {.captured = "GREY", .chain = LENS " | gaussian-blur:sigma=2", .border = PLAN_REPLICATE},
        {.captured = "BGR24", .chain = "gradient:sigma=2,dc=0", .planes = RECIPE_ALL},
        {.captured = "YUYV", .chain = "gaussian-blur:sigma=2", .planes = RECIPE_ALL},
        {.captured = "UYVY", .chain = "gaussian-blur:sigma=1.3", .planes = RECIPE_LUMA_ONLY},
        {.captured = "GREY", .chain = "gaussian-blur:sigma=1.3", .border = PLAN_CONSTANT},
        {.captured = "Y16", .chain = "box-blur:radius=14", .border = PLAN_REPLICATE},
        {.captured = "XRGB32", .chain = "box-blur:radius=2", .planes = RECIPE_ALL},
        {.captured = "GREY", .chain = "gaussian-blur:sigma=3", .view = VIEW_DIFFERENCE},
        {.captured = "GREY", .chain = "box-blur:radius=9", .view = VIEW_DIFFERENCE},
        {.captured = "GREY", .chain = "sharpen:sigma=2", .view = VIEW_EDGES},
    };
    (void)state;
    if (!gpu_device_is_cpu(device))
        skip();
    check_scenes(scenes, sizeof scenes / sizeof scenes[0]);
}

/* An item makes each sample of its block in a loop: of a mosaic, or of sixteen others. */
static void test_products_in_loops(void **state)
{
    static const struct scene scenes[] = {
        {.captured = "SGRBG8", .chain = "vignette:a=0.5,b=0.1 | box-blur:radius=4"},
        {.captured = "GREY", .chain = TURNED " | gaussian-blur:sigma=2"},
    };
    (void)state;
    if (!gpu_device_is_cpu(device))
        skip();
    if (!device_ends_long_loops()) {
        print_message("skipped: the driver leaves a kernel's loops after 65535 turns\n");
        skip();
    }
    check_scenes(scenes, sizeof scenes / sizeof scenes[0]);
}

/* Kernels as for a GPU: a group shares a tile, also for products. */
static void test_as_on_a_gpu(void **state)
{
    static const struct scene scenes[] = {
        {.captured = "GREY", .chain = "none"},
        {.captured = "GREY", .chain = SLANTED, .border = PLAN_WRAP},
        {.captured = "Y12", .chain = DIAGONAL, .border = PLAN_CONSTANT},
        {.captured = "XRGB32", .chain = KERNEL},
        {.captured = "SGBRG8", .chain = KERNEL, .planes = RECIPE_ALL},
        {.captured = "GREY", .chain = "deflicker | homomorphic | " KERNEL, .is_corrected = true},
    };
    (void)state;
    beside_check_as_on_a_gpu(&direct, scenes, sizeof scenes / sizeof scenes[0]);
}

static void test_products_as_on_a_gpu(void **state)
{
    static const struct scene scenes[] = {
        {.captured = "GREY", .chain = "gaussian-blur:sigma=2"},
        {.captured = "GREY", .chain = "gaussian-blur:sigma=3", .width = 16, .height = 16},
        {.captured = "GREY", .chain = "box-blur:radius=12"},
        {.captured = "Y12", .chain = "box-blur:radius=4", .border = PLAN_CONSTANT},
        {.captured = "NV12",
         .chain = "sharpen:sigma=1.5",
         .planes = RECIPE_ALL,
         .border = PLAN_WRAP},
        {.captured = "XRGB32", .chain = "sharpen:sigma=2", .border = PLAN_REPLICATE},
        {.captured = "GREY", .chain = "sharpen:sigma=1.5"},
        {.captured = "Y12", .chain = "sharpen:sigma=2 | gain:dc=0.8,ac=0.8"},
        {.captured = "GREY", .chain = "sharpen:sigma=1 | sharpen:sigma=1"},
        {.captured = "GREY", .chain = "deflicker | homomorphic | sharpen", .is_corrected = true},
        {.captured = "GREY", .chain = "sharpen:sigma=2", .view = VIEW_EDGES},
        {.captured = "GREY",
         .chain = "deflicker | homomorphic | box-blur:radius=5",
         .is_corrected = true},
        {.captured = "GREY", .chain = "gaussian-blur:sigma=2", .view = VIEW_DIFFERENCE},
    };
    (void)state;
    if (device->midgard) /* does without products */
        skip();
    beside_check_as_on_a_gpu(&direct, scenes, sizeof scenes / sizeof scenes[0]);
}

/* Kernels for a GPU whose local memory is no nearer than its cache: items load vectors, and single
 * samples beyond the image. */
static void test_without_local_memory(void **state)
{
    static const struct scene scenes[] = {
        {.captured = "GREY", .chain = "gain:dc=0.45,ac=0.45", .width = 152},
        {.captured = "GREY", .chain = KERNEL, .width = 152},
        {.captured = "GREY", .chain = KERNEL, .border = PLAN_CONSTANT, .width = 152, .height = 33},
        {.captured = "GREY", .chain = DIAGONAL, .border = PLAN_REPLICATE, .width = 152},
        {.captured = "NV12", .chain = DIAGONAL, .border = PLAN_WRAP, .width = 160},
        {.captured = "GREY", .chain = KERNEL, .width = 16, .height = 16},
    };
    const bool is_midgard = device->midgard;
    (void)state;
    device->midgard = true;
    beside_check_as_on_a_gpu(&direct, scenes, sizeof scenes / sizeof scenes[0]);
    device->midgard = is_midgard;
}

/* Blocks inside the image, and its edges; formats, and what loads and stores do. */
static void test_half_rate(void **state)
{
    static const struct scene scenes[] = {
        {.captured = "GREY", .chain = WIDE(5), .width = 420, .height = 420},
        {.captured = "GREY", .chain = WIDE(8), .width = 413, .height = 307},
        {.captured = "GREY", .chain = WIDE(4), .width = 16, .height = 17},
        {.captured = "YUYV", .chain = WIDE(8), .planes = RECIPE_ALL}, /* chroma: 4 by 8 */
        {.captured = "NV12", .chain = WIDE(9), .planes = RECIPE_ALL, .border = PLAN_WRAP},
        {.captured = "YUV420",
         .chain = WIDE(8) " | gain:dc=0.6,ac=0.6",
         .planes = RECIPE_ALL,
         .precision = RECIPE_HALF},
        {.captured = "UYVY", .chain = WIDE(4), .planes = RECIPE_LUMA_ONLY},
        {.captured = "XRGB32", .chain = WIDE(5), .border = PLAN_REPLICATE},
        {.captured = "BGR24", .chain = WIDE(6), .planes = RECIPE_ALL},
        {.captured = "SGRBG8", .chain = "vignette:a=0.5,b=0.1 | " WIDE(4)},
        {.captured = "Y10", .chain = WIDE(6), .border = PLAN_CONSTANT},
        {.captured = "GREY", .chain = "deflicker | " WIDE(5), .is_corrected = true},
        {.captured = "NV12",
         .chain = "deflicker | " WIDE(6),
         .is_corrected = true,
         .border = PLAN_CONSTANT},
        {.captured = "GREY", .chain = LENS " | " WIDE(5)},
        {.captured = "GREY", .chain = TURNED " | " WIDE(5)},
        {.captured = "GREY", .chain = "median | " WIDE(4)},
        {.captured = "GREY", .chain = "denoise:sigma=5,passes=1 | " WIDE(5), .width = 400},
        {.captured = "GREY", .chain = WIDE(5), .view = VIEW_DIFFERENCE},
        {.captured = "NV12", .chain = WIDE(4), .view = VIEW_EDGES},
    };
    (void)state;
    if (device->midgard)
        skip();
    beside_check_as_on_a_gpu(&half_rate, scenes, sizeof scenes / sizeof scenes[0]);
}

/* Frames that give a GPU enough to do. */
static const struct transform_image large = {
    .count = 1, .width = 3840, .height = 2160, .stride = 3840, .step = 1, .bits = 8};

/* A GPU takes them before it has measured anything, and then transforms if local memory does not
 * suffice for any block. A CPU's engine for the same filter transforms, and says so. */
static void test_half_rate_is_chosen(void **state)
{
    const struct scene scene = {
        .captured = "GREY", .chain = WIDE(5), .width = 1920, .height = 1080};
    const struct filter_chain chain = chain_of(scene.chain);
    struct tuner_subject subject = {
        .device = device, .image = large, .any_technique = true, .reach.half_radius = 8};
    struct engine_options options = {.technique = ENGINE_AUTO, .margin = -1, .in_flight = 1};
    struct gpu_device gpu = *device;
    struct transform_tuning tuning;
    struct transform *transform;
    struct fftd_format format, captured;
    struct error why = {""}, warning;
    (void)state;
    if (device->midgard)
        skip();
    gpu.type = CL_DEVICE_TYPE_GPU;
    gpu.compute_units = 1; /* the choice depends on them */
    subject.device = &gpu;
    tuner_start(&tuning, &subject);
    assert_int_equal(tuning.technique, TRANSFORM_HALF_RATE);

    /* With many units blocks are lower. */
    tuner_start(&tuning, &subject);
    const uint32_t tallest = tuning.row_group;
    gpu.compute_units = 1000;
    tuner_start(&tuning, &subject);
    assert_true(tuning.row_group < tallest);

    gpu.compute_units = 1;
    gpu.local_bytes = 16384;
    assert_int_equal(transform_create(&transform, &gpu, &beside_floats, &subject.border, &tuning,
                                      NULL, &warning, &why),
                     -ERANGE);
    assert_true(tuner_fall_back(&tuning, &subject));
    assert_int_equal(tuning.technique, TRANSFORM_FUSED);

    beside_lay_out(&format, &captured, &scene);
    options.recipe.captured = format.fourcc;
    engine_set_reach(&options, &gpu);
    options.recipe = recipe_of(&chain, &options.recipe);
    assert_int_equal(options.recipe.reach.half_radius, 8);
    gpu.local_bytes = device->local_bytes;
    assert_int_equal(engine_true_recipe(&gpu, &format, &options, NULL).reach.half_radius, 8);
    gpu.type = CL_DEVICE_TYPE_CPU;
    assert_int_equal(engine_true_recipe(&gpu, &format, &options, NULL).reach.half_radius, 0);
    options.recipe.reach = (struct taps_reach){.is_short = true};
    engine_set_reach(&options, &gpu);
    assert_int_equal(options.recipe.reach.half_radius, 0);
    gpu.type = CL_DEVICE_TYPE_GPU;
    options.technique = ENGINE_FUSED;
    engine_set_reach(&options, &gpu);
    assert_int_equal(options.recipe.reach.half_radius, 0);
}

static enum transform_technique choice_for(struct gpu_device *on, const char *text)
{
    const struct filter_chain chain = chain_of(text);
    struct engine_options options = {.technique = ENGINE_AUTO};
    struct tuner_subject subject = {.device = on, .image = large, .any_technique = true};
    struct transform_tuning tuning;
    options.recipe.captured = format_by_name("GREY")->fourcc;
    engine_set_reach(&options, on);
    subject.reach = recipe_of(&chain, &options.recipe).reach;
    tuner_start(&tuning, &subject);
    return tuning.technique;
}

/* Both do a blur of sigma 3 and a bit more. A GPU takes taps with a radius of 10, but half the rate
 * in the place of taps with a radius of 15, as measured; other filters of that radius have taps. */
static void test_taps_or_half_rate(void **state)
{
    struct gpu_device gpu = *device, cpu = *device;
    (void)state;
    if (device->midgard)
        skip();
    gpu.type = CL_DEVICE_TYPE_GPU;
    gpu.compute_units = 132;
    cpu.type = CL_DEVICE_TYPE_CPU;
    assert_int_equal(choice_for(&gpu, WIDE(2.67)), TRANSFORM_DIRECT);
    assert_int_equal(choice_for(&gpu, WIDE(3)), TRANSFORM_DIRECT);
    assert_int_equal(choice_for(&gpu, WIDE(3.33)), TRANSFORM_HALF_RATE);
    assert_int_equal(choice_for(&gpu, WIDE(4)), TRANSFORM_HALF_RATE);
    assert_int_equal(choice_for(&gpu, "box-blur:radius=15"), TRANSFORM_DIRECT);
    assert_int_equal(choice_for(&gpu, "sharpen:sigma=3.33"), TRANSFORM_DIRECT);
    assert_int_equal(choice_for(&cpu, WIDE(3.33)), TRANSFORM_DIRECT);
}

/* What is beyond a chain's reach, or changes the spectrum, is refused by the engine of another. */
static void test_refusals(void **state)
{
    const struct scene scene = {.captured = "GREY", .chain = KERNEL};
    const struct filter_chain chain = chain_of(KERNEL);
    const struct filter_chain more = chain_of(DIAGONAL), less = chain_of("gain:dc=0.45,ac=0.45");
    struct engine_response *response = NULL;
    struct fftd_format format, captured;
    struct error why = {""};
    (void)state;
    beside_lay_out(&format, &captured, &scene);
    struct engine *engine = beside_engine(&direct, false, &scene, &chain, &format);
    assert_true(isinf(engine_support(engine)));
    assert_int_equal(engine_design(engine, &more, &response, &why), -22);
    assert_non_null(strstr(why.text, "reaches farther"));
    assert_null(response);
    assert_int_equal(engine_design(engine, &less, &response, &why), 0);
    engine_response_free(response);
    engine_destroy(engine);
}

/* ---- floats -------------------------------------------------------------------------------- */

/* Returns the greatest error of filtered noise, 0 .. 255. */
static double error_of(const char *text, enum plan_border mode, bool is_half)
{
    const struct filter_chain chain = chain_of(text);
    const struct taps_samples samples = {.sub_x = 1, .sub_y = 1, .bits = 8};
    const struct taps_reach reach = is_half
                                        ? taps_half_reach_of(&chain, &samples, TAPS_MAX_HALF_RADIUS)
                                        : taps_reach_of(&chain, &samples);
    const struct transform_border border = {.mode = mode, .value = 100};
    const struct tuner_subject subject = {.device = device,
                                          .image = beside_floats,
                                          .border = border,
                                          .technique =
                                              is_half ? TRANSFORM_HALF_RATE : TRANSFORM_DIRECT,
                                          .reach = reach};
    struct transform_tuning tuning;
    struct transform *transform;
    struct error why = {""}, warning;
    tuner_start(&tuning, &subject);
    if (transform_create(&transform, device, &beside_floats, &border, &tuning, NULL, &warning,
                         &why) < 0)
        fail_msg("%s: %s", text, why.text);
    const double worst = beside_error_of(transform, &chain, mode, direct.margin);
    print_message("# %s, border %d: %.2g\n", text, (int)mode, worst);
    transform_destroy(transform);
    return worst;
}

/* What the taps leave out is at most half a step. */
static void test_floats_of_products(void **state)
{
    static const char *const chains[] = {"gaussian-blur:sigma=1",
                                         "gaussian-blur:sigma=1.3",
                                         "gaussian-blur:sigma=3",
                                         "box-blur:radius=4.5",
                                         "sharpen:amount=1.5,sigma=2",
                                         "shift:by=4/-7",
                                         "gradient:along=y,sigma=2,dc=0",
                                         "sharpen:sigma=1.5 | convolve:kernel=1 0 3",
                                         "box-blur:radius=14",
                                         "shift:by=-15/12"};
    (void)state;
    if (!gpu_device_is_cpu(device))
        skip();
    for (int border = PLAN_MIRROR; border <= PLAN_WRAP; border++)
        for (size_t i = 0; i < sizeof chains / sizeof chains[0]; i++)
            if (!(error_of(chains[i], (enum plan_border)border, false) < 0.5))
                fail_msg("%s, border %d", chains[i], border);
}

/* So is what half the rate changes, in each of the four phases. */
static void test_floats_of_half_rate(void **state)
{
    static const char *const chains[] = {WIDE(3),   WIDE(4), WIDE(5),
                                         WIDE(6.5), WIDE(9), WIDE(6) " | gain:dc=-0.8,ac=-0.8"};
    const cl_device_type type = device->type;
    (void)state;
    if (device->midgard)
        skip();
    device->type = CL_DEVICE_TYPE_GPU;
    for (int border = PLAN_MIRROR; border <= PLAN_WRAP; border++)
        for (size_t i = 0; i < sizeof chains / sizeof chains[0]; i++)
            if (!(error_of(chains[i], (enum plan_border)border, true) < 0.5))
                fail_msg("%s, border %d", chains[i], border);
    device->type = type;
}

enum { SAMPLES = BESIDE_WIDTH * BESIDE_HEIGHT };

/* Samples at both ends of their range make the greatest errors. */
static void make_bytes(uint8_t *bytes, size_t count, bool is_extreme)
{
    uint64_t seed = 11;
    for (size_t i = 0; i < count; i++)
        bytes[i] = (uint8_t)(is_extreme ? reference_noise(&seed) < 0.5 ? 0 : 255
                                        : 256 * reference_noise(&seed));
}

static unsigned sample_at(const uint8_t *samples, size_t at, unsigned bits)
{
    return bits == 8 ? samples[at] : samples[2 * at] | (unsigned)samples[2 * at + 1] << 8;
}

/* Returns the greatest error of a filtered frame, in steps. Of samples with more bits than 8, bytes
 * are the upper ones. */
static double error_of_scene(const struct beside *beside, const struct scene *scene,
                             const uint8_t *bytes)
{
    const uint32_t width = scene->width > 0 ? scene->width : BESIDE_WIDTH;
    const uint32_t height = scene->height > 0 ? scene->height : BESIDE_HEIGHT;
    const size_t count = (size_t)width * height;
    const unsigned bits = format_by_name(scene->captured)->bits;
    const unsigned most = (1u << bits) - 1;
    const struct filter_chain chain = chain_of(scene->chain);
    const struct reference reference = {.width = width,
                                        .height = height,
                                        .padded_x = width + beside->margin,
                                        .padded_y = height + beside->margin,
                                        .border = scene->border,
                                        .border_value = most * beside->border_value,
                                        .sub_x = 1,
                                        .sub_y = 1,
                                        .chain = &chain};
    struct fftd_format format, captured;
    uint8_t *samples = malloc(2 * count);
    double *in = malloc(count * sizeof *in), *exact = malloc(count * sizeof *exact);
    for (size_t i = 0; i < count; i++) {
        const unsigned value = bytes[i] * most / 255;
        in[i] = value;
        samples[bits == 8 ? i : 2 * i] = (uint8_t)value;
        if (bits > 8)
            samples[2 * i + 1] = (uint8_t)(value >> 8);
    }
    beside_lay_out(&format, &captured, scene);
    struct engine *engine = beside_engine(beside, false, scene, &chain, &format);
    uint8_t *out = malloc(format.frame_bytes);
    double worst = 0;
    beside_run(engine, scene, &captured, samples, out);
    reference_filter(&reference, in, exact);
    for (size_t k = 0; k < count; k++) {
        const uint8_t *row = out + k / width * format.plane[0].stride;
        const double wanted = fmax(0, fmin(exact[k], most));
        worst = fmax(worst, fabs(sample_at(row, k % width, bits) - wanted));
    }
    print_message("# %s, %s, border %d: %.3f\n", scene->captured, scene->chain, (int)scene->border,
                  worst);
    free(samples);
    free(in);
    free(exact);
    free(out);
    engine_destroy(engine);
    return worst;
}

static double error_of_samples(const char *captured, const char *text, enum plan_border mode,
                               const uint8_t bytes[SAMPLES])
{
    const struct scene scene = {.captured = captured, .chain = text, .border = mode};
    return error_of_scene(&direct, &scene, bytes);
}

/* Frames with blocks inside the image, whose sides are no whole blocks: half a step, and half for
 * rounding. Samples of 12 bits need a smaller difference. */
static void test_bytes_of_half_rate(void **state)
{
    enum { MOST_WIDTH = 413, MOST_HEIGHT = 419 };
    static const struct scene scenes[] = {
        {.captured = "GREY", .chain = WIDE(3.5), .width = 412, .height = 412},
        {.captured = "GREY", .chain = WIDE(5), .width = MOST_WIDTH, .height = MOST_HEIGHT},
        {.captured = "GREY", .chain = WIDE(9), .width = MOST_WIDTH, .height = 240},
        {.captured = "Y12", .chain = WIDE(5), .width = 128, .height = 121},
        {.captured = "GREY", .chain = WIDE(4) " | gain:dc=1.3,ac=1.3", .width = 33, .height = 49},
    };
    static uint8_t bytes[MOST_WIDTH * MOST_HEIGHT];
    const enum plan_border last = device_is_simulated() ? PLAN_MIRROR : PLAN_WRAP;
    const cl_device_type type = device->type;
    (void)state;
    if (device->midgard)
        skip();
    device->type = CL_DEVICE_TYPE_GPU;
    make_bytes(bytes, sizeof bytes, true);
    for (int border = PLAN_MIRROR; border <= (int)last; border++)
        for (size_t i = 0; i < sizeof scenes / sizeof scenes[0]; i++) {
            struct scene scene = scenes[i];
            scene.border = (enum plan_border)border;
            if (!(error_of_scene(&half_rate, &scene, bytes) < 1))
                fail_msg("%s, border %d", scene.chain, border);
        }
    device->type = type;
}

/* Kernels may multiply integers of 16 bits: half a step, and half for rounding. */
static void test_small_taps_of_bytes(void **state)
{
    static const char *const chains[] = {
        "gaussian-blur:sigma=1",
        "gaussian-blur:sigma=1.2",
        "gaussian-blur:sigma=2",
        "gaussian-blur:sigma=3",
        "box-blur:radius=2.5",
        "box-blur:radius=15",
        "gaussian-blur:sigma=1.5 | gain:dc=0.5,ac=0.5",
        "gaussian-blur:sigma=2.2 | gain:dc=1.2,ac=1.2",
        "gaussian-blur:sigma=2.2 | gain:dc=2,ac=2",
    };
    static uint8_t bytes[SAMPLES];
    (void)state;
    if (!gpu_device_is_cpu(device))
        skip();
    make_bytes(bytes, SAMPLES, true);
    for (size_t i = 0; i < sizeof chains / sizeof chains[0]; i++)
        if (!(error_of_samples("GREY", chains[i], PLAN_MIRROR, bytes) < 1))
            fail_msg("%s", chains[i]);
}

/* A product and the sample itself. In 16 bits, sums of the last ones for bytes are too large, far
 * beyond black and white, and are cut off before they turn around. */
static void test_middles(void **state)
{
    static const char *const formats[] = {"GREY", "Y10", "Y12", "Y16"};
    static const char *const chains[] = {
        "sharpen",
        "sharpen:amount=1,sigma=1.5",
        "sharpen:amount=0.3,sigma=2",
        "sharpen:amount=2,sigma=1.5 | gain:dc=0.4,ac=0.4",
        "gaussian-blur:sigma=1.2 | sharpen:sigma=1",
        "sharpen:sigma=1 | sharpen:sigma=1",
        "sharpen:amount=2.5,sigma=2.5",
        "sharpen:amount=6,sigma=2.5",
    };
    static uint8_t bytes[2][SAMPLES];
    (void)state;
    if (!gpu_device_is_cpu(device))
        skip();
    make_bytes(bytes[0], SAMPLES, true);
    make_bytes(bytes[1], SAMPLES, false);
    for (size_t format = 0; format < sizeof formats / sizeof formats[0]; format++)
        for (size_t i = 0; i < sizeof chains / sizeof chains[0]; i++)
            for (int is_noise = 0; is_noise <= 1; is_noise++) {
                const enum plan_border mode = is_noise == 1 ? PLAN_CONSTANT : PLAN_REPLICATE;
                if (!(error_of_samples(formats[format], chains[i], mode, bytes[is_noise]) < 1))
                    fail_msg("%s, %s", formats[format], chains[i]);
            }
}

/* Taps that are whole multiples of a power of 2 are exact in 16 bits, as far as sums fit: only
 * rounding is left. The last ones are just too large, and not quite whole. */
static void test_whole_taps_of_bytes(void **state)
{
    static const char *const chains[] = {
        "laplacian",
        "convolve:kernel=-1 0 1/-2 0 2/-1 0 1",
        "convolve:kernel=1 2 1/2 4 2/1 2 1,normalise=sum",
        "convolve:kernel=0.25 -1.75 2/0.5 1 -0.75/-0.25 1 -1",
        "convolve:kernel=0 0 -1 0 0/0 -1 -2 -1 0/-1 -2 16 -2 -1/0 -1 -2 -1 0/0 0 -1 0 0",
        "convolve:kernel=-16 -16 -16/-16 0 16/16 16 16",
        "convolve:kernel=16 16 16/16 0 16/16 16 16 | gain:dc=0.0078125,ac=0.0078125",
        "convolve:kernel=16 16 16/16 1 16/16 16 16 | gain:dc=0.0078125,ac=0.0078125",
        "convolve:kernel=0.1 -1.75 2/0.5 1 -0.75/-0.25 1 -1",
    };
    static uint8_t bytes[2][SAMPLES];
    (void)state;
    make_bytes(bytes[0], SAMPLES, true);
    make_bytes(bytes[1], SAMPLES, false);
    for (int border = PLAN_MIRROR; border <= PLAN_WRAP; border++)
        for (size_t i = 0; i < 2 * sizeof chains / sizeof chains[0]; i++)
            if (!(error_of_samples("GREY", chains[i / 2], (enum plan_border)border, bytes[i % 2]) <
                  0.501))
                fail_msg("%s, border %d", chains[i / 2], border);
}

static void test_floats(void **state)
{
    static const char *const exact[] = {"none", "laplacian", KERNEL, DIAGONAL, SLANTED, WEIGHTED};
    (void)state;
    for (int border = PLAN_MIRROR; border <= PLAN_WRAP; border++)
        for (size_t i = 0; i < sizeof exact / sizeof exact[0]; i++)
            if (!(error_of(exact[i], (enum plan_border)border, false) < 1e-3))
                fail_msg("%s, border %d", exact[i], border);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_floats),
        cmocka_unit_test(test_floats_of_products),
        cmocka_unit_test(test_floats_of_half_rate),
        cmocka_unit_test(test_bytes_of_half_rate),
        cmocka_unit_test(test_half_rate),
        cmocka_unit_test(test_half_rate_is_chosen),
        cmocka_unit_test(test_taps_or_half_rate),
        cmocka_unit_test(test_small_taps_of_bytes),
        cmocka_unit_test(test_middles),
        cmocka_unit_test(test_whole_taps_of_bytes),
        cmocka_unit_test(test_factors),
        cmocka_unit_test(test_borders),
        cmocka_unit_test(test_formats),
        cmocka_unit_test(test_chroma_may_need_a_transform),
        cmocka_unit_test(test_what_the_load_and_the_store_do),
        cmocka_unit_test(test_small_frames),
        cmocka_unit_test(test_products),
        cmocka_unit_test(test_products_in_loops),
        cmocka_unit_test(test_as_on_a_gpu),
        cmocka_unit_test(test_products_as_on_a_gpu),
        cmocka_unit_test(test_without_local_memory),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, device_setup, device_teardown);
}
