/* Times the kernel of short filters with several settings, on one device, without the daemon:
 *
 *     build/tests/bench/direct [-1] [-t taps|half|fused] [DEVICE [WIDTHxHEIGHT [FILTER ...]]]
 *
 * The first line is a copy of a frame within the device. Each other line is a filter with settings:
 * microseconds of the fastest of some frames by the device's own clock, each alone; microseconds of
 * a frame where IN_FLIGHT of them overlap, as in the daemon; the mean processor time, to compare on
 * a CPU with other load; and the greatest difference of a sample from the result of the first
 * settings. Those are the ones of an engine that is not tuned; -1 leaves the others out. -t forces
 * a way to do it: taps without the half rate, which are transformed where the filter is not short;
 * the half rate (taps.h) with the kernel for a GPU on any device; `fused`. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/format.h"
#include "filters/recipe.h"
#include "transform/transform_private.h"
#include "transform/tuner.h"

#define FRAMES    200
#define PLACES    8 /* frames used in turn, so that none is in a near cache, as in the daemon */
#define IN_FLIGHT 3
#define ROUNDS    4 /* of FRAMES that overlap */

/* 0: as it is. */
struct variant {
    unsigned lanes, columns, rows, strip;
};

static const struct variant cpu_variants[] = {
    {0}, {.lanes = 8}, {.columns = 2}, {.columns = 4}, {.strip = 64}, {.strip = 256}};
static const struct variant gpu_variants[] = {{0},
                                              {.columns = 16},
                                              {.columns = 64, .rows = 2},
                                              {.strip = 4},
                                              {.strip = 16},
                                              {.rows = 2},
                                              {.rows = 2, .strip = 16},
                                              {.rows = 8},
                                              {.lanes = 8, .columns = 16}};

static const char *const filters[] = {
    "none",
    "convolve:kernel=1 2 3/-4 5 1/0 0.5 -2,normalise=sum",
    "convolve:kernel=1 0 0 0 2/0 2 0 1 0/0 0 3 0 0/0 3 0 4 0/5 0 0 0 5,normalise=sum",
    ("convolve:kernel=1 0 0 0 0 0 2/0 2 0 0 0 1 0/0 0 3 0 1 0 0/0 0 0 4 0 0 0/0 2 0 0 5 0 0/"
     "0 0 0 0 0 6 0/1 0 0 0 0 0 7,normalise=sum"),
    "box-blur:radius=4",
    "gaussian-blur:sigma=1",
    "gaussian-blur:sigma=2",
    "gaussian-blur:sigma=3",
    "sharpen:amount=1,sigma=1.5",
    "shift:by=4/-7",
    "gaussian-blur:sigma=5"};

struct bench {
    struct gpu_device *device;
    const char *way; /* "taps", "half", "fused"; "": the cheapest */
    uint32_t width, height;
    cl_command_queue queue;
    cl_mem in[PLACES], out[PLACES];
    uint8_t *first, *again;
};

static void check(int r, const struct error *why)
{
    if (r >= 0)
        return;
    fprintf(stderr, "direct: %s\n", why->text);
    exit(1);
}

static void check_call(cl_int code, const char *call)
{
    struct error why;
    if (code != CL_SUCCESS)
        check(opencl_fail(&why, code, call), &why);
}

static double processor_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return 1e6 * (double)now.tv_sec + (double)now.tv_nsec / 1e3;
}

static double now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return 1e6 * (double)now.tv_sec + (double)now.tv_nsec / 1e3;
}

/* Returns microseconds a frame with IN_FLIGHT frames at once. transform NULL: copies an image. */
static double time_flight(const struct bench *bench, struct transform *transform,
                          struct transform_buffers *buffers)
{
    cl_command_queue queue[IN_FLIGHT];
    struct transform_frame *frame[IN_FLIGHT];
    double best_us = HUGE_VAL;
    struct error why;
    for (unsigned i = 0; i < IN_FLIGHT; i++) {
        check(opencl_make_queue(&queue[i], bench->device, 0, &why), &why);
        if (transform != NULL)
            check(transform_frame_create(&frame[i], transform, &why), &why);
    }
    for (unsigned round = 0; round < ROUNDS; round++) {
        const double begun_us = now_us();
        for (unsigned i = 0; i < FRAMES; i++) {
            const cl_command_queue own = queue[i % IN_FLIGHT];
            buffers->image = bench->in[i % PLACES];
            buffers->result = bench->out[i % PLACES];
            if (transform != NULL)
                check(transform_frame_enqueue(frame[i % IN_FLIGHT], own, buffers, NULL, NULL, &why),
                      &why);
            else
                check_call(clEnqueueCopyBuffer(own, buffers->image, buffers->result, 0, 0,
                                               (size_t)bench->width * bench->height, 0, NULL, NULL),
                           "clEnqueueCopyBuffer");
            check_call(clFlush(own), "clFlush");
        }
        for (unsigned i = 0; i < IN_FLIGHT; i++)
            check_call(clFinish(queue[i]), "clFinish");
        best_us = fmin(best_us, (now_us() - begun_us) / FRAMES);
    }
    for (unsigned i = 0; i < IN_FLIGHT; i++) {
        if (transform != NULL)
            transform_frame_destroy(frame[i]);
        clReleaseCommandQueue(queue[i]);
    }
    return best_us;
}

static double time_frames(const struct bench *bench, struct transform_frame *frame,
                          struct transform_buffers *buffers, double *ret_processor_us)
{
    double best_us = HUGE_VAL, begun_us = 0;
    struct error why;
    for (unsigned i = 0; i < FRAMES; i++) {
        if (i == 1) /* the driver may compile during the first frame */
            begun_us = processor_us();
        cl_event first = NULL, last = NULL;
        buffers->image = bench->in[i % PLACES];
        buffers->result = bench->out[i % PLACES];
        cl_ulong start = 0, end = 0;
        check(transform_frame_enqueue(frame, bench->queue, buffers, &first, &last, &why), &why);
        check_call(clFinish(bench->queue), "clFinish");
        clGetEventProfilingInfo(first, CL_PROFILING_COMMAND_START, sizeof start, &start, NULL);
        clGetEventProfilingInfo(last, CL_PROFILING_COMMAND_END, sizeof end, &end, NULL);
        clReleaseEvent(first);
        clReleaseEvent(last);
        best_us = fmin(best_us, (double)(end - start) / 1e3);
    }
    *ret_processor_us = (processor_us() - begun_us) / (FRAMES - 1);
    return best_us;
}

static unsigned read_result(const struct bench *bench, bool is_first)
{
    const size_t size = (size_t)bench->width * bench->height;
    unsigned most = 0;
    check_call(clEnqueueReadBuffer(bench->queue, bench->out[0], CL_TRUE, 0, size,
                                   is_first ? bench->first : bench->again, 0, NULL, NULL),
               "clEnqueueReadBuffer");
    for (size_t i = 0; i < size && !is_first; i++) {
        const int apart = abs(bench->first[i] - bench->again[i]);
        most = apart > (int)most ? (unsigned)apart : most;
    }
    return most;
}

static void measure(const struct bench *bench, const struct filter_chain *chain, const char *text,
                    const struct variant *variant, bool is_first)
{
    const struct transform_image image = {.count = 1,
                                          .width = bench->width,
                                          .height = bench->height,
                                          .stride = bench->width,
                                          .step = 1,
                                          .kind = SAMPLE_U8,
                                          .bits = 8};
    const struct transform_border border = {.mode = PLAN_MIRROR, .margin_x = 32, .margin_y = 32};
    const struct recipe settings = {
        .captured = format_by_name("GREY")->fourcc,
        .reach = {.is_short = true,
                  .half_radius = *bench->way == '\0' ? transform_half_radius(bench->device) : 0}};
    const struct taps_samples samples = {.sub_x = 1, .sub_y = 1, .bits = 8};
    const bool is_half = strcmp(bench->way, "half") == 0;
    const bool is_fused = strcmp(bench->way, "fused") == 0;
    struct recipe recipe = recipe_of(chain, &settings);
    if (is_half || is_fused)
        recipe.reach = taps_half_reach_of(chain, &samples, is_half ? TAPS_MAX_HALF_RADIUS : 0);
    const struct tuner_subject subject = {.device = bench->device,
                                          .image = image,
                                          .border = border,
                                          .reach = recipe.reach,
                                          .any_technique = !is_half && !is_fused,
                                          .technique =
                                              is_half ? TRANSFORM_HALF_RATE : TRANSFORM_FUSED};
    struct transform_tuning tuning;
    struct transform *transform = NULL;
    struct transform_frame *frame;
    struct error warning, why;
    tuner_start(&tuning, &subject);
    tuning.recipe = recipe;
    tuning.lanes = variant->lanes > 0 ? variant->lanes : tuning.lanes;
    tuning.columns = variant->columns > 0 ? variant->columns : tuning.columns;
    tuning.rows = variant->rows > 0 ? variant->rows : tuning.rows;
    tuning.row_group = variant->strip > 0 ? variant->strip : tuning.row_group;
    if (tuning.technique == TRANSFORM_DIRECT && !gpu_device_is_cpu(bench->device))
        tuning.column_group = tuning.columns * tuning.rows;
    else if (tuning.technique != TRANSFORM_DIRECT && !is_first)
        return;
    check(
        transform_create(&transform, bench->device, &image, &border, &tuning, NULL, &warning, &why),
        &why);
    struct transform_buffers buffers = {0};
    const size_t size = transform_response_bytes(transform);
    void *values = malloc(size);
    check(transform_response_fill(transform, values, chain, 1, 1, &buffers.response.band, &why),
          &why);
    check(opencl_make_table(&buffers.response.numbers, bench->device->context, values, size, &why),
          &why);
    free(values);
    check(transform_frame_create(&frame, transform, &why), &why);
    double busy_us;
    const double us = time_frames(bench, frame, &buffers, &busy_us);
    const double flight_us = time_flight(bench, transform, &buffers);
    const struct transform_tuning *fitted = transform_tuning(transform);
    char form[64];
    transform_describe(transform, form, sizeof form);
    printf("%-28.28s %9.1f us, in flight %9.1f us, processor %9.1f us, %u off  %s, lanes %u, "
           "columns %u, rows %u, strip %u\n",
           text, us, flight_us, busy_us, read_result(bench, is_first), form, fitted->lanes,
           fitted->columns, fitted->rows, fitted->row_group);
    fflush(stdout);
    transform_frame_destroy(frame);
    opencl_release_buffer(buffers.response.numbers);
    transform_destroy(transform);
}

int main(int argc, char **argv)
{
    struct bench bench = {.width = 1280, .height = 720, .way = ""};
    struct error why;
    const bool is_brief = argc > 1 && strcmp(argv[1], "-1") == 0;
    argc -= is_brief;
    argv += is_brief;
    if (argc > 2 && strcmp(argv[1], "-t") == 0) {
        bench.way = argv[2];
        argc -= 2;
        argv += 2;
    }
    /* NOLINTNEXTLINE(cert-err34-c): the bench's user sees the size */
    if (argc > 2 && sscanf(argv[2], "%5ux%5u", &bench.width, &bench.height) != 2) {
        fprintf(stderr, "direct: %s: expected WIDTHxHEIGHT\n", argv[2]);
        return 1;
    }
    check(gpu_device_open(&bench.device, argc > 1 ? argv[1] : "auto", &why), &why);
    if (strcmp(bench.way, "half") == 0)
        bench.device->type = CL_DEVICE_TYPE_GPU;
    const bool is_cpu = gpu_device_is_cpu(bench.device);
    const struct variant *variants = is_cpu ? cpu_variants : gpu_variants;
    const size_t count = is_cpu ? sizeof cpu_variants / sizeof *cpu_variants
                                : sizeof gpu_variants / sizeof *gpu_variants;
    const size_t size = (size_t)bench.width * bench.height;
    bench.first = malloc(size);
    bench.again = malloc(size);
    for (size_t i = 0; i < size; i++)
        bench.first[i] = (uint8_t)(rand() >> 7);
    check(opencl_make_queue(&bench.queue, bench.device, CL_QUEUE_PROFILING_ENABLE, &why), &why);
    for (unsigned i = 0; i < PLACES; i++) {
        check(opencl_make_table(&bench.in[i], bench.device->context, bench.first, size, &why),
              &why);
        check(opencl_make_buffer(&bench.out[i], bench.device->context, CL_MEM_READ_WRITE, size,
                                 NULL, &why),
              &why);
    }
    struct transform_buffers any = {0};
    printf("%s, %ux%u\n%-28s %22.1f us in flight\n", bench.device->name, bench.width, bench.height,
           "a copy", time_flight(&bench, NULL, &any));
    const char *const *texts = argc > 3 ? (const char *const *)argv + 3 : filters;
    const size_t texts_count = argc > 3 ? (size_t)argc - 3 : sizeof filters / sizeof *filters;
    for (size_t i = 0; i < texts_count; i++) {
        struct filter_chain chain;
        check(filter_chain_parse(&chain, texts[i], &why), &why);
        for (size_t k = 0; k < (is_brief ? 1 : count); k++)
            measure(&bench, &chain, texts[i], &variants[k], k == 0);
        filter_chain_drop(&chain);
    }
    for (unsigned i = 0; i < PLACES; i++) {
        opencl_release_buffer(bench.in[i]);
        opencl_release_buffer(bench.out[i]);
    }
    clReleaseCommandQueue(bench.queue);
    gpu_device_close(bench.device);
    free(bench.first);
    free(bench.again);
    return 0;
}
