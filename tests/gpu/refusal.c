/* Tests of a device that refuses one part of a frame while it keeps another. The program replaces
 * OpenCL's functions that launch a kernel, and that say when kernels have stored a result. */
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/cmocka.h"
#include "support/device.h"
#include "support/store.h"

#include "engine/engine.h"
#include "gpu/device_private.h"

#define WIDTH   64
#define HEIGHT  48
#define LIMIT_S 60 /* for calls that must not wait; only a deadlock takes longer */

static cl_event gate;         /* new kernels wait for it; NULL: no wait */
static unsigned accept = ~0u; /* launches that are still accepted */

cl_int clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint work_dim,
                              const size_t *offset, const size_t *global, const size_t *local,
                              cl_uint num_events_in_wait_list, const cl_event *event_wait_list,
                              cl_event *event)
{
    __typeof__(&clEnqueueNDRangeKernel) enqueue;
    void *found = dlsym(RTLD_NEXT, "clEnqueueNDRangeKernel");
    memcpy(&enqueue, &found, sizeof enqueue);
    if (accept == 0)
        return CL_OUT_OF_RESOURCES;
    accept--;
    return gate == NULL ? enqueue(queue, kernel, work_dim, offset, global, local,
                                  num_events_in_wait_list, event_wait_list, event)
                        : enqueue(queue, kernel, work_dim, offset, global, local, 1, &gate, event);
}

/* Refuses what ends a frame: the map of its result, or a marker that waits for its last kernel. */
static bool refuse_end;

void *clEnqueueMapBuffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking,
                         cl_map_flags flags, size_t offset, size_t size,
                         cl_uint num_events_in_wait_list, const cl_event *event_wait_list,
                         cl_event *event, cl_int *errcode_ret)
{
    __typeof__(&clEnqueueMapBuffer) map;
    void *found = dlsym(RTLD_NEXT, "clEnqueueMapBuffer");
    memcpy(&map, &found, sizeof map);
    if (!refuse_end || blocking == CL_TRUE)
        return map(queue, buffer, blocking, flags, offset, size, num_events_in_wait_list,
                   event_wait_list, event, errcode_ret);
    *errcode_ret = CL_OUT_OF_RESOURCES;
    return NULL;
}

cl_int clEnqueueMarkerWithWaitList(cl_command_queue queue, cl_uint num_events_in_wait_list,
                                   const cl_event *event_wait_list, cl_event *event)
{
    __typeof__(&clEnqueueMarkerWithWaitList) mark;
    void *found = dlsym(RTLD_NEXT, "clEnqueueMarkerWithWaitList");
    memcpy(&mark, &found, sizeof mark);
    return refuse_end && num_events_in_wait_list > 0
               ? CL_OUT_OF_RESOURCES
               : mark(queue, num_events_in_wait_list, event_wait_list, event);
}

static struct engine *make_engine(struct fftd_format *ret_format)
{
    const struct engine_options options = {
        .border = PLAN_MIRROR, .margin = -1, .in_flight = 2, .tune = ENGINE_TUNE_OFF};
    struct engine *engine = NULL;
    struct error why;
    if (format_layout(ret_format, format_by_name("GREY")->fourcc, WIDTH, HEIGHT, 1, &why) < 0 ||
        engine_create(&engine, device, ret_format, &options, 0, NULL, NULL, &why) < 0)
        fail_msg("%s", why.text);
    return engine;
}

static void test_refused_frame_is_not_waited_for(void **state)
{
    static uint8_t in[WIDTH * HEIGHT], out[WIDTH * HEIGHT];
    const struct engine_job job = {
        .in = {in}, .in_stride = {WIDTH}, .out = out, .is_dispatched = true, .tag = out};
    struct fftd_format format;
    struct engine_done done;
    struct error why;
    cl_int code;
    (void)state;
    if (device_is_simulated()) {
        printf(
            "skipped: oclgrind runs a kernel in the thread that flushes it, so it waits itself\n");
        skip();
    }
    struct engine *engine = make_engine(&format);
    struct pollfd ready = {.fd = engine_fd(engine), .events = POLLIN};
    memset(in, 77, sizeof in);

    /* The first kernel hangs, the second is refused. */
    gate = clCreateUserEvent(device->context, &code);
    assert_int_equal(code, CL_SUCCESS);
    accept = 1;
    alarm(LIMIT_S);
    assert_int_equal(engine_submit(engine, &job, &why), -EIO);
    alarm(0);
    assert_non_null(strstr(why.text, "CL_OUT_OF_RESOURCES"));
    assert_int_equal(engine_in_flight(engine), 1);
    assert_int_equal(engine_collect(engine, false, &done, &why), -EAGAIN);

    /* The other slot still accepts a frame, and the device finishes both. */
    accept = ~0u;
    clSetUserEventStatus(gate, CL_COMPLETE);
    clReleaseEvent(gate);
    gate = NULL;
    assert_int_equal(engine_submit(engine, &job, &why), 0);
    assert_int_equal(poll(&ready, 1, LIMIT_S * 1000), 1);
    assert_int_equal(engine_collect(engine, true, &done, &why), -ECANCELED);
    assert_ptr_equal(done.tag, out);
    assert_int_equal(engine_collect(engine, true, &done, &why), 0);
    for (size_t i = 0; i < sizeof out; i++)
        assert_int_equal(out[i], 77);
    assert_int_equal(engine_in_flight(engine), 0);
    engine_destroy(engine);
}

static void test_nothing_is_left_of_a_frame_refused_at_once(void **state)
{
    static uint8_t in[WIDTH * HEIGHT], out[WIDTH * HEIGHT];
    const struct engine_job job = {
        .in = {in}, .in_stride = {WIDTH}, .out = out, .is_dispatched = true};
    struct fftd_format format;
    struct engine_done done;
    struct error why;
    (void)state;
    struct engine *engine = make_engine(&format);
    for (unsigned i = 0; i < 3; i++) {
        accept = 0;
        assert_int_equal(engine_submit(engine, &job, &why), -EIO);
        accept = ~0u;
        assert_int_equal(engine_collect(engine, true, &done, &why), -ECANCELED);
        assert_int_equal(engine_submit(engine, &job, &why), 0);
        assert_int_equal(engine_collect(engine, true, &done, &why), 0);
    }
    engine_destroy(engine);
}

/* What the device was given of a frame decides whether its memory is still the device's. */
static void test_memory_of_a_frame_that_is_not_finished(void **state)
{
    static uint8_t in[WIDTH * HEIGHT];
    struct fftd_format format;
    struct engine_done done;
    struct store store;
    struct error why;
    cl_int code;
    (void)state;
    if (device_is_simulated()) {
        printf("skipped: oclgrind runs a kernel in the thread that flushes it\n");
        skip();
    }
    if (!device->unified_memory) {
        printf("skipped: the device does not store into the host's memory\n");
        skip();
    }
    struct engine *engine = make_engine(&format);
    if (store_create(&store, engine, &format, 0, &why) < 0) {
        printf("skipped: %s\n", why.text);
        store_free(&store);
        engine_destroy(engine);
        skip();
        return; /* clang's analyser does not know that skip() does not return */
    }
    for (unsigned i = 0; i < STORE_FRAMES; i++)
        store.frame[i][0] = STORE_OLD;
    struct engine_job job = {.in = {in},
                             .in_stride = {WIDTH},
                             .is_dispatched = true,
                             .out = store.frame[0],
                             .output = store.output,
                             .output_frame = 0};
    memset(in, 77, sizeof in);

    /* The dispatch that stores was not accepted. */
    accept = 1;
    assert_int_equal(engine_submit(engine, &job, &why), -EIO);
    accept = ~0u;
    assert_false(engine_abandon(engine));
    assert_int_equal(engine_collect(engine, true, &done, &why), -ECANCELED);

    /* It was accepted, and hangs; what should follow it is refused. */
    gate = clCreateUserEvent(device->context, &code);
    assert_int_equal(code, CL_SUCCESS);
    refuse_end = true;
    assert_int_equal(engine_submit(engine, &job, &why), -EIO);
    refuse_end = false;
    assert_true(engine_abandon(engine));

    /* So does a whole frame. Nothing of this waits for the device. */
    job.output_frame = 1;
    job.out = store.frame[1];
    assert_int_equal(engine_submit(engine, &job, &why), 0);
    assert_true(engine_abandon(engine));
    engine_output_destroy(store.output);
    assert_int_equal(store_count_released(&store), 0);
    for (unsigned i = 0; i < STORE_FRAMES; i++)
        assert_int_equal(store.frame[i][0], STORE_OLD);

    /* The device finishes both after all, in the memory that still is there. */
    clSetUserEventStatus(gate, CL_COMPLETE);
    clReleaseEvent(gate);
    gate = NULL;
    for (unsigned i = 0; i < STORE_FRAMES; i++)
        assert_int_equal(engine_collect(engine, true, &done, &why), -ECANCELED);
    assert_false(engine_abandon(engine));
    engine_destroy(engine);
    assert_true(store_is_released(&store));
    for (unsigned i = 0; i < STORE_FRAMES; i++)
        assert_int_equal(store.frame[i][0], 77);
    store_free(&store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refused_frame_is_not_waited_for),
        cmocka_unit_test(test_nothing_is_left_of_a_frame_refused_at_once),
        cmocka_unit_test(test_memory_of_a_frame_that_is_not_finished),
    };
    return cmocka_run_group_tests(tests, device_setup, device_teardown);
}
