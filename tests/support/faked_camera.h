/* A camera's threads between a fake capture and a fake engine, and the main loop that serves them.
 * Exactly one file of a program includes this header and those of the fakes (fake_capture.h,
 * fake_engine.h). */
#ifndef FFTD_TESTS_FAKED_CAMERA_H
#define FFTD_TESTS_FAKED_CAMERA_H

#include <poll.h>
#include <string.h>

#include "camera/camera.h"
#include "core/clock.h"
#include "support/cmocka.h"
#include "support/fake_capture.h"
#include "support/fake_engine.h"

#define PATIENCE_NS     (60 * NS_PER_S)
/* Of a device that keeps a frame. A healthy one must not take so long on a busy machine. */
#define FRAME_TIMEOUT_S 0.5

static struct config config;
static struct camera *camera;
static struct camera_status status; /* at the last look */
static unsigned events;             /* since the test began */

/* Resets the state at the beginning of a test. The test may change config and the fakes before
 * start(). */
static void faked_camera_reset(void)
{
    fake_capture_reset();
    fake_engine_reset();
    /* With one technique, an engine suits all filters for which its padding suffices. */
    config = (struct config){
        .camera = {.source = {.uri = "fake:camera", .memory = MEMORY_AUTO}, .stall_timeout_s = 60},
        .engine = {.device = "fake",
                   .options = {.technique = ENGINE_FUSED, .margin = -1, .in_flight = 2},
                   .frame_timeout_s = 60,
                   .build_timeout_s = 60},
        .output = {.slots = 6},
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

/* On a busy machine the threads may need more time to end than one call waits. */
static void stop(void)
{
    const int64_t deadline_ns = clock_now_ns() + PATIENCE_NS;
    while (camera_stop(camera) == -EBUSY)
        assert_true(clock_now_ns() < deadline_ns);
    camera = NULL;
}

/* Runs one round of the main loop. */
static void look(void)
{
    struct pollfd fd = {.fd = camera_fd(camera), .events = POLLIN};
    unsigned taken[CONFIG_MAX_OUTPUTS];
    if (poll(&fd, 1, 1) > 0) {
        camera_take_events(camera, taken);
        events |= taken[CAMERA_MAIN];
    }
    camera_get_status(camera, CAMERA_MAIN, &status);
}

#define WAIT_FOR(condition)                                                                        \
    do {                                                                                           \
        int64_t deadline_ns = clock_now_ns() + PATIENCE_NS;                                        \
        for (look(); !(condition); look())                                                         \
            assert_true(clock_now_ns() < deadline_ns);                                             \
    } while (0)

/* Whether every offered frame had been published or dropped at the last look. */
static inline bool is_settled(void)
{
    return fake_capture_get(&fake_capture.offered) == 0 &&
           fake_capture_get(&fake_capture.taken) == status.published + status.dropped_engine;
}

/* Offers frames until a condition holds, and lets the camera finish with them: what is counted
 * afterwards does not depend on how many there were. The engine must not hold frames. */
#define OFFER_UNTIL(condition)                                                                     \
    do {                                                                                           \
        WAIT_FOR((fake_capture_offer(), (condition)));                                             \
        WAIT_FOR(is_settled());                                                                    \
    } while (0)

/* Sets the filter, and offers frames until it is in use. */
static inline void use_filter(const char *text)
{
    struct filter_chain chain;
    uint64_t serial;
    assert_int_equal(filter_chain_parse(&chain, text, NULL), 0);
    assert_int_equal(camera_set_filter(camera, CAMERA_MAIN, &chain, 0, &serial, NULL), 0);
    OFFER_UNTIL(status.filter_serial == serial);
}

/* Publishes frames one after another. No other frame may be on its way. */
static inline void publish(unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        const uint64_t published = status.published;
        fake_capture_offer();
        WAIT_FOR(status.published == published + 1);
    }
}

#endif
