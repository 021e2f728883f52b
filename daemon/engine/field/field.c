#include "engine/field/field.h"

#include <errno.h>
#include <stdlib.h>

#include "estimators/motion/motion_constants.h"
#include "gpu/frame_ring.h"
#include "gpu/program.h"

_Static_assert(sizeof(struct motion_vector) == 3 * sizeof(cl_float),
               "field_finish writes three numbers for each block");
_Static_assert(FIELD_SPREADS % 2 == 0, "the first of two buffers has the vectors in the end");

enum kernel { PICTURES, DERIVE, SEARCH, CHOOSE, MOVE, SOLVE, USUAL, PREDICT, JOIN, FINISH };
#define KERNELS (FINISH + 1)

/* The kernels' names, and how many items a work-group has. For PICTURES it is a square's side. */
static const struct {
    const char *name;
    size_t group;
} kernels[KERNELS] = {[PICTURES] = {"field_pictures", 8},
                      [DERIVE] = {"field_derive", FIELD_GROUP},
                      [SEARCH] = {"field_search", FIELD_SEARCH_GROUP},
                      [CHOOSE] = {"field_choose", FIELD_GROUP},
                      [MOVE] = {"field_move", FIELD_GROUP},
                      [SOLVE] = {"field_solve", FIELD_GROUP},
                      [USUAL] = {"field_usual", FIELD_USUAL_GROUP},
                      [PREDICT] = {"field_predict", FIELD_GROUP},
                      [JOIN] = {"field_join", FIELD_GROUP},
                      [FINISH] = {"field_finish", FIELD_GROUP}};

struct field {
    const struct gpu_device *device;
    struct field_layout layout;
    cl_program program; /* NULL: not built yet */
    struct frame_ring *pictures;
};

struct field_frame {
    cl_kernel kernel[KERNELS];
    cl_mem buffer[FIELD_BUFFERS];
    cl_mem pinned;
    cl_command_queue queue; /* in which the vectors are mapped */
    struct motion_vector *vectors;
    bool has_vectors;
};

/* Returns whether an item has a whole cell or block, in vectors (LANES > 1 in the kernels). */
static bool has_lanes(const struct field_layout *layout)
{
    return layout->size.lanes > 1;
}

/* ---- life ---- */

static size_t picture_bytes(const struct field_layout *layout)
{
    return layout->pixels * sizeof(cl_float);
}

int field_prepare(struct field **ret, const struct gpu_device *device,
                  const struct field_size *size, struct error *why)
{
    struct field_layout layout;
    int r = field_layout_make(&layout, size, why);
    if (r < 0)
        return r;
    struct field *field = calloc(1, sizeof *field);
    if (field == NULL)
        return error_set(why, ENOMEM, "out of memory for a field of motion");
    field->device = device;
    field->layout = layout;
    if (size->lanes == 0)
        field->layout.size.lanes = gpu_device_lanes(device);
    r = frame_ring_create(&field->pictures, device, picture_bytes(&layout), size->in_flight, why);
    if (r < 0) {
        field_destroy(field);
        return r;
    }
    *ret = field;
    return 0;
}

void field_destroy(struct field *field)
{
    if (field == NULL)
        return;
    frame_ring_destroy(field->pictures);
    opencl_release_program(field->program);
    free(field);
}

int field_build(struct field *field, bool compile, const char *cache_dir, struct error *warning,
                struct error *why)
{
    return program_get(&field->program, field->device, field_layout_source(&field->layout), compile,
                       cache_dir, warning, why);
}

const struct motion_grid *field_grid(const struct field *field)
{
    return &field->layout.grid;
}

unsigned field_dispatches(const struct field *field)
{
    const unsigned fit = PASSES * (2 + 2 * SWEEPS) + PASSES - 1;
    const unsigned smaller = field->layout.scales - 1;
    return 2 + (2 + fit) + smaller * (1 + 2 + FIELD_SPREADS + fit) + 1;
}

/* Each kernel reads and writes its pictures once; what else it reads is in the caches. */
double field_traffic(const struct field *field)
{
    const unsigned numbers = 1 + 4 + 2 + PASSES * 4; /* for a pixel: field_pictures, _derive,
                                                        _choose and _move */
    return sizeof(cl_float) * ((double)field->layout.size.width * field->layout.size.height +
                               (double)numbers * field->layout.pixels);
}

void field_bytes(const struct field_size *size, uint64_t *ret_pictures, uint64_t *ret_frame,
                 uint64_t *ret_pinned)
{
    struct field_layout layout;
    *ret_pictures = *ret_frame = *ret_pinned = 0;
    if (field_layout_make(&layout, size, NULL) < 0)
        return;
    *ret_pictures = (uint64_t)(size->in_flight + 1) * picture_bytes(&layout);
    for (unsigned i = 0; i < FIELD_BUFFERS; i++)
        *ret_frame += field_layout_bytes(&layout, i);
    *ret_pinned = field_layout_bytes(&layout, FIELD_RESULT);
}

int field_frame_create(struct field_frame **ret, const struct field *field, cl_command_queue queue,
                       struct error *why)
{
    struct field_frame *frame = calloc(1, sizeof *frame);
    const cl_context context = field->device->context;
    void *at = NULL;
    int r = 0;
    if (frame == NULL)
        return error_set(why, ENOMEM, "out of memory for a field of motion");
    for (unsigned i = 0; i < KERNELS && r == 0; i++)
        r = opencl_make_kernel(&frame->kernel[i], field->program, kernels[i].name, why);
    for (unsigned i = 0; i < FIELD_BUFFERS && r == 0; i++)
        r = opencl_make_buffer(&frame->buffer[i], context, CL_MEM_READ_WRITE,
                               field_layout_bytes(&field->layout, i), NULL, why);
    if (r == 0)
        r = opencl_make_pinned(&frame->pinned, &at, context, queue, CL_MAP_READ,
                               field_layout_bytes(&field->layout, FIELD_RESULT), why);
    if (r < 0) {
        field_frame_destroy(frame);
        return r;
    }
    frame->vectors = at;
    frame->queue = queue;
    *ret = frame;
    return 0;
}

void field_frame_destroy(struct field_frame *frame)
{
    if (frame == NULL)
        return;
    for (unsigned i = 0; i < KERNELS; i++)
        opencl_release_kernel(frame->kernel[i]);
    for (unsigned i = 0; i < FIELD_BUFFERS; i++)
        opencl_release_buffer(frame->buffer[i]);
    if (frame->vectors != NULL) {
        clEnqueueUnmapMemObject(frame->queue, frame->pinned, frame->vectors, 0, NULL, NULL);
        clFinish(frame->queue);
    }
    opencl_release_buffer(frame->pinned);
    free(frame);
}

/* ---- a frame ---- */

/* A frame whose commands are being enqueued. */
struct run {
    const struct field_frame *frame;
    const struct field_layout *layout;
    cl_command_queue queue;
    cl_mem last, next; /* pictures; NULL last: there was no frame before */
};

#define BUFFER(name) VALUE(run->frame->buffer[FIELD_##name])

static size_t divide_up(size_t count, size_t by)
{
    return (count + by - 1) / by;
}

/* How many items of a group share a cell, and how many share a block. */
static unsigned items_of_cell(const struct field_layout *layout)
{
    return has_lanes(layout) ? 1 : MOTION_CELL;
}

static unsigned items_of_block(const struct field_layout *layout)
{
    return has_lanes(layout) ? 1 : FIELD_GROUP;
}

/* Returns how many items a kernel needs. DERIVE handles all sizes at once. */
static size_t items_of(const struct field_layout *layout, enum kernel kernel, unsigned level)
{
    const struct field_scale *scale = &layout->scale[level];
    const size_t blocks = (size_t)scale->columns * scale->rows;
    switch (kernel) {
    case DERIVE:
        return (size_t)layout->cells * items_of_cell(layout);
    case MOVE:
        return (size_t)scale->cell_columns * scale->cell_rows * items_of_cell(layout);
    case CHOOSE:
    case SOLVE:
        return blocks * items_of_block(layout);
    case SEARCH:
        return blocks * FIELD_SEARCH_GROUP;
    case PREDICT:
    case JOIN:
    case FINISH:
        return blocks;
    case USUAL:
        return FIELD_USUAL_GROUP;
    case PICTURES: /* has two dimensions */
        break;
    }
    return 0;
}

static int enqueue(const struct run *run, enum kernel kernel, cl_int level,
                   const struct opencl_argument *argument, unsigned count, cl_event *event,
                   struct error *why)
{
    const size_t group = kernels[kernel].group;
    const size_t groups[3] = {divide_up(items_of(run->layout, kernel, (unsigned)level), group), 1,
                              1};
    return opencl_launch_groups(run->queue, run->frame->kernel[kernel], argument, count, groups,
                                group, NULL, event, why);
}

#define ENQUEUE(run, kernel, level, arguments, why)                                                \
    enqueue(run, kernel, level, arguments, sizeof(arguments) / sizeof(arguments)[0], NULL, why)

/* Launches PICTURES, whose work-groups are squares, or one item that has eight rows. */
static int make_pictures(const struct run *run, cl_mem samples, cl_event *made, struct error *why)
{
    const struct field_size *size = &run->layout->size;
    const bool has_rows = has_lanes(run->layout);
    const size_t side = has_rows ? 1 : kernels[PICTURES].group, group[2] = {side, side};
    const size_t items[2] = {has_rows ? 1 : divide_up(size->width, 2 * side) * side,
                             has_rows ? divide_up(size->height, MOTION_CELL)
                                      : divide_up(size->height, 2 * side) * side};
    const struct opencl_argument arguments[] = {VALUE(samples), VALUE(run->next),
                                                VALUE(size->scale)};
    const cl_kernel kernel = run->frame->kernel[PICTURES];
    const int r = opencl_set_arguments(kernel, arguments, 3, why);
    return r < 0 ? r : opencl_launch(run->queue, kernel, 2, items, group, NULL, made, why);
}

static int derive(const struct run *run, struct error *why)
{
    const struct opencl_argument arguments[] = {VALUE(run->next), BUFFER(DERIVED), BUFFER(STILL)};
    return ENQUEUE(run, DERIVE, 0, arguments, why);
}

static int find_usual(const struct run *run, cl_int level, enum field_buffer of,
                      enum field_buffer to, struct error *why)
{
    const struct opencl_argument arguments[] = {VALUE(run->frame->buffer[of]),
                                                VALUE(run->frame->buffer[to]), VALUE(level)};
    return ENQUEUE(run, USUAL, level, arguments, why);
}

static int search(const struct run *run, cl_int level, struct error *why)
{
    const struct opencl_argument arguments[] = {VALUE(run->last), VALUE(run->next), BUFFER(LEFT),
                                                BUFFER(USUAL),    BUFFER(PEAKS),    VALUE(level)};
    return ENQUEUE(run, SEARCH, level, arguments, why);
}

/* Reads one of the two buffers of vectors, and writes the one that is given. */
static int choose(const struct run *run, cl_int level, enum field_choice choice, unsigned to,
                  struct error *why)
{
    const cl_int mode = (cl_int)choice;
    const unsigned from = mode == CHOOSE_SEARCHED || mode == CHOOSE_COARSE ? to : 1 - to;
    const cl_mem *buffer = run->frame->buffer;
    const struct opencl_argument arguments[] = {VALUE(run->last),
                                                VALUE(run->next),
                                                BUFFER(STILL),
                                                BUFFER(PEAKS),
                                                BUFFER(USUAL),
                                                VALUE(buffer[FIELD_VECTORS + from]),
                                                VALUE(buffer[FIELD_LEFT + from]),
                                                VALUE(buffer[FIELD_VECTORS + to]),
                                                VALUE(buffer[FIELD_LEFT + to]),
                                                BUFFER(AROUND),
                                                VALUE(level),
                                                VALUE(mode)};
    return ENQUEUE(run, CHOOSE, level, arguments, why);
}

static int begin(const struct run *run, cl_int level, struct error *why)
{
    int r;
    if (level + 1 == (cl_int)run->layout->scales) {
        r = search(run, level, why);
        return r < 0 ? r : choose(run, level, CHOOSE_SEARCHED, 0, why);
    }
    r = choose(run, level, CHOOSE_COARSE, 0, why);
    if (r == 0)
        r = find_usual(run, level, FIELD_LEFT, FIELD_USUAL, why);
    if (r == 0)
        r = search(run, level, why);
    for (unsigned i = 0; i < FIELD_SPREADS && r == 0; i++)
        r = choose(run, level, i == 0 ? CHOOSE_AGAIN : CHOOSE_BESIDE, 1 - i % 2, why);
    return r;
}

static int repair(const struct run *run, cl_int level, bool doubts, struct error *why)
{
    const cl_int has_doubts = doubts;
    const struct opencl_argument predicts[] = {BUFFER(VECTORS),   BUFFER(OWN),    BUFFER(CERTAINTY),
                                               BUFFER(PREDICTED), BUFFER(AROUND), VALUE(level)};
    const struct opencl_argument joins[] = {BUFFER(OWN),      BUFFER(CERTAINTY), BUFFER(PREDICTED),
                                            BUFFER(AROUND),   BUFFER(VECTORS),   VALUE(level),
                                            VALUE(has_doubts)};
    const int r = ENQUEUE(run, PREDICT, level, predicts, why);
    return r < 0 ? r : ENQUEUE(run, JOIN, level, joins, why);
}

static int fit(const struct run *run, cl_int level, cl_int pass, struct error *why)
{
    const struct opencl_argument moves[] = {VALUE(run->last), BUFFER(DERIVED), BUFFER(VECTORS),
                                            BUFFER(MOVED), VALUE(level)};
    const struct opencl_argument solves[] = {VALUE(run->last), BUFFER(DERIVED), BUFFER(STILL),
                                             BUFFER(MOVED),    BUFFER(VECTORS), BUFFER(AROUND),
                                             BUFFER(NOISE),    BUFFER(OWN),     BUFFER(CERTAINTY),
                                             BUFFER(REST),     VALUE(level),    VALUE(pass)};
    const bool is_last = pass == PASSES - 1;
    int r = ENQUEUE(run, MOVE, level, moves, why);
    if (r == 0)
        r = ENQUEUE(run, SOLVE, level, solves, why);
    if (r == 0 && !is_last)
        r = find_usual(run, level, FIELD_REST, FIELD_NOISE, why);
    for (unsigned sweep = 0; sweep < SWEEPS && r == 0; sweep++)
        r = repair(run, level, !is_last && sweep == SWEEPS - 1, why);
    return r;
}

static int finish(const struct run *run, cl_event *event, struct error *why)
{
    const struct field_frame *frame = run->frame;
    const struct opencl_argument arguments[] = {BUFFER(VECTORS), BUFFER(OWN), BUFFER(AROUND),
                                                BUFFER(RESULT)};
    const int r = enqueue(run, FINISH, 0, arguments, 4, event, why);
    if (r < 0)
        return r;
    const cl_int code = clEnqueueReadBuffer(run->queue, frame->buffer[FIELD_RESULT], CL_FALSE, 0,
                                            field_layout_bytes(run->layout, FIELD_RESULT),
                                            frame->vectors, 0, NULL, NULL);
    return code == CL_SUCCESS ? 0 : opencl_fail(why, code, "clEnqueueReadBuffer");
}

/* Has what follows in the queue wait for the pictures of the frame before. */
static int await(cl_command_queue queue, cl_event made, struct error *why)
{
    const cl_int code = clEnqueueBarrierWithWaitList(queue, 1, &made, NULL);
    return code == CL_SUCCESS ? 0 : opencl_fail(why, code, "clEnqueueBarrierWithWaitList");
}

static int compare(const struct run *run, cl_event made, cl_event *last, struct error *why)
{
    int r = derive(run, why);
    if (r == 0)
        r = await(run->queue, made, why);
    for (cl_int level = (cl_int)run->layout->scales - 1; level >= 0 && r == 0; level--) {
        r = begin(run, level, why);
        for (cl_int pass = 0; pass < (cl_int)PASSES && r == 0; pass++)
            r = fit(run, level, pass, why);
    }
    return r < 0 ? r : finish(run, last, why);
}

int field_frame_enqueue(struct field_frame *frame, struct field *field, cl_command_queue queue,
                        cl_mem samples, bool is_first, cl_event *last, struct error *why)
{
    cl_event made, before;
    if (is_first)
        frame_ring_forget(field->pictures);
    struct run run = {.frame = frame, .layout = &field->layout, .queue = queue};
    run.next = frame_ring_begin(field->pictures);
    run.last = frame_ring_previous(field->pictures, &before);
    frame->has_vectors = run.last != NULL;
    int r = make_pictures(&run, samples, &made, why);
    if (r < 0) {
        frame_ring_forget(field->pictures);
        return r;
    }
    frame_ring_end(field->pictures, made);
    if (frame->has_vectors)
        r = compare(&run, before, last, why);
    else if (last != NULL)
        clRetainEvent(*last = made);
    clReleaseEvent(made);
    return r;
}

const struct motion_vector *field_frame_vectors(const struct field_frame *frame)
{
    return frame->has_vectors ? frame->vectors : NULL;
}
