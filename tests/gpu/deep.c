/* Tests of results with 16 bits (engine.depth = 16), of whatever is captured: against double
 * precision in all techniques, and for smaller pictures; and what the other parts of an engine make
 * of 8 bits, against what they make of the same picture captured with 16. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/chains.h"
#include "support/cmocka.h"
#include "support/device.h"
#include "support/engine_frame.h"
#include "support/reference.h"

#include "engine/engine.h"
#include "engine/engine_private.h"

#define WIDTH  98
#define HEIGHT 62
#define MARGIN 60 /* more than twice any reach: padded lengths do not matter */
#define WHITE  65535
#define EDGE   0.1 /* of the frequencies of a smaller picture (reference_smaller) */

#define BLUR   "gaussian-blur:sigma=1.5"
#define WIDE   "gaussian-blur:sigma=6"
#define ANY    "convolve:kernel=1 0 2 0 0/0 3 0 1 0/0 2 4 0 1/0 0 0 5 0/2 0 0 0 1,normalise=sum"

struct scene {
    const char *captured, *chain;
    enum engine_technique technique;
    enum recipe_planes planes;
    enum view_kind view;
    enum plan_border border;
    uint32_t width, height; /* of the result; 0: as captured */
    double most;            /* steps of 16 bits that it may be off; 0: rounding */
};

static struct fftd_format layout_of(uint32_t fourcc, uint32_t width, uint32_t height,
                                    uint32_t align)
{
    struct fftd_format format;
    struct error why;
    if (format_layout(&format, fourcc, width, height, align, &why) < 0)
        fail_msg("%s", why.text);
    return format;
}

/* Some samples are black or white, where results are clamped. */
static uint8_t *draw(const struct format_info *info, const struct fftd_format *format)
{
    uint8_t *frame = malloc(format->frame_bytes);
    uint64_t seed = 11;
    for (uint32_t i = 0; i < format->frame_bytes; i++)
        frame[i] = (uint8_t)fmin(fmax(-20 + 300 * reference_noise(&seed), 0), 255);
    for (uint32_t i = 1; info->bits > 8 && i < format->frame_bytes; i += 2)
        frame[i] = (uint8_t)(frame[i] >> (16 - info->bits));
    return frame;
}

static struct engine *make_engine(const struct scene *scene, uint32_t captured,
                                  const struct fftd_format *format, int *ret_result,
                                  struct error *why)
{
    const struct filter_chain chain = chain_of(scene->chain);
    struct engine_options options = {.technique = scene->technique,
                                     .border = scene->border,
                                     .border_value = 0.4,
                                     .margin = MARGIN,
                                     .in_flight = 1,
                                     .recipe.captured = captured,
                                     .recipe.planes = scene->planes,
                                     .recipe.depth = RECIPE_DEPTH_16,
                                     .recipe.view = scene->view};
    struct engine_response *response = NULL;
    struct engine *engine = NULL;
    if (scene->width > 0) {
        options.recipe.captured_width = WIDTH;
        options.recipe.captured_height = HEIGHT;
    }
    engine_set_reach(&options, device);
    options.recipe = recipe_of(&chain, &options.recipe);
    *ret_result = engine_create(&engine, device, format, &options, 0, NULL, NULL, why);
    if (*ret_result < 0)
        return NULL;
    if (engine_design(engine, &chain, &response, why) < 0)
        fail_msg("%s: %s", scene->chain, why->text);
    engine_apply(engine, response, 1);
    return engine;
}

/* Returns the samples of a result, WIDTH or more apart from row to row, which the caller frees, and
 * sets the padded size. */
static uint16_t *filter(const struct scene *scene, const struct fftd_format *captured,
                        const uint8_t *in, const struct fftd_format *format, struct plan *ret_plan)
{
    struct error why;
    int r;
    uint16_t *out = calloc(1, format->frame_bytes);
    struct engine *engine = make_engine(scene, captured->fourcc, format, &r, &why);
    if (engine == NULL)
        fail_msg("%s, %s: %s", scene->captured, scene->chain, why.text);
    const char *made_by = engine_description(engine);
    static const char *const names[] = {"", "fused", "staged", "direct", "tiles"};
    if (strncmp(made_by, names[scene->technique], strlen(names[scene->technique])) != 0)
        fail_msg("%s, %s: %s", scene->captured, scene->chain, made_by);
    engine_frame(engine, (struct engine_job){.out = (uint8_t *)out}, captured, in, scene->chain);
    *ret_plan = *engine_plan(engine, 0);
    engine_destroy(engine);
    return out;
}

/* The luma that is filtered, by its definition. */
static void luma_of(double *ret, const struct format_info *info, const struct fftd_format *format,
                    const uint8_t *frame)
{
    for (uint32_t y = 0; y < HEIGHT; y++)
        for (uint32_t x = 0; x < WIDTH; x++) {
            const uint8_t *at = frame + format->plane[0].offset + y * format->plane[0].stride +
                                x * info->step + info->offset;
            *ret++ = info->kind == SAMPLE_U16 ? at[0] | at[1] << 8
                     : info->kind == SAMPLE_U8
                         ? at[0]
                         : 0.299 * at[info->rgb[0]] + 0.587 * at[info->rgb[1]] +
                               0.114 * at[info->rgb[2]];
        }
}

static void check_scene(const struct scene *scene)
{
    const struct format_info *info = format_by_name(scene->captured);
    const uint32_t width = scene->width > 0 ? scene->width : WIDTH;
    const uint32_t height = scene->height > 0 ? scene->height : HEIGHT;
    const uint32_t y16 = format_by_name("Y16")->fourcc;
    const struct fftd_format captured = layout_of(info->fourcc, WIDTH, HEIGHT, 1);
    const struct fftd_format format = layout_of(y16, width, height, 64);
    const struct filter_chain chain = chain_of(scene->chain);
    const double white = (1u << info->bits) - 1;
    static double exact[WIDTH * HEIGHT], expected[WIDTH * HEIGHT];
    uint8_t *in = draw(info, &captured);
    struct plan plan;
    uint16_t *out = filter(scene, &captured, in, &format, &plan);
    luma_of(exact, info, &captured, in);
    const struct reference reference = {.width = WIDTH,
                                        .height = HEIGHT,
                                        .padded_x = plan.x.length,
                                        .padded_y = plan.y.length,
                                        .border = scene->border,
                                        .border_value = 0.4 * white,
                                        .sub_x = 1,
                                        .sub_y = 1,
                                        .chain = &chain};
    if (scene->width > 0)
        reference_smaller(&reference, exact, width, height, EDGE, expected);
    else
        reference_filter(&reference, exact, expected);
    const uint32_t pitch = format.plane[0].stride / sizeof *out;
    double worst = 0;
    for (uint32_t y = 0; y < height; y++)
        for (uint32_t x = 0; x < width; x++) {
            const double want = fmin(fmax(expected[y * width + x] / white, 0), 1) * WHITE;
            const double got = out[y * pitch + x];
            worst = fmax(worst, fabs(got - want));
        }
    print_message("# %s, %s: off by %.3f of 65535\n", scene->captured, scene->chain, worst);
    if (!(worst <= (scene->most > 0 ? scene->most : 0.55)))
        fail_msg("%s, %s: off by %.3f of 65535", scene->captured, scene->chain, worst);
    free(in);
    free(out);
}

static void check_scenes(const struct scene *scenes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        check_scene(&scenes[i]);
}

#define CHECK(scenes) check_scenes(scenes, sizeof(scenes) / sizeof(scenes)[0])

/* ---- tests --------------------------------------------------------------------------------- */

static void transforms_are_exact(void **state)
{
    static const struct scene scenes[] = {
        {"GREY", WIDE, .technique = ENGINE_FUSED},
        {"GREY", WIDE, .technique = ENGINE_STAGED},
        {"Y10", WIDE, .technique = ENGINE_FUSED, .border = PLAN_CONSTANT},
        {"Y12", BLUR, .technique = ENGINE_STAGED, .border = PLAN_WRAP},
        {"Y16", WIDE, .technique = ENGINE_FUSED},
        {"UYVY", WIDE, .technique = ENGINE_STAGED, .planes = RECIPE_LUMA_ONLY},
        {"NV12", WIDE, .technique = ENGINE_FUSED, .planes = RECIPE_LUMA_ONLY},
        {"XRGB32", WIDE, .technique = ENGINE_FUSED, .planes = RECIPE_LUMA_ONLY},
        {"GREY", WIDE, .technique = ENGINE_FUSED, .planes = RECIPE_ALL},
    };
    (void)state;
    CHECK(scenes);
}

/* Taps that are left out change a result by at most half a step. */
static void taps_reach_farther(void **state)
{
    static const struct scene scenes[] = {
        {"GREY", BLUR, .technique = ENGINE_DIRECT, .most = 1.05},
        {"GREY", ANY, .technique = ENGINE_DIRECT, .most = 1.05},
        {"GREY", "none", .technique = ENGINE_DIRECT},
        {"GREY", "box-blur:radius=4", .technique = ENGINE_DIRECT, .most = 1.05},
        {"Y12", "laplacian", .technique = ENGINE_DIRECT, .border = PLAN_CONSTANT, .most = 1.05},
        {"YUYV", BLUR, .technique = ENGINE_DIRECT, .planes = RECIPE_LUMA_ONLY, .most = 1.05},
        {"RGB24", ANY, .technique = ENGINE_DIRECT, .planes = RECIPE_LUMA_ONLY, .most = 1.05},
    };
    (void)state;
    CHECK(scenes);
}

static void tiles_reach_farther(void **state)
{
    static const struct scene scenes[] = {
        {"GREY", "shift:by=9/-7 | " ANY, .technique = ENGINE_TILES, .most = 1.2},
    };
    (void)state;
    if (device->midgard) /* has too few registers */
        skip();
    CHECK(scenes);
}

static void smaller_pictures_are_exact(void **state)
{
    static const struct scene scenes[] = {
        {"GREY", BLUR, .width = 49, .height = 31},
        {"Y12", "none", .width = 49, .height = 31},
        {"NV12", "none", .planes = RECIPE_LUMA_ONLY, .width = 49, .height = 31},
    };
    (void)state;
    CHECK(scenes);
}

/* Whatever changes samples before or after the transform, or shows something else, makes the same
 * of 8 bits and of the same picture with 16, up to the rounding of both. (Not homomorphic: its
 * logarithm is that of samples in their own units.) */
static void all_else_is_as_with_captured_samples_of_16_bits(void **state)
{
    static const struct scene scenes[] = {
        {"GREY", "linear-light | " BLUR, .technique = ENGINE_FUSED, .most = 3},
        {"GREY", "median | " WIDE, .technique = ENGINE_FUSED, .most = 1},
        {"GREY", "binarise:level=100", .technique = ENGINE_FUSED, .most = 1},
        {"GREY", "vignette:a=0.1,b=0.1 | " WIDE, .technique = ENGINE_FUSED, .most = 2},
        {"GREY", "denoise:sigma=6", .technique = ENGINE_FUSED, .most = 8},
        {"GREY", "soft-threshold:sigma=8", .technique = ENGINE_FUSED, .most = 3},
        {"GREY", WIDE, .technique = ENGINE_FUSED, .view = VIEW_DIFFERENCE, .most = VIEW_GAIN},
        {"GREY", WIDE, .technique = ENGINE_STAGED, .view = VIEW_DIFFERENCE, .most = VIEW_GAIN},
        {"GREY", WIDE, .technique = ENGINE_FUSED, .view = VIEW_SPECTRUM, .most = 200},
        {"GREY", WIDE, .technique = ENGINE_FUSED, .view = VIEW_EDGES, .most = 3},
    };
    (void)state;
    const uint32_t y16 = format_by_name("Y16")->fourcc;
    const struct fftd_format grey = layout_of(format_by_name("GREY")->fourcc, WIDTH, HEIGHT, 1);
    const struct fftd_format deep = layout_of(y16, WIDTH, HEIGHT, 64);
    for (size_t i = 0; i < sizeof scenes / sizeof scenes[0]; i++) {
        const struct scene *scene = &scenes[i];
        uint8_t *in = draw(format_by_name("GREY"), &grey);
        uint8_t *wide = calloc(1, deep.frame_bytes);
        for (uint32_t p = 0; p < WIDTH * HEIGHT; p++) {
            uint8_t *at = wide + p / WIDTH * deep.plane[0].stride + p % WIDTH * 2;
            at[0] = at[1] = in[p]; /* 257 times as much */
        }
        struct plan plan;
        uint16_t *out = filter(scene, &grey, in, &deep, &plan);
        uint16_t *expected = filter(scene, &deep, wide, &deep, &plan);
        double worst = 0;
        for (uint32_t p = 0; p < deep.frame_bytes / 2; p++)
            worst = fmax(worst, fabs((double)out[p] - expected[p]));
        print_message("# %s, view %d: differs by %.0f\n", scene->chain, (int)scene->view, worst);
        if (!(worst <= scene->most))
            fail_msg("%s, view %d: differs by %.0f of 65535", scene->chain, (int)scene->view,
                     worst);
        free(in);
        free(wide);
        free(out);
        free(expected);
    }
}

static void mosaics_keep_what_is_between_two_grey_levels(void **state)
{
    static const struct scene scene = {.captured = "SRGGB12",
                                       .chain = "none",
                                       .technique = ENGINE_DIRECT,
                                       .planes = RECIPE_LUMA_ONLY};
    (void)state;
    const struct format_info *info = format_by_name(scene.captured);
    const struct fftd_format mosaic = layout_of(info->fourcc, WIDTH, HEIGHT, 1);
    const struct fftd_format deep = layout_of(format_by_name("Y16")->fourcc, WIDTH, HEIGHT, 64);
    uint8_t *in = draw(info, &mosaic);
    double samples[WIDTH * HEIGHT] = {0};
    for (uint32_t p = 0; p < WIDTH * HEIGHT; p++) {
        uint16_t sample;
        memcpy(&sample, in + sizeof sample * p, sizeof sample);
        samples[p] = sample;
    }
    struct plan plan;
    uint16_t *out = filter(&scene, &mosaic, in, &deep, &plan);
    const uint32_t pitch = deep.plane[0].stride / sizeof *out;
    for (long y = 0; y < HEIGHT; y++)
        for (long x = 0; x < WIDTH; x++) {
            double luma = 0;
            for (unsigned c = 0; c < 3; c++)
                luma +=
                    (c == 0   ? 0.299
                     : c == 1 ? 0.587
                              : 0.114) *
                    reference_mosaic("SRGGB12", DEMOSAIC_BILINEAR, samples, WIDTH, HEIGHT, x, y, c);
            const double want = fmin(fmax(luma / 4095, 0), 1) * WHITE;
            const double got = out[(uint32_t)y * pitch + (uint32_t)x];
            if (!(fabs(got - want) < 0.55))
                fail_msg("%ld, %ld: %.0f, expected %.2f", x, y, got, want);
        }
    free(in);
    free(out);
}

static void colour_has_no_16_bits(void **state)
{
    static const struct scene scenes[] = {{.captured = "NV12", .chain = "none"},
                                          {"RGB24", "none", .planes = RECIPE_ALL},
                                          {.captured = "SRGGB8", .chain = "none"}};
    (void)state;
    const struct fftd_format deep = layout_of(format_by_name("Y16")->fourcc, WIDTH, HEIGHT, 64);
    for (size_t i = 0; i < sizeof scenes / sizeof scenes[0]; i++) {
        const uint32_t captured = format_by_name(scenes[i].captured)->fourcc;
        struct error why;
        int r;
        assert_null(make_engine(&scenes[i], captured, &deep, &r, &why));
        assert_int_equal(r, -EINVAL);
        assert_non_null(strstr(why.text, scenes[i].captured));
        assert_non_null(strstr(why.text, "has colour, which cannot be published with 16 bits: "
                                         "expected engine.depth = auto, or engine.planes = "
                                         "luma-only"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(transforms_are_exact),
        cmocka_unit_test(taps_reach_farther),
        cmocka_unit_test(tiles_reach_farther),
        cmocka_unit_test(smaller_pictures_are_exact),
        cmocka_unit_test(all_else_is_as_with_captured_samples_of_16_bits),
        cmocka_unit_test(mosaics_keep_what_is_between_two_grey_levels),
        cmocka_unit_test(colour_has_no_16_bits),
    };
    return cmocka_run_group_tests(tests, device_setup, device_teardown);
}
