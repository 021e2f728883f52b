#include "engine/fade.h"

#include <errno.h>
#include <stdlib.h>

#include "gpu/program.h"

#define GROUP_ITEMS 64u
#define NUMBERS     4 /* numbers a work-item blends */

struct fade {
    cl_kernel kernel[MAX_COMPONENTS];
    unsigned frames, done;
    cl_uint count[MAX_COMPONENTS]; /* numbers of a response; 0: there is no such component */
    size_t group;
    /* Without numbers until the fade begins, if it begins at what is in use. */
    struct transform_response from[MAX_COMPONENTS];
    cl_mem blended[ENGINE_MAX_IN_FLIGHT][MAX_COMPONENTS]; /* each slot has its own */
    unsigned newest_slot;
    uint32_t newest_band[MAX_COMPONENTS];
    cl_event newest; /* the blend of the newest frame; NULL: none yet */
    cl_event begun;  /* the blend of an earlier fade that computes `from`; NULL: none */
};

/* ---- preparing, in the designing thread ---- */

static int make_buffers(struct fade *fade, const struct engine *engine, struct error *why)
{
    for (unsigned i = 0; i < engine->component_count; i++) {
        const struct transform *transform = component_transform(&engine->component[i]);
        const size_t bytes = transform_response_bytes(transform);
        const bool half = transform_response_is_half(transform);
        fade->count[i] = (cl_uint)(bytes / (half ? sizeof(cl_half) : sizeof(cl_float)));
        for (unsigned slot = 0; slot < engine->options.in_flight; slot++) {
            const int r = opencl_make_buffer(&fade->blended[slot][i], engine->device->context,
                                             CL_MEM_READ_WRITE, bytes, NULL, why);
            if (r < 0)
                return r;
        }
    }
    return 0;
}

static int enqueue(struct fade *fade, cl_command_queue queue, unsigned component, cl_mem from,
                   cl_mem to, cl_mem result, cl_float weight, cl_event *ret, struct error *why)
{
    const cl_uint count = fade->count[component];
    const size_t per_group = NUMBERS * fade->group;
    const size_t items = (count + per_group - 1) / per_group * fade->group;
    const struct opencl_argument arguments[] = {VALUE(from), VALUE(to), VALUE(result),
                                                VALUE(weight), VALUE(count)};
    const int r = opencl_set_arguments(fade->kernel[component], arguments, 5, why);
    return r < 0 ? r
                 : opencl_launch(queue, fade->kernel[component], 1, &items, &fade->group,
                                 fade->begun, ret, why);
}

/* Runs each size of blend once, because some drivers compile a kernel only when it first runs, and
 * that must not happen between frames. */
static int warm_up(struct fade *fade, const struct engine *engine, const struct engine_response *to,
                   struct error *why)
{
    cl_command_queue queue;
    int r = opencl_make_queue(&queue, engine->device, 0, why);
    if (r < 0)
        return r;
    for (unsigned i = 0; r == 0 && i < engine->component_count; i++)
        r = enqueue(fade, queue, i, to->data[i][TRANSFORM_STEP].numbers,
                    to->data[i][TRANSFORM_STEP].numbers, fade->blended[0][i], 0, NULL, why);
    const cl_int code = clFinish(queue);
    clReleaseCommandQueue(queue);
    return r < 0 || code == CL_SUCCESS ? r : opencl_fail(why, code, "clFinish");
}

static int prepare(struct fade *fade, const struct engine *engine, const struct engine_response *to,
                   struct error *why)
{
    int r = 0;
    for (unsigned i = 0; i < engine->component_count && r == 0; i++) {
        const bool half = transform_response_is_half(component_transform(&engine->component[i]));
        cl_program program = NULL;
        r = program_small(&program, engine->device, "blend.cl", half, why);
        if (r == 0)
            r = opencl_make_kernel(&fade->kernel[i], program, "blend", why);
    }
    fade->group = GROUP_ITEMS < engine->device->max_group ? GROUP_ITEMS : engine->device->max_group;
    if (r == 0)
        r = make_buffers(fade, engine, why);
    return r < 0 ? r : warm_up(fade, engine, to, why);
}

static void keep(struct transform_response *ret, struct transform_response response)
{
    clRetainMemObject(response.numbers);
    *ret = response;
}

int fade_create(struct fade **ret, const struct engine *engine, const struct engine_response *to,
                unsigned frames, const struct engine_response *from, struct error *why)
{
    struct fade *fade = calloc(1, sizeof *fade);
    if (fade == NULL)
        return error_set(why, ENOMEM, "out of memory while preparing a fade");
    fade->frames = frames;
    int r = prepare(fade, engine, to, why);
    if (r < 0) {
        fade_destroy(fade);
        return r;
    }
    for (unsigned i = 0; from != NULL && i < engine->component_count; i++)
        keep(&fade->from[i], from->data[i][TRANSFORM_STEP]);
    *ret = fade;
    return 0;
}

void fade_destroy(struct fade *fade)
{
    if (fade == NULL)
        return;
    for (unsigned i = 0; i < MAX_COMPONENTS; i++) {
        opencl_release_kernel(fade->kernel[i]);
        opencl_release_buffer(fade->from[i].numbers);
        for (unsigned slot = 0; slot < ENGINE_MAX_IN_FLIGHT; slot++)
            opencl_release_buffer(fade->blended[slot][i]);
    }
    opencl_release_event(fade->newest);
    opencl_release_event(fade->begun);
    free(fade);
}

/* ---- in the submitting thread ---- */

/* Frames of other queues read the buffer that was blended last, so they wait until it is written.
 */
static void begin_at_blend(struct fade *fade, const struct fade *running)
{
    for (unsigned i = 0; i < MAX_COMPONENTS && fade->count[i] > 0; i++)
        keep(&fade->from[i],
             running->newest != NULL
                 ? (struct transform_response){running->blended[running->newest_slot][i],
                                               running->newest_band[i]}
                 : running->from[i]);
    fade->begun = running->newest != NULL ? running->newest : running->begun;
    if (fade->begun != NULL)
        clRetainEvent(fade->begun);
}

void fade_begin(struct fade *fade, const struct fade *running,
                const struct component in_use[MAX_COMPONENTS])
{
    if (fade->from[0].numbers != NULL)
        return;
    if (running != NULL) {
        begin_at_blend(fade, running);
        return;
    }
    for (unsigned i = 0; i < MAX_COMPONENTS && fade->count[i] > 0; i++)
        keep(&fade->from[i], in_use[i].step[TRANSFORM_STEP].data);
}

struct fade *fade_next(struct fade *fade)
{
    if (fade == NULL || ++fade->done < fade->frames)
        return fade;
    fade_destroy(fade);
    return NULL;
}

/* ---- the step ---- */

static bool applies(const struct recipe *recipe)
{
    (void)recipe;
    return true;
}

static int enqueue_blend(struct step_run *run, struct error *why)
{
    struct slot *slot = run->slot;
    struct fade *fade = slot->engine->filter.fade;
    if (fade == NULL)
        return 0;
    const unsigned component = run->index;
    struct transform_response *response = &run->buffers->response;
    const unsigned index = (unsigned)(slot - slot->engine->slot);
    const struct transform_response from = fade->from[component], to = *response;
    const struct transform_response blended = {.numbers = fade->blended[index][component],
                                               .band = from.band > to.band ? from.band : to.band};
    cl_event event = NULL;
    int r = enqueue(fade, slot->queue, component, from.numbers, to.numbers, blended.numbers,
                    (cl_float)fade->done / (cl_float)fade->frames, &event, why);
    if (r < 0)
        return r;
    if (run->first != NULL)
        clRetainEvent(*run->first = event);
    step_run_set_only_event(run);
    opencl_release_event(fade->newest);
    fade->newest = event;
    fade->newest_slot = index;
    fade->newest_band[component] = blended.band;
    *response = blended;
    return 0;
}

static struct step_memory memory(const struct component *component)
{
    return (struct step_memory){.fading = transform_response_bytes(component_transform(component))};
}

const struct step step_blend = {
    .name = "blend", .applies = applies, .enqueue = enqueue_blend, .memory = memory};
