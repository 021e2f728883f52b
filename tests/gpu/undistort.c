/* Tests of frames whose pixels are moved: formats, techniques and borders, compared with a model in
 * double precision that only shares the response H with the code under test. */
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

#define MAX_PIXELS (64 * 48)
#define WIDTH      62
#define HEIGHT     34

/* The lens of all tests. The picture is calibrated at twice the size in SIZED. */
#define LENS                                                                                       \
    "undistort:fx=50,fy=47,cx=29.4,cy=17.8,k1=-0.31,k2=0.12,p1=0.004,p2=-0.006,k3=0.05,k4=0.03,"   \
    "k5=0.02,k6=0.01,zoom=0.9"
#define CUBIC_LENS LENS ",interpolation=bicubic"
#define SIZED                                                                                      \
    "undistort:fx=100,fy=94,cx=59.3,cy=36.1,k1=-0.31,k2=0.12,p1=0.004,p2=-0.006,k3=0.05,k4=0.03,"  \
    "k5=0.02,k6=0.01,zoom=0.9,size=124/68"

struct scene {
    const char *format, *source; /* source: a mosaic; NULL: as published */
    enum recipe_planes planes;
    enum engine_technique technique;
    enum plan_border border;
    enum recipe_precision precision;
    enum demosaic demosaic;
    const char *chain;
    bool has_vignette; /* of a = 0.4, b = 0.5 */
    bool is_cubic;
    const struct similarity *similarity; /* NULL: the engine has none */
};

/* Samples of one kind: luma, or one colour. */
struct channel {
    unsigned offset, step; /* bytes */
    unsigned plane, sub_x, sub_y;
    bool is_luma;
};

static bool scene_has_lens(const struct scene *scene)
{
    return scene->chain == NULL || strstr(scene->chain, "undistort") != NULL;
}

static struct engine *make_engine(const struct fftd_format *format, const struct scene *scene,
                                  uint32_t source)
{
    const struct engine_options options = {.recipe.captured = source,
                                           .recipe.planes = scene->planes,
                                           .technique = scene->technique,
                                           .border = scene->border,
                                           .border_value = 0.5,
                                           .recipe.precision = scene->precision,
                                           .recipe.demosaic = scene->demosaic,
                                           .margin = 16,
                                           .in_flight = 2,
                                           .recipe.calibrated = scene->has_vignette,
                                           .recipe.warped = scene_has_lens(scene),
                                           .recipe.similarities = scene->similarity != NULL,
                                           .recipe.cubic = scene->is_cubic};
    struct engine *engine;
    struct error why;
    if (engine_create(&engine, device, format, &options, 0, NULL, NULL, &why) < 0)
        fail_msg("%s", why.text);
    return engine;
}

static void filter(struct engine *engine, const struct fftd_format *layout, const char *chain,
                   const struct similarity *similarity, const uint8_t *in, uint8_t *out)
{
    const struct filter_chain parsed = chain_of(chain);
    struct engine_response *response;
    struct engine_job job = {0};
    struct error why;
    job.out = out;
    if (similarity != NULL)
        job.similarity = *similarity;
    if (engine_design(engine, &parsed, &response, &why) < 0)
        fail_msg("%s", why.text);
    engine_apply(engine, response, 1);
    engine_frame(engine, job, layout, in, chain);
}

static struct fftd_format layout_of(const char *name)
{
    struct fftd_format format;
    struct error why;
    if (format_layout(&format, format_by_name(name)->fourcc, WIDTH, HEIGHT, 4, &why) < 0)
        fail_msg("%s", why.text);
    return format;
}

/* ---- the model ---- */

/* Where the lens has drawn what an ideal one draws at a place, in pixels. */
static void distort(double x, double y, double *ret_x, double *ret_y)
{
    const double u = (x - 29.4) / 50 / 0.9, v = (y - 17.8) / 47 / 0.9, r = hypot(u, v);
    const double s = (1 - 0.31 * pow(r, 2) + 0.12 * pow(r, 4) + 0.05 * pow(r, 6)) /
                     (1 + 0.03 * pow(r, 2) + 0.02 * pow(r, 4) + 0.01 * pow(r, 6));
    const double p1 = 0.004, p2 = -0.006;
    *ret_x = 29.4 + 50 * (s * u + 2 * p1 * u * v + p2 * (r * r + 2 * u * u));
    *ret_y = 17.8 + 47 * (s * v + p1 * (r * r + 2 * v * v) + 2 * p2 * u * v);
}

/* To a 32nd of a sample, no further than the edge. */
static double place_of(double pixels, unsigned sub, long length)
{
    const double at = (pixels + 0.5) / sub - 0.5;
    const double last = (double)length - 1;
    return at < 0 ? 0 : at > last ? last : nearbyint(32 * at) / 32;
}

static double sample(const double *samples, long width, long height, double x, double y)
{
    double sum = 0;
    for (long v = 0; v < height; v++)
        for (long u = 0; u < width; u++) {
            const double near_x = 1 - fabs((double)u - x), near_y = 1 - fabs((double)v - y);
            if (near_x > 0 && near_y > 0)
                sum += near_x * near_y * samples[v * width + u];
        }
    return sum;
}

/* The weight of a sample at this distance (R. Keys, 1981, a = -0.75). */
static double cubic_weight(double distance)
{
    const double d = fabs(distance), a = -0.75;
    return d < 1   ? (a + 2) * pow(d, 3) - (a + 3) * pow(d, 2) + 1
           : d < 2 ? a * pow(d, 3) - 5 * a * pow(d, 2) + 8 * a * d - 4 * a
                   : 0;
}

static long within(long i, long length)
{
    return i < 0 ? 0 : i >= length ? length - 1 : i;
}

static double sample_by_cubic(const double *samples, long width, long height, double x, double y)
{
    double sum = 0;
    for (long v = -2; v < height + 2; v++)
        for (long u = -2; u < width + 2; u++)
            sum += cubic_weight((double)u - x) * cubic_weight((double)v - y) *
                   samples[within(v, height) * width + within(u, width)];
    return sum;
}

/* Where a place of a frame was before it was turned and enlarged about the middle, and moved. */
static void undo(const struct similarity *s, double *x, double *y)
{
    const double u = *x + 0.5 - 0.5 * WIDTH - s->dx, v = *y + 0.5 - 0.5 * HEIGHT - s->dy;
    const double c = cos(s->angle_rad) / exp(s->log_zoom), d = sin(s->angle_rad) / exp(s->log_zoom);
    *x = c * u + d * v + 0.5 * WIDTH - 0.5;
    *y = c * v - d * u + 0.5 * HEIGHT - 0.5;
}

/* Where a sample of a channel comes from, in samples. */
static void find_place(const struct scene *scene, const struct channel *c, long x, long y,
                       double ret[2])
{
    const long width = (WIDTH + c->sub_x - 1) / c->sub_x,
               height = (HEIGHT + c->sub_y - 1) / c->sub_y;
    double at_x = ((double)x + 0.5) * c->sub_x - 0.5, at_y = ((double)y + 0.5) * c->sub_y - 0.5;
    ret[0] = (double)x;
    ret[1] = (double)y;
    if (scene_has_lens(scene)) {
        distort(at_x, at_y, &at_x, &at_y);
        ret[0] = place_of(at_x, c->sub_x, width);
        ret[1] = place_of(at_y, c->sub_y, height);
    }
    if (scene->similarity != NULL) {
        at_x = (ret[0] + 0.5) * c->sub_x - 0.5;
        at_y = (ret[1] + 0.5) * c->sub_y - 0.5;
        undo(scene->similarity, &at_x, &at_y);
        ret[0] = fmin(fmax((at_x + 0.5) / c->sub_x - 0.5, 0), (double)width - 1);
        ret[1] = fmin(fmax((at_y + 0.5) / c->sub_y - 0.5, 0), (double)height - 1);
    }
}

static void move(const double *from, double *to, const struct channel *channel,
                 const struct scene *scene)
{
    const long width = (WIDTH + channel->sub_x - 1) / channel->sub_x;
    const long height = (HEIGHT + channel->sub_y - 1) / channel->sub_y;
    for (long y = 0; y < height; y++)
        for (long x = 0; x < width; x++) {
            double at[2];
            find_place(scene, channel, x, y, at);
            to[y * width + x] =
                (scene->is_cubic ? sample_by_cubic : sample)(from, width, height, at[0], at[1]);
        }
}

static double vignette_gain(long x, long y)
{
    const double r = hypot((double)x - (WIDTH - 1) / 2., (double)y - (HEIGHT - 1) / 2.) /
                     (hypot(WIDTH, HEIGHT) / 2);
    return 1 + 0.4 * pow(r, 2) + 0.5 * pow(r, 4);
}

static double read_sample(const uint8_t *frame, const struct fftd_format *layout, unsigned bits,
                          const struct channel *c, long x, long y)
{
    const struct fftd_plane *plane = &layout->plane[c->plane];
    const uint8_t *at = frame + plane->offset + y * plane->stride + x * c->step + c->offset;
    return bits > 8 ? at[0] | at[1] << 8 : at[0];
}

/* Lists the samples of a format. */
static unsigned list_channels(const struct format_info *info, bool all, struct channel ret[3])
{
    if (info->kind == SAMPLE_RGB8 || info->kind == SAMPLE_BAYER) {
        for (unsigned i = 0; i < 3; i++)
            ret[i] = (struct channel){.offset = info->rgb[i],
                                      .step = info->step,
                                      .sub_x = 1,
                                      .sub_y = 1,
                                      .is_luma = true};
        return 3;
    }
    ret[0] = (struct channel){
        .offset = info->offset, .step = info->step, .sub_x = 1, .sub_y = 1, .is_luma = true};
    if (!all)
        return 1;
    for (unsigned i = 0; i < 2; i++)
        ret[1 + i] = info->plane_count == 1
                         ? (struct channel){.offset = (info->offset ^ 1u) + 2 * i,
                                            .step = 4,
                                            .sub_x = 2,
                                            .sub_y = 1}
                         : (struct channel){.offset = i,
                                            .step = 2,
                                            .plane = 1,
                                            .sub_x = info->plane[1].sub_x,
                                            .sub_y = info->plane[1].sub_y};
    return 3;
}

/* What a channel's samples are after they were corrected and moved, and before the filter. */
static void load(const struct scene *scene, const struct fftd_format *layout, const uint8_t *in,
                 const struct channel *channel, unsigned colour, double *ret)
{
    const struct format_info *info = format_by_fourcc(layout->fourcc);
    static double raw[MAX_PIXELS], full[MAX_PIXELS];
    const struct channel mosaic = {.step = info->step, .sub_x = 1, .sub_y = 1, .is_luma = true};
    const struct channel *from = info->kind == SAMPLE_BAYER ? &mosaic : channel;
    const long width = WIDTH / from->sub_x, height = HEIGHT / from->sub_y;
    for (long y = 0; y < height; y++)
        for (long x = 0; x < width; x++)
            raw[y * width + x] =
                read_sample(in, layout, info->bits, from, x, y) *
                (scene->has_vignette && channel->is_luma ? vignette_gain(x, y) : 1) *
                (info->kind == SAMPLE_BAYER ? 255. / ((1 << info->bits) - 1) : 1);
    if (info->kind == SAMPLE_BAYER)
        for (long i = 0; i < WIDTH * HEIGHT; i++)
            full[i] = reference_mosaic(scene->source, scene->demosaic, raw, WIDTH, HEIGHT,
                                       i % WIDTH, i / WIDTH, colour);
    move(info->kind == SAMPLE_BAYER ? full : raw, ret, channel, scene);
}

static void filter_model(const struct scene *scene, const struct engine *engine, unsigned index,
                         const struct channel *c, double top, const double *in, double *out)
{
    const struct plan *plan = engine_plan(engine, index);
    const struct filter_chain chain = chain_of(scene->chain);
    const struct reference reference = {.width = WIDTH / c->sub_x,
                                        .height = HEIGHT / c->sub_y,
                                        .padded_x = plan->x.length,
                                        .padded_y = plan->y.length,
                                        .border = scene->border,
                                        .border_value = 0.5 * top,
                                        .sub_x = c->sub_x,
                                        .sub_y = c->sub_y,
                                        .chain = &chain};
    reference_filter(&reference, in, out);
}

/* ---- comparing ---- */

static void draw(uint8_t *frame, const struct fftd_format *layout, unsigned bits)
{
    uint64_t seed = 11;
    const size_t bytes = bits > 8 ? 2 : 1;
    for (size_t i = 0; i < layout->frame_bytes; i += bytes) {
        const unsigned code =
            (unsigned)((0.15 + 0.5 * reference_noise(&seed)) * ((1u << bits) - 1));
        frame[i] = (uint8_t)code;
        if (bits > 8)
            frame[i + 1] = (uint8_t)(code >> 8);
    }
}

static double compare(const struct scene *scene, const struct engine *engine,
                      const struct fftd_format *layout, const uint8_t *in,
                      const struct fftd_format *format, const uint8_t *out)
{
    const struct format_info *info = format_by_fourcc(format->fourcc);
    const bool is_rgb = info->kind == SAMPLE_RGB8, all = scene->planes == RECIPE_ALL;
    const double top = (1 << info->bits) - 1;
    static double loaded[3][MAX_PIXELS], filtered[MAX_PIXELS], luma[MAX_PIXELS];
    struct channel channels[3];
    const unsigned count = list_channels(info, all, channels);
    double worst = 0;
    for (unsigned c = 0; c < count; c++)
        load(scene, layout, in, &channels[c], c, loaded[c]);
    for (long i = 0; i < WIDTH * HEIGHT; i++)
        luma[i] = 0.299 * loaded[0][i] + 0.587 * loaded[1][i] + 0.114 * loaded[2][i];
    for (unsigned c = 0; c < count; c++) {
        const struct channel *channel = &channels[c];
        const double *from = is_rgb && !all ? luma : loaded[c];
        const long width = WIDTH / channel->sub_x, height = HEIGHT / channel->sub_y;
        filter_model(scene, engine, is_rgb && !all ? 0 : c, channel, top, from, filtered);
        for (long i = 0; i < width * height; i++) {
            const double wanted = fmin(fmax(loaded[c][i] + filtered[i] - from[i], 0), top);
            const double got = read_sample(out, format, info->bits, channel, i % width, i / width);
            worst = fmax(worst, fabs(got - wanted));
        }
    }
    return worst;
}

static void check(const struct scene *scene)
{
    const char *captured = scene->source != NULL ? scene->source : scene->format;
    const struct fftd_format format = layout_of(scene->format), layout = layout_of(captured);
    const struct format_info *info = format_by_fourcc(layout.fourcc);
    struct engine *engine = make_engine(&format, scene, scene->source != NULL ? layout.fourcc : 0);
    uint8_t *in = malloc(layout.frame_bytes), *out = calloc(1, format.frame_bytes);
    assert_non_null(strstr(engine_description(engine),
                           scene->similarity != NULL ? ", similarities" : ", warped"));
    draw(in, &layout, info->bits);
    filter(engine, &layout, scene->chain, scene->similarity, in, out);
    const double worst = compare(scene, engine, &layout, in, &format, out);
    printf("# figures: %s%s%s %s, %s: at most %.3f from the model\n", scene->format,
           scene->source != NULL ? " of " : "", scene->source != NULL ? scene->source : "",
           scene->technique == ENGINE_STAGED ? "staged" : "fused",
           scene->planes == RECIPE_ALL ? "all planes" : "luma", worst);
    assert_true(worst <= (scene->precision == RECIPE_HALF ? 2 : info->bits > 12 ? 1 : 0.51));
    free(in);
    free(out);
    engine_destroy(engine);
}

/* ---- tests ---- */

#define BLUR " | gaussian-blur:sigma=1"

/* The kinds of samples, of arrangements and of borders; the rest differ in a detail. */
static void test_cubic_convolution(void **state)
{
    static const struct scene scenes[] = {
        {.format = "GREY", .chain = CUBIC_LENS, .is_cubic = true},
        {.format = "RGB24",
         .chain = CUBIC_LENS " | vignette:a=0.4,b=0.5" BLUR,
         .has_vignette = true,
         .is_cubic = true},
        {.format = "NV12",
         .planes = RECIPE_ALL,
         .technique = ENGINE_STAGED,
         .chain = CUBIC_LENS,
         .is_cubic = true},
        {.format = "XBGR32", .source = "SGRBG10", .chain = CUBIC_LENS BLUR, .is_cubic = true},
    };
    (void)state;
    for (size_t i = 0; i < sizeof scenes / sizeof scenes[0]; i++)
        check(&scenes[i]);
}

static void test_formats(void **state)
{
    static const struct scene scenes[] = {
        {.format = "GREY", .chain = LENS},
        {.format = "GREY", .chain = "vignette:a=0.4,b=0.5 | " LENS BLUR, .has_vignette = true},
        {.format = "NV12", .planes = RECIPE_ALL, .chain = LENS BLUR},
        {.format = "XBGR32",
         .source = "SGRBG10",
         .demosaic = DEMOSAIC_GRADIENTS,
         .chain = LENS BLUR},
        {.format = "YUYV",
         .planes = RECIPE_ALL,
         .chain = LENS " | vignette:a=0.4,b=0.5",
         .has_vignette = true},
        {.format = "RGB24", .chain = SIZED BLUR},
        {.format = "Y12", .border = PLAN_CONSTANT, .chain = SIZED BLUR},
        {.format = "RGB24", .planes = RECIPE_ALL, .chain = LENS BLUR},
        {.format = "Y16", .border = PLAN_WRAP, .chain = LENS BLUR},
        {.format = "XBGR32",
         .source = "SBGGR8",
         .planes = RECIPE_ALL,
         .chain = LENS " | vignette:a=0.4,b=0.5",
         .has_vignette = true},
    };
    (void)state;
    for (size_t i = 0; i < (device_takes_every_layout() ? sizeof scenes / sizeof scenes[0] : 5);
         i++)
        check(&scenes[i]);
}

static void test_staged(void **state)
{
    static const struct scene scenes[] = {
        {.format = "GREY", .technique = ENGINE_STAGED, .chain = LENS BLUR},
        {.format = "Y10",
         .technique = ENGINE_STAGED,
         .border = PLAN_CONSTANT,
         .chain = LENS " | vignette:a=0.4,b=0.5",
         .has_vignette = true},
        {.format = "NV12", .technique = ENGINE_STAGED, .planes = RECIPE_ALL, .chain = LENS BLUR},
        {.format = "XRGB32", .technique = ENGINE_STAGED, .chain = LENS BLUR},
        {.format = "GREY",
         .technique = ENGINE_STAGED,
         .precision = RECIPE_HALF,
         .chain = LENS BLUR},
    };
    (void)state;
    for (size_t i = 0; i < (device_takes_every_layout() ? sizeof scenes / sizeof scenes[0] : 3);
         i++)
        check(&scenes[i]);
}

#define SIMILAR "stabilise:model=similarity"

/* As stabilise moves frames: by numbers of each frame, with and without a table of the chain. */
static void test_similarities(void **state)
{
    static const struct similarity turned = {
        .dx = 2.3, .dy = -1.6, .angle_rad = 0.06, .log_zoom = 0.03};
    static const struct similarity moved = {.dx = -3.25, .dy = 0.75};
    static const struct similarity smaller = {.angle_rad = -0.04, .log_zoom = -0.05};
    static const struct scene scenes[] = {
        {.format = "GREY", .chain = SIMILAR BLUR, .is_cubic = true, .similarity = &turned},
        {.format = "GREY", .chain = SIMILAR, .is_cubic = true, .similarity = &moved},
        {.format = "NV12",
         .planes = RECIPE_ALL,
         .chain = SIMILAR BLUR,
         .is_cubic = true,
         .similarity = &turned},
        {.format = "YUYV",
         .planes = RECIPE_ALL,
         .technique = ENGINE_STAGED,
         .chain = SIMILAR,
         .is_cubic = true,
         .similarity = &smaller},
        {.format = "GREY",
         .technique = ENGINE_STAGED,
         .chain = SIMILAR " | " LENS,
         .is_cubic = true,
         .similarity = &turned},
        {.format = "RGB24",
         .chain = SIMILAR " | vignette:a=0.4,b=0.5" BLUR,
         .has_vignette = true,
         .is_cubic = true,
         .similarity = &turned},
        {.format = "XBGR32",
         .source = "SGRBG10",
         .chain = SIMILAR " | " CUBIC_LENS,
         .is_cubic = true,
         .similarity = &smaller},
        {.format = "Y12",
         .precision = RECIPE_HALF,
         .border = PLAN_CONSTANT,
         .chain = SIMILAR BLUR,
         .is_cubic = true,
         .similarity = &turned},
    };
    (void)state;
    for (size_t i = 0; i < (device_takes_every_layout() ? sizeof scenes / sizeof scenes[0] : 5);
         i++)
        check(&scenes[i]);
}

/* Frames in flight have their own numbers; the third one has none and stays as it is. */
static void test_each_frame_has_its_similarity(void **state)
{
    static const struct similarity both[3] = {
        {.dx = 1.5, .angle_rad = 0.05}, {.dy = -2.25, .log_zoom = 0.02}, {.dx = 0}};
    const struct fftd_format format = layout_of("GREY");
    const struct filter_chain chain = chain_of(SIMILAR);
    struct scene scene = {
        .format = "GREY", .chain = SIMILAR, .is_cubic = true, .similarity = &both[0]};
    struct engine *engine = make_engine(&format, &scene, 0);
    struct engine_response *response;
    uint8_t *in = malloc(format.frame_bytes), *out[3];
    struct engine_done done;
    struct error why;
    (void)state;
    assert_int_equal(engine_design(engine, &chain, &response, &why), 0);
    engine_apply(engine, response, 1);
    draw(in, &format, 8);
    for (unsigned i = 0; i < 3; i++) {
        const struct engine_job job = {.in = {in},
                                       .in_stride = {format.plane[0].stride},
                                       .out = out[i] = calloc(1, format.frame_bytes),
                                       .similarity = both[i]};
        if (i == 2)
            assert_int_equal(engine_collect(engine, true, &done, &why), 0);
        assert_int_equal(engine_submit(engine, &job, &why), 0);
    }
    while (engine_in_flight(engine) > 0)
        assert_int_equal(engine_collect(engine, true, &done, &why), 0);
    for (unsigned i = 0; i < 3; i++) {
        scene.similarity = &both[i];
        assert_true(compare(&scene, engine, &format, in, &format, out[i]) <= 0.51);
    }
    for (unsigned y = 0; y < HEIGHT; y++)
        assert_memory_equal(in + (size_t)y * format.plane[0].stride,
                            out[2] + (size_t)y * format.plane[0].stride, WIDTH);
    for (unsigned i = 0; i < 3; i++)
        free(out[i]);
    free(in);
    engine_destroy(engine);
}

/* Without a stage that moves pixels, such an engine leaves a frame as it is. */
static void test_no_stage(void **state)
{
    const struct fftd_format format = layout_of("NV12");
    const struct scene scene = {.format = "NV12", .planes = RECIPE_ALL};
    struct engine *engine = make_engine(&format, &scene, 0);
    uint8_t *in = malloc(format.frame_bytes), *out = malloc(format.frame_bytes);
    (void)state;
    draw(in, &format, 8);
    memcpy(out, in, format.frame_bytes); /* with what is between rows */
    filter(engine, &format, "none", NULL, in, out);
    for (unsigned p = 0; p < format.plane_count; p++)
        for (unsigned y = 0; y < format.plane[p].rows; y++) {
            const size_t at = format.plane[p].offset + (size_t)y * format.plane[p].stride;
            assert_memory_equal(in + at, out + at, format.plane[p].row_bytes);
        }
    free(in);
    free(out);
    engine_destroy(engine);
}

static void refuse(const char *name, const struct scene *scene, const char *chain, int expected,
                   const char *reason)
{
    const struct fftd_format format = layout_of(name);
    const struct filter_chain parsed = chain_of(chain);
    struct engine *engine = make_engine(&format, scene, 0);
    struct engine_response *response = NULL;
    struct error why = {""};
    assert_int_equal(engine_design(engine, &parsed, &response, &why), expected);
    assert_null(response);
    if (strstr(why.text, reason) == NULL)
        fail_msg("%s: expected %s", why.text, reason);
    engine_destroy(engine);
}

static void test_refusals(void **state)
{
    static const struct scene luma = {.planes = RECIPE_LUMA}, all = {.planes = RECIPE_ALL};
    (void)state;
    refuse("NV12", &luma, LENS, -EINVAL, "engine.planes = all");
    refuse("YUYV", &luma, LENS, -EINVAL, "engine.planes = all");
    refuse("NV12", &all, "undistort:fx=50,fy=50,cx=30,cy=17,size=64/48", -EINVAL,
           "size = 64/48 does not have the proportions of the frames, 62x34");
    refuse("GREY", &luma, "undistort:fx=50,fy=50,cx=30,cy=17,k4=-100", -EINVAL, "to no place");
    refuse("GREY", &luma, SIMILAR, -EINVAL, "expected an engine with similarities");
    static const struct similarity none = {.dx = 0}, turned = {.angle_rad = 0.1};
    static const struct scene similar = {.chain = "none", .is_cubic = true, .similarity = &none};
    refuse("NV12", &similar, SIMILAR, -EINVAL, "engine.planes = all");
    const struct fftd_format format = layout_of("GREY");
    struct engine *engine = make_engine(&format, &luma, 0);
    uint8_t *frame = calloc(2, format.frame_bytes);
    const struct engine_job job = {.in = {frame},
                                   .in_stride = {format.plane[0].stride},
                                   .out = frame + format.frame_bytes,
                                   .similarity = turned};
    struct error why = {""};
    assert_int_equal(engine_submit(engine, &job, &why), -EINVAL);
    assert_non_null(strstr(why.text, "expected an engine with similarities"));
    free(frame);
    engine_destroy(engine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_formats),      cmocka_unit_test(test_cubic_convolution),
        cmocka_unit_test(test_staged),       cmocka_unit_test(test_no_stage),
        cmocka_unit_test(test_similarities), cmocka_unit_test(test_each_frame_has_its_similarity),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, device_setup, device_teardown);
}
