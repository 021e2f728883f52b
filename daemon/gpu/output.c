/* Memory of the host into which a device puts results (engine.h, struct engine_output). Each frame
 * has a buffer of its own over that memory (CL_MEM_USE_HOST_PTR).
 *
 * A device in the host's memory stores results into these buffers. They are mapped from the end of
 * one result to the beginning of the next: only then does OpenCL promise that the host's memory
 * holds what the device wrote. Devices that work there anyway, such as processors, move nothing for
 * a map.
 *
 * A device with memory of its own sends each result there. No command uses the buffers: as long as
 * they exist, NVIDIA's driver keeps the memory locked, and so sends at the full rate of the bus,
 * and without waiting in the call. Elsewhere the driver may copy through locked memory of its own.
 *
 * A device may keep a buffer for longer than a frame, and one that hangs keeps it for ever. So the
 * memory is given up by the last reference: that of the owner, one for each frame in flight, and
 * one for each buffer, which OpenCL returns when it has deleted the buffer. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "gpu/engine_private.h"

#define CACHE_LINE_BYTES 64 /* the longest of common processors and devices */

struct output_frame {
    cl_mem buffer;
    void *at;   /* address of the mapping; NULL: not mapped */
    bool taken; /* a frame in flight has it, and maybe its mapping has not completed */
};

struct engine_output {
    cl_context context; /* a reference, because the device may be closed first */
    cl_command_queue queue;
    struct engine_output_memory memory;
    size_t frame_bytes;
    bool sends; /* the device has memory of its own */
    struct output_frame frame[ENGINE_OUTPUT_MAX];
    bool destroyed;      /* by the owner */
    unsigned references; /* atomic */
};

static void keep(struct engine_output *output)
{
    __atomic_fetch_add(&output->references, 1, __ATOMIC_RELAXED);
}

static void drop(struct engine_output *output)
{
    if (__atomic_sub_fetch(&output->references, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    if (output->memory.release != NULL)
        output->memory.release(output->memory.context);
    free(output);
}

/* Runs in any thread. */
static void CL_CALLBACK on_deleted(cl_mem buffer, void *context)
{
    (void)buffer;
    drop(context);
}

static int make_frame(struct engine_output *output, unsigned index, struct error *why)
{
    struct output_frame *frame = &output->frame[index];
    cl_int code;
    frame->buffer = clCreateBuffer(output->context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR,
                                   output->frame_bytes, output->memory.frame[index], &code);
    if (code != CL_SUCCESS)
        return opencl_fail(why, code, "clCreateBuffer");
    code = clSetMemObjectDestructorCallback(frame->buffer, on_deleted, output);
    if (code != CL_SUCCESS)
        return opencl_fail(why, code, "clSetMemObjectDestructorCallback");
    keep(output);
    return 0;
}

/* Whether a device can work in the memory, and nothing else in it is affected. */
static int check(const struct engine *engine, const struct engine_output_memory *memory,
                 struct error *why)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (unsigned i = 0; i < memory->count; i++)
        if ((uintptr_t)memory->frame[i] % page != 0)
            return error_set(why, EOPNOTSUPP, "frame %u begins at %p: expected the start of a page",
                             i, (void *)memory->frame[i]);
    if (engine->device->unified_memory && engine->filtered_planes < engine->format.plane_count &&
        engine->frame_bytes % CACHE_LINE_BYTES != 0)
        return error_set(why, EOPNOTSUPP,
                         "the filtered planes have %zu bytes: expected a multiple of %d",
                         engine->frame_bytes, CACHE_LINE_BYTES);
    return 0;
}

int engine_output_create(struct engine_output **ret, const struct engine *engine,
                         const struct engine_output_memory *memory, struct error *why)
{
    int r = check(engine, memory, why);
    if (r < 0)
        return r;
    struct engine_output *output = calloc(1, sizeof *output);
    cl_int code;
    if (output == NULL)
        return error_set(why, ENOMEM, "out of memory while creating the engine's output");
    output->references = 1;
    output->queue = clCreateCommandQueue(engine->device->context, engine->device->id, 0, &code);
    if (code != CL_SUCCESS) {
        free(output);
        opencl_fail(why, code, "clCreateCommandQueue");
        return -EOPNOTSUPP;
    }
    output->context = engine->device->context;
    clRetainContext(output->context);
    output->memory = *memory;
    output->memory.release = NULL; /* not before this succeeds */
    output->frame_bytes = engine->frame_bytes;
    output->sends = !engine->device->unified_memory;
    for (unsigned i = 0; i < memory->count && r == 0; i++)
        r = make_frame(output, i, why);
    if (r < 0) {
        engine_output_destroy(output);
        return -EOPNOTSUPP;
    }
    output->memory.release = memory->release;
    *ret = output;
    return 0;
}

void engine_output_destroy(struct engine_output *output)
{
    if (output == NULL)
        return;
    for (unsigned i = 0; i < output->memory.count; i++) {
        struct output_frame *frame = &output->frame[i];
        if (frame->at != NULL && !frame->taken)
            clEnqueueUnmapMemObject(output->queue, frame->buffer, frame->at, 0, NULL, NULL);
        if (frame->buffer != NULL)
            clReleaseMemObject(frame->buffer);
    }
    clFlush(output->queue);
    clReleaseCommandQueue(output->queue);
    clReleaseContext(output->context);
    output->destroyed = true;
    drop(output);
}

bool engine_output_suits(const struct engine_output *output, const struct engine *engine)
{
    return output->context == engine->device->context && output->frame_bytes == engine->frame_bytes;
}

/* ---- frames in a queue --------------------------------------------------------------------- */

void engine_output_take(struct engine_output *output, unsigned index)
{
    output->frame[index].taken = true;
    clRetainMemObject(output->frame[index].buffer);
    keep(output);
}

int engine_output_lend(struct engine_output *output, unsigned index, cl_command_queue queue,
                       cl_mem *ret, struct error *why)
{
    struct output_frame *frame = &output->frame[index];
    if (output->sends)
        return 0;
    if (frame->at != NULL) {
        const cl_int code = clEnqueueUnmapMemObject(queue, frame->buffer, frame->at, 0, NULL, NULL);
        if (code != CL_SUCCESS)
            return opencl_fail(why, code, "clEnqueueUnmapMemObject");
        frame->at = NULL;
    }
    *ret = frame->buffer;
    return 0;
}

int engine_output_fetch(struct engine_output *output, unsigned index, cl_command_queue queue,
                        cl_mem result, cl_map_flags flags, void **ret_at, cl_event *ret_done,
                        struct error *why)
{
    struct output_frame *frame = &output->frame[index];
    cl_int code;
    if (output->sends) {
        *ret_at = output->memory.frame[index];
        code = clEnqueueReadBuffer(queue, result, CL_FALSE, 0, output->frame_bytes, *ret_at, 0,
                                   NULL, ret_done);
        return code == CL_SUCCESS ? 0 : opencl_fail(why, code, "clEnqueueReadBuffer");
    }
    void *at = clEnqueueMapBuffer(queue, frame->buffer, CL_FALSE, flags, 0, output->frame_bytes, 0,
                                  NULL, ret_done, &code);
    if (code != CL_SUCCESS)
        return opencl_fail(why, code, "clEnqueueMapBuffer");
    *ret_at = frame->at = at;
    return 0;
}

void engine_output_give_back(struct engine_output *output, unsigned index, cl_command_queue queue)
{
    struct output_frame *frame = &output->frame[index];
    frame->taken = false;
    if (output->destroyed && frame->at != NULL) {
        clEnqueueUnmapMemObject(queue, frame->buffer, frame->at, 0, NULL, NULL);
        clFlush(queue);
    }
    clReleaseMemObject(frame->buffer);
    drop(output);
}
