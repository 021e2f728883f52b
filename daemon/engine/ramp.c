/* The step that moves the picture of each frame by a distance of its own: the frame is filtered
 * with the response times the phase ramp exp(-2 pi i (fx x + fy y)) (kernels/engine/ramp.cl).
 *
 * The product is a dispatch of its own in the queue of the frame, into a buffer of the frame,
 * because frames in flight overlap. A frame that is not moved has nothing of this. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "engine/engine_private.h"
#include "gpu/program.h"
#include "transform/response.h"

#define TWO_PI      6.28318530717958647693
#define GROUP_ITEMS 64u

struct ramp {
    const struct component *component;
    cl_kernel kernel;
    size_t group;
    cl_uint count; /* real parts of a response */
    cl_mem places; /* their frequencies */
};

struct ramp_frame {
    cl_mem factors, response;
    cl_float2 *values; /* the factors' values */
};

/* ---- preparing ---- */

static bool applies(const struct recipe *recipe)
{
    return recipe->shifts;
}

static size_t factor_count(const struct transform *transform)
{
    const struct plan *plan = transform_plan(transform);
    return (size_t)plan->x.length + plan->y.length;
}

static int make_places(struct ramp *ramp, struct error *why)
{
    const struct transform *transform = component_transform(ramp->component);
    const size_t count = transform_response_frequencies(transform, NULL);
    uint16_t(*places)[2] = malloc(count * sizeof *places);
    if (places == NULL)
        return error_set(why, ENOMEM, "out of memory while preparing to move frames");
    transform_response_frequencies(transform, places);
    ramp->count = (cl_uint)count;
    const int r = opencl_make_table(&ramp->places, ramp->component->engine->device->context, places,
                                    count * sizeof *places, why);
    free(places);
    return r;
}

/* The transform is compiled before the first frame is created, but planned before this. */
static int prepare(void **ret_part, struct component *component, struct error *why)
{
    struct gpu_device *device = component->engine->device;
    struct ramp *ramp = calloc(1, sizeof *ramp);
    cl_program program;
    *ret_part = ramp;
    if (ramp == NULL)
        return error_set(why, ENOMEM, "out of memory while preparing to move frames");
    ramp->component = component;
    ramp->group = GROUP_ITEMS < device->max_group ? GROUP_ITEMS : device->max_group;
    int r =
        program_small(&program, device, "ramp.cl", component->recipe.precision == RECIPE_HALF, why);
    if (r == 0)
        r = opencl_make_kernel(&ramp->kernel, program, "ramp", why);
    return r < 0 ? r : make_places(ramp, why);
}

static void destroy(void *part)
{
    struct ramp *ramp = part;
    opencl_release_kernel(ramp->kernel);
    opencl_release_buffer(ramp->places);
    free(ramp);
}

static int create_frame(void **ret_frame, const void *part, const struct component *component,
                        cl_command_queue queue, struct error *why)
{
    const cl_context context = component->engine->device->context;
    const size_t factors = factor_count(component_transform(component)) * sizeof(cl_float2);
    struct ramp_frame *frame = calloc(1, sizeof *frame);
    (void)part, (void)queue;
    *ret_frame = frame;
    if (frame != NULL)
        frame->values = malloc(factors);
    if (frame == NULL || frame->values == NULL)
        return error_set(why, ENOMEM, "out of memory while preparing to move frames");
    int r = opencl_make_buffer(&frame->factors, context, CL_MEM_READ_ONLY, factors, NULL, why);
    if (r == 0)
        r = opencl_make_buffer(&frame->response, context, CL_MEM_READ_WRITE,
                               transform_response_bytes(component_transform(component)), NULL, why);
    return r;
}

static void destroy_frame(void *frame)
{
    struct ramp_frame *ramp = frame;
    opencl_release_buffer(ramp->factors);
    opencl_release_buffer(ramp->response);
    free(ramp->values);
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

/* The number behind H, if there is one, stays as it is. */
static int copy_threshold(const struct step_run *run, cl_mem from, cl_mem to, struct error *why)
{
    const struct recipe *recipe = &run->component->recipe;
    if (!recipe->thresholds)
        return 0;
    const size_t number = recipe->precision == RECIPE_HALF ? sizeof(cl_half) : sizeof(cl_float);
    const size_t at = transform_response_bytes(component_transform(run->component)) - number;
    const cl_int code =
        clEnqueueCopyBuffer(run->slot->queue, from, to, at, at, number, 0, NULL, NULL);
    return code == CL_SUCCESS ? 0 : opencl_fail(why, code, "clEnqueueCopyBuffer");
}

static int enqueue(struct step_run *run, struct error *why)
{
    const struct component *component = run->component;
    const struct plan *plan = transform_plan(component_transform(component));
    const struct ramp *ramp = run->part;
    struct ramp_frame *frame = run->frame;
    const double *shift = run->slot->job.shift;
    const struct plan_axis *axis[2] = {plan_first(plan), plan_second(plan)};
    cl_mem *response = &run->buffers->response.numbers;
    cl_float2 *values = frame->values;
    if (!job_is_shifted(&run->slot->job))
        return 0;
    for (unsigned i = 0; i < 2; i++) {
        const bool is_x = axis[i] == &plan->x;
        put_factors(values, axis[i]->length,
                    is_x ? shift[0] / component->sub_x : shift[1] / component->sub_y);
        values += axis[i]->length;
    }
    const struct opencl_argument arguments[] = {VALUE(*response),       VALUE(ramp->places),
                                                VALUE(frame->factors),  VALUE(frame->response),
                                                VALUE(axis[0]->length), VALUE(ramp->count)};
    const size_t items = (ramp->count + ramp->group - 1) / ramp->group * ramp->group;
    int r = opencl_write(run->slot->queue, frame->factors, frame->values,
                         factor_count(component_transform(component)) * sizeof *values, why);
    if (r == 0)
        r = opencl_set_arguments(ramp->kernel, arguments, 6, why);
    if (r == 0)
        r = opencl_launch(run->slot->queue, ramp->kernel, 1, &items, &ramp->group, NULL, run->first,
                          why);
    if (r < 0)
        return r;
    step_run_set_only_event(run);
    const int copied = copy_threshold(run, *response, frame->response, why);
    *response = frame->response;
    return copied;
}

static struct step_memory memory(const struct component *component)
{
    const struct transform *transform = component_transform(component);
    const uint64_t factors = factor_count(transform) * sizeof(cl_float2);
    const uint64_t places =
        (uint64_t)transform_response_frequencies(transform, NULL) * sizeof(uint16_t[2]);
    return (struct step_memory){
        .part.device = places,
        .frame = {.device = factors + transform_response_bytes(transform), .host = factors},
        .scratch = places};
}

const struct step step_shift = {.name = "shift",
                                .applies = applies,
                                .prepare = prepare,
                                .destroy = destroy,
                                .create_frame = create_frame,
                                .destroy_frame = destroy_frame,
                                .enqueue = enqueue,
                                .memory = memory};
