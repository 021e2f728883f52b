/* A source with its recovery, between a fake capture and a test that does what the camera's thread
 * does. Exactly one file of a program includes this header. */
#ifndef FFTD_TESTS_FAKE_SOURCE_H
#define FFTD_TESTS_FAKE_SOURCE_H

#include <poll.h>

#include "camera/recovery.h"
#include "core/clock.h"
#include "support/cmocka.h"
#include "support/fake_capture.h"

static struct config config;
static struct recovery recovery;

/* Resets the state at the beginning of a test. The source is closed. */
static void fake_source_reset(void)
{
    fake_capture_reset();
    config = (struct config){
        .camera = {.source = {.uri = "v4l2:/dev/fake", .memory = MEMORY_AUTO},
                   .stall_timeout_s = 60},
    };
    recovery_init(&recovery, &config.camera);
}

/* Waits as the camera's thread would, then lets the source do what is due. */
static void wait_and_step(void)
{
    const bool is_open = recovery_is_open(&recovery);
    struct pollfd fd = {.fd = is_open ? -1 : recovery_fd(&recovery), .events = POLLIN};
    int64_t left_ns = recovery_deadline_ns(&recovery) - clock_now_ns();
    struct timespec timeout = clock_timespec(left_ns > 0 ? left_ns : 0);
    int count = ppoll(&fd, 1, &timeout, NULL);
    recovery_step(&recovery, count > 0);
}

static void start(void)
{
    struct error why;
    assert_int_equal(recovery_open(&recovery, true, &why), 0);
    assert_int_equal(recovery.phase, SOURCE_OPENED);
    recovery_start(&recovery);
    assert_int_equal(recovery.phase, SOURCE_STREAMING);
}

static struct capture_frame take(bool *ret_discontinuity)
{
    struct capture_frame frame;
    bool unused;
    fake_capture_offer();
    assert_int_equal(recovery_dequeue(&recovery, &frame,
                                      ret_discontinuity != NULL ? ret_discontinuity : &unused),
                     0);
    assert_int_equal(recovery.state, CAMERA_ONLINE);
    assert_string_equal(recovery.reason.text, "");
    return frame;
}

static void assert_nothing_comes(int result)
{
    struct capture_frame frame;
    bool unused;
    fake_capture.dequeue_result = result;
    assert_int_equal(recovery_dequeue(&recovery, &frame, &unused), -EAGAIN);
    fake_capture.dequeue_result = 0;
}

#endif
