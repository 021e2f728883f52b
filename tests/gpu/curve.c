/* Tests of chains with a curve: whole frames against a model in double precision that shares only H
 * with the code under test, and H = 1, which must change nothing. */
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

#include "engine/engine.h"

#define WIDTH  64
#define HEIGHT 46

/* ---- the model: written from the standards, in units of the largest sample ---- */

enum model { LOGARITHM, SRGB, BT709, GAMMA };
#define GAMMA_USED 1.8

static double limit(double value, double low, double high)
{
    return value < low ? low : value > high ? high : value;
}

static double bend(enum model model, double top, double s)
{
    switch (model) {
    case LOGARITHM:
        return log(1 + s * top) / log(1 + top);
    case SRGB:
        return s <= 0.04045 ? s / 12.92 : pow((s + 0.055) / 1.055, 2.4);
    case BT709:
        /* the values at which both parts of the curve meet with the same slope */
        return s < 4.5 * 0.0180539685108 ? s / 4.5
                                         : pow((s + 0.0992968268094) / 1.0992968268094, 1 / 0.45);
    case GAMMA:
        return fmax(s / 256, pow(s, GAMMA_USED));
    }
    abort();
}

/* The inverse, by bisection. */
static double unbend(enum model model, double top, double v)
{
    double low = 0, high = 1;
    for (int i = 0; i < 60; i++) {
        const double middle = (low + high) / 2;
        if (bend(model, top, middle) < v)
            low = middle;
        else
            high = middle;
    }
    return high;
}

/* ---- frames ---- */

/* Formats whose luma is in plane 0: samples of one or two bytes, or three colours. */
struct view {
    const char *format;
    unsigned step, bytes, colours;
    double top;
};

static const struct view grey = {"GREY", 1, 1, 0, 255}, y12 = {"Y12", 2, 2, 0, 4095},
                         y16 = {"Y16", 2, 2, 0, 65535}, yuyv = {"YUYV", 2, 1, 0, 255},
                         rgb = {"RGB24", 3, 1, 3, 255}, nv12 = {"NV12", 1, 1, 0, 255};

static double value_at(const struct view *v, const struct fftd_format *format, const uint8_t *frame,
                       unsigned x, unsigned y)
{
    const uint8_t *at = frame + (size_t)y * format->plane[0].stride + (size_t)x * v->step;
    if (v->colours == 3)
        return 0.299 * at[0] + 0.587 * at[1] + 0.114 * at[2];
    return v->bytes == 2 ? at[0] | at[1] << 8 : at[0];
}

static void lay_out(struct fftd_format *ret, const char *name)
{
    assert_int_equal(format_layout(ret, format_by_name(name)->fourcc, WIDTH, HEIGHT, 1, NULL), 0);
}

/* A shaded texture with noise, from black to white; every byte of other samples is noise. */
static uint8_t *draw(const struct view *v, const struct fftd_format *format)
{
    uint8_t *frame = malloc(format->frame_bytes);
    uint64_t seed = 11;
    for (size_t i = 0; i < format->frame_bytes; i++)
        frame[i] = (uint8_t)(256 * reference_noise(&seed));
    for (unsigned y = 0; y < HEIGHT; y++)
        for (unsigned x = 0; x < WIDTH; x++) {
            uint8_t *at = frame + (size_t)y * format->plane[0].stride + (size_t)x * v->step;
            const double shade = (0.1 + 0.9 * x / WIDTH) * (0.6 + 0.4 * sin(0.7 * y + 0.2 * x));
            const double s = x < 8 && y < 8 ? (x + y) % 2 : shade * reference_noise(&seed);
            const unsigned sample = (unsigned)lrint(v->top * s);
            at[0] = (uint8_t)sample;
            if (v->bytes == 2)
                at[1] = (uint8_t)(sample >> 8);
            for (unsigned i = 1; i < v->colours; i++)
                at[i] = (uint8_t)lrint(fmin(255, at[0] * (0.5 + reference_noise(&seed))));
        }
    return frame;
}

static struct engine *make_engine(const struct fftd_format *format,
                                  const struct engine_options *options,
                                  const struct filter_chain *chain)
{
    struct engine_options with = *options;
    struct engine_response *response = NULL;
    struct engine *engine = NULL;
    struct error why;
    with.recipe.curve = filter_chain_curve(chain);
    if (engine_create(&engine, device, format, &with, 0, NULL, NULL, &why) < 0 ||
        engine_design(engine, chain, &response, &why) < 0)
        fail_msg("%s", why.text);
    engine_apply(engine, response, 1);
    return engine;
}

static uint8_t *filter(struct engine *engine, const struct fftd_format *published,
                       const struct fftd_format *captured, const uint8_t *in)
{
    struct engine_job job = {.out = calloc(1, published->frame_bytes)};
    engine_frame(engine, job, captured, in, "curve");
    return job.out;
}

static const struct engine_options plain = {
    .border = PLAN_MIRROR, .margin = 8, .in_flight = 1, .tune = ENGINE_TUNE_OFF};

/* The frame that the model expects, in samples that are not rounded. */
static void expect(const struct view *v, const struct fftd_format *format, const struct plan *plan,
                   const struct filter_chain *chain, enum model model, const uint8_t *in,
                   double expected[WIDTH * HEIGHT])
{
    static double bent[WIDTH * HEIGHT];
    const struct reference reference = {.width = WIDTH,
                                        .height = HEIGHT,
                                        .padded_x = plan->x.length,
                                        .padded_y = plan->y.length,
                                        .border = PLAN_MIRROR,
                                        .sub_x = 1,
                                        .sub_y = 1,
                                        .chain = chain};
    for (unsigned i = 0; i < WIDTH * HEIGHT; i++)
        bent[i] = bend(model, v->top, value_at(v, format, in, i % WIDTH, i / WIDTH) / v->top);
    reference_filter(&reference, bent, expected);
    for (unsigned i = 0; i < WIDTH * HEIGHT; i++)
        expected[i] = v->top * unbend(model, v->top, limit(expected[i], 0, 1));
}

/* Filters a frame and compares each sample of luma, or each colour, with the model; other bytes
 * must not change. */
static void check(const struct view *v, const struct engine_options *options, enum model model,
                  const char *text, double steps)
{
    static double expected[WIDTH * HEIGHT];
    const struct filter_chain chain = chain_of(text);
    struct fftd_format format;
    double worst = 0;
    lay_out(&format, v->format);
    uint8_t *in = draw(v, &format);
    struct engine *engine = make_engine(&format, options, &chain);
    uint8_t *out = filter(engine, &format, &format, in);
    expect(v, &format, engine_plan(engine, 0), &chain, model, in, expected);
    for (unsigned y = 0; y < HEIGHT; y++)
        for (unsigned x = 0; x < WIDTH; x++) {
            const size_t at = (size_t)y * format.plane[0].stride + (size_t)x * v->step;
            const double wanted = expected[y * WIDTH + x];
            const double change = wanted - value_at(v, &format, in, x, y);
            for (unsigned i = 0; i < v->colours; i++)
                worst = fmax(worst, fabs(out[at + i] - limit(in[at + i] + change, 0, 255)));
            if (v->colours == 0)
                worst = fmax(worst, fabs(value_at(v, &format, out, x, y) - wanted));
            for (unsigned i = v->bytes; v->colours == 0 && i < v->step; i++)
                assert_int_equal(out[at + i], in[at + i]);
        }
    printf("# figures: %s, %s%s, %s: at most %.3f steps off\n", v->format,
           options->technique == ENGINE_STAGED ? "staged" : "fused",
           options->recipe.precision == RECIPE_HALF ? " half" : "", text, worst);
    assert_non_null(
        strstr(engine_description(engine), model == LOGARITHM ? "logarithmic" : "linear light"));
    if (!(worst <= steps))
        fail_msg("%s: %s is off by %.3f steps", v->format, text, worst);
    free(in);
    free(out);
    engine_destroy(engine);
}

/* ---- tests ---- */

static struct engine_options staged(void)
{
    struct engine_options options = plain;
    options.technique = ENGINE_STAGED;
    return options;
}

static void chains_filter_the_logarithm(void **state)
{
    const struct engine_options by_stage = staged();
    (void)state;
    check(&grey, &plain, LOGARITHM, "homomorphic | highboost:base=0.5,boost=1,cutoff=0.05", 1);
    check(&y12, &by_stage, LOGARITHM, "highpass:cutoff=0.05,dc=1 | homomorphic", 1);
    if (!device_takes_every_layout())
        return;
    check(&rgb, &by_stage, LOGARITHM, "homomorphic | gaussian-blur:sigma=1", 1);
    check(&y16, &plain, LOGARITHM, "homomorphic | gaussian-blur:sigma=1", 1);
    check(&yuyv, &plain, LOGARITHM, "homomorphic | gaussian-blur:sigma=1", 1);
}

/* Colour stays as it is; with all planes, chroma is filtered without the curve. */
static void check_chroma(void)
{
    const struct filter_chain curved = chain_of("homomorphic | gaussian-blur:sigma=1");
    const struct filter_chain straight = chain_of("gaussian-blur:sigma=1");
    struct engine_options all = plain;
    struct fftd_format format;
    all.recipe.planes = RECIPE_ALL;
    lay_out(&format, nv12.format);
    uint8_t *in = draw(&nv12, &format);
    struct engine *with = make_engine(&format, &all, &curved);
    struct engine *without = make_engine(&format, &all, &straight);
    uint8_t *a = filter(with, &format, &format, in), *b = filter(without, &format, &format, in);
    const size_t luma = format.plane[1].offset;
    assert_memory_not_equal(a, b, luma);
    assert_memory_equal(a + luma, b + luma, format.frame_bytes - luma);
    free(in);
    free(a);
    free(b);
    engine_destroy(with);
    engine_destroy(without);
}

static void chains_filter_light(void **state)
{
    const struct engine_options by_stage = staged();
    (void)state;
    check(&rgb, &plain, SRGB, "linear-light | gaussian-blur:sigma=1", 1);
    check(&yuyv, &by_stage, BT709, "linear-light:encoding=bt709 | sharpen:amount=0.5,sigma=1", 1);
    if (!device_takes_every_layout())
        return;
    check(&grey, &plain, GAMMA, "linear-light:encoding=gamma,gamma=1.8 | gaussian-blur:sigma=1", 1);
    check(&y12, &plain, SRGB, "linear-light | gaussian-blur:sigma=1", 1);
    check(&y12, &by_stage, BT709, "linear-light:encoding=bt709 | gaussian-blur:sigma=1", 1);
    check_chroma();
}

/* Half precision has 11 bits; near black the inverse of a curve multiplies its errors. */
static void the_same_in_half_precision(void **state)
{
    struct engine_options half = plain;
    (void)state;
    half.recipe.precision = RECIPE_HALF;
    check(&grey, &half, LOGARITHM, "homomorphic | gaussian-blur:sigma=1", 2);
    if (device_takes_every_layout())
        check(&grey, &half, SRGB, "linear-light | gaussian-blur:sigma=1", 2);
}

/* H = 1 gives every sample back. A mosaic is compared with what an engine without a curve makes of
 * it; means of its samples may be in the middle between two numbers. */
static void nothing_changes_without_a_filter(void **state)
{
    static const struct {
        const char *format, *captured, *chain;
        bool staged;
    } cases[] = {
        {"GREY", NULL, "linear-light:encoding=gamma,gamma=3", false},
        {"XBGR32", "SRGGB8", "homomorphic", false},
        {"Y12", NULL, "homomorphic", true},
        {"GREY", NULL, "homomorphic", true},
        {"RGB24", NULL, "linear-light", true},
        {"YUYV", NULL, "linear-light:encoding=bt709", false},
        {"XBGR32", "SBGGR8", "linear-light", true},
    };
    const size_t count = sizeof cases / sizeof cases[0];
    (void)state;
    for (size_t i = 0; i < (device_takes_every_layout() ? count : 2); i++) {
        const struct filter_chain chain = chain_of(cases[i].chain), none = chain_of("none");
        struct engine_options options = plain;
        struct fftd_format format, captured;
        lay_out(&format, cases[i].format);
        captured = format;
        if (cases[i].captured != NULL) {
            options.recipe.captured = format_by_name(cases[i].captured)->fourcc;
            lay_out(&captured, cases[i].captured);
        }
        if (cases[i].staged)
            options.technique = ENGINE_STAGED;
        uint8_t *in = calloc(1, captured.frame_bytes);
        for (size_t k = 0; k < captured.frame_bytes; k++)
            in[k] = (uint8_t)(strcmp(cases[i].format, "Y12") == 0 && k % 2 == 1 ? k / 2 % 16
                                                                                : k * 7 / 3);
        struct engine *curved = make_engine(&format, &options, &chain);
        struct engine *straight = make_engine(&format, &options, &none);
        uint8_t *a = filter(curved, &format, &captured, in);
        uint8_t *b = filter(straight, &format, &captured, in);
        for (size_t k = 0; k < format.frame_bytes; k++)
            if (a[k] != b[k] && (cases[i].captured == NULL || abs(a[k] - b[k]) > 1))
                fail_msg("%s: %s changes byte %zu from %u to %u", cases[i].format, cases[i].chain,
                         k, b[k], a[k]);
        free(in);
        free(a);
        free(b);
        engine_destroy(curved);
        engine_destroy(straight);
    }
}

/* The curve bends corrected samples: with H = 1 they come back as they are. */
static void corrections_come_before_the_curve(void **state)
{
    const struct filter_chain light = chain_of("linear-light");
    struct engine_options options = plain;
    struct fftd_format format;
    float gain[HEIGHT];
    const struct correction correction = {.row_gain = gain};
    struct engine_done done;
    struct error why;
    (void)state;
    for (unsigned staging = 0; staging < (device_takes_every_layout() ? 2 : 1); staging++) {
        options.technique = staging ? ENGINE_STAGED : ENGINE_FUSED;
        options.recipe.corrections = true;
        lay_out(&format, "GREY");
        uint8_t *in = draw(&grey, &format), *out = malloc(format.frame_bytes);
        for (unsigned y = 0; y < HEIGHT; y++)
            gain[y] = 0.3f + 0.01f * (float)y;
        struct engine *engine = make_engine(&format, &options, &light);
        const struct engine_job job = {.in = {in},
                                       .in_stride = {format.plane[0].stride},
                                       .out = out,
                                       .correction = &correction};
        if (engine_submit(engine, &job, &why) < 0 || engine_collect(engine, true, &done, &why) < 0)
            fail_msg("%s", why.text);
        for (unsigned i = 0; i < WIDTH * HEIGHT; i++)
            assert_true(fabs(out[i] - (double)gain[i / WIDTH] * in[i]) <= 0.51);
        free(in);
        free(out);
        engine_destroy(engine);
    }
}

static void an_engine_has_one_curve(void **state)
{
    const struct filter_chain none = chain_of("none"), blur = chain_of("gaussian-blur:sigma=1"),
                              light = chain_of("linear-light"), logarithm = chain_of("homomorphic");
    struct engine_response *response = NULL;
    struct fftd_format format;
    struct error why;
    (void)state;
    lay_out(&format, "GREY");
    struct engine *engine = make_engine(&format, &plain, &light);
    assert_int_equal(engine_design(engine, &blur, &response, &why), -EINVAL);
    assert_int_equal(engine_design(engine, &logarithm, &response, &why), -EINVAL);
    assert_non_null(strstr(why.text, "curve"));
    assert_null(response);
    assert_int_equal(engine_design(engine, &none, &response, &why), 0);
    engine_response_free(response);
    engine_destroy(engine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chains_filter_the_logarithm),
        cmocka_unit_test(chains_filter_light),
        cmocka_unit_test(the_same_in_half_precision),
        cmocka_unit_test(nothing_changes_without_a_filter),
        cmocka_unit_test(corrections_come_before_the_curve),
        cmocka_unit_test(an_engine_has_one_curve),
    };
    return cmocka_run_group_tests(tests, device_setup, device_teardown);
}
