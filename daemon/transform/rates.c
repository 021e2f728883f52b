#include "transform/rates.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/clock.h"
#include "gpu/program.h"

#define COPY_BYTES   ((size_t)32 << 20) /* more than the caches of a board */
#define ITEM_BYTES   sizeof(cl_float4)
#define GROUP_ITEMS  64u
#define COPIES       4                 /* of a round */
#define LAUNCHES     64                /* of a round that measures the time to begin a dispatch */
#define MEASURE_NS   (500 * NS_PER_MS) /* governors raise the clock within that time */
#define LEAST_ROUNDS 3

/* A core of the Mali-T760 has two arithmetic pipes and one load/store pipe (transform/cost.c). */
#define PIPES        2

struct copier {
    cl_command_queue queue;
    cl_program program;
    cl_kernel kernel;
    cl_mem from, to;
    size_t bytes, group;
};

/* A clock that may be read while the device works. */
struct clock_source {
    char path[DEVFREQ_PATH_BYTES]; /* empty: opencl_hz counts */
    double opencl_hz;
};

static void finish(struct copier *copier)
{
    if (copier->to != NULL)
        clReleaseMemObject(copier->to);
    if (copier->from != NULL)
        clReleaseMemObject(copier->from);
    if (copier->kernel != NULL)
        clReleaseKernel(copier->kernel);
    if (copier->program != NULL)
        clReleaseProgram(copier->program);
    if (copier->queue != NULL)
        clReleaseCommandQueue(copier->queue);
}

static int make_buffer(cl_mem *ret, const struct copier *copier, const struct gpu_device *device,
                       struct error *why)
{
    cl_int code;
    *ret = clCreateBuffer(device->context, CL_MEM_READ_WRITE, copier->bytes, NULL, &code);
    return code == CL_SUCCESS ? 0 : opencl_fail(why, code, "clCreateBuffer");
}

static int prepare(struct copier *copier, const struct gpu_device *device, struct error *why)
{
    struct error warning;
    cl_ulong most = COPY_BYTES;
    cl_int code;
    clGetDeviceInfo(device->id, CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof most, &most, NULL);
    copier->group = GROUP_ITEMS < device->max_group ? GROUP_ITEMS : device->max_group;
    const size_t group_bytes = copier->group * ITEM_BYTES;
    copier->bytes = (most < COPY_BYTES ? (size_t)most : COPY_BYTES) / group_bytes * group_bytes;
    int r = program_build(&copier->program, device, program_file("copy.cl"), NULL, &warning, why);
    if (r < 0)
        return r;
    copier->kernel = clCreateKernel(copier->program, "copy", &code);
    if (code != CL_SUCCESS)
        return opencl_fail(why, code, "copy");
    copier->queue = clCreateCommandQueue(device->context, device->id, 0, &code);
    if (code != CL_SUCCESS)
        return opencl_fail(why, code, "clCreateCommandQueue");
    r = make_buffer(&copier->from, copier, device, why);
    return r < 0 ? r : make_buffer(&copier->to, copier, device, why);
}

static int launch(const struct copier *copier, cl_mem from, cl_mem to, size_t items,
                  struct error *why)
{
    cl_int code = clSetKernelArg(copier->kernel, 0, sizeof(cl_mem), &from);
    if (code == CL_SUCCESS)
        code = clSetKernelArg(copier->kernel, 1, sizeof(cl_mem), &to);
    if (code == CL_SUCCESS)
        code = clEnqueueNDRangeKernel(copier->queue, copier->kernel, 1, NULL, &items,
                                      &copier->group, 0, NULL, NULL);
    return code == CL_SUCCESS ? 0 : opencl_fail(why, code, "clEnqueueNDRangeKernel");
}

static double clock_hz(const struct clock_source *clock)
{
    return clock->path[0] != '\0' ? devfreq_read(clock->path) : clock->opencl_hz;
}

/* Returns the seconds of one of `count` launches, and the clock while they run. */
static int time_launches(const struct copier *copier, size_t items, unsigned count,
                         const struct clock_source *clock, double *ret_s, double *ret_hz,
                         struct error *why)
{
    const int64_t start_ns = clock_now_ns();
    for (unsigned i = 0; i < count; i++) {
        const int r = launch(copier, copier->from, copier->to, items, why);
        if (r < 0)
            return r;
    }
    clFlush(copier->queue);
    const double hz = clock_hz(clock);
    const cl_int code = clFinish(copier->queue);
    if (code != CL_SUCCESS)
        return opencl_fail(why, code, "clFinish");
    *ret_s = (double)(clock_now_ns() - start_ns) / (double)NS_PER_S / count;
    *ret_hz = hz;
    return 0;
}

/* The fastest rounds count, because other load only increases times. */
static int measure(struct rates *rates, const struct copier *copier,
                   const struct clock_source *clock, struct error *why)
{
    const size_t items = copier->bytes / ITEM_BYTES;
    const int64_t until_ns = clock_now_ns() + MEASURE_NS;
    double copy_s = HUGE_VAL, dispatch_s = HUGE_VAL;
    for (unsigned i = 0; i < LEAST_ROUNDS || clock_now_ns() < until_ns; i++) {
        double seconds, hz, unused_hz;
        int r = time_launches(copier, items, COPIES, clock, &seconds, &hz, why);
        if (r == 0 && seconds < copy_s) {
            copy_s = seconds;
            rates->clock_hz = hz > 0 ? hz : rates->clock_hz;
        }
        if (r == 0)
            r = time_launches(copier, copier->group, LAUNCHES, clock, &seconds, &unused_hz, why);
        if (r < 0)
            return r;
        dispatch_s = fmin(dispatch_s, seconds);
    }
    rates->cost.bytes = 2 * (double)copier->bytes / copy_s;
    rates->cost.dispatch_s = dispatch_s;
    return 0;
}

/* The clock of a CPU is not that of the GPU beside it. */
static int find_clock(struct clock_source *ret, double *ret_hz, const struct gpu_device *device,
                      const char *devfreq, struct error *why)
{
    cl_uint mhz = 0;
    clGetDeviceInfo(device->id, CL_DEVICE_MAX_CLOCK_FREQUENCY, sizeof mhz, &mhz, NULL);
    ret->opencl_hz = mhz * 1e6;
    if (gpu_device_is_cpu(device) || !devfreq_find(ret->path, devfreq) ||
        devfreq_read(ret->path) == 0)
        ret->path[0] = '\0';
    *ret_hz = clock_hz(ret);
    if (*ret_hz > 0)
        return 0;
    return error_set(why, ENODATA,
                     "the clock of %s is unknown: CL_DEVICE_MAX_CLOCK_FREQUENCY is 0, and %s has "
                     "no entry of a GPU with a cur_freq in hertz",
                     device->name, devfreq);
}

int rates_measure(struct rates *ret, struct gpu_device *device, const char *devfreq,
                  struct error *why)
{
    struct rates rates = {.is_counted = device->midgard};
    struct clock_source clock = {.path = ""};
    struct copier copier = {.queue = NULL};
    cl_uint cores = 1;
    int r = find_clock(&clock, &rates.clock_hz, device, devfreq, why);
    if (r == 0)
        r = prepare(&copier, device, why);
    /* Writes the memory that is read, because pages that were never written may all be one. */
    if (r == 0)
        r = launch(&copier, copier.to, copier.from, copier.bytes / ITEM_BYTES, why);
    if (r == 0)
        r = measure(&rates, &copier, &clock, why);
    finish(&copier);
    if (r < 0)
        return r;
    clGetDeviceInfo(device->id, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof cores, &cores, NULL);
    rates.cores = cores;
    rates.cost.words = PIPES * cores * rates.clock_hz;
    rates.cost.accesses = cores * rates.clock_hz;
    snprintf(rates.device, sizeof rates.device, "%s", device->name);
    snprintf(rates.clock_source, sizeof rates.clock_source, "%s",
             clock.path[0] != '\0' ? clock.path : "CL_DEVICE_MAX_CLOCK_FREQUENCY");
    *ret = rates;
    return 0;
}
