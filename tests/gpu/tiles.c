/* Tests of the tiles technique: it makes of floats what double precision makes of them, and of
 * frames of every kind what the fused technique makes of them. */
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

#define WIDTH        150 /* several tiles, and an odd rest */
#define HEIGHT       70
#define MARGIN       160     /* more than twice any radius */
#define ENOUGH_BYTES 0x50000 /* of local memory, for all sides */

#define LENS         "undistort:fx=140,fy=140,cx=75,cy=35,k1=-0.2"
#define SLANTED                                                                                    \
    "convolve:kernel=1 0 0 0 0 0 2/0 2 0 0 0 1 0/0 0 3 0 1 0 0/0 0 0 4 0 0 0/0 2 0 0 5 0 0/"       \
    "0 0 0 0 0 6 0/1 0 0 0 0 0 7,normalise=sum"
#define FAR      "shift:by=9/-7 | " SLANTED
#define FARTHEST "shift:by=-20/21 | convolve:kernel=1 2 3/-4 5 1/0 0.5 -2,normalise=sum"
#define EVEN     "sharpen:amount=1.5,sigma=4" /* H is real, and h has tails */
#define BOX      "box-blur:radius=14"

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
                                  const struct fftd_format *format, bool tiles)
{
    const struct taps_reach most = {.is_short = tiles, .radius = tiles ? TAPS_MAX_TILE_RADIUS : 0};
    const struct recipe settings = {.precision = tiles ? scene->precision : RECIPE_FLOAT,
                                    .planes = scene->planes,
                                    .captured = format_by_name(scene->captured)->fourcc,
                                    .view = scene->view,
                                    .reach = most,
                                    .chroma_reach = most};
    const struct engine_options options = {
        .recipe = recipe_of(chain, &settings),
        .technique = tiles ? ENGINE_TILES : ENGINE_FUSED,
        .border = scene->border,
        .border_value = 0.6,
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
    if (tiles && strncmp(engine_description(engine), "tiles", 5) != 0)
        fail_msg("%s, %s: %s", scene->captured, scene->chain, engine_description(engine));
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
static void compare(const struct scene *scene, const struct format_info *info,
                    const struct fftd_format *format, const uint8_t *out, const uint8_t *expected)
{
    const bool is_wide = info->bits > 8 && info->family == FAMILY_GREY;
    const uint32_t count = format->frame_bytes / (is_wide ? 2 : 1);
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
}

static void lay_out(struct fftd_format *ret_format, struct fftd_format *ret_captured,
                    const struct scene *scene, const struct format_info *info)
{
    const uint32_t width = scene->width > 0 ? scene->width : WIDTH;
    const uint32_t height = scene->height > 0 ? scene->height : HEIGHT;
    struct error why;
    if (format_layout(ret_format, engine_published(scene->planes, info->fourcc), width, height, 64,
                      &why) < 0 ||
        format_layout(ret_captured, info->fourcc, width, height, 1, &why) < 0)
        fail_msg("%s", why.text);
}

static void check_scene(const struct scene *scene)
{
    const struct filter_chain chain = chain_of(scene->chain);
    const struct format_info *info = format_by_name(scene->captured);
    struct fftd_format format, captured;
    lay_out(&format, &captured, scene, info);
    uint8_t *in = make_frame(&captured, info);
    uint8_t *expected = calloc(1, format.frame_bytes), *out = calloc(1, format.frame_bytes);
    struct engine *engine = make_engine(scene, &chain, &format, false);
    run(engine, scene, &captured, in, expected);
    engine_destroy(engine);
    engine = make_engine(scene, &chain, &format, true);
    run(engine, scene, &captured, in, out);
    engine_destroy(engine);
    compare(scene, info, &format, out, expected);
    free(in);
    free(expected);
    free(out);
}

static void check_scenes(const struct scene *scenes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        check_scene(&scenes[i]);
}

/* Kernels as for a GPU: a group shares its tiles. */
static void check_as_on_a_gpu(const struct scene *scenes, size_t count)
{
    const cl_device_type type = device->type;
    device->type = CL_DEVICE_TYPE_GPU;
    check_scenes(scenes, count);
    device->type = type;
}

/* ---- tests --------------------------------------------------------------------------------- */

static void test_borders(void **state)
{
    struct scene scene = {.captured = "GREY"};
    (void)state;
    for (int border = PLAN_MIRROR; border <= PLAN_WRAP; border++) {
        scene.border = (enum plan_border)border;
        scene.is_corrected = false;
        scene.chain = FAR;
        check_scene(&scene);
        scene.is_corrected = true;
        scene.chain = "deflicker | " EVEN;
        check_scene(&scene);
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
    check_scenes(scenes, sizeof scenes / sizeof scenes[0]);
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
    check_scenes(scenes, sizeof scenes / sizeof scenes[0]);
}

/* A frame in one tile, and one that is narrower than a vector. */
static void test_small_frames(void **state)
{
    static const struct scene scenes[] = {
        {.captured = "YUV420", .chain = FAR, .planes = RECIPE_ALL, .width = 16, .height = 16},
        {.captured = "GREY", .chain = FARTHEST, .border = PLAN_WRAP, .width = 33, .height = 65},
    };
    (void)state;
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
    check_as_on_a_gpu(scenes, sizeof scenes / sizeof scenes[0]);
}

/* A frame of a fade is the blend of both pictures, as an engine that transforms makes it. */
static void test_fades(void **state)
{
    enum { FRAMES = 4 };
    const struct scene scene = {.captured = "GREY", .chain = FAR};
    const struct filter_chain from = chain_of(FAR), to = chain_of(EVEN);
    const struct format_info *info = format_by_name("GREY");
    struct fftd_format format, captured;
    struct engine_response *response;
    struct engine *engine[2];
    struct error why;
    (void)state;
    lay_out(&format, &captured, &scene, info);
    uint8_t *in = make_frame(&captured, info);
    uint8_t *expected = calloc(1, format.frame_bytes), *out = calloc(1, format.frame_bytes);
    for (unsigned i = 0; i < 2; i++) {
        engine[i] = make_engine(&scene, &from, &format, i == 0);
        if (engine_design(engine[i], &to, &response, &why) < 0 ||
            engine_design_fade(engine[i], response, FRAMES, NULL, &why) < 0)
            fail_msg("%s", why.text);
        engine_apply(engine[i], response, 2);
    }
    for (unsigned frame = 0; frame < FRAMES + 2; frame++) {
        assert_int_equal(engine_is_fading(engine[0]), engine_is_fading(engine[1]));
        run(engine[0], &scene, &captured, in, out);
        run(engine[1], &scene, &captured, in, expected);
        compare(&scene, info, &format, out, expected);
    }
    engine_destroy(engine[0]);
    engine_destroy(engine[1]);
    free(in);
    free(expected);
    free(out);
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

/* Runs a transform once on floats. */
static void filter(struct transform *transform, const struct filter_chain *chain, const float *in,
                   float *out)
{
    const size_t size = (size_t)WIDTH * HEIGHT * sizeof *in;
    void *values = malloc(transform_response_bytes(transform));
    struct transform_frame *frame = NULL;
    struct error why;
    cl_int code;
    if (transform_response_fill(transform, values, chain, 1, 1, NULL, &why) < 0 ||
        transform_frame_create(&frame, transform, &why) < 0)
        fail_msg("%s", why.text);
    const struct transform_buffers buffers = {
        .image = buffer_of(size, in),
        .result = buffer_of(size, NULL),
        .response.numbers = buffer_of(transform_response_bytes(transform), values)};
    cl_command_queue queue = clCreateCommandQueue(device->context, device->id, 0, &code);
    if (transform_frame_enqueue(frame, queue, &buffers, NULL, NULL, &why) < 0)
        fail_msg("%s", why.text);
    assert_int_equal(
        clEnqueueReadBuffer(queue, buffers.result, CL_TRUE, 0, size, out, 0, NULL, NULL),
        CL_SUCCESS);
    free(values);
    transform_frame_destroy(frame);
    clReleaseCommandQueue(queue);
    clReleaseMemObject(buffers.image);
    clReleaseMemObject(buffers.result);
    clReleaseMemObject(buffers.response.numbers);
}

/* Filters noise of WIDTH x HEIGHT floats, 0 .. 255, and returns the greatest error. columns: the
 * side of a tile in those of the second radix; 0: the default. */
static double error_of(const char *text, enum plan_border mode, unsigned columns)
{
    enum { COUNT = WIDTH * HEIGHT };
    static float in[COUNT], out[COUNT];
    static double exact_in[COUNT], exact[COUNT];
    const struct filter_chain chain = chain_of(text);
    const struct recipe settings = {.reach = {.is_short = true, .radius = TAPS_MAX_TILE_RADIUS}};
    const struct recipe recipe = recipe_of(&chain, &settings);
    const struct transform_image image = {.count = 1,
                                          .width = WIDTH,
                                          .height = HEIGHT,
                                          .stride = WIDTH * 4,
                                          .step = 4,
                                          .kind = SAMPLE_F32,
                                          .bits = 8};
    const struct transform_border border = {.mode = mode, .value = 100};
    const struct tuner_subject subject = {.device = device,
                                          .image = image,
                                          .border = border,
                                          .technique = TRANSFORM_TILES,
                                          .reach = recipe.reach};
    struct transform_tuning tuning;
    struct transform *transform;
    struct error why = {""}, warning;
    tuner_start(&tuning, &subject);
    tuning.recipe = recipe;
    tuning.columns = columns > 0 ? columns : tuning.columns;
    if (transform_create(&transform, device, &image, &border, &tuning, NULL, &warning, &why) < 0)
        fail_msg("%s: %s", text, why.text);
    /* Simulated devices have little local memory, and other lanes: there it is another side. */
    if (columns > 0 && device->local_bytes >= ENOUGH_BYTES && device->vector_width >= 8)
        assert_int_equal(transform_tuning(transform)->columns, columns);
    uint64_t seed = 5;
    for (unsigned i = 0; i < COUNT; i++)
        exact_in[i] = in[i] = (float)(255 * reference_noise(&seed));
    filter(transform, &chain, in, out);
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
    for (int border = PLAN_MIRROR; border <= PLAN_WRAP; border++)
        check_floats((enum plan_border)border, 0);
}

/* Stages of all kinds. */
static void test_sides(void **state)
{
    static const unsigned columns[] = {9, 10, 16, 24};
    const cl_device_type type = device->type;
    (void)state;
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++)
        check_floats(PLAN_MIRROR, columns[i]);
    device->type = CL_DEVICE_TYPE_GPU;
    check_floats(PLAN_WRAP, 12);
    check_floats(PLAN_CONSTANT, 0);
    device->type = type;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_floats),
        cmocka_unit_test(test_sides),
        cmocka_unit_test(test_borders),
        cmocka_unit_test(test_formats),
        cmocka_unit_test(test_what_the_load_and_the_store_do),
        cmocka_unit_test(test_small_frames),
        cmocka_unit_test(test_as_on_a_gpu),
        cmocka_unit_test(test_fades),
    };
    return cmocka_run_group_tests(tests, device_setup, device_teardown);
}
