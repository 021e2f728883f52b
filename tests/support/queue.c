#include "support/queue.h"

#include "support/device.h"

cl_command_queue queue;

int queue_setup(void **state)
{
    cl_int code;
    if (device_setup(state) != 0)
        return -1;
    queue = clCreateCommandQueue(device->context, device->id, CL_QUEUE_PROFILING_ENABLE, &code);
    return code == CL_SUCCESS ? 0 : -1;
}

int queue_teardown(void **state)
{
    clReleaseCommandQueue(queue);
    return device_teardown(state);
}
