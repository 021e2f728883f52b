/* Changes of the source: another one is taken, or the one before is in use again. */
#include "support/cmocka.h"

#include <errno.h>
#include <string.h>

#include "camera/source_change.h"
#include "support/fake_source.h"

static struct source_change change;
static struct desired desired;

static int setup(void **state)
{
    (void)state;
    fake_source_reset();
    change = (struct source_change){.number = 0};
    desired = (struct desired){.version = 1};
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    recovery_finish(&recovery);
    return 0;
}

/* The filter for the source is made at once. */
static int go_on_changing(struct error *why)
{
    const struct recipe settings = {.view = VIEW_PICTURE};
    const int r = source_change_step(&change, &recovery, &settings, &desired, why);
    if (r == 0)
        source_change_take(&change, &recovery);
    return r;
}

static int change_to(const struct config *wanted, struct error *why)
{
    desired.source.number++;
    desired.source.request = wanted->camera.source;
    desired.source.controls = wanted->camera.controls;
    return go_on_changing(why);
}

static void test_another_source_opens_slowly(void **state)
{
    (void)state;
    struct error why = {""};
    struct config other = config;
    start();
    take(NULL);
    fake_capture.slow = "gst:slow";
    strcpy(other.camera.source.uri, "gst:slow");
    other.camera.controls = (struct settings){.count = 1, .item = {{.name = "x", .value = "1"}}};
    for (int result = -ENODEV; result <= 0; result -= -ENODEV) {
        assert_int_equal(change_to(&other, &why), -EAGAIN);
        assert_int_equal(recovery.state, CAMERA_STARTING);
        assert_int_equal(go_on_changing(&why), -EAGAIN);
        fake_capture_opens(result);
        wait_and_step();
        assert_int_equal(go_on_changing(&why), result);
        assert_int_equal(recovery.phase, SOURCE_OPENED);
        assert_string_equal(recovery.request.uri, result == 0 ? "gst:slow" : "v4l2:/dev/fake");
        assert_int_equal(recovery.controls.settings.count, result == 0 ? 1 : 0);
        assert_string_equal(recovery.reason.text, "");
        recovery_start(&recovery);
        take(NULL);
    }
}

/* A change that fails leaves a lost camera lost, for the same reason. */
static void test_a_lost_camera_is_waited_for_again(void **state)
{
    (void)state;
    struct error why = {""};
    struct config other = config;
    start();
    fake_capture_fail(-ENODEV, -ENODEV);
    assert_nothing_comes(-ENODEV);
    assert_int_equal(recovery.state, CAMERA_LOST);
    const struct error reason = recovery.reason;
    fake_capture_fail(0, 0);
    fake_capture.slow = "gst:slow";
    strcpy(other.camera.source.uri, "gst:slow");
    assert_int_equal(change_to(&other, &why), -EAGAIN);
    fake_capture_opens(-ENODEV);
    wait_and_step();
    assert_int_equal(go_on_changing(&why), -ENODEV);
    assert_int_equal(recovery.state, CAMERA_LOST);
    assert_string_equal(recovery.reason.text, reason.text);
    wait_and_step();
    assert_int_equal(recovery.phase, SOURCE_OPENED);
}

/* Its readers may not have read all of it yet (output.lossless). */
static void test_a_source_that_has_ended_does_not_begin_again(void **state)
{
    (void)state;
    struct error why = {""};
    struct config other = config;
    start();
    take(NULL);
    assert_nothing_comes(-ENODATA);
    assert_int_equal(recovery.state, CAMERA_FINISHED);
    strcpy(other.camera.source.uri, fake_capture.refused = "v4l2:/dev/other");
    assert_int_equal(change_to(&other, &why), -ENOENT);
    recovery_step(&recovery, false);
    assert_int_equal(recovery.phase, SOURCE_CLOSED);
    assert_int_equal(recovery.state, CAMERA_FINISHED);
}

/* The source before is not online while it opens slowly again. */
static void test_a_slow_source_comes_back(void **state)
{
    (void)state;
    struct error why = {""};
    struct config other = config;
    fake_capture.slow = config.camera.source.uri;
    assert_int_equal(recovery_open(&recovery, true, &why), 0);
    fake_capture_opens(0);
    wait_and_step();
    recovery_start(&recovery);
    take(NULL);
    assert_int_equal(recovery.state, CAMERA_ONLINE);
    strcpy(other.camera.source.uri, fake_capture.refused = "v4l2:/dev/other");
    assert_true(change_to(&other, &why) < 0);
    assert_int_equal(recovery.phase, SOURCE_OPENING);
    assert_int_equal(recovery.state, CAMERA_STARTING);
    assert_string_equal(recovery.reason.text, "v4l2:/dev/fake is being opened");

    /* A source that was lost before the change is still lost. */
    fake_capture_opens(-ENODEV);
    wait_and_step();
    wait_and_step(); /* the retry delay */
    assert_int_equal(recovery.phase, SOURCE_OPENING);
    assert_int_equal(recovery.state, CAMERA_LOST);
    fake_capture.slow = "gst:slow";
    strcpy(other.camera.source.uri, "gst:slow");
    assert_int_equal(change_to(&other, &why), -EAGAIN);
    fake_capture.slow = config.camera.source.uri;
    fake_capture_opens(-EIO);
    wait_and_step();
    assert_int_equal(go_on_changing(&why), -EIO);
    assert_int_equal(recovery.phase, SOURCE_OPENING);
    assert_int_equal(recovery.state, CAMERA_LOST);
    assert_string_equal(recovery.reason.text, "it does not open");
}

/* After a change that failed, the failure of the first opening still ends the source. */
static void test_a_change_during_the_first_opening(void **state)
{
    (void)state;
    struct error why = {""};
    struct config other = config;
    fake_capture.slow = config.camera.source.uri;
    assert_int_equal(recovery_open(&recovery, false, &why), 0);
    strcpy(other.camera.source.uri, fake_capture.refused = "v4l2:/dev/other");
    assert_true(change_to(&other, &why) < 0);
    assert_int_equal(recovery.phase, SOURCE_OPENING);
    fake_capture_opens(-EINVAL);
    wait_and_step();
    assert_int_equal(recovery.state, CAMERA_FAILED);
    assert_int_equal(recovery.error, -EINVAL);
}

/* A source that is finished while it opens has no result. */
static void test_the_end_of_a_source_that_is_opening(void **state)
{
    (void)state;
    struct error why = {""};
    struct config other = config;
    start();
    fake_capture.slow = "gst:slow";
    strcpy(other.camera.source.uri, "gst:slow");
    assert_int_equal(change_to(&other, &why), -EAGAIN);
    recovery_finish(&recovery);
    assert_int_equal(go_on_changing(&why), -EAGAIN);
    assert_int_equal(recovery.phase, SOURCE_CLOSED);
}

static void test_another_source_is_taken_or_given_up(void **state)
{
    (void)state;
    struct error why = {""};
    struct config other = config;
    start();
    take(NULL);
    strcpy(other.camera.source.uri, "v4l2:/dev/other");
    assert_int_equal(change_to(&other, &why), 0);
    assert_int_equal(recovery.phase, SOURCE_OPENED);
    assert_string_equal(recovery.request.uri, "v4l2:/dev/other");
    recovery_start(&recovery);
    take(NULL);

    /* The next one does not open: the one before is in use again. */
    fake_capture.refused = "v4l2:/dev/none";
    strcpy(other.camera.source.uri, "v4l2:/dev/none");
    assert_int_equal(change_to(&other, &why), -ENOENT);
    assert_string_equal(why.text, "v4l2:/dev/none does not open");
    assert_string_equal(recovery.request.uri, "v4l2:/dev/other");
    assert_int_equal(recovery.phase, SOURCE_OPENED);
    assert_int_equal(recovery.past.reopens, 1);
    recovery_start(&recovery);
    take(NULL);

    /* Neither opens: the one before is waited for. */
    fake_capture.refused = NULL;
    fake_capture.open_result = -ENODEV;
    assert_int_equal(change_to(&other, &why), -ENODEV);
    assert_int_equal(recovery.state, CAMERA_LOST);
    assert_string_equal(recovery.request.uri, "v4l2:/dev/other");
    assert_int_equal(change_to(&other, &why), -ENODEV);
    fake_capture.open_result = 0;
    while (recovery.phase == SOURCE_CLOSED)
        wait_and_step();
    assert_int_equal(recovery.past.reopens, 2);
    recovery_start(&recovery);
    take(NULL);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_another_source_opens_slowly),
        TEST(test_a_lost_camera_is_waited_for_again),
        TEST(test_a_source_that_has_ended_does_not_begin_again),
        TEST(test_a_slow_source_comes_back),
        TEST(test_a_change_during_the_first_opening),
        TEST(test_the_end_of_a_source_that_is_opening),
        TEST(test_another_source_is_taken_or_given_up),
    };
    return cmocka_run_group_tests_name("source_change", tests, NULL, NULL);
}
