/* The step that stacks frames (filters/stack.h): it loads captured samples, and joins them to what
 * is known of the frames before.
 *
 * A stack is kept in two buffers: a frame's join reads one and writes the other. Frames in flight
 * are in different queues, so each join waits for the event of the join before it, and thereby for
 * all of them. The transform reads planes that belong to the frame. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "engine/denoiser_source.h"
#include "engine/engine_private.h"
#include "gpu/program.h"
#include "transform/transform_private.h"

#define ROW_GROUP         64 /* work-items that share a row, with one lane */
#define DIFFERENCE_LEVELS 8  /* kernels/engine/stack.cl */
#define DIFFERENCE_BINS   256
#define COUNTED_ROWS      4 /* every fourth row is counted */

struct stack_part {
    const struct gpu_device *device;
    struct transform_image image;
    struct recipe recipe; /* as the load needs it: the join, not the load, moves samples */
    unsigned lanes;
    cl_program program; /* NULL: not built yet */
    cl_mem state[2];
    cl_mem counts, deviations; /* for the frame that joins; NULL if samples are not clipped */
    unsigned newest;           /* the one that was written last */
    cl_event joined;           /* the join of the frame before; NULL if there was none */
    bool is_known;             /* state[newest] has a stack */
    uint64_t change;           /* engine->filter.change of the frame before */
};

struct stack_frame {
    cl_mem samples, result;
    cl_kernel load, join;
    cl_kernel count, deviate; /* NULL: samples are not clipped */
};

static bool applies(const struct recipe *recipe)
{
    return recipe->stacks;
}

static size_t plane_bytes(const struct transform_image *image)
{
    return image->count * denoiser_plane_size(image) * sizeof(float);
}

static unsigned state_planes(const struct recipe *recipe)
{
    return recipe->clips ? 4 : 2;
}

static size_t levels_of(const struct transform_image *image)
{
    return (size_t)image->count * DIFFERENCE_LEVELS;
}

static char *source(const struct stack_part *part)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (out == NULL)
        return NULL;
    denoiser_put_load(out, &part->image, &part->recipe, part->lanes);
    fprintf(out,
            "#define STATE_PLANES %u\n#define CLIPS %d\n#define TOP_SAMPLE %u\n"
            "#define DIFFERENCE_LEVELS %d\n#define DIFFERENCE_BINS %d\n",
            state_planes(&part->recipe), part->recipe.clips, (1u << part->image.bits) - 1,
            DIFFERENCE_LEVELS, DIFFERENCE_BINS);
    transform_put_file(out, "stack.cl");
    if (fclose(out) == 0)
        return text;
    free(text);
    return NULL;
}

/* The counts begin with zeros. */
static int make_counts(struct stack_part *part, struct error *why)
{
    const size_t levels = levels_of(&part->image);
    cl_uint *zeros = calloc(levels * DIFFERENCE_BINS, sizeof *zeros);
    if (zeros == NULL)
        return error_set(why, ENOMEM, "out of memory while preparing a stack");
    int r = opencl_make_buffer(&part->counts, part->device->context,
                               CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR,
                               levels * DIFFERENCE_BINS * sizeof *zeros, zeros, why);
    free(zeros);
    return r < 0 ? r
                 : opencl_make_buffer(&part->deviations, part->device->context, CL_MEM_READ_WRITE,
                                      levels * sizeof(cl_float), NULL, why);
}

static int prepare(void **ret_part, struct component *component, const char *cache_dir,
                   struct error *why)
{
    struct engine *engine = component->engine;
    struct stack_part *part = calloc(1, sizeof *part);
    int r = 0;
    *ret_part = part;
    if (part == NULL)
        return error_set(why, ENOMEM, "out of memory while preparing a stack");
    part->device = engine->device;
    part->image = component->subject.image;
    part->recipe = component->recipe;
    part->recipe.similarities = false;
    part->lanes = gpu_device_lanes(engine->device);
    for (unsigned i = 0; i < 2 && r == 0; i++)
        r = opencl_make_buffer(&part->state[i], part->device->context, CL_MEM_READ_WRITE,
                               state_planes(&part->recipe) * plane_bytes(&part->image), NULL, why);
    if (r == 0 && part->recipe.clips)
        r = make_counts(part, why);
    return r < 0 ? r
                 : program_get(&part->program, part->device, source(part), false, cache_dir,
                               &engine->warning, why);
}

static void destroy(void *part)
{
    struct stack_part *stack = part;
    opencl_release_buffer(stack->state[0]);
    opencl_release_buffer(stack->state[1]);
    opencl_release_buffer(stack->counts);
    opencl_release_buffer(stack->deviations);
    opencl_release_event(stack->joined);
    if (stack->program != NULL)
        clReleaseProgram(stack->program);
    free(stack);
}

static unsigned missing(const void *part)
{
    return ((const struct stack_part *)part)->program == NULL;
}

static int build(void *part, const char *cache_dir, struct error *warning, struct error *why)
{
    struct stack_part *stack = part;
    return stack->program != NULL ? 0
                                  : program_get(&stack->program, stack->device, source(stack), true,
                                                cache_dir, warning, why);
}

static int design(struct transform_response *ret, const void *part,
                  const struct component *component, const struct filter_chain *chain,
                  struct error *why)
{
    const struct stack stack = filter_chain_stack(chain);
    const cl_float settings[] = {(cl_float)stack.frames, (cl_float)stack.clip};
    (void)component;
    return opencl_make_table(&ret->numbers, ((const struct stack_part *)part)->device->context,
                             settings, sizeof settings, why);
}

static void destroy_frame(void *frame)
{
    struct stack_frame *stack = frame;
    opencl_release_buffer(stack->samples);
    opencl_release_buffer(stack->result);
    const cl_kernel kernels[] = {stack->load, stack->join, stack->count, stack->deviate};
    for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; i++)
        if (kernels[i] != NULL)
            clReleaseKernel(kernels[i]);
    free(stack);
}

static int create_frame(void **ret_frame, const void *part, const struct component *component,
                        cl_command_queue queue, struct error *why)
{
    const struct stack_part *stack = part;
    struct stack_frame *frame = calloc(1, sizeof *frame);
    const cl_context context = stack->device->context;
    const size_t bytes = plane_bytes(&stack->image);
    (void)component, (void)queue;
    *ret_frame = frame;
    if (frame == NULL)
        return error_set(why, ENOMEM, "out of memory while creating a frame");
    int r = opencl_make_buffer(&frame->samples, context, CL_MEM_READ_WRITE, bytes, NULL, why);
    if (r == 0)
        r = opencl_make_buffer(&frame->result, context, CL_MEM_READ_WRITE, bytes, NULL, why);
    if (r == 0)
        r = opencl_make_kernel(&frame->load, stack->program, "load_plane", why);
    if (r == 0 && stack->recipe.clips)
        r = opencl_make_kernel(&frame->count, stack->program, "stack_count", why);
    if (r == 0 && stack->recipe.clips)
        r = opencl_make_kernel(&frame->deviate, stack->program, "stack_deviate", why);
    return r < 0 ? r : opencl_make_kernel(&frame->join, stack->program, "stack_join", why);
}

static int launch(const struct stack_part *part, cl_command_queue queue, cl_kernel kernel,
                  size_t rows, cl_event after, cl_event *event, struct error *why)
{
    const size_t most = part->device->max_group;
    const size_t group = part->lanes > 1 ? 1 : most < ROW_GROUP ? most : ROW_GROUP;
    const size_t global[3] = {group, rows, part->image.count};
    const size_t local[3] = {group, 1, 1};
    const cl_int code = clEnqueueNDRangeKernel(queue, kernel, 3, NULL, global, local, after != NULL,
                                               after != NULL ? &after : NULL, event);
    return code == CL_SUCCESS ? 0 : opencl_fail(why, code, "clEnqueueNDRangeKernel");
}

static int enqueue_load(const struct step_run *run, struct error *why)
{
    const struct stack_part *part = run->part;
    const struct stack_frame *frame = run->frame;
    const struct transform_buffers *buffers = run->buffers;
    const cl_mem arguments[] = {buffers->image, frame->samples, buffers->calibration,
                                buffers->correction};
    cl_uint at = 0;
    const int r = opencl_set_buffers(frame->load, &at, arguments, 4, why);
    return r < 0 ? r
                 : launch(part, run->slot->queue, frame->load, part->image.height, NULL, run->first,
                          why);
}

/* Finds how much the frame differs from the stack, after the frame before has joined it. */
static int enqueue_count(const struct step_run *run, struct error *why)
{
    const struct stack_part *part = run->part;
    const struct stack_frame *frame = run->frame;
    const cl_mem counted[] = {frame->samples, run->buffers->similarity, part->state[part->newest],
                              part->counts};
    const cl_mem deviated[] = {part->counts, part->deviations};
    const size_t single[3] = {1, 1, 1}, images[3] = {1, 1, part->image.count};
    const size_t rows = (part->image.height + COUNTED_ROWS - 1) / COUNTED_ROWS;
    cl_uint at = 0;
    int r = opencl_set_buffers(frame->count, &at, counted, 4, why);
    at = 0;
    if (r == 0)
        r = opencl_set_buffers(frame->deviate, &at, deviated, 2, why);
    if (r == 0)
        r = launch(part, run->slot->queue, frame->count, rows, part->joined, NULL, why);
    if (r < 0)
        return r;
    const cl_int code = clEnqueueNDRangeKernel(run->slot->queue, frame->deviate, 3, NULL, images,
                                               single, 0, NULL, NULL);
    return code == CL_SUCCESS ? 0 : opencl_fail(why, code, "clEnqueueNDRangeKernel");
}

static int enqueue_join(struct step_run *run, enum stack_place place, struct error *why)
{
    struct stack_part *part = run->part;
    const struct stack_frame *frame = run->frame;
    const unsigned next = place == STACK_LEFT_OUT ? part->newest : !part->newest;
    const cl_int place_number = place;
    const cl_mem arguments[] = {frame->samples,
                                run->buffers->similarity,
                                run->data.numbers,
                                part->state[part->newest],
                                part->state[!part->newest],
                                frame->result,
                                part->deviations};
    cl_event joined;
    cl_uint at = 0;
    int r = opencl_set_buffers(frame->join, &at, arguments, 7, why);
    if (r == 0 && part->recipe.clips && place == STACK_JOINS)
        r = enqueue_count(run, why);
    if (r < 0)
        return r;
    const cl_int code = clSetKernelArg(frame->join, at, sizeof place_number, &place_number);
    r = code != CL_SUCCESS ? opencl_fail(why, code, "clSetKernelArg")
                           : launch(part, run->slot->queue, frame->join, part->image.height,
                                    part->joined, &joined, why);
    if (r < 0)
        return r;
    opencl_release_event(part->joined);
    part->joined = joined;
    part->newest = next;
    if (run->last != NULL) {
        clRetainEvent(joined);
        *run->last = joined;
    }
    return 0;
}

/* A stack begins with the first frame that an engine gets, with a start of the source and with a
 * change of the filter, whatever the job says. A frame that the stack's reference says nothing
 * about is then shown alone. */
static int enqueue(struct step_run *run, struct error *why)
{
    struct stack_part *part = run->part;
    const struct engine_job *job = &run->slot->job;
    const uint64_t change = run->slot->engine->filter.change;
    bool begins = !part->is_known || job->is_first || change != part->change;
    part->change = change;
    begins |= job->stack == STACK_BEGINS;
    int r = enqueue_load(run, why);
    if (r == 0)
        r = enqueue_join(run, begins ? STACK_BEGINS : job->stack, why);
    part->is_known = r == 0 && !(begins && job->stack == STACK_LEFT_OUT);
    if (r < 0)
        return r;
    run->buffers->denoised = ((struct stack_frame *)run->frame)->result;
    return 0;
}

/* The load reads samples and writes a plane. The join reads it and a stack, and writes a stack and
 * a plane. Differences are counted for few pixels. */
static struct step_cost cost(const void *part)
{
    const struct recipe *recipe = &((const struct stack_part *)part)->recipe;
    const struct transform_image *image = &((const struct stack_part *)part)->image;
    const double samples = (double)image->count * image->width * image->height;
    return (struct step_cost){recipe->clips ? 4 : 2,
                              samples *
                                  (image->step + (3 + 2 * state_planes(recipe)) * sizeof(float))};
}

static struct step_memory memory(const struct component *component,
                                 const struct filter_chain *chain)
{
    const struct recipe *recipe = &component->recipe;
    const uint64_t bytes = plane_bytes(&component->subject.image);
    const uint64_t levels = recipe->clips ? levels_of(&component->subject.image) : 0;
    (void)chain;
    return (struct step_memory){.part.device = 2 * state_planes(recipe) * bytes +
                                               levels * (DIFFERENCE_BINS + 1) * sizeof(cl_uint),
                                .frame.device = 2 * bytes,
                                .data = 2 * sizeof(cl_float)};
}

const struct step step_stack = {.name = "stack",
                                .applies = applies,
                                .prepare = prepare,
                                .destroy = destroy,
                                .missing = missing,
                                .build = build,
                                .design = design,
                                .create_frame = create_frame,
                                .destroy_frame = destroy_frame,
                                .enqueue = enqueue,
                                .cost = cost,
                                .memory = memory};
