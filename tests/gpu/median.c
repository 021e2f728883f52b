/* Tests of what happens to samples beside the FFT: the median in the load, and black and white in
 * the store. Whole frames are compared with a model in double precision that shares only H with the
 * code under test. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/chains.h"
#include "support/cmocka.h"
#include "support/device.h"
#include "support/engine_frame.h"
#include "support/reference.h"

#include "engine/engine.h"

#define WIDTH  50
#define HEIGHT 36
#define PIXELS (WIDTH * HEIGHT)

/* Each has luma in plane 0: samples of one or two bytes, or three colours. */
struct scene {
    const char *format, *chain;
    enum engine_technique technique;
    enum recipe_precision precision;
    unsigned step, bits;
    bool has_colours;
};

static unsigned sample_at(const struct scene *scene, const struct fftd_format *format,
                          const uint8_t *frame, unsigned x, unsigned y, unsigned colour)
{
    const uint8_t *at =
        frame + (size_t)y * format->plane[0].stride + (size_t)x * scene->step + colour;
    return scene->bits > 8 ? (unsigned)(at[0] | at[1] << 8) : at[0];
}

static double value_at(const struct scene *scene, const struct fftd_format *format,
                       const uint8_t *frame, unsigned x, unsigned y)
{
    const double first = sample_at(scene, format, frame, x, y, 0);
    return !scene->has_colours ? first
                               : 0.299 * first + 0.587 * sample_at(scene, format, frame, x, y, 1) +
                                     0.114 * sample_at(scene, format, frame, x, y, 2);
}

/* A slope with noise, salt and pepper; every other byte is noise. */
static uint8_t *draw(const struct scene *scene, const struct fftd_format *format)
{
    uint8_t *frame = malloc(format->frame_bytes);
    const unsigned top = (1u << scene->bits) - 1;
    uint64_t seed = 7;
    for (size_t i = 0; i < format->frame_bytes; i++)
        frame[i] = (uint8_t)(256 * reference_noise(&seed));
    for (unsigned y = 0; y < HEIGHT; y++)
        for (unsigned x = 0; x < WIDTH; x++) {
            uint8_t *at = frame + (size_t)y * format->plane[0].stride + (size_t)x * scene->step;
            const double noise = reference_noise(&seed);
            const unsigned sample = noise < 0.05 ? 0
                                    : noise > 0.95
                                        ? top
                                        : (unsigned)(top * (0.2 + 0.4 * x / WIDTH + 0.3 * noise));
            if (scene->has_colours)
                continue;
            at[0] = (uint8_t)sample;
            if (scene->bits > 8)
                at[1] = (uint8_t)(sample >> 8);
        }
    return frame;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void model_median(double *ret, const double *in)
{
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++) {
            double v[9];
            for (int i = 0; i < 9; i++) {
                const int u = x + i % 3 - 1, w = y + i / 3 - 1;
                v[i] = in[(w < 0        ? 0
                           : w < HEIGHT ? w
                                        : HEIGHT - 1) *
                              WIDTH +
                          (u < 0       ? 0
                           : u < WIDTH ? u
                                       : WIDTH - 1)];
            }
            qsort(v, 9, sizeof *v, compare);
            ret[y * WIDTH + x] = v[4];
        }
}

static struct engine *make(const struct scene *scene, const struct filter_chain *chain,
                           const struct fftd_format *format)
{
    const struct recipe settings = {.precision = scene->precision};
    const struct engine_options options = {.border = PLAN_MIRROR,
                                           .margin = 8,
                                           .in_flight = 1,
                                           .tune = ENGINE_TUNE_OFF,
                                           .technique = scene->technique,
                                           .recipe = recipe_of(chain, &settings)};
    struct engine_response *response = NULL;
    struct engine *engine = NULL;
    struct error why;
    if (engine_create(&engine, device, format, &options, 0, NULL, NULL, &why) < 0 ||
        engine_design(engine, chain, &response, &why) < 0)
        fail_msg("%s", why.text);
    engine_apply(engine, response, 1);
    return engine;
}

static uint8_t *filter(struct engine *engine, const struct fftd_format *format, const uint8_t *in)
{
    struct engine_job job = {.out = calloc(1, format->frame_bytes)};
    engine_frame(engine, job, format, in, "median");
    return job.out;
}

/* What the chain makes of luma, not rounded. level: 0: no black and white. */
static void expect(const struct scene *scene, const struct fftd_format *format,
                   const struct filter_chain *chain, const struct plan *plan, const uint8_t *in,
                   double *ret)
{
    static double captured[PIXELS], median[PIXELS];
    const double top = (1u << scene->bits) - 1, level = filter_chain_binarise(chain);
    const struct reference reference = {.width = WIDTH,
                                        .height = HEIGHT,
                                        .padded_x = plan->x.length,
                                        .padded_y = plan->y.length,
                                        .border = PLAN_MIRROR,
                                        .sub_x = 1,
                                        .sub_y = 1,
                                        .chain = chain};
    for (unsigned i = 0; i < PIXELS; i++)
        captured[i] = value_at(scene, format, in, i % WIDTH, i / WIDTH);
    if (filter_chain_takes_median(chain))
        model_median(median, captured);
    else
        memcpy(median, captured, sizeof median);
    reference_filter(&reference, median, ret);
    for (unsigned i = 0; i < PIXELS; i++) {
        ret[i] = fmin(fmax(ret[i], 0), top);
        if (level > 0) /* nothing is stored where rounding may go either way */
            ret[i] = fabs(ret[i] - ceil(level * top / 255) + 0.5) < 0.02 * top / 255 ? NAN
                     : rint(ret[i]) >= level * top / 255                             ? top
                                                                                     : 0;
    }
}

static void check(const struct scene *scene)
{
    static double expected[PIXELS];
    const struct filter_chain chain = chain_of(scene->chain);
    const double top = (1u << scene->bits) - 1;
    struct fftd_format format;
    double worst = 0;
    unsigned unsure = 0, changed = 0;
    assert_int_equal(
        format_layout(&format, format_by_name(scene->format)->fourcc, WIDTH, HEIGHT, 4, NULL), 0);
    uint8_t *in = draw(scene, &format);
    struct engine *engine = make(scene, &chain, &format);
    uint8_t *out = filter(engine, &format, in);
    expect(scene, &format, &chain, engine_plan(engine, 0), in, expected);
    for (unsigned i = 0; i < PIXELS; i++) {
        const unsigned x = i % WIDTH, y = i / WIDTH;
        const double change = expected[i] - value_at(scene, &format, in, x, y);
        if (isnan(change)) {
            unsure++;
            continue;
        }
        changed += fabs(change) > 1;
        for (unsigned c = 0; c < (scene->has_colours ? 3 : 1); c++) {
            const double wanted = sample_at(scene, &format, in, x, y, c) + change;
            worst = fmax(
                worst, fabs(sample_at(scene, &format, out, x, y, c) - fmin(fmax(wanted, 0), top)));
        }
        for (unsigned k = scene->bits > 8 ? 2 : 1; !scene->has_colours && k < scene->step; k++)
            assert_int_equal(sample_at(scene, &format, out, x, y, k),
                             sample_at(scene, &format, in, x, y, k));
    }
    printf("# figures: %s of %s, %s%s: at most %.3f steps off, %u of %u samples changed\n",
           scene->chain, scene->format, scene->technique == ENGINE_STAGED ? "staged" : "fused",
           scene->precision == RECIPE_HALF ? " half" : "", worst, changed, (unsigned)PIXELS);
    if (!(worst <= (scene->precision == RECIPE_HALF ? 1.5 : 0.51)))
        fail_msg("%s of %s is off by %.3f steps", scene->chain, scene->format, worst);
    assert_true(changed > PIXELS / 4 && unsure < PIXELS / 8);
    for (unsigned p = 1; p < format.plane_count; p++)
        for (uint32_t row = 0; row < format.plane[p].rows; row++) {
            const size_t at = format.plane[p].offset + (size_t)row * format.plane[p].stride;
            assert_memory_equal(out + at, in + at, format.plane[p].row_bytes);
        }
    free(in);
    free(out);
    engine_destroy(engine);
}

#define BLUR " | gaussian-blur:sigma=0.7"

static const struct scene medians[] = {
    {"GREY", "median", .step = 1, .bits = 8},
    {"Y12", "median" BLUR, .step = 2, .bits = 12},
    {"YUYV", "median" BLUR, ENGINE_STAGED, .step = 2, .bits = 8},
    {"NV12", "gaussian-blur:sigma=0.7 | median", .step = 1, .bits = 8},
    {"GREY", "median" BLUR, .precision = RECIPE_HALF, .step = 1, .bits = 8},
    {"RGB24", "median" BLUR, .step = 3, .bits = 8, .has_colours = true},
    {"GREY", "median", ENGINE_STAGED, .step = 1, .bits = 8},
    {"Y12", "median" BLUR, ENGINE_STAGED, .step = 2, .bits = 12},
    {"YUYV", "median" BLUR, .step = 2, .bits = 8},
    {"RGB24", "median", ENGINE_STAGED, .step = 3, .bits = 8, .has_colours = true},
};

static const struct scene levels[] = {
    {"GREY", "binarise:level=128", .step = 1, .bits = 8},
    {"Y12", "binarise:level=100.2" BLUR, ENGINE_STAGED, .step = 2, .bits = 12},
    {"NV12", "median | binarise:level=90" BLUR, .step = 1, .bits = 8},
    {"RGB24", "binarise:level=120" BLUR, .step = 3, .bits = 8, .has_colours = true},
    {"YUYV", "binarise:level=128", ENGINE_STAGED, .step = 2, .bits = 8},
    {"YUYV", "binarise:level=128" BLUR, .step = 2, .bits = 8},
};

static void test_medians(void **state)
{
    (void)state;
    for (size_t i = 0; i < (device_takes_every_layout() ? sizeof medians / sizeof medians[0] : 6);
         i++)
        check(&medians[i]);
}

static void test_black_and_white(void **state)
{
    (void)state;
    for (size_t i = 0; i < (device_takes_every_layout() ? sizeof levels / sizeof levels[0] : 4);
         i++)
        check(&levels[i]);
}

/* A sample that is exactly at the level is white, however its transform was rounded. */
static void test_the_level_itself_is_white(void **state)
{
    (void)state;
    for (unsigned technique = ENGINE_FUSED; technique <= ENGINE_STAGED; technique++) {
        const struct scene scene = {"GREY", "binarise:level=77", technique, .step = 1, .bits = 8};
        const struct filter_chain chain = chain_of(scene.chain);
        struct fftd_format format;
        assert_int_equal(
            format_layout(&format, format_by_name("GREY")->fourcc, WIDTH, HEIGHT, 4, NULL), 0);
        uint8_t *in = calloc(1, format.frame_bytes);
        for (size_t i = 0; i < format.frame_bytes; i++)
            in[i] = (uint8_t)(76 + i * 7 / 3 % 2);
        struct engine *engine = make(&scene, &chain, &format);
        uint8_t *out = filter(engine, &format, in);
        for (unsigned i = 0; i < PIXELS; i++)
            assert_int_equal(sample_at(&scene, &format, out, i % WIDTH, i / WIDTH, 0),
                             sample_at(&scene, &format, in, i % WIDTH, i / WIDTH, 0) > 76 ? 255
                                                                                          : 0);
        engine_destroy(engine);
        free(in);
        free(out);
    }
}

/* The denoiser's load takes the medians: the result is that for a frame of medians. */
static void test_noise_is_reduced_after_the_median(void **state)
{
    static const struct scene scene = {"GREY", "denoise:sigma=4 | median", .step = 1, .bits = 8};
    static double captured[PIXELS], median[PIXELS];
    const struct filter_chain both = chain_of(scene.chain), one = chain_of("denoise:sigma=4");
    struct fftd_format format;
    (void)state;
    assert_int_equal(format_layout(&format, format_by_name("GREY")->fourcc, WIDTH, HEIGHT, 4, NULL),
                     0);
    uint8_t *in = draw(&scene, &format);
    struct engine *engine = make(&scene, &both, &format);
    uint8_t *a = filter(engine, &format, in);
    engine_destroy(engine);
    for (unsigned i = 0; i < PIXELS; i++)
        captured[i] = sample_at(&scene, &format, in, i % WIDTH, i / WIDTH, 0);
    model_median(median, captured);
    for (unsigned i = 0; i < PIXELS; i++)
        in[(size_t)(i / WIDTH) * format.plane[0].stride + i % WIDTH] = (uint8_t)median[i];
    engine = make(&scene, &one, &format);
    uint8_t *b = filter(engine, &format, in);
    engine_destroy(engine);
    assert_memory_equal(a, b, format.frame_bytes);
    free(in);
    free(a);
    free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_medians),
        cmocka_unit_test(test_black_and_white),
        cmocka_unit_test(test_the_level_itself_is_white),
        cmocka_unit_test(test_noise_is_reduced_after_the_median),
    };
    return cmocka_run_group_tests(tests, device_setup, device_teardown);
}
