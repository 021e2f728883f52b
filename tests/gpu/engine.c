/* Tests of the engine on whole frames. Every pixel format is within one step of the
 * double-precision result, and unfiltered samples do not change. Filters change between frames in
 * flight. */
#include <errno.h>
#include <glob.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/cmocka.h"
#include "support/chains.h"
#include "support/device.h"
#include "support/pattern_frame.h"
#include "support/reference.h"

#include "core/clock.h"
#include "engine/engine.h"
#include "gpu/device_private.h"

static const struct engine_options defaults = {.border = PLAN_MIRROR,
                                               .border_value = 0.5,
                                               .margin = -1,
                                               .in_flight = 2,
                                               .tune = ENGINE_TUNE_OFF};

/* The margin does not depend on the filter, so engines for frames of one size share programs, which
 * the driver compiles once. */
static const struct engine_options fixed_margin = {.border = PLAN_MIRROR,
                                                   .border_value = 0.5,
                                                   .margin = 16,
                                                   .in_flight = 2,
                                                   .tune = ENGINE_TUNE_OFF};

/* ---- the position of each filtered sample, independent of the code under test -------------- */

struct component_view {
    unsigned plane, offset, step, sub_x, sub_y;
    unsigned sample_bytes; /* 1 or 2; 3: luma of RGB */
    unsigned bits;
    unsigned rgb[3]; /* sample_bytes 3: offsets of red, green and blue */
};

struct format_case {
    const char *name;
    unsigned count;
    struct component_view luma;
    struct component_view chroma[3]; /* with planes = all, after luma; RGB: all three colours */
};

static const struct format_case cases[] = {
    {"GREY", 1, {0, 0, 1, 1, 1, 1, 8, {0}}, {{0}}},
    {"Y10", 1, {0, 0, 2, 1, 1, 2, 10, {0}}, {{0}}},
    {"Y12", 1, {0, 0, 2, 1, 1, 2, 12, {0}}, {{0}}},
    {"Y16", 1, {0, 0, 2, 1, 1, 2, 16, {0}}, {{0}}},
    {"YUYV",
     3,
     {0, 0, 2, 1, 1, 1, 8, {0}},
     {{0, 1, 4, 2, 1, 1, 8, {0}}, {0, 3, 4, 2, 1, 1, 8, {0}}}},
    {"UYVY",
     3,
     {0, 1, 2, 1, 1, 1, 8, {0}},
     {{0, 0, 4, 2, 1, 1, 8, {0}}, {0, 2, 4, 2, 1, 1, 8, {0}}}},
    {"NV12",
     3,
     {0, 0, 1, 1, 1, 1, 8, {0}},
     {{1, 0, 2, 2, 2, 1, 8, {0}}, {1, 1, 2, 2, 2, 1, 8, {0}}}},
    {"NV21",
     3,
     {0, 0, 1, 1, 1, 1, 8, {0}},
     {{1, 0, 2, 2, 2, 1, 8, {0}}, {1, 1, 2, 2, 2, 1, 8, {0}}}},
    {"NV16",
     3,
     {0, 0, 1, 1, 1, 1, 8, {0}},
     {{1, 0, 2, 2, 1, 1, 8, {0}}, {1, 1, 2, 2, 1, 1, 8, {0}}}},
    {"YUV420",
     3,
     {0, 0, 1, 1, 1, 1, 8, {0}},
     {{1, 0, 1, 2, 2, 1, 8, {0}}, {2, 0, 1, 2, 2, 1, 8, {0}}}},
    {"YVU420",
     3,
     {0, 0, 1, 1, 1, 1, 8, {0}},
     {{1, 0, 1, 2, 2, 1, 8, {0}}, {2, 0, 1, 2, 2, 1, 8, {0}}}},
    {"RGB24", 1, {0, 0, 3, 1, 1, 3, 8, {0, 1, 2}}, {{0}}},
    {"BGR24", 1, {0, 0, 3, 1, 1, 3, 8, {2, 1, 0}}, {{0}}},
    {"XRGB32", 1, {0, 0, 4, 1, 1, 3, 8, {1, 2, 3}}, {{0}}},
};

static uint32_t view_width(const struct component_view *v, const struct fftd_format *f)
{
    return (f->width + v->sub_x - 1) / v->sub_x;
}

static uint32_t view_height(const struct component_view *v, const struct fftd_format *f)
{
    return (f->height + v->sub_y - 1) / v->sub_y;
}

static const uint8_t *view_at(const struct component_view *v, const struct fftd_format *f,
                              const uint8_t *frame, uint32_t x, uint32_t y)
{
    return frame + f->plane[v->plane].offset + (size_t)y * f->plane[v->plane].stride + v->offset +
           (size_t)x * v->step;
}

static double view_value(const struct component_view *v, const struct fftd_format *f,
                         const uint8_t *frame, uint32_t x, uint32_t y)
{
    const uint8_t *at = view_at(v, f, frame, x, y);
    if (v->sample_bytes == 1)
        return at[0];
    if (v->sample_bytes == 2)
        return at[0] | at[1] << 8;
    return 0.299 * at[v->rgb[0]] + 0.587 * at[v->rgb[1]] + 0.114 * at[v->rgb[2]];
}

/* Whether to test a format. Without FFTD_TEST_LAYOUTS=all one format is tested for each kind of
 * sample and for each arrangement of planes; the others differ only in order or bits. */
static bool takes_format(const char *name)
{
    return device_takes_every_layout() || strstr("GREY Y12 YUYV NV12 YUV420 XRGB32", name) != NULL;
}

/* ---- frames -------------------------------------------------------------------------------- */

static struct fftd_format layout(const char *name, uint32_t width, uint32_t height, uint32_t align)
{
    struct fftd_format format;
    struct error why;
    const struct format_info *info = format_by_name(name);
    assert_non_null(info);
    if (format_layout(&format, info->fourcc, width, height, align, &why) < 0)
        fail_msg("%s", why.text);
    return format;
}

/* Draws noise over a gradient that avoids the ends of the range, so that most of the picture is not
 * clamped. One corner is black and white, so that some of it is. */
static uint8_t *make_frame(const struct format_case *c, const struct fftd_format *format,
                           uint64_t seed)
{
    uint8_t *frame = malloc(format->frame_bytes);
    for (uint32_t i = 0; i < format->frame_bytes; i++)
        frame[i] = (uint8_t)(60 + 130 * reference_noise(&seed));
    if (c->luma.sample_bytes == 2)
        for (uint32_t y = 0; y < format->height; y++)
            for (uint32_t x = 0; x < format->width; x++) {
                uint8_t *at = (uint8_t *)view_at(&c->luma, format, frame, x, y);
                const unsigned value = (unsigned)(reference_noise(&seed) * (1u << c->luma.bits));
                at[0] = (uint8_t)value;
                at[1] = (uint8_t)(value >> 8);
            }
    for (uint32_t y = 0; y < 8; y++)
        for (uint32_t x = 0; x < format->width; x++) {
            uint8_t *at = (uint8_t *)view_at(&c->luma, format, frame, x, y);
            const uint8_t value = x % 4 < 2 ? 0 : 255;
            at[0] = value;
            if (c->luma.sample_bytes == 2)
                at[1] = value >> (16 - c->luma.bits);
            if (c->luma.sample_bytes == 3)
                at[c->luma.rgb[0]] = at[c->luma.rgb[1]] = at[c->luma.rgb[2]] = value;
        }
    return frame;
}

static struct engine *make_engine(const struct fftd_format *format,
                                  const struct engine_options *options, double support_px)
{
    struct engine *engine;
    struct error why;
    if (engine_create(&engine, device, format, options, support_px, NULL, NULL, &why) < 0)
        fail_msg("%s", why.text);
    return engine;
}

static void apply(struct engine *engine, const struct filter_chain *chain, uint64_t serial)
{
    struct engine_response *response;
    struct error why;
    if (engine_design(engine, chain, &response, &why) < 0)
        fail_msg("%s", why.text);
    engine_apply(engine, response, serial);
}

static void submit(struct engine *engine, const struct fftd_format *format, const uint8_t *in,
                   uint8_t *out, void *tag)
{
    struct engine_job job = {.is_dispatched = true, .tag = tag};
    struct error why;
    job.out = out;
    for (unsigned i = 0; i < format->plane_count; i++) {
        job.in[i] = in + format->plane[i].offset;
        job.in_stride[i] = format->plane[i].stride;
    }
    if (engine_submit(engine, &job, &why) < 0)
        fail_msg("%s", why.text);
}

static struct engine_done collect(struct engine *engine)
{
    struct engine_done done;
    struct error why;
    if (engine_collect(engine, true, &done, &why) < 0)
        fail_msg("%s", why.text);
    return done;
}

/* ---- checks -------------------------------------------------------------------------------- */

static double clamp(double value, double top)
{
    return value < 0 ? 0 : value > top ? top : value;
}

/* Compares one component of `out` with the reference, and marks the bytes of the component. */
static void check_component(const struct component_view *v, const struct fftd_format *format,
                            const struct engine *engine, unsigned index,
                            const struct filter_chain *chain, enum plan_border border,
                            const uint8_t *in, const uint8_t *out, uint8_t *seen, const char *name)
{
    const uint32_t width = view_width(v, format), height = view_height(v, format);
    const double top = (double)((1u << v->bits) - 1);
    const struct plan *plan = engine_plan(engine, index);
    double *source = malloc(sizeof *source * width * height);
    double *expected = malloc(sizeof *expected * width * height);
    for (uint32_t y = 0; y < height; y++)
        for (uint32_t x = 0; x < width; x++)
            source[y * width + x] = view_value(v, format, in, x, y);
    const struct reference reference = {.width = width,
                                        .height = height,
                                        .padded_x = plan->x.length,
                                        .padded_y = plan->y.length,
                                        .border = border,
                                        .border_value = defaults.border_value * top,
                                        .sub_x = v->sub_x,
                                        .sub_y = v->sub_y,
                                        .chain = chain};
    reference_filter(&reference, source, expected);
    for (uint32_t y = 0; y < height; y++)
        for (uint32_t x = 0; x < width; x++) {
            const uint8_t *at = view_at(v, format, out, x, y);
            const uint8_t *was = view_at(v, format, in, x, y);
            uint8_t *mark = seen + (at - out);
            if (v->sample_bytes == 3) {
                const double change = expected[y * width + x] - source[y * width + x];
                for (unsigned i = 0; i < 3; i++) {
                    const unsigned o = v->rgb[i];
                    if (fabs(at[o] - clamp(was[o] + change, 255)) > 1)
                        fail_msg("%s at %u, %u colour %u: %u, expected %.2f", name, x, y, i, at[o],
                                 clamp(was[o] + change, 255));
                    mark[o] = 1;
                }
                continue;
            }
            const double got = view_value(v, format, out, x, y);
            if (fabs(got - clamp(expected[y * width + x], top)) > 1)
                fail_msg("%s at %u, %u: %.0f, expected %.2f", name, x, y, got,
                         clamp(expected[y * width + x], top));
            memset(mark, 1, v->sample_bytes);
        }
    free(source);
    free(expected);
}

static void check_format(const struct format_case *c, uint32_t width, uint32_t height,
                         uint32_t align, const struct engine_options *options, const char *text)
{
    const struct fftd_format format = layout(c->name, width, height, align);
    const struct filter_chain chain = chain_of(text);
    struct engine_options with = *options;
    with.recipe.complex_response = filter_chain_is_complex(&chain);
    struct engine *engine = make_engine(&format, &with, filter_chain_support(&chain));
    uint8_t *in = make_frame(c, &format, width);
    uint8_t *out = malloc(format.frame_bytes);
    uint8_t *seen = calloc(1, format.frame_bytes);
    memset(out, 0xee, format.frame_bytes);
    apply(engine, &chain, 7);
    submit(engine, &format, in, out, NULL);
    assert_int_equal(collect(engine).filter_serial, 7);

    check_component(&c->luma, &format, engine, 0, &chain, options->border, in, out, seen, c->name);
    if (options->recipe.planes == RECIPE_ALL)
        for (unsigned i = 0; i + 1 < c->count; i++)
            check_component(&c->chroma[i], &format, engine, i + 1, &chain, options->border, in, out,
                            seen, c->name);
    /* Bytes that are not filtered must not change. */
    for (unsigned p = 0; p < format.plane_count; p++)
        for (uint32_t y = 0; y < format.plane[p].rows; y++)
            for (uint32_t x = 0; x < format.plane[p].row_bytes; x++) {
                const size_t at = format.plane[p].offset + (size_t)y * format.plane[p].stride + x;
                if (!seen[at] && out[at] != in[at])
                    fail_msg("%s plane %u byte %u of row %u changed from %u to %u", c->name, p, x,
                             y, in[at], out[at]);
            }
    free(in);
    free(out);
    free(seen);
    engine_destroy(engine);
}

static void test_formats_luma(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (!takes_format(cases[i].name))
            continue;
        check_format(&cases[i], 62, 34, 1, &fixed_margin, "lowpass:shape=gaussian,cutoff=0.1");
        /* Padded rows are tested once for each kind of store. */
        if (i % 4 == 0 && device_takes(200, 100) && (i == 4 || device_takes_every_layout()))
            check_format(&cases[i], 200, 100, 64, &defaults, "sharpen:amount=2,sigma=1.5");
    }
}

static void test_formats_all_planes(void **state)
{
    (void)state;
    struct engine_options options = fixed_margin;
    options.recipe.planes = RECIPE_ALL;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (cases[i].luma.sample_bytes != 3 && takes_format(cases[i].name))
            check_format(&cases[i], 62, 34, 1, &options,
                         i % 2 ? "gaussian-blur:sigma=2" : "notch:at=0.24/0.1,width=0.08");
}

/* The staged technique has loads and stores of its own: words of two samples, samples one by one,
 * and samples that are computed. */
static void test_formats_staged(void **state)
{
    (void)state;
    struct engine_options options = fixed_margin;
    options.technique = ENGINE_STAGED;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (!device_takes_every_layout() && strstr("Y12 YUYV XRGB32", cases[i].name) == NULL)
            continue;
        options.recipe.planes =
            i % 2 == 0 && cases[i].luma.sample_bytes != 3 ? RECIPE_ALL : RECIPE_LUMA;
        check_format(&cases[i], 62, 48, i % 2 == 0 ? 64 : 1, &options, "gaussian-blur:sigma=2");
        if (cases[i].count == 1) /* one column is not part of a word */
            check_format(&cases[i], 61, 47, 1, &options, "gaussian-blur:sigma=2");
    }
}

/* Describes a filter of whole planes of bytes. */
static struct reference reference_of_bytes(const struct plan *plan,
                                           const struct engine_options *options, uint32_t width,
                                           uint32_t height, const struct filter_chain *chain)
{
    return (struct reference){.width = width,
                              .height = height,
                              .padded_x = plan->x.length,
                              .padded_y = plan->y.length,
                              .border = options->border,
                              .border_value = options->border_value * 255,
                              .sub_x = 1,
                              .sub_y = 1,
                              .chain = chain};
}

/* ---- luma only ------------------------------------------------------------------------------ */

/* Filters luma into a frame whose rows are longer than it, and compares it with a reference that is
 * given the captured luma. */
static void check_luma(const char *name, uint32_t width, uint32_t height, uint32_t align,
                       const struct engine_options *common, const double *source,
                       const struct engine_job *input)
{
    const struct fftd_format format = layout("GREY", width, height, align);
    const struct filter_chain chain =
        chain_of("gaussian-blur:sigma=1.3 | sharpen:amount=1,sigma=2");
    double *expected = malloc(sizeof *expected * width * height);
    uint8_t *out = malloc(format.frame_bytes);
    struct engine_options options = *common;
    struct engine_job job = *input;
    struct error why;
    options.recipe.planes = RECIPE_LUMA_ONLY;
    options.recipe.captured = format_by_name(name)->fourcc;
    struct engine *engine = make_engine(&format, &options, filter_chain_support(&chain));
    apply(engine, &chain, 7);
    memset(out, 0xee, format.frame_bytes);
    job.out = out;
    if (engine_submit(engine, &job, &why) < 0)
        fail_msg("%s", why.text);
    const struct engine_done done = collect(engine);
    assert_int_equal(done.copies.passed_bytes, 0);
    assert_true(done.copies.in_bytes <=
                (uint64_t)width * height * format_by_name(name)->plane[0].bytes_per_pixel);
    const struct plan *plan = engine_plan(engine, 0);
    assert_null(engine_plan(engine, 1));
    const struct reference reference = reference_of_bytes(plan, &options, width, height, &chain);
    reference_filter(&reference, source, expected);
    for (uint32_t y = 0; y < height; y++)
        for (uint32_t x = 0; x < width; x++) {
            const double got = out[(size_t)y * format.plane[0].stride + x];
            if (fabs(got - clamp(expected[y * width + x], 255)) > 0.501)
                fail_msg("%s at %u, %u: %.0f, expected %.2f", name, x, y, got,
                         clamp(expected[y * width + x], 255));
        }
    free(out);
    free(expected);
    engine_destroy(engine);
}

static void check_luma_of_format(const struct format_case *c, uint32_t width, uint32_t height,
                                 uint32_t align, const struct engine_options *options)
{
    const struct fftd_format captured = layout(c->name, width, height, 1);
    uint8_t *in = make_frame(c, &captured, width);
    double *source = malloc(sizeof *source * width * height);
    struct engine_job job = {.in = {in}, .in_stride = {captured.plane[0].stride}};
    for (uint32_t i = 0; i < width * height; i++)
        source[i] = view_value(&c->luma, &captured, in, i % width, i / width);
    check_luma(c->name, width, height, align, options, source, &job);
    free(source);
    free(in);
}

/* The planes of chroma, which are not read, are not even given to the engine. */
static void test_luma_only(void **state)
{
    (void)state;
    struct engine_options options = fixed_margin;
    for (int staged = 0; staged < 2; staged++) {
        options.technique = staged ? ENGINE_STAGED : ENGINE_FUSED;
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
            if (cases[i].luma.bits > 8 || strcmp(cases[i].name, "GREY") == 0 ||
                !(takes_format(cases[i].name) || cases[i].luma.step == 3))
                continue;
            check_luma_of_format(&cases[i], 62, 34, 64, &options);
            /* A pixel alone in its word, and rows that are not words; YUYV has even widths. */
            if (cases[i].luma.step != 2)
                check_luma_of_format(&cases[i], 61, 33, 1, &options);
        }
    }
}

/* Filters that move something, for samples of 8 and 12 bits, all planes, and luma of RGB. */
static void test_complex_responses(void **state)
{
    (void)state;
    static const char *const chains[] = {"shift:by=2.5/-7", "convolve:kernel=1 2 3/-4 5 1/0 0 2",
                                         "gradient:along=y | shift:by=0.25/0",
                                         "wiener:blur=motion,size=4,angle=30 | gradient:dc=0.5"};
    static const char *const names[] = {"GREY", "Y12", "NV12", "YUYV", "XRGB32"};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (size_t n = 0; n < sizeof names / sizeof names[0]; n++) {
            struct engine_options options = fixed_margin;
            if (strcmp(cases[i].name, names[n]) != 0)
                continue;
            options.recipe.planes = cases[i].count > 1 ? RECIPE_ALL : RECIPE_LUMA;
            check_format(&cases[i], 62, 34, 1, &options, chains[n % 4]);
            if (device_takes_every_layout())
                check_format(&cases[i], 62, 47, 64, &options, chains[(n + 1) % 4]);
        }
}

/* A complex response needs an engine for it; a real one fits both kinds. */
static void test_real_and_complex_engines(void **state)
{
    (void)state;
    const struct fftd_format format = layout("GREY", 62, 34, 1);
    const struct filter_chain real = chain_of("convolve:kernel=1 2 1,normalise=sum");
    const struct filter_chain moving = chain_of("convolve:kernel=1 2 0,normalise=sum");
    struct engine_options options = fixed_margin;
    struct engine_response *response = NULL;
    struct error why = {""};
    struct engine *engine = make_engine(&format, &options, 0);
    assert_int_equal(engine_design(engine, &moving, &response, &why), -EINVAL);
    assert_non_null(strstr(why.text, "complex"));
    assert_null(response);
    assert_null(strstr(engine_description(engine), "complex"));
    assert_int_equal(engine_design(engine, &real, &response, &why), 0);
    engine_response_free(response);
    engine_destroy(engine);

    options.recipe.complex_response = true;
    engine = make_engine(&format, &options, 0);
    assert_non_null(strstr(engine_description(engine), "complex response"));
    uint8_t *in = make_frame(&cases[0], &format, 3), *out = malloc(format.frame_bytes);
    uint8_t *seen = calloc(1, format.frame_bytes);
    apply(engine, &real, 1);
    submit(engine, &format, in, out, NULL);
    collect(engine);
    check_component(&cases[0].luma, &format, engine, 0, &real, PLAN_MIRROR, in, out, seen, "GREY");
    free(in);
    free(out);
    free(seen);
    engine_destroy(engine);
}

/* Colours of the same shape share dispatches. With the fused technique: three for luma and three
 * for both chroma components, or three for red, green and blue. */
static void test_dispatches_of_all_planes(void **state)
{
    (void)state;
    static const struct {
        const char *format, *source, *says;
    } expected[] = {
        {"GREY", NULL, " 3 dispatches"},   {"NV12", NULL, " 6 dispatches"},
        {"YUV420", NULL, " 6 dispatches"}, {"YVU420", NULL, " 6 dispatches"},
        {"UYVY", NULL, " 6 dispatches"},   {"BGR24", NULL, " 3 dispatches"},
        {"XRGB32", NULL, " 3 dispatches"}, {"XBGR32", "SGRBG10", " 3 dispatches"},
    };
    struct engine_options options = fixed_margin;
    options.recipe.planes = RECIPE_ALL;
    options.technique = ENGINE_FUSED;
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        if (!takes_format(expected[i].source != NULL ? "GREY" : expected[i].format))
            continue;
        const struct fftd_format format = layout(expected[i].format, 62, 34, 1);
        const char *source = expected[i].source;
        options.recipe.captured = source != NULL ? format_by_name(source)->fourcc : 0;
        struct engine *engine = make_engine(&format, &options, 0);
        if (strstr(engine_description(engine), expected[i].says) == NULL)
            fail_msg("%s: %s", expected[i].format, engine_description(engine));
        engine_destroy(engine);
    }
}

/* With all colours filtered, each colour is a separate image. */
static void check_colours(const struct format_case *c)
{
    const struct fftd_format format = layout(c->name, 62, 34, 1);
    const struct filter_chain chain = chain_of("gaussian-blur:sigma=2");
    struct engine_options options = fixed_margin;
    options.recipe.planes = RECIPE_ALL;
    struct engine *engine = make_engine(&format, &options, filter_chain_support(&chain));
    uint8_t *in = make_frame(c, &format, 3), *out = malloc(format.frame_bytes);
    uint8_t *seen = calloc(1, format.frame_bytes);
    apply(engine, &chain, 1);
    submit(engine, &format, in, out, NULL);
    collect(engine);
    for (unsigned i = 0; i < 3; i++) {
        const struct component_view colour = {0, c->luma.rgb[i], c->luma.step, 1, 1, 1, 8, {0}};
        check_component(&colour, &format, engine, i, &chain, PLAN_MIRROR, in, out, seen, c->name);
    }
    free(in);
    free(out);
    free(seen);
    engine_destroy(engine);
}

static void test_rgb_all_planes(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (cases[i].luma.sample_bytes == 3 && takes_format(cases[i].name))
            check_colours(&cases[i]);
}

/* ---- mosaics -------------------------------------------------------------------------------- */

/* Draws noise, with black and white in a corner to test clamping; samples are 0 .. 255. */
static void make_mosaic(uint8_t *mosaic, double *samples, unsigned bits, long width, long height)
{
    uint64_t seed = bits;
    const double top = (double)((1u << bits) - 1);
    for (long y = 0; y < height; y++)
        for (long x = 0; x < width; x++) {
            const double level =
                y < 4 && x < 20 ? (double)(x / 3 % 2) : 0.2 + 0.6 * reference_noise(&seed);
            const unsigned code = (unsigned)(level * top);
            const size_t at = (size_t)(y * width + x) * (bits > 8 ? 2 : 1);
            mosaic[at] = (uint8_t)code;
            if (bits > 8)
                mosaic[at + 1] = (uint8_t)(code >> 8);
            samples[y * width + x] = code * 255 / top;
        }
}

/* Computes the expected colour, 0 .. 2, or luma, 3, of every pixel of a mosaic. */
static void demosaic(const char *name, enum demosaic demosaic, const double *samples, long width,
                     long height, unsigned colour, double *ret)
{
    static const double luma[] = {0.299, 0.587, 0.114};
    for (long y = 0; y < height; y++)
        for (long x = 0; x < width; x++) {
            double *value = &ret[y * width + x];
            *value = 0;
            for (unsigned c = 0; c < 3; c++)
                if (colour == c || colour == 3)
                    *value += (colour == 3 ? luma[c] : 1) *
                              reference_mosaic(name, demosaic, samples, width, height, x, y, c);
        }
}

static void check_mosaic(const char *name, uint32_t width, uint32_t height,
                         const struct engine_options *common, const char *text)
{
    const struct format_info *info = format_by_name(name);
    const struct fftd_format format = layout("XBGR32", width, height, 64);
    const size_t count = (size_t)width * height;
    const bool all = common->recipe.planes == RECIPE_ALL;
    const struct filter_chain chain = chain_of(text);
    struct engine_options options = *common;
    options.recipe.captured = info->fourcc;
    options.recipe.denoise = filter_chain_denoise(&chain).settings;
    struct engine *engine = make_engine(&format, &options, filter_chain_support(&chain));
    uint8_t *mosaic = malloc(2 * count), *out = malloc(format.frame_bytes);
    double *samples = malloc(sizeof *samples * count);
    double *source = malloc(sizeof *source * count), *filtered = malloc(sizeof *filtered * count);
    make_mosaic(mosaic, samples, info->bits, width, height);
    memset(out, 0xee, format.frame_bytes);
    apply(engine, &chain, 7);
    struct engine_job job = {.in = {mosaic}, .in_stride = {width * info->step}, .out = out};
    struct error why;
    if (engine_submit(engine, &job, &why) < 0)
        fail_msg("%s", why.text);
    collect(engine);

    for (unsigned c = 0; c < 3; c++) { /* in memory: blue, green, red, unused */
        demosaic(name, options.recipe.demosaic, samples, width, height, all ? c : 3, source);
        const struct plan *plan = engine_plan(engine, all ? c : 0);
        const struct reference reference =
            reference_of_bytes(plan, &options, width, height, &chain);
        reference_filter(&reference, source, filtered);
        for (uint32_t y = 0; y < height; y++)
            for (uint32_t x = 0; x < width; x++) {
                const size_t i = (size_t)y * width + x;
                const uint8_t *pixel = out + (size_t)y * format.plane[0].stride + 4 * (size_t)x;
                const double change = filtered[i] - source[i];
                const double colour = reference_mosaic(name, options.recipe.demosaic, samples,
                                                       width, height, x, y, c);
                const double expected = clamp(colour + change, 255);
                if (fabs(pixel[2 - c] - expected) > 0.501)
                    fail_msg("%s at %u, %u colour %u: %u, expected %.2f", name, x, y, c,
                             pixel[2 - c], expected);
                assert_int_equal(pixel[3], 0xff);
            }
    }
    free(mosaic);
    free(out);
    free(samples);
    free(source);
    free(filtered);
    engine_destroy(engine);
}

/* Tests every order of colours, depth, border and kind of interpolation. Some widths are a multiple
 * of the lanes and some are not, so that groups of pixels and single pixels reach the edges. */
static void test_mosaics(void **state)
{
    (void)state;
    static const char *const names[] = {
        "SBGGR8",  "SGBRG8",  "SGRBG8",  "SRGGB8",  "SBGGR10", "SGBRG12", "SGRBG16", "SRGGB10",
        "SBGGR12", "SGBRG16", "SGRBG10", "SRGGB12", "SBGGR16", "SGBRG10", "SGRBG12", "SRGGB16"};
    static const enum plan_border borders[] = {PLAN_MIRROR, PLAN_REPLICATE, PLAN_CONSTANT,
                                               PLAN_WRAP};
    struct engine_options options = defaults;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (i % 5 != 0 && !(device_takes_every_layout() && device_takes(1280, 720)))
            continue; /* each order, border and depth once */
        options.border = borders[i / 4];
        options.recipe.demosaic = DEMOSAIC_GRADIENTS;
        check_mosaic(names[i], i % 2 == 0 ? 64 : 71, 48 + i % 3, &options,
                     i % 3 == 0 ? "sharpen:amount=2,sigma=1.5"
                                : "lowpass:shape=gaussian,cutoff=0.1");
        options.recipe.demosaic = DEMOSAIC_BILINEAR;
        if (i % 5 == 0)
            check_mosaic(names[i], i % 2 == 0 ? 64 : 71, 48 + i % 3, &options,
                         "sharpen:amount=2,sigma=1.5");
    }
    options.technique = ENGINE_STAGED; /* samples are computed one at a time */
    check_mosaic("SGBRG8", 71, 48, &options, "gaussian-blur:sigma=2");
    options.recipe.demosaic = DEMOSAIC_GRADIENTS;
    check_mosaic("SRGGB12", 64, 49, &options, "gaussian-blur:sigma=2");
    /* Noise reduction, here of next to no noise, demosaics in kernels of its own. */
    check_mosaic("SGRBG10", 64, 49, &options, "denoise:sigma=0.0001,block=16,passes=1 | sharpen");
}

static void test_mosaic_colours_apart(void **state)
{
    (void)state;
    struct engine_options options = defaults;
    options.recipe.planes = RECIPE_ALL;
    if (device_takes_every_layout())
        check_mosaic("SGRBG8", 64, 48, &options, "gaussian-blur:sigma=2");
    options.recipe.demosaic = DEMOSAIC_GRADIENTS;
    check_mosaic("SBGGR12", 71, 49, &options, "notch:at=0.24/0.1,width=0.08");
}

static void test_luma_only_of_mosaics(void **state)
{
    (void)state;
    static const char *const names[] = {"SGRBG8", "SBGGR12", "SRGGB16"};
    for (size_t i = 0; i < 2 * (sizeof names / sizeof names[0]); i++) {
        const char *name = names[i / 2];
        const uint32_t width = i / 2 == 1 ? 71 : 64, height = 49;
        const struct format_info *info = format_by_name(name);
        uint8_t *mosaic = malloc(2 * (size_t)width * height);
        double *samples = malloc(2 * sizeof *samples * width * height);
        double *source = samples + width * height;
        struct engine_options options = defaults;
        options.technique = i % 2 == 0 ? ENGINE_FUSED : ENGINE_STAGED;
        options.recipe.demosaic = i / 2 == 1 ? DEMOSAIC_BILINEAR : DEMOSAIC_GRADIENTS;
        make_mosaic(mosaic, samples, info->bits, width, height);
        demosaic(name, options.recipe.demosaic, samples, width, height, 3, source);
        struct engine_job job = {.in = {mosaic}, .in_stride = {width * info->step}};
        check_luma(name, width, height, i % 2 == 0 ? 1 : 64, &options, source, &job);
        free(samples);
        free(mosaic);
    }
}

/* The engine refuses an output format that frames are not converted to. */
static void test_formats_become_one_other(void **state)
{
    (void)state;
    const struct fftd_format format = layout("NV12", 64, 48, 1), grey = layout("GREY", 64, 48, 1);
    struct engine_options options = defaults;
    struct engine *engine;
    struct error why = {""};
    options.recipe.captured = format_by_name("SRGGB8")->fourcc;
    assert_int_equal(engine_create(&engine, device, &format, &options, 0, NULL, NULL, &why),
                     -EINVAL);
    assert_non_null(strstr(why.text, "cannot convert"));
    options.recipe.captured =
        format_by_name("NV12")->fourcc; /* which stays as it is without luma-only */
    assert_int_equal(engine_create(&engine, device, &grey, &options, 0, NULL, NULL, &why), -EINVAL);
    assert_non_null(strstr(why.text, "cannot convert"));
    options.recipe.planes = RECIPE_LUMA_ONLY;
    assert_int_equal(engine_create(&engine, device, &format, &options, 0, NULL, NULL, &why),
                     -EINVAL);
    assert_non_null(strstr(why.text, "cannot convert"));
}

static bool needs_image(const struct filter_kind *kind)
{
    for (unsigned i = 0; i < filter_param_count(kind); i++)
        if (kind->param[i].type == FILTER_IMAGE && kind->param[i].required)
            return true;
    return false;
}

/* Tests the example of every kind that has a response on pictures instead of noise: edges, a zone
 * plate up to half the sampling rate, a halftone scene. Kinds that need an image are tested in
 * tests/integration/test_filters.py, and what a kind does beside a response in files of its own. */
static void test_every_kind_on_pictures(void **state)
{
    (void)state;
    static const char *const scenes[] = {"bars", "zoneplate", "moire"};
    unsigned count;
    const struct filter_kind *const *kinds = filter_kinds(&count);
    const struct fftd_format format = layout("GREY", 62, 34, 1);
    uint8_t *in = malloc(format.frame_bytes), *out = malloc(format.frame_bytes);
    uint8_t *seen = malloc(format.frame_bytes);
    for (unsigned i = 0; i < count; i++) {
        if ((kinds[i]->response == NULL && kinds[i]->complex_response == NULL) ||
            kinds[i]->adapts != FILTER_ADAPTS_NOT || needs_image(kinds[i]))
            continue;
        const struct filter_chain chain = chain_of(kinds[i]->example);
        struct engine_options options = fixed_margin;
        options.recipe.complex_response = filter_chain_is_complex(&chain);
        struct engine *engine = make_engine(&format, &options, filter_chain_support(&chain));
        apply(engine, &chain, 1);
        for (size_t scene = 0; scene < sizeof scenes / sizeof scenes[0]; scene++) {
            assert_int_equal(pattern_draw(scenes[scene], &format, 3, 1, in, NULL), 0);
            submit(engine, &format, in, out, NULL);
            collect(engine);
            check_component(&cases[0].luma, &format, engine, 0, &chain, PLAN_MIRROR, in, out, seen,
                            kinds[i]->example);
        }
        engine_destroy(engine);
    }
    free(in);
    free(out);
    free(seen);
}

static void test_borders(void **state)
{
    (void)state;
    static const char *const chains[] = {"lowpass:shape=ideal,cutoff=0.15",
                                         "highpass:shape=gaussian,cutoff=0.05",
                                         "notch:at=0.2/0.3,width=0.05"};
    for (int border = PLAN_MIRROR; border <= PLAN_WRAP; border++)
        for (size_t i = 0; i < sizeof chains / sizeof chains[0]; i++) {
            struct engine_options options = fixed_margin;
            options.border = (enum plan_border)border;
            check_format(&cases[6], 62, 34, 1, &options, chains[i]);
        }
}

static void test_structured_and_odd_sizes(void **state)
{
    (void)state;
    static const uint32_t sizes[][2] = {{16, 16}, {17, 31}, {120, 120}, {641, 479}, {1366, 768}};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        if (device_takes(sizes[i][0], sizes[i][1]) && (i % 2 == 1 || device_takes_every_layout()))
            check_format(&cases[0], sizes[i][0], sizes[i][1], 1, &defaults,
                         "notch:at=0.25/0.1,width=0.03 | lowpass:shape=butterworth,cutoff=0.2");
}

static void test_half_precision_is_within_one_step(void **state)
{
    (void)state;
    struct engine_options options = defaults;
    options.recipe.precision = RECIPE_HALF;
    check_format(&cases[0], 100, 64, 1, &options, "lowpass:shape=gaussian,cutoff=0.1");
}

/* H = 1 returns every byte unchanged, in every slot. */
static void test_identity_is_exact(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (!takes_format(cases[i].name))
            continue;
        const struct fftd_format format = layout(cases[i].name, 62, 34, 1);
        struct engine *engine = make_engine(&format, &fixed_margin, 4);
        uint8_t *in = make_frame(&cases[i], &format, i);
        uint8_t *out = malloc(format.frame_bytes);
        for (int frame = 0; frame < 4; frame++) {
            memset(out, 0, format.frame_bytes);
            submit(engine, &format, in, out, NULL);
            assert_int_equal(collect(engine).filter_serial, 0);
            assert_memory_equal(in, out, format.frame_bytes);
        }
        free(in);
        free(out);
        engine_destroy(engine);
    }
}

/* Tests every kind of load and store with a GPU's settings (one lane, rows first) on any device. */
static void test_formats_as_on_a_gpu(void **state)
{
    (void)state;
    const cl_device_type type = device->type;
    struct engine_options options = defaults;
    const char *names = device_takes_every_layout() ? "GREY Y12 YUYV XRGB32" : "YUYV XRGB32";
    device->type = CL_DEVICE_TYPE_GPU;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (strstr(names, cases[i].name) != NULL)
            check_format(&cases[i], 60, 48, 1, &defaults, "sharpen:amount=2,sigma=1.5");
    options.recipe.planes = RECIPE_ALL;
    check_format(&cases[4], 60, 48, 64, &options, "notch:at=0.24/0.1,width=0.08");
    check_mosaic("SGBRG8", 71, 48, &defaults, "gaussian-blur:sigma=2");
    options = defaults;
    options.recipe.precision = RECIPE_HALF;
    check_format(&cases[0], 100, 64, 1, &options, "lowpass:shape=gaussian,cutoff=0.1");
    device->type = type;
}

/* Filters change between frames in flight; each result matches the filter of its serial. */
static void test_live_change(void **state)
{
    (void)state;
    const struct fftd_format format = layout("GREY", 62, 34, 1);
    struct engine *engine = make_engine(&format, &fixed_margin, 4);
    const struct filter_chain chain[2] = {chain_of("none"), chain_of("lowpass:cutoff=0.05")};
    uint8_t *in = make_frame(&cases[0], &format, 5);
    uint8_t *expected[2], *out[2];
    for (int i = 0; i < 2; i++) {
        expected[i] = malloc(format.frame_bytes);
        out[i] = malloc(format.frame_bytes);
        apply(engine, &chain[i], (uint64_t)i);
        submit(engine, &format, in, expected[i], NULL);
        collect(engine);
    }
    assert_memory_not_equal(expected[0], expected[1], format.frame_bytes);

    for (uint64_t serial = 2; serial < 102; serial++) {
        if (engine_in_flight(engine) == 2) {
            const struct engine_done done = collect(engine);
            assert_ptr_equal(done.tag, out[done.filter_serial % 2]);
            assert_memory_equal(done.tag, expected[done.filter_serial % 2], format.frame_bytes);
        }
        apply(engine, &chain[serial % 2], serial);
        submit(engine, &format, in, out[serial % 2], out[serial % 2]);
    }
    while (engine_in_flight(engine) > 0)
        collect(engine);
    for (int i = 0; i < 2; i++) {
        free(expected[i]);
        free(out[i]);
    }
    free(in);
    engine_destroy(engine);
}

static void test_flight(void **state)
{
    (void)state;
    const struct fftd_format format = layout("GREY", 62, 34, 1);
    struct engine *engine = make_engine(&format, &fixed_margin, 4);
    uint8_t *in = make_frame(&cases[0], &format, 5), *out = malloc(2 * format.frame_bytes);
    struct engine_job job = {.in = {in}, .in_stride = {format.plane[0].stride}, .out = out};
    struct engine_done done;
    struct error why;
    assert_int_equal(engine_collect(engine, false, &done, &why), -EAGAIN);
    submit(engine, &format, in, out, out);
    submit(engine, &format, in, out + format.frame_bytes, NULL);
    assert_int_equal(engine_submit(engine, &job, &why), -EBUSY);
    struct pollfd poll_fd = {.fd = engine_fd(engine), .events = POLLIN};
    /* Oclgrind runs commands only while a thread waits for them. */
    if (!device_is_simulated())
        assert_int_equal(poll(&poll_fd, 1, 60000), 1);
    assert_int_equal(engine_collect(engine, true, &done, &why), 0);
    assert_ptr_equal(done.tag, out);
    assert_true(done.finished_ns >= done.submitted_ns);
    collect(engine);
    poll_fd.revents = 0;
    assert_int_equal(poll(&poll_fd, 1, 0), 0);
    /* Destroying an engine waits for its frames in flight. */
    submit(engine, &format, in, out, NULL);
    engine_destroy(engine);
    free(in);
    free(out);
}

/* The steps add up to at most the time of the calls. Gaps are measured in one of 32 frames, on
 * devices that report times. */
static void test_overhead(void **state)
{
    (void)state;
    enum { FRAMES = 33 };
    const struct fftd_format format = layout("GREY", 62, 34, 1);
    struct engine *engine = make_engine(&format, &fixed_margin, 4);
    uint8_t *in = make_frame(&cases[0], &format, 5), *out = malloc(format.frame_bytes);
    for (unsigned i = 0; i < FRAMES; i++) {
        const int64_t begun_ns = clock_now_ns();
        submit(engine, &format, in, out, NULL);
        const struct engine_done done = collect(engine);
        const int64_t took_ns = clock_now_ns() - begun_ns, *ns = done.overhead.ns;
        int64_t sum_ns = 0;
        for (unsigned step = 0; step < OVERHEAD_GAP; step++) {
            assert_true(ns[step] >= 0);
            sum_ns += ns[step];
        }
        assert_true(sum_ns <= took_ns);
        assert_true(ns[OVERHEAD_COPY] > 0 && ns[OVERHEAD_ENQUEUE] > 0);
        assert_true(ns[OVERHEAD_GAP] <= done.kernel_ns);
        assert_int_equal(ns[OVERHEAD_GAP] >= 0, done.kernel_ns > 0 && i % 32 == 31);
    }
    engine_destroy(engine);
    free(in);
    free(out);
}

static void test_abandoned_frames_touch_nothing(void **state)
{
    (void)state;
    const struct fftd_format format = layout("GREY", 62, 34, 1);
    struct engine *engine = make_engine(&format, &fixed_margin, 4);
    uint8_t *in = make_frame(&cases[0], &format, 5), *out = calloc(1, format.frame_bytes);
    struct engine_done done;
    struct error why;
    submit(engine, &format, in, out, in);
    submit(engine, &format, in, out, out);
    engine_abandon(engine);
    assert_int_equal(engine_in_flight(engine), 2);
    assert_int_equal(engine_collect(engine, true, &done, &why), -ECANCELED);
    assert_ptr_equal(done.tag, in);
    assert_int_equal(engine_collect(engine, true, &done, &why), -ECANCELED);
    for (size_t i = 0; i < format.frame_bytes; i++)
        assert_int_equal(out[i], 0);
    submit(engine, &format, in, out, out);
    collect(engine);
    assert_memory_equal(out, in, format.frame_bytes);
    engine_destroy(engine);
    free(in);
    free(out);
}

static void test_refusals(void **state)
{
    (void)state;
    struct engine *engine = NULL;
    struct error why;
    struct fftd_format format = layout("GREY", 64, 48, 1);
    struct engine_options options = defaults;
    options.in_flight = 0;
    assert_int_equal(engine_create(&engine, device, &format, &options, 0, NULL, NULL, &why),
                     -EINVAL);
    assert_non_null(strstr(why.text, "expected 1 .. 3"));
    format.width = 8;
    assert_int_equal(engine_create(&engine, device, &format, &defaults, 0, NULL, NULL, &why),
                     -EINVAL);
    assert_non_null(strstr(why.text, "8x48"));
    format = layout("GREY", 64, 48, 1);
    format.fourcc = 0x21212121;
    assert_int_equal(engine_create(&engine, device, &format, &defaults, 0, NULL, NULL, &why),
                     -EINVAL);
    assert_null(engine);

    struct gpu_device *none = NULL;
    assert_int_equal(gpu_device_open(&none, "no such device", &why), -ENODEV);
    assert_non_null(strstr(why.text, "no such device"));
    assert_null(none);
}

static int damage(const char *path, long at)
{
    FILE *file = fopen(path, "r+b");
    if (file == NULL)
        return -1;
    fseek(file, at, SEEK_SET);
    const int c = fgetc(file);
    fseek(file, at, SEEK_SET);
    fputc(c ^ 0x55, file);
    return fclose(file);
}

/* Lists the programs in a cache directory. */
static void find_cached(glob_t *ret, const char *dir, size_t count)
{
    char pattern[64];
    snprintf(pattern, sizeof pattern, "%s/*.clbin", dir);
    assert_int_equal(glob(pattern, 0, NULL, ret), 0);
    assert_int_equal(ret->gl_pathc, count);
}

/* A truncated, damaged or unreadable cache file causes only a warning and a rebuild. */
static void test_cache_survives_corruption(void **state)
{
    (void)state;
    const struct fftd_format format = layout("GREY", 64, 48, 1);
    char dir[] = "/tmp/fftd-test-XXXXXX";
    struct engine *engine;
    struct error why;
    glob_t cached;
    assert_non_null(mkdtemp(dir));
    for (int round = 0; round < 5; round++) {
        if (engine_create(&engine, device, &format, &defaults, 0, dir, NULL, &why) < 0)
            fail_msg("%s", why.text);
        if (round % 2 == 0)
            assert_null(engine_warning(engine));
        else
            assert_non_null(strstr(engine_warning(engine), "ignored"));
        engine_destroy(engine);
        find_cached(&cached, dir, 1);
        if (round == 0)
            assert_int_equal(damage(cached.gl_pathv[0], 200), 0);
        if (round == 2)
            assert_int_equal(truncate(cached.gl_pathv[0], 100), 0);
        if (round == 4)
            assert_int_equal(unlink(cached.gl_pathv[0]), 0);
        globfree(&cached);
    }
    assert_int_equal(rmdir(dir), 0);
}

struct build_log {
    unsigned calls, done, total;
};

static int note_build(void *context, unsigned done, unsigned total, struct error *why)
{
    (void)why;
    struct build_log *log = context;
    if (log->calls == 0)
        assert_int_equal(done, 0);
    else
        assert_true(done > log->done);
    if (log->calls > 0)
        assert_int_equal(total, log->total);
    *log = (struct build_log){log->calls + 1, done, total};
    return 0;
}

static int refuse_build(void *context, unsigned done, unsigned total, struct error *why)
{
    (void)context, (void)done, (void)total;
    return error_set(why, ETIMEDOUT, "it takes too long");
}

/* A refused engine compiles nothing. */
static void test_building_can_be_refused(void **state)
{
    (void)state;
    const struct fftd_format format = layout("NV12", 64, 48, 1);
    const struct engine_observer observer = {refuse_build, NULL};
    char dir[] = "/tmp/fftd-test-XXXXXX";
    struct engine *engine = NULL;
    struct error why;
    assert_non_null(mkdtemp(dir));
    assert_int_equal(engine_create(&engine, device, &format, &defaults, 0, dir, &observer, &why),
                     -ETIMEDOUT);
    assert_string_equal(why.text, "it takes too long");
    assert_null(engine);
    assert_int_equal(rmdir(dir), 0); /* it is empty */
}

/* The observer is called for every kernel to compile, before that begins, and not at all if all are
 * in the cache. */
static void test_building_is_announced(void **state)
{
    (void)state;
    const struct fftd_format format = layout("NV12", 64, 48, 1);
    struct engine_options options = defaults;
    char dir[] = "/tmp/fftd-test-XXXXXX";
    struct engine *engine;
    struct error why;
    glob_t cached;
    options.recipe.planes = RECIPE_ALL;
    options.technique = ENGINE_FUSED;
    assert_non_null(mkdtemp(dir));
    for (int round = 0; round < 3; round++) {
        struct build_log log = {0};
        const struct engine_observer observer = {note_build, &log};
        if (engine_create(&engine, device, &format, &options, 0, dir, &observer, &why) < 0)
            fail_msg("%s", why.text);
        engine_destroy(engine);
        /* Luma and chroma have one program each, of three kernels. */
        const unsigned programs[] = {2, 0, 1}; /* not in the cache */
        assert_int_equal(log.total, 3 * programs[round]);
        assert_int_equal(log.done, log.total);
        assert_int_equal(log.calls, programs[round] > 0 ? programs[round] + 1 : 0);
        find_cached(&cached, dir, 2);
        for (size_t i = 0; round > 0 && i < (round == 1 ? 1 : cached.gl_pathc); i++)
            unlink(cached.gl_pathv[i]);
        globfree(&cached);
    }
    assert_int_equal(rmdir(dir), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_identity_is_exact),
        cmocka_unit_test(test_formats_luma),
        cmocka_unit_test(test_formats_all_planes),
        cmocka_unit_test(test_formats_staged),
        cmocka_unit_test(test_rgb_all_planes),
        cmocka_unit_test(test_complex_responses),
        cmocka_unit_test(test_real_and_complex_engines),
        cmocka_unit_test(test_dispatches_of_all_planes),
        cmocka_unit_test(test_mosaics),
        cmocka_unit_test(test_mosaic_colours_apart),
        cmocka_unit_test(test_luma_only),
        cmocka_unit_test(test_luma_only_of_mosaics),
        cmocka_unit_test(test_formats_become_one_other),
        cmocka_unit_test(test_borders),
        cmocka_unit_test(test_every_kind_on_pictures),
        cmocka_unit_test(test_structured_and_odd_sizes),
        cmocka_unit_test(test_half_precision_is_within_one_step),
        cmocka_unit_test(test_formats_as_on_a_gpu),
        cmocka_unit_test(test_live_change),
        cmocka_unit_test(test_flight),
        cmocka_unit_test(test_overhead),
        cmocka_unit_test(test_abandoned_frames_touch_nothing),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_cache_survives_corruption),
        cmocka_unit_test(test_building_is_announced),
        cmocka_unit_test(test_building_can_be_refused),
    };
    return cmocka_run_group_tests(tests, device_setup, device_teardown);
}
