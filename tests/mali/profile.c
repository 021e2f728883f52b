/* Overrides OpenCL's clEnqueueNDRangeKernel to get an event of every dispatch, because a frame
 * gives only those of its first and its last one. */
#include "mali/profile.h"

#include <CL/cl.h>
#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>

typedef cl_int enqueue_fn(cl_command_queue command_queue, cl_kernel kernel, cl_uint work_dim,
                          const size_t *global_work_offset, const size_t *global_work_size,
                          const size_t *local_work_size, cl_uint num_events_in_wait_list,
                          const cl_event *event_wait_list, cl_event *event);

static cl_event events[PROFILE_MAX];
static unsigned event_count;
static bool measuring;

cl_int clEnqueueNDRangeKernel(cl_command_queue command_queue, cl_kernel kernel, cl_uint work_dim,
                              const size_t *global_work_offset, const size_t *global_work_size,
                              const size_t *local_work_size, cl_uint num_events_in_wait_list,
                              const cl_event *event_wait_list, cl_event *event)
{
    void *found = dlsym(RTLD_NEXT, "clEnqueueNDRangeKernel");
    enqueue_fn *enqueue;
    cl_event mine;
    memcpy(&enqueue, &found,
           sizeof enqueue); /* ISO C does not convert object to function pointers */
    const cl_int code =
        enqueue(command_queue, kernel, work_dim, global_work_offset, global_work_size,
                local_work_size, num_events_in_wait_list, event_wait_list, &mine);
    if (code != CL_SUCCESS)
        return code;
    if (measuring && event_count < PROFILE_MAX) {
        clRetainEvent(mine);
        events[event_count++] = mine;
    }
    if (event != NULL)
        *event = mine;
    else
        clReleaseEvent(mine);
    return code;
}

void profile_begin(void)
{
    measuring = true;
}

unsigned profile_take(double seconds[PROFILE_MAX])
{
    const unsigned count = event_count;
    for (unsigned i = 0; i < count; i++) {
        cl_ulong start = 0, end = 0;
        clGetEventProfilingInfo(events[i], CL_PROFILING_COMMAND_START, sizeof start, &start, NULL);
        clGetEventProfilingInfo(events[i], CL_PROFILING_COMMAND_END, sizeof end, &end, NULL);
        seconds[i] = (double)(end - start) * 1e-9;
        clReleaseEvent(events[i]);
    }
    event_count = 0;
    return count;
}
