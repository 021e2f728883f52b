/* Frames in memory that both a source and kernels use (core/frame_memory.h).
 *
 * Shared: the device allocates the memory, and the host maps it while the source may write it. A
 * driver that writes by DMA must not share pages or cache lines with other data, so each frame
 * begins at a page boundary. If the allocation does not, a sub-buffer of it does.
 *
 * Shared with a device that has memory of its own: the host allocates the memory, and the engine
 * sends each frame from there into a buffer of the device. A buffer over the host's memory keeps
 * its pages locked, as those of an output do (output.c), and no command uses it. So it can be
 * deleted at any time, and the memory is freed when OpenCL has deleted it.
 *
 * Imported: a dma-buf becomes a buffer that only kernels can use.
 *
 * Nothing here waits for frames, because OpenCL keeps memory alive while the device uses it. So a
 * source can release memory even if the device hangs. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/engine_private.h"

struct engine_frame {
    cl_mem whole;  /* shared: the allocation, if `buffer` is a part of it */
    cl_mem buffer; /* read by kernels; sent: locks the memory; NULL: no such frame */
    size_t bytes;
    bool shared;
    bool sent;       /* shared, but not in memory that the device reads */
    uint8_t *at;     /* shared: address of the mapping, valid after `mapped`; NULL: not mapped */
    cl_event mapped; /* NULL: mapping is complete */
};

struct engine_memory {
    struct frame_memory base;
    cl_context context; /* a reference, because the device may be closed first */
    cl_command_queue queue;
    import_memory_fn *import; /* NULL: no dma-bufs */
    bool sends;               /* the device has memory of its own */
    struct engine_frame frame[FRAME_MEMORY_MAX];
};

static struct engine_memory *memory_of(struct frame_memory *memory)
{
    return (struct engine_memory *)memory;
}

/* ---- shared -------------------------------------------------------------------------------- */

/* The mapping must keep its contents, because not all sources write every byte of every frame. The
 * host reads it for snapshots and for planes that are not filtered. */
#define MAP_FLAGS (CL_MAP_READ | CL_MAP_WRITE)

static void *map(struct engine_memory *memory, cl_mem buffer, size_t bytes, struct error *why)
{
    cl_int code;
    void *at = clEnqueueMapBuffer(memory->queue, buffer, CL_TRUE, MAP_FLAGS, 0, bytes, 0, NULL,
                                  NULL, &code);
    if (code != CL_SUCCESS)
        opencl_fail(why, code, "clEnqueueMapBuffer");
    return code == CL_SUCCESS ? at : NULL;
}

static size_t page_bytes(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

static size_t misalignment(const void *at)
{
    return (uintptr_t)at % page_bytes();
}

/* Creates `buffer`: frame->bytes of device memory that begin at a page boundary. */
static int allocate(struct engine_memory *memory, struct engine_frame *frame, struct error *why)
{
    const size_t page = page_bytes();
    cl_int code;
    const int r = opencl_make_buffer(&frame->buffer, memory->context,
                                     CL_MEM_READ_ONLY | CL_MEM_ALLOC_HOST_PTR, frame->bytes + page,
                                     NULL, why);
    if (r < 0)
        return r;
    void *at = map(memory, frame->buffer, frame->bytes + page, why);
    if (at == NULL)
        return -ENOMEM;
    clEnqueueUnmapMemObject(memory->queue, frame->buffer, at, 0, NULL, NULL);
    if (misalignment(at) == 0)
        return 0;

    const cl_buffer_region region = {page - misalignment(at), frame->bytes};
    frame->whole = frame->buffer;
    frame->buffer =
        clCreateSubBuffer(frame->whole, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &code);
    return code == CL_SUCCESS ? 0 : opencl_fail(why, code, "clCreateSubBuffer");
}

static void release(struct engine_memory *memory, struct engine_frame *frame)
{
    if (frame->at != NULL && !frame->sent)
        clEnqueueUnmapMemObject(memory->queue, frame->buffer, frame->at, frame->mapped != NULL,
                                frame->mapped != NULL ? &frame->mapped : NULL, NULL);
    opencl_release_event(frame->mapped);
    opencl_release_buffer(frame->buffer);
    opencl_release_buffer(frame->whole);
    *frame = (struct engine_frame){0};
}

static int allocate_mapped(struct engine_memory *memory, struct engine_frame *frame,
                           struct error *why)
{
    const int r = allocate(memory, frame, why);
    if (r < 0)
        return r;
    frame->at = map(memory, frame->buffer, frame->bytes, why);
    if (frame->at == NULL)
        return -ENOMEM;
    if (misalignment(frame->at) != 0)
        return error_set(why, EINVAL, "the device maps a frame at %p: expected the start of a page",
                         (void *)frame->at);
    return 0;
}

/* Runs in any thread. */
static void CL_CALLBACK on_deleted(cl_mem buffer, void *at)
{
    (void)buffer;
    free(at);
}

static int allocate_locked(struct engine_memory *memory, struct engine_frame *frame,
                           struct error *why)
{
    uint8_t *at = aligned_alloc(page_bytes(), frame->bytes);
    cl_mem buffer;
    if (at == NULL)
        return error_set(why, ENOMEM, "out of memory for a frame of %zu bytes", frame->bytes);
    memset(at, 0, frame->bytes);
    const int r = opencl_make_buffer(&buffer, memory->context,
                                     CL_MEM_READ_ONLY | CL_MEM_USE_HOST_PTR, frame->bytes, at, why);
    if (r < 0) {
        free(at);
        return r;
    }
    const cl_int code = clSetMemObjectDestructorCallback(buffer, on_deleted, at);
    if (code != CL_SUCCESS) {
        clReleaseMemObject(buffer);
        free(at);
        return opencl_fail(why, code, "clSetMemObjectDestructorCallback");
    }
    frame->buffer = buffer;
    frame->at = at;
    frame->sent = true;
    return 0;
}

static int share(struct frame_memory *base, unsigned index, size_t bytes, struct error *why)
{
    struct engine_memory *memory = memory_of(base);
    struct engine_frame *frame = &memory->frame[index];
    const size_t page = page_bytes(), least = base->layout.frame_bytes;
    frame->shared = true;
    frame->bytes = ((bytes > least ? bytes : least) + page - 1) / page * page;
    const int r =
        memory->sends ? allocate_locked(memory, frame, why) : allocate_mapped(memory, frame, why);
    if (r == 0)
        return 0;
    release(memory, frame);
    return -EOPNOTSUPP;
}

static uint8_t *address(const struct frame_memory *base, unsigned index)
{
    return ((const struct engine_memory *)base)->frame[index].at;
}

/* Bytes of the planes that the device reads. */
static size_t filtered_bytes(const struct frame_memory *memory)
{
    const struct fftd_plane *last = &memory->layout.plane[memory->plane_count - 1];
    return last->offset + (size_t)last->stride * last->rows;
}

/* ---- imported ------------------------------------------------------------------------------ */

static int import(struct frame_memory *base, unsigned index, int fd, size_t bytes,
                  struct error *why)
{
    static const cl_import_properties_arm properties[] = {CL_IMPORT_TYPE_ARM,
                                                          CL_IMPORT_TYPE_DMA_BUF_ARM, 0};
    struct engine_memory *memory = memory_of(base);
    struct engine_frame *frame = &memory->frame[index];
    const size_t least = filtered_bytes(base);
    cl_int code;
    if (bytes < least)
        return error_set(why, EOPNOTSUPP, "a dma-buf has %zu bytes: expected at least %zu", bytes,
                         least);
    cl_mem buffer =
        memory->import(memory->context, CL_MEM_READ_ONLY, properties, &fd, bytes, &code);
    if (code != CL_SUCCESS) {
        opencl_fail(why, code, "clImportMemoryARM");
        return -EOPNOTSUPP;
    }
    *frame = (struct engine_frame){.buffer = buffer, .bytes = bytes};
    return 0;
}

/* ---- life ---------------------------------------------------------------------------------- */

static void clear(struct frame_memory *base)
{
    struct engine_memory *memory = memory_of(base);
    for (unsigned i = 0; i < FRAME_MEMORY_MAX; i++)
        release(memory, &memory->frame[i]);
    clFlush(memory->queue);
}

static const struct frame_memory_ops ops = {
    .share = share, .import = import, .address = address, .clear = clear};

int engine_memory_create(struct frame_memory **ret, const struct engine *engine, struct error *why)
{
    const struct gpu_device *device = engine->device;
    struct engine_memory *memory = calloc(1, sizeof *memory);
    if (memory == NULL)
        return error_set(why, ENOMEM, "out of memory while allocating frame buffers");
    const int r = opencl_make_queue(&memory->queue, device, 0, why);
    if (r < 0) {
        free(memory);
        return r;
    }
    memory->base = (struct frame_memory){
        .ops = &ops,
        .layout = engine->source,
        .plane_count = engine->filtered_planes,
        .can_import = device->import_dma_buf != NULL,
        .held = engine->options.in_flight,
    };
    memory->context = device->context;
    memory->import = device->import_dma_buf;
    memory->sends = !device->unified_memory;
    clRetainContext(memory->context);
    *ret = &memory->base;
    return 0;
}

void engine_memory_destroy(struct frame_memory *memory)
{
    if (memory == NULL)
        return;
    struct engine_memory *own = memory_of(memory);
    clear(memory);
    clReleaseCommandQueue(own->queue);
    clReleaseContext(own->context);
    free(own);
}

bool engine_memory_suits(const struct frame_memory *memory, const struct engine *engine)
{
    const struct engine_memory *own = (const struct engine_memory *)memory;
    if (own->context != engine->device->context || memory->plane_count != engine->filtered_planes)
        return false;
    for (unsigned p = 0; p < memory->plane_count; p++) {
        const struct fftd_plane *a = &memory->layout.plane[p], *b = &engine->source.plane[p];
        if (a->offset != b->offset || a->stride != b->stride || a->rows != b->rows)
            return false;
    }
    return true;
}

/* ---- frames in a queue --------------------------------------------------------------------- */

int engine_memory_lend(struct frame_memory *memory, unsigned index, cl_command_queue queue,
                       size_t bytes, cl_mem *ret_held, cl_mem *ret, struct error *why)
{
    struct engine_frame *frame = &memory_of(memory)->frame[index];
    cl_int code;
    if (frame->sent) {
        const int r = opencl_write(queue, *ret, frame->at, bytes, why);
        if (r < 0)
            return r;
        clRetainMemObject(frame->buffer);
        *ret_held = frame->buffer;
        return 0;
    }
    if (frame->shared) {
        /* Another queue may still read it. */
        code = clEnqueueUnmapMemObject(queue, frame->buffer, frame->at, frame->mapped != NULL,
                                       frame->mapped != NULL ? &frame->mapped : NULL, NULL);
        if (code != CL_SUCCESS)
            return opencl_fail(why, code, "clEnqueueUnmapMemObject");
        opencl_release_event(frame->mapped);
        frame->mapped = NULL;
        frame->at = NULL;
    }
    *ret = frame->buffer;
    return 0;
}

int engine_memory_return(struct frame_memory *memory, unsigned index, cl_command_queue queue,
                         int result, struct error *why)
{
    struct engine_frame *frame = &memory_of(memory)->frame[index];
    cl_int code;
    if (!frame->shared || frame->sent || frame->at != NULL)
        return result;
    frame->at = clEnqueueMapBuffer(queue, frame->buffer, CL_FALSE, MAP_FLAGS, 0, frame->bytes, 0,
                                   NULL, &frame->mapped, &code);
    return result < 0 || code == CL_SUCCESS ? result : opencl_fail(why, code, "clEnqueueMapBuffer");
}

bool engine_memory_is_in_place(const struct frame_memory *memory)
{
    const struct engine_memory *own = (const struct engine_memory *)memory;
    return own != NULL && !own->sends && own->import == NULL;
}
