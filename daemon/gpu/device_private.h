/* The device's OpenCL objects and properties, for the files of this folder, and functions that
 * report OpenCL errors.
 */
#ifndef FFTD_GPU_DEVICE_PRIVATE_H
#define FFTD_GPU_DEVICE_PRIVATE_H

#include <CL/cl.h>
#include <CL/cl_ext.h>
#include <CL/cl_half.h>
#include <stdbool.h>

#include "core/error.h"
#include "gpu/device.h"

typedef cl_mem import_memory_fn(cl_context context, cl_mem_flags flags,
                                const cl_import_properties_arm *properties, void *memory,
                                size_t size, cl_int *ret_code);

#define GPU_MAX_SMALL_PROGRAMS 5

struct gpu_device {
    cl_platform_id platform;
    cl_device_id id;
    cl_context context;
    char name[256];
    char identity[512]; /* device, driver and platform versions; part of every cache key */
    char cpu_name[256]; /* the device that "cpu" selects; empty: none, or this one is a CPU */
    cl_device_type type;
    bool unified_memory;              /* host and device share memory: map, do not copy */
    import_memory_fn *import_dma_buf; /* NULL: not supported, as the next one */
    import_memory_fn *import_host;    /* imports memory of the host */
    cl_ulong global_bytes, local_bytes;
    size_t max_group;
    bool builds_for_required_group; /* dispatch.c: kernel_group_limit */
    bool half_vectors;              /* cl_khr_fp16 */
    bool midgard;                   /* Mali Midgard: fewer registers per kernel allow more items */
    bool caches_programs;           /* its driver keeps on disk what it compiled: program.c */
    cl_uint compute_units;
    cl_uint vector_width; /* native floats in a register; 1 on scalar devices */
    struct {
        const char *file; /* NULL: this and the next ones are not used yet */
        bool half;
        cl_program program;
    } small[GPU_MAX_SMALL_PROGRAMS]; /* program_small */
};

/* Returns the name of an OpenCL error code, such as "CL_OUT_OF_RESOURCES". */
const char *opencl_error_name(cl_int code);

/* Fills why with "WHAT: CL_..." and returns -errno (-ENOMEM for lack of memory, else -EIO). */
int opencl_fail(struct error *why, cl_int code, const char *what);

/* These create what the caller releases, and return 0 or what opencl_fail returns.
 *
 * A buffer. host: what the flags say of it, CL_MEM_COPY_HOST_PTR or _USE_HOST_PTR, or NULL. */
int opencl_make_buffer(cl_mem *ret, cl_context context, cl_mem_flags flags, size_t bytes,
                       void *host, struct error *why);

/* A buffer with this data, which kernels only read. */
int opencl_make_table(cl_mem *ret, cl_context context, const void *data, size_t bytes,
                      struct error *why);

/* Memory of the host that the device reads or writes without a copy by its driver, and its mapping.
 */
int opencl_make_pinned(cl_mem *ret, void **ret_at, cl_context context, cl_command_queue queue,
                       cl_map_flags flags, size_t bytes, struct error *why);

int opencl_make_queue(cl_command_queue *ret, const struct gpu_device *device,
                      cl_command_queue_properties properties, struct error *why);
int opencl_make_kernel(cl_kernel *ret, cl_program program, const char *name, struct error *why);

struct opencl_argument {
    size_t bytes;      /* 0: the kernel has no such argument */
    const void *value; /* NULL: the kernel gets `bytes` of local memory */
};
#define VALUE(lvalue)                                                                              \
    {                                                                                              \
        sizeof(lvalue), &(lvalue)                                                                  \
    }

/* An argument that is a buffer; if it is NULL, the kernel has no such argument. */
#define OPTIONAL(lvalue)                                                                           \
    {                                                                                              \
        (lvalue) != NULL ? sizeof(cl_mem) : 0, &(lvalue)                                           \
    }

/* Sets all arguments of a kernel. */
int opencl_set_arguments(cl_kernel kernel, const struct opencl_argument *argument, unsigned count,
                         struct error *why);

/* Launches a kernel. `after`: the event that it waits for, or NULL. `event` gets the kernel's own
 * event, unless it is NULL. */
int opencl_launch(cl_command_queue queue, cl_kernel kernel, unsigned dimensions,
                  const size_t *global, const size_t *local, cl_event after, cl_event *event,
                  struct error *why);

/* Sets `count` arguments, which are all, and launches groups[0] x groups[1] x groups[2] work-groups
 * of `local` items along the first axis. `after` and `event` as for opencl_launch. */
int opencl_launch_groups(cl_command_queue queue, cl_kernel kernel,
                         const struct opencl_argument *argument, unsigned count,
                         const size_t groups[3], size_t local, cl_event after, cl_event *event,
                         struct error *why);

/* Enqueues a write to a buffer. The data must not change until the queue has executed it. */
int opencl_write(cl_command_queue queue, cl_mem buffer, const void *data, size_t bytes,
                 struct error *why);

/* How many numbers an item of a kernel that works on rows computes at a time. A CPU's driver that
 * names no vectors, as llvmpipe, makes them of work-items like a GPU's, and takes those in kernels
 * apart. */
static inline unsigned gpu_device_lanes(const struct gpu_device *device)
{
    if (!(device->type & CL_DEVICE_TYPE_CPU) || device->vector_width <= 1)
        return 1;
    return device->vector_width >= 16 ? 16 : device->vector_width >= 8 ? 8 : 4;
}

/* Release what is not NULL. */
static inline void opencl_release_buffer(cl_mem buffer)
{
    if (buffer != NULL)
        clReleaseMemObject(buffer);
}

static inline void opencl_release_event(cl_event event)
{
    if (event != NULL)
        clReleaseEvent(event);
}

static inline void opencl_release_kernel(cl_kernel kernel)
{
    if (kernel != NULL)
        clReleaseKernel(kernel);
}

static inline void opencl_release_program(cl_program program)
{
    if (program != NULL)
        clReleaseProgram(program);
}

#endif
