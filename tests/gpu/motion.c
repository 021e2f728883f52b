/* Fields of motion of an engine's frames: they are those that the processor finds in the luma of
 * what was captured, whatever the format and the chain. How well motion is found is field.c's. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/chains.h"
#include "support/cmocka.h"
#include "support/device.h"
#include "support/flow.h"

#include "engine/engine.h"
#include "estimators/luma.h"

#define WIDTH  128
#define HEIGHT 96
#define BLOCK  32

struct subject {
    const struct format_info *info;
    struct fftd_format captured;
    struct engine *engine;
    uint8_t *in, *out;
    float *luma;
};

struct scene {
    const char *format, *chain;
    enum recipe_planes planes;
    bool is_smaller; /* published frames have half of the sides */
};

static void set_up(struct subject *ret, const struct scene *scene, unsigned block,
                   struct engine_loads *loads)
{
    const struct filter_chain chain = chain_of(scene->chain);
    const unsigned divisor = scene->is_smaller ? 2 : 1;
    struct engine_response *response = NULL;
    struct fftd_format format;
    struct error why;
    *ret = (struct subject){.info = format_by_name(scene->format)};
    const struct recipe settings = {.planes = scene->planes,
                                    .captured = ret->info->fourcc,
                                    .captured_width = scene->is_smaller ? WIDTH : 0,
                                    .captured_height = scene->is_smaller ? HEIGHT : 0,
                                    .motion = block};
    const struct engine_options options = {.recipe = recipe_of(&chain, &settings),
                                           .border = PLAN_MIRROR,
                                           .margin = 8,
                                           .in_flight = 2,
                                           .loads = loads,
                                           .tune = ENGINE_TUNE_OFF};
    if (format_layout(&format, engine_published(&settings, ret->info->fourcc), WIDTH / divisor,
                      HEIGHT / divisor, 64, &why) < 0 ||
        format_layout(&ret->captured, ret->info->fourcc, WIDTH, HEIGHT, 1, &why) < 0 ||
        engine_create(&ret->engine, device, &format, &options, 8, NULL, NULL, &why) < 0 ||
        engine_design(ret->engine, &chain, &response, &why) < 0)
        fail_msg("%s, %s: %s", scene->format, scene->chain, why.text);
    engine_apply(ret->engine, response, 1);
    ret->in = malloc(ret->captured.frame_bytes);
    ret->out = calloc(2, format.frame_bytes);
    ret->luma = calloc(WIDTH * HEIGHT, sizeof *ret->luma);
}

static void tear_down(struct subject *subject)
{
    engine_destroy(subject->engine);
    free(subject->in);
    free(subject->out);
    free(subject->luma);
}

/* A grey picture, in every colour of a format that has some. */
static void fill(struct subject *subject, const float *picture)
{
    const struct format_info *info = subject->info;
    const struct fftd_plane *plane = &subject->captured.plane[0];
    memset(subject->in, 128, subject->captured.frame_bytes);
    for (unsigned y = 0; y < HEIGHT; y++)
        for (unsigned x = 0; x < WIDTH; x++) {
            uint8_t *at = subject->in + plane->offset + (size_t)y * plane->stride +
                          (size_t)x * info->step + info->offset;
            const double level = (double)picture[y * WIDTH + x];
            const unsigned code = (unsigned)lrint(level * ((1u << info->bits) - 1) / 255);
            at[0] = (uint8_t)code;
            if (info->bits > 8)
                at[1] = (uint8_t)(code >> 8);
            for (unsigned i = 1; info->kind == SAMPLE_RGB8 && i < 3; i++)
                at[i] = (uint8_t)code;
        }
    luma_read(subject->luma, info, DEMOSAIC_BILINEAR, WIDTH, HEIGHT, subject->in + plane->offset,
              plane->stride);
}

static void submit(struct subject *subject, bool is_first, uint64_t number)
{
    struct engine_job job = {.out = subject->out, .is_first = is_first, .number = number};
    struct error why;
    for (unsigned p = 0; p < subject->captured.plane_count; p++) {
        job.in[p] = subject->in + subject->captured.plane[p].offset;
        job.in_stride[p] = subject->captured.plane[p].stride;
    }
    if (engine_submit(subject->engine, &job, &why) < 0)
        fail_msg("%s", why.text);
}

static struct engine_motion collect(struct subject *subject)
{
    struct engine_done done;
    struct error why;
    if (engine_collect(subject->engine, true, &done, &why) < 0)
        fail_msg("%s", why.text);
    return done.motion;
}

/* Two frames in flight have the field of the processor between them. */
static void check(struct subject *subject, const char *what, uint64_t number)
{
    struct motion_field *field;
    struct flow flow;
    double worst = 0;
    flow_make_pan(&flow, WIDTH, HEIGHT, 2.3, -1.2, 2, 9000);
    assert_int_equal(motion_field_create(&field, WIDTH, HEIGHT, BLOCK, NULL), 0);
    fill(subject, flow.last);
    motion_field_observe(field, subject->luma);
    submit(subject, true, number);
    fill(subject, flow.next);
    const struct motion_vector *expected = motion_field_observe(field, subject->luma);
    submit(subject, false, number + 1);
    struct engine_motion motion = collect(subject);
    assert_non_null(motion.grid);
    assert_null(motion.vector);
    motion = collect(subject);
    assert_non_null(motion.vector);
    assert_int_equal(motion.grid->block, BLOCK);
    const unsigned count = motion.grid->columns * motion.grid->rows;
    for (unsigned i = 0; i < count; i++)
        worst = fmax(worst, hypot((double)(motion.vector[i].dx - expected[i].dx),
                                  (double)(motion.vector[i].dy - expected[i].dy)));
    printf("# figures: %s: the worst of %u vectors is %.5f px from the processor's\n", what, count,
           worst);
    assert_true(worst < 0.02);
    motion_field_destroy(field);
    flow_clear(&flow);
}

static void the_field_is_that_of_captured_luma(void **state)
{
    (void)state;
    static const struct scene scenes[] = {
        {.format = "GREY", .chain = "none"}, /* which the processor would copy */
        {.format = "NV12", .chain = "gaussian-blur:sigma=2", .planes = RECIPE_ALL},
        {.format = "YUYV", .chain = "vignette:a=0.5"},
        {.format = "RGB24", .chain = "sharpen"},
        {.format = "Y12", .chain = "none"},
        {.format = "SRGGB8", .chain = "median"},
        {.format = "NV12", .chain = "none", .is_smaller = true},
    };
    for (unsigned i = 0; i < sizeof scenes / sizeof scenes[0]; i++) {
        struct subject subject;
        set_up(&subject, &scenes[i], BLOCK, NULL);
        check(&subject, scenes[i].format, 0);
        tear_down(&subject);
    }
}

/* Outputs that share a load find motion in what it was given. */
static void a_shared_load_has_the_frame(void **state)
{
    (void)state;
    const struct scene scene = {.format = "GREY", .chain = "gaussian-blur:sigma=9"};
    const uint32_t sizes[][2] = {{WIDTH / 2, HEIGHT / 2}};
    struct engine_loads *loads;
    struct subject subject;
    struct error why;
    assert_int_equal(engine_loads_create(&loads, sizes, 1, &why), 0);
    set_up(&subject, &scene, BLOCK, loads);
    check(&subject, engine_description(subject.engine), 1);
    tear_down(&subject);
    engine_loads_destroy(loads);
}

static void other_engines_find_none(void **state)
{
    (void)state;
    static const struct scene scenes[] = {
        {.format = "GREY", .chain = "sharpen"},
        {.format = "RGB24", .chain = "sharpen", .planes = RECIPE_ALL}};
    for (unsigned i = 0; i < 2; i++) {
        struct subject subject;
        set_up(&subject, &scenes[i], i == 0 ? 0 : BLOCK, NULL);
        for (unsigned frame = 0; frame < 2; frame++) {
            submit(&subject, false, 0);
            const struct engine_motion motion = collect(&subject);
            assert_true(motion.grid == NULL && motion.vector == NULL);
        }
        tear_down(&subject);
    }
}

/* A source that starts again shows something else. */
static void a_first_frame_has_none_before_it(void **state)
{
    (void)state;
    const struct scene scene = {.format = "GREY", .chain = "none"};
    struct subject subject;
    set_up(&subject, &scene, BLOCK, NULL);
    memset(subject.in, 100, subject.captured.frame_bytes);
    for (unsigned frame = 0; frame < 4; frame++) {
        submit(&subject, frame == 2, 0);
        assert_true((collect(&subject).vector != NULL) == (frame == 1 || frame == 3));
    }
    tear_down(&subject);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_field_is_that_of_captured_luma),
        cmocka_unit_test(a_shared_load_has_the_frame),
        cmocka_unit_test(other_engines_find_none),
        cmocka_unit_test(a_first_frame_has_none_before_it),
    };
    return cmocka_run_group_tests(tests, device_setup, device_teardown);
}
