/* A library for LD_PRELOAD that makes OpenCL fail and hang when it is told to, so that everything
 * above it runs as it does on a device that breaks.
 *
 * $FFTD_FAULTS names a file. It may come, change and go while the program runs; each of its lines
 * is
 *
 *     WHAT [CODE [SKIP [COUNT]]]
 *
 * and concerns COUNT calls (all, if it is left out) after the next SKIP ones:
 *
 *     context -2     clCreateContext fails with CODE
 *     build -11      clBuildProgram fails with CODE
 *     compile        clBuildProgram does not return before the line is gone
 *     enqueue -5     clEnqueueNDRangeKernel fails with CODE
 *     finish -5      clWaitForEvents waits, and then fails with CODE
 *     hang           kernels do not begin before the line is gone
 *     slow 50        kernels begin CODE milliseconds after they were enqueued
 *     block          clEnqueueNDRangeKernel does not return before the line is gone
 */
#include <CL/cl.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MAX_FAULTS 8
#define MAX_HELD   64
#define LINE_BYTES 64
#define LOOK_NS    (10 * 1000000)

struct fault {
    char line[LINE_BYTES];
    char what[16];
    int code;
    long skip, count; /* calls left */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct fault faults[MAX_FAULTS];
static cl_event held[MAX_HELD]; /* what hanging kernels wait for */
static unsigned held_count;
static bool watching;

/* The fault of this line: with its counts, if the line was there before. */
static struct fault read_fault(const char *line)
{
    struct fault fault = {.count = -1};

    for (unsigned i = 0; i < MAX_FAULTS; i++)
        if (strcmp(faults[i].line, line) == 0)
            return faults[i];
    snprintf(fault.line, sizeof fault.line, "%s", line);
    /* What is left out keeps its value. NOLINTNEXTLINE(cert-err34-c) */
    sscanf(line, "%15s %d %ld %ld", fault.what, &fault.code, &fault.skip, &fault.count);
    return fault;
}

static void read_plan(void)
{
    struct fault now[MAX_FAULTS];
    char line[LINE_BYTES];
    unsigned count = 0;
    const char *path = getenv("FFTD_FAULTS");
    FILE *file = path != NULL ? fopen(path, "re") : NULL;

    memset(now, 0, sizeof now);
    while (file != NULL && count < MAX_FAULTS && fgets(line, sizeof line, file) != NULL)
        now[count++] = read_fault(line);
    if (file != NULL)
        fclose(file);
    memcpy(faults, now, sizeof faults);
}

static struct fault *find(const char *what)
{
    read_plan();
    for (unsigned i = 0; i < MAX_FAULTS; i++)
        if (strcmp(faults[i].what, what) == 0)
            return &faults[i];
    return NULL;
}

/* Counts a call; whether the fault concerns it. */
static bool hits(const char *what, int *ret_code)
{
    pthread_mutex_lock(&lock);
    struct fault *fault = find(what);
    bool hit = false;
    if (fault != NULL && fault->skip > 0) {
        fault->skip--;
    } else if (fault != NULL && fault->count != 0) {
        if (fault->count > 0)
            fault->count--;
        *ret_code = fault->code;
        hit = true;
    }
    pthread_mutex_unlock(&lock);
    return hit;
}

static bool is_planned(const char *what)
{
    pthread_mutex_lock(&lock);
    bool planned = find(what) != NULL;
    pthread_mutex_unlock(&lock);
    return planned;
}

static void wait_for_end(const char *what)
{
    const struct timespec pause = {.tv_nsec = LOOK_NS};
    while (is_planned(what))
        nanosleep(&pause, NULL);
}

static void *real(const char *name)
{
    return dlsym(RTLD_NEXT, name);
}

/* Lets all kernels go once the line is gone. */
static void *let_go(void *unused)
{
    cl_event events[MAX_HELD];

    wait_for_end("hang");
    pthread_mutex_lock(&lock);
    unsigned count = held_count;
    memcpy(events, held, sizeof events);
    held_count = 0;
    watching = false;
    pthread_mutex_unlock(&lock);
    for (unsigned i = 0; i < count; i++) {
        clSetUserEventStatus(events[i], CL_COMPLETE);
        clReleaseEvent(events[i]);
    }
    return unused;
}

/* An event that does not come before the line is gone. */
static cl_event hold(cl_command_queue queue)
{
    cl_context context;
    pthread_t thread;

    clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof context, &context, NULL);
    cl_event event = clCreateUserEvent(context, NULL);
    clRetainEvent(event);
    pthread_mutex_lock(&lock);
    if (held_count == MAX_HELD)
        abort();
    held[held_count++] = event;
    if (!watching && pthread_create(&thread, NULL, let_go, NULL) == 0) {
        pthread_detach(thread);
        watching = true;
    }
    pthread_mutex_unlock(&lock);
    return event;
}

struct delay {
    cl_event event;
    int ms;
};

static void *end_delay(void *argument)
{
    struct delay *delay = argument;
    const struct timespec pause = {.tv_sec = delay->ms / 1000,
                                   .tv_nsec = delay->ms % 1000 * 1000000L};
    nanosleep(&pause, NULL);
    clSetUserEventStatus(delay->event, CL_COMPLETE);
    clReleaseEvent(delay->event);
    free(delay);
    return NULL;
}

/* An event that comes after so long. */
static cl_event later(cl_command_queue queue, int ms)
{
    struct delay *delay = malloc(sizeof *delay);
    cl_context context;
    pthread_t thread;

    clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof context, &context, NULL);
    cl_event event = clCreateUserEvent(context, NULL);
    clRetainEvent(event);
    if (delay == NULL)
        abort();
    *delay = (struct delay){event, ms};
    if (pthread_create(&thread, NULL, end_delay, delay) != 0)
        abort();
    pthread_detach(thread);
    return event;
}

cl_context clCreateContext(const cl_context_properties *properties, cl_uint num_devices,
                           const cl_device_id *devices,
                           void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *),
                           void *user_data, cl_int *errcode_ret)
{
    __typeof__(&clCreateContext) create = real("clCreateContext");
    int code;

    if (!hits("context", &code))
        return create(properties, num_devices, devices, notify, user_data, errcode_ret);
    if (errcode_ret != NULL)
        *errcode_ret = code;
    return NULL;
}

cl_int clBuildProgram(cl_program program, cl_uint num_devices, const cl_device_id *device_list,
                      const char *options, void(CL_CALLBACK *notify)(cl_program, void *),
                      void *user_data)
{
    __typeof__(&clBuildProgram) build = real("clBuildProgram");
    int code;

    if (hits("build", &code))
        return code;
    if (hits("compile", &code))
        wait_for_end("compile");
    return build(program, num_devices, device_list, options, notify, user_data);
}

cl_int clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint work_dim,
                              const size_t *offset, const size_t *global, const size_t *local,
                              cl_uint num_events_in_wait_list, const cl_event *wait_list,
                              cl_event *event)
{
    __typeof__(&clEnqueueNDRangeKernel) enqueue = real("clEnqueueNDRangeKernel");
    int code;

    if (hits("enqueue", &code))
        return code;
    if (hits("block", &code))
        wait_for_end("block");
    cl_event first = NULL;
    if (hits("hang", &code))
        first = hold(queue);
    else if (hits("slow", &code))
        first = later(queue, code);
    else
        return enqueue(queue, kernel, work_dim, offset, global, local, num_events_in_wait_list,
                       wait_list, event);
    /* The queues are in order: what it was to wait for besides has been waited for all the same. */
    cl_int result = enqueue(queue, kernel, work_dim, offset, global, local, 1, &first, event);
    clReleaseEvent(first);
    return result;
}

cl_int clWaitForEvents(cl_uint num_events, const cl_event *event_list)
{
    __typeof__(&clWaitForEvents) wait = real("clWaitForEvents");
    const cl_int result = wait(num_events, event_list);
    int code;
    return hits("finish", &code) ? code : result;
}
