/* Lends any OpenCL device cl_arm_import_memory for dma-bufs and for the host's memory, so that the
 * way of a frame through them can be gone without a device that has it. What is imported is mapped
 * and made a buffer with CL_MEM_USE_HOST_PTR: kernels then read what the camera's driver wrote. As
 * the extension says, such a buffer can be used by kernels alone. As on a device whose caches the
 * processors do not see, host memory begins and ends at a line of cache; and two imports that begin
 * within pages do not share one.
 *
 * It is a library for LD_PRELOAD, part of tests/layer/layer.c, and linked into tests/gpu/memory.c.
 *
 * $FFTD_IMPORTS names a file that tells how many buffers were imported and how many of them are
 * gone, in a line for each kind: "dma-bufs 12 8" and "host 3 0". While there is a file of that name
 * with ".refuse" behind it, none is imported.
 */
#include <CL/cl.h>
#include <CL/cl_ext.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define EXTENSIONS       " cl_arm_import_memory cl_arm_import_memory_dma_buf cl_arm_import_memory_host"
#define MAX_IMPORTS      256
#define CACHE_LINE_BYTES 64

/* The function that this one replaces. A layer has a table of them. */
#ifndef NEXT
#define NEXT(function) ((__typeof__(&(function)))real(#function))

static void *real(const char *name)
{
    return dlsym(RTLD_NEXT, name);
}
#endif

struct import {
    cl_mem buffer; /* NULL: this place is free */
    void *at;
    size_t bytes;
    bool is_file; /* that was mapped there; otherwise it is the host's memory */
};

struct account {
    unsigned imported, released;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct import imports[MAX_IMPORTS];
static struct account dma_bufs, host_memory;

/* With the lock held. Written beside and renamed, so that it is read whole. */
static void write_account(void)
{
    char part[4096];
    const char *path = getenv("FFTD_IMPORTS");
    if (path == NULL)
        return;
    snprintf(part, sizeof part, "%s.part", path);
    FILE *file = fopen(part, "we");
    if (file == NULL)
        return;
    fprintf(file, "dma-bufs %u %u\nhost %u %u\n", dma_bufs.imported, dma_bufs.released,
            host_memory.imported, host_memory.released);
    fclose(file);
    rename(part, path);
}

static bool is_refusing(void)
{
    char name[4096];
    const char *path = getenv("FFTD_IMPORTS");
    snprintf(name, sizeof name, "%s.refuse", path != NULL ? path : "");
    return path != NULL && access(name, F_OK) == 0;
}

/* NULL: a buffer of another kind. */
static struct import *find(cl_mem buffer)
{
    for (unsigned i = 0; i < MAX_IMPORTS; i++)
        if (imports[i].buffer == buffer)
            return &imports[i];
    return NULL;
}

static bool is_imported(cl_mem buffer)
{
    pthread_mutex_lock(&lock);
    bool found = find(buffer) != NULL;
    pthread_mutex_unlock(&lock);
    return found;
}

static void CL_CALLBACK forget(cl_mem buffer, void *unused)
{
    (void)unused;
    pthread_mutex_lock(&lock);
    struct import *import = find(buffer);
    if (import->is_file)
        munmap(import->at, import->bytes);
    (import->is_file ? &dma_bufs : &host_memory)->released++;
    import->buffer = NULL;
    write_account();
    pthread_mutex_unlock(&lock);
}

static void remember(cl_mem buffer, void *at, size_t bytes, bool is_file)
{
    pthread_mutex_lock(&lock);
    struct import *import = find(NULL);
    if (import == NULL)
        abort(); /* a leak, surely */
    *import = (struct import){buffer, at, bytes, is_file};
    (is_file ? &dma_bufs : &host_memory)->imported++;
    write_account();
    pthread_mutex_unlock(&lock);
    clSetMemObjectDestructorCallback(buffer, forget, NULL);
}

/* Gets the type of memory, which is the host's unless a property names another one. Returns false
 * if there is another property. */
static bool read_type(const cl_import_properties_arm *properties, cl_import_properties_arm *ret)
{
    *ret = CL_IMPORT_TYPE_HOST_ARM;
    for (; properties != NULL && properties[0] != 0; properties += 2) {
        if (properties[0] != CL_IMPORT_TYPE_ARM)
            return false;
        *ret = properties[1];
    }
    return *ret == CL_IMPORT_TYPE_HOST_ARM || *ret == CL_IMPORT_TYPE_DMA_BUF_ARM;
}

/* Returns whether this memory begins in the middle of a page that another import shares with it. */
static bool shares_page(const void *memory, size_t size)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), at = (uintptr_t)memory;
    bool found = false;
    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < MAX_IMPORTS && at % page != 0; i++) {
        const uintptr_t other = (uintptr_t)imports[i].at;
        found |= imports[i].buffer != NULL && !imports[i].is_file && other % page != 0 &&
                 at / page <= (other + imports[i].bytes - 1) / page &&
                 other / page <= (at + size - 1) / page;
    }
    pthread_mutex_unlock(&lock);
    return found;
}

/* MAP_FAILED: the file cannot be mapped, or is shorter. */
static void *map_file(cl_mem_flags flags, int fd, size_t size)
{
    const off_t end = lseek(fd, 0, SEEK_END);
    const bool writes = (flags & CL_MEM_READ_ONLY) == 0;
    if (end < 0 || (uint64_t)end < size)
        return MAP_FAILED;
    return mmap(NULL, size, writes ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, fd, 0);
}

static cl_mem import_memory(cl_context context, cl_mem_flags flags,
                            const cl_import_properties_arm *properties, void *memory, size_t size,
                            cl_int *errcode_ret)
{
    const cl_mem_flags access = CL_MEM_READ_WRITE | CL_MEM_WRITE_ONLY | CL_MEM_READ_ONLY;
    cl_import_properties_arm type;
    cl_int ignored;
    if (errcode_ret == NULL)
        errcode_ret = &ignored;
    *errcode_ret = CL_INVALID_VALUE;
    if (memory == NULL || size == 0 || (flags & ~access) != 0 || !read_type(properties, &type))
        return NULL;
    const bool is_file = type == CL_IMPORT_TYPE_DMA_BUF_ARM;
    if (!is_file && ((uintptr_t)memory % CACHE_LINE_BYTES != 0 || size % CACHE_LINE_BYTES != 0))
        return NULL;
    *errcode_ret = CL_INVALID_OPERATION;
    if (is_refusing() || (!is_file && shares_page(memory, size)))
        return NULL;
    void *at = is_file ? map_file(flags, *(const int *)memory, size) : memory;
    if (at == MAP_FAILED)
        return NULL;
    cl_mem buffer = clCreateBuffer(context, flags | CL_MEM_USE_HOST_PTR, size, at, errcode_ret);
    if (buffer != NULL)
        remember(buffer, at, size, is_file);
    else if (is_file)
        munmap(at, size);
    return buffer;
}

void *clGetExtensionFunctionAddressForPlatform(cl_platform_id platform, const char *name)
{
    if (strcmp(name, "clImportMemoryARM") != 0)
        return NEXT(clGetExtensionFunctionAddressForPlatform)(platform, name);
    __typeof__(&import_memory) import = import_memory;
    void *found;
    memcpy(&found, &import, sizeof found); /* ISO C has no cast from a function's to an object's */
    return found;
}

cl_int clGetDeviceInfo(cl_device_id device, cl_device_info name, size_t size, void *value,
                       size_t *size_ret)
{
    __typeof__(&clGetDeviceInfo) get = NEXT(clGetDeviceInfo);
    size_t bytes = 0;
    if (name != CL_DEVICE_EXTENSIONS)
        return get(device, name, size, value, size_ret);
    cl_int code = get(device, name, 0, NULL, &bytes);
    if (code != CL_SUCCESS)
        return code;
    if (size_ret != NULL)
        *size_ret = bytes + strlen(EXTENSIONS);
    if (value == NULL)
        return CL_SUCCESS;
    if (size < bytes + strlen(EXTENSIONS))
        return CL_INVALID_VALUE;
    code = get(device, name, size, value, NULL);
    strcat(value, EXTENSIONS);
    return code;
}

/* ---- what can not be done with an imported buffer ---- */

void *clEnqueueMapBuffer(cl_command_queue command_queue, cl_mem buffer, cl_bool blocking_map,
                         cl_map_flags map_flags, size_t offset, size_t size,
                         cl_uint num_events_in_wait_list, const cl_event *event_wait_list,
                         cl_event *event, cl_int *errcode_ret)
{
    __typeof__(&clEnqueueMapBuffer) map = NEXT(clEnqueueMapBuffer);
    if (!is_imported(buffer))
        return map(command_queue, buffer, blocking_map, map_flags, offset, size,
                   num_events_in_wait_list, event_wait_list, event, errcode_ret);
    *errcode_ret = CL_INVALID_OPERATION;
    return NULL;
}

cl_int clEnqueueUnmapMemObject(cl_command_queue command_queue, cl_mem memobj, void *mapped_ptr,
                               cl_uint num_events_in_wait_list, const cl_event *event_wait_list,
                               cl_event *event)
{
    __typeof__(&clEnqueueUnmapMemObject) unmap = NEXT(clEnqueueUnmapMemObject);
    return is_imported(memobj) ? CL_INVALID_OPERATION
                               : unmap(command_queue, memobj, mapped_ptr, num_events_in_wait_list,
                                       event_wait_list, event);
}

cl_int clEnqueueReadBuffer(cl_command_queue command_queue, cl_mem buffer, cl_bool blocking_read,
                           size_t offset, size_t size, void *ptr, cl_uint num_events_in_wait_list,
                           const cl_event *event_wait_list, cl_event *event)
{
    __typeof__(&clEnqueueReadBuffer) read_buffer = NEXT(clEnqueueReadBuffer);
    return is_imported(buffer) ? CL_INVALID_OPERATION
                               : read_buffer(command_queue, buffer, blocking_read, offset, size,
                                             ptr, num_events_in_wait_list, event_wait_list, event);
}

cl_int clEnqueueWriteBuffer(cl_command_queue command_queue, cl_mem buffer, cl_bool blocking_write,
                            size_t offset, size_t size, const void *ptr,
                            cl_uint num_events_in_wait_list, const cl_event *event_wait_list,
                            cl_event *event)
{
    __typeof__(&clEnqueueWriteBuffer) write_buffer = NEXT(clEnqueueWriteBuffer);
    return is_imported(buffer) ? CL_INVALID_OPERATION
                               : write_buffer(command_queue, buffer, blocking_write, offset, size,
                                              ptr, num_events_in_wait_list, event_wait_list, event);
}

cl_int clEnqueueCopyBuffer(cl_command_queue command_queue, cl_mem src_buffer, cl_mem dst_buffer,
                           size_t src_offset, size_t dst_offset, size_t size,
                           cl_uint num_events_in_wait_list, const cl_event *event_wait_list,
                           cl_event *event)
{
    __typeof__(&clEnqueueCopyBuffer) copy = NEXT(clEnqueueCopyBuffer);
    return is_imported(src_buffer) || is_imported(dst_buffer)
               ? CL_INVALID_OPERATION
               : copy(command_queue, src_buffer, dst_buffer, src_offset, dst_offset, size,
                      num_events_in_wait_list, event_wait_list, event);
}

cl_int clEnqueueFillBuffer(cl_command_queue command_queue, cl_mem buffer, const void *pattern,
                           size_t pattern_size, size_t offset, size_t size,
                           cl_uint num_events_in_wait_list, const cl_event *event_wait_list,
                           cl_event *event)
{
    __typeof__(&clEnqueueFillBuffer) fill = NEXT(clEnqueueFillBuffer);
    return is_imported(buffer) ? CL_INVALID_OPERATION
                               : fill(command_queue, buffer, pattern, pattern_size, offset, size,
                                      num_events_in_wait_list, event_wait_list, event);
}

cl_mem clCreateSubBuffer(cl_mem buffer, cl_mem_flags flags,
                         cl_buffer_create_type buffer_create_type, const void *buffer_create_info,
                         cl_int *errcode_ret)
{
    __typeof__(&clCreateSubBuffer) create = NEXT(clCreateSubBuffer);
    if (!is_imported(buffer))
        return create(buffer, flags, buffer_create_type, buffer_create_info, errcode_ret);
    *errcode_ret = CL_INVALID_OPERATION;
    return NULL;
}
