/* Tests of views: differences and edges against the pictures that another engine makes, and spectra
 * against a model in double precision that only shares the response H with the code under test. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/cmocka.h"
#include "support/chains.h"
#include "support/device.h"
#include "support/floats.h"
#include "support/reference.h"
#include "support/store.h"

#include "filters/view.h"
#include "engine/engine.h"
#include "transform/transform.h"

#define WIDTH  29
#define HEIGHT 18
#define PIXELS (WIDTH * HEIGHT)
#define CHAIN  "gaussian-blur:sigma=0.8 | notch:at=0.25/0.1,width=0.05"

struct scene {
    const char *format, *source; /* source: a mosaic; NULL: as published */
    enum recipe_planes planes;
    enum engine_technique technique;
    enum recipe_precision precision;
    struct view_limits limits;
    bool has_peaks; /* spectra: of the captured picture */
    bool is_wide;
};

/* A wave that was found, and its correction, which a view of what was captured does not have. */
static const struct view_mark mark = {.fx = 0.25, .fy = 0.1, .is_removed = true};
static const struct correction correction = {.wave = {{.fx = 0.25, .fy = 0.1, .re = 20}},
                                             .wave_count = 1};

static struct fftd_format layout_of(const char *name, uint32_t width)
{
    struct fftd_format format;
    struct error why;
    if (format_layout(&format, format_by_name(name)->fourcc, width, HEIGHT, 4, &why) < 0)
        fail_msg("%s", why.text);
    return format;
}

/* Chroma and mosaics need even sizes. */
static uint32_t width_of(const struct scene *scene)
{
    const struct format_info *info =
        format_by_name(scene->source != NULL ? scene->source : scene->format);
    if (scene->is_wide)
        return WIDTH + 5;
    return info->align_x > 1 || info->kind == SAMPLE_BAYER ? WIDTH + 1 : WIDTH;
}

static void draw(uint8_t *frame, const struct fftd_format *layout, unsigned bits)
{
    const size_t bytes = bits > 8 ? 2 : 1;
    uint64_t seed = 5;
    for (size_t i = 0; i < layout->frame_bytes; i += bytes) {
        const unsigned code = (unsigned)(reference_noise(&seed) * ((1u << bits) - 1));
        frame[i] = (uint8_t)code;
        if (bits > 8)
            frame[i + 1] = (uint8_t)(code >> 8);
    }
}

static struct engine *make(const struct scene *scene, enum view_kind view,
                           const struct fftd_format *format, const struct fftd_format *layout)
{
    const struct engine_options options = {.border_value = 0.5,
                                           .margin = 3,
                                           .in_flight = 2,
                                           .tune = ENGINE_TUNE_OFF,
                                           .recipe.captured =
                                               scene->source != NULL ? layout->fourcc : 0,
                                           .recipe.planes = scene->planes,
                                           .technique = scene->technique,
                                           .recipe.precision = scene->precision,
                                           .recipe.corrections = view == VIEW_PEAKS,
                                           .recipe.edges = scene->limits,
                                           .recipe.view = view};
    struct engine *engine;
    struct error why;
    if (engine_create(&engine, device, format, &options, 0, NULL, NULL, &why) < 0)
        fail_msg("%s", why.text);
    return engine;
}

/* As the camera's thread does before it publishes a frame. */
static void draw_over(enum view_kind view, const struct fftd_format *format, uint8_t *frame)
{
    if (view == VIEW_PEAKS)
        view_mark(frame, format, &mark, 1);
}

/* A device that works in the host's memory stores the same frame into it. */
static void check_is_stored_alike(struct engine *engine, enum view_kind view,
                                  const struct fftd_format *format, const struct engine_job *job)
{
    struct engine_job stored = *job;
    struct engine_done done = {0};
    struct store *store = malloc(sizeof *store);
    struct error why;
    if (store_create(store, engine, format, 0, &why) < 0) {
        store_free(store);
        free(store);
        return;
    }
    store->frees_itself = true;
    stored.output = store->output;
    stored.out = store->frame[0];
    if (engine_submit(engine, &stored, &why) < 0 || engine_collect(engine, true, &done, &why) < 0)
        fail_msg("%s", why.text);
    assert_int_equal(done.copies.out_bytes, 0);
    draw_over(view, format, store->frame[0]);
    assert_true(store_holds(store, 0, format, job->out));
    engine_output_destroy(store->output);
}

static void filter(struct engine *engine, enum view_kind view, const char *chain_text,
                   const struct fftd_format *format, const struct fftd_format *layout,
                   const uint8_t *in, uint8_t *out)
{
    const struct filter_chain chain = chain_of(chain_text);
    struct engine_response *response;
    struct engine_job job = {0};
    struct engine_done done = {0};
    struct error why;
    if (engine_design(engine, &chain, &response, &why) < 0)
        fail_msg("%s", why.text);
    engine_apply(engine, response, 7);
    job.out = out;
    job.correction = view == VIEW_PEAKS ? &correction : NULL;
    for (unsigned i = 0; i < layout->plane_count; i++) {
        job.in[i] = in + layout->plane[i].offset;
        job.in_stride[i] = layout->plane[i].stride;
    }
    if (engine_submit(engine, &job, &why) < 0 || engine_collect(engine, true, &done, &why) < 0)
        fail_msg("%s", why.text);
    assert_int_equal(done.view, view);
    assert_int_equal(done.filter_serial, 7);
    draw_over(view, format, out);
    check_is_stored_alike(engine, view, format, &job);
}

static unsigned code_at(const uint8_t *at, unsigned bits)
{
    return bits > 8 ? at[0] | (unsigned)at[1] << 8 : at[0];
}

/* The sample of luma of a pixel, or 0.299 R + 0.587 G + 0.114 B. */
static double luma_at(const struct fftd_format *layout, const uint8_t *frame, uint32_t x,
                      uint32_t y)
{
    const struct format_info *info = format_by_fourcc(layout->fourcc);
    const uint8_t *at = frame + layout->plane[0].offset + (size_t)y * layout->plane[0].stride +
                        (size_t)x * info->step;
    return info->kind == SAMPLE_RGB8
               ? 0.299 * at[info->rgb[0]] + 0.587 * at[info->rgb[1]] + 0.114 * at[info->rgb[2]]
               : code_at(at + info->offset, info->bits);
}

/* Every byte that is not luma is neutral, and the colours of RGB are alike. */
static void check_is_grey(const struct fftd_format *format, const uint8_t *view)
{
    const struct format_info *info = format_by_fourcc(format->fourcc);
    for (uint32_t y = 0; y < format->height; y++)
        for (uint32_t x = 0; x < format->width; x++) {
            const uint8_t *at = view + format->plane[0].offset +
                                (size_t)y * format->plane[0].stride + (size_t)x * info->step;
            if (info->kind == SAMPLE_RGB8) {
                assert_int_equal(at[info->rgb[0]], at[info->rgb[1]]);
                assert_int_equal(at[info->rgb[0]], at[info->rgb[2]]);
            } else if (info->kind == SAMPLE_U8 && info->step == 2) {
                assert_int_equal(at[info->offset ^ 1], 128);
            }
        }
    for (unsigned p = 1; p < format->plane_count; p++)
        for (uint32_t y = 0; y < format->plane[p].rows; y++)
            for (uint32_t x = 0; x < format->plane[p].row_bytes; x++)
                assert_int_equal(
                    view[format->plane[p].offset + (size_t)y * format->plane[p].stride + x], 128);
}

static double clamp(double value, double top)
{
    return value < 0 ? 0 : value > top ? top : value;
}

/* ---- the difference ---- */

/* Of formats with a sample of luma, the difference is that of the published frames to the last bit.
 * Of RGB and mosaics the filtered luma is not published, so the model filters it. */
static void check_difference(const struct scene *scene)
{
    const struct fftd_format format = layout_of(scene->format, width_of(scene));
    const struct fftd_format layout =
        layout_of(scene->source != NULL ? scene->source : scene->format, format.width);
    const struct format_info *info = format_by_fourcc(format.fourcc);
    const bool is_rgb = info->kind == SAMPLE_RGB8;
    const double top = (1 << info->bits) - 1;
    uint8_t *in = malloc(layout.frame_bytes), *picture = calloc(1, format.frame_bytes);
    uint8_t *view = calloc(1, format.frame_bytes);
    double *captured = calloc(2, sizeof *captured * format.width * HEIGHT);
    double *filtered = captured + format.width * HEIGHT, worst = 0;
    unsigned changed = 0;
    draw(in, &layout, format_by_fourcc(layout.fourcc)->bits);
    const struct filter_chain chain = chain_of(CHAIN), none = chain_of("none");
    struct engine *engine = make(scene, VIEW_PICTURE, &format, &layout);
    filter(engine, VIEW_PICTURE, "none", &format, &layout, in,
           picture); /* mosaics are demosaiced */
    for (uint32_t i = 0; i < format.width * HEIGHT; i++)
        captured[i] = luma_at(&format, picture, i % format.width, i / format.width);
    filter(engine, VIEW_PICTURE, CHAIN, &format, &layout, in, picture);
    engine_destroy(engine);
    engine = make(scene, VIEW_MOTION, &format, &layout);
    filter(engine, VIEW_MOTION, CHAIN, &format, &layout, in, view);
    assert_memory_equal(view, picture, format.frame_bytes); /* its arrows are the host's */
    engine_destroy(engine);
    engine = make(scene, VIEW_DIFFERENCE, &format, &layout);
    filter(engine, VIEW_DIFFERENCE, CHAIN, &format, &layout, in, view);
    const struct plan plan = *engine_plan(engine, 0);
    engine_destroy(engine);
    const struct reference reference = {.width = format.width,
                                        .height = HEIGHT,
                                        .padded_x = plan.x.length,
                                        .padded_y = plan.y.length,
                                        .sub_x = 1,
                                        .sub_y = 1,
                                        .chain = is_rgb ? &chain : &none};
    reference_filter(&reference, captured, filtered);
    for (uint32_t i = 0; i < format.width * HEIGHT; i++) {
        const uint32_t x = i % format.width, y = i / format.width;
        const double published =
            is_rgb ? rint(clamp(filtered[i], top)) : luma_at(&format, picture, x, y);
        const double expected = clamp((top + 1) / 2 + VIEW_GAIN * (captured[i] - published), top);
        const double error = fabs(luma_at(&format, view, x, y) - expected);
        worst = fmax(worst, error);
        changed += captured[i] != published;
        /* Rounding: of the colours of a demosaiced pixel, of filtered luma near half a step, and of
         * the view. */
        if (error > (scene->source != NULL ? 5 : is_rgb ? 2.51 : 0))
            fail_msg("%s at %u, %u: %.0f, expected %.2f", scene->format, x, y,
                     luma_at(&format, view, x, y), expected);
    }
    assert_true(changed > format.width * HEIGHT / 2);
    check_is_grey(&format, view);
    printf("# figures: difference of %s %s: at most %.2f from the model\n",
           scene->source != NULL ? scene->source : scene->format,
           scene->technique == ENGINE_STAGED ? "staged" : "fused", worst);
    free(in);
    free(picture);
    free(view);
    free(captured);
}

/* ---- the spectrum ---- */

/* For each pixel the greatest of the magnitudes nearest to it, as a level 0 .. 1. */
static void model_levels(const struct reference *reference, double full, const double *image,
                         double *level)
{
    const long width = reference->width, height = reference->height;
    const long px = reference->padded_x, py = reference->padded_y;
    double *magnitude = malloc(sizeof *magnitude * (size_t)(px * py));
    reference_spectrum(reference, image, magnitude);
    for (long i = 0; i < width * height; i++)
        level[i] = 0;
    for (long v = 0; v < py; v++)
        for (long u = 0; u < px; u++) {
            const long column = (2 * u * width + px) / (2 * px) + width / 2;
            const long row = (2 * v * height + py) / (2 * py) + height / 2;
            double *pixel = &level[row % height * width + column % width];
            *pixel = fmax(*pixel, magnitude[v * px + u]);
        }
    for (long i = 0; i < width * height; i++)
        level[i] = clamp(
            (20 * log10(level[i] / full) - VIEW_BLACK_DB) / (VIEW_WHITE_DB - VIEW_BLACK_DB), 1);
    free(magnitude);
}

/* Whether a pixel is on a side of the square around the wave, or of the one opposite to it. */
static bool is_marked(const struct fftd_format *format, uint32_t x, uint32_t y)
{
    const long middle_x = format->width / 2, middle_y = format->height / 2;
    for (int sign = -1; sign <= 1; sign += 2) {
        const double dx = fabs((double)(x - middle_x) - rint(sign * mark.fx * format->width));
        const double dy = fabs((double)(y - middle_y) - rint(sign * mark.fy * format->height));
        if (fmax(dx, dy) == 4)
            return true;
    }
    return false;
}

static void check_spectrum(const struct scene *scene)
{
    const enum view_kind kind = scene->has_peaks ? VIEW_PEAKS : VIEW_SPECTRUM;
    const struct fftd_format format = layout_of(scene->format, width_of(scene));
    const struct fftd_format layout =
        layout_of(scene->source != NULL ? scene->source : scene->format, format.width);
    const struct format_info *info = format_by_fourcc(format.fourcc);
    const struct filter_chain chain = chain_of(scene->has_peaks ? "none" : CHAIN);
    const double top = (1 << info->bits) - 1;
    const size_t count = (size_t)format.width * HEIGHT;
    uint8_t *in = malloc(layout.frame_bytes), *view = calloc(1, format.frame_bytes);
    double *luma = calloc(2, sizeof *luma * count), *level = luma + count;
    double worst = 0, least = 1, most = 0;
    unsigned marked = 0;
    draw(in, &layout, info->bits);
    for (size_t i = 0; i < count; i++)
        luma[i] = luma_at(&layout, in, (uint32_t)(i % format.width), (uint32_t)(i / format.width));
    struct engine *engine = make(scene, kind, &format, &layout);
    filter(engine, kind, CHAIN, &format, &layout, in, view);
    const struct plan plan = *engine_plan(engine, 0);
    engine_destroy(engine);
    const struct reference reference = {.width = format.width,
                                        .height = HEIGHT,
                                        .padded_x = plan.x.length,
                                        .padded_y = plan.y.length,
                                        .sub_x = 1,
                                        .sub_y = 1,
                                        .chain = &chain};
    model_levels(&reference, top, luma, level);
    for (size_t i = 0; i < count; i++) {
        const uint32_t x = (uint32_t)(i % format.width), y = (uint32_t)(i / format.width);
        const double steps = luma_at(&format, view, x, y) / top * 255; /* 8 bits' */
        if (scene->has_peaks && is_marked(&format, x, y)) {
            marked += steps == 255;
            continue;
        }
        worst = fmax(worst, fabs(steps - 255 * level[i]));
        least = fmin(least, level[i]);
        most = fmax(most, level[i]);
        /* Half precision differs where H is nearly 0. */
        if (fabs(steps - 255 * level[i]) > (scene->precision == RECIPE_HALF ? 2
                                            : info->bits > 8                ? 0.1
                                                                            : 0.55))
            fail_msg("%s at %u, %u: %.2f, expected %.2f", scene->format, x, y, steps,
                     255 * level[i]);
    }
    assert_true(least < 0.7 && most == 1);
    assert_in_range(marked, scene->has_peaks ? 40 : 0, scene->has_peaks ? 64 : 0);
    check_is_grey(&format, view);
    printf("# figures: %s of %s %s %s: at most %.3f of 255 steps from the model\n",
           view_names[kind], scene->format, scene->technique == ENGINE_STAGED ? "staged" : "fused",
           scene->precision == RECIPE_HALF ? "half" : "float", worst);
    free(in);
    free(view);
    free(luma);
}

/* ---- edges ---- */

/* A sample of the picture, or the one of the nearest pixel. */
static double nearest(const double *picture, long width, long x, long y)
{
    x = x < 0 ? 0 : x >= width ? width - 1 : x;
    y = y < 0 ? 0 : y >= HEIGHT ? HEIGHT - 1 : y;
    return picture[y * width + x];
}

static double model_gradient(const double *picture, long width, long x, long y, bool downwards)
{
    static const double kernel[3][3] = {{-1, 0, 1}, {-2, 0, 2}, {-1, 0, 1}};
    double sum = 0;
    for (int dy = -1; dy <= 1; dy++)
        for (int dx = -1; dx <= 1; dx++)
            sum += (downwards ? kernel[dx + 1][dy + 1] : kernel[dy + 1][dx + 1]) *
                   nearest(picture, width, x + dx, y + dy);
    return sum;
}

static double model_strength(const double *picture, long width, long x, long y)
{
    if (x < 0 || y < 0 || x >= width || y >= HEIGHT)
        return 0;
    const double gx = model_gradient(picture, width, x, y, false);
    const double gy = model_gradient(picture, width, x, y, true);
    return gx * gx + gy * gy;
}

/* Numbers of 16 bits and their squares are exact in double precision. */
static double model_edge(const double *picture, long width, long x, long y)
{
    const double gx = model_gradient(picture, width, x, y, false);
    const double gy = model_gradient(picture, width, x, y, true);
    const double s = gx * gx + gy * gy;
    const long eighth = lrint(atan2(gy, gx) / (M_PI / 4)); /* of a turn, clockwise from the right */
    static const long direction[4][2] = {{1, 0}, {1, 1}, {0, 1}, {-1, 1}};
    const long dx = direction[eighth & 3][0], dy = direction[eighth & 3][1];
    /* (-1, 1) is turned around: the pixel before is that on the left. */
    const double before = (eighth & 3) == 3 ? model_strength(picture, width, x + dx, y + dy)
                                            : model_strength(picture, width, x - dx, y - dy);
    const double after = (eighth & 3) == 3 ? model_strength(picture, width, x - dx, y - dy)
                                           : model_strength(picture, width, x + dx, y + dy);
    return s > before && s >= after ? sqrt(s / 20) : 0;
}

/* Keeps the edges that the limits keep, by walking from the strong ones. levels: of model_edge, in
 * units of samples. */
static void model_track(double *level, long width, const struct view_limits *limits, double top)
{
    const double low = limits->low * top, high = fmax(limits->low, limits->high) * top;
    const long count = width * HEIGHT;
    long *stack = malloc(sizeof *stack * (size_t)count), depth = 0;
    bool *kept = calloc((size_t)count, sizeof *kept);
    for (long i = 0; i < count; i++)
        if (level[i] > 0 && level[i] >= high) {
            kept[i] = true;
            stack[depth++] = i;
        }
    while (depth > 0) {
        const long i = stack[--depth], x = i % width, y = i / width;
        for (long v = y - 1; v <= y + 1; v++)
            for (long u = x - 1; u <= x + 1; u++) {
                if (u < 0 || v < 0 || u >= width || v >= HEIGHT)
                    continue;
                const long at = v * width + u;
                if (!kept[at] && level[at] > 0 && level[at] >= low) {
                    kept[at] = true;
                    stack[depth++] = at;
                }
            }
    }
    for (long i = 0; i < count; i++)
        level[i] = kept[i] ? level[i] : 0;
    free(stack);
    free(kept);
}

/* The picture is what an engine publishes as luma alone. A step and a corner reach the border. */
static void check_edges(const struct scene *scene)
{
    const char *captured = scene->source != NULL ? scene->source : scene->format;
    const struct fftd_format format = layout_of(scene->format, width_of(scene));
    const struct fftd_format layout = layout_of(captured, format.width);
    const struct format_info *info = format_by_fourcc(format.fourcc);
    const struct fftd_format grey =
        layout_of(info->family == FAMILY_GREY ? scene->format : "GREY", format.width);
    uint8_t *in = malloc(layout.frame_bytes), *picture = calloc(1, grey.frame_bytes);
    uint8_t *view = calloc(1, format.frame_bytes);
    double *samples = calloc((size_t)format.width * HEIGHT, sizeof *samples), worst = 0;
    double *level = malloc(sizeof *level * format.width * HEIGHT);
    const bool is_tracked = view_has_limits(&scene->limits);
    unsigned kept = 0, suppressed = 0;
    struct scene luma = *scene;
    luma.source = captured;
    luma.planes = RECIPE_LUMA_ONLY;
    draw(in, &layout, format_by_fourcc(layout.fourcc)->bits);
    for (uint32_t y = 0; y < layout.plane[0].rows / 2; y++) /* even, and so with ties */
        memset(in + (size_t)y * layout.plane[0].stride, y < 4 ? 0 : 0x03,
               layout.plane[0].row_bytes / 2);
    struct engine *engine = make(&luma, VIEW_PICTURE, &grey, &layout);
    filter(engine, VIEW_PICTURE, "gaussian-blur:sigma=0.6", &grey, &layout, in, picture);
    engine_destroy(engine);
    for (uint32_t i = 0; i < format.width * HEIGHT; i++)
        samples[i] = luma_at(&grey, picture, i % format.width, i / format.width);
    engine = make(scene, VIEW_EDGES, &format, &layout);
    filter(engine, VIEW_EDGES, "gaussian-blur:sigma=0.6", &format, &layout, in, view);
    engine_destroy(engine);
    for (uint32_t i = 0; i < format.width * HEIGHT; i++)
        level[i] = model_edge(samples, format.width, i % format.width, i / format.width);
    model_track(level, format.width, &scene->limits, (1u << info->bits) - 1);
    for (uint32_t i = 0; i < format.width * HEIGHT; i++) {
        const uint32_t x = i % format.width, y = i / format.width;
        const double expected = level[i];
        const double got = luma_at(&format, view, x, y);
        worst = fmax(worst, fabs(got - expected));
        kept += expected > 0;
        suppressed += expected == 0 && model_strength(samples, format.width, x, y) > 0;
        /* Square roots are floats: of 16 bits, a level near half a step may be rounded either way.
         */
        if (fabs(got - expected) > 0.5 + (info->bits > 12 ? 0.02 : 1e-3) ||
            (expected == 0 && got > 0))
            fail_msg("%s at %u, %u: %.0f, expected %.3f", scene->format, x, y, got, expected);
    }
    assert_true(kept > format.width * HEIGHT / (is_tracked ? 64 : 16) &&
                suppressed > format.width * HEIGHT / 8);
    check_is_grey(&format, view);
    printf("# figures: edges of %s %s: at most %.3f from the model, %u of %u pixels\n", captured,
           scene->technique == ENGINE_STAGED ? "staged" : "fused", worst, kept,
           format.width * HEIGHT);
    free(in);
    free(picture);
    free(view);
    free(samples);
    free(level);
}

/* ---- tests ---- */

static void test_edges(void **state)
{
    static const struct scene scenes[] = {
        {.format = "NV12"},
        {.format = "GREY", .limits = {.low = 0.15, .high = 0.3}},
        {.format = "YUYV", .technique = ENGINE_STAGED, .limits = {.low = 0.2, .high = 0.35}},
        {.format = "Y16", .limits = {.low = 0.15, .high = 0.3}},
        {.format = "YUYV", .technique = ENGINE_STAGED},
        {.format = "Y16"},
        {.format = "XBGR32", .source = "SGRBG10"},
        {.format = "GREY", .source = "UYVY", .planes = RECIPE_LUMA_ONLY, .is_wide = true},
        {.format = "RGB24", .planes = RECIPE_ALL},
        {.format = "Y12", .technique = ENGINE_STAGED},
        {.format = "GREY", .precision = RECIPE_HALF},
        {.format = "YUYV"},
        {.format = "XRGB32", .technique = ENGINE_STAGED},
        {.format = "GREY",
         .source = "SBGGR8",
         .planes = RECIPE_LUMA_ONLY,
         .technique = ENGINE_STAGED},
    };
    (void)state;
    for (size_t i = 0; i < (device_takes_every_layout() ? sizeof scenes / sizeof scenes[0] : 8);
         i++)
        check_edges(&scenes[i]);
}

/* The strongest gradient there is, which is white, and one that is as strong as its neighbours. */
static void test_the_greatest_edge_is_white(void **state)
{
    static const struct scene scene = {.format = "GREY"};
    const struct fftd_format format = layout_of("GREY", WIDTH);
    uint8_t *in = calloc(2, format.frame_bytes), *view = in + format.frame_bytes;
    (void)state;
    for (uint32_t y = 0; y < HEIGHT; y++)
        for (uint32_t x = 0; x < WIDTH; x++) /* to the right of (9, 9), and below its corner */
            in[y * format.plane[0].stride + x] = x > 9 || (x == 9 && y > 9) ? 255 : 0;
    struct engine *engine = make(&scene, VIEW_EDGES, &format, &format);
    filter(engine, VIEW_EDGES, "none", &format, &format, in, view);
    engine_destroy(engine);
    assert_int_equal(view[9 * format.plane[0].stride + 9], 255);
    /* A vertical step of M has gx = 4 M in two columns, of which the left one is kept. */
    assert_int_equal(view[3 * format.plane[0].stride + 9], lrint(255 * 4 / sqrt(20)));
    assert_int_equal(view[3 * format.plane[0].stride + 10], 0);
    assert_int_equal(view[3 * format.plane[0].stride + 8], 0);
    free(in);
}

/* Edges in a picture of 8 bits with these limits. */
static uint8_t *tracked(const uint8_t *in, const struct fftd_format *format,
                        const struct view_limits *limits, enum engine_technique technique)
{
    const struct scene scene = {.format = "GREY", .limits = *limits, .technique = technique};
    uint8_t *view = calloc(1, format->frame_bytes);
    struct engine *engine = make(&scene, VIEW_EDGES, format, format);
    filter(engine, VIEW_EDGES, "none", format, format, in, view);
    engine_destroy(engine);
    return view;
}

/* An edge that fades along a spiral through the whole picture is kept to its end if it is strong
 * anywhere, and without that place it is not kept at all. */
static void test_an_edge_is_followed_to_its_end(void **state)
{
    enum { SIDE = 160, STEP = 8 };
    const struct view_limits limits = {.low = 0.02, .high = 0.5};
    struct fftd_format format;
    struct error why;
    (void)state;
    assert_int_equal(format_layout(&format, format_by_name("GREY")->fourcc, SIDE, SIDE, 4, &why),
                     0);
    uint8_t *in = calloc(1, format.frame_bytes);
    const uint32_t stride = format.plane[0].stride;
    /* A line of a few grey levels, which turns to the right before the border and its own turns. */
    long x = STEP, y = STEP, dx = 1, dy = 0, turns = 0;
    for (long left = SIDE - 2 * STEP; left > STEP; turns++) {
        for (long i = 0; i < left; i++, x += dx, y += dy)
            in[y * stride + x] = 24;
        const long turned = dx;
        dx = -dy;
        dy = turned;
        left -= turns % 2 == 1 ? STEP : 0;
    }
    assert_true(turns > 20);
    const long end = y * stride + x;
    for (unsigned technique = ENGINE_FUSED; technique <= ENGINE_STAGED; technique++) {
        for (unsigned is_strong = 0; is_strong <= 1; is_strong++) {
            unsigned count = 0;
            in[STEP * stride + STEP] = in[(STEP + 1) * stride + STEP] = is_strong ? 255 : 24;
            uint8_t *view = tracked(in, &format, &limits, technique);
            for (uint32_t i = 0; i < format.frame_bytes; i++)
                count += view[i] > 0;
            bool reaches_end = false;
            for (long v = -2; v <= 2; v++)
                for (long u = -2; u <= 2; u++)
                    reaches_end |= view[end + v * stride + u] > 0;
            assert_int_equal(reaches_end, is_strong);
            assert_true(is_strong ? count > 1000 : count == 0);
            free(view);
        }
    }
    free(in);
}

static void test_differences(void **state)
{
    static const struct scene scenes[] = {
        {.format = "NV12"},
        {.format = "YUYV", .technique = ENGINE_STAGED},
        {.format = "XBGR32", .source = "SGRBG10"},
        {.format = "RGB24"},
        {.format = "NV12", .planes = RECIPE_ALL},
        {.format = "Y12", .technique = ENGINE_STAGED},
        {.format = "GREY", .technique = ENGINE_STAGED},
        {.format = "XRGB32", .technique = ENGINE_STAGED, .planes = RECIPE_ALL},
        {.format = "YUYV"},
        {.format = "Y16"},
        {.format = "XBGR32", .source = "SBGGR8", .technique = ENGINE_STAGED},
    };
    (void)state;
    for (size_t i = 0; i < (device_takes_every_layout() ? sizeof scenes / sizeof scenes[0] : 2);
         i++)
        check_difference(&scenes[i]);
}

static void test_spectra(void **state)
{
    static const struct scene scenes[] = {
        {.format = "XRGB32"},
        {.format = "YUYV", .technique = ENGINE_STAGED, .precision = RECIPE_HALF},
        {.format = "Y12", .has_peaks = true},
        {.format = "NV12", .technique = ENGINE_STAGED, .precision = RECIPE_HALF, .has_peaks = true},
        {.format = "GREY", .precision = RECIPE_HALF, .has_peaks = true},
        {.format = "RGB24", .technique = ENGINE_STAGED, .has_peaks = true},
        {.format = "Y12"},
        {.format = "Y12", .technique = ENGINE_STAGED},
        {.format = "NV12", .precision = RECIPE_HALF, .planes = RECIPE_ALL},
        {.format = "YUYV"},
        {.format = "RGB24", .technique = ENGINE_STAGED},
    };
    (void)state;
    for (size_t i = 0; i < (device_takes_every_layout() ? sizeof scenes / sizeof scenes[0] : 3);
         i++)
        check_spectrum(&scenes[i]);
}

/* What GPUs use: one lane, both orders, with pairs beyond the last one, and with numbers held in
 * registers. The level is not rounded. */
static void test_layouts(void **state)
{
    static const struct {
        enum plan_order order;
        unsigned lanes, columns, rows, group;
        bool held;
    } cases[] = {
        {PLAN_ROWS_FIRST, 1, 3, 2, 24, true},    {PLAN_COLUMNS_FIRST, 1, 2, 3, 8, false},
        {PLAN_COLUMNS_FIRST, 4, 2, 2, 1, false}, {PLAN_ROWS_FIRST, 1, 4, 1, 16, false},
        {PLAN_COLUMNS_FIRST, 1, 4, 2, 32, true},
    };
    const struct filter_chain chain = chain_of(CHAIN);
    const struct transform_image image = floats_image(WIDTH, HEIGHT, 1);
    const struct transform_border border = {.mode = PLAN_REPLICATE, .margin_x = 3, .margin_y = 3};
    float in[PIXELS], out[PIXELS];
    double samples[PIXELS], level[PIXELS];
    uint64_t seed = 3;
    cl_int code;
    (void)state;
    for (size_t i = 0; i < PIXELS; i++)
        samples[i] = in[i] = (float)(255 * reference_noise(&seed));
    const cl_command_queue queue = clCreateCommandQueue(device->context, device->id, 0, &code);
    assert_int_equal(code, CL_SUCCESS);
    for (size_t i = 0; i < (device_takes_every_layout() ? sizeof cases / sizeof cases[0] : 3);
         i++) {
        struct transform_tuning tuning;
        struct transform *transform;
        struct transform_frame *frame = NULL;
        struct error warning, why = {""};
        double worst = 0;
        transform_default_tuning(&tuning, device);
        tuning.order = cases[i].order;
        tuning.lanes = cases[i].lanes;
        tuning.columns = cases[i].columns;
        tuning.rows = cases[i].rows;
        tuning.column_group = tuning.row_group = cases[i].group;
        tuning.columns_held = tuning.rows_held = cases[i].held;
        tuning.recipe.view = VIEW_SPECTRUM;
        if (transform_create(&transform, device, &image, &border, &tuning, NULL, &warning, &why) <
                0 ||
            transform_frame_create(&frame, transform, &why) < 0)
            fail_msg("%s", why.text);
        void *values = malloc(transform_response_bytes(transform));
        uint32_t band;
        assert_int_equal(transform_response_fill(transform, values, &chain, 1, 1, &band, &why), 0);
        const struct transform_buffers buffers = {
            .image = clCreateBuffer(device->context, CL_MEM_COPY_HOST_PTR, sizeof in, in, NULL),
            .result = clCreateBuffer(device->context, 0, sizeof out, NULL, NULL),
            .response = {clCreateBuffer(device->context, CL_MEM_COPY_HOST_PTR,
                                        transform_response_bytes(transform), values, NULL),
                         band}};
        if (transform_frame_enqueue(frame, queue, &buffers, NULL, NULL, &why) < 0)
            fail_msg("%s", why.text);
        assert_int_equal(
            clEnqueueReadBuffer(queue, buffers.result, CL_TRUE, 0, sizeof out, out, 0, NULL, NULL),
            CL_SUCCESS);
        const struct plan *plan = transform_plan(transform);
        const struct reference reference = {.width = WIDTH,
                                            .height = HEIGHT,
                                            .padded_x = plan->x.length,
                                            .padded_y = plan->y.length,
                                            .border = PLAN_REPLICATE,
                                            .sub_x = 1,
                                            .sub_y = 1,
                                            .chain = &chain};
        model_levels(&reference, 255, samples, level);
        for (size_t k = 0; k < PIXELS; k++)
            worst = fmax(worst, fabs((double)out[k] - 255 * level[k]));
        printf("# figures: layout %zu: at most %.4f of 255 steps from the model\n", i, worst);
        assert_true(worst < 0.05);
        transform_frame_destroy(frame);
        clReleaseMemObject(buffers.image);
        clReleaseMemObject(buffers.result);
        clReleaseMemObject(buffers.response.numbers);
        free(values);
        transform_destroy(transform);
    }
    clReleaseCommandQueue(queue);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_differences),
        cmocka_unit_test(test_spectra),
        cmocka_unit_test(test_edges),
        cmocka_unit_test(test_the_greatest_edge_is_white),
        cmocka_unit_test(test_an_edge_is_followed_to_its_end),
        cmocka_unit_test(test_layouts),
    };
    return cmocka_run_group_tests(tests, device_setup, device_teardown);
}
