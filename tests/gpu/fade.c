/* Fades from one filter to another: each frame is filtered with exactly the blend that is its turn,
 * to within one step of the double-precision result. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/cmocka.h"
#include "support/chains.h"
#include "support/device.h"
#include "support/reference.h"

#include "engine/engine.h"

#define WIDTH      96
#define HEIGHT     70
#define MAX_FRAMES 32

/* Y16: a step is 1/65535, so that a wrong weight shows. */
#define TOP        65535.0

#define REAL       "notch:at=0.1/0.05,width=0.1"
static const char *filters[] = {"gaussian-blur:sigma=2", REAL,
                                "sharpen:amount=0.5 | gain:dc=1,ac=0.7"};

struct fixture {
    struct fftd_format format;
    struct engine *engine;
    uint8_t *in, *out[MAX_FRAMES];
    double *filtered[3]; /* by each of `filters`, in double precision */
    struct engine_done done[MAX_FRAMES];
    unsigned submitted, collected;
};

/* A gradient with noise, far from the ends of the range. */
static void draw(struct fixture *f)
{
    uint64_t seed = 5;
    f->in = calloc(1, f->format.frame_bytes);
    for (unsigned y = 0; y < HEIGHT; y++)
        for (unsigned x = 0; x < WIDTH; x++) {
            const unsigned value =
                (unsigned)(20000 + 100 * x + 15000 * reference_noise(&seed) + 50 * y);
            uint8_t *at = f->in + f->format.plane[0].offset + y * f->format.plane[0].stride + 2 * x;
            at[0] = (uint8_t)value;
            at[1] = (uint8_t)(value >> 8);
        }
}

static double sample(const struct fixture *f, const uint8_t *frame, unsigned x, unsigned y)
{
    const struct fftd_plane *plane = &f->format.plane[0];
    const uint8_t *at = frame + plane->offset + y * plane->stride + 2 * x;
    return at[0] | at[1] << 8;
}

static void compute_references(struct fixture *f)
{
    const struct plan *plan = engine_plan(f->engine, 0);
    double *samples = malloc(sizeof *samples * WIDTH * HEIGHT);
    for (unsigned y = 0; y < HEIGHT; y++)
        for (unsigned x = 0; x < WIDTH; x++)
            samples[y * WIDTH + x] = sample(f, f->in, x, y);
    for (unsigned i = 0; i < 3; i++) {
        const struct filter_chain chain = chain_of(filters[i]);
        const struct reference reference = {.width = WIDTH,
                                            .height = HEIGHT,
                                            .padded_x = plan->x.length,
                                            .padded_y = plan->y.length,
                                            .border = PLAN_MIRROR,
                                            .sub_x = 1,
                                            .sub_y = 1,
                                            .chain = &chain};
        f->filtered[i] = malloc(sizeof(double) * WIDTH * HEIGHT);
        reference_filter(&reference, samples, f->filtered[i]);
    }
    free(samples);
}

static void start(struct fixture *f, const struct engine_options *options)
{
    struct error why;
    *f = (struct fixture){0};
    assert_int_equal(
        format_layout(&f->format, format_by_name("Y16")->fourcc, WIDTH, HEIGHT, 64, NULL), 0);
    if (engine_create(&f->engine, device, &f->format, options, 0, NULL, NULL, &why) < 0)
        fail_msg("%s", why.text);
    draw(f);
    compute_references(f);
}

static void end(struct fixture *f)
{
    engine_destroy(f->engine);
    for (unsigned i = 0; i < f->submitted; i++)
        free(f->out[i]);
    for (unsigned i = 0; i < 3; i++)
        free(f->filtered[i]);
    free(f->in);
}

/* Uses a filter; frames 0: at once. from: where the fade begins; -1: at what is in use. */
static void apply(struct fixture *f, unsigned filter, unsigned frames, int from, uint64_t serial)
{
    const struct filter_chain chain = chain_of(filters[filter]);
    struct engine_response *response, *begin = NULL;
    struct error why;
    int r = engine_design(f->engine, &chain, &response, &why);
    if (r == 0 && from >= 0) {
        const struct filter_chain before = chain_of(filters[from]);
        r = engine_design(f->engine, &before, &begin, &why);
    }
    if (r == 0 && frames > 0)
        r = engine_design_fade(f->engine, response, frames, begin, &why);
    if (r < 0)
        fail_msg("%s", why.text);
    engine_apply(f->engine, response, serial);
}

static void collect(struct fixture *f)
{
    struct error why;
    if (engine_collect(f->engine, true, &f->done[f->collected], &why) < 0)
        fail_msg("%s", why.text);
    f->collected++;
}

static void submit(struct fixture *f, unsigned in_flight)
{
    const struct fftd_plane *plane = &f->format.plane[0];
    struct error why;
    if (engine_in_flight(f->engine) == in_flight)
        collect(f);
    struct engine_job job = {.in = {f->in + plane->offset}, .in_stride = {plane->stride}};
    job.out = f->out[f->submitted] = calloc(1, f->format.frame_bytes);
    if (engine_submit(f->engine, &job, &why) < 0)
        fail_msg("%s", why.text);
    f->submitted++;
}

/* Compares a frame with a sum of the three filtered pictures. */
static void check(const struct fixture *f, unsigned frame, const double weight[3], double steps)
{
    double worst = 0;
    for (unsigned y = 0; y < HEIGHT; y++)
        for (unsigned x = 0; x < WIDTH; x++) {
            double expected = 0;
            for (unsigned i = 0; i < 3; i++)
                expected += weight[i] * f->filtered[i][y * WIDTH + x];
            expected = fmax(0, fmin(expected, TOP));
            worst = fmax(worst, fabs(sample(f, f->out[frame], x, y) - expected));
        }
    if (!(worst <= steps))
        fail_msg("frame %u is off by %.2f of %.0f steps", frame, worst, TOP);
}

static const struct engine_options plain = {
    .border = PLAN_MIRROR, .margin = 16, .in_flight = 3, .tune = ENGINE_TUNE_OFF};

/* Before, during and after one fade of five frames. */
static void check_fade(const struct engine_options *options, double steps, int from)
{
    struct fixture f;
    start(&f, options);
    apply(&f, from < 0 ? 0 : 2, 0, -1, 1);
    submit(&f, options->in_flight);
    apply(&f, 1, 5, from, 2);
    for (unsigned i = 0; i < 7; i++) {
        assert_int_equal(engine_is_fading(f.engine), i < 5);
        submit(&f, options->in_flight);
    }
    while (f.collected < f.submitted)
        collect(&f);
    check(&f, 0, (const double[3]){from < 0, 0, from >= 0}, steps);
    for (unsigned i = 1; i <= 7; i++) {
        const double weight = fmin(i / 5., 1);
        check(&f, i, (const double[3]){1 - weight, weight, 0}, steps);
        assert_int_equal(f.done[i].blended, i < 5);
        assert_int_equal(f.done[i].filter_serial, 2);
    }
    assert_false(f.done[0].blended);
    end(&f);
}

static void each_frame_is_the_blend_of_its_turn(void **state)
{
    (void)state;
    check_fade(&plain, 1, -1);
}

static void the_same_stage_by_stage(void **state)
{
    struct engine_options options = plain;
    (void)state;
    options.technique = ENGINE_STAGED;
    check_fade(&options, 1, -1);
}

static void the_same_in_half_precision(void **state)
{
    struct engine_options options = plain;
    (void)state;
    options.recipe.precision = RECIPE_HALF;
    check_fade(&options, TOP / 255, -1);
}

static void a_fade_may_begin_at_another_filter(void **state)
{
    (void)state;
    check_fade(&plain, 1, 0);
}

static void complex_responses_are_blended(void **state)
{
    struct engine_options options = plain;
    (void)state;
    options.recipe.complex_response = true;
    filters[1] = "gradient:along=x | gain:dc=1,ac=0.5";
    check_fade(&options, 1, -1);
    filters[1] = REAL;
}

static void frames_are_blended_one_at_a_time(void **state)
{
    struct engine_options options = plain;
    (void)state;
    options.in_flight = 1;
    check_fade(&options, 1, -1);
}

static void a_fade_of_one_frame_is_none(void **state)
{
    struct fixture f;
    (void)state;
    start(&f, &plain);
    apply(&f, 0, 0, -1, 1);
    apply(&f, 1, 1, -1, 2);
    submit(&f, 1);
    collect(&f);
    check(&f, 0, (const double[3]){0, 1, 0}, 1);
    assert_false(f.done[0].blended);
    assert_false(engine_is_fading(f.engine));
    end(&f);
}

/* A second change after three of eight frames, and a third one before any frame of the second. */
static void a_change_during_a_fade_begins_where_that_is(void **state)
{
    struct fixture f;
    (void)state;
    start(&f, &plain);
    apply(&f, 0, 0, -1, 1);
    apply(&f, 1, 8, -1, 2);
    for (unsigned i = 0; i < 3; i++)
        submit(&f, 3);
    apply(&f, 0, 100, -1, 3);
    apply(&f, 2, 4, -1, 4);
    for (unsigned i = 0; i < 6; i++)
        submit(&f, 3);
    while (f.collected < f.submitted)
        collect(&f);
    for (unsigned i = 0; i < 3; i++)
        check(&f, i, (const double[3]){1 - (i + 1) / 8., (i + 1) / 8., 0}, 1);
    for (unsigned i = 0; i < 6; i++) {
        const double weight = fmin((i + 1) / 4., 1);
        check(&f, 3 + i, (const double[3]){(1 - weight) * 5 / 8, (1 - weight) * 3 / 8, weight}, 1);
        assert_int_equal(f.done[3 + i].filter_serial, 4);
        assert_int_equal(f.done[3 + i].blended, i < 3);
    }
    end(&f);
}

static void a_change_at_once_ends_a_fade(void **state)
{
    struct fixture f;
    (void)state;
    start(&f, &plain);
    apply(&f, 0, 0, -1, 1);
    apply(&f, 1, 8, -1, 2);
    submit(&f, 3);
    apply(&f, 2, 0, -1, 3);
    assert_false(engine_is_fading(f.engine));
    submit(&f, 3);
    while (f.collected < f.submitted)
        collect(&f);
    check(&f, 0, (const double[3]){7 / 8., 1 / 8., 0}, 1);
    check(&f, 1, (const double[3]){0, 0, 1}, 1);
    end(&f);
}

/* A change on every second frame, each in a fade of ten: blends of blends. The engine is destroyed
 * in the middle of one, with frames in flight. */
static void changes_may_follow_each_other_fast(void **state)
{
    struct fixture f;
    double weight[3] = {1, 0, 0}, begin[3];
    (void)state;
    start(&f, &plain);
    apply(&f, 0, 0, -1, 1);
    double expected[MAX_FRAMES][3];
    for (unsigned i = 0; i < 24; i++) {
        const unsigned filter = (i / 2 + 1) % 3;
        if (i % 2 == 0) {
            apply(&f, filter, 10, -1, 2 + i);
            memcpy(begin, weight, sizeof begin);
        }
        for (unsigned k = 0; k < 3; k++)
            weight[k] = begin[k] + (1 + i % 2) / 10. * ((k == filter) - begin[k]);
        memcpy(expected[i], weight, sizeof weight);
        submit(&f, 3);
    }
    assert_int_equal(f.collected, 21);
    for (unsigned i = 0; i < f.collected; i++)
        check(&f, i, expected[i], 1);
    engine_abandon(f.engine);
    end(&f);
}

/* Three components: two share one transform, and one has its own. */
static void all_planes_fade(void **state)
{
    const struct filter_chain blur = chain_of("gain:dc=1,ac=0"), none = {.count = 0};
    const struct fftd_plane *plane;
    struct engine_options options = plain;
    struct engine_response *response;
    struct engine_done done;
    struct fftd_format format;
    struct engine *engine;
    struct error why;
    (void)state;
    assert_int_equal(
        format_layout(&format, format_by_name("YUV420")->fourcc, WIDTH, HEIGHT, 64, NULL), 0);
    options.recipe.planes = RECIPE_ALL;
    if (engine_create(&engine, device, &format, &options, 0, NULL, NULL, &why) < 0)
        fail_msg("%s", why.text);
    uint8_t *in = calloc(1, format.frame_bytes), *out = calloc(1, format.frame_bytes);
    struct engine_job job = {.out = out};
    for (unsigned p = 0; p < 3; p++) {
        plane = &format.plane[p];
        job.in[p] = in + plane->offset;
        job.in_stride[p] = plane->stride;
        for (unsigned y = 0; y < plane->rows; y++)
            for (unsigned x = 0; x < plane->row_bytes; x++)
                in[plane->offset + y * plane->stride + x] = x % 2 == 0 ? 100 : 140;
    }
    assert_int_equal(engine_design(engine, &none, &response, &why), 0);
    engine_apply(engine, response, 1);
    assert_int_equal(engine_design(engine, &blur, &response, &why), 0);
    assert_int_equal(engine_design_fade(engine, response, 4, NULL, &why), 0);
    engine_apply(engine, response, 2);
    for (unsigned i = 1; i <= 4; i++) {
        if (engine_submit(engine, &job, &why) < 0 || engine_collect(engine, true, &done, &why) < 0)
            fail_msg("%s", why.text);
        for (unsigned p = 0; p < 3; p++) {
            plane = &format.plane[p];
            const uint8_t *row = out + plane->offset + 5 * plane->stride;
            /* The stripes lose a quarter of their contrast with each frame. */
            assert_true(fabs(row[11] - row[10] - 40 * (1 - i / 4.)) <= 1);
        }
    }
    free(in);
    free(out);
    engine_destroy(engine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_frame_is_the_blend_of_its_turn),
        cmocka_unit_test(the_same_stage_by_stage),
        cmocka_unit_test(the_same_in_half_precision),
        cmocka_unit_test(a_fade_may_begin_at_another_filter),
        cmocka_unit_test(complex_responses_are_blended),
        cmocka_unit_test(frames_are_blended_one_at_a_time),
        cmocka_unit_test(a_fade_of_one_frame_is_none),
        cmocka_unit_test(a_change_during_a_fade_begins_where_that_is),
        cmocka_unit_test(a_change_at_once_ends_a_fade),
        cmocka_unit_test(changes_may_follow_each_other_fast),
        cmocka_unit_test(all_planes_fade),
    };
    return cmocka_run_group_tests(tests, device_setup, device_teardown);
}
