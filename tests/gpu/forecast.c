/* Tests of the forecast of an engine's memory: it is what clCreateBuffer is asked for, to the byte,
 * and no less than what the daemon's own code takes from the heap, and little more. The program is
 * linked so that these functions are called through those below (suites.mk). */
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/cmocka.h"
#include "support/chains.h"
#include "support/device.h"

#include "engine/engine.h"
#include "engine/forecast.h"
#include "gpu/device_private.h"
#include "transform/transform.h"

#define WIDTH       320
#define HEIGHT      200
#define SMALL_BYTES (72u << 10) /* structures */

/* ---- what is allocated ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t device_bytes, pinned_bytes; /* created since the last look */
static uint64_t heap_bytes, most_heap_bytes;

/* Blocks of the daemon's code that are not freed. Memory of libc that this code frees, such as that
 * of open_memstream, is not among them. */
static void *blocks[4096];

void *real_malloc(size_t size) __asm__("__real_malloc");
void *real_calloc(size_t count, size_t size) __asm__("__real_calloc");
void real_free(void *memory) __asm__("__real_free");
cl_mem real_create(cl_context context, cl_mem_flags flags, size_t size, void *host,
                   cl_int *ret) __asm__("__real_clCreateBuffer");
void *counted_malloc(size_t size) __asm__("__wrap_malloc");
void *counted_calloc(size_t count, size_t size) __asm__("__wrap_calloc");
void counted_free(void *memory) __asm__("__wrap_free");
cl_mem counted_create(cl_context context, cl_mem_flags flags, size_t size, void *host,
                      cl_int *ret) __asm__("__wrap_clCreateBuffer");

static void *add_block(void *memory)
{
    pthread_mutex_lock(&lock);
    for (size_t i = 0; memory != NULL && i < sizeof blocks / sizeof blocks[0]; i++)
        if (blocks[i] == NULL) {
            blocks[i] = memory;
            heap_bytes += malloc_usable_size(memory);
            break;
        }
    if (heap_bytes > most_heap_bytes)
        most_heap_bytes = heap_bytes;
    pthread_mutex_unlock(&lock);
    return memory;
}

void *counted_malloc(size_t size)
{
    return add_block(real_malloc(size));
}

void *counted_calloc(size_t count, size_t size)
{
    return add_block(real_calloc(count, size));
}

void counted_free(void *memory)
{
    pthread_mutex_lock(&lock);
    for (size_t i = 0; memory != NULL && i < sizeof blocks / sizeof blocks[0]; i++)
        if (blocks[i] == memory) {
            blocks[i] = NULL;
            heap_bytes -= malloc_usable_size(memory);
            break;
        }
    pthread_mutex_unlock(&lock);
    real_free(memory);
}

cl_mem counted_create(cl_context context, cl_mem_flags flags, size_t size, void *host, cl_int *ret)
{
    pthread_mutex_lock(&lock);
    *((flags & CL_MEM_ALLOC_HOST_PTR) != 0 ? &pinned_bytes : &device_bytes) += size;
    pthread_mutex_unlock(&lock);
    return real_create(context, flags, size, host, ret);
}

static void look_again(void)
{
    device_bytes = pinned_bytes = 0;
    most_heap_bytes = heap_bytes;
}

/* ---- engines ---- */

struct scene {
    const char *captured, *chain;
    enum recipe_planes planes;
    enum recipe_precision precision;
    enum engine_technique technique;
    enum view_kind view;
    enum plan_border border;
    unsigned in_flight;
    double edge_low;
    bool may_be_direct;
    bool is_smaller; /* frames become half as wide and half as high */
    enum recipe_depth depth;
    unsigned motion;
};

static const struct scene scenes[] = {
    {"GREY", "gaussian-blur:sigma=2", RECIPE_LUMA, .in_flight = 2},
    {"Y12", "gaussian-blur:sigma=2", RECIPE_LUMA, RECIPE_HALF, .in_flight = 1},
    {"XRGB32", "denoise:temporal=2", RECIPE_ALL, .in_flight = 2},
    {"YUYV", "denoise:sigma=3,passes=1", RECIPE_ALL, .in_flight = 3},
    {"YUV420", "denoise:temporal=1 | soft-threshold:sigma=2", RECIPE_ALL, RECIPE_HALF,
     ENGINE_STAGED, .in_flight = 2},
    {"NV12", "gradient", RECIPE_LUMA_ONLY, .in_flight = 2},
    {"NV12", "denoise", RECIPE_LUMA_ONLY, .in_flight = 2, .depth = RECIPE_DEPTH_16},
    {"SRGGB10", "gaussian-blur:sigma=1", RECIPE_ALL, .technique = ENGINE_STAGED, .in_flight = 2},
    {"RGB24", "stabilise", RECIPE_ALL, .in_flight = 2},
    {"NV12", "stabilise:model=similarity", RECIPE_ALL, .in_flight = 2, .may_be_direct = true},
    {"NV12", "stack", RECIPE_ALL, .in_flight = 2, .may_be_direct = true},
    {"RGB24", "stack:clip=3", RECIPE_ALL, .in_flight = 2, .may_be_direct = true},
    {"NV12", "stack:details=all", RECIPE_ALL, .in_flight = 2, .may_be_direct = true},
    {"RGB24", "stack:clip=3,details=all", RECIPE_ALL, .in_flight = 2, .may_be_direct = true},
    {"NV12", "stack:power=8", RECIPE_ALL, .in_flight = 2, .may_be_direct = true},
    {"UYVY", "stabilise | soft-threshold:sigma=1", RECIPE_LUMA_ONLY, RECIPE_HALF, .in_flight = 2},
    {"NV16", "auto-notch | deflicker", RECIPE_ALL, .border = PLAN_CONSTANT, .in_flight = 2},
    {"GREY", "vignette:a=0.1 | undistort:fx=300,fy=300,cx=160,cy=100,k1=-0.1", RECIPE_LUMA,
     .in_flight = 2},
    {"BGR24", "gaussian-blur:sigma=1", RECIPE_LUMA, .view = VIEW_SPECTRUM, .in_flight = 2},
    {"XBGR32", "gaussian-blur:sigma=1", RECIPE_LUMA, RECIPE_HALF, ENGINE_STAGED, VIEW_PEAKS,
     .in_flight = 2},
    {"YVU420", "gaussian-blur:sigma=1", RECIPE_LUMA, .view = VIEW_EDGES, .in_flight = 2},
    {"NV12", "median | binarise:level=128", RECIPE_ALL, .in_flight = 2},
    {"GREY", "none", RECIPE_LUMA, .view = VIEW_EDGES, .in_flight = 2, .edge_low = 0.1},
    {"GREY", "convolve:image=even | convolve:image=odd", RECIPE_LUMA, .technique = ENGINE_STAGED,
     .in_flight = 2},
    {"GREY", "none", RECIPE_LUMA, .in_flight = 2, .may_be_direct = true},
    {"YUV420", "gaussian-blur:sigma=3", RECIPE_ALL, RECIPE_HALF, .in_flight = 2,
     .may_be_direct = true},
    {"XRGB32", "laplacian | deflicker", RECIPE_LUMA, .view = VIEW_EDGES, .in_flight = 2,
     .may_be_direct = true},
    {"UYVY", "convolve:kernel=1 2 3/4 5 6/7 8 8", RECIPE_ALL, RECIPE_HALF, .in_flight = 2,
     .may_be_direct = true}, /* chroma is transformed */
    {"GREY", "convolve:image=odd", RECIPE_LUMA, .in_flight = 2, .may_be_direct = true},
    {"NV12", "denoise:sigma=3 | soft-threshold:sigma=1", RECIPE_LUMA, .in_flight = 2,
     .is_smaller = true},
    {"GREY", "stabilise | convolve:image=odd", RECIPE_LUMA, RECIPE_HALF, .in_flight = 2,
     .is_smaller = true},
    {"UYVY", "gaussian-blur:sigma=2", RECIPE_LUMA, .in_flight = 3, .is_smaller = true},
    {"NV12", "sharpen:sigma=3", RECIPE_ALL, RECIPE_HALF, .technique = ENGINE_TILES, .in_flight = 2,
     .may_be_direct = true},
    {"GREY", "shift:by=9/3 | convolve:image=odd", RECIPE_LUMA, .technique = ENGINE_TILES,
     .in_flight = 2, .may_be_direct = true},
    {"NV12", "gaussian-blur:sigma=2", RECIPE_ALL, .in_flight = 3, .motion = 32},
    {"RGB24", "none", RECIPE_ALL, .in_flight = 2, .motion = 32}, /* has none */
};

static struct fftd_format layout_of(const struct scene *scene)
{
    const uint32_t captured = format_by_name(scene->captured)->fourcc;
    struct fftd_format format;
    struct error why;
    const unsigned divisor = scene->is_smaller ? 2 : 1;
    if (format_layout(
            &format,
            engine_published(&(struct recipe){.planes = scene->planes, .depth = scene->depth},
                             captured),
            WIDTH / divisor, HEIGHT / divisor, 64, &why) < 0)
        fail_msg("%s", why.text);
    return format;
}

static struct engine_options options_of(const struct scene *scene, const struct filter_chain *chain)
{
    const struct taps_reach most = {
        .is_short = scene->may_be_direct,
        .half_radius = scene->may_be_direct ? transform_half_radius(device) : 0,
        .radius = scene->technique == ENGINE_TILES ? TAPS_MAX_TILE_RADIUS : 0};
    const struct recipe settings = {.precision = scene->precision,
                                    .planes = scene->planes,
                                    .depth = scene->depth,
                                    .captured = format_by_name(scene->captured)->fourcc,
                                    .captured_width = scene->is_smaller ? WIDTH : 0,
                                    .captured_height = scene->is_smaller ? HEIGHT : 0,
                                    .motion = scene->motion,
                                    .edges.low = scene->edge_low,
                                    .view = scene->view,
                                    .reach = most,
                                    .chroma_reach = most};
    return (struct engine_options){.recipe = recipe_of(chain, &settings),
                                   .technique = scene->technique,
                                   .border = scene->border,
                                   .border_value = 0.5,
                                   .margin = -1,
                                   .in_flight = scene->in_flight};
}

static void assert_allocated(const char *what, const struct scene *scene,
                             const struct forecast_bytes *expected)
{
    if (device_bytes != expected->device || pinned_bytes != expected->pinned)
        fail_msg("%s, %s, %s: %llu and %llu bytes are allocated, %llu and %llu were forecast",
                 scene->captured, scene->chain, what, (unsigned long long)device_bytes,
                 (unsigned long long)pinned_bytes, (unsigned long long)expected->device,
                 (unsigned long long)expected->pinned);
}

/* A bound that is too high by more than a tenth would refuse what fits. */
static void assert_bounded(const struct scene *scene, uint64_t bound, uint64_t before)
{
    const uint64_t most = most_heap_bytes - before;
    if (most > bound + SMALL_BYTES || bound > most + most / 10 + SMALL_BYTES)
        fail_msg("%s, %s: %llu bytes of the heap are used, %llu were forecast", scene->captured,
                 scene->chain, (unsigned long long)most, (unsigned long long)bound);
}

static void check_scene(const struct scene *scene)
{
    const struct filter_chain chain = chain_of(scene->chain);
    const struct fftd_format format = layout_of(scene);
    const struct engine_options options = options_of(scene, &chain);
    const double support_px = filter_chain_support(&chain);
    struct engine_response *response, *from;
    struct engine_forecast forecast;
    struct engine *engine;
    struct error why = {""};
    if (engine_forecast(&forecast, device, &format, &options, support_px, &chain, NULL, &why) < 0)
        fail_msg("%s, %s: %s", scene->captured, scene->chain, why.text);

    const uint64_t before = heap_bytes;
    look_again();
    if (engine_create(&engine, device, &format, &options, support_px, NULL, NULL, &why) < 0)
        fail_msg("%s, %s: %s", scene->captured, scene->chain, why.text);
    assert_allocated("built", scene, &forecast.built);
    const uint64_t most_built = most_heap_bytes;

    look_again();
    if (engine_design(engine, &chain, &response, &why) < 0 ||
        engine_design(engine, &chain, &from, &why) < 0 ||
        engine_design_fade(engine, response, 10, from, &why) < 0)
        fail_msg("%s, %s: %s", scene->captured, scene->chain, why.text);
    assert_allocated("changed", scene, &forecast.change);
    if (most_built > most_heap_bytes)
        most_heap_bytes = most_built;
    assert_bounded(scene, forecast.built.host + forecast.change.host + forecast.scratch, before);

    uint64_t parts = 0;
    for (unsigned i = 0; i < forecast.part_count; i++)
        parts += forecast.part[i].host + forecast.part[i].device;
    assert_int_equal(parts, forecast.built.device + forecast.built.pinned + forecast.built.host +
                                forecast.change.device + forecast.change.pinned +
                                forecast.change.host);

    /* Frames, and a fade, allocate nothing. */
    static uint8_t in[WIDTH * HEIGHT * 4], out[WIDTH * HEIGHT * 4];
    struct fftd_format captured;
    struct engine_job job = {.out = out};
    struct engine_done done;
    look_again();
    assert_int_equal(format_layout(&captured, options.recipe.captured, WIDTH, HEIGHT, 1, &why), 0);
    for (unsigned p = 0; p < captured.plane_count; p++) {
        job.in[p] = in + captured.plane[p].offset;
        job.in_stride[p] = captured.plane[p].stride;
    }
    engine_apply(engine, response, 1);
    for (unsigned i = 0; i < 2; i++)
        if (engine_submit(engine, &job, &why) < 0 || engine_collect(engine, true, &done, &why) < 0)
            fail_msg("%s, %s: %s", scene->captured, scene->chain, why.text);
    assert_int_equal(device_bytes + pinned_bytes, 0);
    engine_destroy(engine);
}

static void what_is_allocated_was_forecast(void **state)
{
    (void)state;
    chains_use_images();
    for (size_t i = 0; i < sizeof scenes / sizeof scenes[0]; i++)
        if (!(device->midgard && scenes[i].technique == ENGINE_TILES)) /* its registers are few */
            check_scene(&scenes[i]);
}

/* Frames of this size are small for it, so that short filters are done in tiles. */
static void a_wide_gpu_allocates_what_was_forecast(void **state)
{
    const cl_device_type type = device->type;
    const cl_uint units = device->compute_units;
    (void)state;
    if (device->midgard)
        skip();
    chains_use_images();
    device->type = CL_DEVICE_TYPE_GPU;
    device->compute_units = 132;
    for (size_t i = 0; i < sizeof scenes / sizeof scenes[0]; i++)
        if (scenes[i].may_be_direct)
            check_scene(&scenes[i]);
    device->type = type;
    device->compute_units = units;
}

static void a_device_with_memory_of_its_own_has_frames_in_both(void **state)
{
    const bool unified = device->unified_memory;
    const struct scene smaller = {"NV12", "gaussian-blur:sigma=2", RECIPE_LUMA, .in_flight = 2,
                                  .is_smaller = true}; /* whose chroma the device makes */
    (void)state;
    device->unified_memory = false;
    check_scene(&scenes[0]);
    check_scene(&smaller);
    device->unified_memory = unified;
}

/* Rows come first, and spectra are stored in panels. */
static void the_layout_of_a_gpu_is_forecast(void **state)
{
    const cl_device_type type = device->type;
    const struct scene spectrum = {"GREY", "gaussian-blur:sigma=1", RECIPE_LUMA,
                                   .view = VIEW_SPECTRUM, .in_flight = 2};
    const struct scene wide = {"NV12",         "gaussian-blur:sigma=8",
                               RECIPE_ALL,     .technique = ENGINE_DIRECT,
                               .in_flight = 2, .may_be_direct = true};
    const struct scene twice = {"NV12", "gaussian-blur:sigma=2", RECIPE_ALL, .in_flight = 2,
                                .may_be_direct = true}; /* on Midgard */
    const bool is_midgard = device->midgard;
    (void)state;
    device->type = CL_DEVICE_TYPE_GPU;
    check_scene(&scenes[1]);
    check_scene(&spectrum);
    if (!is_midgard)
        check_scene(&wide);
    device->midgard = true;
    check_scene(&twice);
    device->midgard = is_midgard;
    device->type = type;
}

/* Sizes at the limits of everything do not wrap around, also where size_t has 32 bits. */
static void the_largest_frames_are_added_up(void **state)
{
    const struct filter_chain chain = chain_of("denoise:temporal=2");
    const struct scene scene = {"XRGB32", .planes = RECIPE_ALL, .technique = ENGINE_STAGED};
    struct engine_options options = options_of(&scene, &chain);
    struct engine_forecast forecast;
    struct fftd_format format;
    struct error why = {""};
    (void)state;
    options.margin = 4096;
    options.in_flight = 3;
    assert_int_equal(
        format_layout(&format, options.recipe.captured, FFTD_MAX_SIDE, FFTD_MAX_SIDE, 64, &why), 0);
    if (engine_forecast(&forecast, device, &format, &options, 0, &chain, NULL, &why) < 0)
        fail_msg("%s", why.text);
    /* The planes of floats: 3 in flight, 4 histories, and the results of 2 passes. */
    const uint64_t planes = (uint64_t)FFTD_MAX_SIDE * FFTD_MAX_SIDE * 3 * sizeof(float);
    /* Half the padded spectrum, complex, twice. */
    const uint64_t spectra = (uint64_t)12288 * 12288 * 3 * sizeof(float) * 2;
    const uint64_t least = planes * (3 + 4 + 3 * 2) + 3 * spectra;
    /* Captured and published frames, where the device has memory of its own. */
    const uint64_t frames =
        device->unified_memory ? 0 : (uint64_t)FFTD_MAX_SIDE * FFTD_MAX_SIDE * 4 * 2 * 3;
    assert_in_range(forecast.built.device, least, least + least / 8 + frames);
    assert_true(forecast.change.device > (uint64_t)12288 * 6144 * sizeof(float) * 5);
}

/* 13 x 13, of rank 13: more products than a transform. */
#define SLANTED                                                                                    \
    "convolve:kernel=1 0 0 0 0 0 2/0 2 0 0 0 1 0/0 0 3 0 1 0 0/0 0 0 4 0 0 0/0 2 0 0 5 0 0/"       \
    "0 0 0 0 0 6 0/1 0 0 0 0 0 7"

/* As engines are built: a filter's true reach is that of kernels for short filters, or all. */
static void check_reach(const char *captured, const char *text, bool is_short, bool is_chroma_short)
{
    const struct filter_chain chain = chain_of(text);
    const struct recipe settings = {.planes = RECIPE_ALL,
                                    .captured = format_by_name(captured)->fourcc,
                                    .reach.is_short = true,
                                    .chroma_reach.is_short = true};
    struct engine_options options = {
        .recipe = recipe_of(&chain, &settings), .margin = -1, .in_flight = 1};
    struct engine *engine;
    struct fftd_format format;
    struct error why;
    assert_int_equal(format_layout(&format, settings.captured, WIDTH, HEIGHT, 64, &why), 0);
    const struct recipe recipe = engine_true_recipe(device, &format, &options, NULL);
    assert_int_equal(recipe.reach.is_short, is_short);
    assert_int_equal(recipe.chroma_reach.is_short, is_chroma_short);
    for (int is_true = 0; is_true < 2; is_true++) {
        options.recipe = is_true ? recipe : options.recipe;
        if (engine_create(&engine, device, &format, &options, 0, NULL, NULL, &why) < 0)
            fail_msg("%s, %s: %s", captured, text, why.text);
        if ((strncmp(engine_description(engine), "direct", 6) == 0) != is_short)
            fail_msg("%s, %s: %s", captured, text, engine_description(engine));
        engine_destroy(engine);
    }
}

static void what_transforms_reaches_everything(void **state)
{
    (void)state;
    const cl_device_type type = device->type;
    const cl_uint units = device->compute_units;
    const bool midgard = device->midgard;
    device->compute_units = 1; /* or these frames would be small for a GPU, which takes tiles */
    check_reach("GREY", "convolve:kernel=1 2 3/4 5 6/7 8 10", true, false);
    device->type = CL_DEVICE_TYPE_GPU;
    device->midgard = true; /* elsewhere tiles take less time, for whose filters they are */
    check_reach("GREY", SLANTED " | " SLANTED, false, false);
    device->type = type;
    device->midgard = midgard;
    check_reach("NV12", "convolve:kernel=1 2 3/4 5 6/7 8 10", true, false);
    check_reach("NV12", "gain:dc=0.5,ac=0.5", true, true);
    device->compute_units = units;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_allocated_was_forecast),
        cmocka_unit_test(a_wide_gpu_allocates_what_was_forecast),
        cmocka_unit_test(a_device_with_memory_of_its_own_has_frames_in_both),
        cmocka_unit_test(the_layout_of_a_gpu_is_forecast),
        cmocka_unit_test(the_largest_frames_are_added_up),
        cmocka_unit_test(what_transforms_reaches_everything),
    };
    return cmocka_run_group_tests(tests, device_setup, device_teardown);
}
