/* Functions for the OpenCL subjects: buffers, kernels, the product, and counting dispatches.
 *
 * Dispatches of all libraries are counted: this program defines clEnqueueNDRangeKernel, which the
 * dynamic linker finds before OpenCL's. It counts the call and passes it on. */
#include "fft.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name, *text;
} files[] = {
#include "bench-kernels.inc"
};

static unsigned dispatches;

typedef cl_int (*enqueue_kernel)(cl_command_queue, cl_kernel, cl_uint, const size_t *,
                                 const size_t *, const size_t *, cl_uint, const cl_event *,
                                 cl_event *);

cl_int clEnqueueNDRangeKernel(cl_command_queue command_queue, cl_kernel kernel, cl_uint work_dim,
                              const size_t *global_work_offset, const size_t *global_work_size,
                              const size_t *local_work_size, cl_uint num_events_in_wait_list,
                              const cl_event *event_wait_list, cl_event *event)
{
    static enqueue_kernel next;
    if (next == NULL) {
        void *symbol = dlsym(RTLD_NEXT, "clEnqueueNDRangeKernel");
        memcpy(&next, &symbol, sizeof next); /* ISO C has no such cast */
    }
    if (next == NULL)
        return CL_INVALID_OPERATION;
    dispatches++;
    return next(command_queue, kernel, work_dim, global_work_offset, global_work_size,
                local_work_size, num_events_in_wait_list, event_wait_list, event);
}

unsigned fft_dispatches_so_far(void)
{
    return dispatches;
}

double fft_pass_traffic(const struct scene *scene, unsigned passes, unsigned response_bytes)
{
    const uint32_t coefficient_count = scene->width / 2 + 1; /* per row */
    const double coefficients = (double)coefficient_count / scene->width;
    const double spectrum = 8 * coefficients, samples = 4;
    return 2 * samples + 2 * (passes - 1) * spectrum + response_bytes * coefficients;
}

int fft_buffer(cl_mem *ret, const struct scene *scene, size_t size, const void *data,
               struct error *why)
{
    cl_int code;
    const cl_mem_flags flags = CL_MEM_READ_WRITE | (data != NULL ? CL_MEM_COPY_HOST_PTR : 0);
    cl_mem buffer = clCreateBuffer(scene->device->context, flags, size, (void *)data, &code);
    if (code != CL_SUCCESS)
        return opencl_fail(why, code, "clCreateBuffer");
    *ret = buffer;
    return 0;
}

void fft_buffer_release(cl_mem buffer)
{
    if (buffer != NULL)
        clReleaseMemObject(buffer);
}

static const char *text_of(const char *file)
{
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
        if (strcmp(files[i].name, file) == 0)
            return files[i].text;
    abort();
}

int fft_program(cl_program *ret, const struct scene *scene, const char *file, const char *options,
                struct error *why)
{
    const char *text = text_of(file);
    cl_int code;
    cl_program program = clCreateProgramWithSource(scene->device->context, 1, &text, NULL, &code);
    if (code != CL_SUCCESS)
        return opencl_fail(why, code, "clCreateProgramWithSource");
    code = clBuildProgram(program, 1, &scene->device->id, options, NULL, NULL);
    if (code != CL_SUCCESS) {
        char log[400] = "";
        clGetProgramBuildInfo(program, scene->device->id, CL_PROGRAM_BUILD_LOG, sizeof log, log,
                              NULL);
        clReleaseProgram(program);
        return error_set(why, EIO, "%s: %s: %s", file, opencl_error_name(code), log);
    }
    *ret = program;
    return 0;
}

int fft_kernel(cl_kernel *ret, cl_program program, const char *name, const cl_mem *buffers,
               unsigned count, struct error *why)
{
    cl_int code;
    cl_kernel kernel = clCreateKernel(program, name, &code);
    if (code != CL_SUCCESS)
        return opencl_fail(why, code, name);
    for (unsigned i = 0; i < count && code == CL_SUCCESS; i++)
        code = clSetKernelArg(kernel, i, sizeof buffers[i], &buffers[i]);
    if (code != CL_SUCCESS) {
        clReleaseKernel(kernel);
        return opencl_fail(why, code, name);
    }
    *ret = kernel;
    return 0;
}

static bool frames_pile_up;

void fft_let_frames_pile_up(void)
{
    frames_pile_up = true;
}

int fft_submit(cl_command_queue queue, struct error *why)
{
    const cl_int code = frames_pile_up ? CL_SUCCESS : clFlush(queue);
    return code == CL_SUCCESS ? 0 : opencl_fail(why, code, "clFlush");
}

int fft_finish(const struct scene *scene, struct error *why)
{
    const cl_int code = clFinish(scene->queue);
    return code == CL_SUCCESS ? 0 : opencl_fail(why, code, "clFinish");
}

static cl_uint coefficient_count(const struct scene *scene)
{
    return (scene->width / 2 + 1) * scene->height;
}

int fft_product_open(struct product *ret, const struct scene *scene, cl_mem spectrum,
                     struct error *why)
{
    const cl_uint count = coefficient_count(scene);
    ret->scene = scene;
    int r = fft_buffer(&ret->response, scene, count * sizeof(float), scene->response, why);
    if (r == 0)
        r = fft_program(&ret->program, scene, "product.cl", "", why);
    const cl_mem buffers[] = {spectrum, ret->response};
    if (r == 0)
        r = fft_kernel(&ret->kernel, ret->program, "multiply", buffers, 2, why);
    if (r == 0)
        clSetKernelArg(ret->kernel, 2, sizeof count, &count);
    return r;
}

int fft_product_enqueue(const struct product *product, struct error *why)
{
    const size_t local = 64,
                 global = (coefficient_count(product->scene) + local - 1) / local * local;
    const cl_int code = clEnqueueNDRangeKernel(product->scene->queue, product->kernel, 1, NULL,
                                               &global, &local, 0, NULL, NULL);
    return code == CL_SUCCESS ? 0 : opencl_fail(why, code, "multiply");
}

void fft_product_close(struct product *product)
{
    if (product->kernel != NULL)
        clReleaseKernel(product->kernel);
    if (product->program != NULL)
        clReleaseProgram(product->program);
    fft_buffer_release(product->response);
}
