/* Tests of the soft threshold of the spectrum: whole frames against a model in double precision, in
 * fades, with shifts, and what is refused. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/cmocka.h"
#include "support/chains.h"
#include "support/device.h"
#include "support/engine_frame.h"
#include "support/reference.h"
#include "support/scene.h"

#include "engine/engine.h"

#define WIDTH  70
#define HEIGHT 46
#define FRAMES 4 /* of a fade */

struct scene_case {
    const char *format;
    enum engine_technique technique;
    enum recipe_planes planes;
    enum recipe_precision precision;
    double shift;
    const char *chain;
};

static struct engine *make_engine(const struct fftd_format *format, const struct scene_case *scene,
                                  bool thresholds)
{
    const struct engine_options options = {.technique = scene->technique,
                                           .recipe.planes = scene->planes,
                                           .recipe.precision = scene->precision,
                                           .margin = 12,
                                           .in_flight = 1,
                                           .recipe.complex_response = scene->shift != 0,
                                           .recipe.shifts = scene->shift != 0,
                                           .recipe.thresholds = thresholds};
    struct engine *engine;
    struct error why;
    if (engine_create(&engine, device, format, &options, 0, NULL, NULL, &why) < 0)
        fail_msg("%s", why.text);
    return engine;
}

static struct fftd_format layout_of(const char *name)
{
    struct fftd_format format;
    struct error why;
    if (format_layout(&format, format_by_name(name)->fourcc, WIDTH, HEIGHT, 4, &why) < 0)
        fail_msg("%s", why.text);
    return format;
}

/* Edges and waves with noise of sigma 12, in all samples of the frame, which may have 12 bits. */
static uint8_t *draw(const struct fftd_format *format)
{
    const struct format_info *info = format_by_fourcc(format->fourcc);
    const uint32_t bytes = info->bits > 8 ? 2 : 1;
    uint8_t *frame = calloc(1, format->frame_bytes);
    uint64_t seed = 21;
    assert_non_null(frame);
    for (unsigned p = 0; p < format->plane_count; p++)
        for (uint32_t y = 0; y < format->plane[p].rows; y++)
            for (uint32_t x = 0; x < format->plane[p].stride; x += bytes) {
                const double level = 100 + (x > 30 ? 50 : 0) + 30 * sin(0.3 * x + 0.2 * y) +
                                     12 * scene_normal(&seed);
                const unsigned code = (unsigned)(level * ((1 << info->bits) - 1) / 255);
                uint8_t *at = frame + format->plane[p].offset + y * format->plane[p].stride + x;
                at[0] = (uint8_t)code;
                if (info->bits > 8)
                    at[1] = (uint8_t)(code >> 8);
            }
    return frame;
}

/* One kind of samples: luma, or one colour of the chroma plane of NV12. */
struct channel {
    unsigned number, width, height, bits;
    size_t first, step, stride;
};

static struct channel channel_of(const struct fftd_format *format, unsigned number)
{
    const struct format_info *info = format_by_fourcc(format->fourcc);
    const struct fftd_plane *plane = &format->plane[number > 0];
    const unsigned sub = number > 0 ? 2 : 1;
    return (struct channel){.number = number,
                            .width = WIDTH / sub,
                            .height = HEIGHT / sub,
                            .bits = info->bits,
                            .first = plane->offset + (number > 0 ? number - 1 : info->offset),
                            .step = number > 0 ? 2 : info->step,
                            .stride = plane->stride};
}

static double sample(const struct channel *channel, const uint8_t *frame, unsigned i)
{
    const unsigned row = i / channel->width;
    const uint8_t *at =
        frame + channel->first + row * channel->stride + i % channel->width * channel->step;
    return channel->bits > 8 ? at[0] | at[1] << 8 : at[0];
}

/* Returns the largest distance from the model, with a threshold in grey levels of 255. */
static double compare(const struct engine *engine, const struct channel *channel,
                      const struct filter_chain *chain, double threshold, const uint8_t *in,
                      const uint8_t *out)
{
    static double samples[WIDTH * HEIGHT], filtered[WIDTH * HEIGHT];
    const struct plan *plan = engine_plan(engine, channel->number);
    const double white = (1 << channel->bits) - 1, sub = channel->number > 0 ? 2 : 1;
    const struct reference reference = {.width = channel->width,
                                        .height = channel->height,
                                        .padded_x = plan->x.length,
                                        .padded_y = plan->y.length,
                                        .border = PLAN_MIRROR,
                                        .sub_x = sub,
                                        .sub_y = sub,
                                        .threshold =
                                            threshold * white / 255 *
                                            sqrt((double)plan->x.length * (double)plan->y.length),
                                        .chain = chain};
    double worst = 0;
    for (unsigned i = 0; i < channel->width * channel->height; i++)
        samples[i] = sample(channel, in, i);
    reference_filter(&reference, samples, filtered);
    for (unsigned i = 0; i < channel->width * channel->height; i++)
        worst = fmax(worst, fabs(sample(channel, out, i) - fmin(fmax(filtered[i], 0), white)));
    return worst;
}

static void filter_frame(struct engine *engine, const struct fftd_format *format, double shift,
                         const uint8_t *in, uint8_t *out)
{
    struct engine_job job = {.shift = {shift, 0}};
    job.out = out;
    engine_frame(engine, job, format, in, "threshold");
}

static struct engine_response *design(struct engine *engine, const struct filter_chain *chain)
{
    struct engine_response *response;
    struct error why;
    if (engine_design(engine, chain, &response, &why) < 0)
        fail_msg("%s", why.text);
    return response;
}

static void check(const struct scene_case *scene)
{
    const struct fftd_format format = layout_of(scene->format);
    struct engine *engine = make_engine(&format, scene, true);
    const struct filter_chain chain = chain_of(scene->chain);
    char moved_text[200];
    snprintf(moved_text, sizeof moved_text, "%s | shift:by=%g/0", scene->chain, scene->shift);
    const struct filter_chain moved = chain_of(moved_text);
    uint8_t *in = draw(&format), *out = calloc(1, format.frame_bytes);
    assert_non_null(strstr(engine_description(engine), ", thresholds"));
    engine_apply(engine, design(engine, &chain), 1);
    filter_frame(engine, &format, scene->shift, in, out);
    for (unsigned i = 0; i < (scene->planes == RECIPE_ALL ? 3 : 1); i++) {
        const struct channel channel = channel_of(&format, i);
        const double threshold = filter_chain_threshold(&chain);
        const double worst = compare(engine, &channel, &moved, threshold, in, out);
        const double without = compare(engine, &channel, &moved, 0, in, out);
        printf("# figures: %s, %s, %s, channel %u: at most %.3f from the model, %.1f from the one "
               "without a threshold\n",
               scene->format, scene->technique == ENGINE_STAGED ? "staged" : "fused",
               scene->precision == RECIPE_HALF ? "half" : "float", i, worst, without);
        assert_true(worst < (scene->precision == RECIPE_HALF ? 1.5 : 0.51));
        assert_true(without > 5); /* the threshold does something */
    }
    free(in);
    free(out);
    engine_destroy(engine);
}

#define CHAIN "soft-threshold:sigma=12,strength=1.5 | gaussian-blur:sigma=0.6"

static void test_frames(void **state)
{
    static const struct scene_case scenes[] = {
        {"GREY", .chain = CHAIN},
        {"NV12", ENGINE_STAGED, RECIPE_ALL, RECIPE_HALF, .chain = CHAIN},
        {"GREY", .shift = 3.5, .chain = CHAIN},
        {"GREY", .precision = RECIPE_HALF, .shift = -2.25, .chain = CHAIN},
        {"Y12", ENGINE_STAGED, .chain = CHAIN},
        {"GREY", .precision = RECIPE_HALF, .chain = CHAIN},
    };
    (void)state;
    for (size_t i = 0; i < (device_takes_every_layout() ? sizeof scenes / sizeof scenes[0] : 3);
         i++)
        check(&scenes[i]);
}

/* A fade blends the thresholds, too; from a filter without one it begins at 0. */
static void test_fade(void **state)
{
    const struct scene_case scene = {"GREY", .chain = "soft-threshold:sigma=20"};
    const struct fftd_format format = layout_of(scene.format);
    const struct channel channel = channel_of(&format, 0);
    const struct filter_chain none = {.count = 0}, chain = chain_of(scene.chain);
    struct engine *engine = make_engine(&format, &scene, true);
    uint8_t *in = draw(&format), *out = calloc(1, format.frame_bytes);
    struct error why;
    (void)state;
    struct engine_response *response = design(engine, &chain);
    assert_int_equal(engine_design_fade(engine, response, FRAMES, NULL, &why), 0);
    engine_apply(engine, response, 1);
    for (unsigned i = 1; i <= FRAMES + 1; i++) {
        filter_frame(engine, &format, 0, in, out);
        const double threshold = 20 * fmin((double)i / FRAMES, 1);
        assert_true(compare(engine, &channel, &none, threshold, in, out) < 0.51);
    }
    free(in);
    free(out);
    engine_destroy(engine);
}

static void test_refused(void **state)
{
    const struct scene_case scene = {.format = "GREY"};
    const struct fftd_format format = layout_of(scene.format);
    const struct filter_chain chain = chain_of("soft-threshold:sigma=20");
    struct engine *engine = make_engine(&format, &scene, false);
    struct engine_response *response;
    struct error why;
    (void)state;
    assert_int_equal(engine_design(engine, &chain, &response, &why), -EINVAL);
    assert_non_null(strstr(why.text, "expected an engine with thresholds"));
    engine_destroy(engine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_frames),
        cmocka_unit_test(test_fade),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, device_setup, device_teardown);
}
