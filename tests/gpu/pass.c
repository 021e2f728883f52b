/* Tests of frames that nothing changes. The program counts the launches of kernels, and can have
 * them wait: it replaces OpenCL's function that launches one. */
#include <dlfcn.h>
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "support/chains.h"
#include "support/cmocka.h"
#include "support/device.h"
#include "support/reference.h"
#include "support/store.h"

#include "engine/engine.h"
#include "gpu/device_private.h"

#define WIDTH  62
#define HEIGHT 34

static cl_event gate;     /* new kernels wait for it; NULL: no wait */
static unsigned launched; /* kernels */

cl_int clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint work_dim,
                              const size_t *offset, const size_t *global, const size_t *local,
                              cl_uint num_events_in_wait_list, const cl_event *event_wait_list,
                              cl_event *event)
{
    __typeof__(&clEnqueueNDRangeKernel) enqueue;
    void *found = dlsym(RTLD_NEXT, "clEnqueueNDRangeKernel");
    memcpy(&enqueue, &found, sizeof enqueue);
    launched++;
    return gate == NULL ? enqueue(queue, kernel, work_dim, offset, global, local,
                                  num_events_in_wait_list, event_wait_list, event)
                        : enqueue(queue, kernel, work_dim, offset, global, local, 1, &gate, event);
}

/* ---- engines and frames -------------------------------------------------------------------- */

/* What is tested: an engine, a frame, and its result. */
struct subject {
    struct engine *engine;
    struct fftd_format format, captured;
    uint8_t *in, *out, *expected;
};

static void apply(struct engine *engine, const char *text, uint64_t serial, unsigned fade_frames)
{
    const struct filter_chain chain = chain_of(text);
    struct engine_response *response;
    struct error why;
    if (engine_design(engine, &chain, &response, &why) < 0 ||
        (fade_frames > 0 && engine_design_fade(engine, response, fade_frames, NULL, &why) < 0))
        fail_msg("%s: %s", text, why.text);
    engine_apply(engine, response, serial);
}

/* An engine for short filters and `needed`. */
static void set_up(struct subject *ret, const char *name, enum recipe_planes planes,
                   enum view_kind view, const char *needed)
{
    const struct format_info *info = format_by_name(name);
    const struct filter_chain chain = chain_of(needed);
    const struct recipe settings = {.planes = planes,
                                    .captured = info->fourcc,
                                    .view = view,
                                    .reach.is_short = true,
                                    .chroma_reach.is_short = true};
    const struct engine_options options = {.recipe = recipe_of(&chain, &settings),
                                           .border = PLAN_MIRROR,
                                           .margin = 8,
                                           .in_flight = 2,
                                           .tune = ENGINE_TUNE_OFF};
    uint64_t seed = info->fourcc;
    struct error why;
    if (format_layout(&ret->format,
                      engine_published(&(struct recipe){.planes = planes}, info->fourcc), WIDTH,
                      HEIGHT, 64, &why) < 0 ||
        format_layout(&ret->captured, info->fourcc, WIDTH, HEIGHT, 1, &why) < 0 ||
        engine_create(&ret->engine, device, &ret->format, &options, 4, NULL, NULL, &why) < 0)
        fail_msg("%s, %s: %s", name, needed, why.text);
    ret->in = malloc(ret->captured.frame_bytes);
    ret->out = calloc(1, ret->format.frame_bytes);
    ret->expected = calloc(1, ret->format.frame_bytes);
    for (uint32_t i = 0; i < ret->captured.frame_bytes; i++)
        ret->in[i] = (uint8_t)(256 * reference_noise(&seed));
}

static void tear_down(struct subject *subject)
{
    engine_destroy(subject->engine);
    free(subject->in);
    free(subject->out);
    free(subject->expected);
}

static struct engine_job job_of(const struct subject *subject, uint8_t *out) /* NOLINT: written */
{
    struct engine_job job = {.out = out, .tag = out};
    for (unsigned p = 0; p < subject->captured.plane_count; p++) {
        job.in[p] = subject->in + subject->captured.plane[p].offset;
        job.in_stride[p] = subject->captured.plane[p].stride;
    }
    return job;
}

static struct engine_done collect(struct engine *engine)
{
    struct engine_done done;
    struct error why;
    if (engine_collect(engine, true, &done, &why) < 0)
        fail_msg("%s", why.text);
    return done;
}

static void submit(struct engine *engine, const struct engine_job *job)
{
    struct error why;
    if (engine_submit(engine, job, &why) < 0)
        fail_msg("%s", why.text);
}

/* Filters a frame, and returns whether a kernel was launched for it. */
static bool is_launched(struct engine *engine, const struct engine_job *job)
{
    const unsigned before = launched;
    submit(engine, job);
    collect(engine);
    return launched > before;
}

static uint64_t count_bytes(const struct fftd_format *format)
{
    uint64_t bytes = 0;
    for (unsigned p = 0; p < format->plane_count; p++)
        bytes += (uint64_t)format->plane[p].row_bytes * format->plane[p].rows;
    return bytes;
}

/* ---- tests --------------------------------------------------------------------------------- */

/* Whether frames pass as they are depends on what kernels would make of any bytes. */
static void check_format(const char *name, enum recipe_planes planes, bool may_pass)
{
    struct subject subject;
    set_up(&subject, name, planes, VIEW_PICTURE, "none");
    struct engine_job job = job_of(&subject, subject.expected);
    job.is_dispatched = true;
    assert_true(is_launched(subject.engine, &job));
    job = job_of(&subject, subject.out);
    const unsigned before = launched;
    submit(subject.engine, &job);
    const struct engine_done done = collect(subject.engine);
    if ((launched == before) != may_pass)
        fail_msg("%s, planes %d: %u kernels", name, (int)planes, launched - before);
    assert_memory_equal(subject.out, subject.expected, subject.format.frame_bytes);
    if (may_pass) {
        assert_int_equal(done.copies.passed_bytes, count_bytes(&subject.format));
        assert_int_equal(done.copies.in_bytes + done.copies.out_bytes, 0);
        assert_int_equal(done.kernel_ns, 0);
        assert_true(done.finished_ns >= done.submitted_ns && done.upload_ns > 0);
        assert_true(done.overhead.ns[OVERHEAD_COPY] > 0 && done.overhead.ns[OVERHEAD_GAP] < 0);
        for (unsigned step = 0; engine_step_name(step) != NULL; step++)
            assert_true(done.step_ns[step] < 0);
    }
    tear_down(&subject);
}

static void frames_of_all_formats_pass_as_kernels_would_make_them(void **state)
{
    (void)state;
    unsigned count;
    const struct format_info *table = format_table(&count);
    for (unsigned i = 0; i < count; i++) {
        const struct format_info *info = &table[i];
        const bool is_plain = info->kind != SAMPLE_BAYER && info->bits % 8 == 0;
        check_format(info->name, RECIPE_LUMA, is_plain);
        check_format(info->name, RECIPE_ALL,
                     is_plain && !(info->kind == SAMPLE_RGB8 && info->step == 4));
        check_format(info->name, RECIPE_LUMA_ONLY, is_plain && info->family == FAMILY_GREY);
    }
}

/* Chains without a response that change something, and a view. */
static void what_changes_frames_needs_kernels(void **state)
{
    static const char *const chains[] = {"median",
                                         "binarise:level=128",
                                         "denoise",
                                         "linear-light",
                                         "undistort:fx=60,fy=60,cx=30,cy=16,k1=-0.2",
                                         "gain:dc=-1,ac=-1",
                                         "gain:dc=16,ac=16",
                                         "gain:dc=0.5,ac=0.5 | homomorphic",
                                         "gaussian-blur:sigma=2"};
    struct subject subject;
    (void)state;
    for (size_t i = 0; i < sizeof chains / sizeof chains[0]; i++) {
        set_up(&subject, "GREY", RECIPE_LUMA, VIEW_PICTURE, chains[i]);
        const struct engine_job job = job_of(&subject, subject.out);
        apply(subject.engine, chains[i], 1, 0);
        if (!is_launched(subject.engine, &job))
            fail_msg("%s: no kernel", chains[i]);
        tear_down(&subject);
    }
    set_up(&subject, "GREY", RECIPE_LUMA, VIEW_DIFFERENCE, "none");
    const struct engine_job job = job_of(&subject, subject.out);
    assert_true(is_launched(subject.engine, &job));
    tear_down(&subject);
}

/* What the host makes differs from what kernels make only where a result is nearly halfway. */
static void the_host_multiplies_bytes(void **state)
{
    static const struct {
        const char *chain, *format;
        enum recipe_planes planes;
        double factor; /* 0: kernels are needed */
    } cases[] = {
        {"gain:dc=0.45,ac=0.45", "GREY", RECIPE_LUMA, 0.45},
        {"gain:dc=1.3,ac=1.3", "NV12", RECIPE_LUMA, 1.3},
        {"gain:dc=15.9,ac=15.9", "YUV420", RECIPE_LUMA, 15.9},
        {"gain:dc=0,ac=0", "GREY", RECIPE_LUMA, 0.0},
        {"convolve:kernel=0.7 | gain:dc=1.1,ac=1.1", "GREY", RECIPE_LUMA, 0.77},
        {"gain:dc=0.45,ac=0.45", "Y16", RECIPE_LUMA, -1},
        {"gain:dc=0.45,ac=0.45", "YUYV", RECIPE_LUMA, -1},
        {"gain:dc=0.45,ac=0.45", "NV12", RECIPE_ALL, -1},
        {"gain:dc=0.45,ac=0.45", "XRGB32", RECIPE_LUMA, -1},
    };
    (void)state;
    if (!gpu_device_is_cpu(device))
        skip();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct subject subject;
        set_up(&subject, cases[i].format, cases[i].planes, VIEW_PICTURE, cases[i].chain);
        const struct engine_job job = job_of(&subject, subject.out);
        apply(subject.engine, cases[i].chain, 1, 0);
        if (is_launched(subject.engine, &job) != (cases[i].factor < 0))
            fail_msg("%s, %s", cases[i].chain, cases[i].format);
        for (unsigned k = 0; k < WIDTH * HEIGHT && cases[i].factor >= 0; k++) {
            const uint8_t out = subject.out[k / WIDTH * subject.format.plane[0].stride + k % WIDTH];
            const double exact = fmin(subject.in[k] * cases[i].factor, 255);
            if (!(fabs(out - exact) < 0.5 + 1 / 16.))
                fail_msg("%s: %u of %u", cases[i].chain, out, subject.in[k]);
        }
        for (unsigned p = 1; p < subject.format.plane_count && cases[i].factor >= 0; p++)
            for (unsigned y = 0; y < subject.format.plane[p].rows; y++)
                assert_memory_equal(subject.out + subject.format.plane[p].offset +
                                        (size_t)y * subject.format.plane[p].stride,
                                    job.in[p] + (size_t)y * job.in_stride[p],
                                    subject.format.plane[p].row_bytes);
        tear_down(&subject);
    }
}

static void what_moves_or_corrects_one_frame_needs_kernels(void **state)
{
    struct subject subject;
    (void)state;
    set_up(&subject, "GREY", RECIPE_LUMA, VIEW_PICTURE, "stabilise");
    struct engine_job job = job_of(&subject, subject.out);
    assert_false(is_launched(subject.engine, &job));
    job.shift[0] = 1;
    assert_true(is_launched(subject.engine, &job));
    tear_down(&subject);
    set_up(&subject, "GREY", RECIPE_LUMA, VIEW_PICTURE, "auto-notch");
    static const struct correction correction = {.wave_count = 1,
                                                 .wave = {{.fx = 0.2, .fy = 0.1, .re = 9}}};
    job = job_of(&subject, subject.out);
    assert_false(is_launched(subject.engine, &job));
    job.correction = &correction;
    assert_true(is_launched(subject.engine, &job));
    tear_down(&subject);
}

/* A device that reads frames where they are, or is sent them from there, spares the processor the
 * copy. */
static void a_gpu_reads_frames_where_they_are(void **state)
{
    const cl_device_type type = device->type;
    struct subject subject;
    struct error why;
    (void)state;
    set_up(&subject, "GREY", RECIPE_LUMA, VIEW_PICTURE, "none");
    for (int is_gpu = 0; is_gpu < 2; is_gpu++) {
        struct frame_memory *memory;
        device->type = is_gpu ? CL_DEVICE_TYPE_GPU : CL_DEVICE_TYPE_CPU;
        struct engine_job job = job_of(&subject, subject.out);
        assert_false(is_launched(subject.engine, &job));
        assert_int_equal(engine_memory_create(&memory, subject.engine, &why), 0);
        assert_int_equal(frame_memory_share(memory, 0, memory->layout.frame_bytes, &why), 0);
        memset(frame_memory_address(memory, 0), 77, memory->layout.frame_bytes);
        job.memory = memory;
        job.in[0] = frame_memory_address(memory, 0);
        job.in_stride[0] = memory->layout.plane[0].stride;
        assert_int_equal(is_launched(subject.engine, &job), is_gpu);
        assert_int_equal(subject.out[WIDTH / 2], 77);
        engine_memory_destroy(memory);
    }
    device->type = type;
    tear_down(&subject);
}

/* The device has the frame before, and a passed one waits for it, in the memory of an output. */
static void passed_frames_keep_their_order(void **state)
{
    struct subject subject;
    struct engine_done done;
    struct store store;
    struct error why;
    cl_int code;
    (void)state;
    if (device_is_simulated()) {
        print_message("skipped: oclgrind runs a kernel in the thread that flushes it\n");
        skip();
    }
    set_up(&subject, "GREY", RECIPE_LUMA, VIEW_PICTURE, "gain:dc=0.5,ac=0.5");
    struct pollfd ready = {.fd = engine_fd(subject.engine), .events = POLLIN};
    assert_int_equal(store_create(&store, subject.engine, &subject.format, 0, &why), 0);
    apply(subject.engine, "gain:dc=0.5,ac=0.5", 1, 0);
    gate = clCreateUserEvent(device->context, &code);
    assert_int_equal(code, CL_SUCCESS);
    struct engine_job job = job_of(&subject, store.frame[0]);
    job.output = store.output;
    job.is_dispatched = true;
    submit(subject.engine, &job);
    apply(subject.engine, "none", 2, 0);
    job.out = job.tag = store.frame[1];
    job.output_frame = 1;
    job.is_dispatched = false;
    submit(subject.engine, &job);
    assert_int_equal(engine_in_flight(subject.engine), 2);
    assert_int_equal(engine_submit(subject.engine, &job, &why), -EBUSY);
    assert_int_equal(poll(&ready, 1, 50), 0);
    assert_int_equal(engine_collect(subject.engine, false, &done, &why), -EAGAIN);
    clSetUserEventStatus(gate, CL_COMPLETE);
    clReleaseEvent(gate);
    gate = NULL;
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(poll(&ready, 1, -1), 1);
        done = collect(subject.engine);
        assert_ptr_equal(done.tag, store.frame[i]);
        assert_int_equal(done.filter_serial, i + 1);
    }
    assert_true(done.finished_ns >= done.submitted_ns);
    assert_int_equal(poll(&ready, 1, 0), 0);
    assert_true(store.frame[0][0] == subject.in[0] / 2 ||
                store.frame[0][0] == (subject.in[0] + 1) / 2);
    for (uint32_t y = 0; y < HEIGHT; y++)
        assert_memory_equal(store.frame[1] + (size_t)y * subject.format.plane[0].stride,
                            subject.in + (size_t)y * WIDTH, WIDTH);

    /* Nothing of a passed frame is the device's, which may store there again. */
    assert_false(engine_abandon(subject.engine));
    apply(subject.engine, "gain:dc=0.5,ac=0.5", 3, 0);
    job.is_dispatched = true;
    assert_true(is_launched(subject.engine, &job));
    assert_memory_equal(store.frame[1], store.frame[0], WIDTH);
    engine_output_destroy(store.output);
    tear_down(&subject);
    assert_true(store_is_released(&store));
    store_free(&store);
}

/* Nor does the frame after it, with which the engine notices that it has ended. */
static void frames_of_a_fade_do_not_pass(void **state)
{
    enum { FRAMES = 3 };
    struct subject subject;
    (void)state;
    set_up(&subject, "GREY", RECIPE_LUMA, VIEW_PICTURE, "gain:dc=0.5,ac=0.5");
    const struct engine_job job = job_of(&subject, subject.out);
    apply(subject.engine, "gain:dc=0.5,ac=0.5", 1, 0);
    assert_int_equal(is_launched(subject.engine, &job), !gpu_device_is_cpu(device));
    apply(subject.engine, "none", 2, FRAMES);
    for (unsigned i = 0; engine_is_fading(subject.engine) && i <= FRAMES; i++)
        assert_true(is_launched(subject.engine, &job));
    assert_false(engine_is_fading(subject.engine));
    assert_false(is_launched(subject.engine, &job));
    assert_memory_equal(subject.out, subject.in, WIDTH);
    apply(subject.engine, "gain:dc=0.5,ac=0.5", 3, FRAMES);
    assert_true(is_launched(subject.engine, &job));
    tear_down(&subject);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_of_all_formats_pass_as_kernels_would_make_them),
        cmocka_unit_test(what_changes_frames_needs_kernels),
        cmocka_unit_test(the_host_multiplies_bytes),
        cmocka_unit_test(what_moves_or_corrects_one_frame_needs_kernels),
        cmocka_unit_test(a_gpu_reads_frames_where_they_are),
        cmocka_unit_test(passed_frames_keep_their_order),
        cmocka_unit_test(frames_of_a_fade_do_not_pass),
    };
    return cmocka_run_group_tests(tests, device_setup, device_teardown);
}
