/* Row 7: what surrounds the kernels of a frame in fftd itself, step by step, as `fftd-ctl stats`
 * shows it. One frame at a time, from the memory of the host to the memory of the host, at several
 * sizes. The result of the first frame is compared with one in double precision. */
#include "private.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/clock.h"
#include "engine/engine.h"

#define MAX_FRAMES       60
#define WARM_UP          3
#define LEAST_FRAMES     15
/* rusticl 22.3 reports some nanoseconds for kernels of any length. */
#define LEAST_KERNELS_NS 1000

enum { WHOLE, KERNELS, UPLOAD, DOWNLOAD, FIRST_STEP, FIGURE_COUNT = FIRST_STEP + OVERHEAD_COUNT };

static const char *const names[FIRST_STEP] = {"whole frame", "kernels", "sent to the device",
                                              "received from the device"};

struct camera {
    uint32_t width, height;
    uint8_t *picture, *result;
    struct engine *engine;
    struct fftd_format format;
};

static int open_engine(struct camera *camera, const struct bench *bench, struct error *why)
{
    const struct engine_options options = {.border = PLAN_MIRROR,
                                           .margin = 0,
                                           .recipe.planes = RECIPE_LUMA,
                                           .in_flight = 1,
                                           .tune = ENGINE_TUNE_OFF};
    struct engine_response *response;
    struct filter_chain chain;
    int r = format_layout(&camera->format, format_by_name("GREY")->fourcc, camera->width,
                          camera->height, 1, why);
    if (r == 0)
        r = engine_create(&camera->engine, bench->device, &camera->format, &options, 0,
                          getenv("BENCH_CACHE"), NULL, why);
    if (r == 0)
        r = filter_chain_parse(&chain, reference_chain, why);
    if (r == 0)
        r = engine_design(camera->engine, &chain, &response, why);
    if (r == 0)
        engine_apply(camera->engine, response, 1);
    camera->result = malloc(camera->format.frame_bytes);
    return r == 0 && camera->result == NULL ? error_set(why, ENOMEM, "out of memory") : r;
}

/* Filters one frame, and returns the time of the whole in nanoseconds. */
static int64_t filter(struct camera *camera, struct engine_done *done, struct error *why)
{
    const struct engine_job job = {.is_dispatched = true,
                                   .in = {camera->picture},
                                   .in_stride = {camera->width},
                                   .out = camera->result};
    const int64_t begun_ns = clock_now_ns();
    int r = engine_submit(camera->engine, &job, why);
    if (r == 0)
        r = engine_collect(camera->engine, true, done, why);
    return r < 0 ? r : clock_now_ns() - begun_ns;
}

static int validate(const struct camera *camera, struct error *why)
{
    const struct plan *plan = engine_plan(camera->engine, 0);
    double *expected = reference_filtered(camera->picture, camera->width, camera->height,
                                          plan->x.length, plan->y.length);
    double largest = 0;
    for (uint32_t y = 0; y < camera->height; y++)
        for (uint32_t x = 0; x < camera->width; x++) {
            const uint8_t got = camera->result[y * camera->format.plane[0].stride + x];
            largest = fmax(largest, fabs(got - expected[y * camera->width + x]));
        }
    free(expected);
    return largest <= 0.51
               ? 0
               : error_set(why, EDOM, "the error is %.2g: expected at most 0.51", largest);
}

/* A step that one frame does not report counts as 0 there, so that figures are of the same frames.
 */
static void add(struct figure *figure, int64_t ns)
{
    figure->ms[figure->count++] = ns > 0 ? (double)ns / 1e6 : 0;
}

static bool is_reported(const struct figure *figure)
{
    for (unsigned i = 0; i < figure->count; i++)
        if (figure->ms[i] > 0)
            return true;
    return false;
}

static int run(struct camera *camera, struct figure figure[FIGURE_COUNT], const struct bench *bench,
               struct error *why)
{
    const int64_t until_ns = clock_now_ns() + (int64_t)(bench->seconds * 1e9);
    struct engine_done done = {0};
    for (unsigned i = 0; i < WARM_UP + MAX_FRAMES; i++) {
        const int64_t whole_ns = filter(camera, &done, why);
        if (whole_ns < 0)
            return (int)whole_ns;
        const int r = i == 0 ? validate(camera, why) : 0;
        if (r < 0 || bench->untimed)
            return r;
        if (i < WARM_UP)
            continue;
        add(&figure[WHOLE], whole_ns);
        add(&figure[KERNELS], done.kernel_ns >= LEAST_KERNELS_NS ? done.kernel_ns : -1);
        add(&figure[UPLOAD], done.upload_ns);
        add(&figure[DOWNLOAD], done.download_ns);
        for (unsigned step = 0; step < OVERHEAD_COUNT; step++)
            add(&figure[FIRST_STEP + step], done.overhead.ns[step]);
        if (i >= WARM_UP + LEAST_FRAMES - 1 && clock_now_ns() > until_ns)
            break;
    }
    return 0;
}

static void measure(struct bench *bench, uint32_t width, uint32_t height)
{
    struct camera camera = {.width = width, .height = height};
    struct figure figure[FIGURE_COUNT] = {{0}};
    const struct group_head head = {
        .row = 7, .name = "steps of a frame in fftd, pixels", .x = (double)width * height};
    struct error why = {""};
    if (!bench_wants(bench, &head))
        return;
    for (unsigned i = 0; i < FIGURE_COUNT; i++) {
        figure[i].name = i < FIRST_STEP ? names[i] : overhead_names[i - FIRST_STEP];
        figure[i].ms = calloc(MAX_FRAMES, sizeof *figure[i].ms);
        if (figure[i].ms == NULL)
            abort();
    }
    camera.picture = reference_picture(width, height);
    int r = open_engine(&camera, bench, &why);
    if (r == 0)
        r = run(&camera, figure, bench, &why);
    for (unsigned i = 0; i < FIGURE_COUNT; i++)
        if (!is_reported(&figure[i]))
            figure[i].count = 0;
    bench_figures(bench, &head, figure, FIGURE_COUNT, r, &why);
    engine_destroy(camera.engine);
    free(camera.picture);
    free(camera.result);
    for (unsigned i = 0; i < FIGURE_COUNT; i++)
        free(figure[i].ms);
}

void overhead_measure(struct bench *bench)
{
    static const uint32_t frames[][2] = {{160, 120}, {640, 480}, {1920, 1080}};
    for (unsigned i = 0; i < (bench->sizes == SIZES_QUICK ? 1 : sizeof frames / sizeof frames[0]);
         i++)
        measure(bench, frames[i][0], frames[i][1]);
}
