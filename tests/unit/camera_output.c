/* How results come into the ring: stored there by the device, or copied. The fake engine writes
 * frames that were abandoned when it finishes them, as a device does that has hung for a while. */
#include "support/cmocka.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ring/private.h"
#include "support/faked_camera.h"

static int setup(void **state)
{
    (void)state;
    faked_camera_reset();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    stop();
    assert_int_equal(fake_engine.engines, 0);
    assert_int_equal(fake_engine.outputs, 0);
    return 0;
}

/* A client's view of a ring, which remains when the ring has been destroyed. */
struct view {
    const uint8_t *base;
    size_t bytes;
};

static struct view view_of(const struct ring *ring)
{
    const int fd = ring->memory.fd;
    struct stat st;
    assert_int_equal(fstat(fd, &st), 0);
    void *base = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
    assert_ptr_not_equal(base, MAP_FAILED);
    return (struct view){base, (size_t)st.st_size};
}

static void close_view(const struct view *view)
{
    munmap((void *)view->base, view->bytes);
}

/* The number of slots that are being written; *ret_frame: the frame in the last one. */
static unsigned count_open(const struct view *view, const uint8_t **ret_frame)
{
    const struct fftd_ring_header *header = (const void *)view->base;
    unsigned open = 0;
    for (unsigned i = 0; i < header->slot_count; i++) {
        const uint8_t *slot = view->base + header->header_bytes + i * header->slot_stride;
        if (__atomic_load_n(&((const struct fftd_slot *)(const void *)slot)->lock,
                            __ATOMIC_ACQUIRE) %
                2 ==
            1) {
            open++;
            *ret_frame = slot + header->data_offset;
        }
    }
    return open;
}

static uint32_t state_of(const struct view *view)
{
    return __atomic_load_n(&((const struct fftd_ring_header *)(const void *)view->base)->state,
                           __ATOMIC_ACQUIRE);
}

static void test_results_are_stored_into_slots(void **state)
{
    (void)state;
    start();
    publish(10); /* more than the ring has slots */
    /* The designer tries each engine with a frame of its own. */
    assert_int_equal(fake_engine_get(&fake_engine.stored), 10);
    assert_int_equal(fake_engine_get(&fake_engine.outputs), 1);
    assert_string_equal(status.output, "stored");
    use_filter("notch:at=0.1/0.1,width=0.4");
    publish(1);
    assert_int_equal(fake_engine_get(&fake_engine.stored), status.published);
    assert_int_equal(fake_engine_get(&fake_engine.outputs), 1);
    assert_int_equal(status.generation, 1);
}

static void test_results_are_copied_if_the_device_cannot_store_them(void **state)
{
    (void)state;
    fake_engine.copies = true;
    config.engine.frame_timeout_s = FRAME_TIMEOUT_S;
    start();
    publish(2);
    assert_int_equal(fake_engine_get(&fake_engine.stored), 0);
    assert_string_equal(status.output, "copied (the device copies)");
    /* A device that only reads and copies does not write the ring after it has failed. */
    FAKE_ENGINE_SET(hold, true);
    fake_capture_offer();
    WAIT_FOR(status.state == CAMERA_FAILED);
    fake_engine_let_go();
    OFFER_UNTIL(status.state == CAMERA_ONLINE);
    assert_int_equal(status.generation, 1);
}

/* The device keeps a slot for as long as it likes, and the memory with it. */
static void test_a_slot_that_the_device_keeps_stays_open(void **state)
{
    const uint8_t *frame = NULL;
    (void)state;
    config.engine.frame_timeout_s = FRAME_TIMEOUT_S;
    start();
    publish(3);
    const struct view old = view_of(camera_ring(camera, CAMERA_MAIN));
    FAKE_ENGINE_SET(hold, true);
    fake_capture_offer();
    WAIT_FOR(status.state == CAMERA_FAILED);
    WAIT_FOR(status.generation == 2);
    assert_int_equal(count_open(&old, &frame), 1);
    camera_ring(camera,
                CAMERA_MAIN); /* the main loop serves the new ring, and the old one is destroyed */
    WAIT_FOR(state_of(&old) == FFTD_STATE_RETIRED);
    assert_int_equal(fake_engine_get(&fake_engine.stored_late), 0);
    const uint8_t before = frame[0];
    assert_int_not_equal(before, 0xdd);

    /* It finishes the frame after all, long after the ring was destroyed. */
    fake_engine_let_go();
    OFFER_UNTIL(status.state == CAMERA_ONLINE);
    use_filter("notch:at=0.1/0.1,width=0.4");
    WAIT_FOR(fake_engine_get(&fake_engine.stored_late) == 1);
    WAIT_FOR(fake_engine_get(&fake_engine.outputs) == 1);
    assert_int_equal(frame[0], 0xdd);
    assert_int_equal(count_open(&old, &frame), 1); /* clients never accept it */
    close_view(&old);

    /* Numbers go on, and no slot of the new ring was given to the other device. */
    publish(7);
    assert_int_equal(ring_newest(camera_ring(camera, CAMERA_MAIN)), status.published);
    const struct view new = view_of(camera_ring(camera, CAMERA_MAIN));
    assert_int_equal(count_open(&new, &frame), 0);
    close_view(&new);
    assert_int_equal(status.generation, 2);
}

static void test_a_refused_frame_keeps_no_slot(void **state)
{
    const uint8_t *frame;
    (void)state;
    start();
    publish(1);
    FAKE_ENGINE_SET(submit_result, -EIO);
    fake_capture_offer();
    WAIT_FOR(status.state == CAMERA_FAILED);
    FAKE_ENGINE_SET(submit_result, 0);
    OFFER_UNTIL(status.state == CAMERA_ONLINE);
    assert_int_equal(status.generation, 1);
    const struct view view = view_of(camera_ring(camera, CAMERA_MAIN));
    assert_int_equal(count_open(&view, &frame), 0);
    close_view(&view);
}

/* Frames in flight end in the ring that they were begun in. */
static void test_a_ring_is_replaced_under_an_output(void **state)
{
    (void)state;
    start();
    publish(2);
    const struct view old = view_of(camera_ring(camera, CAMERA_MAIN));
    FAKE_ENGINE_SET(hold, true);
    const unsigned before = fake_engine_get(&fake_engine.submitted);
    fake_capture_offer();
    WAIT_FOR(fake_engine_get(&fake_engine.submitted) == before + 1);
    pthread_mutex_lock(&fake_capture.lock);
    fake_capture.width = 48;
    pthread_mutex_unlock(&fake_capture.lock);
    fake_capture_fail(-ENODEV, 0);
    WAIT_FOR(fake_capture_get(&fake_capture.started) == 1);
    fake_engine_let_go();
    WAIT_FOR(status.generation == 2);
    assert_int_equal(status.published, 3);
    const uint8_t *frame;
    assert_int_equal(count_open(&old, &frame), 0);
    close_view(&old);
    publish(4);
    assert_int_equal(fake_engine_get(&fake_engine.stored), 7);
    WAIT_FOR(fake_engine_get(&fake_engine.outputs) == 1);
}

/* The slot of the newest frame. */
static const struct fftd_slot *newest_slot(const struct view *view)
{
    const struct fftd_ring_header *header = (const void *)view->base;
    const struct fftd_slot *ret = NULL;
    for (unsigned i = 0; i < header->slot_count; i++) {
        const struct fftd_slot *slot =
            (const void *)(view->base + header->header_bytes + i * header->slot_stride);
        if (ret == NULL || slot->sequence > ret->sequence)
            ret = slot;
    }
    return ret;
}

/* Starts a camera whose engine finds a field. */
static void start_with_motion(struct motion_grid *grid, struct motion_vector vector[9])
{
    fake_capture.width = fake_capture.height = 64;
    config.output.measures = true;
    config.output.motion = CONFIG_MOTION_32;
    assert_int_equal(motion_grid_make(grid, 64, 64, 32, NULL), 0);
    assert_int_equal(grid->columns * grid->rows, 9);
    for (unsigned i = 0; i < 9; i++)
        vector[i] = (struct motion_vector){(float)i, -1, 1};
    fake_engine.motion = (struct engine_motion){grid, vector};
    start();
    publish(1);
}

/* Each frame carries the field that the engine has found in it, and the time of the frame with
 * which it was compared. The status says what finds fields. */
static void expect_the_engines_field(void)
{
    struct motion_vector vector[9];
    struct motion_grid grid;
    struct camera_status now;
    int64_t before_ns = 0;
    start_with_motion(&grid, vector);
    const struct view view = view_of(camera_ring(camera, CAMERA_MAIN));
    for (unsigned i = 0; i < 8; i++) {
        const struct fftd_slot *slot = newest_slot(&view);
        const struct fftd_motion *motion =
            (const void *)((const uint8_t *)slot + FFTD_MOTION_OFFSET);
        if (i > 0) {
            assert_true((slot->flags & FFTD_FLAG_MOTION) != 0);
            assert_int_equal(motion->captured_ns, slot->captured_ns);
            assert_int_equal(motion->since_ns, before_ns);
            assert_int_equal(((const int16_t *)(motion + 1))[2], FFTD_MOTION_UNIT);
        }
        before_ns = slot->captured_ns;
        publish(1);
    }
    close_view(&view);
    camera_get_status(camera, CAMERA_MAIN, &now);
    assert_non_null(strstr(now.motion, "by the device"));
}

static void test_frames_carry_the_engines_field(void **state)
{
    (void)state;
    fake_engine.has_own_memory = true;
    expect_the_engines_field();
}

static void test_a_device_with_shared_memory_finds_fields_if_asked(void **state)
{
    (void)state;
    config.output.motion_by = CONFIG_MOTION_DEVICE;
    expect_the_engines_field();
}

/* The engine, which would find a field, is not asked to. */
static void expect_no_field_of_the_engine(const char *reason)
{
    struct motion_vector vector[9];
    struct motion_grid grid;
    struct camera_status now;
    start_with_motion(&grid, vector);
    const struct view view = view_of(camera_ring(camera, CAMERA_MAIN));
    for (unsigned i = 0; i < 4; i++) {
        const struct fftd_slot *slot = newest_slot(&view);
        const struct fftd_motion *motion =
            (const void *)((const uint8_t *)slot + FFTD_MOTION_OFFSET);
        assert_true((slot->flags & FFTD_FLAG_MOTION) == 0 ||
                    ((const int16_t *)(motion + 1))[2] != FFTD_MOTION_UNIT);
        publish(1);
    }
    close_view(&view);
    camera_get_status(camera, CAMERA_MAIN, &now);
    assert_non_null(strstr(now.motion, "by the observer"));
    assert_non_null(strstr(now.motion, reason));
}

static void test_a_device_with_shared_memory_finds_no_field(void **state)
{
    (void)state;
    expect_no_field_of_the_engine("no memory of its own");
}

static void test_a_device_with_its_own_memory_leaves_fields_to_the_observer(void **state)
{
    (void)state;
    fake_engine.has_own_memory = true;
    config.output.motion_by = CONFIG_MOTION_OBSERVER;
    expect_no_field_of_the_engine("output.motion_by = observer");
}

/* Returns whether the newest frame of output 1 carries a field that the engine has not found. */
static bool has_field_of_the_observer(void)
{
    struct ring *const ring = camera_ring(camera, 1);
    if (ring == NULL || ring_newest(ring) == 0)
        return false;
    const struct view view = view_of(ring);
    const struct fftd_slot *slot = newest_slot(&view);
    const struct fftd_motion *motion = (const void *)((const uint8_t *)slot + FFTD_MOTION_OFFSET);
    const bool ret = (slot->flags & FFTD_FLAG_MOTION) != 0 &&
                     ((const int16_t *)(motion + 1))[2] != FFTD_MOTION_UNIT;
    close_view(&view);
    return ret;
}

/* The engine of the first output finds fields; while nobody reads that, the observer does. */
static void test_motion_is_found_without_main(void **state)
{
    static const struct config_named_output small = {.name = "small"};
    struct motion_vector vector[9];
    struct motion_grid grid;
    struct error why;
    (void)state;
    fake_engine.has_own_memory = true;
    config.camera.idle = CONFIG_IDLE_PAUSE;
    start_with_motion(&grid, vector);
    assert_int_equal(camera_prepare_output(camera, 1, &small, &why), 0);
    camera_begin_output(camera, 1);
    camera_set_has_readers(camera, 1, true);
    WAIT_FOR((fake_capture_offer(), has_field_of_the_observer()));
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_results_are_stored_into_slots),
        TEST(test_results_are_copied_if_the_device_cannot_store_them),
        TEST(test_a_slot_that_the_device_keeps_stays_open),
        TEST(test_a_refused_frame_keeps_no_slot),
        TEST(test_a_ring_is_replaced_under_an_output),
        TEST(test_frames_carry_the_engines_field),
        TEST(test_a_device_with_shared_memory_finds_fields_if_asked),
        TEST(test_a_device_with_shared_memory_finds_no_field),
        TEST(test_a_device_with_its_own_memory_leaves_fields_to_the_observer),
        TEST(test_motion_is_found_without_main),
    };
    return cmocka_run_group_tests_name("camera_output", tests, NULL, NULL);
}
