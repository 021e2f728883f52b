/* Tests of frames of which luma alone is published, in everything that a chain or an engine can do.
 * YUV: the result is that of the same luma in GREY frames, to the last bit. RGB and mosaics, whose
 * luma is no sample: it is the luma of the colours that are published otherwise, up to rounding.
 * tests/gpu/engine.c compares both with a reference. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/cmocka.h"
#include "support/chains.h"
#include "support/device.h"
#include "support/reference.h"

#include "filters/calibration.h"
#include "filters/filter_adapt.h"
#include "filters/warp.h"
#include "engine/engine.h"

#define WIDTH  62
#define HEIGHT 38
#define PIXELS (WIDTH * HEIGHT)

/* Each scene takes four engines. Without FFTD_TEST_LAYOUTS=all only the typical ones are tested. */
static const struct scene {
    bool is_typical;
    const char *chain;
    enum recipe_precision precision;
    enum engine_technique technique;
    enum view_kind view;
    bool is_corrected, is_moved;
    double fade; /* frames; the first is compared */
} scenes[] = {
    {.is_typical = true,
     .chain = "undistort:fx=55,fy=54,cx=31,cy=18,k1=-0.2,p1=0.003 | gaussian-blur:sigma=1"},
    {.chain = "undistort:fx=55,fy=54,cx=31,cy=18,k1=-0.2,p1=0.003 | gaussian-blur:sigma=1",
     .technique = ENGINE_STAGED},
    {.chain = "vignette:a=0.1,b=0.1 | sharpen:amount=1,sigma=1"},
    {.is_typical = true,
     .chain = "vignette:a=0.1,b=0.1 | sharpen:amount=1,sigma=1",
     .technique = ENGINE_STAGED},
    {.chain = "denoise:sigma=6"},
    {.chain = "linear-light | gaussian-blur:sigma=1"},
    {.chain = "gaussian-blur:sigma=1", .precision = RECIPE_HALF},
    {.is_typical = true, .chain = "gaussian-blur:sigma=1", .view = VIEW_DIFFERENCE},
    {.chain = "gaussian-blur:sigma=1", .view = VIEW_DIFFERENCE, .technique = ENGINE_STAGED},
    {.is_typical = true, .chain = "gaussian-blur:sigma=1", .view = VIEW_SPECTRUM},
    {.chain = "gaussian-blur:sigma=1", .is_corrected = true},
    {.chain = "stabilise", .is_moved = true},
    {.chain = "gaussian-blur:sigma=1", .fade = 2},
};

static const struct correction correction = {.wave = {{.fx = 0.25, .fy = 0.1, .re = 20}},
                                             .wave_count = 1};

static bool is_tested(const struct scene *scene)
{
    return scene->is_typical || device_takes_every_layout();
}

static struct fftd_format layout_of(const char *name)
{
    struct fftd_format format;
    struct error why;
    if (format_layout(&format, format_by_name(name)->fourcc, WIDTH, HEIGHT, 1, &why) < 0)
        fail_msg("%s", why.text);
    return format;
}

static struct engine_response *design(struct engine *engine, const struct filter_chain *chain)
{
    struct engine_response *response;
    struct error why;
    if (engine_design(engine, chain, &response, &why) < 0)
        fail_msg("%s", why.text);
    return response;
}

/* Filters a frame that was captured in one format into one of another. */
static void filter(const struct scene *scene, enum recipe_planes planes, const char *captured,
                   const char *published, const uint8_t *in, uint8_t *out)
{
    const struct fftd_format layout = layout_of(captured), format = layout_of(published);
    const struct filter_chain chain = chain_of(scene->chain), none = chain_of("none");
    const struct engine_options options = {
        .margin = 12,
        .in_flight = 1,
        .tune = ENGINE_TUNE_OFF,
        .recipe.captured = layout.fourcc,
        .recipe.planes = planes,
        .recipe.precision = scene->precision,
        .technique = scene->technique,
        .recipe.view = scene->view,
        .recipe.calibrated = calibration_is_needed(&chain),
        .recipe.warped = warp_is_needed(&chain),
        .recipe.curve = filter_chain_curve(&chain),
        .recipe.denoise = filter_chain_denoise(&chain).settings,
        .recipe.corrections = scene->is_corrected,
        .recipe.shifts = scene->is_moved,
        .recipe.complex_response = scene->is_moved,
    };
    struct engine_job job = {.correction = scene->is_corrected ? &correction : NULL};
    struct engine_done done = {0};
    struct engine *engine;
    struct error why;
    if (engine_create(&engine, device, &format, &options, 4, NULL, NULL, &why) < 0)
        fail_msg("%s: %s", captured, why.text);
    struct engine_response *response = design(engine, &chain);
    if (scene->fade > 0 && engine_design_fade(engine, response, (unsigned)scene->fade,
                                              design(engine, &none), &why) < 0)
        fail_msg("%s", why.text);
    engine_apply(engine, response, 1);
    for (unsigned p = 0; p < layout.plane_count; p++) {
        job.in[p] = in + layout.plane[p].offset;
        job.in_stride[p] = layout.plane[p].stride;
    }
    job.out = out;
    if (scene->is_moved) {
        job.shift[0] = 1.3;
        job.shift[1] = -0.7;
    }
    if (engine_submit(engine, &job, &why) < 0 || engine_collect(engine, true, &done, &why) < 0)
        fail_msg("%s", why.text);
    assert_int_equal(done.copies.out_bytes, format.frame_bytes);
    assert_int_equal(done.copies.passed_bytes, 0);
    engine_destroy(engine);
}

static void draw(uint8_t *frame, size_t bytes)
{
    uint64_t seed = 5;
    for (size_t i = 0; i < bytes; i++)
        frame[i] = (uint8_t)(90 + 60 * reference_noise(&seed));
}

static void yuv_is_filtered_like_its_luma(void **state)
{
    (void)state;
    static const char *const names[] = {"NV12", "UYVY"};
    for (size_t i = 0; i < sizeof scenes / sizeof scenes[0]; i++) {
        const struct scene *scene = &scenes[i];
        const struct fftd_format layout = layout_of(names[i % 2]);
        const struct format_info *info = format_by_name(names[i % 2]);
        uint8_t luma[PIXELS], expected[PIXELS], out[PIXELS];
        if (!is_tested(scene))
            continue;
        uint8_t *in = malloc(layout.frame_bytes);
        draw(in, layout.frame_bytes);
        for (unsigned p = 0; p < PIXELS; p++)
            luma[p] = in[info->offset + p * info->step];
        filter(scene, RECIPE_LUMA, "GREY", "GREY", luma, expected);
        filter(scene, RECIPE_LUMA_ONLY, names[i % 2], "GREY", in, out);
        assert_memory_not_equal(expected, luma, PIXELS);
        for (unsigned p = 0; p < PIXELS; p++)
            if (out[p] != expected[p])
                fail_msg("%s, %s at %u, %u: %u, expected %u", names[i % 2], scene->chain, p % WIDTH,
                         p / WIDTH, out[p], expected[p]);
        free(in);
    }
}

/* In the middle of the range no colour is clamped, so that the luma of the colours is that of the
 * filtered picture. Three colours are rounded beside the luma. */
static void colours_are_filtered_like_their_luma(void **state)
{
    (void)state;
    static const char *const names[] = {"RGB24", "SGRBG8"};
    for (size_t i = 0; i < sizeof scenes / sizeof scenes[0]; i++) {
        const struct scene *scene = &scenes[i];
        const char *name = names[i % 2], *colour = i % 2 == 0 ? "RGB24" : "XBGR32";
        const struct fftd_format layout = layout_of(name), format = layout_of(colour);
        const struct format_info *info = format_by_name(colour);
        if (!is_tested(scene) || scene->is_moved) /* colours would stay */
            continue;
        uint8_t *in = malloc(layout.frame_bytes), *expected = malloc(format.frame_bytes);
        uint8_t out[PIXELS];
        draw(in, layout.frame_bytes);
        filter(scene, RECIPE_LUMA, name, colour, in, expected);
        filter(scene, RECIPE_LUMA_ONLY, name, "GREY", in, out);
        for (unsigned p = 0; p < PIXELS; p++) {
            const uint8_t *at = expected + (size_t)p * info->step;
            const double luma =
                0.299 * at[info->rgb[0]] + 0.587 * at[info->rgb[1]] + 0.114 * at[info->rgb[2]];
            if (fabs(out[p] - luma) > 1.001)
                fail_msg("%s, %s at %u, %u: %u, expected %.2f", name, scene->chain, p % WIDTH,
                         p / WIDTH, out[p], luma);
        }
        free(in);
        free(expected);
    }
}

/* There is no colour that stays where it was captured. */
static void pixels_may_be_moved(void **state)
{
    (void)state;
    const struct filter_chain chain = chain_of(scenes[0].chain);
    const struct fftd_format grey = layout_of("GREY"), nv12 = layout_of("NV12");
    struct engine_options options = {
        .margin = 12, .in_flight = 1, .tune = ENGINE_TUNE_OFF, .recipe.warped = true};
    struct engine_response *response;
    struct engine *engine;
    struct error why;
    assert_int_equal(engine_create(&engine, device, &nv12, &options, 4, NULL, NULL, &why), 0);
    assert_int_equal(engine_design(engine, &chain, &response, &why), -EINVAL);
    assert_non_null(strstr(why.text, "luma-only"));
    engine_destroy(engine);
    options.recipe.planes = RECIPE_LUMA_ONLY;
    options.recipe.captured = nv12.fourcc;
    assert_int_equal(engine_create(&engine, device, &grey, &options, 4, NULL, NULL, &why), 0);
    engine_response_free(design(engine, &chain));
    engine_destroy(engine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(yuv_is_filtered_like_its_luma),
        cmocka_unit_test(colours_are_filtered_like_their_luma),
        cmocka_unit_test(pixels_may_be_moved),
    };
    return cmocka_run_group_tests(tests, device_setup, device_teardown);
}
