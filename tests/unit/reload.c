/* What becomes of a reloaded configuration: the newest one always wins, and nothing that a camera
 * cannot take now is forgotten. */
#include "support/cmocka.h"

#include <string.h>

#include "config/config.h"
#include "control/reload.h"
#include "support/faked_camera.h"

static struct reload reload;
static struct config asked; /* what main.c keeps: the configuration asked for last */

static int setup(void **state)
{
    (void)state;
    faked_camera_reset();
    memset(&reload, 0, sizeof reload);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    stop();
    assert_int_equal(fake_engine.engines, 0);
    assert_int_equal(fake_capture.opened, fake_capture.closed);
    return 0;
}

static void start_and_publish(void)
{
    asked = config;
    start();
    fake_capture_offer();
    WAIT_FOR(status.published == 1);
}

static void reload_with(const char *source, const char *controls)
{
    struct config wanted = asked;
    struct error why = {""};
    strcpy(wanted.camera.source.uri, source);
    assert_int_equal(settings_parse(&wanted.camera.controls, controls, NULL), 0);
    assert_int_equal(reload_apply(&reload, camera, &asked, &wanted, &why), 0);
}

static void assert_controls(const char *expected)
{
    char text[SETTINGS_TEXT_BYTES];
    pthread_mutex_lock(&fake_capture.lock);
    settings_print(&fake_capture.controls, text, sizeof text);
    pthread_mutex_unlock(&fake_capture.lock);
    assert_string_equal(text, expected);
}

static void test_a_source_is_changed(void **state)
{
    (void)state;
    start_and_publish();
    reload_with("fake:b", "none");
    WAIT_FOR(strcmp(status.uri, "fake:b") == 0);
    assert_int_equal(status.source_version, reload.source_version);
    assert_string_equal(status.source_problem, "");
    reload_report(&reload, &status);
    assert_int_equal(reload.source_version, 0);
    fake_capture_offer();
    WAIT_FOR(status.published == 2);
}

static void test_the_newest_of_three_quick_reloads_wins(void **state)
{
    (void)state;
    start_and_publish();
    /* None of the results is seen before the last one is asked for. */
    reload_with("fake:b", "none");
    reload_with("fake:camera", "none");
    const uint64_t version = reload.source_version;
    WAIT_FOR(status.source_version == version);
    assert_string_equal(status.uri, "fake:camera");
    pthread_mutex_lock(&fake_capture.lock);
    assert_string_equal(fake_capture.uri, "fake:camera");
    pthread_mutex_unlock(&fake_capture.lock);
    fake_capture_offer();
    WAIT_FOR(status.published == 2);
}

static void test_the_log_names_what_two_quick_reloads_changed(void **state)
{
    (void)state;
    start_and_publish();
    reload_with("fake:b", "none");
    struct config wanted = asked;
    struct error why;
    wanted.camera.source.loop = !wanted.camera.source.loop;
    assert_int_equal(reload_apply(&reload, camera, &asked, &wanted, &why), 0);
    assert_non_null(strstr(reload.changes, "camera.source = fake:b"));
    assert_non_null(strstr(reload.changes, "camera.loop = "));
    WAIT_FOR(status.source_version == reload.source_version);
    reload_report(&reload, &status);

    reload_with("fake:camera", "none");
    assert_string_equal(reload.changes, "camera.source = fake:camera");
    WAIT_FOR(status.source_version == reload.source_version);
}

static void test_a_source_that_does_not_open_is_asked_for_again(void **state)
{
    (void)state;
    start_and_publish();
    fake_capture.refused = "fake:b";
    reload_with("fake:b", "none");
    WAIT_FOR(status.source_version == reload.source_version);
    assert_string_equal(status.source_problem, "fake:b does not open");
    assert_string_equal(status.uri, "fake:camera");
    reload_report(&reload, &status);

    pthread_mutex_lock(&fake_capture.lock);
    fake_capture.refused = NULL;
    pthread_mutex_unlock(&fake_capture.lock);
    reload_with("fake:b", "none"); /* the file has not changed, but what was wrong may have */
    WAIT_FOR(strcmp(status.uri, "fake:b") == 0);
    assert_string_equal(status.source_problem, "");
}

static void test_a_source_is_changed_during_a_pause(void **state)
{
    (void)state;
    config.camera.idle = CONFIG_IDLE_PAUSE;
    start_and_publish();
    WAIT_FOR(status.state == CAMERA_PAUSED);
    pthread_mutex_lock(&fake_capture.lock);
    fake_capture.description = "another camera";
    pthread_mutex_unlock(&fake_capture.lock);
    events = 0;
    reload_with("fake:b", "none");
    WAIT_FOR(status.source_version == reload.source_version);
    assert_string_equal(status.uri, "fake:b");
    assert_string_equal(status.source, "another camera");
    assert_int_equal(status.state, CAMERA_PAUSED);
    WAIT_FOR(events & CAMERA_EVENT_STATE);
    assert_int_equal(fake_capture_get(&fake_capture.started), 1);
}

static void test_controls_are_set(void **state)
{
    (void)state;
    start_and_publish();
    reload_with("fake:camera", "gain=2, focus=3");
    WAIT_FOR(fake_capture_get(&fake_capture.controls.count) == 2);
    assert_controls("gain=2, focus=3");
}

static void test_controls_wait_for_a_camera_that_is_away(void **state)
{
    (void)state;
    start_and_publish();
    fake_capture_fail(-ENODEV, -ENODEV);
    WAIT_FOR(status.state == CAMERA_LOST);
    reload_with("fake:camera", "gain=2");
    look();
    reload_with("fake:camera", "gain=2");
    assert_controls("none");
    fake_capture_fail(0, 0);
    fake_capture_offer();
    WAIT_FOR(status.published == 2);
    assert_controls("gain=2");
}

static void test_a_control_that_is_rejected_costs_the_others_nothing(void **state)
{
    (void)state;
    start_and_publish();
    fake_capture.lacks = "zoom";
    reload_with("fake:camera", "zoom=1, gain=2");
    WAIT_FOR(fake_capture_get(&fake_capture.controls.count) == 1);
    assert_controls("gain=2");
}

static void test_a_filter_is_changed_only_if_it_differs(void **state)
{
    (void)state;
    start_and_publish();
    reload_with("fake:camera", "none");
    look();
    assert_int_equal(status.wanted_serial, 1);
    struct config wanted = asked;
    assert_int_equal(filter_chain_parse(&wanted.filter, "sharpen:amount=1,sigma=1", NULL), 0);
    assert_int_equal(reload_apply(&reload, camera, &asked, &wanted, NULL), 0);
    look();
    assert_int_equal(status.wanted_serial, 2);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_source_is_changed),
        TEST(test_the_newest_of_three_quick_reloads_wins),
        TEST(test_the_log_names_what_two_quick_reloads_changed),
        TEST(test_a_source_that_does_not_open_is_asked_for_again),
        TEST(test_a_source_is_changed_during_a_pause),
        TEST(test_controls_are_set),
        TEST(test_controls_wait_for_a_camera_that_is_away),
        TEST(test_a_control_that_is_rejected_costs_the_others_nothing),
        TEST(test_a_filter_is_changed_only_if_it_differs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
