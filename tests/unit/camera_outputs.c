/* Outputs that begin and end while the camera runs, between a fake capture and a fake engine. */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>

#include "support/faked_camera.h"

static const struct config_named_output small = {.name = "small"};

static int reset(void **state)
{
    (void)state;
    faked_camera_reset();
    return 0;
}

static unsigned count_entries(const char *path)
{
    DIR *dir = opendir(path);
    unsigned count = 0;
    assert_non_null(dir);
    while (readdir(dir) != NULL)
        count++;
    closedir(dir);
    return count;
}

static uint64_t published(unsigned output)
{
    struct camera_status of_output;
    camera_get_status(camera, output, &of_output);
    return of_output.published;
}

static void add_named(unsigned place, const struct config_named_output *named)
{
    struct error why;
    assert_true(camera_is_free(camera, place));
    assert_int_equal(camera_prepare_output(camera, place, named, &why), 0);
    assert_false(camera_is_free(camera, place));
    camera_begin_output(camera, place);
}

static void add(unsigned place)
{
    add_named(place, &small);
}

static void an_output_has_the_frames_that_follow(void **state)
{
    (void)state;
    start();
    OFFER_UNTIL(status.published > 3);
    add(3);
    struct ring *ring = camera_ring(camera, 3);
    assert_non_null(ring);
    OFFER_UNTIL(status.published > 6);
    assert_int_equal(published(3), 0); /* nobody reads it */
    camera_set_has_readers(camera, 3, true);
    OFFER_UNTIL(published(3) > 3);
    assert_ptr_equal(camera_ring(camera, 3), ring);
    assert_int_equal(ring_newest(ring), published(3));
    camera_end_output(camera, 3);
    WAIT_FOR(camera_is_free(camera, 3));
    const uint64_t before = status.published;
    OFFER_UNTIL(status.published > before + 3);
    assert_int_equal(status.state, CAMERA_ONLINE);
    stop();
}

static void outputs_that_come_and_go_leave_nothing(void **state)
{
    unsigned files = 0, threads = 0, devices = 0;
    (void)state;
    start();
    OFFER_UNTIL(status.published > 1);
    for (unsigned i = 0; i < 60; i++) {
        const unsigned place = 1 + i % (CONFIG_MAX_OUTPUTS - 1);
        add(place);
        camera_set_has_readers(camera, place, true);
        if (i % 3 > 0) /* otherwise it ends before it has an engine */
            OFFER_UNTIL(published(place) > 1);
        camera_end_output(camera, place);
        WAIT_FOR(camera_is_free(camera, place));
        if (i == 2) {
            files = count_entries("/proc/self/fd");
            threads = count_entries("/proc/self/task");
            devices = fake_engine_get(&fake_engine.devices);
        }
    }
    /* Fewer are no leak: some of the third output may not have ended when they were counted. */
    WAIT_FOR(count_entries("/proc/self/fd") <= files);
    WAIT_FOR(count_entries("/proc/self/task") <= threads);
    assert_int_equal(fake_engine_get(&fake_engine.devices), devices);
    stop();
    assert_int_equal(fake_engine.devices, 0);
}

static void an_output_that_is_discarded_frees_its_place(void **state)
{
    struct error why;
    (void)state;
    start();
    OFFER_UNTIL(status.published > 1);
    assert_int_equal(camera_prepare_output(camera, 1, &small, &why), 0);
    camera_discard_output(camera, 1);
    WAIT_FOR(camera_is_free(camera, 1));
    stop();
}

static unsigned answered;

static void on_snapshot(void *context, int result, const struct fftd_format *format,
                        const uint8_t *before, uint8_t *after, const struct snapshot_origin *origin)
{
    (void)context, (void)format, (void)before, (void)origin;
    assert_true(result == 0 || result == -ECANCELED || result == -ENODEV || result == -EIO);
    free(after);
    answered++;
}

/* Whenever the camera's thread learns of the output, of its end, and of the snapshots. */
static void every_snapshot_is_answered(void **state)
{
    unsigned asked = 0;
    (void)state;
    answered = 0;
    start();
    OFFER_UNTIL(status.published > 1);
    for (unsigned i = 0; i < 60; i++) {
        const unsigned place = 1 + i % 3;
        WAIT_FOR(camera_is_free(camera, place));
        add(place);
        asked += camera_snapshot(camera, place, false, on_snapshot, NULL) == 0;
        if (i % 2 > 0)
            OFFER_UNTIL(answered == asked);
        asked += camera_snapshot(camera, place, false, on_snapshot, NULL) == 0;
        camera_end_output(camera, place);
    }
    OFFER_UNTIL(answered == asked);
    assert_true(asked >= 60);
    stop();
}

/* Its thread is in the driver, which nobody waits for. */
static void a_place_is_free_when_its_driver_has_returned(void **state)
{
    (void)state;
    start();
    OFFER_UNTIL(status.published > 1);
    FAKE_ENGINE_SET(gate_closed, true);
    add(1);
    WAIT_FOR(fake_engine_get(&fake_engine.waiting_at_gate) > 0);
    camera_end_output(camera, 1);
    const uint64_t before = status.published;
    OFFER_UNTIL(status.published > before + 5);
    assert_false(camera_is_free(camera, 1));
    add(2);
    FAKE_ENGINE_SET(gate_closed, false);
    WAIT_FOR(camera_is_free(camera, 1));
    camera_set_has_readers(camera, 2, true);
    OFFER_UNTIL(published(2) > 1);
    stop();
}

static void no_output_begins_while_another_source_is_opened(void **state)
{
    const struct capture_request source = {.uri = "fake:b"};
    struct error why;
    uint64_t number;
    (void)state;
    fake_capture.sized = "fake:b";
    fake_capture.sized_width = fake_capture.sized_height = 48;
    start();
    OFFER_UNTIL(status.published > 1);
    FAKE_ENGINE_SET(gate_closed, true); /* its engine is not built yet */
    assert_int_equal(camera_set_source(camera, &source, NULL, NULL, &number, &why), 0);
    assert_int_equal(camera_prepare_output(camera, 1, &small, &why), -EBUSY);
    FAKE_ENGINE_SET(gate_closed, false);
    WAIT_FOR(status.source_number == number);
    add(1);
    camera_set_has_readers(camera, 1, true);
    OFFER_UNTIL(published(1) > 1);
    stop();
}

/* The camera's thread reports the result for one output after another. Whoever has seen it for main
 * may look at another output before it is reported there. */
static void a_source_stays_settled_for_all_outputs(void **state)
{
    const struct capture_request source = {.uri = "fake:b"};
    struct camera_status last;
    struct error why;
    uint64_t number;
    (void)state;
    start();
    OFFER_UNTIL(status.published > 1);
    for (unsigned place = 1; place < CONFIG_MAX_OUTPUTS; place++)
        add(place);
    for (unsigned i = 0; i < 200; i++) {
        assert_int_equal(camera_set_source(camera, &source, NULL, NULL, &number, &why), 0);
        WAIT_FOR(status.source_number == number);
        camera_get_status(camera, CONFIG_MAX_OUTPUTS - 1, &last);
    }
    stop();
}

/* One output lacks the memory for its filter with the frames of a new source, while main's engine
 * for them is being built. That engine is discarded, and main keeps the one that it has. */
static void filters_change_after_another_output_has_refused_a_source(void **state)
{
    const struct capture_request source = {.uri = "fake:b"};
    struct config_named_output filtered = small;
    struct error why;
    uint64_t number;
    (void)state;
    assert_int_equal(filter_chain_parse(&filtered.filter, "sharpen", NULL), 0);
    config.engine.memory_mib = 100;
    fake_capture.sized = "fake:b";
    fake_capture.sized_width = fake_capture.sized_height = 48;
    start();
    OFFER_UNTIL(status.published > 1);
    add_named(1, &filtered);
    camera_set_has_readers(camera, 1, true);
    OFFER_UNTIL(published(1) > 1);
    FAKE_ENGINE_SET(gate_closed, true);
    FAKE_ENGINE_SET(stage_bytes, 60u << 20); /* an engine is counted twice */
    assert_int_equal(camera_set_source(camera, &source, NULL, NULL, &number, &why), 0);
    WAIT_FOR(status.source_number == number);
    assert_string_not_equal(status.source_problem, "");
    FAKE_ENGINE_SET(stage_bytes, 0);
    FAKE_ENGINE_SET(gate_closed, false);
    use_filter("sharpen");
    assert_int_equal(status.state, CAMERA_ONLINE);
    stop();
}

static uint64_t taken_serial(void)
{
    struct filter_chain chain;
    enum view_kind view;
    const uint64_t serial = designer_get_taken(camera_designer(camera, CAMERA_MAIN), &chain, &view);
    filter_chain_drop(&chain);
    return serial;
}

/* Main has all that it needs for another source, and waits for the other output. */
static void an_engine_fails_that_is_prepared_for_a_source(void **state)
{
    const struct capture_request source = {.uri = "fake:b"};
    struct filter_chain chain;
    struct error why;
    uint64_t number;
    (void)state;
    start();
    OFFER_UNTIL(status.published > 1);
    FAKE_ENGINE_SET(slow_output, 1);
    add(1);
    const unsigned submitted = fake_engine_get(&fake_engine.submitted);
    FAKE_ENGINE_SET(hold, true);
    fake_capture_offer();
    WAIT_FOR(fake_engine_get(&fake_engine.submitted) == submitted + 1);
    assert_int_equal(filter_chain_parse(&chain, "gain:dc=0.5", NULL), 0);
    assert_int_equal(camera_set_source(camera, &source, NULL, &chain, &number, &why), 0);
    WAIT_FOR(taken_serial() == 2);
    FAKE_ENGINE_SET(gate_closed, true);
    FAKE_ENGINE_SET(collect_result, -EIO);
    fake_engine_let_go();
    WAIT_FOR(status.engine_failures == 1);
    FAKE_ENGINE_SET(collect_result, 0);
    FAKE_ENGINE_SET(gate_closed, false);
    FAKE_ENGINE_SET(slow_output, 0);
    WAIT_FOR(status.source_number == number);
    assert_string_equal(status.source_problem, "");
    OFFER_UNTIL(status.filter_serial == status.wanted_serial);
    stop();
    assert_int_equal(fake_engine.engines, 0);
    assert_int_equal(fake_engine.responses, 0);
}

static void an_output_of_a_lost_camera_begins_with_it(void **state)
{
    (void)state;
    start();
    OFFER_UNTIL(status.published > 1);
    fake_capture_fail(-ENODEV, -ENODEV);
    fake_capture_offer();
    WAIT_FOR(status.state == CAMERA_LOST);
    add(1);
    add(2);
    assert_non_null(camera_ring(camera, 1)); /* readers can attach */
    camera_set_has_readers(camera, 1, true);
    camera_end_output(camera, 2);
    WAIT_FOR(camera_is_free(camera, 2));
    assert_int_equal(published(1), 0);
    fake_capture_fail(0, 0);
    OFFER_UNTIL(published(1) > 1);
    assert_int_equal(status.state, CAMERA_ONLINE);
    stop();
}

/* The format of its frames is not known yet, so there is no ring either. */
static void an_output_of_a_camera_that_was_never_open_waits_for_it(void **state)
{
    struct error why;
    (void)state;
    fake_capture.open_result = -ENOENT;
    assert_int_equal(camera_start(&camera, &config, NULL, true, &why), 0);
    WAIT_FOR(status.state == CAMERA_LOST);
    add(1);
    assert_null(camera_ring(camera, 1));
    camera_set_has_readers(camera, 1, true);
    fake_capture_fail(0, 0);
    OFFER_UNTIL(published(1) > 1);
    assert_non_null(camera_ring(camera, 1));
    stop();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(an_output_has_the_frames_that_follow, reset),
        cmocka_unit_test_setup(outputs_that_come_and_go_leave_nothing, reset),
        cmocka_unit_test_setup(an_output_that_is_discarded_frees_its_place, reset),
        cmocka_unit_test_setup(every_snapshot_is_answered, reset),
        cmocka_unit_test_setup(a_place_is_free_when_its_driver_has_returned, reset),
        cmocka_unit_test_setup(an_output_of_a_lost_camera_begins_with_it, reset),
        cmocka_unit_test_setup(an_output_of_a_camera_that_was_never_open_waits_for_it, reset),
        cmocka_unit_test_setup(no_output_begins_while_another_source_is_opened, reset),
        cmocka_unit_test_setup(a_source_stays_settled_for_all_outputs, reset),
        cmocka_unit_test_setup(an_engine_fails_that_is_prepared_for_a_source, reset),
        cmocka_unit_test_setup(filters_change_after_another_output_has_refused_a_source, reset),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
