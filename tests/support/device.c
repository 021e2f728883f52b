#include "support/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/cmocka.h"

struct gpu_device *device;

int device_setup(void **state)
{
    const char *selector = getenv("FFTD_DEVICE");
    struct error why;
    (void)state;
    if (gpu_device_open(&device, selector != NULL ? selector : "auto", &why) < 0) {
        printf("1..0 # SKIP %s\n", why.text);
        exit(77);
    }
    if (!device_takes_every_layout() && device->vector_width > 8)
        device->vector_width = 8;
    return 0;
}

int device_teardown(void **state)
{
    (void)state;
    gpu_device_close(device);
    return 0;
}

cl_mem device_buffer(size_t size, const void *data)
{
    const cl_mem_flags copy = data != NULL ? CL_MEM_COPY_HOST_PTR : 0;
    cl_int code;
    const cl_mem buffer =
        clCreateBuffer(device->context, CL_MEM_READ_WRITE | copy, size, (void *)data, &code);
    assert_int_equal(code, CL_SUCCESS);
    return buffer;
}

bool device_takes(uint32_t width, uint32_t height)
{
    const char *sizes = getenv("FFTD_TEST_SIZES");
    if (sizes == NULL || strcmp(sizes, "all") == 0)
        return true;
    const uint64_t limit = strcmp(sizes, "tiny") == 0 ? 64 * 64 : 256 * 256;
    return (uint64_t)width * height <= limit;
}

bool device_takes_every_layout(void)
{
    const char *layouts = getenv("FFTD_TEST_LAYOUTS");
    return layouts != NULL && strcmp(layouts, "all") == 0;
}

bool device_compiles_wide_lanes(void)
{
    return strstr(gpu_device_name(device), "llvmpipe") == NULL;
}

bool device_unmaps_in_turn(void)
{
    struct error why;
    cl_command_queue queue[2];
    cl_event begun, mapped;
    cl_int code;
    const cl_mem buffer = device_buffer(64, NULL);
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(opencl_make_queue(&queue[i], device, 0, &why), 0);
    begun = clCreateUserEvent(device->context, &code);
    assert_int_equal(code, CL_SUCCESS);
    void *at = clEnqueueMapBuffer(queue[0], buffer, CL_FALSE, CL_MAP_READ, 0, 64, 1, &begun,
                                  &mapped, &code);
    assert_int_equal(code, CL_SUCCESS);
    const cl_int refused = clEnqueueUnmapMemObject(queue[1], buffer, at, 1, &mapped, NULL);
    clSetUserEventStatus(begun, CL_COMPLETE);
    clFlush(queue[0]);
    clWaitForEvents(1, &mapped);
    clReleaseEvent(begun);
    clReleaseEvent(mapped);
    for (unsigned i = 0; i < 2; i++) {
        clFinish(queue[i]);
        clReleaseCommandQueue(queue[i]);
    }
    clReleaseMemObject(buffer);
    return refused == CL_SUCCESS;
}

bool device_ends_long_loops(void)
{
    enum { TURNS = 70000 };
    static const char *const source = "kernel void count(global uint *of) {"
                                      "    uint turns = 0;"
                                      "    while (turns < of[1]) { turns++; of[0] = turns; }"
                                      "}";
    const cl_uint start[2] = {0, TURNS};
    const size_t one = 1;
    cl_uint turns;
    cl_int code;
    cl_command_queue queue;
    cl_kernel kernel;
    struct error why;
    cl_mem buffer = device_buffer(sizeof start, start);
    cl_program program =
        clCreateProgramWithSource(device->context, 1, (const char **)&source, NULL, &code);
    assert_int_equal(code, CL_SUCCESS);
    const struct opencl_argument argument = VALUE(buffer);
    assert_int_equal(clBuildProgram(program, 1, &device->id, "", NULL, NULL), CL_SUCCESS);
    assert_int_equal(opencl_make_kernel(&kernel, program, "count", &why), 0);
    assert_int_equal(opencl_make_queue(&queue, device, 0, &why), 0);
    assert_int_equal(opencl_set_arguments(kernel, &argument, 1, &why), 0);
    assert_int_equal(opencl_launch(queue, kernel, 1, &one, &one, NULL, NULL, &why), 0);
    assert_int_equal(
        clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof turns, &turns, 0, NULL, NULL),
        CL_SUCCESS);
    clReleaseCommandQueue(queue);
    clReleaseKernel(kernel);
    clReleaseProgram(program);
    clReleaseMemObject(buffer);
    return turns == TURNS;
}

bool device_is_simulated(void)
{
    return strstr(gpu_device_name(device), "Oclgrind") != NULL;
}
