/* Tests of frames that are moved by a distance of their own: as a filter in double precision with a
 * stage that shifts by that distance. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/cmocka.h"
#include "support/chains.h"
#include "support/device.h"
#include "support/reference.h"

#include "engine/engine.h"

#define WIDTH  62
#define HEIGHT 34

struct scene {
    const char *format;
    enum recipe_planes planes;
    enum engine_technique technique;
    enum plan_border border;
    enum recipe_precision precision;
    const char *stages; /* beside the one that moves; NULL: a blur */
};

static struct engine *make_engine(const struct fftd_format *format, const struct scene *scene,
                                  bool shifts)
{
    const struct engine_options options = {.recipe.planes = scene->planes,
                                           .technique = scene->technique,
                                           .border = scene->border,
                                           .border_value = 0.5,
                                           .recipe.precision = scene->precision,
                                           .margin = 16,
                                           .in_flight = 2,
                                           .recipe.complex_response = true,
                                           .recipe.shifts = shifts};
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

static void apply(struct engine *engine, const char *text)
{
    const struct filter_chain chain = chain_of(text);
    struct engine_response *response;
    struct error why;
    if (engine_design(engine, &chain, &response, &why) < 0)
        fail_msg("%s", why.text);
    engine_apply(engine, response, 1);
}

static struct engine_job job_of(const struct fftd_format *format, const uint8_t *in, uint8_t *out,
                                double x, double y)
{
    struct engine_job job = {.shift = {x, y}};
    for (unsigned i = 0; i < format->plane_count; i++) {
        job.in[i] = in + format->plane[i].offset;
        job.in_stride[i] = format->plane[i].stride;
    }
    job.out = out;
    return job;
}

static void draw(uint8_t *frame, const struct fftd_format *format)
{
    uint64_t seed = 13;
    for (size_t i = 0; i < format->frame_bytes; i++)
        frame[i] = (uint8_t)(40 + 170 * reference_noise(&seed));
}

/* The samples of one kind in a frame: luma, or one colour of the chroma plane of NV12. */
static double compare(const struct scene *scene, const struct engine *engine,
                      const struct fftd_format *format, const uint8_t *in, const uint8_t *out,
                      unsigned channel, const struct filter_chain *expected)
{
    static double samples[WIDTH * HEIGHT], filtered[WIDTH * HEIGHT];
    const struct format_info *info = format_by_fourcc(format->fourcc);
    const unsigned sub = channel > 0 ? 2 : 1;
    const unsigned width = WIDTH / sub, height = HEIGHT / sub;
    const struct fftd_plane *plane = &format->plane[channel > 0];
    const unsigned step = channel > 0 ? 2 : info->step;
    const size_t first = plane->offset + (channel > 0 ? channel - 1 : info->offset);
    const struct plan *plan = engine_plan(engine, channel);
    const struct reference reference = {.width = width,
                                        .height = height,
                                        .padded_x = plan->x.length,
                                        .padded_y = plan->y.length,
                                        .border = scene->border,
                                        .border_value = 0.5 * 255,
                                        .sub_x = sub,
                                        .sub_y = sub,
                                        .chain = expected};
    double worst = 0;
    for (unsigned i = 0; i < width * height; i++)
        samples[i] = in[first + (size_t)(i / width) * plane->stride + (size_t)(i % width) * step];
    reference_filter(&reference, samples, filtered);
    for (unsigned i = 0; i < width * height; i++) {
        const uint8_t got =
            out[first + (size_t)(i / width) * plane->stride + (size_t)(i % width) * step];
        worst = fmax(worst, fabs(got - fmin(fmax(filtered[i], 0), 255)));
    }
    return worst;
}

/* Two frames in flight, each with its own shift, and one without. */
static void check(const struct scene *scene)
{
    static const double shifts[3][2] = {{3.7, -2.3}, {-6.25, 0.5}, {0, 0}};
    const struct fftd_format format = layout_of(scene->format);
    struct engine *engine = make_engine(&format, scene, true);
    uint8_t *in = malloc(format.frame_bytes), *out[3];
    double worst = 0;
    struct engine_done done;
    struct error why;
    char text[200];
    assert_non_null(strstr(engine_description(engine), ", shifts"));
    const char *stages = scene->stages != NULL ? scene->stages : "gaussian-blur:sigma=0.8";
    snprintf(text, sizeof text, "stabilise | %s", stages);
    apply(engine, text);
    draw(in, &format);
    for (unsigned i = 0; i < 3; i++) {
        out[i] = calloc(1, format.frame_bytes);
        const struct engine_job job = job_of(&format, in, out[i], shifts[i][0], shifts[i][1]);
        if (i == 2)
            assert_int_equal(engine_collect(engine, true, &done, &why), 0);
        assert_int_equal(engine_submit(engine, &job, &why), 0);
    }
    while (engine_in_flight(engine) > 0)
        assert_int_equal(engine_collect(engine, true, &done, &why), 0);
    for (unsigned i = 0; i < 3; i++) {
        snprintf(text, sizeof text, "shift:by=%g/%g | %s", shifts[i][0], shifts[i][1], stages);
        const struct filter_chain expected = chain_of(text);
        for (unsigned channel = 0; channel < (scene->planes == RECIPE_ALL ? 3 : 1); channel++)
            worst = fmax(worst, compare(scene, engine, &format, in, out[i], channel, &expected));
        free(out[i]);
    }
    printf("# figures: %s %s: at most %.3f from the model\n", scene->format,
           scene->technique == ENGINE_STAGED ? "staged" : "fused", worst);
    assert_true(worst <= (scene->precision == RECIPE_HALF ? 2 : 0.51));
    free(in);
    engine_destroy(engine);
}

static void frames_are_moved(void **state)
{
    static const struct scene scenes[] = {
        {.format = "GREY", .stages = "shift:by=0.5/0.25 | gradient:dc=1"},
        {.format = "NV12", .planes = RECIPE_ALL, .border = PLAN_CONSTANT},
        {.format = "GREY", .technique = ENGINE_STAGED, .border = PLAN_REPLICATE},
        {.format = "GREY", .precision = RECIPE_HALF},
        {.format = "NV12", .technique = ENGINE_STAGED, .planes = RECIPE_ALL},
    };
    (void)state;
    for (size_t i = 0; i < (device_takes_every_layout() ? sizeof scenes / sizeof scenes[0] : 4);
         i++)
        check(&scenes[i]);
}

/* In a fade the blend is moved. From 1 to 0.5, half of the way: 0.75. */
static void a_fade_is_moved(void **state)
{
    const struct fftd_format format = layout_of("GREY");
    const struct scene scene = {.format = "GREY"};
    const struct filter_chain half = chain_of("gain:dc=0.5,ac=0.5 | stabilise");
    const struct filter_chain expected = chain_of("gain:dc=0.75,ac=0.75 | shift:by=2.5/1");
    struct engine *engine = make_engine(&format, &scene, true);
    uint8_t *in = malloc(format.frame_bytes), *out = calloc(1, format.frame_bytes);
    struct engine_response *response;
    struct engine_done done;
    struct error why;
    (void)state;
    apply(engine, "stabilise");
    assert_int_equal(engine_design(engine, &half, &response, &why), 0);
    assert_int_equal(engine_design_fade(engine, response, 2, NULL, &why), 0);
    engine_apply(engine, response, 2);
    draw(in, &format);
    const struct engine_job job = job_of(&format, in, out, 2.5, 1);
    assert_int_equal(engine_submit(engine, &job, &why), 0);
    assert_int_equal(engine_collect(engine, true, &done, &why), 0);
    assert_true(done.blended);
    assert_true(compare(&scene, engine, &format, in, out, 0, &expected) <= 0.51);
    free(in);
    free(out);
    engine_destroy(engine);
}

static void what_cannot_be_moved_is_refused(void **state)
{
    static const struct scene luma = {.planes = RECIPE_LUMA};
    static const char *const names[] = {"NV12", "RGB24", "YUYV"};
    const struct filter_chain chain = chain_of("stabilise");
    struct engine_response *response = NULL;
    struct error why = {""};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const struct fftd_format format = layout_of(names[i]);
        struct engine *engine = make_engine(&format, &luma, true);
        assert_int_equal(engine_design(engine, &chain, &response, &why), -EINVAL);
        assert_non_null(strstr(why.text, "engine.planes = all"));
        assert_null(response);
        engine_destroy(engine);
    }
    const struct fftd_format format = layout_of("GREY");
    struct engine *engine = make_engine(&format, &luma, false);
    uint8_t *frame = calloc(2, format.frame_bytes);
    const struct engine_job job = job_of(&format, frame, frame + format.frame_bytes, 1, 0);
    assert_int_equal(engine_design(engine, &chain, &response, &why), -EINVAL);
    assert_int_equal(engine_submit(engine, &job, &why), -EINVAL);
    assert_non_null(strstr(why.text, "shift"));
    free(frame);
    engine_destroy(engine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_are_moved),
        cmocka_unit_test(a_fade_is_moved),
        cmocka_unit_test(what_cannot_be_moved_is_refused),
    };
    return cmocka_run_group_tests(tests, device_setup, device_teardown);
}
