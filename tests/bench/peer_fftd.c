/* fftd's transform, from an 8-bit frame to an 8-bit frame, both on the device. Frames use several
 * queues in turn, each with its own spectrum, as in the engine. "tuned" uses the result of the
 * tuner's quick search; the others use the device's default settings. "bare" has no margin, like
 * its peers. "pairs" filters two consecutive frames of one buffer in the same dispatches, as for
 * two cameras. "four columns" has the panels that were fastest on an H100 with frames in flight,
 * and not alone, which the search does not take. "complex" reads an imaginary part of the response,
 * which is 0, like its peers'. All compute the whole spectrum, as the peers do, and not only the
 * band of the response. */
#include "fft.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "filters/filter.h"
#include "engine/engine.h"
#include "transform/transform.h"
#include "transform/tuner.h"

#define MARGIN 16

enum variant {
    FUSED = 0,
    STAGED = 1,
    HALF = 2,
    BARE = 4,
    TUNED = 8,
    PAIRS = 16,
    COMPLEX = 32,
    FOUR_COLUMNS = 64
};

struct run {
    const struct scene *scene;
    struct transform *transform;
    size_t frame_bytes;
    unsigned frames; /* consecutive in the buffer */
    cl_mem image, response;
    struct {
        cl_command_queue queue;
        struct transform_frame *frame;
        cl_mem result;
    } slot[ENGINE_MAX_IN_FLIGHT];
    unsigned next, last; /* slots */
};

static void print_version(char *text, size_t size)
{
    snprintf(text, size, "%s", FFTD_VERSION);
}

static void run_close(void *state)
{
    struct run *run = state;
    if (run == NULL)
        return;
    for (unsigned i = 0; i < ENGINE_MAX_IN_FLIGHT; i++) {
        transform_frame_destroy(run->slot[i].frame);
        fft_buffer_release(run->slot[i].result);
        if (run->slot[i].queue != NULL)
            clReleaseCommandQueue(run->slot[i].queue);
    }
    transform_destroy(run->transform);
    fft_buffer_release(run->image);
    fft_buffer_release(run->response);
    free(run);
}

static int make_response(struct run *run, struct error *why)
{
    const size_t size = transform_response_bytes(run->transform);
    struct filter_chain chain;
    int r = filter_chain_parse(&chain, fft_chain, why);
    if (r < 0)
        return r;
    void *values = malloc(size);
    if (values == NULL)
        return error_set(why, ENOMEM, "out of memory while computing the response");
    r = transform_response_fill(run->transform, values, &chain, 1, 1, NULL, why);
    if (r == 0)
        r = fft_buffer(&run->response, run->scene, size, values, why);
    free(values);
    return r;
}

static int make_image(struct run *run, struct error *why)
{
    int r = fft_buffer(&run->image, run->scene, run->frames * run->frame_bytes, NULL, why);
    for (unsigned i = 0; i < run->frames && r == 0; i++) {
        const cl_int code =
            clEnqueueWriteBuffer(run->scene->queue, run->image, CL_TRUE, i * run->frame_bytes,
                                 run->frame_bytes, run->scene->pixels, 0, NULL, NULL);
        r = code == CL_SUCCESS ? 0 : opencl_fail(why, code, "clEnqueueWriteBuffer");
    }
    return r;
}

static int make_slots(struct run *run, struct error *why)
{
    const struct scene *scene = run->scene;
    int r = 0;
    for (unsigned i = 0; i < ENGINE_MAX_IN_FLIGHT && r == 0; i++) {
        cl_int code;
        run->slot[i].queue =
            clCreateCommandQueue(scene->device->context, scene->device->id, 0, &code);
        if (code != CL_SUCCESS)
            return opencl_fail(why, code, "clCreateCommandQueue");
        r = transform_frame_create(&run->slot[i].frame, run->transform, why);
        if (r == 0)
            r = fft_buffer(&run->slot[i].result, scene, run->frames * run->frame_bytes, NULL, why);
    }
    return r;
}

/* Searches without a margin. Sizes found so are too small with a margin, in which case the planner
 * chooses the size. The directory BENCH_CACHE keeps the result. */
static int search(struct transform_tuning *ret, const struct scene *scene,
                  const struct transform_image *image, struct error *why)
{
    const struct tuner_subject subject = {
        .device = scene->device, .image = *image, .any_technique = true};
    const char *cache_dir = getenv("BENCH_CACHE");
    struct error warning;
    struct tuner *tuner;
    if (tuner_find(ret, &subject, cache_dir, &warning))
        return 0;
    int r = tuner_create(&tuner, &subject, false, why);
    if (r < 0)
        return r;
    do
        r = tuner_step(tuner, why);
    while (r > 0);
    if (r == 0 && cache_dir != NULL)
        r = tuner_keep(tuner, cache_dir, why);
    tuner_get_best(tuner, ret);
    tuner_destroy(tuner);
    return r;
}

static int choose_tuning(struct transform_tuning *ret, unsigned variant, const struct scene *scene,
                         const struct transform_image *image, struct error *why)
{
    int r = 0;
    transform_default_tuning(ret, scene->device);
    if (variant & TUNED)
        r = search(ret, scene, image, why);
    ret->recipe.precision = variant & HALF ? RECIPE_HALF : RECIPE_FLOAT;
    ret->recipe.complex_response = variant & COMPLEX;
    if (variant & STAGED)
        ret->technique = TRANSFORM_STAGED;
    if (variant & FOUR_COLUMNS) {
        ret->columns = 4;
        ret->column_group = 360;
        ret->columns_held = true;
    }
    return r;
}

static int run_open(void **ret, const struct subject *subject, const struct scene *scene,
                    struct cost *cost, struct error *why)
{
    const size_t frame_bytes = (size_t)scene->width * scene->height;
    const unsigned frames = subject->variant & PAIRS ? 2 : 1;
    const struct transform_image image = {.count = frames,
                                          .apart = (uint32_t)frame_bytes,
                                          .width = scene->width,
                                          .height = scene->height,
                                          .stride = scene->width,
                                          .step = 1,
                                          .kind = SAMPLE_U8,
                                          .bits = 8};
    const uint32_t margin = subject->variant & BARE ? 0 : MARGIN;
    const struct transform_border border = {
        .mode = PLAN_MIRROR, .margin_x = margin, .margin_y = margin};
    struct transform_tuning tuning;
    struct error warning;
    struct run *run = calloc(1, sizeof *run);
    if (run == NULL)
        return error_set(why, ENOMEM, "out of memory while creating a run");
    run->scene = scene;
    run->frame_bytes = frame_bytes;
    run->frames = frames;
    int r = choose_tuning(&tuning, subject->variant, scene, &image, why);
    if (r == 0)
        r = transform_create(&run->transform, scene->device, &image, &border, &tuning,
                             getenv("BENCH_CACHE"), &warning, why);
    if (r == 0)
        r = make_image(run, why);
    if (r == 0)
        r = make_slots(run, why);
    if (r == 0)
        r = make_response(run, why);
    if (r < 0) {
        run_close(run);
        return r == -ERANGE ? -ENOTSUP : r;
    }
    const struct plan *plan = transform_plan(run->transform);
    cost->padded_x = plan->x.length;
    cost->padded_y = plan->y.length;
    cost->bytes_per_pixel = transform_traffic(run->transform) / (double)(frames * frame_bytes);
    cost->frames = frames;
    *ret = run;
    return 0;
}

static int run_enqueue(void *state, struct error *why)
{
    struct run *run = state;
    const unsigned slot = run->next;
    const struct transform_buffers buffers = {
        .image = run->image, .result = run->slot[slot].result, .response.numbers = run->response};
    run->last = slot;
    run->next = (slot + 1) % ENGINE_MAX_IN_FLIGHT;
    const int r = transform_frame_enqueue(run->slot[slot].frame, run->slot[slot].queue, &buffers,
                                          NULL, NULL, why);
    return r < 0 ? r : fft_submit(run->slot[slot].queue, why);
}

static int run_finish(void *state, struct error *why)
{
    const struct run *run = state;
    for (unsigned i = 0; i < ENGINE_MAX_IN_FLIGHT; i++) {
        const cl_int code = clFinish(run->slot[i].queue);
        if (code != CL_SUCCESS)
            return opencl_fail(why, code, "clFinish");
    }
    return 0;
}

static int run_read(void *state, float *result, struct error *why)
{
    const struct run *run = state;
    const size_t count = run->frame_bytes;
    uint8_t *pixels = malloc(run->frames * count);
    if (pixels == NULL)
        return error_set(why, ENOMEM, "out of memory while creating a frame");
    const cl_int code = clEnqueueReadBuffer(run->slot[run->last].queue, run->slot[run->last].result,
                                            CL_TRUE, 0, run->frames * count, pixels, 0, NULL, NULL);
    int r = code == CL_SUCCESS ? 0 : opencl_fail(why, code, "clEnqueueReadBuffer");
    for (size_t i = 0; r == 0 && i < count; i++)
        result[i] = pixels[i];
    if (r == 0 && memcmp(pixels, pixels + (run->frames - 1) * count, count) != 0)
        r = error_set(why, EDOM, "two equal frames have different results");
    free(pixels);
    return r;
}

/* clang-format off */
#define SUBJECT(text, bits) {.name = text, .variant = bits, .eight_bits = true, .error_limit = 1}
/* clang-format on */

static const struct subject subjects[] = {
    SUBJECT("fftd tuned float", TUNED),
    SUBJECT("fftd tuned half", TUNED | HALF),
    SUBJECT("fftd fused float", FUSED),
    SUBJECT("fftd staged float", STAGED),
    SUBJECT("fftd tuned float, bare", TUNED | BARE),
    SUBJECT("fftd tuned half, bare", TUNED | HALF | BARE),
    SUBJECT("fftd tuned half, bare, four columns", TUNED | HALF | BARE | FOUR_COLUMNS),
    SUBJECT("fftd fused float, bare", FUSED | BARE),
    SUBJECT("fftd staged float, bare", STAGED | BARE),
    SUBJECT("fftd fused float, bare, complex", FUSED | BARE | COMPLEX),
    SUBJECT("fftd fused half, bare, complex", FUSED | BARE | COMPLEX | HALF),
    SUBJECT("fftd staged float, bare, complex", STAGED | BARE | COMPLEX),
    SUBJECT("fftd tuned float, bare, pairs", TUNED | BARE | PAIRS),
};

const struct peer peer_fftd = {
    .name = "fftd",
    .version = print_version,
    .subjects = subjects,
    .subject_count = sizeof subjects / sizeof subjects[0],
    .open = run_open,
    .enqueue = run_enqueue,
    .finish = run_finish,
    .read = run_read,
    .close = run_close,
};
