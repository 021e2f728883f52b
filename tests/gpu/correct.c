/* Corrections of captured samples: what the first dispatch loads, compared with the definition in
 * filters/correction.h in double precision, for every technique, kind of sample and border. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/chains.h"
#include "support/cmocka.h"
#include "support/device.h"
#include "support/floats.h"
#include "support/reference.h"

#include "engine/corrector.h"
#include "engine/engine.h"

#define WIDTH   60
#define HEIGHT  48
#define PIXELS  (WIDTH * HEIGHT)
#define TWO_PI  6.28318530717958647693
#define BLUR    "gaussian-blur:sigma=2"
#define NOTHING "none"

/* ---- the model ------------------------------------------------------------------------------ */

struct sample_correction {
    struct correction correction;
    float gain[HEIGHT];
};

/* Waves of some amplitude, down to long and short periods, and gains from 0.7 to 1.3. */
static void make_correction(struct sample_correction *ret, unsigned waves, bool gains, double size)
{
    static const double f[][2] = {{0.21, 0.0},  {-0.37, 0.11}, {0.0, 0.043}, {0.5, -0.5},
                                  {0.013, 0.3}, {0.1, 0.1},    {0.45, -0.2}, {0.02, 0.48}};
    *ret = (struct sample_correction){.correction = {.wave_count = waves}};
    for (unsigned i = 0; i < waves; i++)
        ret->correction.wave[i] = (struct wave){.fx = f[i][0],
                                                .fy = f[i][1],
                                                .re = size * cos(2.0 * i + 1) / (i + 1),
                                                .im = size * sin(2.0 * i + 1) / (i + 1)};
    for (unsigned y = 0; y < HEIGHT; y++)
        ret->gain[y] = (float)(1 + 0.3 * sin(0.7 * y));
    ret->correction.row_gain = gains ? ret->gain : NULL;
}

static void set_limits(struct correction *ret, double top)
{
    ret->top = top;
    ret->share_low = 0.3;
    ret->share_high = 0.6;
}

static double clamp(double value, double top)
{
    return value < 0 ? 0 : value > top ? top : value;
}

static double corrected(double captured, const struct correction *c, unsigned x, unsigned y)
{
    double waves = 0;
    if (c == NULL)
        return captured;
    for (unsigned i = 0; i < c->wave_count; i++) {
        const struct wave *w = &c->wave[i];
        const double turns = w->fx * x + w->fy * y;
        waves += w->re * cos(TWO_PI * turns) - w->im * sin(TWO_PI * turns);
    }
    if (c->top > 0) {
        const double share = captured <= 0 ? c->share_low : captured >= c->top ? c->share_high : 1;
        captured = clamp(captured - share * waves, c->top);
    } else {
        captured -= waves;
    }
    return c->row_gain != NULL ? captured * (double)c->row_gain[y] : captured;
}

/* ---- transforms of floats ------------------------------------------------------------------- */

struct fixture {
    cl_command_queue queue;
};

static void run(struct fixture *f, const struct transform *t, const struct filter_chain *chain,
                const struct correction *correction, float *in, float *out, size_t bytes)
{
    struct error why;
    struct transform_frame *frame = NULL;
    struct corrector *corrector = NULL;
    cl_event first = NULL, last = NULL;
    void *values = malloc(transform_response_bytes(t));
    uint32_t band;
    assert_int_equal(transform_response_fill(t, values, chain, 1, 1, &band, &why), 0);
    struct transform_buffers buffers = {
        .image = device_buffer(bytes, in),
        .result = device_buffer(bytes, NULL),
        .response = {device_buffer(transform_response_bytes(t), values), band}};
    if (transform_frame_create(&frame, t, &why) < 0 ||
        corrector_create(&corrector, t, f->queue, &why) < 0 ||
        corrector_set(corrector, correction, &buffers.correction, &why) < 0 ||
        transform_frame_enqueue(frame, f->queue, &buffers, &first, &last, &why) < 0)
        fail_msg("%s", why.text);
    assert_int_equal(
        clEnqueueReadBuffer(f->queue, buffers.result, CL_TRUE, 0, bytes, out, 0, NULL, NULL),
        CL_SUCCESS);
    clReleaseEvent(first);
    clReleaseEvent(last);
    transform_frame_destroy(frame);
    corrector_destroy(corrector);
    clReleaseMemObject(buffers.image);
    clReleaseMemObject(buffers.result);
    clReleaseMemObject(buffers.response.numbers);
    free(values);
}

/* Filters two images with one correction. has_limits: many samples are at them. */
static void check_transform(struct fixture *f, const struct transform_tuning *tuning,
                            enum plan_border mode, bool has_limits, double tolerance)
{
    /* With gains, a constant border would be beyond the limits, and there are none. */
    const bool has_gains = mode != PLAN_CONSTANT || !has_limits;
    const struct transform_image image = floats_image(WIDTH, HEIGHT, 2);
    const struct transform_border border = {
        .mode = mode, .value = 100, .margin_x = 7, .margin_y = 7};
    struct sample_correction sample;
    struct transform *t;
    struct filter_chain chain;
    struct error why = {""}, warning = {""};
    float in[2 * PIXELS], out[2 * PIXELS];
    static double source[PIXELS], expected[PIXELS];
    uint64_t seed = 3;
    make_correction(&sample, 4, has_gains, 20);
    if (has_limits || mode == PLAN_CONSTANT)
        set_limits(&sample.correction, 255);
    assert_int_equal(filter_chain_parse(&chain, BLUR, NULL), 0);
    if (transform_create(&t, device, &image, &border, tuning, NULL, &warning, &why) < 0)
        fail_msg("%s", why.text);
    for (unsigned i = 0; i < 2 * PIXELS; i++)
        in[i] = (float)clamp(round(255 * (1.6 * reference_noise(&seed) - 0.3)), 255);
    run(f, t, &chain, &sample.correction, in, out, sizeof in);
    const struct plan *plan = transform_plan(t);
    const struct reference reference = {.width = WIDTH,
                                        .height = HEIGHT,
                                        .padded_x = plan->x.length,
                                        .padded_y = plan->y.length,
                                        .border = mode,
                                        .border_value = 100,
                                        .sub_x = 1,
                                        .sub_y = 1,
                                        .chain = &chain};
    double worst = 0;
    if (!has_limits)
        sample.correction.top = 0;
    for (unsigned k = 0; k < 2; k++) {
        for (unsigned i = 0; i < PIXELS; i++)
            source[i] = corrected(in[k * PIXELS + i], &sample.correction, i % WIDTH, i / WIDTH);
        reference_filter(&reference, source, expected);
        for (unsigned i = 0; i < PIXELS; i++)
            worst = fmax(worst, fabs(out[k * PIXELS + i] - expected[i]));
    }
    transform_destroy(t);
    if (!(worst <= tolerance))
        fail_msg("border %d: a sample is wrong by %g, expected at most %g", mode, worst, tolerance);
}

/* Each technique and order, with each border: every combination with FFTD_TEST_LAYOUTS=all. */
static void test_techniques(void **state)
{
    static const enum plan_border borders[] = {PLAN_MIRROR, PLAN_REPLICATE, PLAN_CONSTANT,
                                               PLAN_WRAP};
    const struct {
        enum transform_technique technique;
        enum plan_order order;
        unsigned lanes, group, columns, stages;
        bool held;
        unsigned quick; /* the combination that is always tested */
    } cases[] = {{TRANSFORM_FUSED, PLAN_COLUMNS_FIRST, 4, 1, 1, 1, false, 0},
                 {TRANSFORM_FUSED, PLAN_ROWS_FIRST, 1, 16, 4, 1, false, 5},
                 {TRANSFORM_STAGED, PLAN_COLUMNS_FIRST, 2, 16, 1, 2, false, 2},
                 {TRANSFORM_FUSED, PLAN_COLUMNS_FIRST, 1, 16, 2, 1, true, 7},
                 {TRANSFORM_STAGED, PLAN_COLUMNS_FIRST, 2, 16, 1, 1, false, 4},
                 {TRANSFORM_FUSED, PLAN_ROWS_FIRST, 1, 16, 3, 1, true, 2}};
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (unsigned n = 0; n < 8; n++) {
            struct transform_tuning tuning;
            if (n != cases[i].quick && !device_takes_every_layout())
                continue;
            transform_default_tuning(&tuning, device);
            tuning.technique = cases[i].technique;
            tuning.order = cases[i].order;
            tuning.lanes = cases[i].lanes;
            tuning.column_group = tuning.row_group = cases[i].group;
            tuning.columns = cases[i].columns;
            tuning.rows = 1;
            tuning.columns_held = tuning.rows_held = cases[i].held;
            tuning.stages_per_dispatch = cases[i].stages;
            tuning.max_radix = 8;
            tuning.recipe.precision = n >= 4 ? RECIPE_HALF : RECIPE_FLOAT;
            tuning.recipe.corrections = true;
            check_transform(*state, &tuning, borders[n % 4], i != 2,
                            tuning.recipe.precision == RECIPE_HALF ? 0.6 : 3e-4);
        }
}

/* ---- engines -------------------------------------------------------------------------------- */

struct view {
    const char *published, *captured; /* pixel formats; captured NULL: the same */
    unsigned offset, step;            /* of luma, or of red, green and blue */
    bool colours;                     /* these three are filtered */
    unsigned rgb[3];
    unsigned bits;
};

static const struct view views[] = {{"GREY", NULL, 0, 1, false, {0}, 8},
                                    {"Y12", NULL, 0, 2, false, {0}, 12},
                                    {"UYVY", NULL, 1, 2, false, {0}, 8},
                                    {"NV12", NULL, 0, 1, false, {0}, 8},
                                    {"XBGR32", NULL, 0, 4, false, {2, 1, 0}, 8},
                                    {"RGB24", NULL, 0, 3, true, {0, 1, 2}, 8},
                                    {"XBGR32", "SGRBG10", 0, 4, false, {2, 1, 0}, 8},
                                    {"XBGR32", "SRGGB8", 0, 4, true, {2, 1, 0}, 8}};

/* An engine with a chain that at most reduces noise. */
static struct engine *make_engine(const struct view *v, const struct fftd_format *format,
                                  bool corrections, const char *text)
{
    const struct filter_chain chain = chain_of(text);
    struct engine_response *response = NULL;
    const struct engine_options options = {
        .border = PLAN_MIRROR,
        .margin = 0,
        .in_flight = 2,
        .recipe.planes = v->colours || v->step == 1 ? RECIPE_ALL : RECIPE_LUMA,
        .recipe.captured = v->captured != NULL ? format_by_name(v->captured)->fourcc : 0,
        .recipe.corrections = corrections,
        .recipe.denoise = filter_chain_denoise(&chain).settings};
    struct engine *engine;
    struct error why;
    if (engine_create(&engine, device, format, &options, 0, NULL, NULL, &why) < 0 ||
        engine_design(engine, &chain, &response, &why) < 0)
        fail_msg("%s: %s", v->published, why.text);
    engine_apply(engine, response, 1);
    return engine;
}

static void submit(struct engine *engine, const struct fftd_format *source, const uint8_t *in,
                   const struct correction *correction, void *out)
{
    struct engine_job job = {.out = out, .correction = correction};
    struct error why;
    for (unsigned i = 0; i < source->plane_count; i++) {
        job.in[i] = in + source->plane[i].offset;
        job.in_stride[i] = source->plane[i].stride;
    }
    if (engine_submit(engine, &job, &why) < 0)
        fail_msg("%s", why.text);
}

static void collect(struct engine *engine)
{
    struct engine_done done;
    struct error why;
    if (engine_collect(engine, true, &done, &why) < 0)
        fail_msg("%s", why.text);
}

static double luma_of(const struct view *v, const uint8_t *at)
{
    if (v->step == 2 && v->bits > 8)
        return at[0] | at[1] << 8;
    return v->step < 3 ? at[0]
                       : 0.299 * at[v->rgb[0]] + 0.587 * at[v->rgb[1]] + 0.114 * at[v->rgb[2]];
}

/* Compares a frame with the one that was not corrected: `slack` allows for the rounding of that. */
static void check_frame(const struct view *v, const struct fftd_format *format,
                        const struct correction *correction, const uint8_t *plain,
                        const uint8_t *got, double slack)
{
    const double top = (1u << v->bits) - 1;
    uint8_t *seen = calloc(1, format->frame_bytes);
    for (unsigned y = 0; y < HEIGHT; y++)
        for (unsigned x = 0; x < WIDTH; x++) {
            const size_t at = format->plane[0].offset + (size_t)y * format->plane[0].stride +
                              (size_t)x * v->step + v->offset;
            const double luma = luma_of(v, plain + at);
            const double change = corrected(luma, correction, x, y) - luma;
            const unsigned count = v->step < 3 ? 1 : 3;
            for (unsigned i = 0; i < count; i++) {
                const size_t k = at + (count == 3 ? v->rgb[i] : 0);
                const double was = count == 3 ? plain[k] : luma;
                const double is = count == 3 ? got[k] : luma_of(v, got + at);
                const double expected =
                    clamp(v->colours ? corrected(was, correction, x, y) : was + change, top);
                if (fabs(is - expected) > slack)
                    fail_msg("%s from %s at %u, %u, colour %u: %.0f, expected %.2f", v->published,
                             v->captured != NULL ? v->captured : v->published, x, y, i, is,
                             expected);
                memset(seen + k, 1, v->bits > 8 ? 2 : 1);
            }
        }
    for (uint32_t i = 0; i < format->frame_bytes; i++)
        if (!seen[i] && got[i] != plain[i])
            fail_msg("%s: byte %u, which is not filtered, changed from %u to %u", v->published, i,
                     plain[i], got[i]);
    free(seen);
}

/* Frames in flight have different corrections, the last one has none. */
static void check_view(const struct view *v, const char *chain)
{
    struct fftd_format format, source;
    struct sample_correction sample[3];
    struct error why;
    uint8_t *out[4];
    uint64_t seed = 9;
    const char *captured = v->captured != NULL ? v->captured : v->published;
    assert_int_equal(
        format_layout(&format, format_by_name(v->published)->fourcc, WIDTH, HEIGHT, 1, &why), 0);
    assert_int_equal(
        format_layout(&source, format_by_name(captured)->fourcc, WIDTH, HEIGHT, 1, &why), 0);
    uint8_t *in = malloc(source.frame_bytes);
    const unsigned bits = format_by_name(captured)->bits;
    for (uint32_t i = 0; i < source.frame_bytes; i++)
        in[i] = (uint8_t)(60 + 130 * reference_noise(&seed));
    for (uint32_t i = 1; bits > 8 && i < source.frame_bytes; i += 2)
        in[i] &= (uint8_t)((1u << (bits - 8)) - 1);
    for (uint32_t i = 0; v->captured == NULL && bits == 8 && i + 8 < source.frame_bytes; i += 64) {
        memset(in + i, 0, 8);
        memset(in + i + 32, 255, 8);
    }
    make_correction(&sample[0], 3, true, (1u << v->bits) / 12.);
    make_correction(&sample[1], 1, false, (1u << v->bits) / 6.);
    set_limits(&sample[1].correction, (1u << v->bits) - 1);
    make_correction(&sample[2], CORRECTION_MAX_WAVES, true, (1u << v->bits) / 12.);

    struct engine *engine = make_engine(v, &format, true, chain);
    for (unsigned i = 0; i < 4; i++) {
        out[i] = calloc(1, format.frame_bytes);
        if (i >= 2)
            collect(engine);
        submit(engine, &source, in, i < 3 ? &sample[i].correction : NULL, out[i]);
        if (i < 3) /* the engine has copied it */
            memset(sample[i].gain, 0, sizeof sample[i].gain);
    }
    collect(engine);
    collect(engine);
    make_correction(&sample[0], 3, true, (1u << v->bits) / 12.);
    make_correction(&sample[2], CORRECTION_MAX_WAVES, true, (1u << v->bits) / 12.);
    for (unsigned i = 0; i < 3; i++) /* a demosaiced frame has been rounded to 8 bits */
        check_frame(v, &format, &sample[i].correction, out[3], out[i],
                    v->captured != NULL ? 1.9 : 1);
    if (v->captured == NULL)
        check_frame(v, &format, NULL, in, out[3], 0);
    engine_destroy(engine);
    for (unsigned i = 0; i < 4; i++)
        free(out[i]);
    free(in);
}

/* Where noise is reduced, the load of the denoiser corrects; this little noise changes nothing. */
static void test_formats(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof views / sizeof views[0]; i++) {
        if (device_takes_every_layout() || (i != 3 && i != 5 && i != 7))
            check_view(&views[i], NOTHING);
        if (device_takes_every_layout() || i == 1 || i == 6)
            check_view(&views[i], "denoise:sigma=0.001,passes=1,block=16");
    }
}

/* Sets the wanted samples to noise on a slope, and returns what the correction makes them of. */
static uint8_t *spoil(uint16_t *wanted, const struct correction *correction)
{
    uint64_t seed = 21;
    uint16_t *ret = malloc(PIXELS * sizeof *ret);
    assert_non_null(ret);
    for (unsigned i = 0; i < PIXELS; i++) {
        const unsigned x = i % WIDTH, y = i / WIDTH;
        const double gain = correction->row_gain[y];
        wanted[i] = (uint16_t)(1500 + 10 * x + 160 * (reference_noise(&seed) - 0.5));
        ret[i] = (uint16_t)lround((wanted[i] - corrected(0, correction, x, y)) / gain);
    }
    return (uint8_t *)ret;
}

/* Noise is estimated, and reduced, in what the corrections leave. Waves and flicker were taken for
 * noise where it was estimated, so that far too much was removed in some frames. */
static void test_noise_is_reduced_in_corrected_samples(void **state)
{
    static const char *const chains[] = {"denoise", "denoise:sigma=3"};
    const struct view *y12 = &views[1];
    struct fftd_format format;
    struct sample_correction sample;
    struct error why;
    static uint16_t wanted[PIXELS], alone[PIXELS], out[PIXELS];
    (void)state;
    assert_int_equal(format_layout(&format, format_by_name("Y12")->fourcc, WIDTH, HEIGHT, 1, &why),
                     0);
    make_correction(&sample, 3, true, 150);
    uint8_t *captured = spoil(wanted, &sample.correction);
    for (size_t i = 0; i < sizeof chains / sizeof chains[0]; i++) {
        struct engine *plain = make_engine(y12, &format, false, chains[i]);
        struct engine *correcting = make_engine(y12, &format, true, chains[i]);
        submit(plain, &format, (const uint8_t *)wanted, NULL, alone);
        submit(correcting, &format, captured, &sample.correction, out);
        collect(plain);
        collect(correcting);
        double removed = 0;
        for (unsigned k = 0; k < PIXELS; k++) {
            removed += fabs((double)wanted[k] - alone[k]) / PIXELS;
            if (abs(out[k] - alone[k]) > 3) /* captured samples are rounded */
                fail_msg("%s: sample %u is %u, expected %u", chains[i], k, out[k], alone[k]);
        }
        assert_true(removed > 15);
        engine_destroy(plain);
        engine_destroy(correcting);
    }
    free(captured);
}

static void test_refused(void **state)
{
    (void)state;
    struct fftd_format format;
    struct error why;
    struct sample_correction sample;
    uint8_t frame[PIXELS] = {0}, out[PIXELS];
    assert_int_equal(format_layout(&format, format_by_name("GREY")->fourcc, WIDTH, HEIGHT, 1, &why),
                     0);
    struct engine_job job = {
        .in = {frame}, .in_stride = {WIDTH}, .out = out, .correction = &sample.correction};
    for (int corrections = 0; corrections <= 1; corrections++) {
        make_correction(&sample, 1, false, 1);
        sample.correction.wave_count = corrections ? CORRECTION_MAX_WAVES + 1 : 1;
        struct engine *engine = make_engine(&views[0], &format, corrections, NOTHING);
        assert_int_equal(engine_submit(engine, &job, &why), -EINVAL);
        assert_non_null(strstr(why.text, corrections ? "9 waves" : "with corrections"));
        assert_int_equal(engine_in_flight(engine), 0);
        engine_destroy(engine);
    }
}

static int setup(void **state)
{
    static struct fixture f;
    cl_int code;
    device_setup(state);
    f.queue = clCreateCommandQueue(device->context, device->id, 0, &code);
    *state = &f;
    return code == CL_SUCCESS ? 0 : -1;
}

static int teardown(void **state)
{
    const struct fixture *f = *state;
    clReleaseCommandQueue(f->queue);
    return device_teardown(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_techniques),
                                       cmocka_unit_test(test_formats),
                                       cmocka_unit_test(test_noise_is_reduced_in_corrected_samples),
                                       cmocka_unit_test(test_refused)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
