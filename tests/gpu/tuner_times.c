/* Tests of the search for settings, and of the comparison of devices that ends it, with times that
 * the tests set. The program is linked so that its own functions are called instead of those that
 * tell times (suites.mk). A build is recognised by its kernels. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "support/cmocka.h"
#include "support/device.h"

#include "engine/comparison.h"
#include "engine/engine_private.h"
#include "gpu/device_private.h"
#include "transform/tuner.h"

#define MOST_BUILDS 64

/* ---- times of kernels ---------------------------------------------------------------------- */

static cl_program built[MOST_BUILDS]; /* the newest one at an address counts */
static unsigned builds, frames;       /* frames since the newest build */
static unsigned running;              /* the build whose kernels were enqueued last */

/* The time of the frame that has just ended, which a test sets. */
static double (*frame_ms)(unsigned build, unsigned frame);

cl_int real_build(cl_program program, cl_uint count, const cl_device_id *devices,
                  const char *options, void (*notify)(cl_program, void *),
                  void *context) __asm__("__real_clBuildProgram");
cl_int real_enqueue(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
                    const size_t *offset, const size_t *global, const size_t *local, cl_uint count,
                    const cl_event *waits, cl_event *ret) __asm__("__real_clEnqueueNDRangeKernel");
cl_int timed_build(cl_program program, cl_uint count, const cl_device_id *devices,
                   const char *options, void (*notify)(cl_program, void *),
                   void *context) __asm__("__wrap_clBuildProgram");
cl_int timed_enqueue(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
                     const size_t *offset, const size_t *global, const size_t *local, cl_uint count,
                     const cl_event *waits, cl_event *ret) __asm__("__wrap_clEnqueueNDRangeKernel");
cl_int timed_info(cl_event event, cl_profiling_info name, size_t size, void *ret,
                  size_t *ret_size) __asm__("__wrap_clGetEventProfilingInfo");

cl_int timed_build(cl_program program, cl_uint count, const cl_device_id *devices,
                   const char *options, void (*notify)(cl_program, void *), void *context)
{
    assert_in_range(builds, 0, MOST_BUILDS - 1);
    built[builds++] = program;
    frames = 0;
    return real_build(program, count, devices, options, notify, context);
}

cl_int timed_enqueue(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
                     const size_t *offset, const size_t *global, const size_t *local, cl_uint count,
                     const cl_event *waits, cl_event *ret)
{
    cl_program program = NULL;
    clGetKernelInfo(kernel, CL_KERNEL_PROGRAM, sizeof program, &program, NULL);
    for (running = builds; running > 0 && built[running - 1] != program; running--)
        ;
    return real_enqueue(queue, kernel, dimensions, offset, global, local, count, waits, ret);
}

/* A frame begins at 0. NOLINTNEXTLINE(readability-non-const-parameter) */
cl_int timed_info(cl_event event, cl_profiling_info name, size_t size, void *ret, size_t *ret_size)
{
    (void)event;
    (void)ret_size;
    assert_int_equal(size, sizeof(cl_ulong));
    const bool is_end = name == CL_PROFILING_COMMAND_END;
    *(cl_ulong *)ret = is_end ? (cl_ulong)(1e6 * frame_ms(running - 1, frames++)) : 0;
    return CL_SUCCESS;
}

/* ---- times of whole frames ----------------------------------------------------------------- */

#define MEASUREMENTS 3

static const unsigned *whole_ms[2]; /* times on the device and the CPU device; NULL: real ones */
static unsigned measured[2];        /* engines that were created on each */
static unsigned collected_ms;       /* what the next frames take */
static _Atomic int64_t stopped_ns;  /* a clock that only these frames advance; 0: the real clock */

int real_create(struct engine **ret, struct gpu_device *on, const struct fftd_format *source,
                const struct engine_options *options, double support_px, const char *cache_dir,
                const struct engine_observer *observer,
                struct error *why) __asm__("__real_engine_create");
int real_collect(struct engine *engine, bool wait, struct engine_done *ret,
                 struct error *why) __asm__("__real_engine_collect");
int real_time(clockid_t id, struct timespec *ret) __asm__("__real_clock_gettime");
int timed_create(struct engine **ret, struct gpu_device *on, const struct fftd_format *source,
                 const struct engine_options *options, double support_px, const char *cache_dir,
                 const struct engine_observer *observer,
                 struct error *why) __asm__("__wrap_engine_create");
int timed_collect(struct engine *engine, bool wait, struct engine_done *ret,
                  struct error *why) __asm__("__wrap_engine_collect");
int timed_time(clockid_t id, struct timespec *ret) __asm__("__wrap_clock_gettime");

int timed_create(struct engine **ret, struct gpu_device *on, const struct fftd_format *source,
                 const struct engine_options *options, double support_px, const char *cache_dir,
                 const struct engine_observer *observer, struct error *why)
{
    const bool is_cpu = gpu_device_is_cpu(on);
    if (whole_ms[is_cpu] != NULL) {
        assert_in_range(measured[is_cpu], 0, MEASUREMENTS - 1);
        collected_ms = whole_ms[is_cpu][measured[is_cpu]++];
    }
    return real_create(ret, on, source, options, support_px, cache_dir, observer, why);
}

int timed_collect(struct engine *engine, bool wait, struct engine_done *ret, struct error *why)
{
    stopped_ns += collected_ms * NS_PER_MS;
    return real_collect(engine, wait, ret, why);
}

int timed_time(clockid_t id, struct timespec *ret)
{
    const int64_t now_ns = stopped_ns;
    if (id != CLOCK_MONOTONIC || now_ns == 0)
        return real_time(id, ret);
    *ret = clock_timespec(now_ns);
    return 0;
}

/* ---- tests --------------------------------------------------------------------------------- */

/* Searches until the end, with few combinations: short filters without a choice of technique.
 * Returns whether settings other than the initial ones are best. */
static bool search(double (*times)(unsigned build, unsigned frame), struct tuner_progress *ret)
{
    const struct tuner_subject subject = {
        .device = device,
        .image = {.count = 1, .width = 64, .height = 48, .stride = 64, .step = 1, .bits = 8},
        .reach = {.is_short = true, .radius = 1},
        .technique = TRANSFORM_DIRECT};
    struct transform_tuning initial, best;
    struct tuner *tuner;
    struct error why;
    builds = 0;
    frame_ms = times;
    if (tuner_create(&tuner, &subject, false, &why) < 0)
        fail_msg("%s", why.text);
    int r = tuner_step(tuner, &why);
    tuner_get_best(tuner, &initial);
    while (r > 0)
        r = tuner_step(tuner, &why);
    if (r < 0)
        fail_msg("%s", why.text);
    tuner_get_best(tuner, &best);
    tuner_get_progress(tuner, ret);
    assert_int_equal(ret->tried, ret->total);
    tuner_destroy(tuner);
    return best.lanes != initial.lanes || best.columns != initial.columns ||
           best.row_group != initial.row_group;
}

/* The first frames of the second build are fast by chance. */
static double lucky_once(unsigned build, unsigned frame)
{
    return build == 1 && frame < 3 ? 0.8 : 1;
}

/* All frames become faster while the search goes on. */
static double faster_and_faster(unsigned build, unsigned frame)
{
    static double ms;
    ms = build == 0 && frame == 0 ? 1 : ms * 0.999;
    return ms;
}

static void what_was_lucky_once_is_not_taken(void **state)
{
    struct tuner_progress progress;
    (void)state;
    assert_false(search(lucky_once, &progress));
    assert_in_range(builds, 3, progress.tried);
    assert_float_equal(progress.best_ms, 1, 1e-6);
}

static void what_gains_by_drift_is_not_taken(void **state)
{
    struct tuner_progress progress;
    (void)state;
    assert_false(search(faster_and_faster, &progress));
    assert_in_range(builds, 3, progress.tried);
}

/* The second build is faster than the others in every frame. */
static double second_is_faster(unsigned build, unsigned frame)
{
    (void)frame;
    return build == 1 ? 0.8 : 1;
}

/* There is one build more than combinations, which confirms the result. */
static void what_is_faster_is_taken(void **state)
{
    struct tuner_progress progress;
    (void)state;
    assert_true(search(second_is_faster, &progress));
    assert_in_range(builds, 3, progress.tried + 1);
    assert_float_equal(progress.default_ms, 1, 1e-6);
    assert_float_equal(progress.best_ms, 0.8, 1e-6);
}

/* The second build is faster until another one has been tried. */
static double second_is_faster_at_first(unsigned build, unsigned frame)
{
    (void)frame;
    return build == 1 && builds == 2 ? 0.8 : 1;
}

static void what_does_not_prove_faster_again_is_not_taken(void **state)
{
    struct tuner_progress progress;
    (void)state;
    assert_false(search(second_is_faster_at_first, &progress));
    assert_in_range(builds, 3, progress.tried + 1);
    assert_float_equal(progress.best_ms, progress.default_ms, 0);
}

/* Compares a device with its CPU device, without a search for settings: the device itself is the
 * CPU device, and a copy of it stands for a GPU beside it. Returns whether the CPU is favoured. */
static bool compare(const unsigned device_ms[MEASUREMENTS], const unsigned cpu_ms[MEASUREMENTS])
{
    static const struct engine_options options = {.tune = ENGINE_TUNE_AUTO, .in_flight = 1};
    char dir[] = "/tmp/fftd-test-XXXXXX", command[64];
    struct gpu_device gpu = *device, *cpu;
    struct fftd_format format;
    struct engine_search *search;
    struct comparison found;
    struct engine *engine;
    struct error why, warning;
    if (gpu_device_open(&cpu, "cpu", &why) < 0) {
        printf("skipped: %s\n", why.text);
        skip();
    }
    gpu.type = CL_DEVICE_TYPE_GPU;
    snprintf(gpu.cpu_name, sizeof gpu.cpu_name, "%s", cpu->name);
    gpu_device_close(cpu);
    assert_non_null(mkdtemp(dir));
    assert_int_equal(format_layout(&format, format_by_name("GREY")->fourcc, 64, 48, 1, &why), 0);
    if (engine_create(&engine, &gpu, &format, &options, 0, dir, NULL, &why) < 0)
        fail_msg("%s", why.text);
    const struct comparison_subject subject = engine_subject(engine, &gpu);
    const struct engine_compared compared = {&gpu, "auto"};
    const unsigned components = engine->component_count;
    engine->component_count = 0;
    assert_int_equal(engine_search_create(&search, engine, false, &compared, dir, &why), 0);
    engine->component_count = components;
    engine_destroy(engine);

    whole_ms[false] = device_ms;
    whole_ms[true] = cpu_ms;
    measured[false] = measured[true] = 0;
    stopped_ns = clock_now_ns();
    int r;
    while ((r = engine_search_step(search, &why)) > 0)
        ;
    whole_ms[false] = whole_ms[true] = NULL;
    collected_ms = 0;
    stopped_ns = 0;
    assert_int_equal(r, 0);
    engine_search_destroy(search);
    assert_true(comparison_find(&found, &subject, dir, &warning));
    snprintf(command, sizeof command, "rm -r %s", dir);
    assert_int_equal(system(command), 0); /* NOLINT(cert-env33-c): its text is from here */
    return comparison_favours_cpu(&found);
}

static void a_device_that_was_lucky_once_is_not_favoured(void **state)
{
    static const unsigned steady[MEASUREMENTS] = {2000, 2000, 2000};
    static const unsigned lucky[MEASUREMENTS] = {1000, 2000, 2000};
    (void)state;
    assert_false(compare(steady, lucky));
}

static void a_device_that_was_unlucky_once_is_favoured(void **state)
{
    static const unsigned steady[MEASUREMENTS] = {2000, 2000, 2000};
    static const unsigned unlucky[MEASUREMENTS] = {1000, 1000, 4000};
    (void)state;
    assert_true(compare(steady, unlucky));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_lucky_once_is_not_taken),
        cmocka_unit_test(what_gains_by_drift_is_not_taken),
        cmocka_unit_test(what_is_faster_is_taken),
        cmocka_unit_test(what_does_not_prove_faster_again_is_not_taken),
        cmocka_unit_test(a_device_that_was_lucky_once_is_not_favoured),
        cmocka_unit_test(a_device_that_was_unlucky_once_is_favoured),
    };
    return cmocka_run_group_tests(tests, device_setup, device_teardown);
}
