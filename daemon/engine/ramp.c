#include "engine/ramp.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "transform/response.h"
#include "gpu/program.h"

#define TWO_PI      6.28318530717958647693
#define GROUP_ITEMS 64u

/* A component of the frame in a slot. */
struct turned {
    cl_mem factors, response;
    cl_float2 *values; /* of the factors */
};

struct ramp {
    cl_program program;
    cl_kernel kernel;
    size_t group;
    cl_uint part[MAX_COMPONENTS]; /* numbers of a response; 0: there is no such component */
    cl_mem place[MAX_COMPONENTS];
    struct turned turned[ENGINE_MAX_IN_FLIGHT][MAX_COMPONENTS];
};

/* ---- preparing ---- */

static int build_kernel(struct ramp *ramp, const struct engine *engine, struct error *why)
{
    char source[4096];
    struct error warning;
    cl_int code;
    const int length =
        snprintf(source, sizeof source, "#define HALF_STORAGE %d\n#line 1 \"ramp.cl\"\n%s",
                 engine->options.recipe.precision == RECIPE_HALF, program_file("ramp.cl"));
    if ((size_t)length >= sizeof source)
        return error_set(why, E2BIG, "ramp.cl has %d bytes: expected fewer than %zu", length,
                         sizeof source);
    const int r = program_build(&ramp->program, engine->device, source, NULL, &warning, why);
    if (r < 0)
        return r;
    ramp->kernel = clCreateKernel(ramp->program, "ramp", &code);
    ramp->group = GROUP_ITEMS < engine->device->max_group ? GROUP_ITEMS : engine->device->max_group;
    return code == CL_SUCCESS ? 0 : opencl_fail(why, code, "ramp");
}

static size_t factor_count(const struct transform *transform)
{
    const struct plan *plan = transform_plan(transform);
    return (size_t)plan->x.length + plan->y.length;
}

static int make_places(struct ramp *ramp, const struct engine *engine, unsigned component,
                       struct error *why)
{
    const struct transform *transform = engine->component[component].transform;
    const size_t count = transform_response_frequencies(transform, NULL);
    uint16_t(*places)[2] = malloc(count * sizeof *places);
    if (places == NULL)
        return error_set(why, ENOMEM, "out of memory while preparing to move frames");
    transform_response_frequencies(transform, places);
    ramp->part[component] = (cl_uint)count;
    const int r =
        engine_upload(engine, &ramp->place[component], places, count * sizeof *places, why);
    free(places);
    return r;
}

static int make_turned(struct turned *ret, const struct engine *engine, unsigned component,
                       struct error *why)
{
    const struct transform *transform = engine->component[component].transform;
    const size_t factors = factor_count(transform) * sizeof *ret->values;
    ret->values = malloc(factors);
    if (ret->values == NULL)
        return error_set(why, ENOMEM, "out of memory while preparing to move frames");
    const cl_context context = engine->device->context;
    int r = opencl_make_buffer(&ret->factors, context, CL_MEM_READ_ONLY, factors, NULL, why);
    if (r == 0)
        r = opencl_make_buffer(&ret->response, context, CL_MEM_READ_WRITE,
                               transform_response_bytes(transform), NULL, why);
    return r;
}

int ramp_create(struct ramp **ret, const struct engine *engine, struct error *why)
{
    struct ramp *ramp = calloc(1, sizeof *ramp);
    if (ramp == NULL)
        return error_set(why, ENOMEM, "out of memory while preparing to move frames");
    int r = build_kernel(ramp, engine, why);
    for (unsigned i = 0; i < engine->component_count && r == 0; i++) {
        r = make_places(ramp, engine, i, why);
        for (unsigned slot = 0; slot < engine->options.in_flight && r == 0; slot++)
            r = make_turned(&ramp->turned[slot][i], engine, i, why);
    }
    if (r < 0) {
        ramp_destroy(ramp);
        return r;
    }
    *ret = ramp;
    return 0;
}

static void release(cl_mem buffer)
{
    if (buffer != NULL)
        clReleaseMemObject(buffer);
}

void ramp_destroy(struct ramp *ramp)
{
    if (ramp == NULL)
        return;
    if (ramp->kernel != NULL)
        clReleaseKernel(ramp->kernel);
    if (ramp->program != NULL)
        clReleaseProgram(ramp->program);
    for (unsigned i = 0; i < MAX_COMPONENTS; i++) {
        release(ramp->place[i]);
        for (unsigned slot = 0; slot < ENGINE_MAX_IN_FLIGHT; slot++) {
            release(ramp->turned[slot][i].factors);
            release(ramp->turned[slot][i].response);
            free(ramp->turned[slot][i].values);
        }
    }
    free(ramp);
}

/* ---- in the submitting thread ---- */

/* Frequencies k and k - length are the same at half the sampling rate, where the mean of both
 * factors is real. */
static void put_factors(cl_float2 *ret, uint32_t length, double shift)
{
    for (uint32_t k = 0; k < length; k++) {
        const double turns = (2 * k <= length ? k : k - (double)length) / length * shift;
        ret[k] = (cl_float2){
            {(float)cos(TWO_PI * turns), 2 * k == length ? 0 : (float)-sin(TWO_PI * turns)}};
    }
}

static int set_arguments(const struct ramp *ramp, const struct turned *turned, unsigned component,
                         cl_mem response, cl_uint second, struct error *why)
{
    const struct {
        size_t size;
        const void *value;
    } arguments[] = {{sizeof response, &response},
                     {sizeof ramp->place[component], &ramp->place[component]},
                     {sizeof turned->factors, &turned->factors},
                     {sizeof turned->response, &turned->response},
                     {sizeof second, &second},
                     {sizeof ramp->part[component], &ramp->part[component]}};
    for (cl_uint i = 0; i < sizeof arguments / sizeof arguments[0]; i++) {
        const cl_int code = clSetKernelArg(ramp->kernel, i, arguments[i].size, arguments[i].value);
        if (code != CL_SUCCESS)
            return opencl_fail(why, code, "clSetKernelArg");
    }
    return 0;
}

/* The number behind H, if there is one, stays as it is. */
static int copy_threshold(const struct slot *slot, const struct transform *transform, cl_mem from,
                          cl_mem to, struct error *why)
{
    if (!transform_tuning(transform)->recipe.thresholds)
        return 0;
    const size_t number = transform_tuning(transform)->recipe.precision == RECIPE_HALF
                              ? sizeof(cl_half)
                              : sizeof(cl_float);
    const size_t at = transform_response_bytes(transform) - number;
    const cl_int code = clEnqueueCopyBuffer(slot->queue, from, to, at, at, number, 0, NULL, NULL);
    return code == CL_SUCCESS ? 0 : opencl_fail(why, code, "clEnqueueCopyBuffer");
}

int ramp_enqueue(struct ramp *ramp, struct slot *slot, unsigned component, const double shift[2],
                 cl_mem *response, cl_event *first, struct error *why)
{
    const struct component *c = &slot->engine->component[component];
    const struct plan *plan = transform_plan(c->transform);
    const struct turned *turned = &ramp->turned[slot - slot->engine->slot][component];
    const struct plan_axis *axis[2] = {plan_first(plan), plan_second(plan)};
    cl_float2 *values = turned->values;
    for (unsigned i = 0; i < 2; i++) {
        const bool is_x = axis[i] == &plan->x;
        put_factors(values, axis[i]->length, is_x ? shift[0] / c->sub_x : shift[1] / c->sub_y);
        values += axis[i]->length;
    }
    cl_int code = clEnqueueWriteBuffer(slot->queue, turned->factors, CL_FALSE, 0,
                                       factor_count(c->transform) * sizeof *values, turned->values,
                                       0, NULL, NULL);
    if (code != CL_SUCCESS)
        return opencl_fail(why, code, "clEnqueueWriteBuffer");
    const int r = set_arguments(ramp, turned, component, *response, axis[0]->length, why);
    if (r < 0)
        return r;
    const size_t items = (ramp->part[component] + ramp->group - 1) / ramp->group * ramp->group;
    code = clEnqueueNDRangeKernel(slot->queue, ramp->kernel, 1, NULL, &items, &ramp->group, 0, NULL,
                                  first);
    if (code != CL_SUCCESS)
        return opencl_fail(why, code, "clEnqueueNDRangeKernel");
    const int copied = copy_threshold(slot, c->transform, *response, turned->response, why);
    *response = turned->response;
    return copied;
}
