/* Fades between the camera's two threads: which frames are blended, and what happens to a fade when
 * the filter, the engine or the camera changes meanwhile. The arithmetic is in tests/gpu/fade.c. */
#include "support/cmocka.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "ring/private.h"
#include "ring/slot.h"
#include "service/log.h"
#include "support/faked_camera.h"

#define NARROW  "gain:dc=0.5" /* has no support, so that no filter is narrower */
#define COMPLEX "shift:by=1/0"
#define WIDE    "gaussian-blur:sigma=10"
#define CORNERS "vignette:a=0.5"

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
    return 0;
}

/* Publishes one frame, and returns whether it is blended. */
static bool publish_blended(void)
{
    publish(1);
    struct ring *ring = camera_ring(camera, CAMERA_MAIN);
    const uint64_t newest = slot_load(ring->header->newest);
    return (slot_load(ring_slot(ring, FFTD_NEWEST_SLOT(newest))->flags) & FFTD_FLAG_BLENDED) != 0;
}

/* Offers frames until the newest filter is in use, and then lets the camera finish with them. */
static void offer_until(uint64_t serial)
{
    OFFER_UNTIL(status.filter_serial == serial && status.state == CAMERA_ONLINE);
}

/* Publishes frames with this serial, and checks which are blended: "bbb-" if all but the last. */
static void assert_frames(uint64_t serial, const char *expected)
{
    for (; *expected != '\0'; expected++) {
        assert_int_equal(publish_blended(), *expected == 'b');
        assert_int_equal(status.filter_serial, serial);
    }
}

static uint64_t change(const char *text, unsigned fade_frames)
{
    struct filter_chain chain;
    struct error why;
    uint64_t serial = 0;
    assert_int_equal(filter_chain_parse(&chain, text, NULL), 0);
    assert_int_equal(camera_set_filter(camera, CAMERA_MAIN, &chain, fade_frames, &serial, &why), 0);
    return serial;
}

/* Waits until so many fades have begun since the start. */
static void wait_for_fades(unsigned count)
{
    WAIT_FOR(fake_engine_get(&fake_engine.fades) == count);
}

static void all_frames_but_the_last_are_blended(void **state)
{
    (void)state;
    start();
    assert_frames(1, "--");
    change(NARROW, 4);
    wait_for_fades(1);
    assert_frames(2, "bbb---");
    change("none", 1);
    wait_for_fades(2);
    assert_frames(3, "--");
    assert_int_equal(fake_engine_get(&fake_engine.fades_from), 0);
}

static void too_many_frames_are_refused(void **state)
{
    struct filter_chain chain;
    struct error why;
    uint64_t serial = 7;
    (void)state;
    start();
    assert_int_equal(filter_chain_parse(&chain, NARROW, NULL), 0);
    assert_int_equal(
        camera_set_filter(camera, CAMERA_MAIN, &chain, CAMERA_MAX_FADE + 1, &serial, &why),
        -EINVAL);
    assert_string_equal(why.text, "a fade of 301 frames is out of range: expected 0 .. 300");
    assert_int_equal(serial, 7);
    look();
    assert_int_equal(status.wanted_serial, 1);
    assert_int_equal(camera_set_filter(camera, CAMERA_MAIN, &chain, CAMERA_MAX_FADE, &serial, &why),
                     0);
    assert_int_equal(serial, 2);
}

static void a_change_during_a_fade_begins_there(void **state)
{
    (void)state;
    start();
    assert_frames(1, "-");
    change(NARROW, 10);
    wait_for_fades(1);
    assert_frames(2, "bb");
    change("none", 3);
    wait_for_fades(2);
    assert_frames(3, "bb-");
    change(NARROW, 10);
    wait_for_fades(3);
    assert_frames(4, "b");
    change("none", 0);
    offer_until(5);
    assert_frames(5, "--");
    assert_int_equal(fake_engine_get(&fake_engine.engines_created), 1);
}

/* Short filters have engines of their own, and a fade between two needs one for both. After the
 * fade there is one for the new filter again, which suits the next one like it. */
static void a_fade_ends_on_the_engine_of_its_filter(void **state)
{
    (void)state;
    config.engine.options.technique = ENGINE_AUTO;
    start();
    assert_frames(1, "--");
    change("gaussian-blur:sigma=2", 4);
    wait_for_fades(1);
    assert_frames(2, "bbb-");
    OFFER_UNTIL(fake_engine_get(&fake_engine.engines_created) == 3);
    WAIT_FOR(fake_engine_get(&fake_engine.engines) == 1);
    change("gaussian-blur:sigma=1.9", 0);
    offer_until(3);
    assert_int_equal(fake_engine_get(&fake_engine.engines_created), 3);
}

static void another_engine_begins_at_the_filter_before(void **state)
{
    (void)state;
    start();
    assert_frames(1, "-");
    change(WIDE, 3);
    wait_for_fades(1);
    assert_frames(2, "bb-");
    assert_int_equal(fake_engine_get(&fake_engine.fades_from), 1);
    assert_int_equal(fake_engine_get(&fake_engine.engines_created), 2);
}

/* A blend of a real and a complex response is complex. After a fade to a real one the engine stays
 * until the next change. */
static void a_fade_is_complex_if_one_of_both_is(void **state)
{
    (void)state;
    start();
    assert_frames(1, "-");
    change(COMPLEX, 3);
    wait_for_fades(1);
    assert_frames(2, "bb-");
    assert_int_equal(fake_engine_get(&fake_engine.engines_created), 2);
    assert_int_equal(fake_engine_get(&fake_engine.fades_from), 1);
    change(NARROW, 3);
    wait_for_fades(2);
    assert_frames(3, "bb-");
    assert_int_equal(fake_engine_get(&fake_engine.engines_created), 2);
    change("none", 3);
    wait_for_fades(3);
    assert_frames(4, "bb-");
    assert_int_equal(fake_engine_get(&fake_engine.engines_created), 3);
    assert_int_equal(fake_engine_get(&fake_engine.fades_from), 2);
}

/* Such a change needs another engine, and neither fades nor waits for the end of a fade. */
static void another_curve_is_taken_at_once(void **state)
{
    (void)state;
    start();
    assert_frames(1, "-");
    change(NARROW, 300);
    wait_for_fades(1);
    assert_frames(2, "bb");
    change("homomorphic | " NARROW, 5);
    offer_until(3);
    assert_frames(3, "--");
    assert_int_equal(fake_engine_get(&fake_engine.engines_created), 2);
    change("homomorphic", 3);
    wait_for_fades(2);
    assert_frames(4, "bb-");
    assert_int_equal(fake_engine_get(&fake_engine.engines_created), 2);
    change("none", 3);
    offer_until(5);
    assert_frames(5, "--");
    assert_int_equal(fake_engine_get(&fake_engine.engines_created), 3);
    assert_int_equal(fake_engine_get(&fake_engine.fades), 2);
}

/* Neither does a view fade. It stays while filters come and go, and they fade in it. */
static void another_view_is_taken_at_once(void **state)
{
    (void)state;
    start();
    assert_frames(1, "-");
    change(NARROW, 300);
    wait_for_fades(1);
    assert_frames(2, "bb");
    assert_int_equal(status.view, VIEW_PICTURE);
    assert_int_equal(camera_set_view(camera, CAMERA_MAIN, VIEW_SPECTRUM), 3);
    assert_int_equal(camera_get_view(camera, CAMERA_MAIN), VIEW_SPECTRUM);
    offer_until(3);
    assert_frames(3, "--");
    assert_int_equal(status.view, VIEW_SPECTRUM);
    assert_int_equal(fake_engine_get(&fake_engine.engines_created), 2);
    change("none", 3);
    wait_for_fades(2);
    assert_frames(4, "bb-");
    assert_int_equal(status.view, VIEW_SPECTRUM);
    assert_int_equal(fake_engine_get(&fake_engine.engines_created), 2);
    camera_set_view(camera, CAMERA_MAIN, VIEW_PICTURE);
    change(NARROW, 3); /* the designer may see both changes as one */
    offer_until(6);
    assert_int_equal(status.view, VIEW_PICTURE);
    assert_int_equal(fake_engine_get(&fake_engine.engines_created), 3);
}

/* An engine with a table of corrections is used while the filter before or after a fade has one. */
static void a_fade_is_calibrated_if_one_of_both_is(void **state)
{
    (void)state;
    start();
    assert_frames(1, "-");
    change(CORNERS, 3);
    wait_for_fades(1);
    assert_frames(2, "bb-");
    assert_int_equal(fake_engine_get(&fake_engine.engines_created), 2);
    change(NARROW, 3);
    wait_for_fades(2);
    assert_frames(3, "bb-");
    assert_int_equal(fake_engine_get(&fake_engine.engines_created), 2);
    change("none", 0);
    offer_until(4);
    assert_int_equal(fake_engine_get(&fake_engine.engines_created), 3);
}

static void another_engine_waits_for_the_end_of_a_fade(void **state)
{
    (void)state;
    start();
    assert_frames(1, "-");
    change(NARROW, 5);
    wait_for_fades(1);
    assert_frames(2, "b");
    change(WIDE, 3);
    WAIT_FOR(fake_engine_get(&fake_engine.engines_created) == 2);
    assert_frames(2, "bbb-");
    wait_for_fades(2);
    assert_frames(3, "bb-");
    assert_int_equal(fake_engine_get(&fake_engine.fades_from), 1);
}

/* A fade that nobody sees ends only with the frames for the next reader. */
static void another_engine_waits_for_no_fade_without_readers(void **state)
{
    (void)state;
    config.camera.idle = CONFIG_IDLE_PAUSE;
    start();
    assert_frames(1, "-");
    change(NARROW, 300);
    wait_for_fades(1);
    WAIT_FOR(status.state == CAMERA_PAUSED);
    change(WIDE, 3);
    WAIT_FOR(status.used_serial == 3);
    camera_set_has_readers(camera, CAMERA_MAIN, true);
    WAIT_FOR(status.state != CAMERA_PAUSED);
    assert_frames(3, "bb-");
}

static void a_change_at_once_waits_for_no_fade(void **state)
{
    (void)state;
    start();
    assert_frames(1, "-");
    change(NARROW, 300);
    wait_for_fades(1);
    assert_frames(2, "bb");
    change(WIDE, 0);
    offer_until(3);
    assert_frames(3, "--");
}

static void a_tuned_engine_waits_for_the_end_of_a_fade(void **state)
{
    struct error why;
    (void)state;
    start();
    assert_frames(1, "-");
    change(NARROW, 6);
    wait_for_fades(1);
    assert_frames(2, "b");
    FAKE_ENGINE_SET(search_steps, 1);
    assert_int_equal(designer_tune(camera_designer(camera, CAMERA_MAIN), false, &why), 0);
    WAIT_FOR(fake_engine_get(&fake_engine.engines_created) == 2);
    assert_frames(2, "bbbb-");
    WAIT_FOR(fake_engine_get(&fake_engine.engines) == 1);
    assert_frames(2, "--");
    assert_int_equal(fake_engine_get(&fake_engine.fades), 1);
}

static void a_device_that_fails_ends_a_fade(void **state)
{
    (void)state;
    start();
    assert_frames(1, "-");
    change(NARROW, 300);
    wait_for_fades(1);
    assert_frames(2, "b");
    FAKE_ENGINE_SET(collect_result, -EIO);
    fake_capture_offer();
    WAIT_FOR(status.state == CAMERA_FAILED);
    FAKE_ENGINE_SET(collect_result, 0);
    offer_until(2);
    assert_frames(2, "--");
    change("none", 3); /* and the next one is a fade again */
    wait_for_fades(2);
    assert_frames(3, "bb-");
}

static void a_camera_that_is_lost_continues_a_fade(void **state)
{
    (void)state;
    start();
    assert_frames(1, "-");
    change(NARROW, 4);
    wait_for_fades(1);
    assert_frames(2, "bb");
    fake_capture_fail(-ENODEV, -ENODEV);
    WAIT_FOR(status.state == CAMERA_LOST);
    fake_capture_fail(0, 0);
    assert_frames(2, "b--");
}

static void frames_of_another_format_are_not_blended(void **state)
{
    (void)state;
    start();
    assert_frames(1, "-");
    change(NARROW, 300);
    wait_for_fades(1);
    assert_frames(2, "b");
    pthread_mutex_lock(&fake_capture.lock);
    fake_capture.width = 48;
    pthread_mutex_unlock(&fake_capture.lock);
    fake_capture_fail(-ENODEV, 0);
    WAIT_FOR(status.format.width == 48);
    assert_frames(2, "--");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(all_frames_but_the_last_are_blended),
        TEST(too_many_frames_are_refused),
        TEST(a_change_during_a_fade_begins_there),
        TEST(a_fade_ends_on_the_engine_of_its_filter),
        TEST(another_engine_begins_at_the_filter_before),
        TEST(a_fade_is_complex_if_one_of_both_is),
        TEST(a_fade_is_calibrated_if_one_of_both_is),
        TEST(another_curve_is_taken_at_once),
        TEST(another_view_is_taken_at_once),
        TEST(another_engine_waits_for_the_end_of_a_fade),
        TEST(another_engine_waits_for_no_fade_without_readers),
        TEST(a_change_at_once_waits_for_no_fade),
        TEST(a_tuned_engine_waits_for_the_end_of_a_fade),
        TEST(a_device_that_fails_ends_a_fade),
        TEST(a_camera_that_is_lost_continues_a_fade),
        TEST(frames_of_another_format_are_not_blended),
    };
    log_init("test", LOG_CRIT);
    return cmocka_run_group_tests_name("camera_fade", tests, NULL, NULL);
}
