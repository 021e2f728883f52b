/* Times fields of motion on one device, without the daemon:
 *
 *     build/tests/bench/field [DEVICE [WIDTHxHEIGHT [BLOCK [ROUNDS]]]]
 *
 * Pictures are panning leaves with noise of sigma 5, as floats on the device. One line: fields a
 * second where IN_FLIGHT of them overlap, as in the daemon, microseconds of a field that is alone,
 * until its vectors are in memory of the host, and of the thread that enqueues it; then the median
 * error of its vectors. Each is the best of ROUNDS, but the error. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "engine/field/field.h"
#include "support/flow.h"

#define FIELDS    300
#define IN_FLIGHT 3
#define PICTURES  4

struct bench {
    struct gpu_device *device;
    struct field *field;
    struct field_frame *frame[IN_FLIGHT];
    cl_command_queue queue[IN_FLIGHT];
    cl_mem picture[PICTURES];
};

static void check(int r, const struct error *why)
{
    if (r >= 0)
        return;
    fprintf(stderr, "field: %s\n", why->text);
    exit(1);
}

static double now_us(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return 1e6 * (double)now.tv_sec + (double)now.tv_nsec / 1e3;
}

/* Enqueues picture i in the next queue. */
static void enqueue(struct bench *bench, unsigned i, bool is_first)
{
    struct error why;
    const cl_command_queue queue = bench->queue[i % IN_FLIGHT];
    check(field_frame_enqueue(bench->frame[i % IN_FLIGHT], bench->field, queue,
                              bench->picture[i % PICTURES], is_first, NULL, &why),
          &why);
    clFlush(queue);
}

static double overlapping_us(struct bench *bench)
{
    const double begun_us = now_us(CLOCK_MONOTONIC);
    for (unsigned i = 0; i < FIELDS; i++) {
        if (i >= IN_FLIGHT) /* as the daemon, which collects a frame before it submits another */
            clFinish(bench->queue[i % IN_FLIGHT]);
        enqueue(bench, i, false);
    }
    for (unsigned i = 0; i < IN_FLIGHT; i++)
        clFinish(bench->queue[i]);
    return (now_us(CLOCK_MONOTONIC) - begun_us) / FIELDS;
}

static double alone_us(struct bench *bench, double *ret_enqueue_us)
{
    double least_us = HUGE_VAL;
    for (unsigned i = 0; i < FIELDS; i++) {
        const double begun_us = now_us(CLOCK_MONOTONIC), used_us = now_us(CLOCK_THREAD_CPUTIME_ID);
        enqueue(bench, i, false);
        *ret_enqueue_us = fmin(*ret_enqueue_us, now_us(CLOCK_THREAD_CPUTIME_ID) - used_us);
        clFinish(bench->queue[i % IN_FLIGHT]);
        least_us = fmin(least_us, now_us(CLOCK_MONOTONIC) - begun_us);
    }
    return least_us;
}

static int by_size(const void *a, const void *b)
{
    const double p = *(const double *)a, q = *(const double *)b;
    return (p > q) - (p < q);
}

/* The median error of picture 1, which has moved by (dx, dy) since picture 0. */
static double error_px(struct bench *bench, double dx, double dy)
{
    const struct motion_grid *grid = field_grid(bench->field);
    const unsigned count = grid->columns * grid->rows;
    double *error = calloc(count, sizeof *error);
    enqueue(bench, 0, true);
    enqueue(bench, 1, false);
    clFinish(bench->queue[1]);
    const struct motion_vector *vector = field_frame_vectors(bench->frame[1]);
    if (error == NULL || vector == NULL)
        exit(1);
    for (unsigned i = 0; i < count; i++)
        error[i] = hypot((double)vector[i].dx - dx, (double)vector[i].dy - dy);
    qsort(error, count, sizeof *error, by_size);
    const double ret = error[count / 2];
    free(error);
    return ret;
}

int main(int argc, char **argv)
{
    struct bench bench = {.device = NULL};
    struct field_size size = {
        .width = 1280, .height = 720, .scale = 1, .block = 32, .in_flight = IN_FLIGHT};
    struct error why = {""}, warning = {""};
    struct flow flow;
    const double dx = 3.3, dy = -1.7;
    if (argc > 2) {
        char *end;
        size.width = (unsigned)strtoul(argv[2], &end, 10);
        size.height = (unsigned)strtoul(end + (*end == 'x'), NULL, 10);
    }
    size.pitch = size.width;
    size.block = argc > 3 ? (unsigned)strtoul(argv[3], NULL, 10) : size.block;
    const unsigned rounds = argc > 4 ? (unsigned)strtoul(argv[4], NULL, 10) : 5;
    check(gpu_device_open(&bench.device, argc > 1 ? argv[1] : "auto", &why), &why);
    check(field_prepare(&bench.field, bench.device, &size, &why), &why);
    check(field_build(bench.field, true, NULL, &warning, &why), &why);
    flow_make_pan(&flow, size.width, size.height, dx, dy, 5, 1);
    for (unsigned i = 0; i < PICTURES; i++)
        check(opencl_make_buffer(&bench.picture[i], bench.device->context,
                                 CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR,
                                 (size_t)size.width * size.height * sizeof(float),
                                 i % 2 == 0 ? flow.last : flow.next, &why),
              &why);
    for (unsigned i = 0; i < IN_FLIGHT; i++) {
        check(opencl_make_queue(&bench.queue[i], bench.device, 0, &why), &why);
        check(field_frame_create(&bench.frame[i], bench.field, bench.queue[i], &why), &why);
    }
    const double error = error_px(&bench, dx, dy);
    double overlap_us = HUGE_VAL, latency_us = HUGE_VAL, enqueue_us = HUGE_VAL;
    for (unsigned i = 0; i < rounds; i++) {
        overlap_us = fmin(overlap_us, overlapping_us(&bench));
        latency_us = fmin(latency_us, alone_us(&bench, &enqueue_us));
    }
    printf("%s, %ux%u, blocks of %u: %.0f fields a second, %.0f us alone, %.0f us to enqueue %u "
           "dispatches; median error %.4f px\n",
           gpu_device_name(bench.device), size.width, size.height, size.block, 1e6 / overlap_us,
           latency_us, enqueue_us, field_dispatches(bench.field), error);
    for (unsigned i = 0; i < IN_FLIGHT; i++) {
        field_frame_destroy(bench.frame[i]);
        clReleaseCommandQueue(bench.queue[i]);
    }
    for (unsigned i = 0; i < PICTURES; i++)
        clReleaseMemObject(bench.picture[i]);
    field_destroy(bench.field);
    gpu_device_close(bench.device);
    flow_clear(&flow);
    return 0;
}
