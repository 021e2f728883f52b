/* Recovery of a source that fails as the test says. */
#include "support/cmocka.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/clock.h"
#include "support/fake_source.h"

static int setup(void **state)
{
    (void)state;
    fake_source_reset();
    return 0;
}

static void stall_after(double seconds)
{
    config.camera.stall_timeout_s = seconds;
    recovery_init(&recovery, &config.camera);
}

static int teardown(void **state)
{
    (void)state;
    recovery_finish(&recovery);
    return 0;
}

/* The next attempt is due that long after something that was done since begin_ns. */
static void assert_retry_delay(int64_t delay_ns, int64_t begin_ns)
{
    int64_t deadline_ns = recovery_deadline_ns(&recovery);
    assert_true(deadline_ns >= begin_ns + delay_ns);
    assert_true(deadline_ns <= clock_now_ns() + delay_ns);
}

static void try_again(void)
{
    recovery.deadline_ns = 0; /* pretend that the retry delay is over */
    recovery_step(&recovery, false);
}

static void test_frames_make_it_online(void **state)
{
    (void)state;
    bool discontinuity;
    assert_int_equal(recovery.state, CAMERA_STARTING);
    start();
    assert_int_equal(recovery.state, CAMERA_STARTING);
    take(&discontinuity);
    assert_true(discontinuity);
    take(&discontinuity);
    assert_false(discontinuity);
    assert_nothing_comes(-EAGAIN);
    assert_int_equal(recovery.state, CAMERA_ONLINE);
}

static void test_first_opening_fails(void **state)
{
    (void)state;
    struct error why;
    fake_capture.open_result = -ENOENT;
    assert_int_equal(recovery_open(&recovery, true, &why), -ENOENT);
    assert_string_equal(why.text, "v4l2:/dev/fake does not open");
    assert_int_equal(recovery.phase, SOURCE_CLOSED);
}

/* ---- a source that opens slowly ---- */

static void test_a_source_opens_slowly(void **state)
{
    (void)state;
    struct error why;
    struct capture_controls *controls;
    const struct settings gain = {.count = 1, .item = {{.name = "gain", .value = "3"}}};
    fake_capture.slow = config.camera.source.uri;
    assert_int_equal(recovery_open(&recovery, false, &why), 0);
    assert_int_equal(recovery.phase, SOURCE_OPENING);
    assert_int_equal(recovery.state, CAMERA_STARTING);
    assert_string_equal(recovery.reason.text, "v4l2:/dev/fake is being opened");
    assert_int_equal(recovery_fd(&recovery), fake_capture.fd);
    assert_true(recovery_deadline_ns(&recovery) > clock_now_ns() + 50 * NS_PER_S);

    /* Nothing uses it until it is open. */
    recovery_step(&recovery, true);
    recovery_pause(&recovery);
    recovery_add_controls(&recovery, &gain);
    assert_int_equal(recovery.phase, SOURCE_OPENING);
    assert_int_equal(fake_capture.controls.count, 0);
    assert_int_equal(recovery_list_controls(&recovery, &controls, &why), -ENODEV);
    assert_non_null(strstr(why.text, "is being opened"));

    fake_capture_opens(0);
    wait_and_step();
    assert_int_equal(recovery.phase, SOURCE_OPENED);
    assert_string_equal(recovery.reason.text, "");
    assert_int_equal(fake_capture.controls.count, 1);
    recovery_start(&recovery);
    take(NULL);
    assert_int_equal(recovery.past.reopens, 0);
}

static void test_an_opening_that_fails_later(void **state)
{
    (void)state;
    struct error why;
    fake_capture.slow = config.camera.source.uri;
    assert_int_equal(recovery_open(&recovery, true, &why), 0);
    fake_capture_opens(-ENODEV);
    wait_and_step();
    assert_int_equal(recovery.phase, SOURCE_CLOSED);
    assert_int_equal(recovery.state, CAMERA_LOST);
    assert_string_equal(recovery.reason.text, "it does not open");
    wait_and_step(); /* the retry delay */
    assert_int_equal(recovery.phase, SOURCE_OPENING);
    fake_capture_opens(0);
    wait_and_step();
    assert_int_equal(recovery.phase, SOURCE_OPENED);
    assert_int_equal(recovery.past.reopens, 1);
    recovery_finish(&recovery);

    /* A start that does not wait for its source. */
    recovery_init(&recovery, &config.camera);
    assert_int_equal(recovery_open(&recovery, false, &why), 0);
    fake_capture_opens(-EINVAL);
    recovery_step(&recovery, true);
    assert_int_equal(recovery.phase, SOURCE_CLOSED);
    assert_int_equal(recovery.state, CAMERA_FAILED);
    assert_int_equal(recovery.error, -EINVAL);
    assert_true(recovery_deadline_ns(&recovery) == INT64_MAX);
}

/* After the first start of streaming, an opening that fails is tried again. */
static void test_a_source_that_has_started_is_lost_and_not_failed(void **state)
{
    (void)state;
    struct error why = {"no memory for the ring"};
    assert_int_equal(recovery_open(&recovery, false, &why), 0);
    recovery_start(&recovery);
    recovery_stop(&recovery);
    recovery_reject(&recovery, -ENOMEM, &why);
    assert_int_equal(recovery.state, CAMERA_REFUSED);
    assert_true(recovery_deadline_ns(&recovery) < clock_now_ns() + NS_PER_S);
}

/* A signal of another size is no failure, so there is no retry delay. */
static void test_another_signal_is_opened_at_once(void **state)
{
    (void)state;
    struct recovery_counts counts;
    start();
    take(NULL);
    assert_nothing_comes(-ESTALE);
    assert_int_equal(recovery.phase, SOURCE_CLOSED);
    assert_int_equal(recovery.state, CAMERA_STARTING);
    assert_true(recovery_deadline_ns(&recovery) <= clock_now_ns());
    fake_capture.width = 48;
    recovery_step(&recovery, false);
    assert_int_equal(recovery.phase, SOURCE_OPENED);
    assert_int_equal(recovery.capture->format.width, 48);
    recovery_start(&recovery);
    take(NULL);
    recovery_get_counts(&recovery, &counts);
    assert_int_equal(counts.stalls, 0);
}

/* A signal that changes again and again before a frame comes must not keep a processor busy. */
static void test_a_signal_that_does_not_hold_still_is_waited_for(void **state)
{
    (void)state;
    start();
    for (int64_t expected_ms = 0; expected_ms <= 400;
         expected_ms = expected_ms == 0 ? 200 : 2 * expected_ms) {
        int64_t begin_ns = clock_now_ns();
        assert_nothing_comes(-ESTALE);
        assert_int_equal(recovery.state, CAMERA_STARTING);
        assert_retry_delay(expected_ms * NS_PER_MS, begin_ns);
        try_again();
        recovery_start(&recovery);
    }
    take(NULL);
    assert_nothing_comes(-ESTALE);
    assert_true(recovery_deadline_ns(&recovery) <= clock_now_ns());
}

static void test_stall_restarts_then_reopens(void **state)
{
    (void)state;
    stall_after(0.01);
    start();
    take(NULL);
    wait_and_step();
    assert_int_equal(recovery.state, CAMERA_STALLED);
    assert_non_null(strstr(recovery.reason.text, "no frame for 0.0 s"));
    assert_int_equal(fake_capture.started, 2);
    assert_int_equal(fake_capture.opened, 1);

    wait_and_step();
    assert_int_equal(recovery.phase, SOURCE_CLOSED);
    assert_int_equal(fake_capture.closed, 1);
    wait_and_step();
    assert_int_equal(recovery.phase, SOURCE_OPENED);
    assert_int_equal(fake_capture.opened, 2);
    assert_int_equal(recovery.state, CAMERA_STALLED);

    recovery_start(&recovery);
    bool discontinuity;
    struct capture_frame frame = take(&discontinuity);
    assert_true(discontinuity);
    assert_int_equal(frame.sequence, 1); /* goes on, although the source counts from 0 again */
    struct recovery_counts counts;
    recovery_get_counts(&recovery, &counts);
    assert_int_equal(counts.stalls, 2);
    assert_int_equal(counts.restarts, 1);
    assert_int_equal(counts.reopens, 1);
    assert_int_equal(counts.lost, 0);
}

static void test_a_stall_says_why_if_the_source_knows(void **state)
{
    (void)state;
    stall_after(0.01);
    start();
    error_set(&fake_capture.source.stall_reason, EIO, "its lens is covered");
    wait_and_step();
    assert_string_equal(recovery.reason.text, "no frame for 0.0 s: its lens is covered");
}

static void test_no_stall_while_frames_come(void **state)
{
    (void)state;
    start();
    for (int i = 0; i < 3; i++) {
        take(NULL);
        recovery_step(&recovery, false);
        assert_int_equal(recovery.state, CAMERA_ONLINE);
    }
    struct recovery_counts counts;
    recovery_get_counts(&recovery, &counts);
    assert_int_equal(counts.stalls, 0);
    assert_int_equal(counts.restarts, 0);
}

static void test_slow_camera_is_not_stalled(void **state)
{
    (void)state;
    stall_after(0.01);
    start();
    fake_capture.source.format.rate_num = 1; /* a frame every 2 s */
    fake_capture.source.format.rate_den = 2;
    int64_t begin_ns = clock_now_ns();
    take(NULL);
    assert_true(recovery_deadline_ns(&recovery) - begin_ns > 5 * NS_PER_S);
}

static void test_streaming_error_restarts_at_once(void **state)
{
    (void)state;
    start();
    take(NULL);
    assert_nothing_comes(-EIO);
    assert_int_equal(recovery.state, CAMERA_STALLED);
    assert_int_equal(fake_capture.started, 2);
    take(NULL);
    assert_int_equal(fake_capture.opened, 1);
}

static void test_restart_that_fails_reopens(void **state)
{
    (void)state;
    start();
    take(NULL);
    fake_capture.start_result = -ENODEV;
    assert_nothing_comes(-EIO);
    assert_int_equal(recovery.state, CAMERA_LOST);
    assert_string_equal(recovery.reason.text, "it does not start");
    assert_int_equal(recovery.phase, SOURCE_CLOSED);
}

static void test_lost_camera_backs_off(void **state)
{
    (void)state;
    start();
    take(NULL);
    fake_capture.open_result = -ENODEV;
    int64_t begin_ns = clock_now_ns();
    assert_nothing_comes(-ENODEV);
    assert_int_equal(recovery.state, CAMERA_LOST);
    assert_retry_delay(100 * NS_PER_MS, begin_ns);
    for (int64_t expected_ms = 200; expected_ms <= 400; expected_ms *= 2) {
        begin_ns = clock_now_ns();
        try_again();
        assert_retry_delay(expected_ms * NS_PER_MS, begin_ns);
    }
    for (int i = 0; i < 20; i++)
        try_again();
    begin_ns = clock_now_ns();
    try_again();
    assert_retry_delay(1 * NS_PER_S, begin_ns);

    fake_capture.open_result = 0;
    try_again();
    recovery_start(&recovery);
    take(NULL);
    begin_ns = clock_now_ns();
    assert_nothing_comes(-ENODEV); /* a frame came between: the first delay again */
    assert_retry_delay(100 * NS_PER_MS, begin_ns);
}

static void test_camera_plugged_in_is_opened_at_once(void **state)
{
    (void)state;
    char directory[] = "/tmp/fftd-recovery-XXXXXX", path[64];
    assert_non_null(mkdtemp(directory));
    snprintf(path, sizeof path, "%s/camera", directory);
    snprintf(config.camera.source.uri, sizeof config.camera.source.uri, "v4l2:%s", path);
    recovery_init(&recovery, &config.camera);
    start();
    take(NULL);
    fake_capture.open_result = -ENODEV;
    assert_nothing_comes(-ENODEV);
    recovery.deadline_ns = INT64_MAX; /* only the directory can wake it */

    fake_capture.open_result = -EACCES;
    int fd = open(path, O_CREAT | O_RDWR, 0600);
    assert_true(fd >= 0);
    struct pollfd watched = {.fd = recovery_fd(&recovery), .events = POLLIN};
    assert_int_equal(poll(&watched, 1, 10000), 1);
    recovery_step(&recovery, true);
    assert_int_equal(recovery.state, CAMERA_LOST);
    recovery.deadline_ns = INT64_MAX;

    fake_capture.open_result = 0;
    assert_int_equal(fchmod(fd, 0660), 0); /* as udev does a moment later */
    assert_int_equal(poll(&watched, 1, 10000), 1);
    recovery_step(&recovery, true);
    assert_int_equal(recovery.phase, SOURCE_OPENED);
    close(fd);
    unlink(path);
    rmdir(directory);
}

/* The device belongs to root until udev hands it over. That is not reported as a refusal. */
static void test_camera_plugged_in_may_be_refused_at_first(void **state)
{
    (void)state;
    start();
    take(NULL);
    fake_capture.open_result = -ENODEV;
    assert_nothing_comes(-ENODEV);
    fake_capture.open_result = -EACCES;
    recovery.udev_until_ns = clock_now_ns() + 60 * NS_PER_S; /* it has just appeared */
    try_again();
    assert_int_equal(recovery.state, CAMERA_LOST);
    recovery.udev_until_ns = clock_now_ns();
    try_again();
    assert_int_equal(recovery.state, CAMERA_REFUSED);
}

/* The camera's thread may have polled a frame, and then closed the source for another reason. */
static void test_a_frame_of_a_closed_source_is_not_a_new_device(void **state)
{
    (void)state;
    snprintf(config.camera.source.uri, sizeof config.camera.source.uri,
             "pattern:bars"); /* has no directory to watch */
    recovery_init(&recovery, &config.camera);
    start();
    fake_capture.open_result = -ENODEV;
    assert_nothing_comes(-ENODEV);
    recovery.deadline_ns = INT64_MAX;
    recovery_step(&recovery, true);
    assert_int_equal(recovery.phase, SOURCE_CLOSED);
    assert_int_equal(recovery.deadline_ns, INT64_MAX); /* no attempt was made */
}

static void test_refusal_is_reported_and_tried_again(void **state)
{
    (void)state;
    start();
    take(NULL);
    fake_capture.open_result = -EINVAL;
    assert_nothing_comes(-ENODEV);
    try_again();
    assert_int_equal(recovery.state, CAMERA_REFUSED);
    fake_capture.open_result = 0;
    try_again();
    assert_int_equal(recovery.phase, SOURCE_OPENED);
}

static void test_end_of_file_finishes(void **state)
{
    (void)state;
    start();
    take(NULL);
    assert_nothing_comes(-ENODATA);
    assert_int_equal(recovery.state, CAMERA_FINISHED);
    assert_int_equal(recovery_deadline_ns(&recovery), INT64_MAX);
    assert_int_equal(recovery_fd(&recovery), -1);
    assert_int_equal(fake_capture.closed, 1);
}

static void test_gaps_are_explained_or_lost(void **state)
{
    (void)state;
    bool discontinuity;
    struct recovery_counts counts;
    start();
    take(NULL);
    fake_capture.sequence += 2; /* skipped frames that the capture layer counts */
    fake_capture.source.dropped_stale = 2;
    take(&discontinuity);
    assert_true(discontinuity);
    recovery_get_counts(&recovery, &counts);
    assert_int_equal(counts.lost, 0);
    assert_int_equal(counts.stale, 2);

    fake_capture.sequence += 3; /* two of these are not counted by anybody */
    fake_capture.source.dropped_error = 1;
    take(&discontinuity);
    assert_true(discontinuity);
    recovery_get_counts(&recovery, &counts);
    assert_int_equal(counts.lost, 2);
    assert_int_equal(counts.error, 1);
}

/* The counts explain every frame that clients miss. */
static void test_gaps_around_a_discontinuity_are_explained(void **state)
{
    (void)state;
    struct recovery_counts counts;
    start();
    uint64_t expected = take(NULL).sequence;

    fake_capture.source.dropped_stale = 1;
    assert_nothing_comes(-EIO); /* a restart */
    fake_capture.source.dropped_stale = 3;
    fake_capture.sequence = 2;
    expected += 4;
    assert_int_equal(take(NULL).sequence, expected);

    fake_capture.source.dropped_error = 1;
    assert_nothing_comes(-ENODEV); /* another capture */
    try_again();
    recovery_start(&recovery);
    fake_capture.source.dropped_error = 1;
    fake_capture.sequence = 1000;
    expected += 3;
    assert_int_equal(take(NULL).sequence, expected);

    recovery_get_counts(&recovery, &counts);
    assert_int_equal(counts.stale, 3);
    assert_int_equal(counts.error, 2);
    assert_int_equal(counts.lost, 0);
}

static void test_pause_and_start(void **state)
{
    (void)state;
    bool discontinuity;
    start();
    take(NULL);
    recovery_pause(&recovery);
    assert_int_equal(recovery.phase, SOURCE_OPENED);
    assert_int_equal(recovery.state, CAMERA_PAUSED);
    assert_int_equal(recovery_deadline_ns(&recovery), INT64_MAX);
    assert_int_equal(fake_capture.stopped, 1);
    recovery_start(&recovery);
    assert_int_equal(recovery.state, CAMERA_STARTING);
    fake_capture.sequence = 0; /* as every capture_start does */
    assert_int_equal(take(&discontinuity).sequence, 1);
    assert_true(discontinuity);

    /* A camera that is lost is opened again even without readers. */
    assert_nothing_comes(-ENODEV);
    recovery_pause(&recovery);
    assert_int_equal(recovery.state, CAMERA_LOST);
    wait_and_step();
    assert_int_equal(recovery.phase, SOURCE_OPENED);
}

/* ---- memory modes ---- */

static unsigned shared; /* frames that have memory */

static int share(struct frame_memory *memory, unsigned index, size_t bytes, struct error *why)
{
    (void)memory, (void)index, (void)bytes, (void)why;
    shared++;
    return 0;
}

static void clear(struct frame_memory *memory)
{
    (void)memory;
    shared = 0;
}

static const struct frame_memory_ops memory_ops = {.share = share, .clear = clear};
static struct frame_memory memory = {.ops = &memory_ops};

static void start_with_memory(enum memory_mode wanted, enum memory_mode best)
{
    struct error why;
    config.camera.source.memory = wanted;
    recovery_init(&recovery, &config.camera);
    fake_capture.best = best;
    assert_int_equal(recovery_open(&recovery, true, &why), 0);
    recovery_lend(&recovery, &memory);
    recovery_start(&recovery);
    assert_int_equal(recovery.phase, SOURCE_STREAMING);
}

static void assert_memory_mode(enum memory_mode mode, const char *problem)
{
    assert_int_equal(recovery.memory.mode, mode);
    assert_int_equal(fake_capture.memory_mode, mode);
    assert_string_equal(recovery.memory.problem.text, problem);
    assert_true(recovery.memory.settled);
}

static void test_the_best_memory_mode_is_used(void **state)
{
    (void)state;
    static const struct {
        enum memory_mode wanted, best, memory_mode;
        const char *problem;
    } cases[] = {
        {MEMORY_AUTO, MEMORY_IMPORTED, MEMORY_IMPORTED, ""},
        {MEMORY_AUTO, MEMORY_SHARED, MEMORY_SHARED, "dmabuf: not in this mode"},
        {MEMORY_AUTO, MEMORY_COPIED, MEMORY_COPIED,
         "dmabuf: not in this mode; userptr: not in this mode"},
        {MEMORY_IMPORTED, MEMORY_IMPORTED, MEMORY_IMPORTED, ""},
        {MEMORY_IMPORTED, MEMORY_SHARED, MEMORY_COPIED, "dmabuf: not in this mode"},
        {MEMORY_SHARED, MEMORY_IMPORTED, MEMORY_SHARED, ""},
        {MEMORY_SHARED, MEMORY_COPIED, MEMORY_COPIED, "userptr: not in this mode"},
        {MEMORY_COPIED, MEMORY_IMPORTED, MEMORY_COPIED, ""},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        start_with_memory(cases[i].wanted, cases[i].best);
        assert_memory_mode(cases[i].memory_mode, cases[i].problem);
        assert_int_equal(shared, cases[i].memory_mode == MEMORY_SHARED);
        recovery_finish(&recovery);
        assert_int_equal(shared, 0);
    }
}

/* A failure of the known mode is a failure of the camera, until the camera is opened again. */
static void test_a_memory_mode_is_kept_until_reopening(void **state)
{
    (void)state;
    start_with_memory(MEMORY_AUTO, MEMORY_SHARED);
    take(NULL);
    fake_capture.best = MEMORY_COPIED;
    fake_capture.memory_result = -EINVAL;
    assert_nothing_comes(-EIO);
    assert_int_equal(recovery.phase, SOURCE_CLOSED);
    assert_int_equal(recovery.state, CAMERA_REFUSED);
    wait_and_step();
    assert_int_equal(recovery.phase, SOURCE_OPENED);
    recovery_start(&recovery);
    assert_memory_mode(MEMORY_COPIED, "dmabuf: not in this mode; userptr: not in this mode");
    fake_capture.best = MEMORY_IMPORTED;
    recovery_pause(&recovery);
    recovery_start(&recovery);
    assert_memory_mode(MEMORY_COPIED, "dmabuf: not in this mode; userptr: not in this mode");
}

static void test_a_device_that_disappears_is_not_a_refusal(void **state)
{
    (void)state;
    struct error why;
    recovery_lend(&recovery, &memory);
    assert_int_equal(recovery_open(&recovery, true, &why), 0);
    fake_capture.memory_result = -ENODEV;
    recovery_start(&recovery);
    assert_int_equal(recovery.phase, SOURCE_CLOSED);
    assert_int_equal(recovery.state, CAMERA_LOST);
    assert_int_equal(fake_capture.started, 0);
}

static void test_other_memory_is_tried_again(void **state)
{
    (void)state;
    start_with_memory(MEMORY_AUTO, MEMORY_SHARED);
    recovery_stop(&recovery);
    assert_int_equal(shared, 0);
    recovery_lend(&recovery, NULL);
    recovery_start(&recovery);
    assert_int_equal(recovery.memory.mode, MEMORY_COPIED);
    assert_false(recovery.memory.settled);
    recovery_stop(&recovery);
    recovery_lend(&recovery, &memory);
    recovery_start(&recovery);
    assert_memory_mode(MEMORY_SHARED, "dmabuf: not in this mode");
}

/* A frame that was taken before a restart must not be given back to the driver. */
static void test_void_frames_are_not_returned(void **state)
{
    (void)state;
    start();
    struct capture_frame before = take(NULL);
    assert_nothing_comes(-EIO);
    assert_int_equal(fake_capture.started, 2);
    struct capture_frame after = take(NULL);
    recovery_release(&recovery, &before);
    assert_int_equal(fake_capture.out, 1);
    recovery_release(&recovery, &after);
    assert_int_equal(fake_capture.out, 0);
    recovery_release(&recovery, &before);
    recovery_finish(&recovery);
    recovery_release(&recovery, &after);
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_frames_make_it_online),
        TEST(test_first_opening_fails),
        TEST(test_a_source_opens_slowly),
        TEST(test_an_opening_that_fails_later),
        TEST(test_a_source_that_has_started_is_lost_and_not_failed),
        TEST(test_another_signal_is_opened_at_once),
        TEST(test_a_signal_that_does_not_hold_still_is_waited_for),
        TEST(test_stall_restarts_then_reopens),
        TEST(test_no_stall_while_frames_come),
        TEST(test_a_stall_says_why_if_the_source_knows),
        TEST(test_slow_camera_is_not_stalled),
        TEST(test_streaming_error_restarts_at_once),
        TEST(test_restart_that_fails_reopens),
        TEST(test_lost_camera_backs_off),
        TEST(test_camera_plugged_in_is_opened_at_once),
        TEST(test_camera_plugged_in_may_be_refused_at_first),
        TEST(test_a_frame_of_a_closed_source_is_not_a_new_device),
        TEST(test_refusal_is_reported_and_tried_again),
        TEST(test_end_of_file_finishes),
        TEST(test_gaps_are_explained_or_lost),
        TEST(test_gaps_around_a_discontinuity_are_explained),
        TEST(test_pause_and_start),
        TEST(test_the_best_memory_mode_is_used),
        TEST(test_a_memory_mode_is_kept_until_reopening),
        TEST(test_a_device_that_disappears_is_not_a_refusal),
        TEST(test_other_memory_is_tried_again),
        TEST(test_void_frames_are_not_returned),
    };
    return cmocka_run_group_tests_name("recovery", tests, NULL, NULL);
}
