/* In which memory frames come to the camera's thread, with a camera and an engine that fail as they
 * are told to. The fake engine ends the program if memory goes that a source still writes. */
#include "support/cmocka.h"

#include <errno.h>

#include "support/faked_camera.h"

static int setup(void **state)
{
    (void)state;
    faked_camera_reset();
    fake_capture.best = MEMORY_SHARED;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    stop();
    assert_int_equal(fake_engine.memories, 0);
    assert_int_equal(fake_engine.lent, 0);
    assert_int_equal(fake_engine.engines, 0);
    assert_int_equal(fake_engine.devices, 0);
    assert_int_equal(fake_capture.out, 0);
    return 0;
}

static void test_frames_are_read_where_they_are(void **state)
{
    (void)state;
    start();
    publish(2);
    assert_int_equal(fake_engine_get(&fake_engine.submitted_there),
                     fake_engine_get(&fake_engine.submitted) - 2); /* the designer's own */
    assert_string_equal(status.input, "shared with the source (USERPTR)");
    assert_int_equal(fake_engine_get(&fake_engine.lent), 1);
}

static void test_a_source_that_refuses_is_copied_from(void **state)
{
    (void)state;
    fake_capture.best = MEMORY_COPIED;
    start();
    publish(1);
    assert_int_equal(fake_engine_get(&fake_engine.submitted_there), 0);
    assert_string_equal(status.input,
                        "copied (dmabuf: not in this mode; userptr: not in this mode)");
}

/* What is copied goes back at once; what is read where it is, once that has been. */
static void test_a_frame_is_kept_until_it_was_read(void **state)
{
    (void)state;
    start();
    publish(1);
    FAKE_ENGINE_SET(hold, true);
    unsigned before = fake_engine_get(&fake_engine.submitted);
    for (unsigned i = 1; i <= config.engine.options.in_flight; i++) {
        fake_capture_offer();
        WAIT_FOR(fake_engine_get(&fake_engine.submitted) == before + i);
    }
    assert_int_equal(fake_capture_get(&fake_capture.out), config.engine.options.in_flight);
    fake_engine_let_go();
    WAIT_FOR(status.published == 1 + config.engine.options.in_flight);
    WAIT_FOR(fake_capture_get(&fake_capture.out) == 0);
}

/* Another engine on the same device is nothing that the source would notice. */
static void test_another_engine_takes_over(void **state)
{
    (void)state;
    start();
    publish(1);
    use_filter("gaussian-blur:sigma=10");
    assert_int_equal(fake_engine_get(&fake_engine.engines_created), 2);
    assert_int_equal(fake_capture_get(&fake_capture.started), 1);
    assert_int_equal(fake_engine_get(&fake_engine.memories), 1);
}

/* The memory is the failed device's: it goes before that does, and comes with the next one. */
static void fail_and_recover(void)
{
    WAIT_FOR((fake_capture_offer(), status.state == CAMERA_FAILED));
    WAIT_FOR(fake_engine_get(&fake_engine.memories) == 0);
    uint64_t dropped = status.dropped_engine;
    WAIT_FOR((fake_capture_offer(), status.dropped_engine > dropped)); /* it goes on */
    FAKE_ENGINE_SET(submit_result, 0);
    FAKE_ENGINE_SET(collect_result, 0);
    OFFER_UNTIL(status.state == CAMERA_ONLINE);
    unsigned there = fake_engine_get(&fake_engine.submitted_there);
    OFFER_UNTIL(fake_engine_get(&fake_engine.submitted_there) > there);
    assert_int_equal(fake_engine_get(&fake_engine.lent), 1);
    assert_int_equal(fake_capture_get(&fake_capture.started), 3);
    assert_int_equal(fake_capture_get(&fake_capture.opened), 1);
}

static void test_memory_goes_with_a_device_that_loses_a_frame(void **state)
{
    (void)state;
    start();
    publish(1);
    FAKE_ENGINE_SET(collect_result, -EIO);
    fail_and_recover();
}

static void test_memory_goes_with_a_device_that_takes_no_frame(void **state)
{
    (void)state;
    start();
    publish(1);
    FAKE_ENGINE_SET(submit_result, -EIO);
    fail_and_recover();
}

static void test_memory_goes_with_a_device_that_keeps_a_frame(void **state)
{
    (void)state;
    config.engine.frame_timeout_s = FRAME_TIMEOUT_S;
    start();
    publish(1);
    FAKE_ENGINE_SET(hold, true);
    fake_capture_offer();
    WAIT_FOR(status.state == CAMERA_FAILED);
    WAIT_FOR(fake_engine_get(&fake_engine.memories) == 0);
    fake_engine_let_go();
    OFFER_UNTIL(status.state == CAMERA_ONLINE);
    assert_int_equal(fake_engine_get(&fake_engine.lent), 1);
    use_filter("notch:at=0.1/0.1,width=0.4");
    WAIT_FOR(fake_engine_get(&fake_engine.devices) == 1);
}

/* One that refused all memory is not disturbed: a file would begin anew. */
static void test_a_copied_source_goes_on_while_the_device_fails(void **state)
{
    (void)state;
    fake_capture.best = MEMORY_COPIED;
    start();
    publish(1);
    FAKE_ENGINE_SET(collect_result, -EIO);
    WAIT_FOR((fake_capture_offer(), status.state == CAMERA_FAILED));
    FAKE_ENGINE_SET(collect_result, 0);
    OFFER_UNTIL(status.state == CAMERA_ONLINE);
    assert_int_equal(fake_capture_get(&fake_capture.started), 1);
}

static void test_a_camera_may_be_lost_with_frames_in_flight(void **state)
{
    (void)state;
    start();
    publish(1);
    FAKE_ENGINE_SET(hold, true);
    unsigned before = fake_engine_get(&fake_engine.submitted);
    fake_capture_offer();
    WAIT_FOR(fake_engine_get(&fake_engine.submitted) == before + 1);
    fake_capture_fail(-ENODEV, 0);
    WAIT_FOR(fake_capture_get(&fake_capture.started) == 2);
    fake_engine_let_go();
    WAIT_FOR(status.published == 2); /* it was captured, after all */
    publish(1);
    assert_int_equal(fake_engine_get(&fake_engine.lent), 1);
}

static void test_frames_without_memory_are_refused_before_there_is_a_ring(void **state)
{
    struct filter_chain chain;
    struct error why = {""};
    uint64_t serial;
    (void)state;
    config.engine.memory_mib = 100;
    assert_int_equal(filter_chain_parse(&config.filter, "gain:dc=0.5 | gain:dc=2", NULL), 0);
    FAKE_ENGINE_SET(stage_bytes, 30u << 20);
    assert_int_equal(camera_start(&camera, &config, NULL, false, &why), -EINVAL);
    assert_non_null(strstr(why.text, "(engine.memory)"));
    assert_int_equal(fake_engine.engines_created, 0);

    /* One stage less is within the limit, and a call for the other again is refused. */
    assert_int_equal(filter_chain_parse(&config.filter, "gain:dc=0.5", NULL), 0);
    start();
    publish(1);
    assert_true(status.memory.host > 60u << 20 && status.memory.host < status.budget.host);
    assert_int_equal(status.budget.host, 100u << 20);
    assert_int_equal(filter_chain_parse(&chain, "gain:dc=0.5 | gain:dc=2", NULL), 0);
    assert_int_equal(camera_set_filter(camera, CAMERA_MAIN, &chain, 0, &serial, &why), -EINVAL);
    publish(1);
    assert_int_equal(status.filter_serial, status.wanted_serial);
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_frames_are_read_where_they_are),
        TEST(test_a_source_that_refuses_is_copied_from),
        TEST(test_a_frame_is_kept_until_it_was_read),
        TEST(test_another_engine_takes_over),
        TEST(test_memory_goes_with_a_device_that_loses_a_frame),
        TEST(test_memory_goes_with_a_device_that_takes_no_frame),
        TEST(test_memory_goes_with_a_device_that_keeps_a_frame),
        TEST(test_a_copied_source_goes_on_while_the_device_fails),
        TEST(test_a_camera_may_be_lost_with_frames_in_flight),
        TEST(test_frames_without_memory_are_refused_before_there_is_a_ring),
    };
    return cmocka_run_group_tests_name("camera_memory", tests, NULL, NULL);
}
