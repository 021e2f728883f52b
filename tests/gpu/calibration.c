/* Tests of frames whose fixed patterns are corrected: formats, techniques and borders, compared
 * with a model in double precision that only shares the response H with the code under test. */
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
#include "transform/transform.h"

#define MAX_WIDTH  64
#define MAX_HEIGHT 48
#define MAX_PIXELS (MAX_WIDTH * MAX_HEIGHT)

struct scene {
    const char *format, *source; /* source: a mosaic; NULL: as published */
    enum recipe_planes planes;
    enum engine_technique technique;
    enum plan_border border;
    enum recipe_precision precision;
    enum demosaic demosaic;
    long width, height;
    const char *chain;
    double a, b;      /* of its vignette */
    bool is_recorded; /* with the dark and the flat frame of draw_recorded */
    double pedestal;
};

/* ---- a dark and a flat frame ---- */

/* A hot and a dead pixel, two side by side that share neighbours, and one in a corner. In a mosaic
 * those side by side have different colours. A dead pixel counts in the mean of the light. */
static const long bad[][2] = {{10, 7}, {31, 12}, {20, 20}, {21, 20}, {0, 0}};
#define BAD_COUNT (sizeof bad / sizeof bad[0])
#define DEAD      1 /* which of them is dark; the others are bright */

static struct filter_image *dark, *flat;

/* Levels of the dark and of the flat frame, of which 1 is white. */
static void draw_recorded(const struct scene *scene)
{
    const size_t count = (size_t)(scene->width * scene->height);
    uint64_t seed = 11;
    struct filter_image **all[] = {&dark, &flat};
    for (size_t i = 0; i < 2; i++) {
        filter_image_destroy(*all[i]);
        *all[i] = calloc(1, sizeof **all[i] + count * sizeof(float));
        snprintf((*all[i])->name, sizeof(*all[i])->name, "%s.pfm", i == 0 ? "dark" : "flat");
        (*all[i])->columns = (unsigned)scene->width;
        (*all[i])->rows = (unsigned)scene->height;
    }
    for (size_t i = 0; i < count; i++) {
        dark->pixel[i] = (float)(0.02 + 0.05 * reference_noise(&seed));
        flat->pixel[i] = (float)((double)dark->pixel[i] + 0.3 + 0.2 * reference_noise(&seed));
    }
    for (size_t i = 0; i < BAD_COUNT; i++) {
        const size_t at = (size_t)(bad[i][1] * scene->width + bad[i][0]);
        if (i == DEAD)
            flat->pixel[at] = dark->pixel[at];
        else
            dark->pixel[at] = 0.5F;
    }
}

static int load_recorded(const struct filter_image **ret, const char *name, struct error *why)
{
    (void)why;
    *ret = strcmp(name, "dark.pfm") == 0 ? dark : flat;
    return 0;
}

static const struct engine_options common = {
    .border_value = 0.5, .margin = 16, .in_flight = 2, .tune = ENGINE_TUNE_OFF};

static double clamp(double value, double top)
{
    return value < 0 ? 0 : value > top ? top : value;
}

static struct engine *make_engine(const struct fftd_format *format,
                                  const struct engine_options *options)
{
    struct engine *engine;
    struct error why;
    if (engine_create(&engine, device, format, options, 0, NULL, NULL, &why) < 0)
        fail_msg("%s", why.text);
    return engine;
}

static void apply(struct engine *engine, const struct filter_chain *chain)
{
    struct engine_response *response;
    struct error why;
    if (engine_design(engine, chain, &response, &why) < 0)
        fail_msg("%s", why.text);
    engine_apply(engine, response, 1);
}

/* Filters a frame whose planes follow each other in memory. */
static void filter(struct engine *engine, const struct fftd_format *layout, const uint8_t *in,
                   uint8_t *out)
{
    struct engine_job job = {0};
    job.out = out;
    engine_frame(engine, job, layout, in, "calibration");
}

static struct fftd_format layout_of(const char *name, long width, long height)
{
    struct fftd_format format;
    struct error why;
    if (format_layout(&format, format_by_name(name)->fourcc, (uint32_t)width, (uint32_t)height, 4,
                      &why) < 0)
        fail_msg("%s", why.text);
    return format;
}

/* ---- the model ---- */

static double vignette_gain(const struct scene *scene, long x, long y)
{
    const double dx = (double)x - (double)(scene->width - 1) / 2;
    const double dy = (double)y - (double)(scene->height - 1) / 2;
    const double r = hypot(dx, dy) / (hypot((double)scene->width, (double)scene->height) / 2);
    return 1 + scene->a * pow(r, 2) + scene->b * pow(r, 4);
}

static unsigned sample_at(const uint8_t *at, unsigned bits)
{
    return bits > 8 ? at[0] | (unsigned)at[1] << 8 : at[0];
}

static bool is_bad(long x, long y)
{
    for (size_t i = 0; i < BAD_COUNT; i++)
        if (bad[i][0] == x && bad[i][1] == y)
            return true;
    return false;
}

/* The gain of the flat frame: the mean of the light that good pixels of the same colour got, over
 * that of this pixel. */
static double flat_gain(const struct scene *scene, long x, long y)
{
    const long cell = scene->source != NULL ? 2 : 1;
    double sum = 0, count = 0;
    for (long row = y % cell; row < scene->height; row += cell)
        for (long column = x % cell; column < scene->width; column += cell) {
            const long at = row * scene->width + column;
            if (dark->pixel[at] >= 0.5F) /* a hot pixel says nothing about the light */
                continue;
            sum += (double)flat->pixel[at] - (double)dark->pixel[at];
            count++;
        }
    const long at = y * scene->width + x;
    return sum / count / ((double)flat->pixel[at] - (double)dark->pixel[at]);
}

/* Replaces bad pixels by the mean of good ones of the same colour beside them. */
static void repair(const struct scene *scene, double *samples)
{
    const long cell = scene->source != NULL ? 2 : 1;
    for (size_t i = 0; i < BAD_COUNT; i++) {
        double sum = 0, count = 0;
        for (int side = 0; side < 4; side++) {
            const long x = bad[i][0] + cell * ((side == 0) - (side == 1));
            const long y = bad[i][1] + cell * ((side == 2) - (side == 3));
            if (x < 0 || y < 0 || x >= scene->width || y >= scene->height || is_bad(x, y))
                continue;
            sum += samples[y * scene->width + x];
            count++;
        }
        samples[bad[i][1] * scene->width + bad[i][0]] = sum / count;
    }
}

/* A corrected sample. */
static double correct_sample(const struct scene *scene, double sample, double white, double gain,
                             long at)
{
    return scene->is_recorded
               ? (sample - white * (double)dark->pixel[at]) * gain + scene->pedestal * white
               : sample * gain;
}

/* Corrects the captured samples. colour[0 .. 2] are red, green and blue; a format with luma alone
 * has it in all three. Samples keep their units, those of a mosaic are 0 .. 255 afterwards. */
static void correct(const struct scene *scene, const struct fftd_format *layout, const uint8_t *in,
                    double colour[3][MAX_PIXELS])
{
    const struct format_info *info = format_by_fourcc(layout->fourcc);
    static double raw[MAX_PIXELS], recorded_gain[MAX_PIXELS];
    for (long i = 0; i < scene->width * scene->height && scene->is_recorded; i++)
        recorded_gain[i] = flat_gain(scene, i % scene->width, i / scene->width);
    for (long y = 0; y < scene->height; y++)
        for (long x = 0; x < scene->width; x++) {
            const long i = y * scene->width + x;
            const uint8_t *at =
                in + layout->plane[0].offset + y * layout->plane[0].stride + x * info->step;
            const double white = (1 << info->bits) - 1;
            const double gain =
                vignette_gain(scene, x, y) * (scene->is_recorded ? recorded_gain[i] : 1);
            if (info->kind == SAMPLE_RGB8)
                for (unsigned c = 0; c < 3; c++)
                    colour[c][i] = correct_sample(scene, at[info->rgb[c]], white, gain, i);
            else
                raw[i] =
                    correct_sample(scene, sample_at(at + info->offset, info->bits), white, gain, i);
        }
    if (scene->is_recorded)
        repair(scene, raw);
    for (unsigned c = 0; c < 3 && scene->is_recorded; c++)
        repair(scene, colour[c]);
    for (unsigned c = 0; c < 3 && info->kind != SAMPLE_RGB8; c++)
        for (long i = 0; i < scene->width * scene->height; i++)
            colour[c][i] =
                info->kind != SAMPLE_BAYER
                    ? raw[i]
                    : reference_mosaic(scene->source, scene->demosaic, raw, scene->width,
                                       scene->height, i % scene->width, i / scene->width, c) *
                          255 / ((1 << info->bits) - 1);
}

/* Filters the corrected colours: each alone, or luma, whose change is added to all. */
static void filter_model(const struct scene *scene, const struct engine *engine, bool is_alone,
                         double top, double colour[3][MAX_PIXELS])
{
    const long count = scene->width * scene->height;
    const struct plan *plan = engine_plan(engine, 0);
    const struct filter_chain chain = chain_of(scene->chain);
    const struct reference reference = {.width = (uint32_t)scene->width,
                                        .height = (uint32_t)scene->height,
                                        .padded_x = plan->x.length,
                                        .padded_y = plan->y.length,
                                        .border = scene->border,
                                        .border_value = 0.5 * top,
                                        .sub_x = 1,
                                        .sub_y = 1,
                                        .chain = &chain};
    static double luma[MAX_PIXELS], filtered[MAX_PIXELS];
    for (unsigned c = 0; c < 3; c++) {
        for (long i = 0; i < count && (c == 0 || is_alone); i++)
            luma[i] = is_alone ? colour[c][i]
                               : 0.299 * colour[0][i] + 0.587 * colour[1][i] + 0.114 * colour[2][i];
        if (c == 0 || is_alone)
            reference_filter(&reference, luma, filtered);
        for (long i = 0; i < count; i++)
            colour[c][i] += filtered[i] - luma[i];
    }
}

/* ---- comparing ---- */

static void draw(uint8_t *frame, const struct fftd_format *layout, unsigned bits)
{
    const size_t bytes = bits > 8 ? 2 : 1;
    uint64_t seed = 5;
    for (size_t i = 0; i < layout->frame_bytes; i += bytes) {
        const unsigned code =
            (unsigned)((0.15 + 0.5 * reference_noise(&seed)) * ((1u << bits) - 1));
        frame[i] = (uint8_t)code;
        if (bits > 8)
            frame[i + 1] = (uint8_t)(code >> 8);
    }
}

static void compare(const struct scene *scene, const struct fftd_format *layout, const uint8_t *in,
                    const uint8_t *out, double colour[3][MAX_PIXELS], double tolerance)
{
    const struct format_info *info = format_by_fourcc(layout->fourcc);
    double worst = 0;
    for (long y = 0; y < scene->height; y++)
        for (long x = 0; x < scene->width; x++)
            for (unsigned c = 0; c < 3; c++) {
                const bool rgb = info->kind == SAMPLE_RGB8;
                const size_t at = layout->plane[0].offset + (size_t)y * layout->plane[0].stride +
                                  (size_t)x * info->step + (rgb ? info->rgb[c] : info->offset);
                const unsigned got = sample_at(out + at, info->bits);
                const double expected =
                    clamp(colour[c][y * scene->width + x], (1 << info->bits) - 1);
                worst = fmax(worst, fabs(got - expected));
                if (fabs(got - expected) > tolerance)
                    fail_msg("%s %s at %ld, %ld colour %u: %u, expected %.2f, captured %u",
                             scene->format, scene->chain, x, y, c, got, expected,
                             scene->source == NULL ? sample_at(in + at, info->bits) : 0);
                if (info->kind == SAMPLE_U8 && info->step == 2 && scene->planes == RECIPE_LUMA)
                    assert_int_equal(out[at ^ 1], in[at ^ 1]); /* chroma of YUYV */
            }
    printf("# figures: %s%s%s %s: at most %.3f from the model\n", scene->format,
           scene->source != NULL ? " of " : "", scene->source != NULL ? scene->source : "",
           scene->technique == ENGINE_STAGED ? "staged" : "fused", worst);
}

static void check(const struct scene *scene)
{
    draw_recorded(scene);
    const char *captured = scene->source != NULL ? scene->source : scene->format;
    const struct fftd_format format = layout_of(scene->format, scene->width, scene->height);
    const struct fftd_format layout = layout_of(captured, scene->width, scene->height);
    const struct format_info *info = format_by_fourcc(layout.fourcc);
    const struct filter_chain chain = chain_of(scene->chain);
    const bool is_rgb = info->kind == SAMPLE_RGB8 || info->kind == SAMPLE_BAYER;
    static double colour[3][MAX_PIXELS];
    struct engine_options options = common;
    options.recipe.captured = scene->source != NULL ? layout.fourcc : 0;
    options.recipe.planes = scene->planes;
    options.technique = scene->technique;
    options.border = scene->border;
    options.recipe.precision = scene->precision;
    options.recipe.demosaic = scene->demosaic;
    options.recipe.calibrated = true;
    struct engine *engine = make_engine(&format, &options);
    assert_non_null(strstr(engine_description(engine), ", calibrated"));
    uint8_t *in = malloc(layout.frame_bytes), *out = calloc(1, format.frame_bytes);
    draw(in, &layout, info->bits);
    apply(engine, &chain);
    filter(engine, &layout, in, out);
    correct(scene, &layout, in, colour);
    filter_model(scene, engine, !is_rgb || scene->planes == RECIPE_ALL,
                 is_rgb ? 255 : (1 << info->bits) - 1, colour);
    compare(scene, &format, in, out, colour,
            scene->precision == RECIPE_HALF ? 2
            : info->bits > 12               ? 1
                                            : 0.51);
    free(in);
    free(out);
    engine_destroy(engine);
}

/* ---- tests ---- */

#define BLUR  "vignette:a=0.4,b=0.5 | gaussian-blur:sigma=1"
#define GAINS .chain = BLUR, .a = 0.4, .b = 0.5

/* The stages are not in the order in which they are applied. */
#define RECORDED                                                                                   \
    .chain = "gaussian-blur:sigma=1 | flat:image=flat.pfm | vignette:a=0.4,b=0 | "                 \
             "dark:image=dark.pfm,pedestal=0.05",                                                  \
    .is_recorded = true, .a = 0.4, .pedestal = 0.05

/* The kinds of samples, of arrangements and of borders; the rest differ in a detail. */
static void test_formats(void **state)
{
    static const struct scene scenes[] = {
        {.format = "GREY", .width = 62, .height = 34, GAINS},
        {.format = "Y12", .width = 62, .height = 34, .border = PLAN_CONSTANT, GAINS},
        {.format = "YUYV", .width = 62, .height = 34, GAINS},
        {.format = "RGB24", .width = 62, .height = 34, GAINS},
        {.format = "XBGR32", .source = "SGRBG10", .width = 62, .height = 34, GAINS},
        {.format = "RGB24", .planes = RECIPE_ALL, .width = 62, .height = 34, GAINS},
        {.format = "XBGR32",
         .source = "SBGGR8",
         .demosaic = DEMOSAIC_GRADIENTS,
         .planes = RECIPE_ALL,
         .width = 62,
         .height = 34,
         GAINS},
        {.format = "Y16", .width = 61, .height = 33, .border = PLAN_WRAP, GAINS},
        {.format = "NV12", .width = 62, .height = 34, .border = PLAN_REPLICATE, GAINS},
    };
    (void)state;
    for (size_t i = 0; i < (device_takes_every_layout() ? sizeof scenes / sizeof scenes[0] : 5);
         i++)
        check(&scenes[i]);
}

static void test_staged(void **state)
{
    static const struct scene scenes[] = {
        {.format = "GREY", .technique = ENGINE_STAGED, .width = 62, .height = 34, GAINS},
        {.format = "Y10",
         .technique = ENGINE_STAGED,
         .border = PLAN_CONSTANT,
         .width = 61,
         .height = 33,
         GAINS},
        {.format = "XBGR32",
         .source = "SRGGB12",
         .technique = ENGINE_STAGED,
         .width = 62,
         .height = 34,
         GAINS},
        {.format = "XRGB32", .technique = ENGINE_STAGED, .width = 62, .height = 34, GAINS},
        {.format = "YUYV", .technique = ENGINE_STAGED, .width = 62, .height = 34, GAINS},
        {.format = "GREY",
         .technique = ENGINE_STAGED,
         .precision = RECIPE_HALF,
         .width = 62,
         .height = 34,
         GAINS},
    };
    (void)state;
    for (size_t i = 0; i < (device_takes_every_layout() ? sizeof scenes / sizeof scenes[0] : 3);
         i++)
        check(&scenes[i]);
}

static void test_recorded(void **state)
{
    static const struct scene scenes[] = {
        {.format = "GREY", .width = 62, .height = 34, RECORDED},
        {.format = "XBGR32", .source = "SGRBG10", .width = 62, .height = 34, RECORDED},
        {.format = "RGB24", .width = 62, .height = 34, RECORDED},
        {.format = "YUYV", .technique = ENGINE_STAGED, .width = 62, .height = 34, RECORDED},
        {.format = "RGB24", .planes = RECIPE_ALL, .width = 62, .height = 34, RECORDED},
        {.format = "Y12", .width = 61, .height = 33, RECORDED},
        {.format = "XBGR32",
         .source = "SRGGB8",
         .demosaic = DEMOSAIC_GRADIENTS,
         .technique = ENGINE_STAGED,
         .width = 62,
         .height = 34,
         RECORDED},
    };
    (void)state;
    for (size_t i = 0; i < (device_takes_every_layout() ? sizeof scenes / sizeof scenes[0] : 4);
         i++)
        check(&scenes[i]);
}

/* Nothing is designed with a frame of another size, and the error names both sizes. */
static void test_sizes(void **state)
{
    const struct fftd_format format = layout_of("GREY", 62, 34);
    const struct scene other = {.width = 60, .height = 34};
    struct engine_options options = common;
    struct engine_response *response = NULL;
    struct error why;
    (void)state;
    options.recipe.calibrated = true;
    draw_recorded(&other);
    struct engine *engine = make_engine(&format, &options);
    for (unsigned i = 0; i < 2; i++) {
        const struct filter_chain chain =
            chain_of(i == 0 ? "dark:image=dark.pfm" : "gain | flat:image=flat.pfm");
        assert_int_equal(engine_design(engine, &chain, &response, &why), -EINVAL);
        assert_non_null(strstr(why.text, "60x34"));
        assert_non_null(strstr(why.text, "expected 62x34"));
        assert_null(response);
    }
    engine_destroy(engine);
}

static uint8_t middle_of(struct engine *engine, const struct fftd_format *format, uint8_t *frame)
{
    memset(frame, 100, format->frame_bytes);
    filter(engine, format, frame, frame + format->frame_bytes);
    return frame[format->frame_bytes + (size_t)2 * format->plane[0].stride + 2];
}

/* A table belongs to a response: the next frame has neither or both of another filter. */
static void test_switching(void **state)
{
    const struct fftd_format format = layout_of("GREY", 62, 34);
    const struct filter_chain brighter = chain_of("vignette:a=0,b=1 | gain:dc=0.5");
    const struct filter_chain none = chain_of("gain:dc=0.5");
    struct engine_options options = common;
    struct engine_response *response = NULL;
    struct error why;
    uint8_t *frame = calloc(2, format.frame_bytes);
    (void)state;
    struct engine *engine = make_engine(&format, &options);
    assert_null(strstr(engine_description(engine), "calibrated"));
    assert_int_equal(engine_design(engine, &brighter, &response, &why), -EINVAL);
    assert_non_null(strstr(why.text, "calibrated"));
    assert_null(response);
    engine_destroy(engine);

    options.recipe.calibrated = true;
    engine = make_engine(&format, &options);
    assert_int_equal(middle_of(engine, &format, frame), 100);
    apply(engine, &brighter);
    const uint8_t corrected = middle_of(engine, &format, frame);
    assert_true(corrected > 80);
    apply(engine, &none);
    assert_int_equal(middle_of(engine, &format, frame), 50);
    assert_int_equal(engine_design(engine, &brighter, &response, &why), 0);
    assert_int_equal(engine_design_fade(engine, response, 4, NULL, &why), 0);
    engine_apply(engine, response, 2);
    /* The table is taken at once, and H gradually: 1/4 of the way, and it is 0.5 in both. */
    assert_in_range(middle_of(engine, &format, frame), corrected - 1, corrected + 1);
    free(frame);
    engine_destroy(engine);
}

int main(void)
{
    filter_image_set_loader(load_recorded);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_formats),   cmocka_unit_test(test_staged),
        cmocka_unit_test(test_recorded),  cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_switching),
    };
    return cmocka_run_group_tests(tests, device_setup, device_teardown);
}
