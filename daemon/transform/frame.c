/* A frame in flight. It has its own kernel objects, whose arguments stay set from one frame to the
 * next, because setting them costs as much as enqueuing. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "transform/transform_private.h"

struct transform_frame {
    const struct transform *transform;
    /* By kind of argument. Those of the caller are retained, so that no new buffer gets the same
     * address. */
    cl_mem buffer[ARGUMENT_BUFFERS];
    cl_mem own_spectrum; /* which is bound unless a result is made in place */
    cl_uint band, completed;
    cl_kernel kernel[TRANSFORM_MAX_DISPATCHES];
    struct transform_frame *smaller; /* for the transform's smaller one; NULL: it has none */
};

/* Sets an argument of a kernel. */
static int set_argument(const struct transform_frame *frame, unsigned dispatch, unsigned index,
                        struct error *why)
{
    const struct argument *argument = &frame->transform->dispatch[dispatch].argument[index];
    const void *value = NULL; /* local memory has no value */
    size_t size = argument->local_bytes;
    if (argument->kind == ARGUMENT_BAND) {
        value = &frame->band;
        size = sizeof frame->band;
    } else if (argument->kind == ARGUMENT_COMPLETED) {
        value = &frame->completed;
        size = sizeof frame->completed;
    } else if (argument->kind != ARGUMENT_LOCAL) {
        value =
            argument->kind == ARGUMENT_TABLE ? &argument->table : &frame->buffer[argument->kind];
        size = sizeof(cl_mem);
    }
    const cl_int code = clSetKernelArg(frame->kernel[dispatch], index, size, value);
    return code == CL_SUCCESS ? 0 : opencl_fail(why, code, "clSetKernelArg");
}

/* Sets all arguments of one kind in all kernels. */
static int set_arguments(const struct transform_frame *frame, enum argument_kind kind,
                         struct error *why)
{
    const struct transform *transform = frame->transform;
    int r = 0;
    for (unsigned i = 0; i < transform->dispatch_count; i++)
        for (unsigned a = 0; a < transform->dispatch[i].argument_count && r == 0; a++)
            if (transform->dispatch[i].argument[a].kind == kind)
                r = set_argument(frame, i, a, why);
    return r;
}

static void drop(struct transform_frame *frame, enum argument_kind kind)
{
    opencl_release_buffer(frame->buffer[kind]);
    frame->buffer[kind] = NULL;
}

static int bind(struct transform_frame *frame, enum argument_kind kind, cl_mem buffer,
                struct error *why)
{
    if (frame->buffer[kind] == buffer)
        return 0;
    clRetainMemObject(buffer);
    drop(frame, kind);
    frame->buffer[kind] = buffer;
    return set_arguments(frame, kind, why);
}

/* The same for a numeric argument, which the frame keeps in *at. */
static int bind_number(struct transform_frame *frame, enum argument_kind kind, cl_uint *at,
                       uint32_t number, struct error *why)
{
    if (*at == number)
        return 0;
    *at = number;
    return set_arguments(frame, kind, why);
}

static int make_kernels(struct transform_frame *frame, struct error *why)
{
    const struct transform *transform = frame->transform;
    int r = 0;
    for (unsigned i = 0; i < transform->dispatch_count && r == 0; i++)
        r = opencl_make_kernel(&frame->kernel[i], transform->program, transform->dispatch[i].kernel,
                               why);
    return r;
}

static int make_buffers(struct transform_frame *frame, struct error *why)
{
    const struct transform *transform = frame->transform;
    const size_t drawn_bytes = transform_drawn_bytes(transform);
    int r = 0;
    if (transform->technique->make_buffers != NULL)
        r = transform->technique->make_buffers(&frame->buffer[ARGUMENT_SPECTRUM],
                                               &frame->buffer[ARGUMENT_LINES], transform, why);
    if (r < 0 || drawn_bytes == 0)
        return r;
    return opencl_make_buffer(&frame->buffer[ARGUMENT_DRAWN], transform->device->context,
                              CL_MEM_READ_WRITE, drawn_bytes, NULL, why);
}

/* Makes the frame of a transform; that of a smaller picture reads a spectrum. */
static int create(struct transform_frame **ret, const struct transform *transform, cl_mem larger,
                  struct error *why)
{
    static const enum argument_kind constant[] = {ARGUMENT_SPECTRUM, ARGUMENT_LINES,
                                                  ARGUMENT_DRAWN,    ARGUMENT_TABLE,
                                                  ARGUMENT_LOCAL,    ARGUMENT_COMPLETED};
    struct transform_frame *frame = calloc(1, sizeof *frame);
    *ret = frame;
    if (frame == NULL)
        return error_set(why, ENOMEM, "out of memory while creating a frame");
    frame->transform = transform;
    int r = make_buffers(frame, why);
    if (r == 0)
        r = make_kernels(frame, why);
    frame->own_spectrum = frame->buffer[ARGUMENT_SPECTRUM];
    if (frame->own_spectrum != NULL)
        clRetainMemObject(frame->own_spectrum);
    for (size_t i = 0; r == 0 && i < sizeof constant / sizeof constant[0]; i++)
        r = set_arguments(frame, constant[i], why);
    return r < 0 || larger == NULL ? r : bind(frame, ARGUMENT_LARGER, larger, why);
}

int transform_frame_create(struct transform_frame **ret, const struct transform *transform,
                           struct error *why)
{
    struct transform_frame *frame;
    int r = create(&frame, transform, NULL, why);
    if (r == 0 && transform->smaller != NULL)
        r = create(&frame->smaller, transform->smaller, frame->buffer[ARGUMENT_SPECTRUM], why);
    if (r < 0) {
        transform_frame_destroy(frame);
        return r;
    }
    *ret = frame;
    return 0;
}

void transform_frame_destroy(struct transform_frame *frame)
{
    if (frame == NULL)
        return;
    transform_frame_destroy(frame->smaller);
    for (unsigned i = 0; i < TRANSFORM_MAX_DISPATCHES; i++)
        opencl_release_kernel(frame->kernel[i]);
    for (unsigned i = 0; i < ARGUMENT_BUFFERS; i++)
        drop(frame, i);
    opencl_release_buffer(frame->own_spectrum);
    free(frame);
}

cl_mem transform_frame_spectrum(const struct transform_frame *frame)
{
    return frame->buffer[ARGUMENT_SPECTRUM];
}

cl_mem transform_frame_complete(const struct transform_frame *frame)
{
    return frame->buffer[ARGUMENT_LINES];
}

/* A kernel's argument does not keep a buffer alive. */
void transform_frame_drop(struct transform_frame *frame, bool image)
{
    drop(frame, image ? ARGUMENT_IMAGE : ARGUMENT_RESULT);
    if (frame->smaller != NULL)
        transform_frame_drop(frame->smaller, image);
}

int transform_frame_bind(struct transform_frame *frame, const struct transform_buffers *buffers,
                         struct error *why)
{
    const cl_mem bound[] = {[ARGUMENT_IMAGE] = buffers->image,
                            [ARGUMENT_RESULT] = buffers->result,
                            [ARGUMENT_RESPONSE] = buffers->response.numbers,
                            [ARGUMENT_CORRECTION] = buffers->correction,
                            [ARGUMENT_CALIBRATION] = buffers->calibration,
                            [ARGUMENT_DENOISED] = buffers->denoised,
                            [ARGUMENT_LARGER] = buffers->spectrum,
                            [ARGUMENT_COMPLETE] = buffers->complete,
                            [ARGUMENT_SIMILARITY] = buffers->similarity};
    const uint32_t all = plan_pair_count(&transform_of_result(frame->transform)->plan);
    const uint32_t band = buffers->response.band;
    int r = bind_number(frame, ARGUMENT_BAND, &frame->band, band != 0 ? band : all, why);
    if (r == 0)
        r = bind_number(frame, ARGUMENT_COMPLETED, &frame->completed, buffers->completed, why);
    if (r == 0 && frame->own_spectrum != NULL)
        r = bind(frame, ARGUMENT_SPECTRUM,
                 buffers->in_place ? buffers->spectrum : frame->own_spectrum, why);
    for (unsigned i = 0; r == 0 && i < sizeof bound / sizeof bound[0]; i++)
        if (bound[i] != NULL)
            r = bind(frame, i, bound[i], why);
    return r < 0 || frame->smaller == NULL ? r : transform_frame_bind(frame->smaller, buffers, why);
}

static int enqueue(const struct transform_frame *frame, cl_command_queue queue, unsigned index,
                   cl_event *ret_event, struct error *why)
{
    const struct dispatch *dispatch = &frame->transform->dispatch[index];
    const size_t per_group = dispatch->pairs_per_group;
    const unsigned along = dispatch->band_dimension;
    size_t global[3];
    memcpy(global, dispatch->global, sizeof global);
    if (per_group > 0)
        global[along] = ((dispatch->completes ? frame->completed : frame->band) + per_group - 1) /
                        per_group * dispatch->local[along];
    return opencl_launch(queue, frame->kernel[index], dispatch->dimensions, global, dispatch->local,
                         NULL, ret_event, why);
}

/* Counts the dispatches of the smaller picture behind the frame's own. */
static int enqueue_of(const struct transform_frame *frame, cl_command_queue queue, unsigned index,
                      cl_event *ret_event, struct error *why)
{
    const unsigned own = frame->transform->dispatch_count;
    return index < own ? enqueue(frame, queue, index, ret_event, why)
                       : enqueue(frame->smaller, queue, index - own, ret_event, why);
}

/* The dispatch that completes lines comes last, and only if there are any. */
static unsigned count_dispatches(const struct transform_frame *frame)
{
    const bool is_idle =
        frame->transform->is_load && transform_completes(frame->transform) && frame->completed == 0;
    return transform_dispatches(frame->transform) - is_idle;
}

int transform_frame_enqueue(struct transform_frame *frame, cl_command_queue queue,
                            const struct transform_buffers *buffers, cl_event *first,
                            cl_event *last, struct error *why)
{
    int r = transform_frame_bind(frame, buffers, why);
    const unsigned count = count_dispatches(frame);
    for (unsigned i = 0; i < count && r == 0; i++)
        r = enqueue_of(frame, queue, i, i == 0 ? first : i + 1 == count ? last : NULL, why);
    if (r == 0 && count == 1 && first != NULL && last != NULL)
        clRetainEvent(*last = *first);
    return r;
}

int transform_frame_enqueue_each(struct transform_frame *frame, cl_command_queue queue,
                                 cl_event ret_event[TRANSFORM_MAX_DISPATCHES], unsigned *ret_count,
                                 struct error *why)
{
    int r = 0;
    *ret_count = 0;
    for (unsigned i = 0; i < count_dispatches(frame) && r == 0; i++) {
        r = enqueue_of(frame, queue, i, &ret_event[i], why);
        *ret_count += r == 0;
    }
    return r;
}
