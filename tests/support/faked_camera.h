/* A camera's threads between a fake capture and a fake engine (fake_capture.h, fake_engine.h, and
 * with them one file of a program includes it, once), and the main loop that looks after it. */
#ifndef FFTD_TESTS_FAKED_CAMERA_H
#define FFTD_TESTS_FAKED_CAMERA_H

#include <poll.h>
#include <string.h>

#include "camera.h"
#include "core/clock.h"
#include "support/cmocka.h"
#include "support/fake_capture.h"
#include "support/fake_engine.h"

#define PATIENCE_NS (20 * NS_PER_S)

static struct config config;
static struct camera *camera;
static struct camera_status status; /* when it was looked at last */
static unsigned events;             /* since the test began */

/* To begin a test with; it may change config, and what the fakes do, before start(). */
static void faked_camera_reset(void)
{
    fake_capture_reset();
    fake_engine_reset();
    config = (struct config){
        .source = "fake:camera",
        .memory = FRAME_ANY,
        .stall_timeout_s = 60,
        .device = "fake",
        .engine = {.margin = -1, .in_flight = 2},
        .frame_timeout_s = 60,
        .build_timeout_s = 60,
        .slots = 6,
    };
    camera = NULL;
    memset(&status, 0, sizeof status);
    events = 0;
}

static void start(void)
{
    struct error why;
    assert_int_equal(camera_start(&camera, &config, NULL, false, &why), 0);
}

/* On a machine that has much else to do, the threads may not come to their end within the patience
 * of one call. */
static void stop(void)
{
    const int64_t deadline_ns = clock_now_ns() + PATIENCE_NS;
    while (camera_stop(camera) == -EBUSY)
        assert_true(clock_now_ns() < deadline_ns);
    camera = NULL;
}

/* One round of a main loop. */
static void look(void)
{
    struct pollfd fd = {.fd = camera_fd(camera), .events = POLLIN};
    if (poll(&fd, 1, 1) > 0)
        events |= camera_take_events(camera);
    camera_get_status(camera, &status);
}

#define WAIT_FOR(condition)                                                                        \
    do {                                                                                           \
        int64_t deadline_ns = clock_now_ns() + PATIENCE_NS;                                        \
        for (look(); !(condition); look())                                                         \
            assert_true(clock_now_ns() < deadline_ns);                                             \
    } while (0)

#endif
