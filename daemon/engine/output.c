/* Memory of the host into which a device puts results (engine.h, struct engine_output). Each frame
 * has a buffer of its own over that memory (CL_MEM_USE_HOST_PTR).
 *
 * A device in the host's memory stores results into these buffers. They are mapped from the end of
 * one result to the beginning of the next: only then does OpenCL promise that the host's memory
 * holds what the device wrote. Devices that work there anyway, such as processors, move nothing for
 * a map.
 *
 * A device that imports memory of the host (cl_arm_import_memory_host) stores results into imported
 * buffers instead, because a Mali's driver may copy what CL_MEM_USE_HOST_PTR names. Importing never
 * copies: it fails where the device cannot use the memory. Only kernels can use such a buffer, so
 * nothing is mapped. The extension says who keeps the caches coherent: the hardware, or the driver
 * where the hardware does not. Kernels see what the host wrote before they were enqueued, and the
 * host sees what kernels wrote once their event is complete. Three conditions are left to us:
 *
 *   - In between the host writes no cache line of the buffer. So the buffer begins with a page,
 *     ends with a cache line, and has only filtered planes on its lines. The host may read there,
 *     as clients do: nothing read before the slot is closed counts (ring/slot.h), and the driver
 *     discards lines that were loaded meanwhile, which a processor also does ahead of time.
 *   - Only this device and processors use the memory.
 *   - The event on which the engine waits follows from those of the kernels. That of a marker does,
 *     and it fails if the last dispatch fails.
 *
 * The driver reaches the pages through the daemon's own mapping. So it can import the slots of a
 * ring that is sealed against new ones (ring/memory.c).
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

#include "engine/engine_private.h"

#define CACHE_LINE_BYTES 64 /* the longest of common processors and devices */

/* How results get into the memory. */
enum output_mode { OUTPUT_MAPPED, OUTPUT_IMPORTED, OUTPUT_SENT };

struct output_frame {
    cl_mem buffer;
    void *at;   /* OUTPUT_MAPPED: address of the mapping; NULL: not mapped */
    bool taken; /* a frame in flight has it, and maybe its mapping has not completed */
};

struct engine_output {
    cl_context context; /* a reference, because the device may be closed first */
    cl_command_queue queue;
    struct engine_output_memory memory;
    size_t frame_bytes;
    enum output_mode mode;
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

static enum output_mode mode_of(const struct gpu_device *device)
{
    if (!device->unified_memory)
        return OUTPUT_SENT;
    return device->import_host != NULL ? OUTPUT_IMPORTED : OUTPUT_MAPPED;
}

/* Creates the buffer over a frame. */
static int make_buffer(const struct engine_output *output, import_memory_fn *import, uint8_t *at,
                       cl_mem *ret, struct error *why)
{
    static const cl_import_properties_arm properties[] = {CL_IMPORT_TYPE_ARM,
                                                          CL_IMPORT_TYPE_HOST_ARM, 0};
    const size_t lines = (output->frame_bytes + CACHE_LINE_BYTES - 1) / CACHE_LINE_BYTES;
    cl_int code;
    if (output->mode == OUTPUT_IMPORTED) {
        *ret = import(output->context, CL_MEM_READ_WRITE, properties, at, lines * CACHE_LINE_BYTES,
                      &code);
        return code == CL_SUCCESS ? 0 : opencl_fail(why, code, "clImportMemoryARM");
    }
    return opencl_make_buffer(ret, output->context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR,
                              output->frame_bytes, at, why);
}

static int make_frame(struct engine_output *output, import_memory_fn *import, unsigned index,
                      struct error *why)
{
    struct output_frame *frame = &output->frame[index];
    const int r = make_buffer(output, import, output->memory.frame[index], &frame->buffer, why);
    if (r < 0)
        return r;
    const cl_int code = clSetMemObjectDestructorCallback(frame->buffer, on_deleted, output);
    if (code != CL_SUCCESS)
        return opencl_fail(why, code, "clSetMemObjectDestructorCallback");
    keep(output);
    return 0;
}

/* Checks whether a device can work in the memory, and nothing else in it is affected. */
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
    if (output == NULL)
        return error_set(why, ENOMEM, "out of memory while creating the engine's output");
    output->references = 1;
    if (opencl_make_queue(&output->queue, engine->device, 0, why) < 0) {
        free(output);
        return -EOPNOTSUPP;
    }
    output->context = engine->device->context;
    clRetainContext(output->context);
    output->memory = *memory;
    output->memory.release = NULL; /* not before this succeeds */
    output->frame_bytes = engine->frame_bytes;
    output->mode = mode_of(engine->device);
    for (unsigned i = 0; i < memory->count && r == 0; i++)
        r = make_frame(output, engine->device->import_host, i, why);
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
        opencl_release_buffer(frame->buffer);
    }
    clFlush(output->queue);
    clReleaseCommandQueue(output->queue);
    clReleaseContext(output->context);
    output->destroyed = true;
    drop(output);
}

const char *engine_output_description(const struct engine_output *output)
{
    switch (output->mode) {
    case OUTPUT_SENT:
        return "sent by the device";
    case OUTPUT_IMPORTED:
        return "stored by the device (imported)";
    case OUTPUT_MAPPED:
        break;
    }
    return "stored by the device";
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
    if (output->mode == OUTPUT_SENT)
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

int engine_output_fetch(struct slot *slot, cl_map_flags flags, struct error *why)
{
    struct engine_output *output = slot->job.output;
    struct output_frame *frame = &output->frame[slot->job.output_frame];
    cl_int code = CL_SUCCESS;
    slot->mapped_out = output->memory.frame[slot->job.output_frame];
    switch (output->mode) {
    case OUTPUT_SENT:
        code = clEnqueueReadBuffer(slot->queue, slot->out, CL_FALSE, 0, output->frame_bytes,
                                   slot->mapped_out, 0, NULL, &slot->done);
        return code == CL_SUCCESS ? 0 : opencl_fail(why, code, "clEnqueueReadBuffer");
    case OUTPUT_IMPORTED:
        code = clEnqueueMarkerWithWaitList(slot->queue, 1, &slot->last, &slot->done);
        return code == CL_SUCCESS ? 0 : opencl_fail(why, code, "clEnqueueMarkerWithWaitList");
    case OUTPUT_MAPPED:
        break;
    }
    slot->mapped_out = frame->at =
        clEnqueueMapBuffer(slot->queue, frame->buffer, CL_FALSE, flags, 0, output->frame_bytes, 0,
                           NULL, &slot->done, &code);
    return code == CL_SUCCESS ? 0 : opencl_fail(why, code, "clEnqueueMapBuffer");
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
