/* The camera's two threads, with a camera and an engine that fail on demand, and a real
 * ring: what is published, in which state, with which filter; and that nothing is left. */
#include "support/cmocka.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "core/format.h"
#include "service/log.h"
#include "ring/private.h"
#include "ring/slot.h"
#include "support/faked_camera.h"

static int setup(void **state)
{
    (void)state;
    faked_camera_reset();
    return 0;
}

/* Nothing may be left, whatever the test did. */
static int teardown(void **state)
{
    (void)state;
    FAKE_ENGINE_SET(gate_closed, false); /* a test that failed may have left it so */
    stop();
    assert_int_equal(fake_engine.engines, 0);
    assert_int_equal(fake_engine.responses, 0);
    assert_int_equal(fake_engine.devices, 0);
    assert_int_equal(fake_capture.out, 0);
    assert_int_equal(fake_capture.opened, fake_capture.closed);
    return 0;
}

static uint64_t set_filter(const char *text)
{
    struct filter_chain chain;
    struct error why;
    uint64_t serial = 0;
    assert_int_equal(filter_chain_parse(&chain, text, &why), 0);
    assert_int_equal(camera_set_filter(camera, CAMERA_MAIN, &chain, 0, &serial, &why), 0);
    return serial;
}

#define NARROW "notch:at=0.1/0.1,width=0.4"
#define WIDE   "gaussian-blur:sigma=10"

static void test_frames_are_published(void **state)
{
    (void)state;
    start();
    assert_int_equal(ring_newest(camera_ring(camera, CAMERA_MAIN)), 0);
    publish(5);
    assert_int_equal(ring_newest(camera_ring(camera, CAMERA_MAIN)), 5);
    assert_int_equal(status.state, CAMERA_ONLINE);
    assert_int_equal(status.filter_serial, 1);
    assert_int_equal(status.newest_sequence, 5);
    assert_int_equal(status.generation, 1);
    assert_int_equal(status.format.width, 32);
    assert_int_equal(status.latency[STAGE_TOTAL].count, 5);
    assert_string_equal(status.source, "a fake camera");
    assert_string_equal(status.device, "a fake device");
    WAIT_FOR(events & CAMERA_EVENT_FRAME); /* the status may be newer than the events */
    WAIT_FOR(events & CAMERA_EVENT_STATE);
}

static void test_start_fails_without_device_or_source(void **state)
{
    (void)state;
    struct error why;
    fake_engine.device_result = -ENODEV;
    assert_int_equal(camera_start(&camera, &config, NULL, true, &why), -ENODEV);
    assert_string_equal(why.text, "no device is fake");
    fake_engine.device_result = 0;
    fake_capture.open_result = -ENOENT;
    assert_int_equal(camera_start(&camera, &config, NULL, false, &why), -ENOENT);
    assert_string_equal(why.text, "fake:camera does not open");
    assert_null(camera);
}

static void test_start_can_wait_for_the_source(void **state)
{
    (void)state;
    struct error why;
    fake_capture.open_result = -ENOENT;
    assert_int_equal(camera_start(&camera, &config, NULL, true, &why), 0);
    WAIT_FOR(status.state == CAMERA_LOST);
    assert_string_equal(status.state_reason, "fake:camera does not open");
    assert_null(camera_ring(camera, CAMERA_MAIN));
    fake_capture_fail(0, 0);
    WAIT_FOR(events & CAMERA_EVENT_RING);
    assert_non_null(camera_ring(camera, CAMERA_MAIN));
    publish(1);
    assert_int_equal(status.state, CAMERA_ONLINE);
}

/* A source that opens slowly reports its format only after the start. */
static void test_frames_that_cannot_be_published_end_a_start(void **state)
{
    (void)state;
    struct error why;
    fake_capture.slow = "fake:camera";
    fake_capture.width = 9000;
    assert_int_equal(camera_start(&camera, &config, NULL, false, &why), 0);
    fake_capture_opens(0);
    WAIT_FOR(status.state == CAMERA_FAILED);
    assert_int_equal(status.open_error, -EINVAL);
    stop();

    faked_camera_reset(); /* with somebody who waits for it */
    fake_capture.slow = "fake:camera";
    fake_capture.width = 9000;
    assert_int_equal(camera_start(&camera, &config, NULL, true, &why), 0);
    fake_capture_opens(0);
    WAIT_FOR(status.state == CAMERA_REFUSED);
}

static void test_newest_filter_wins(void **state)
{
    (void)state;
    start();
    publish(1);
    FAKE_ENGINE_SET(gate_closed, true);
    assert_int_equal(set_filter(NARROW), 2);
    WAIT_FOR(fake_engine_get(&fake_engine.waiting_at_gate) == 1);
    set_filter("none");
    set_filter(NARROW);
    assert_int_equal(set_filter(NARROW "|" NARROW), 5);
    publish(2); /* frames do not wait for filters */
    assert_int_equal(status.filter_serial, 1);
    assert_int_equal(status.wanted_serial, 5);
    events = 0;
    FAKE_ENGINE_SET(gate_closed, false);
    OFFER_UNTIL(status.filter_serial == 5);
    WAIT_FOR(events & CAMERA_EVENT_FILTER);
    assert_int_equal(fake_engine_get(&fake_engine.designs), 3);
}

static void test_wide_filter_builds_an_engine_meanwhile(void **state)
{
    (void)state;
    start();
    publish(1);
    FAKE_ENGINE_SET(gate_closed, true);
    uint64_t serial = set_filter(WIDE);
    WAIT_FOR(fake_engine_get(&fake_engine.waiting_at_gate) == 1);
    publish(3);
    assert_int_equal(status.filter_serial, 1);
    FAKE_ENGINE_SET(gate_closed, false);
    OFFER_UNTIL(status.filter_serial == serial);
    assert_int_equal(fake_engine_get(&fake_engine.engines_created), 2);
    WAIT_FOR(fake_engine_get(&fake_engine.engines) == 1);
    assert_int_equal(status.generation, 1);
    /* It is wide enough for what comes next. */
    serial = set_filter("none");
    OFFER_UNTIL(status.filter_serial == serial);
    serial = set_filter(WIDE);
    OFFER_UNTIL(status.filter_serial == serial);
    assert_int_equal(fake_engine_get(&fake_engine.engines_created), 2);
}

/* Real responses are those of an engine that is as fast as it can be. */
static void test_complex_filter_builds_an_engine_meanwhile(void **state)
{
    (void)state;
    start();
    publish(1);
    FAKE_ENGINE_SET(gate_closed, true);
    uint64_t serial = set_filter("shift:by=3/0");
    WAIT_FOR(fake_engine_get(&fake_engine.waiting_at_gate) == 1);
    publish(3);
    assert_int_equal(status.filter_serial, 1);
    FAKE_ENGINE_SET(gate_closed, false);
    OFFER_UNTIL(status.filter_serial == serial);
    assert_int_equal(fake_engine_get(&fake_engine.engines_created), 2);
    assert_int_equal(fake_engine_get(&fake_engine.complex_designs), 1);
    serial = set_filter("shift:by=-2/0");
    OFFER_UNTIL(status.filter_serial == serial);
    assert_int_equal(fake_engine_get(&fake_engine.engines_created), 2);
    assert_int_equal(fake_engine_get(&fake_engine.complex_designs), 2);
    serial = set_filter(NARROW);
    OFFER_UNTIL(status.filter_serial == serial);
    assert_int_equal(fake_engine_get(&fake_engine.engines_created), 3);
    assert_int_equal(fake_engine_get(&fake_engine.complex_designs), 2);
    WAIT_FOR(fake_engine_get(&fake_engine.engines) == 1);
    assert_int_equal(status.generation, 1);
    /* An engine of another recipe is as wide as its chain needs, whatever was in use before: those
     * are the sizes that have been compiled ahead. */
    static const char *const next[] = {WIDE, "shift:by=3/0", "gaussian-blur:sigma=9|shift:by=1/0"};
    for (unsigned i = 0; i < 3; i++) {
        serial = set_filter(next[i]);
        OFFER_UNTIL(status.filter_serial == serial);
        assert_int_equal(fake_engine_get(&fake_engine.engines_created), 4 + i);
    }
}

static void test_filter_that_cannot_be_made_changes_nothing(void **state)
{
    (void)state;
    start();
    publish(1);
    FAKE_ENGINE_SET(design_result, -ENOMEM);
    uint64_t serial = set_filter(NARROW);
    WAIT_FOR(status.failed_serial == serial);
    assert_string_equal(status.filter_problem, "the response does not fit");
    publish(1);
    assert_int_equal(status.filter_serial, 1);
    FAKE_ENGINE_SET(design_result, 0);
    FAKE_ENGINE_SET(create_result, -ENOMEM);
    assert_int_equal(set_filter(WIDE), serial + 1);
    WAIT_FOR(status.failed_serial == serial + 1);
    assert_string_equal(status.filter_problem, "the kernels do not build");
    publish(1);
    assert_int_equal(status.filter_serial, 1);

    /* It is withdrawn: the one in use is the desired one again. */
    struct filter_chain chain;
    assert_int_equal(camera_get_filter(camera, CAMERA_MAIN, &chain), 1);
    assert_int_equal(chain.count, 0);
    assert_int_equal(status.wanted_serial, 1);

    /* So is a view, for which an engine is needed, too. */
    const uint64_t view = camera_set_view(camera, CAMERA_MAIN, VIEW_EDGES);
    WAIT_FOR(status.failed_serial == view);
    assert_int_equal(camera_get_view(camera, CAMERA_MAIN), VIEW_PICTURE);
    FAKE_ENGINE_SET(create_result, 0);
    serial = set_filter(NARROW);
    assert_int_equal(serial, view + 1);
    OFFER_UNTIL(status.filter_serial == serial);
    assert_string_equal(status.filter_problem, "");
    assert_int_equal(status.failed_serial, view);
}

static void assert_recovers(const char *reason)
{
    fake_capture_offer();
    WAIT_FOR(status.state == CAMERA_FAILED);
    assert_string_equal(status.state_reason, reason);
    assert_true(status.dropped_engine > 0);
    FAKE_ENGINE_SET(submit_result, 0);
    FAKE_ENGINE_SET(collect_result, 0);
    uint64_t published = status.published;
    OFFER_UNTIL(status.published > published);
    WAIT_FOR(status.state == CAMERA_ONLINE);
    assert_int_equal(status.filter_serial, 1);
    assert_int_equal(status.newest_sequence, status.published); /* no number is lost */
    assert_int_equal(status.generation, 1);
    WAIT_FOR(fake_engine_get(&fake_engine.engines) == 1);
    assert_int_equal(fake_engine_get(&fake_engine.devices_opened), 2);
    assert_int_equal(fake_engine_get(&fake_engine.devices), 1);
}

static void test_engine_that_loses_a_frame_is_rebuilt(void **state)
{
    (void)state;
    start();
    publish(2);
    FAKE_ENGINE_SET(collect_result, -EIO);
    assert_recovers("engine: the device has hung up");
}

static void test_engine_that_takes_no_frame_is_rebuilt(void **state)
{
    (void)state;
    start();
    publish(2);
    FAKE_ENGINE_SET(submit_result, -EIO);
    assert_recovers("engine: the device takes nothing");
}

/* Nothing is lost of a recording that is read as fast as it is filtered. */
static void test_unpaced_source_waits_for_an_engine(void **state)
{
    (void)state;
    fake_capture.unpaced = true;
    start();
    publish(2);
    FAKE_ENGINE_SET(gate_closed, true);
    FAKE_ENGINE_SET(submit_result, -EIO);
    fake_capture_offer();
    WAIT_FOR(status.dropped_engine == 1);
    FAKE_ENGINE_SET(submit_result, 0);
    fake_capture_offer();
    WAIT_FOR(fake_engine_get(&fake_engine.waiting_at_gate) == 1);
    assert_int_equal(fake_capture_get(&fake_capture.offered), 1);
    FAKE_ENGINE_SET(gate_closed, false);
    WAIT_FOR(status.published == 3);
    assert_int_equal(status.dropped_engine, 1);
}

/* The engine fails while its last frames are waited for: the next one is there already. */
static void test_engine_that_fails_at_its_end_is_not_rebuilt(void **state)
{
    (void)state;
    start();
    publish(1);
    FAKE_ENGINE_SET(hold, true);
    const unsigned looked = fake_engine_get(&fake_engine.looked);
    fake_capture_offer();
    WAIT_FOR(fake_engine_get(&fake_engine.looked) == looked + 1); /* the frame is not done */
    const uint64_t serial = set_filter(WIDE);
    /* The camera's thread has taken the design, and waits for the frame. */
    WAIT_FOR(fake_engine_get(&fake_engine.looked) > looked + 1);
    assert_int_equal(fake_engine_get(&fake_engine.designs), 2);
    FAKE_ENGINE_SET(collect_result, -EIO);
    fake_engine_let_go();
    WAIT_FOR(status.engine_failures == 1);
    FAKE_ENGINE_SET(collect_result, 0);
    OFFER_UNTIL(status.filter_serial == serial);
    const int64_t until_ns = clock_now_ns() + NS_PER_S / 2; /* a retry comes after 0.1 s */
    OFFER_UNTIL(clock_now_ns() >= until_ns);
    assert_int_equal(fake_engine_get(&fake_engine.engines_created), 2);
}

static void test_compilation_is_reported(void **state)
{
    (void)state;
    fake_engine.programs = 6;
    fake_engine.gate_closed = true;
    start();
    WAIT_FOR(status.state_reason[0] != '\0');
    assert_int_equal(status.state, CAMERA_STARTING);
    assert_string_equal(status.state_reason, "compiling OpenCL programs, 0 of 6 done");
    WAIT_FOR(events & CAMERA_EVENT_STATE);
    FAKE_ENGINE_SET(gate_closed, false);
    WAIT_FOR(status.state_reason[0] == '\0');
    publish(1);
    assert_int_equal(status.state, CAMERA_ONLINE);
}

static void test_first_engine_that_does_not_build_is_reported(void **state)
{
    (void)state;
    fake_engine.create_result = -EIO;
    start();
    WAIT_FOR(status.state == CAMERA_FAILED);
    assert_string_equal(status.state_reason, "engine: the kernels do not build");
    assert_int_equal(status.published, 0);
    FAKE_ENGINE_SET(create_result, 0);
    OFFER_UNTIL(status.published > 0);
}

static void test_engine_that_keeps_a_frame_is_rebuilt(void **state)
{
    (void)state;
    config.engine.frame_timeout_s = FRAME_TIMEOUT_S;
    start();
    publish(2);
    FAKE_ENGINE_SET(hold, true);
    fake_capture_offer();
    WAIT_FOR(status.state == CAMERA_FAILED);
    assert_string_equal(status.state_reason, "engine: the device has kept a frame for 0.5 s");
    assert_int_equal(status.dropped_engine, 1);
    assert_int_equal(status.engine_failures, 1);
    fake_engine_let_go();
    OFFER_UNTIL(status.state == CAMERA_ONLINE);
    assert_int_equal(status.newest_sequence, status.published);
    assert_int_equal(fake_engine_get(&fake_engine.devices_opened), 2);
    /* The first device is closed once it has let go of the frame. */
    set_filter(NARROW);
    WAIT_FOR(fake_engine_get(&fake_engine.engines) == 1);
    WAIT_FOR(fake_engine_get(&fake_engine.devices) == 1);
}

/* Waits until heartbeats, of which one is due every second, report no progress any more. Returns
 * the time of the last progress. The thread may have looked before it was stuck and report it late.
 */
static int64_t last_progress_ns(void)
{
    for (unsigned looks = 0; looks < 3; looks++) {
        const int64_t progress_ns = camera_progress_ns(camera);
        const int64_t until_ns = clock_now_ns() + 3 * NS_PER_S / 2;
        WAIT_FOR(clock_now_ns() >= until_ns);
        if (camera_progress_ns(camera) == progress_ns)
            return progress_ns;
    }
    fail_msg("there is progress");
    return 0;
}

static void test_device_that_keeps_every_frame_is_no_progress(void **state)
{
    (void)state;
    config.engine.frame_timeout_s = FRAME_TIMEOUT_S;
    start();
    publish(1);
    FAKE_ENGINE_SET(hold, true);
    WAIT_FOR((fake_capture_offer(), strstr(status.state_reason, "the frames of 2 engines")));
    assert_int_equal(status.state, CAMERA_FAILED);
    const int64_t progress_ns = last_progress_ns();
    assert_int_equal(fake_engine_get(&fake_engine.engines), 2);
    fake_engine_let_go();
    OFFER_UNTIL(status.published >= 2);
    assert_true(camera_progress_ns(camera) > progress_ns);
}

static void test_frames_may_wait_for_a_compiler(void **state)
{
    (void)state;
    config.engine.frame_timeout_s = FRAME_TIMEOUT_S;
    start();
    publish(1);
    FAKE_ENGINE_SET(gate_closed, true);
    FAKE_ENGINE_SET(hold, true);
    set_filter(NARROW);
    WAIT_FOR(fake_engine_get(&fake_engine.waiting_at_gate) == 1);
    unsigned before = fake_engine_get(&fake_engine.submitted);
    fake_capture_offer();
    WAIT_FOR(fake_engine_get(&fake_engine.submitted) > before);
    for (unsigned heartbeats = 0; heartbeats < 2; heartbeats++) { /* which there are */
        int64_t progress_ns = camera_progress_ns(camera);
        WAIT_FOR(camera_progress_ns(camera) > progress_ns);
    }
    fake_engine_let_go();
    WAIT_FOR(status.published == 2);
    FAKE_ENGINE_SET(gate_closed, false);
    assert_int_equal(status.engine_failures, 0);
}

static void test_compiler_that_hangs_is_no_progress(void **state)
{
    (void)state;
    config.engine.build_timeout_s = 0.02;
    start();
    publish(1);
    FAKE_ENGINE_SET(gate_closed, true);
    FAKE_ENGINE_SET(submit_result, -EIO);
    fake_capture_offer();
    WAIT_FOR(status.state == CAMERA_FAILED);
    WAIT_FOR(fake_engine_get(&fake_engine.waiting_at_gate) == 1);
    last_progress_ns();
    FAKE_ENGINE_SET(submit_result, 0);
    FAKE_ENGINE_SET(gate_closed, false);
    OFFER_UNTIL(status.published >= 2);
}

static void test_full_engine_takes_the_newest_frame_later(void **state)
{
    (void)state;
    start();
    publish(1);
    FAKE_ENGINE_SET(hold, true);
    unsigned before = fake_engine_get(&fake_engine.submitted);
    for (unsigned i = 0; i < config.engine.options.in_flight; i++) {
        fake_capture_offer();
        WAIT_FOR(fake_engine_get(&fake_engine.submitted) == before + 1 + i);
    }
    for (unsigned i = 0; i < 5; i++)
        fake_capture_offer();
    fake_engine_let_go();
    WAIT_FOR(status.published + status.counts.stale == 1 + config.engine.options.in_flight + 5);
    assert_true(status.counts.stale >= 4);
    assert_int_equal(status.counts.lost, 0);
}

static void test_another_format_means_another_ring(void **state)
{
    (void)state;
    start();
    struct ring *first = camera_ring(camera, CAMERA_MAIN);
    publish(3);
    events = 0;
    pthread_mutex_lock(&fake_capture.lock);
    fake_capture.width = 48;
    pthread_mutex_unlock(&fake_capture.lock);
    fake_capture_fail(-ENODEV, 0);
    WAIT_FOR(events & CAMERA_EVENT_RING);
    assert_int_equal(status.generation, 2);
    assert_int_equal(status.format.width, 48);
    assert_int_equal(ring_format(first)->width, 32); /* it is still there */
    struct ring *second = camera_ring(camera, CAMERA_MAIN);
    assert_ptr_not_equal(second, first);
    publish(2);
    assert_int_equal(ring_newest(second), 5); /* numbers go on */
    assert_int_equal(status.counts.reopens, 1);
    WAIT_FOR(fake_engine_get(&fake_engine.engines) == 1);
}

static void test_rings_that_were_never_served_are_destroyed(void **state)
{
    (void)state;
    start();
    camera_ring(camera, CAMERA_MAIN);
    publish(1);
    for (uint32_t generation = 2; generation <= 4; generation++) {
        pthread_mutex_lock(&fake_capture.lock);
        fake_capture.width = 32 + 4 * generation;
        pthread_mutex_unlock(&fake_capture.lock);
        fake_capture_fail(-ENODEV, 0);
        WAIT_FOR(status.generation == generation);
        publish(1);
    }
    assert_int_equal(ring_format(camera_ring(camera, CAMERA_MAIN))->width, 48);
    WAIT_FOR(true);
}

static void test_lost_camera_comes_back_to_the_same_ring(void **state)
{
    (void)state;
    start();
    publish(1);
    struct ring *ring = camera_ring(camera, CAMERA_MAIN);
    fake_capture_fail(-ENODEV, -ENODEV);
    WAIT_FOR(status.state == CAMERA_LOST);
    int64_t progress_ns = camera_progress_ns(camera);
    WAIT_FOR(camera_progress_ns(camera) > progress_ns); /* absence is no standstill */
    fake_capture_fail(0, 0);
    publish(1);
    WAIT_FOR(status.state == CAMERA_ONLINE);
    assert_ptr_equal(camera_ring(camera, CAMERA_MAIN), ring);
    assert_int_equal(status.newest_sequence, 2);
    assert_int_equal(fake_engine_get(&fake_engine.engines_created), 1);
}

/* A camera whose state changes more often than a heartbeat is due is not a hung thread. */
static void test_changes_of_state_are_progress(void **state)
{
    (void)state;
    start();
    publish(1);
    const int64_t progress_ns = camera_progress_ns(camera);
    fake_capture_fail(-ENODEV, -ENOENT);
    WAIT_FOR(status.state == CAMERA_LOST);
    fake_capture_fail(0, -EBUSY);
    WAIT_FOR(status.state == CAMERA_REFUSED);
    fake_capture_fail(0, -ENOENT);
    WAIT_FOR(status.state == CAMERA_LOST);
    fake_capture_fail(0, -EBUSY);
    WAIT_FOR(status.state == CAMERA_REFUSED);
    assert_true(camera_progress_ns(camera) > progress_ns);
}

/* What the ring tells its readers. */
static uint32_t ring_state_now(void)
{
    return slot_load(camera_ring(camera, CAMERA_MAIN)->header->state);
}

static void test_pauses_without_readers(void **state)
{
    (void)state;
    config.camera.idle = CONFIG_IDLE_PAUSE;
    int64_t begin_ns = clock_now_ns();
    start();
    publish(1); /* at first it runs, to show that it can */
    WAIT_FOR(status.state == CAMERA_PAUSED);
    assert_true(clock_now_ns() - begin_ns > NS_PER_S);
    assert_string_equal(status.state_reason,
                        "there are no readers; the next one starts the camera");
    /* "Starting" would say that there has been no frame yet. */
    WAIT_FOR(ring_state_now() == FFTD_STATE_OFFLINE);
    assert_int_equal(fake_capture_get(&fake_capture.started),
                     fake_capture_get(&fake_capture.stopped));
    int64_t progress_ns = camera_progress_ns(camera);
    WAIT_FOR(camera_progress_ns(camera) > progress_ns); /* a pause is not a hang */

    camera_set_has_readers(camera, CAMERA_MAIN, true);
    WAIT_FOR(fake_capture_get(&fake_capture.started) == 2);
    publish(2);
    WAIT_FOR(status.state == CAMERA_ONLINE);
    WAIT_FOR(ring_state_now() == FFTD_STATE_LIVE);
    camera_set_has_readers(camera, CAMERA_MAIN, false);
    camera_set_has_readers(camera, CAMERA_MAIN, true);
    begin_ns = clock_now_ns();
    WAIT_FOR(clock_now_ns() - begin_ns > 5 * NS_PER_S / 2);
    assert_int_equal(status.state, CAMERA_ONLINE);
    camera_set_has_readers(camera, CAMERA_MAIN, false);
    WAIT_FOR(status.state == CAMERA_PAUSED);
    assert_int_equal(status.counts.stalls, 0);
    assert_int_equal(status.counts.reopens, 0);
    assert_int_equal(status.counts.lost, 0);
}

static void test_ends_after_the_frames_asked_for(void **state)
{
    (void)state;
    config.output.frames = 3;
    start();
    publish(3);
    WAIT_FOR(status.state == CAMERA_FINISHED);
    fake_capture_offer();
    look();
    assert_int_equal(status.published, 3);
    assert_string_equal(status.state_reason,
                        "3 frames were published, the limit set by output.frames");
}

static struct {
    unsigned calls, changed; /* `changed` of the calls failed because the format had changed */
    int result;
    struct snapshot_origin origin;
    bool has_before;
    uint8_t before, after;
} answer;

static void answered(void *context, int result, const struct fftd_format *format,
                     const uint8_t *before, uint8_t *after, const struct snapshot_origin *origin)
{
    assert_ptr_equal(context, &answer);
    answer.calls++;
    answer.changed += result == -EAGAIN;
    answer.result = result;
    answer.origin = *origin;
    if (result == 0) {
        const struct fftd_plane *plane = &format->plane[0];
        size_t last = plane->offset + (plane->rows - 1) * plane->stride + plane->row_bytes - 1;
        answer.has_before = before != NULL;
        answer.before = before != NULL ? before[last] : 0;
        answer.after = after[last];
    }
    free(after);
}

/* Clients get colours; of which mosaic they were made concerns the engine alone. */
static void test_mosaics_are_published_in_colour(void **state)
{
    (void)state;
    fake_capture.fourcc = format_by_name("SRGGB8")->fourcc;
    start();
    publish(2);
    assert_int_equal(ring_format(camera_ring(camera, CAMERA_MAIN))->fourcc,
                     format_by_name("XBGR32")->fourcc);
    assert_int_equal(ring_format(camera_ring(camera, CAMERA_MAIN))->full_range, 1);
    memset(&answer, 0, sizeof answer);
    assert_int_equal(camera_snapshot(camera, CAMERA_MAIN, true, answered, &answer), 0);
    publish(1);
    WAIT_FOR(answer.calls == 1);
    assert_int_equal(answer.result, 0);
    assert_int_equal(answer.before, 0xff); /* the last byte of a pixel in colour */

    unsigned engines = fake_engine_get(&fake_engine.engines_created);
    pthread_mutex_lock(&fake_capture.lock);
    fake_capture.fourcc = format_by_name("SGRBG8")->fourcc;
    pthread_mutex_unlock(&fake_capture.lock);
    fake_capture_fail(-ENODEV, 0);
    WAIT_FOR(fake_engine_get(&fake_engine.engines_created) == engines + 1);
    publish(1);
    assert_int_equal(status.generation, 1);
    WAIT_FOR(fake_engine_get(&fake_engine.engines) == 1);
}

static void test_snapshot_is_one_frame_before_and_after(void **state)
{
    (void)state;
    memset(&answer, 0, sizeof answer);
    struct error why;
    assert_int_equal(filter_chain_parse(&config.filter, NARROW "|" NARROW "|" NARROW, &why), 0);
    start();
    assert_int_equal(camera_snapshot(camera, CAMERA_MAIN, true, answered, &answer),
                     0); /* the first frame will do */
    publish(1);
    WAIT_FOR(answer.calls == 1);
    assert_int_equal(answer.result, 0);
    assert_int_equal(answer.origin.sequence, 1);
    assert_int_equal(answer.origin.filter_serial, 1);
    assert_int_equal(answer.before, fake_capture.pixels[32 * 16 - 1]);
    assert_int_equal(answer.after, (uint8_t)(answer.before + 3));
    publish(1);
    assert_int_equal(answer.calls, 1);
    assert_int_equal(camera_snapshot(camera, CAMERA_MAIN, true, answered, &answer), 0);
    assert_int_equal(camera_snapshot(camera, CAMERA_MAIN, true, answered, &answer), 0);
    publish(1);
    WAIT_FOR(answer.calls == 3);
    assert_int_equal(answer.origin.sequence, 3);
    assert_true(answer.has_before);
    assert_int_equal(camera_snapshot(camera, CAMERA_MAIN, false, answered, &answer), 0);
    publish(1);
    WAIT_FOR(answer.calls == 4);
    assert_false(answer.has_before);
    assert_int_equal(answer.after, (uint8_t)(fake_capture.pixels[32 * 16 - 1] + 3));
}

/* A new source may need its frames made smaller although the previous one did not. A snapshot has
 * both sides of the filter in one size. */
static void test_snapshot_while_captured_frames_become_larger(void **state)
{
    (void)state;
    const struct capture_request source = {.uri = "fake:b"};
    struct error why;
    uint64_t number;
    memset(&answer, 0, sizeof answer);
    config.output.width = fake_capture.sized_width = 32;
    config.output.height = fake_capture.sized_height = 16;
    fake_capture.sized = "fake:camera";
    fake_capture.width = 64;
    fake_capture.height = 32;
    start();
    publish(1);
    FAKE_ENGINE_SET(gate_closed, true);
    assert_int_equal(camera_set_source(camera, &source, NULL, NULL, &number, &why), 0);
    WAIT_FOR(fake_engine_get(&fake_engine.waiting_at_gate) == 1);
    assert_int_equal(camera_snapshot(camera, CAMERA_MAIN, true, answered, &answer), 0);
    assert_int_equal(camera_snapshot(camera, CAMERA_MAIN, false, answered, &answer), 0);
    FAKE_ENGINE_SET(gate_closed, false);
    WAIT_FOR(status.source_number == number);
    assert_string_equal(status.source_problem, "");
    publish(1);
    WAIT_FOR(answer.calls == 2);
    assert_int_equal(answer.changed, 1);
    assert_int_equal(answer.result, 0);
    assert_false(answer.has_before);
}

/* Its first frames show that it works, however long it takes to open. */
static void test_the_time_to_a_pause_begins_when_it_is_open(void **state)
{
    (void)state;
    struct error why;
    config.camera.idle = CONFIG_IDLE_PAUSE;
    fake_capture.slow = "fake:camera";
    const int64_t begin_ns = clock_now_ns();
    assert_int_equal(camera_start(&camera, &config, NULL, true, &why), 0);
    WAIT_FOR(clock_now_ns() - begin_ns > 5 * NS_PER_S / 2);
    fake_capture_opens(0);
    WAIT_FOR(fake_capture_get(&fake_capture.started) == 1);
    publish(1);
    assert_int_equal(status.state, CAMERA_ONLINE);
    WAIT_FOR(status.state == CAMERA_PAUSED);
}

/* It is not paused any more once somebody reads, also while there is no engine yet. */
static void test_a_reader_ends_a_pause_before_the_first_engine(void **state)
{
    (void)state;
    config.camera.idle = CONFIG_IDLE_PAUSE;
    FAKE_ENGINE_SET(gate_closed, true);
    start();
    WAIT_FOR(status.state == CAMERA_PAUSED);
    camera_set_has_readers(camera, CAMERA_MAIN, true);
    WAIT_FOR(status.state == CAMERA_STARTING);
    FAKE_ENGINE_SET(gate_closed, false);
    publish(1);
    assert_int_equal(status.state, CAMERA_ONLINE);
}

static void test_snapshot_wakes_a_camera_that_pauses(void **state)
{
    (void)state;
    memset(&answer, 0, sizeof answer);
    config.camera.idle = CONFIG_IDLE_PAUSE;
    start();
    WAIT_FOR(status.state == CAMERA_PAUSED); /* before its first frame */
    assert_int_equal(camera_snapshot(camera, CAMERA_MAIN, true, answered, &answer), 0);
    WAIT_FOR(fake_capture_get(&fake_capture.started) > fake_capture_get(&fake_capture.stopped));
    publish(1);
    WAIT_FOR(answer.calls == 1);
    assert_int_equal(answer.result, 0);
    WAIT_FOR(status.state == CAMERA_PAUSED);
}

static void test_snapshot_of_a_camera_that_is_lost(void **state)
{
    (void)state;
    memset(&answer, 0, sizeof answer);
    start();
    publish(1);
    WAIT_FOR(status.state == CAMERA_ONLINE);
    assert_int_equal(camera_snapshot(camera, CAMERA_MAIN, true, answered, &answer), 0);
    fake_capture_fail(-ENODEV, -ENODEV);
    WAIT_FOR(answer.calls == 1);
    assert_int_equal(answer.result, -ENODEV);
    assert_int_equal(camera_snapshot(camera, CAMERA_MAIN, true, answered, &answer), -ENODEV);
    fake_capture_fail(0, 0);
    publish(1);
    WAIT_FOR(status.state == CAMERA_ONLINE);
    assert_int_equal(camera_snapshot(camera, CAMERA_MAIN, true, answered, &answer), 0);
    stop();
    assert_int_equal(answer.calls, 2);
    assert_int_equal(answer.result, -ECANCELED);
}

/* ---- controls ---- */

static struct {
    unsigned calls;
    int result;
    char why[512];
    unsigned count;
} controls_answer;

static void take_controls(void *context, int result, const char *why,
                          const struct capture_controls *controls)
{
    (void)context;
    controls_answer.calls++;
    controls_answer.result = result;
    snprintf(controls_answer.why, sizeof controls_answer.why, "%s", why);
    controls_answer.count = controls != NULL ? controls->count : 0;
    if (controls != NULL)
        assert_string_equal(controls->control[0].entry->name, "automatic");
}

static void set_controls(const char *text)
{
    struct settings settings;
    assert_int_equal(settings_parse(&settings, text, NULL), 0);
    unsigned calls = controls_answer.calls;
    assert_int_equal(camera_ask_controls(camera, &settings, take_controls, NULL), 0);
    WAIT_FOR(controls_answer.calls == calls + 1);
}

static void assert_controls(const char *expected)
{
    char text[SETTINGS_TEXT_BYTES];
    pthread_mutex_lock(&fake_capture.lock);
    settings_print(&fake_capture.controls, text, sizeof text);
    pthread_mutex_unlock(&fake_capture.lock);
    assert_string_equal(text, expected);
}

/* What the configuration names and what was set since is set again when the camera comes back; one
 * that it lacks by then costs the others nothing. */
static void test_controls_are_set_again(void **state)
{
    (void)state;
    memset(&controls_answer, 0, sizeof controls_answer);
    assert_int_equal(settings_parse(&config.camera.controls, "gain=1, focus=2, exposure=3", NULL),
                     0);
    start();
    publish(1);
    assert_controls("gain=1, focus=2, exposure=3");
    set_controls("gain=7");
    assert_int_equal(controls_answer.result, 0);
    assert_controls("focus=2, exposure=3, gain=7");
    fake_capture.lacks = "zoom";
    set_controls("gain=8, zoom=1");
    assert_int_equal(controls_answer.result, -EINVAL);
    assert_string_equal(controls_answer.why, "zoom: no such control");
    assert_controls("focus=2, exposure=3, gain=7");

    pthread_mutex_lock(&fake_capture.lock);
    fake_capture.controls.count = 0;
    fake_capture.lacks = "exposure";
    pthread_mutex_unlock(&fake_capture.lock);
    fake_capture_fail(-ENODEV, 0);
    publish(1);
    WAIT_FOR(status.counts.reopens == 1);
    assert_controls("focus=2, gain=7");
    unsigned calls = controls_answer.calls;
    assert_int_equal(camera_ask_controls(camera, NULL, take_controls, NULL), 0);
    WAIT_FOR(controls_answer.calls == calls + 1);
    assert_int_equal(controls_answer.count, 1);
}

static void want_controls(const char *text)
{
    struct settings settings = {.count = 0};
    assert_int_equal(settings_parse(&settings, text, NULL), 0);
    camera_want_controls(camera, &settings);
}

/* Sends a client's controls without waiting for the answer. */
static void send_controls(const char *text)
{
    struct settings settings = {.count = 0};
    assert_int_equal(settings_parse(&settings, text, NULL), 0);
    assert_int_equal(camera_ask_controls(camera, &settings, take_controls, NULL), 0);
}

/* Keeps the camera's thread busy until release_thread, so that what is asked for meanwhile waits.
 */
static void hold_thread(void)
{
    const unsigned listed = fake_capture_get(&fake_capture.listed);
    pthread_mutex_lock(&fake_capture.gate);
    assert_int_equal(camera_ask_controls(camera, NULL, take_controls, NULL), 0);
    WAIT_FOR(fake_capture_get(&fake_capture.listed) == listed + 1);
}

static void release_thread(unsigned answers)
{
    pthread_mutex_unlock(&fake_capture.gate);
    WAIT_FOR(controls_answer.calls == answers);
    for (unsigned i = 0; i < 50; i++)
        look(); /* nothing may change any more */
}

/* A configuration and clients set the same control: the last one counts, whoever it was. */
static void test_newest_controls_win(void **state)
{
    (void)state;
    memset(&controls_answer, 0, sizeof controls_answer);
    start();
    publish(1);
    hold_thread();
    send_controls("gain=7");
    want_controls("gain=2");
    release_thread(2);
    assert_controls("gain=2");
    hold_thread();
    want_controls("gain=3");
    send_controls("gain=8");
    release_thread(4);
    assert_controls("gain=8");
    hold_thread();
    send_controls("gain=4");
    want_controls("focus=1");
    send_controls("zoom=1");
    release_thread(7);
    assert_controls("gain=4, focus=1, zoom=1");
    fake_capture_fail(-ENODEV, 0);
    publish(1);
    assert_int_equal(status.counts.reopens, 1);
    assert_controls("gain=4, focus=1, zoom=1");
}

static void ask_for_controls(unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        assert_int_equal(camera_ask_controls(camera, NULL, take_controls, NULL), 0);
}

/* Clients share a reading of the controls: it takes time that frames need. */
static void test_many_asks_read_the_controls_once(void **state)
{
    (void)state;
    memset(&controls_answer, 0, sizeof controls_answer);
    fake_capture.list_ms = 200; /* a reading is good for 100 times that */
    start();
    publish(1);
    ask_for_controls(100);
    WAIT_FOR(controls_answer.calls == 100);
    for (unsigned i = 0; i < 20; i++) {
        ask_for_controls(1);
        publish(1);
    }
    WAIT_FOR(controls_answer.calls == 120);
    assert_int_equal(controls_answer.result, 0);
    assert_int_equal(controls_answer.count, 1);
    assert_int_equal(fake_capture_get(&fake_capture.listed), 1);
    set_controls("gain=7");
    ask_for_controls(1);
    WAIT_FOR(controls_answer.calls == 122);
    assert_int_equal(fake_capture_get(&fake_capture.listed), 2);
    fake_capture_fail(-ENODEV, 0); /* another camera may be opened again */
    publish(1);
    pthread_mutex_lock(&fake_capture.lock);
    fake_capture.list_result = -EIO;
    pthread_mutex_unlock(&fake_capture.lock);
    ask_for_controls(100);
    WAIT_FOR(controls_answer.calls == 222);
    assert_int_equal(controls_answer.result, -EIO);
    assert_string_equal(controls_answer.why, "it does not list its controls");
    assert_int_equal(fake_capture_get(&fake_capture.listed), 3);
}

static void test_controls_of_a_camera_that_is_away(void **state)
{
    (void)state;
    memset(&controls_answer, 0, sizeof controls_answer);
    start();
    publish(1);
    fake_capture_fail(-ENODEV, -ENODEV);
    WAIT_FOR(status.state == CAMERA_LOST);
    set_controls("gain=7");
    assert_int_equal(controls_answer.result, -ENODEV);
    assert_non_null(strstr(controls_answer.why, "the camera is lost"));
    assert_controls("none");
    /* Who still waits at the end is answered. */
    assert_int_equal(camera_ask_controls(camera, NULL, take_controls, NULL), 0);
    stop();
    assert_int_equal(controls_answer.calls, 2);
    assert_true(controls_answer.result == -ECANCELED || controls_answer.result == -ENODEV);
}

/* A frame came while its thread was at something else: that is no silence of the camera's. */
static void test_slow_requests_are_not_a_stall(void **state)
{
    (void)state;
    memset(&controls_answer, 0, sizeof controls_answer);
    config.camera.stall_timeout_s = 3;
    start();
    publish(1);
    pthread_mutex_lock(&fake_capture.gate);
    assert_int_equal(camera_ask_controls(camera, NULL, take_controls, NULL), 0);
    WAIT_FOR(fake_capture_get(&fake_capture.listed) == 1);
    fake_capture_offer();
    poll(NULL, 0, 3100);
    pthread_mutex_unlock(&fake_capture.gate);
    WAIT_FOR(status.published == 2);
    assert_int_equal(status.counts.stalls, 0);
    assert_int_equal(fake_capture_get(&fake_capture.started), 1);
}

static void test_stop_does_not_wait_for_a_compiler(void **state)
{
    (void)state;
    start();
    publish(1);
    FAKE_ENGINE_SET(gate_closed, true);
    set_filter(WIDE);
    WAIT_FOR(fake_engine_get(&fake_engine.waiting_at_gate) == 1);
    assert_int_equal(camera_stop(camera), -EBUSY); /* or it never comes back from there */
    FAKE_ENGINE_SET(gate_closed, false);           /* teardown sees that the end comes then */
}

/* ---- what a process before this one has left ---- */

/* A daemon's life that ends after three frames, with `slots` slots; what is left is its ring's
 * memory. */
static int live_and_leave(unsigned slots)
{
    config.output.slots = slots;
    start();
    publish(3);
    int fd = dup(camera_ring(camera, CAMERA_MAIN)->memory.fd);
    stop();
    config.output.slots = 6;
    return fd;
}

/* What a reader that still has the old one sees there. */
static uint32_t state_of(int fd)
{
    struct fftd_ring_header header;
    assert_int_equal(pread(fd, &header, sizeof header, 0), sizeof header);
    return header.state;
}

static struct ring *start_again(int fd, bool wait)
{
    struct error why;
    struct ring *continued = NULL;
    assert_int_equal(ring_continue(&continued, dup(fd), &why), 0);
    assert_int_equal(camera_start(&camera, &config, &continued, wait, &why), 0);
    look();
    return continued;
}

static void test_the_next_process_continues_the_numbers(void **state)
{
    (void)state;
    int fd = live_and_leave(6);
    assert_int_equal(state_of(fd), FFTD_STATE_RETIRED);
    struct ring *continued = start_again(fd, false);
    assert_ptr_equal(camera_ring(camera, CAMERA_MAIN), continued);
    assert_int_equal(status.newest_sequence, 3);
    assert_int_equal(state_of(continued->memory.fd), FFTD_STATE_OFFLINE);
    publish(2);
    assert_ptr_equal(camera_ring(camera, CAMERA_MAIN), continued);
    assert_int_equal(ring_newest(continued), 5);
    assert_int_equal(ring_epoch(continued), 2);
    assert_int_equal(status.published, 2);
    assert_int_equal(status.generation, 2);
    WAIT_FOR(state_of(continued->memory.fd) == FFTD_STATE_LIVE);
    assert_int_equal(state_of(fd), FFTD_STATE_RETIRED);
    close(fd);
}

static void check_next_generation(int fd)
{
    start_again(fd, false);
    publish(2);
    struct ring *ring = camera_ring(camera, CAMERA_MAIN);
    assert_int_equal(ring_generation(ring), 3);
    assert_int_equal(ring_epoch(ring), 2);
    assert_int_equal(ring_newest(ring), 5);
    close(fd);
}

static void test_another_format_replaces_a_continued_ring(void **state)
{
    (void)state;
    int fd = live_and_leave(6);
    fake_capture.width = 48;
    check_next_generation(fd);
    assert_int_equal(ring_format(camera_ring(camera, CAMERA_MAIN))->width, 48);
}

static void test_another_number_of_slots_replaces_a_continued_ring(void **state)
{
    (void)state;
    check_next_generation(live_and_leave(5));
    assert_int_equal(ring_slots(camera_ring(camera, CAMERA_MAIN)), 6);
}

/* Clients can attach to it at once, and see that the camera is absent. */
static void test_a_continued_ring_waits_for_the_camera(void **state)
{
    (void)state;
    int fd = live_and_leave(6);
    fake_capture.open_result = -ENOENT;
    struct ring *continued = start_again(fd, true);
    WAIT_FOR(status.state == CAMERA_LOST);
    assert_ptr_equal(camera_ring(camera, CAMERA_MAIN), continued);
    assert_int_equal(status.format.width, 32);
    assert_int_equal(state_of(continued->memory.fd), FFTD_STATE_OFFLINE);
    fake_capture_fail(0, 0);
    publish(1);
    assert_ptr_equal(camera_ring(camera, CAMERA_MAIN), continued);
    assert_int_equal(ring_newest(continued), 4);
    close(fd);
}

/* Nothing but the ring says what frames the absent camera had, so no engine is asked for when
 * another one is given up. */
static void test_a_source_is_given_up_beside_a_continued_ring(void **state)
{
    (void)state;
    const struct capture_request source = {.uri = "fake:b"};
    struct filter_chain chain;
    struct error why;
    uint64_t number;
    int fd = live_and_leave(6);
    config.engine.memory_mib = 100;
    fake_engine.stage_bytes = 60u << 20; /* an engine is counted twice */
    fake_capture.refused = config.camera.source.uri;
    start_again(fd, true);
    WAIT_FOR(status.state == CAMERA_LOST);
    assert_int_equal(filter_chain_parse(&chain, "sharpen", NULL), 0);
    assert_int_equal(camera_set_source(camera, &source, NULL, &chain, &number, &why), 0);
    WAIT_FOR(status.source_number == number);
    assert_non_null(strstr(status.source_problem, "MiB"));
    WAIT_FOR(status.state == CAMERA_LOST);
    pthread_mutex_lock(&fake_capture.lock);
    fake_capture.refused = NULL;
    pthread_mutex_unlock(&fake_capture.lock);
    publish(1);
    assert_int_equal(status.engine_failures, 0);
    close(fd);
}

/* A successor may have more luck. */
static void test_a_failed_start_uses_up_no_numbers(void **state)
{
    (void)state;
    int fd = live_and_leave(6);
    struct error why;
    struct ring *continued = NULL;
    fake_engine.device_result = -ENODEV;
    assert_int_equal(ring_continue(&continued, dup(fd), &why), 0);
    assert_int_equal(camera_start(&camera, &config, &continued, true, &why), -ENODEV);
    fake_engine.device_result = 0;
    continued = start_again(fd, false);
    publish(1);
    assert_int_equal(ring_newest(continued), 4);
    assert_int_equal(ring_epoch(continued), 2);
    close(fd);
}

/* ---- tuning ---- */

static struct tuning_status wait_for_tuning(void)
{
    struct tuning_status tuning;
    int64_t deadline_ns = clock_now_ns() + PATIENCE_NS;
    for (designer_get_tuning(camera_designer(camera, CAMERA_MAIN), &tuning); tuning.running;
         designer_get_tuning(camera_designer(camera, CAMERA_MAIN), &tuning)) {
        assert_true(clock_now_ns() < deadline_ns);
        look();
    }
    return tuning;
}

/* The search ends with a new engine, frames go on before and after. */
static void test_tuning_brings_another_engine(void **state)
{
    (void)state;
    struct error why;
    start();
    publish(1);
    FAKE_ENGINE_SET(search_steps, 3);
    unsigned engines = fake_engine_get(&fake_engine.engines_created);
    FAKE_ENGINE_SET(gate_closed, true);
    assert_int_equal(designer_tune(camera_designer(camera, CAMERA_MAIN), true, &why), 0);
    assert_int_equal(designer_tune(camera_designer(camera, CAMERA_MAIN), false, &why), -EBUSY);
    publish(1);
    FAKE_ENGINE_SET(gate_closed, false);
    struct tuning_status tuning = wait_for_tuning();
    assert_int_equal(tuning.result, 0);
    assert_true(tuning.exhaustive);
    assert_int_equal(tuning.progress.tried, 3);
    WAIT_FOR(fake_engine_get(&fake_engine.engines_created) == engines + 1);
    publish(3);
}

static void test_tuning_can_be_stopped(void **state)
{
    (void)state;
    struct error why;
    start();
    publish(1);
    FAKE_ENGINE_SET(search_steps, 1000000);
    unsigned engines = fake_engine_get(&fake_engine.engines_created);
    assert_int_equal(designer_tune(camera_designer(camera, CAMERA_MAIN), false, &why), 0);
    designer_stop_tuning(camera_designer(camera, CAMERA_MAIN));
    struct tuning_status tuning = wait_for_tuning();
    assert_int_equal(tuning.result, -ECANCELED);
    assert_non_null(strstr(tuning.why.text, "stopped"));
    assert_int_equal(fake_engine_get(&fake_engine.engines_created), engines);
    publish(1);
}

static void test_tuning_that_fails_is_reported(void **state)
{
    (void)state;
    struct error why;
    start();
    publish(1);
    FAKE_ENGINE_SET(search_result, -EIO);
    assert_int_equal(designer_tune(camera_designer(camera, CAMERA_MAIN), false, &why), 0);
    struct tuning_status tuning = wait_for_tuning();
    assert_int_equal(tuning.result, -EIO);
    assert_non_null(strstr(tuning.why.text, "will not"));
    publish(1);
}

/* A camera that begins with a short filter, which needs no transform, searches again when another
 * one needs it, but not for each filter. */
static void test_transforms_are_tuned_when_they_are_needed(void **state)
{
    static const struct {
        const char *filter;
        unsigned searches;
    } steps[] = {{"laplacian", 1}, {"notch:at=0.2/0.1,width=0.1", 2}, {"lowpass:cutoff=0.05", 2}};
    (void)state;
    config.engine.options.technique = ENGINE_AUTO;
    config.engine.options.tune = ENGINE_TUNE_EXHAUSTIVE;
    snprintf(config.engine.cache_dir, sizeof config.engine.cache_dir, "fake");
    FAKE_ENGINE_SET(search_result, -EIO); /* so that nothing is tuned */
    start();
    publish(1);
    assert_int_equal(wait_for_tuning().result, -EIO);
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        const uint64_t serial = set_filter(steps[i].filter);
        OFFER_UNTIL(status.filter_serial == serial);
        assert_int_equal(wait_for_tuning().result, -EIO);
        assert_int_equal(fake_engine_get(&fake_engine.searches), steps[i].searches);
    }
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_frames_are_published),
        TEST(test_start_fails_without_device_or_source),
        TEST(test_start_can_wait_for_the_source),
        TEST(test_frames_that_cannot_be_published_end_a_start),
        TEST(test_newest_filter_wins),
        TEST(test_wide_filter_builds_an_engine_meanwhile),
        TEST(test_complex_filter_builds_an_engine_meanwhile),
        TEST(test_filter_that_cannot_be_made_changes_nothing),
        TEST(test_engine_that_loses_a_frame_is_rebuilt),
        TEST(test_engine_that_takes_no_frame_is_rebuilt),
        TEST(test_unpaced_source_waits_for_an_engine),
        TEST(test_engine_that_keeps_a_frame_is_rebuilt),
        TEST(test_device_that_keeps_every_frame_is_no_progress),
        TEST(test_frames_may_wait_for_a_compiler),
        TEST(test_compiler_that_hangs_is_no_progress),
        TEST(test_engine_that_fails_at_its_end_is_not_rebuilt),
        TEST(test_compilation_is_reported),
        TEST(test_first_engine_that_does_not_build_is_reported),
        TEST(test_full_engine_takes_the_newest_frame_later),
        TEST(test_another_format_means_another_ring),
        TEST(test_mosaics_are_published_in_colour),
        TEST(test_rings_that_were_never_served_are_destroyed),
        TEST(test_lost_camera_comes_back_to_the_same_ring),
        TEST(test_changes_of_state_are_progress),
        TEST(test_pauses_without_readers),
        TEST(test_ends_after_the_frames_asked_for),
        TEST(test_snapshot_is_one_frame_before_and_after),
        TEST(test_snapshot_while_captured_frames_become_larger),
        TEST(test_the_time_to_a_pause_begins_when_it_is_open),
        TEST(test_a_reader_ends_a_pause_before_the_first_engine),
        TEST(test_snapshot_wakes_a_camera_that_pauses),
        TEST(test_snapshot_of_a_camera_that_is_lost),
        TEST(test_controls_are_set_again),
        TEST(test_newest_controls_win),
        TEST(test_many_asks_read_the_controls_once),
        TEST(test_controls_of_a_camera_that_is_away),
        TEST(test_slow_requests_are_not_a_stall),
        TEST(test_stop_does_not_wait_for_a_compiler),
        TEST(test_the_next_process_continues_the_numbers),
        TEST(test_another_format_replaces_a_continued_ring),
        TEST(test_another_number_of_slots_replaces_a_continued_ring),
        TEST(test_a_continued_ring_waits_for_the_camera),
        TEST(test_a_source_is_given_up_beside_a_continued_ring),
        TEST(test_a_failed_start_uses_up_no_numbers),
        TEST(test_tuning_brings_another_engine),
        TEST(test_tuning_can_be_stopped),
        TEST(test_tuning_that_fails_is_reported),
        TEST(test_transforms_are_tuned_when_they_are_needed),
    };
    log_init("test", LOG_CRIT);
    return cmocka_run_group_tests_name("camera", tests, NULL, NULL);
}
