/* The designer alone, on a fake engine: filters for which there is no memory, and the choice
 * between the device and the CPU device beside it. */
#include "support/cmocka.h"

#include <complex.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "designer/builder.h"
#include "designer/designer.h"
#include "designer/designer_private.h"
#include "core/clock.h"
#include "core/format.h"
#include "support/fake_engine.h"

#define PATIENCE_NS (60 * NS_PER_S)
#define PATIENCE_MS 60000

static struct config config;
static struct designer *designer;
static struct engine *engine;
static int wake_fd;
static struct designer_shares shares; /* lock and loads: of designers that have a share */
static struct designer_share share;   /* shares NULL: it is alone */

/* Takes the next design, which must come and succeed. */
static struct design take(void)
{
    struct design design;
    struct pollfd fd = {.fd = wake_fd, .events = POLLIN};
    eventfd_t count;
    while (!designer_take(designer, false, &design)) {
        assert_int_equal(poll(&fd, 1, PATIENCE_MS), 1);
        eventfd_read(wake_fd, &count);
    }
    assert_int_equal(design.result, 0);
    assert_non_null(design.response);
    return design;
}

static void request(const char *text, uint64_t serial)
{
    struct filter_chain chain;
    assert_int_equal(filter_chain_parse(&chain, text, NULL), 0);
    designer_request_filter(designer, &chain, VIEW_PICTURE, serial, 0, NULL);
}

/* Takes a design and applies it. */
static struct design apply(void)
{
    const struct design design = take();
    if (engine != NULL && engine != design.engine)
        designer_return_engine(designer, engine, false);
    engine = design.engine;
    engine_apply(engine, design.response, design.serial);
    return design;
}

static void create_tuned(const char *device, enum engine_tune tune)
{
    struct engine_frames frames = {
        .captured = format_by_name("GREY")->fourcc, .width = 64, .height = 48};
    struct error why;
    config = (struct config){.engine = {.options = {.margin = -1, .in_flight = 2, .tune = tune},
                                        .memory_mib = 100,
                                        .build_timeout_s = 60}};
    snprintf(config.engine.device, sizeof config.engine.device, "%s", device);
    assert_int_equal(filter_chain_parse(&config.filter, "gain:dc=1", NULL), 0);
    wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    engine = NULL;
    assert_int_equal(designer_create(&designer, NULL, &config, wake_fd,
                                     share.shares != NULL ? &share : NULL, &why),
                     0);
    if (format_layout(&frames.format, frames.captured, 64, 48, 64, &why) < 0)
        fail_msg("%s", why.text);
    designer_request_engine(designer, &frames);
}

static void create(const char *device)
{
    create_tuned(device, ENGINE_TUNE_AUTO);
}

static int setup(void **state)
{
    (void)state;
    fake_engine_reset();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    if (engine != NULL)
        designer_return_engine(designer, engine, false);
    assert_int_equal(designer_destroy(designer, clock_now_ns() + PATIENCE_NS), 0);
    if (share.shares != NULL)
        designer_shares_finish(&shares);
    share.shares = NULL;
    close(wake_fd);
    assert_int_equal(fake_engine.engines, 0);
    assert_int_equal(fake_engine.responses, 0);
    return 0;
}

static void a_filter_beyond_the_budget_leaves_the_one_before(void **state)
{
    struct design design;
    struct pollfd fd = {.fd = wake_fd, .events = POLLIN};
    struct filter_chain chain;
    struct error why;
    eventfd_t count;
    (void)state;
    create("fake");
    const struct design before = apply();
    assert_int_equal(before.memory.device, 0);

    /* Two engines of one stage are within the 100 MiB, and two of two stages are not. */
    FAKE_ENGINE_SET(stage_bytes, 30u << 20);
    request("gain:dc=0.5 | gain:dc=2", 2);
    while (!designer_take(designer, false, &design)) {
        assert_int_equal(poll(&fd, 1, PATIENCE_MS), 1);
        eventfd_read(wake_fd, &count);
    }
    assert_int_equal(fake_engine_get(&fake_engine.engines_created), 1);
    assert_int_equal(design.result, -EINVAL);
    assert_int_equal(design.result_serial, 2);
    assert_null(design.engine);
    assert_non_null(strstr(design.why.text, "GREY needs 120 MiB of memory (stages 120 MiB, "));
    assert_non_null(strstr(design.why.text, "the limit is 100 MiB (engine.memory)"));
    assert_int_equal(filter_chain_parse(&chain, "gain:dc=0.5 | gain:dc=2", NULL), 0);
    assert_int_equal(
        designer_check_memory(designer, &before.frames, &chain, VIEW_PICTURE, false, &why),
        -EINVAL);
    assert_string_equal(why.text, design.why.text);

    request("gain:dc=0.5", 3);
    const struct design after = apply();
    assert_true(after.memory.host > 60u << 20 && after.memory.host < 100u << 20);
}

static void find_times(double device_ms, double cpu_ms)
{
    const struct comparison times = {.device_ms = device_ms, .cpu_ms = cpu_ms};
    FAKE_ENGINE_SET(comparison, times);
}

static bool is_on_cpu(const struct design *design)
{
    assert_int_equal(engine_device(design->engine)->is_cpu, design->device.comparison.uses_cpu);
    return engine_device(design->engine)->is_cpu;
}

/* Measures again, and takes the engine that is built with the result. */
static struct design tune(double device_ms, double cpu_ms)
{
    struct error why;
    find_times(device_ms, cpu_ms);
    FAKE_ENGINE_SET(search_steps, 1);
    assert_int_equal(designer_tune(designer, false, &why), 0);
    return apply();
}

/* Engines for filters of another reach are other engines, if they do not transform. */
static void check_reuse(bool transforms, unsigned engines)
{
    FAKE_ENGINE_SET(transforms, transforms);
    create("gpu");
    apply();
    const char *const texts[] = {"gaussian-blur:sigma=20", "gaussian-blur:sigma=2",
                                 "convolve:kernel=1 2 1/2 3 2/1 2 1", "gaussian-blur:sigma=20"};
    const unsigned before = fake_engine.engines_created;
    for (uint64_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        request(texts[i], i + 2);
        apply();
    }
    assert_int_equal(fake_engine.engines_created - before, engines);
}

static void an_engine_that_transforms_serves_short_and_long_filters(void **state)
{
    (void)state;
    check_reuse(true, 1); /* whose padding suffices */
}

static void an_engine_that_convolves_serves_its_reach(void **state)
{
    (void)state;
    check_reuse(false, 4);
}

/* Kernels that join a frame to those before it first run, and are compiled, for the second one. */
static void an_engine_has_filtered_two_frames(void **state)
{
    (void)state;
    create("fake");
    apply();
    assert_int_equal(fake_engine_get(&fake_engine.submitted), 2);
}

static void a_faster_cpu_device_is_used(void **state)
{
    struct design design;
    (void)state;
    find_times(10, 1);
    create("auto");
    design = apply();
    assert_true(is_on_cpu(&design));
    assert_true(design.device.is_compared && design.device.comparison.is_automatic);
    assert_int_equal(fake_engine_get(&fake_engine.devices_opened), 2);
    assert_string_equal(designer_device_name(designer), "a fake device");

    request("shift:by=1/0", 2); /* another engine, which stays there */
    design = apply();
    assert_true(is_on_cpu(&design));
    assert_int_equal(fake_engine_get(&fake_engine.devices_opened), 2);
}

static void a_device_that_is_named_is_used(void **state)
{
    (void)state;
    find_times(10, 1);
    create("gpu");
    const struct design design = apply();
    assert_false(is_on_cpu(&design));
    assert_true(design.device.is_compared && !design.device.comparison.is_automatic);
    assert_int_equal(fake_engine_get(&fake_engine.devices_opened), 1);
}

static void times_that_are_ignored_choose_nothing(void **state)
{
    (void)state;
    find_times(10, 1);
    create_tuned("auto", ENGINE_TUNE_OFF);
    const struct design design = apply();
    assert_false(is_on_cpu(&design) || design.device.is_compared);
}

/* The engine in use filters until the other one is taken. */
static void a_search_moves_the_frames(void **state)
{
    struct design design;
    (void)state;
    create("auto");
    design = apply();
    assert_false(is_on_cpu(&design) || design.device.is_compared);
    find_times(10, 1);
    FAKE_ENGINE_SET(search_steps, 1);
    assert_int_equal(designer_tune(designer, false, NULL), 0);
    const struct design other = take();
    assert_true(is_on_cpu(&other));
    assert_int_equal(fake_engine_get(&fake_engine.engines), 2);
    designer_return_engine(designer, engine, false);
    engine = other.engine;
    engine_apply(engine, other.response, other.serial);
}

static void a_small_difference_moves_no_frames(void **state)
{
    struct design design;
    (void)state;
    create("auto");
    design = apply();
    assert_false(is_on_cpu(&design));
    const struct {
        double device_ms, cpu_ms;
        bool is_on_cpu;
    } times[] = {{10, 9.5, false}, {10, 8.9, true}, {10, 9.5, true},
                 {9.5, 10, true},  {8, 10, false},  {10, 9.5, false}};
    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++) {
        design = tune(times[i].device_ms, times[i].cpu_ms);
        assert_int_equal(is_on_cpu(&design), times[i].is_on_cpu);
    }
}

static void a_cpu_device_that_fails_is_not_tried_again(void **state)
{
    struct design design;
    (void)state;
    find_times(10, 1);
    fake_engine.cpu_result = -ENODEV;
    create("auto");
    design = apply();
    assert_false(is_on_cpu(&design));
    assert_string_equal(design.device.comparison.problem, "no device is cpu");
    FAKE_ENGINE_SET(cpu_result, 0);
    request("shift:by=1/0", 2);
    design = apply();
    assert_false(is_on_cpu(&design));
    assert_int_equal(fake_engine_get(&fake_engine.devices_opened), 1);
}

/* A frame that is lost lets the CPU device be opened again. */
static void a_cpu_device_that_loses_a_frame_is_opened_again(void **state)
{
    struct design design;
    (void)state;
    find_times(10, 1);
    create("auto");
    design = apply();
    const struct engine_frames frames = design.frames;
    designer_return_engine(designer, engine, true);
    engine = NULL;
    designer_request_engine(designer, &frames);
    design = apply();
    assert_true(is_on_cpu(&design));
    assert_int_equal(fake_engine_get(&fake_engine.devices_opened), 3);
    assert_int_equal(fake_engine_get(&fake_engine.devices), 1);

    /* The other device, which is opened when it is needed, ends no search. */
    struct tuning_status tuning;
    FAKE_ENGINE_SET(search_steps, 1u << 31);
    assert_int_equal(designer_tune(designer, false, NULL), 0);
    request("gain:dc=0.5", 2);
    design = apply();
    designer_get_tuning(designer, &tuning);
    assert_true(tuning.running);
}

/* An engine that cannot be built anywhere says nothing about the CPU device. */
static void a_filter_that_fails_everywhere_moves_nothing(void **state)
{
    struct design design;
    eventfd_t count;
    (void)state;
    find_times(10, 1);
    create("auto");
    struct pollfd fd = {.fd = wake_fd, .events = POLLIN};
    apply();
    FAKE_ENGINE_SET(create_result, -EIO);
    request("shift:by=1/0", 2);
    while (!designer_take(designer, false, &design)) {
        assert_int_equal(poll(&fd, 1, PATIENCE_MS), 1);
        eventfd_read(wake_fd, &count);
    }
    assert_int_equal(design.result, -EIO);
    FAKE_ENGINE_SET(create_result, 0);
    request("shift:by=2/0", 3);
    design = apply();
    assert_true(is_on_cpu(&design));
}

static double designed(void)
{
    pthread_mutex_lock(&fake_engine.lock);
    const double ret = fake_engine.designed;
    pthread_mutex_unlock(&fake_engine.lock);
    return ret;
}

static double response_of(const char *text)
{
    struct filter_chain chain;
    assert_int_equal(filter_chain_parse(&chain, text, NULL), 0);
    return cabs(filter_chain_response(&chain, 0.2, 0));
}

/* What clients see of the chain stays as it was. */
static void an_estimated_noise_designs_the_response_again(void **state)
{
    struct filter_chain chain;
    char text[200];
    enum view_kind view;
    (void)state;
    create("fake");
    apply();
    request("wiener:size=1", 2);
    apply();
    assert_true(designed() == response_of("wiener:size=1,noise=0.007"));
    designer_set_noise(designer, 0); /* nothing was estimated yet */
    designer_set_noise(designer, 0.5);
    assert_int_equal(apply().serial, 2);
    assert_true(designed() == response_of("wiener:size=1,noise=0.5"));
    assert_int_equal(designer_get_taken(designer, &chain, &view), 2);
    filter_chain_print(&chain, text, sizeof text);
    filter_chain_drop(&chain);
    assert_null(strstr(text, "noise=0.5"));

    /* Another one so soon is not taken, and one given by the user is never replaced. */
    designer_set_noise(designer, 2);
    request("wiener:size=2", 3);
    assert_int_equal(apply().serial, 3);
    assert_true(designed() == response_of("wiener:size=2,noise=0.5"));
    request("wiener:size=2,noise=0.1", 4);
    apply();
    assert_true(designed() == response_of("wiener:size=2,noise=0.1"));
    request("denoise:sigma=5 | wiener:size=2", 5);
    apply();
    assert_true(designed() == response_of("wiener:size=2,noise=0.007"));
}

/* The design that is being made does not know the noise yet. */
static void a_noise_that_comes_during_a_design_is_not_lost(void **state)
{
    (void)state;
    create("fake");
    apply();
    request("wiener:size=1", 2);
    const struct engine_frames frames = apply().frames;
    FAKE_ENGINE_SET(gate_closed, true);
    designer_request_engine(designer, &frames);
    while (fake_engine_get(&fake_engine.waiting_at_gate) == 0)
        usleep(1000);
    designer_set_noise(designer, 0.5);
    FAKE_ENGINE_SET(gate_closed, false);
    while (designed() != response_of("wiener:size=1,noise=0.5"))
        assert_int_equal(apply().serial, 2);
}

/* An engine is built again, with the load that was best at its beginning. Before its end there is a
 * better one, for which the camera's thread asks once. */
static void a_better_load_during_a_build_is_not_lost(void **state)
{
    struct design none;
    (void)state;
    shares =
        (struct designer_shares){.shares_loads = true, .loads = (struct engine_loads *)&shares};
    pthread_mutex_init(&shares.lock, NULL);
    share.shares = &shares;
    create("fake");
    const struct engine_frames frames = apply().frames;
    FAKE_ENGINE_SET(gate_closed, true);
    designer_request_engine(designer, &frames);
    while (fake_engine_get(&fake_engine.waiting_at_gate) == 0)
        usleep(1000);
    FAKE_ENGINE_SET(load, 1);
    assert_false(designer_take(designer, false, &none));
    FAKE_ENGINE_SET(gate_closed, false);
    while (engine->load < 1)
        apply();
}

/* The design that is being made is posted nevertheless. */
static void a_filter_withdrawn_during_its_design_does_not_stay(void **state)
{
    (void)state;
    create("fake");
    apply();
    FAKE_ENGINE_SET(gate_closed, true);
    request("gain:dc=0.5", 2);
    while (fake_engine_get(&fake_engine.waiting_at_gate) == 0)
        usleep(1000);
    request("gain:dc=1", 1);
    FAKE_ENGINE_SET(gate_closed, false);
    while (apply().serial != 1)
        continue;
}

/* Neither does one whose design waits to be taken. */
static void a_filter_withdrawn_before_it_is_taken_does_not_stay(void **state)
{
    struct pollfd wake;
    eventfd_t count;
    (void)state;
    create("fake");
    apply();
    eventfd_read(wake_fd, &count); /* apply may have taken the first design before its wake-up */
    request("gain:dc=0.5", 2);
    wake = (struct pollfd){.fd = wake_fd, .events = POLLIN};
    assert_int_equal(poll(&wake, 1, PATIENCE_MS), 1);
    request("gain:dc=1", 1);
    while (apply().serial != 1)
        continue;
}

static int refuse(void *context, unsigned done, unsigned total, struct error *why)
{
    (void)context, (void)done, (void)total;
    return error_set(why, ETIMEDOUT, "another process was too slow");
}

static int build(struct builder *builder, const struct engine_frames *frames)
{
    const struct builder_fade none = {.frames = 0};
    struct engine_response *response;
    struct error why;
    const int r = builder_design(builder, frames, &config.filter, &none, &response, &why);
    if (r == 0)
        engine_response_free(response);
    return r;
}

/* Nothing was done on the device. */
static void wait_for(const unsigned *field)
{
    const int64_t deadline_ns = clock_now_ns() + PATIENCE_NS;
    while (fake_engine_get(field) == 0)
        assert_true(clock_now_ns() < deadline_ns);
}

/* To plan an engine, files of the cache are read, from a disk that may be slow. */
static void nobody_waits_for_a_plan(void **state)
{
    (void)state;
    create("fake");
    apply();
    FAKE_ENGINE_SET(gate_closed, true);
    request("gain:dc=0.5", 2);
    wait_for(&fake_engine.waiting_at_gate); /* the engine for the filter is planned */
    FAKE_ENGINE_SET(plans_slowly, true);
    FAKE_ENGINE_SET(gate_closed, false);
    wait_for(&fake_engine.planning);
    const int r = pthread_mutex_trylock(&designer->lock);
    FAKE_ENGINE_SET(plans_slowly, false);
    assert_int_equal(r, 0);
    pthread_mutex_unlock(&designer->lock);
    apply();
}

static void a_build_that_is_refused_leaves_the_device(void **state)
{
    const struct engine_observer observer = {.on_build = refuse};
    struct builder builder;
    struct error why;
    (void)state;
    create("fake");
    const struct engine_frames frames = apply().frames;
    assert_int_equal(builder_init(&builder, NULL, &config, NULL, &observer, &why), 0);
    fake_engine.programs = 1;
    assert_true(build(&builder, &frames) < 0);
    assert_false(builder_is_suspect(&builder));
    fake_engine.programs = 0;
    fake_engine.create_result = -EIO;
    assert_true(build(&builder, &frames) < 0);
    assert_true(builder_is_suspect(&builder));
    fake_engine.create_result = 0;
    builder_finish(&builder);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_filter_beyond_the_budget_leaves_the_one_before),
        TEST(an_engine_that_transforms_serves_short_and_long_filters),
        TEST(an_engine_that_convolves_serves_its_reach),
        TEST(an_engine_has_filtered_two_frames),
        TEST(a_faster_cpu_device_is_used),
        TEST(a_device_that_is_named_is_used),
        TEST(times_that_are_ignored_choose_nothing),
        TEST(a_search_moves_the_frames),
        TEST(a_small_difference_moves_no_frames),
        TEST(a_cpu_device_that_fails_is_not_tried_again),
        TEST(a_filter_that_fails_everywhere_moves_nothing),
        TEST(a_cpu_device_that_loses_a_frame_is_opened_again),
        TEST(an_estimated_noise_designs_the_response_again),
        TEST(a_noise_that_comes_during_a_design_is_not_lost),
        TEST(a_better_load_during_a_build_is_not_lost),
        TEST(a_filter_withdrawn_during_its_design_does_not_stay),
        TEST(a_filter_withdrawn_before_it_is_taken_does_not_stay),
        TEST(nobody_waits_for_a_plan),
        TEST(a_build_that_is_refused_leaves_the_device),
    };
    return cmocka_run_group_tests_name("designer", tests, NULL, NULL);
}
