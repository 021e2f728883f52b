/* The step that stacks frames (filters/stack.h): it loads captured samples, and joins them to what
 * is known of the frames before.
 *
 * A stack is kept in two buffers: a frame's join reads one and writes the other. Spectra are kept
 * in one, which a join changes. Frames in flight are in different queues, so each join waits for
 * the event of the join before it, and thereby for all of them. The transform reads planes that
 * belong to the frame. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "engine/denoiser/denoiser_source.h"
#include "engine/engine_private.h"
#include "gpu/program.h"
#include "transform/transform_private.h"

#define DIFFERENCE_LEVELS 8 /* kernels/engine/stack.cl */
#define DIFFERENCE_BINS   256
#define COUNTED_ROWS      4  /* every fourth row is counted */
#define BLOCK             32 /* samples of a side, if spectra are weighed */
#define HOP               (BLOCK / 2)
#define RECORD            (BLOCK * BLOCK + (HOP + 1) * BLOCK + 16) /* stack_spectrum.cl */

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
    cl_uint count;             /* frames that have joined the stack */
};

/* Kernels that the chain does not need are NULL. */
struct stack_frame {
    cl_mem samples, result;
    cl_mem noise;  /* NULL: details are not weighed */
    cl_mem blocks; /* NULL: spectra are not weighed */
    cl_kernel load, join;
    cl_kernel split, settle;
    cl_kernel count, deviate;
    cl_kernel move, transform, gather;
};

static bool applies(const struct recipe *recipe)
{
    return recipe->stack != STACK_NOT;
}

static size_t plane_bytes(const struct transform_image *image)
{
    return image->count * denoiser_plane_size(image) * sizeof(float);
}

static unsigned state_planes(const struct recipe *recipe)
{
    const unsigned of_mean = recipe->weighs_details ? 3 : 2;
    return recipe->stack == STACK_CLIPS ? 2 * of_mean : of_mean;
}

/* Blocks along an axis: the first one begins half of it before the image. */
static uint32_t blocks_along(uint32_t length)
{
    return (length - 1) / HOP + 2;
}

static size_t block_count(const struct transform_image *image)
{
    return (size_t)image->count * blocks_along(image->width) * blocks_along(image->height);
}

static size_t block_bytes(const struct transform_image *image)
{
    return block_count(image) * RECORD * sizeof(cl_float);
}

static struct denoiser_layout block_layout(unsigned lanes)
{
    return (struct denoiser_layout){
        .block = BLOCK, .hop = HOP, .lanes = lanes, .tile_x = HOP, .tile_y = HOP};
}

static unsigned state_buffers(const struct recipe *recipe)
{
    return recipe->stack == STACK_WEIGHS ? 1 : 2;
}

static size_t state_bytes(const struct transform_image *image, const struct recipe *recipe)
{
    return recipe->stack == STACK_WEIGHS ? block_bytes(image)
                                         : state_planes(recipe) * plane_bytes(image);
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
            "#define STATE_PLANES %u\n#define CLIPS %d\n#define DETAILS %d\n#define SPECTRA %d\n"
            "#define TOP_SAMPLE %u\n#define DIFFERENCE_LEVELS %d\n#define DIFFERENCE_BINS %d\n",
            state_planes(&part->recipe), part->recipe.stack == STACK_CLIPS,
            part->recipe.weighs_details, part->recipe.stack == STACK_WEIGHS,
            (1u << part->image.bits) - 1, DIFFERENCE_LEVELS, DIFFERENCE_BINS);
    transform_put_file(out, "stack.cl");
    if (part->recipe.weighs_details)
        transform_put_file(out, "stack_detail.cl");
    if (part->recipe.stack == STACK_WEIGHS) {
        const struct denoiser_layout layout = block_layout(part->lanes);
        denoiser_put_blocks(out, &part->recipe, &layout, DENOISER_FIRST);
        fprintf(out, "#define BLOCK_COLUMNS %u\n#define BLOCK_ROWS %u\n",
                blocks_along(part->image.width), blocks_along(part->image.height));
        transform_put_file(out, "stack_spectrum.cl");
    }
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

static int prepare(void **ret_part, struct component *component, struct error *why)
{
    struct stack_part *part = calloc(1, sizeof *part);
    int r = 0;
    *ret_part = part;
    if (part == NULL)
        return error_set(why, ENOMEM, "out of memory while preparing a stack");
    part->device = component->engine->device;
    part->image = component->subject.image;
    part->recipe = component->recipe;
    part->recipe.similarities = false;
    part->lanes = gpu_device_lanes(part->device);
    for (unsigned i = 0; i < state_buffers(&part->recipe) && r == 0; i++)
        r = opencl_make_buffer(&part->state[i], part->device->context, CL_MEM_READ_WRITE,
                               state_bytes(&part->image, &part->recipe), NULL, why);
    if (r == 0 && part->recipe.stack == STACK_CLIPS)
        r = make_counts(part, why);
    return r;
}

static void destroy(void *part)
{
    struct stack_part *stack = part;
    opencl_release_buffer(stack->state[0]);
    opencl_release_buffer(stack->state[1]);
    opencl_release_buffer(stack->counts);
    opencl_release_buffer(stack->deviations);
    opencl_release_event(stack->joined);
    opencl_release_program(stack->program);
    free(stack);
}

static int build(void *part, bool compile, const char *cache_dir, struct error *warning,
                 struct error *why)
{
    struct stack_part *stack = part;
    return program_get(&stack->program, stack->device, source(stack), compile, cache_dir, warning,
                       why);
}

static int design(struct transform_response *ret, const void *part,
                  const struct component *component, const struct filter_chain *chain,
                  struct error *why)
{
    const struct stack stack = filter_chain_stack(chain);
    const cl_float settings[] = {(cl_float)stack.frames, (cl_float)stack.clip,
                                 (cl_float)stack.power};
    (void)component;
    return opencl_make_table(&ret->numbers, ((const struct stack_part *)part)->device->context,
                             settings, sizeof settings, why);
}

static void destroy_frame(void *frame)
{
    struct stack_frame *stack = frame;
    opencl_release_buffer(stack->samples);
    opencl_release_buffer(stack->result);
    opencl_release_buffer(stack->noise);
    opencl_release_buffer(stack->blocks);
    const cl_kernel kernels[] = {stack->load,   stack->join,      stack->split,
                                 stack->settle, stack->count,     stack->deviate,
                                 stack->move,   stack->transform, stack->gather};
    for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; i++)
        opencl_release_kernel(kernels[i]);
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
    if (r == 0 && stack->recipe.weighs_details)
        r = opencl_make_buffer(&frame->noise, context, CL_MEM_READ_WRITE, bytes, NULL, why);
    if (r == 0 && stack->recipe.stack == STACK_WEIGHS)
        r = opencl_make_buffer(&frame->blocks, context, CL_MEM_READ_WRITE,
                               block_bytes(&stack->image), NULL, why);
    const struct {
        cl_kernel *kernel;
        const char *name;
        bool is_needed;
    } kernels[] = {
        {&frame->load, "load_plane", true},
        {&frame->join, stack->recipe.stack == STACK_WEIGHS ? "stack_weigh" : "stack_join", true},
        {&frame->split, "stack_split", stack->recipe.weighs_details},
        {&frame->settle, "stack_settle", stack->recipe.weighs_details},
        {&frame->count, "stack_count", stack->recipe.stack == STACK_CLIPS},
        {&frame->deviate, "stack_deviate", stack->recipe.stack == STACK_CLIPS},
        {&frame->move, "stack_move", stack->recipe.stack == STACK_WEIGHS},
        {&frame->transform, "stack_transform", stack->recipe.stack == STACK_WEIGHS},
        {&frame->gather, "stack_gather", stack->recipe.stack == STACK_WEIGHS},
    };
    for (size_t i = 0; i < sizeof kernels / sizeof kernels[0] && r == 0; i++)
        if (kernels[i].is_needed)
            r = opencl_make_kernel(kernels[i].kernel, stack->program, kernels[i].name, why);
    return r;
}

static int launch(const struct stack_part *part, cl_command_queue queue, cl_kernel kernel,
                  size_t rows, cl_event after, cl_event *event, struct error *why)
{
    return denoiser_launch_rows(queue, kernel, part->device, part->lanes, rows, part->image.count,
                                after, event, why);
}

static int enqueue_load(const struct step_run *run, struct error *why)
{
    const struct stack_part *part = run->part;
    const struct stack_frame *frame = run->frame;
    const struct transform_buffers *buffers = run->buffers;
    const struct opencl_argument arguments[] = {VALUE(buffers->image), VALUE(frame->samples),
                                                OPTIONAL(buffers->calibration),
                                                OPTIONAL(buffers->correction)};
    const int r = opencl_set_arguments(frame->load, arguments, 4, why);
    return r < 0 ? r
                 : launch(part, run->slot->queue, frame->load, part->image.height, NULL, run->first,
                          why);
}

/* Finds how much the frame differs from the stack, after the frame before has joined it. */
static int enqueue_count(const struct step_run *run, struct error *why)
{
    const struct stack_part *part = run->part;
    const struct stack_frame *frame = run->frame;
    const struct opencl_argument counted[] = {
        VALUE(frame->samples), OPTIONAL(run->buffers->similarity), VALUE(part->state[part->newest]),
        VALUE(part->counts)};
    const struct opencl_argument deviated[] = {VALUE(part->counts), VALUE(part->deviations)};
    const size_t images[3] = {1, 1, part->image.count};
    const size_t rows = denoiser_divide_up(part->image.height, COUNTED_ROWS);
    int r = opencl_set_arguments(frame->count, counted, 4, why);
    if (r == 0)
        r = launch(part, run->slot->queue, frame->count, rows, part->joined, NULL, why);
    return r < 0 ? r
                 : opencl_launch_groups(run->slot->queue, frame->deviate, deviated, 2, images, 1,
                                        NULL, NULL, why);
}

/* Replaces the means in frame->result by what is shown. frame->samples, which have joined, make
 * room for the details. */
static int enqueue_detail(const struct step_run *run, struct error *why)
{
    const struct stack_part *part = run->part;
    const struct stack_frame *frame = run->frame;
    const struct opencl_argument split[] = {VALUE(frame->result), VALUE(frame->samples)};
    const struct opencl_argument settled[] = {VALUE(frame->samples), VALUE(frame->noise),
                                              VALUE(frame->result)};
    int r = opencl_set_arguments(frame->split, split, 2, why);
    if (r == 0)
        r = opencl_set_arguments(frame->settle, settled, 3, why);
    if (r == 0)
        r = launch(part, run->slot->queue, frame->split, part->image.height, NULL, NULL, why);
    return r < 0 ? r
                 : launch(part, run->slot->queue, frame->settle, part->image.height, NULL,
                          run->last, why);
}

static int enqueue_join(struct step_run *run, enum stack_place place, struct error *why)
{
    struct stack_part *part = run->part;
    const struct stack_frame *frame = run->frame;
    const unsigned next = place == STACK_LEFT_OUT ? part->newest : !part->newest;
    const cl_int place_number = place;
    const struct opencl_argument arguments[] = {VALUE(frame->samples),
                                                OPTIONAL(run->buffers->similarity),
                                                OPTIONAL(run->data.numbers),
                                                VALUE(part->state[part->newest]),
                                                VALUE(part->state[!part->newest]),
                                                VALUE(frame->result),
                                                OPTIONAL(frame->noise),
                                                OPTIONAL(part->deviations),
                                                VALUE(place_number)};
    cl_event joined;
    int r = opencl_set_arguments(frame->join, arguments, 9, why);
    if (r == 0 && part->recipe.stack == STACK_CLIPS && place == STACK_JOINS)
        r = enqueue_count(run, why);
    if (r == 0)
        r = launch(part, run->slot->queue, frame->join, part->image.height, part->joined, &joined,
                   why);
    if (r < 0)
        return r;
    opencl_release_event(part->joined);
    part->joined = joined;
    part->newest = next;
    if (part->recipe.weighs_details)
        return enqueue_detail(run, why);
    if (run->last != NULL) {
        clRetainEvent(joined);
        *run->last = joined;
    }
    return 0;
}

/* Launches one work-group for each block. */
static int launch_blocks(const struct stack_part *part, cl_command_queue queue, cl_kernel kernel,
                         const struct opencl_argument *argument, unsigned count, cl_event after,
                         cl_event *event, struct error *why)
{
    const struct denoiser_layout layout = block_layout(part->lanes);
    const size_t groups[3] = {blocks_along(part->image.width), blocks_along(part->image.height),
                              part->image.count};
    return opencl_launch_groups(queue, kernel, argument, count, groups, denoiser_group(&layout),
                                after, event, why);
}

/* frame->result first holds the moved samples, and then those of the stack. */
static int enqueue_transform(const struct step_run *run, struct error *why)
{
    const struct stack_part *part = run->part;
    const struct stack_frame *frame = run->frame;
    const struct denoiser_layout layout = block_layout(part->lanes);
    const struct opencl_argument moved[] = {
        VALUE(frame->samples), OPTIONAL(run->buffers->similarity), VALUE(frame->result)};
    const struct opencl_argument transformed[] = {
        VALUE(frame->result), VALUE(frame->blocks), {denoiser_scratch_bytes(&layout), NULL}};
    int r = opencl_set_arguments(frame->move, moved, 3, why);
    if (r == 0)
        r = launch(part, run->slot->queue, frame->move, part->image.height, NULL, NULL, why);
    return r < 0 ? r
                 : launch_blocks(part, run->slot->queue, frame->transform, transformed, 3, NULL,
                                 NULL, why);
}

static int enqueue_weigh(struct step_run *run, enum stack_place place, struct error *why)
{
    struct stack_part *part = run->part;
    const struct stack_frame *frame = run->frame;
    const cl_int place_number = place;
    const struct denoiser_layout layout = block_layout(part->lanes);
    const struct opencl_argument weighed[] = {OPTIONAL(run->buffers->similarity),
                                              OPTIONAL(run->data.numbers),
                                              VALUE(part->state[0]),
                                              VALUE(frame->blocks),
                                              VALUE(place_number),
                                              VALUE(part->count),
                                              {denoiser_scratch_bytes(&layout), NULL}};
    const struct opencl_argument gathered[] = {VALUE(frame->blocks), VALUE(frame->result)};
    cl_event joined = NULL;
    int r = place == STACK_LEFT_OUT ? 0 : enqueue_transform(run, why);
    if (r == 0)
        r = opencl_set_arguments(frame->gather, gathered, 2, why);
    if (r == 0)
        r = launch_blocks(part, run->slot->queue, frame->join, weighed, 7, part->joined, &joined,
                          why);
    if (r < 0)
        return r;
    opencl_release_event(part->joined);
    part->joined = joined;
    const size_t rows =
        part->lanes > 1 ? denoiser_divide_up(part->image.height, HOP) : part->image.height;
    return launch(part, run->slot->queue, frame->gather, rows, NULL, run->last, why);
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
    const enum stack_place place = begins ? STACK_BEGINS : job->stack;
    int r = enqueue_load(run, why);
    if (r == 0)
        r = part->recipe.stack == STACK_WEIGHS ? enqueue_weigh(run, place, why)
                                               : enqueue_join(run, place, why);
    part->count = begins ? 1 : part->count + (place == STACK_JOINS);
    run->slot->result.stacked = part->count;
    part->is_known = r == 0 && !(begins && job->stack == STACK_LEFT_OUT);
    if (r < 0)
        return r;
    run->buffers->denoised = ((struct stack_frame *)run->frame)->result;
    return 0;
}

/* The load reads samples and writes a plane. The join reads it and a stack, and writes a stack and
 * a plane; if details are weighed, another one, and two kernels make what is shown. Differences are
 * counted for few pixels. With spectra the plane is moved before, and blocks are transformed,
 * joined and gathered. */
static struct step_cost cost(const void *part)
{
    const struct recipe *recipe = &((const struct stack_part *)part)->recipe;
    const struct transform_image *image = &((const struct stack_part *)part)->image;
    const double samples = (double)image->count * image->width * image->height;
    const double planes = samples * sizeof(float);
    const double state = 2 * (double)state_bytes(image, recipe);
    const unsigned joining = recipe->stack == STACK_WEIGHS  ? 5
                             : recipe->stack == STACK_CLIPS ? 4
                                                            : 2;
    return (struct step_cost){joining + (recipe->weighs_details ? 2 : 0),
                              samples * image->step + state +
                                  (recipe->stack == STACK_WEIGHS
                                       ? 5 * planes + 4 * (double)block_bytes(image)
                                       : (recipe->weighs_details ? 10 : 3) * planes)};
}

static struct step_memory memory(const struct component *component)
{
    const struct recipe *recipe = &component->recipe;
    const struct transform_image *image = &component->subject.image;
    const uint64_t levels = recipe->stack == STACK_CLIPS ? levels_of(image) : 0;
    return (struct step_memory){
        .part.device = state_buffers(recipe) * (uint64_t)state_bytes(image, recipe) +
                       levels * (DIFFERENCE_BINS + 1) * sizeof(cl_uint),
        .frame.device = (recipe->weighs_details ? 3 : 2) * (uint64_t)plane_bytes(image) +
                        (recipe->stack == STACK_WEIGHS ? block_bytes(image) : 0),
        .data = 3 * sizeof(cl_float)};
}

const struct step step_stack = {.name = "stack",
                                .applies = applies,
                                .prepare = prepare,
                                .destroy = destroy,
                                .build = build,
                                .design = design,
                                .create_frame = create_frame,
                                .destroy_frame = destroy_frame,
                                .enqueue = enqueue,
                                .cost = cost,
                                .memory = memory};
