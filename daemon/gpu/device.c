#include "gpu/device.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/text.h"
#include "gpu/device_private.h"

#define MAX_DEVICES 32

struct candidate {
    cl_platform_id platform;
    cl_device_id id;
    cl_device_type type;
    char name[128];
    char platform_name[128];
    char version[128];
};

const char *opencl_error_name(cl_int code)
{
    static _Thread_local char number[32];
    static const struct {
        cl_int code;
        const char *name;
    } names[] = {
#define NAME(code) {code, #code}
        NAME(CL_DEVICE_NOT_FOUND),
        NAME(CL_DEVICE_NOT_AVAILABLE),
        NAME(CL_COMPILER_NOT_AVAILABLE),
        NAME(CL_MEM_OBJECT_ALLOCATION_FAILURE),
        NAME(CL_OUT_OF_RESOURCES),
        NAME(CL_OUT_OF_HOST_MEMORY),
        NAME(CL_MAP_FAILURE),
        NAME(CL_BUILD_PROGRAM_FAILURE),
        NAME(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST),
        NAME(CL_INVALID_VALUE),
        NAME(CL_INVALID_DEVICE),
        NAME(CL_INVALID_CONTEXT),
        NAME(CL_INVALID_BINARY),
        NAME(CL_INVALID_KERNEL_NAME),
        NAME(CL_INVALID_KERNEL_ARGS),
        NAME(CL_INVALID_OPERATION),
        NAME(CL_INVALID_WORK_GROUP_SIZE),
        NAME(CL_INVALID_WORK_ITEM_SIZE),
        NAME(CL_INVALID_BUFFER_SIZE),
        {-1001, "CL_PLATFORM_NOT_FOUND_KHR"},
#undef NAME
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (names[i].code == code)
            return names[i].name;
    snprintf(number, sizeof number, "OpenCL error %d", (int)code);
    return number;
}

int opencl_fail(struct error *why, cl_int code, const char *what)
{
    const bool memory = code == CL_OUT_OF_HOST_MEMORY || code == CL_MEM_OBJECT_ALLOCATION_FAILURE;
    return error_set(why, memory ? ENOMEM : EIO, "%s: %s", what, opencl_error_name(code));
}

int opencl_make_buffer(cl_mem *ret, cl_context context, cl_mem_flags flags, size_t bytes,
                       void *host, struct error *why)
{
    cl_int code;
    const cl_mem buffer = clCreateBuffer(context, flags, bytes, host, &code);
    if (code != CL_SUCCESS)
        return opencl_fail(why, code, "clCreateBuffer");
    *ret = buffer;
    return 0;
}

int opencl_make_table(cl_mem *ret, cl_context context, const void *data, size_t bytes,
                      struct error *why)
{
    return opencl_make_buffer(ret, context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, bytes,
                              (void *)data, why);
}

int opencl_make_pinned(cl_mem *ret, void **ret_at, cl_context context, cl_command_queue queue,
                       cl_map_flags flags, size_t bytes, struct error *why)
{
    cl_int code;
    const int r = opencl_make_buffer(ret, context, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, bytes,
                                     NULL, why);
    if (r < 0)
        return r;
    *ret_at = clEnqueueMapBuffer(queue, *ret, CL_TRUE, flags, 0, bytes, 0, NULL, NULL, &code);
    return code == CL_SUCCESS ? 0 : opencl_fail(why, code, "clEnqueueMapBuffer");
}

int opencl_make_queue(cl_command_queue *ret, const struct gpu_device *device,
                      cl_command_queue_properties properties, struct error *why)
{
    cl_int code;
    const cl_command_queue queue =
        clCreateCommandQueue(device->context, device->id, properties, &code);
    if (code != CL_SUCCESS)
        return opencl_fail(why, code, "clCreateCommandQueue");
    *ret = queue;
    return 0;
}

int opencl_make_kernel(cl_kernel *ret, cl_program program, const char *name, struct error *why)
{
    cl_int code;
    const cl_kernel kernel = clCreateKernel(program, name, &code);
    if (code != CL_SUCCESS)
        return opencl_fail(why, code, name);
    *ret = kernel;
    return 0;
}

int opencl_set_arguments(cl_kernel kernel, const struct opencl_argument *argument, unsigned count,
                         struct error *why)
{
    cl_int code = CL_SUCCESS;
    cl_uint at = 0;
    for (unsigned i = 0; i < count && code == CL_SUCCESS; i++)
        if (argument[i].bytes > 0)
            code = clSetKernelArg(kernel, at++, argument[i].bytes, argument[i].value);
    return code == CL_SUCCESS ? 0 : opencl_fail(why, code, "clSetKernelArg");
}

int opencl_launch(cl_command_queue queue, cl_kernel kernel, unsigned dimensions,
                  const size_t *global, const size_t *local, cl_event after, cl_event *event,
                  struct error *why)
{
    const cl_int code = clEnqueueNDRangeKernel(queue, kernel, dimensions, NULL, global, local,
                                               after != NULL, after != NULL ? &after : NULL, event);
    return code == CL_SUCCESS ? 0 : opencl_fail(why, code, "clEnqueueNDRangeKernel");
}

int opencl_launch_groups(cl_command_queue queue, cl_kernel kernel,
                         const struct opencl_argument *argument, unsigned count,
                         const size_t groups[3], size_t local, cl_event after, cl_event *event,
                         struct error *why)
{
    const size_t global[3] = {groups[0] * local, groups[1], groups[2]};
    const size_t size[3] = {local, 1, 1};
    const int r = opencl_set_arguments(kernel, argument, count, why);
    return r < 0 ? r : opencl_launch(queue, kernel, 3, global, size, after, event, why);
}

int opencl_write(cl_command_queue queue, cl_mem buffer, const void *data, size_t bytes,
                 struct error *why)
{
    const cl_int code =
        clEnqueueWriteBuffer(queue, buffer, CL_FALSE, 0, bytes, data, 0, NULL, NULL);
    return code == CL_SUCCESS ? 0 : opencl_fail(why, code, "clEnqueueWriteBuffer");
}

/* Lists all devices of all platforms in the loader's order. Platforms without devices, such as
 * Mesa's Clover in many cases, are skipped. */
static unsigned find_devices(struct candidate *found, unsigned capacity)
{
    cl_platform_id platforms[16];
    cl_uint platform_count = 0;
    unsigned count = 0;
    if (clGetPlatformIDs(16, platforms, &platform_count) != CL_SUCCESS)
        return 0;
    if (platform_count > 16)
        platform_count = 16;
    for (cl_uint p = 0; p < platform_count; p++) {
        cl_device_id ids[MAX_DEVICES];
        cl_uint id_count = 0;
        if (clGetDeviceIDs(platforms[p], CL_DEVICE_TYPE_ALL, MAX_DEVICES, ids, &id_count) !=
            CL_SUCCESS)
            continue;
        for (cl_uint i = 0; i < id_count && i < MAX_DEVICES && count < capacity; i++) {
            struct candidate *c = &found[count++];
            *c = (struct candidate){.platform = platforms[p], .id = ids[i]};
            clGetDeviceInfo(ids[i], CL_DEVICE_TYPE, sizeof c->type, &c->type, NULL);
            clGetDeviceInfo(ids[i], CL_DEVICE_NAME, sizeof c->name - 1, c->name, NULL);
            clGetDeviceInfo(ids[i], CL_DEVICE_VERSION, sizeof c->version - 1, c->version, NULL);
            clGetPlatformInfo(platforms[p], CL_PLATFORM_NAME, sizeof c->platform_name - 1,
                              c->platform_name, NULL);
        }
    }
    return count;
}

static int pick_type(const struct candidate *found, unsigned count, cl_device_type type)
{
    for (unsigned i = 0; i < count; i++)
        if (found[i].type & type)
            return (int)i;
    return -1;
}

static int pick(const struct candidate *found, unsigned count, const char *selector)
{
    if (strcmp(selector, "auto") == 0) {
        const int gpu = pick_type(found, count, CL_DEVICE_TYPE_GPU);
        return gpu >= 0 ? gpu : (count > 0 ? 0 : -1);
    }
    if (strcmp(selector, "gpu") == 0)
        return pick_type(found, count, CL_DEVICE_TYPE_GPU);
    if (strcmp(selector, "cpu") == 0)
        return pick_type(found, count, CL_DEVICE_TYPE_CPU);
    if (strcmp(selector, "accelerator") == 0)
        return pick_type(found, count, CL_DEVICE_TYPE_ACCELERATOR);

    char *end;
    const unsigned long index = strtoul(selector, &end, 10);
    if (isdigit((unsigned char)selector[0]) && *end == '\0')
        return index < count ? (int)index : -1;

    for (unsigned i = 0; i < count; i++)
        if (strcasestr(found[i].name, selector) != NULL ||
            strcasestr(found[i].platform_name, selector) != NULL)
            return (int)i;
    return -1;
}

static int refuse(const struct candidate *found, unsigned count, const char *selector,
                  struct error *why)
{
    char list[400] = "";
    if (count == 0)
        return error_set(why, ENODEV,
                         "no OpenCL device on this machine: install the GPU's OpenCL driver, or "
                         "pocl-opencl-icd to run on the CPU");
    for (unsigned i = 0; i < count; i++)
        text_append(list, sizeof list, "%s%u = %s (%s)", i > 0 ? ", " : "", i, found[i].name,
                    found[i].platform_name);
    char quoted[TEXT_QUOTE_BYTES];
    return error_set(why, ENODEV,
                     "no OpenCL device matches %s: expected auto, gpu, cpu, accelerator, or an "
                     "index or part of a name of %s",
                     text_quote(quoted, selector), list);
}

/* Returns whether the device's space-separated list of extensions contains this one. */
static bool has_extension(cl_device_id id, const char *name)
{
    char list[8192] = "";
    const size_t length = strlen(name);
    clGetDeviceInfo(id, CL_DEVICE_EXTENSIONS, sizeof list - 1, list, NULL);
    for (const char *at = list; (at = strstr(at, name)) != NULL; at += length)
        if ((at == list || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0'))
            return true;
    return false;
}

/* Asks the driver for the import function, because the loader exports no functions of extensions.
 * Each kind of memory has its own extension. */
static import_memory_fn *find_import(const struct gpu_device *device, const char *extension)
{
    if (!has_extension(device->id, extension))
        return NULL;
    void *found = clGetExtensionFunctionAddressForPlatform(device->platform, "clImportMemoryARM");
    import_memory_fn *import;
    memcpy(&import, &found, sizeof import); /* ISO C does not convert object to function pointers */
    return import;
}

static bool pocl_has_cache(const struct candidate *candidate)
{
    const char *setting = getenv("POCL_KERNEL_CACHE");
    return strcmp(candidate->platform_name, "Portable Computing Language") == 0 &&
           (setting == NULL || strcmp(setting, "0") != 0);
}

static void print_name(const struct candidate *candidate, char *text, size_t size)
{
    snprintf(text, size, "%s (%s, %s)", candidate->name, candidate->platform_name,
             candidate->version);
}

static void probe(struct gpu_device *device, const struct candidate *chosen)
{
    char driver[128] = "";
    char platform_version[128] = "";
    cl_bool unified = CL_FALSE;
    device->platform = chosen->platform;
    device->id = chosen->id;
    device->type = chosen->type;
    clGetDeviceInfo(device->id, CL_DRIVER_VERSION, sizeof driver - 1, driver, NULL);
    clGetPlatformInfo(device->platform, CL_PLATFORM_VERSION, sizeof platform_version - 1,
                      platform_version, NULL);
    clGetDeviceInfo(device->id, CL_DEVICE_HOST_UNIFIED_MEMORY, sizeof unified, &unified, NULL);
    clGetDeviceInfo(device->id, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof device->global_bytes,
                    &device->global_bytes, NULL);
    clGetDeviceInfo(device->id, CL_DEVICE_LOCAL_MEM_SIZE, sizeof device->local_bytes,
                    &device->local_bytes, NULL);
    clGetDeviceInfo(device->id, CL_DEVICE_MAX_WORK_GROUP_SIZE, sizeof device->max_group,
                    &device->max_group, NULL);
    clGetDeviceInfo(device->id, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof device->compute_units,
                    &device->compute_units, NULL);
    clGetDeviceInfo(device->id, CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT, sizeof device->vector_width,
                    &device->vector_width, NULL);
    if (device->compute_units == 0)
        device->compute_units = 1; /* work is divided by it */
    device->half_vectors = has_extension(device->id, "cl_khr_fp16");
    device->midgard = strncmp(chosen->name, "Mali-T", 6) == 0;
    device->caches_programs = pocl_has_cache(chosen);
    device->builds_for_required_group = strcmp(chosen->platform_name, "NVIDIA CUDA") == 0;
    /* A CPU always shares memory with the host, even if its driver denies it. */
    device->unified_memory = unified == CL_TRUE || (device->type & CL_DEVICE_TYPE_CPU) != 0;
    device->import_dma_buf = find_import(device, "cl_arm_import_memory_dma_buf");
    device->import_host = find_import(device, "cl_arm_import_memory_host");
    print_name(chosen, device->name, sizeof device->name);
    snprintf(device->identity, sizeof device->identity, "%s|%s|%s|%s", chosen->name,
             chosen->version, driver, platform_version);
}

bool gpu_device_is_cpu(const struct gpu_device *device)
{
    return (device->type & CL_DEVICE_TYPE_CPU) != 0;
}

int gpu_device_open(struct gpu_device **ret, const char *selector, struct error *why)
{
    struct candidate found[MAX_DEVICES];
    const unsigned count = find_devices(found, MAX_DEVICES);
    const int chosen = pick(found, count, selector);
    if (chosen < 0)
        return refuse(found, count, selector, why);

    struct gpu_device *device = calloc(1, sizeof *device);
    if (device == NULL)
        return error_set(why, ENOMEM, "out of memory while opening the OpenCL device");
    probe(device, &found[chosen]);
    const int cpu = pick(found, count, "cpu");
    if (cpu >= 0 && !gpu_device_is_cpu(device))
        print_name(&found[cpu], device->cpu_name, sizeof device->cpu_name);

    cl_int code;
    const cl_context_properties properties[] = {CL_CONTEXT_PLATFORM,
                                                (cl_context_properties)device->platform, 0};
    device->context = clCreateContext(properties, 1, &device->id, NULL, NULL, &code);
    if (code != CL_SUCCESS) {
        opencl_fail(why, code, "clCreateContext");
        error_prefix(why, EIO, "%s", device->name);
        free(device);
        return -EIO;
    }
    *ret = device;
    return 0;
}

void gpu_device_close(struct gpu_device *device)
{
    if (device == NULL)
        return;
    for (unsigned i = 0; i < GPU_MAX_SMALL_PROGRAMS && device->small[i].file != NULL; i++)
        clReleaseProgram(device->small[i].program);
    if (device->context != NULL)
        clReleaseContext(device->context);
    free(device);
}

struct gpu_device *gpu_device_outline(const struct gpu_device *device)
{
    struct gpu_device *outline = malloc(sizeof *outline);
    if (outline == NULL)
        return NULL;
    *outline = *device;
    outline->context = NULL;
    memset(outline->small, 0, sizeof outline->small);
    return outline;
}

struct gpu_device *gpu_device_twin(const struct gpu_device *device)
{
    struct gpu_device *twin = gpu_device_outline(device);
    if (twin == NULL)
        return NULL;
    twin->context = device->context;
    clRetainContext(twin->context);
    return twin;
}

bool gpu_device_is_twin(const struct gpu_device *a, const struct gpu_device *b)
{
    return a->context == b->context;
}

uint64_t gpu_device_bytes(const struct gpu_device *device)
{
    return device->global_bytes;
}

bool gpu_device_shares_memory(const struct gpu_device *device)
{
    return device->unified_memory;
}

const char *gpu_device_identity(const struct gpu_device *device)
{
    return device->identity;
}

const char *gpu_device_name(const struct gpu_device *device)
{
    return device->name;
}

const char *gpu_device_memory(const struct gpu_device *device)
{
    if (device->unified_memory)
        return device->import_dma_buf != NULL ? "shared with the host, imports dma-bufs"
                                              : "shared with the host, imports no dma-bufs";
    return device->import_dma_buf != NULL ? "its own, imports dma-bufs"
                                          : "its own, imports no dma-bufs";
}

static const char *type_name(cl_device_type type)
{
    if (type & CL_DEVICE_TYPE_GPU)
        return "gpu";
    if (type & CL_DEVICE_TYPE_CPU)
        return "cpu";
    return "accelerator";
}

static void print_json(FILE *out, unsigned index, const struct candidate *candidate)
{
    char name[TEXT_JSON_BYTES(sizeof candidate->name)];
    char platform[TEXT_JSON_BYTES(sizeof candidate->platform_name)];
    char version[TEXT_JSON_BYTES(sizeof candidate->version)];
    fprintf(out,
            "%s{\"index\": %u, \"type\": \"%s\", \"name\": %s, \"platform\": %s, "
            "\"version\": %s}",
            index > 0 ? ", " : "", index, type_name(candidate->type),
            text_to_json(name, sizeof name, candidate->name),
            text_to_json(platform, sizeof platform, candidate->platform_name),
            text_to_json(version, sizeof version, candidate->version));
}

int gpu_device_list(void *stdio_file, bool json)
{
    FILE *out = stdio_file;
    struct candidate found[MAX_DEVICES];
    const unsigned count = find_devices(found, MAX_DEVICES);
    if (json)
        fputs("[", out);
    for (unsigned i = 0; i < count; i++) {
        const struct candidate *c = &found[i];
        if (json)
            print_json(out, i, c);
        else
            fprintf(out, "%u  %-11s  %s (%s, %s)\n", i, type_name(c->type), c->name,
                    c->platform_name, c->version);
    }
    if (json)
        fputs("]\n", out);
    return (int)count;
}
