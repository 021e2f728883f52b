/* Tests of the direct technique: short filters make of floats what double precision makes of them,
 * and of frames of every kind what the fused technique makes of them. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/chains.h"
#include "support/cmocka.h"
#include "support/device.h"
#include "support/engine_frame.h"
#include "support/reference.h"

#include "engine/engine.h"
#include "engine/engine_private.h"

#define WIDTH    150 /* some blocks without an edge, and an odd rest */
#define HEIGHT   70
#define MARGIN   128 /* more than twice any radius */

#define LENS     "undistort:fx=140,fy=140,cx=75,cy=35,k1=-0.2"
#define KERNEL   "convolve:kernel=1 2 3/-4 5 1/0 0.5 -2,normalise=sum"
#define DIAGONAL "convolve:kernel=1 0 0 0 0/0 2 0 0 0/0 0 3 0 0/0 0 0 4 0/0 0 0 0 5,normalise=sum"
#define SLANTED                                                                                    \
    "convolve:kernel=1 0 0 0 0 0 2/0 2 0 0 0 1 0/0 0 3 0 1 0 0/0 0 0 4 0 0 0/0 2 0 0 5 0 0/"       \
    "0 0 0 0 0 6 0/1 0 0 0 0 0 7,normalise=sum"
#define WEIGHTED DIAGONAL " | " SLANTED

struct scene {
    const char *captured, *chain;
    enum recipe_planes planes;
    enum recipe_precision precision;
    enum plan_border border;
    enum view_kind view;
    bool is_corrected;
    uint32_t width, height; /* 0: WIDTH, HEIGHT */
};

/* ---- frames -------------------------------------------------------------------------------- */

static uint8_t *make_frame(const struct fftd_format *captured, const struct format_info *info)
{
    uint8_t *frame = malloc(captured->frame_bytes);
    uint64_t seed = captured->fourcc;
    for (uint32_t i = 0; i < captured->frame_bytes; i++)
        frame[i] = (uint8_t)(20 + 210 * reference_noise(&seed));
    for (uint32_t i = 1; info->bits > 8 && i < captured->frame_bytes; i += 2)
        frame[i] = (uint8_t)(frame[i] >> (16 - info->bits));
    return frame;
}

static struct engine *make_engine(const struct scene *scene, const struct filter_chain *chain,
                                  const struct fftd_format *format, bool is_direct)
{
    const struct recipe settings = {.precision = is_direct ? scene->precision : RECIPE_FLOAT,
                                    .planes = scene->planes,
                                    .captured = format_by_name(scene->captured)->fourcc,
                                    .view = scene->view,
                                    .reach.is_short = is_direct,
                                    .chroma_reach.is_short = is_direct};
    const struct engine_options options = {
        .recipe = recipe_of(chain, &settings),
        .technique = is_direct ? ENGINE_DIRECT : ENGINE_FUSED,
        .border = scene->border,
        .border_value = 0.7,
        .margin = MARGIN,
        .in_flight = 1,
    };
    struct engine_response *response = NULL;
    struct engine *engine;
    struct error why;
    if (engine_create(&engine, device, format, &options, 0, NULL, NULL, &why) < 0 ||
        engine_design(engine, chain, &response, &why) < 0)
        fail_msg("%s, %s: %s", scene->captured, scene->chain, why.text);
    engine_apply(engine, response, 1);
    return engine;
}

static void run(struct engine *engine, const struct scene *scene,
                const struct fftd_format *captured, const uint8_t *in, void *out)
{
    static float gain[HEIGHT];
    const struct correction correction = {
        .row_gain = gain,
        .wave_count = 2,
        .wave = {{.fx = 0.21, .fy = 0.13, .re = 9, .im = 4}, {.fx = -0.03, .fy = 0.4, .re = -3}}};
    struct engine_job job = {.out = out, .correction = scene->is_corrected ? &correction : NULL};
    for (unsigned i = 0; i < HEIGHT; i++)
        gain[i] = 0.8f + 0.4f * (float)(i % 7) / 7;
    engine_frame(engine, job, captured, in, scene->chain);
}

static unsigned sample_at(const uint8_t *frame, uint32_t i, bool is_wide)
{
    return is_wide ? frame[2 * i] | (unsigned)frame[2 * i + 1] << 8 : frame[i];
}

/* Both round what differs by less than half a step, so few samples differ, and by one step. */
static void check_scene(const struct scene *scene)
{
    const struct filter_chain chain = chain_of(scene->chain);
    const struct format_info *info = format_by_name(scene->captured);
    const uint32_t width = scene->width > 0 ? scene->width : WIDTH;
    const uint32_t height = scene->height > 0 ? scene->height : HEIGHT;
    struct fftd_format format, captured;
    struct error why;
    if (format_layout(&format, engine_published(scene->planes, info->fourcc), width, height, 64,
                      &why) < 0 ||
        format_layout(&captured, info->fourcc, width, height, 1, &why) < 0)
        fail_msg("%s", why.text);
    uint8_t *in = make_frame(&captured, info);
    uint8_t *expected = calloc(1, format.frame_bytes), *out = calloc(1, format.frame_bytes);
    struct engine *engine = make_engine(scene, &chain, &format, false);
    run(engine, scene, &captured, in, expected);
    engine_destroy(engine);
    engine = make_engine(scene, &chain, &format, true);
    if (strncmp(engine_description(engine), "direct", 6) != 0)
        fail_msg("%s, %s: %s", scene->captured, scene->chain, engine_description(engine));
    run(engine, scene, &captured, in, out);
    engine_destroy(engine);

    const bool is_wide = info->bits > 8 && info->family == FAMILY_GREY;
    const uint32_t count = format.frame_bytes / (is_wide ? 2 : 1);
    const unsigned most = scene->view == VIEW_DIFFERENCE ? VIEW_GAIN : 1;
    unsigned differing = 0;
    for (uint32_t i = 0; i < count; i++) {
        const unsigned a = sample_at(out, i, is_wide), b = sample_at(expected, i, is_wide);
        differing += a != b;
        /* Edges are where the greatest change is, which may be either of two. */
        if ((a > b ? a - b : b - a) > most && scene->view != VIEW_EDGES)
            fail_msg("%s, %s, border %d, sample %u: %u, expected %u", scene->captured, scene->chain,
                     (int)scene->border, i, a, b);
    }
    print_message("# %s, %s: %u of %u differ\n", scene->captured, scene->chain, differing, count);
    if (differing > count / 25)
        fail_msg("%s, %s: %u of %u samples differ", scene->captured, scene->chain, differing,
                 count);
    free(in);
    free(expected);
    free(out);
}

static void check_scenes(const struct scene *scenes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        check_scene(&scenes[i]);
}

/* ---- tests --------------------------------------------------------------------------------- */

static void test_factors(void **state)
{
    static const struct scene scenes[] = {
        {.captured = "GREY", .chain = "none"},
        {.captured = "Y12", .chain = "gain:dc=0.7,ac=0.7"},
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
        check_scene(&scene);
        scene.is_corrected = true;
        scene.chain = "deflicker | " DIAGONAL;
        check_scene(&scene);
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
        {.captured = "SGRBG8", .chain = "vignette:a=0.5,b=0.1 | box-blur:radius=4"},
        {.captured = "GREY",
         .chain = "deflicker | homomorphic | box-blur:radius=2",
         .is_corrected = true},
        {.captured = "GREY", .chain = LENS " | gaussian-blur:sigma=2", .border = PLAN_REPLICATE},
        {.captured = "BGR24", .chain = "gradient:sigma=2,dc=0", .planes = RECIPE_ALL},
        {.captured = "GREY", .chain = "gaussian-blur:sigma=3", .view = VIEW_DIFFERENCE},
        {.captured = "GREY", .chain = "sharpen:sigma=2", .view = VIEW_EDGES},
    };
    (void)state;
    if (!gpu_device_is_cpu(device))
        skip();
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
        {.captured = "GREY", .chain = "gaussian-blur:sigma=2"},
        {.captured = "GREY", .chain = "gaussian-blur:sigma=3", .width = 16, .height = 16},
        {.captured = "GREY", .chain = "box-blur:radius=12"},
        {.captured = "Y12", .chain = "box-blur:radius=4", .border = PLAN_CONSTANT},
        {.captured = "NV12",
         .chain = "sharpen:sigma=1.5",
         .planes = RECIPE_ALL,
         .border = PLAN_WRAP},
        {.captured = "XRGB32", .chain = "sharpen:sigma=2", .border = PLAN_REPLICATE},
        {.captured = "GREY",
         .chain = "deflicker | homomorphic | box-blur:radius=5",
         .is_corrected = true},
        {.captured = "GREY", .chain = "gaussian-blur:sigma=2", .view = VIEW_DIFFERENCE},
    };
    const cl_device_type type = device->type;
    (void)state;
    device->type = CL_DEVICE_TYPE_GPU;
    check_scenes(scenes, sizeof scenes / sizeof scenes[0]);
    device->type = type;
}

/* What is beyond a chain's reach, or changes the spectrum, is refused by the engine of another. */
static void test_refusals(void **state)
{
    const struct scene scene = {.captured = "GREY", .chain = KERNEL};
    const struct filter_chain chain = chain_of(KERNEL);
    const struct filter_chain more = chain_of(DIAGONAL), less = chain_of("gain:dc=0.45,ac=0.45");
    struct engine_response *response = NULL;
    struct fftd_format format;
    struct error why = {""};
    (void)state;
    assert_int_equal(
        format_layout(&format, format_by_name("GREY")->fourcc, WIDTH, HEIGHT, 64, &why), 0);
    struct engine *engine = make_engine(&scene, &chain, &format, true);
    assert_true(isinf(engine_support(engine)));
    assert_int_equal(engine_design(engine, &more, &response, &why), -22);
    assert_non_null(strstr(why.text, "reaches farther"));
    assert_null(response);
    assert_int_equal(engine_design(engine, &less, &response, &why), 0);
    engine_response_free(response);
    engine_destroy(engine);
}

/* ---- floats -------------------------------------------------------------------------------- */

static cl_mem buffer_of(size_t size, const void *data)
{
    cl_int code;
    cl_mem buffer = clCreateBuffer(device->context,
                                   CL_MEM_READ_WRITE | (data != NULL ? CL_MEM_COPY_HOST_PTR : 0),
                                   size, (void *)data, &code);
    assert_int_equal(code, CL_SUCCESS);
    return buffer;
}

/* Filters noise of WIDTH x HEIGHT floats, 0 .. 255, and returns the greatest error. */
static double error_of(const char *text, enum plan_border mode)
{
    enum { COUNT = WIDTH * HEIGHT };
    static float in[COUNT], out[COUNT];
    static double exact_in[COUNT], exact[COUNT];
    const struct filter_chain chain = chain_of(text);
    const struct transform_image image = {.count = 1,
                                          .width = WIDTH,
                                          .height = HEIGHT,
                                          .stride = WIDTH * 4,
                                          .step = 4,
                                          .kind = SAMPLE_F32,
                                          .bits = 8};
    const struct taps_samples samples = {.sub_x = 1, .sub_y = 1, .bits = 8};
    const struct transform_border border = {.mode = mode, .value = 100};
    const struct tuner_subject subject = {.device = device,
                                          .image = image,
                                          .border = border,
                                          .technique = TRANSFORM_DIRECT,
                                          .reach = taps_reach_of(&chain, &samples)};
    struct transform_tuning tuning;
    struct transform_frame *frame;
    struct transform *t;
    struct error why = {""}, warning;
    tuner_start(&tuning, &subject);
    if (transform_create(&t, device, &image, &border, &tuning, NULL, &warning, &why) < 0 ||
        transform_frame_create(&frame, t, &why) < 0)
        fail_msg("%s: %s", text, why.text);
    float *values = malloc(transform_response_bytes(t));
    if (transform_response_fill(t, values, &chain, 1, 1, NULL, &why) < 0)
        fail_msg("%s: %s", text, why.text);
    uint64_t seed = 5;
    for (unsigned i = 0; i < COUNT; i++)
        exact_in[i] = in[i] = (float)(255 * reference_noise(&seed));
    const struct transform_buffers buffers = {.image = buffer_of(sizeof in, in),
                                              .result = buffer_of(sizeof out, NULL),
                                              .response.numbers =
                                                  buffer_of(transform_response_bytes(t), values)};
    cl_int code;
    cl_command_queue queue = clCreateCommandQueue(device->context, device->id, 0, &code);
    if (transform_frame_enqueue(frame, queue, &buffers, NULL, NULL, &why) < 0)
        fail_msg("%s: %s", text, why.text);
    assert_int_equal(
        clEnqueueReadBuffer(queue, buffers.result, CL_TRUE, 0, sizeof out, out, 0, NULL, NULL),
        CL_SUCCESS);
    const struct reference reference = {.width = WIDTH,
                                        .height = HEIGHT,
                                        .padded_x = WIDTH + MARGIN,
                                        .padded_y = HEIGHT + MARGIN,
                                        .border = mode,
                                        .border_value = 100,
                                        .sub_x = 1,
                                        .sub_y = 1,
                                        .chain = &chain};
    reference_filter(&reference, exact_in, exact);
    double worst = 0;
    for (unsigned i = 0; i < COUNT; i++)
        worst = fmax(worst, fabs((double)out[i] - exact[i]));
    print_message("# %s, border %d: %.2g\n", text, (int)mode, worst);
    free(values);
    transform_frame_destroy(frame);
    transform_destroy(t);
    clReleaseCommandQueue(queue);
    clReleaseMemObject(buffers.image);
    clReleaseMemObject(buffers.result);
    clReleaseMemObject(buffers.response.numbers);
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
            if (!(error_of(chains[i], (enum plan_border)border) < 0.5))
                fail_msg("%s, border %d", chains[i], border);
}

static void test_floats(void **state)
{
    static const char *const exact[] = {"none", "laplacian", KERNEL, DIAGONAL, SLANTED, WEIGHTED};
    (void)state;
    for (int border = PLAN_MIRROR; border <= PLAN_WRAP; border++)
        for (size_t i = 0; i < sizeof exact / sizeof exact[0]; i++)
            if (!(error_of(exact[i], (enum plan_border)border) < 1e-3))
                fail_msg("%s, border %d", exact[i], border);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_floats),
        cmocka_unit_test(test_floats_of_products),
        cmocka_unit_test(test_factors),
        cmocka_unit_test(test_borders),
        cmocka_unit_test(test_formats),
        cmocka_unit_test(test_chroma_may_need_a_transform),
        cmocka_unit_test(test_what_the_load_and_the_store_do),
        cmocka_unit_test(test_small_frames),
        cmocka_unit_test(test_products),
        cmocka_unit_test(test_as_on_a_gpu),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, device_setup, device_teardown);
}
