/* The client library with a real server: waiting, reading, holding, and attaching again after a
 * daemon restarts, changes its format or stops replying. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "support/cmocka.h"
#include "support/frames.h"

#include "fftd/fftd.h"
#include "ring/private.h"

#define GREY     FFTD_FOURCC('R', '8', ' ', ' ')
#define NV12     FFTD_FOURCC('N', 'V', '1', '2')
#define PATIENCE FRAMES_PATIENCE_MS

struct fixture {
    struct frames frames;
    struct ring *ring;
    struct fftd *camera;
};

static int setup(void **state)
{
    static struct fixture fixture;
    frames_start(&fixture.frames, NULL, 3);
    fixture.ring = frames_ring(NV12, 64, 16, 8, 1, 1);
    frames_set_ring(&fixture.frames, fixture.ring);
    fixture.camera = NULL;
    *state = &fixture;
    return fftd_open(&fixture.camera, fixture.frames.dir);
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    fftd_close(f->camera);
    frames_stop(&f->frames);
    frames_remove(&f->frames);
    ring_destroy(f->ring);
    return 0;
}

static void publish(struct fixture *f, unsigned count)
{
    while (count-- > 0)
        frames_publish(f->ring);
}

static void replace_ring(struct fixture *f, struct ring *next)
{
    frames_set_ring(&f->frames, next);
    ring_destroy(f->ring);
    f->ring = next;
}

static bool frame_is_whole(const struct fftd_frame *frame)
{
    return frames_match(frame->format, frame->plane[0], frame->sequence);
}

static int64_t now_ms(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static bool is_readable(int fd, int timeout_ms)
{
    struct pollfd wait = {.fd = fd, .events = POLLIN};
    return poll(&wait, 1, timeout_ms) == 1;
}

/* ---- reading ---- */

static void a_frame_is_received_as_published(void **state)
{
    struct fixture *f = *state;
    struct fftd_frame frame;
    assert_int_equal(fftd_state(f->camera), FFTD_STATE_STARTING);
    assert_int_equal(fftd_wait(f->camera, 0), 0);
    assert_int_equal(fftd_frame(f->camera, &frame), -EAGAIN);
    ring_set_state(f->ring, FFTD_STATE_LIVE, 1);
    publish(f, 1);
    assert_int_equal(fftd_wait(f->camera, PATIENCE), 1);
    assert_int_equal(fftd_state(f->camera), FFTD_STATE_LIVE);
    assert_int_equal(fftd_epoch(f->camera), 1);
    assert_int_equal(fftd_frame(f->camera, &frame), 0);
    assert_int_equal(frame.sequence, 1);
    assert_int_equal(frame.source_sequence, 1001);
    assert_int_equal(frame.filter_serial, 10);
    assert_int_equal(frame.captured_ns, 1);
    assert_int_equal(frame.dequeued_ns, 2);
    assert_int_equal(frame.submitted_ns, 3);
    assert_int_equal(frame.finished_ns, 4);
    assert_true(frame.published_ns > 4);
    assert_int_equal(frame.missed, 0);
    assert_int_equal(frame.flags, 0);
    assert_int_equal(frame.format->fourcc, NV12);
    assert_ptr_equal(frame.format, fftd_format(f->camera));
    assert_int_equal(frame.stride[0], 64);
    assert_ptr_equal(frame.plane[1], frame.plane[0] + 64 * 16);
    assert_null(frame.plane[2]);
    assert_true(frame_is_whole(&frame));
    assert_true(fftd_frame_valid(f->camera, &frame));
    assert_int_equal(fftd_frame(f->camera, &frame), -EAGAIN);
    assert_int_equal(fftd_wait(f->camera, 10), 0);
}

static void measures_are_those_of_the_frame(void **state)
{
    struct fixture *f = *state;
    struct fftd_frame frame;
    struct fftd_measures measures, expected;
    publish(f, 3);
    for (uint64_t sequence = 1; sequence <= 2; sequence++) {
        assert_int_equal(fftd_next(f->camera, &frame), 0);
        assert_int_equal(frame.flags, 0);
        assert_int_equal(fftd_frame_measures(f->camera, &frame, &measures), -ENODATA);
    }
    assert_int_equal(fftd_next(f->camera, &frame), 0);
    assert_int_equal(frame.flags, FFTD_FLAG_MEASURES);
    assert_true(frames_measures(3, &expected));
    assert_int_equal(fftd_frame_measures(f->camera, &frame, &measures), 0);
    assert_memory_equal(&measures, &expected, sizeof measures);
    publish(f, 20);
    memset(&measures, 0, sizeof measures);
    assert_int_equal(fftd_frame_measures(f->camera, &frame, &measures), -ENOENT);
    assert_true(measures.age == 0);
}

static void a_match_is_that_of_the_frame(void **state)
{
    struct fixture *f = *state;
    struct fftd_frame frame;
    struct fftd_match match, several[FFTD_MAX_MATCHES], expected[FFTD_MAX_MATCHES];
    publish(f, 3); /* has measures, but no match */
    assert_int_equal(fftd_frame(f->camera, &frame), 0);
    assert_int_equal(fftd_frame_match(f->camera, &frame, &match), -ENODATA);
    assert_int_equal(fftd_frame_matches(f->camera, &frame, several, FFTD_MAX_MATCHES), -ENODATA);
    publish(f, 2);
    assert_int_equal(fftd_frame(f->camera, &frame), 0);
    assert_int_equal(frames_matches_of(5, expected), 1);
    assert_int_equal(fftd_frame_matches(f->camera, &frame, several, FFTD_MAX_MATCHES), 1);
    assert_memory_equal(several, expected, sizeof match);
    publish(f, 2);
    assert_int_equal(fftd_frame(f->camera, &frame), 0);
    assert_int_equal(frame.flags, FFTD_FLAG_MEASURES | FFTD_FLAG_MATCH | FFTD_FLAG_MATCHES);
    assert_int_equal(frames_matches_of(7, expected), FFTD_MAX_MATCHES);
    assert_int_equal(fftd_frame_match(f->camera, &frame, &match), 0);
    assert_memory_equal(&match, &expected, sizeof match);
    assert_int_equal(fftd_frame_matches(f->camera, &frame, several, FFTD_MAX_MATCHES),
                     FFTD_MAX_MATCHES);
    assert_memory_equal(several, expected, sizeof several);
    memset(several, 0, sizeof several);
    assert_int_equal(fftd_frame_matches(f->camera, &frame, several, 3), FFTD_MAX_MATCHES);
    assert_memory_equal(several, expected, 3 * sizeof match);
    assert_true(several[3].x == 0);
    publish(f, 20);
    assert_int_equal(fftd_frame_match(f->camera, &frame, &match), -ENOENT);
    assert_int_equal(fftd_frame_matches(f->camera, &frame, several, FFTD_MAX_MATCHES), -ENOENT);
    assert_memory_equal(&match, &expected, sizeof match);
}

/* What a damaged or hostile ring says about matches is not believed. */
static void matches_beyond_the_slot_are_refused(void **state)
{
    static const struct fftd_matches wrong[] = {
        {.count = 0, .offset = FFTD_MATCH_OFFSET},
        {.count = FFTD_MAX_MATCHES + 1, .offset = FFTD_MATCH_OFFSET},
        {.count = 1, .offset = UINT32_MAX - 3},
        {.count = 2, .offset = 4096 - 16},
        {.count = 1, .offset = FFTD_MATCH_OFFSET + 2},
    };
    struct fixture *f = *state;
    struct fftd_frame frame;
    struct fftd_match match[FFTD_MAX_MATCHES];
    publish(f, 7);
    assert_int_equal(fftd_frame(f->camera, &frame), 0);
    struct fftd_matches *matches =
        (struct fftd_matches *)((uint8_t *)ring_slot(f->ring, frame.slot) + FFTD_MATCHES_OFFSET);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        *matches = wrong[i];
        assert_int_equal(fftd_frame_matches(f->camera, &frame, match, FFTD_MAX_MATCHES), -ENODATA);
    }
}

#define COLUMNS 41u
#define ROWS    27u

/* A slot with room for a field of motion, which is larger than the page before a frame. */
static void a_field_of_motion_is_that_of_the_frame(void **state)
{
    struct fixture *f = *state;
    static struct {
        struct fftd_motion header;
        int16_t vectors[COLUMNS * ROWS][2];
        uint8_t confidences[COLUMNS * ROWS + 4]; /* with padding */
    } sent;
    const uint32_t bytes = (uint32_t)(sizeof sent.header + FFTD_MOTION_BYTES(COLUMNS * ROWS));
    static int16_t vectors[COLUMNS * ROWS][2];
    static uint8_t confidences[COLUMNS * ROWS];
    struct fftd_frame frame;
    struct fftd_motion motion;
    sent.header = (struct fftd_motion){12345, 12300, COLUMNS, ROWS, 32, 0};
    for (unsigned i = 0; i < COLUMNS * ROWS; i++) {
        sent.vectors[i][0] = (int16_t)(i * 31 - 9000);
        sent.vectors[i][1] = (int16_t)(400 - i * 7);
        sent.confidences[i] = (uint8_t)(i * 3);
    }
    publish(f, 1); /* from a ring without room, and without a field */
    assert_int_equal(fftd_frame(f->camera, &frame), 0);
    assert_int_equal(fftd_frame_motion(f->camera, &frame, &motion, vectors[0], confidences, 9),
                     -ENODATA);

    struct ring *next, *small = f->ring;
    struct error why;
    assert_int_equal(ring_create(&next, ring_format(f->ring), 8, bytes, 2, 1, 3, &why), 0);
    assert_true(ring_motion_room(next) >= bytes && ring_motion_room(small) < bytes);
    struct ring_meta meta = {.motion = &sent, .motion_bytes = bytes};
    struct ring_write write;
    ring_begin(small, &write); /* a field without room is left out, and the frame is not */
    frames_draw(ring_format(small), write.data, 2);
    ring_publish(small, &write, &meta);
    assert_true(fftd_wait(f->camera, PATIENCE) > 0);
    assert_int_equal(fftd_frame(f->camera, &frame), 0);
    assert_int_equal(frame.flags & FFTD_FLAG_MOTION, 0);
    assert_true(frame_is_whole(&frame));

    replace_ring(f, next);
    ring_begin(next, &write);
    frames_draw(ring_format(next), write.data, 3);
    ring_publish(next, &write, &meta);
    do
        assert_true(fftd_wait(f->camera, PATIENCE) > 0);
    while (fftd_frame(f->camera, &frame) < 0 || (frame.flags & FFTD_FLAG_MOTION) == 0);
    assert_true(frame_is_whole(&frame)); /* what a client sees that knows of no fields */
    assert_int_equal(
        fftd_frame_motion(f->camera, &frame, &motion, vectors[0], confidences, COLUMNS * ROWS - 1),
        -ENOBUFS);
    assert_memory_equal(&motion, &sent.header, sizeof motion);
    assert_int_equal(confidences[COLUMNS], 0);
    memset(&motion, 0, sizeof motion);
    assert_int_equal(
        fftd_frame_motion(f->camera, &frame, &motion, vectors[0], confidences, COLUMNS * ROWS), 0);
    assert_memory_equal(&motion, &sent.header, sizeof motion);
    assert_memory_equal(vectors, sent.vectors, sizeof vectors);
    assert_memory_equal(confidences, sent.confidences, sizeof confidences);
    for (unsigned i = 0; i < 20; i++) {
        ring_begin(next, &write);
        ring_publish(next, &write, &meta);
    }
    assert_int_equal(
        fftd_frame_motion(f->camera, &frame, &motion, vectors[0], confidences, COLUMNS * ROWS),
        -ENOENT);
}

static void an_overtaken_reader_learns_what_it_missed(void **state)
{
    struct fixture *f = *state;
    struct fftd_frame old, frame;
    publish(f, 1);
    assert_int_equal(fftd_frame(f->camera, &old), 0);
    publish(f, 20);
    assert_false(fftd_frame_valid(f->camera, &old));
    assert_int_equal(fftd_frame(f->camera, &frame), 0);
    assert_int_equal(frame.sequence, 21);
    assert_int_equal(frame.missed, 19);
}

static void a_frame_is_invalid_as_soon_as_its_slot_is_reused(void **state)
{
    struct fixture *f = *state;
    struct fftd_frame frame;
    struct ring_write write[3];
    publish(f, 8);
    for (uint64_t oldest = 1; oldest <= 3; oldest++) {
        assert_int_equal(fftd_next(f->camera, &frame), 0);
        assert_int_equal(frame.sequence, oldest);
        assert_true(fftd_frame_valid(f->camera, &frame));
        ring_begin(f->ring, &write[oldest - 1]);
        assert_false(fftd_frame_valid(f->camera, &frame));
    }
    for (unsigned i = 0; i < 3; i++)
        ring_cancel(f->ring, &write[i]);
    assert_false(fftd_frame_valid(f->camera, &frame));
    /* The newest frame is still valid. */
    assert_int_equal(fftd_frame(f->camera, &frame), 0);
    assert_int_equal(frame.sequence, 8);
}

static void every_frame_in_the_ring_can_be_read(void **state)
{
    struct fixture *f = *state;
    struct fftd_frame frame;
    publish(f, 20);
    for (uint64_t sequence = 13; sequence <= 20; sequence++) {
        assert_int_equal(fftd_next(f->camera, &frame), 0);
        assert_int_equal(frame.sequence, sequence);
        assert_int_equal(frame.missed, 0);
        assert_true(frame_is_whole(&frame));
    }
    assert_int_equal(fftd_next(f->camera, &frame), -EAGAIN);
    publish(f, 10);
    assert_int_equal(fftd_next(f->camera, &frame), 0);
    assert_int_equal(frame.sequence, 23);
    assert_int_equal(frame.missed, 2);
}

static void a_new_reader_starts_with_the_newest_frame(void **state)
{
    struct fixture *f = *state;
    struct fftd *late;
    struct fftd_frame frame;
    publish(f, 5);
    assert_int_equal(fftd_open(&late, f->frames.dir), 0);
    assert_int_equal(fftd_wait(late, PATIENCE), 1);
    assert_int_equal(fftd_frame(late, &frame), 0);
    assert_int_equal(frame.sequence, 5);
    assert_int_equal(frame.missed, 0);
    fftd_close(late);
}

static void checksums_match(void **state)
{
    struct fixture *f = *state;
    struct fftd_frame frame;
    ring_set_checksum(f->ring, true);
    publish(f, 1);
    assert_int_equal(fftd_frame(f->camera, &frame), 0);
    assert_int_equal(frame.flags, FFTD_FLAG_CHECKSUM);
    assert_true(fftd_frame_checksum(&frame) == frame.checksum);
}

/* Reader and writer run as fast as they can, in a ring so small that frames are overwritten all the
 * time. Every frame that the reader accepts must be whole. */
static int read_under_fire(const char *dir, uint64_t last)
{
    struct fftd *camera;
    struct fftd_frame frame = {0};
    unsigned torn = 0;
    if (fftd_open(&camera, dir) < 0)
        return 2;
    while (frame.sequence < last && fftd_wait(camera, PATIENCE) == 1) {
        if (fftd_frame(camera, &frame) < 0)
            continue;
        bool whole = true;
        for (unsigned looks = 0; looks < 6; looks++) /* slow enough to be overtaken */
            whole &= frame_is_whole(&frame);
        bool valid = fftd_frame_valid(camera, &frame);
        if (valid && !whole)
            return 3;
        torn += !valid;
    }
    fftd_close(camera);
    return frame.sequence < last ? 4 : torn > 0 ? 0 : 1;
}

static void a_torn_frame_is_never_valid(void **state)
{
    struct fixture *f = *state;
    const unsigned frame_count = 400;
    replace_ring(f, frames_ring(GREY, 512, 512, 4, 2, 1));
    pid_t child = fork();
    if (child == 0)
        _exit(read_under_fire(f->frames.dir, frame_count));
    assert_true(frames_settle(&f->frames, 2, 0));
    publish(f, frame_count);
    int status;
    waitpid(child, &status, 0);
    assert_true(WIFEXITED(status));
    /* 1: it was never overtaken, which proves nothing but is not an error. */
    assert_true(WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 1);
}

/* ---- holding ---- */

static void a_held_frame_stays(void **state)
{
    struct fixture *f = *state;
    struct fftd_frame frame;
    publish(f, 3);
    assert_int_equal(fftd_frame(f->camera, &frame), 0);
    assert_int_equal(fftd_hold(f->camera, &frame), 0);
    assert_int_equal(fftd_hold(f->camera, &frame), 0);
    publish(f, 100);
    assert_true(fftd_frame_valid(f->camera, &frame));
    assert_true(frame_is_whole(&frame));
    assert_int_equal(fftd_release(f->camera, &frame), 0);
    publish(f, 100);
    assert_true(fftd_frame_valid(f->camera, &frame));
    assert_int_equal(fftd_release(f->camera, &frame), 0);
    assert_int_equal(fftd_release(f->camera, &frame), -ENOENT);
    assert_true(frames_settle(&f->frames, 1, 0));
    publish(f, 100);
    assert_false(fftd_frame_valid(f->camera, &frame));
    assert_int_equal(fftd_hold(f->camera, &frame), -ENOENT);
}

/* Of 8 slots 3 can be open and one is the newest, so 4 can be held, and 2 of these by one client.
 */
static void holds_are_bounded(void **state)
{
    struct fixture *f = *state;
    struct fftd *client[3] = {f->camera};
    struct fftd_frame frame[5], late;
    for (unsigned c = 1; c < 3; c++)
        assert_int_equal(fftd_open(&client[c], f->frames.dir), 0);
    for (unsigned i = 0; i < 5; i++) {
        struct fftd *holder = client[i / 2];
        publish(f, 1);
        assert_int_equal(fftd_frame(holder, &frame[i]), 0);
        assert_int_equal(fftd_hold(holder, &frame[i]), i < 4 ? 0 : -EBUSY);
        if (i % 2 == 0)
            continue;
        publish(f, 1);
        assert_int_equal(fftd_frame(holder, &late), 0);
        assert_int_equal(fftd_hold(holder, &late), -EBUSY);
    }
    publish(f, 50);
    for (unsigned i = 0; i < 4; i++)
        assert_true(fftd_frame_valid(client[i / 2], &frame[i]));
    assert_int_equal(fftd_release(f->camera, &frame[1]), 0);
    assert_int_equal(fftd_frame(f->camera, &late), 0);
    assert_int_equal(fftd_hold(f->camera, &late), 0);
    for (unsigned c = 1; c < 3; c++)
        fftd_close(client[c]);
}

/* Gives the fixture a ring of which one client may hold 4 frames. */
static void enlarge_ring(struct fixture *f)
{
    replace_ring(f, frames_ring(NV12, 64, 16, 12, 2, 1));
    publish(f, 1);
    assert_int_equal(fftd_wait(f->camera, PATIENCE), 1);
}

/* Releases more frames at once than the library has requests. */
static void releases_in_a_row_all_arrive(void **state)
{
    struct fixture *f = *state;
    struct fftd_frame frame[4];
    enlarge_ring(f);
    for (unsigned i = 0; i < 4; i++) {
        publish(f, 1);
        assert_int_equal(fftd_frame(f->camera, &frame[i]), 0);
        assert_int_equal(fftd_hold(f->camera, &frame[i]), 0);
    }
    assert_true(frames_settle(&f->frames, 1, 4));
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(fftd_release(f->camera, &frame[i]), 0);
    publish(f, 1);
    /* There is a frame, so these waits return at once. */
    for (int64_t end_ms = now_ms() + PATIENCE; frames_stats(&f->frames).held_slots > 0;) {
        assert_true(now_ms() < end_ms);
        assert_int_equal(fftd_wait(f->camera, PATIENCE), 1);
    }
    assert_true(frames_settle(&f->frames, 1, 0));
}

static void a_held_frame_outlives_its_ring(void **state)
{
    struct fixture *f = *state;
    struct fftd_frame held, passing, frame;
    publish(f, 1);
    assert_int_equal(fftd_frame(f->camera, &held), 0);
    assert_int_equal(fftd_hold(f->camera, &held), 0);
    for (uint32_t generation = 2; generation < 5; generation++) {
        replace_ring(f, frames_ring(GREY, 32 * generation, 16, 8, generation, generation));
        publish(f, 1);
        assert_int_equal(fftd_wait(f->camera, PATIENCE), 1);
        assert_int_equal(fftd_frame(f->camera, &frame), 0);
        assert_int_equal(frame.format->width, 32 * generation);
        assert_true(fftd_frame_valid(f->camera, &held));
        assert_int_equal(held.format->fourcc, NV12);
        assert_true(frame_is_whole(&held));
        /* A frame that is not held is unmapped with its ring. */
        if (generation > 2)
            assert_false(fftd_frame_valid(f->camera, &passing));
        passing = frame;
    }
    assert_int_equal(fftd_release(f->camera, &held), 0);
    assert_false(fftd_frame_valid(f->camera, &held));
    assert_int_equal(fftd_hold(f->camera, &held), -ENOENT);
    assert_true(fftd_frame_valid(f->camera, &passing));
}

static void a_pinned_frame_stays_mapped_but_not_whole(void **state)
{
    struct fixture *f = *state;
    struct fftd_frame pinned;
    publish(f, 1);
    assert_int_equal(fftd_frame(f->camera, &pinned), 0);
    assert_int_equal(fftd_unpin(f->camera, &pinned), -ENOENT);
    assert_int_equal(fftd_pin(f->camera, &pinned), 0);
    publish(f, 20);
    assert_false(fftd_frame_valid(f->camera, &pinned));
    replace_ring(f, frames_ring(GREY, 32, 16, 8, 2, 22));
    publish(f, 1);
    struct fftd_frame frame;
    assert_int_equal(fftd_frame(f->camera, &frame), 0); /* the last one of the old ring */
    assert_int_equal(fftd_wait(f->camera, PATIENCE), 1);
    assert_int_equal(fftd_format(f->camera)->fourcc, GREY);
    uint8_t pixel = *(const volatile uint8_t *)pinned.plane[0]; /* or it crashes here */
    (void)pixel;
    assert_int_equal(fftd_unpin(f->camera, &pinned), 0);
    assert_int_equal(fftd_pin(f->camera, &pinned), -ENOENT);
}

static void the_number_of_held_formats_is_limited(void **state)
{
    struct fixture *f = *state;
    struct fftd_frame frame[4];
    uint32_t generation = 1;
    for (unsigned i = 0; i < 4; i++) {
        publish(f, 1);
        assert_int_equal(fftd_wait(f->camera, PATIENCE), 1);
        assert_int_equal(fftd_frame(f->camera, &frame[i]), 0);
        assert_int_equal(fftd_hold(f->camera, &frame[i]), 0);
        generation++;
        replace_ring(f, frames_ring(GREY, 16 * generation, 16, 8, generation, generation));
    }
    assert_int_equal(fftd_wait(f->camera, PATIENCE), -EBUSY);
    assert_true(frame_is_whole(&frame[0]));
    assert_int_equal(fftd_release(f->camera, &frame[0]), 0);
    publish(f, 1);
    assert_int_equal(fftd_wait(f->camera, PATIENCE), 1);
    assert_true(frame_is_whole(&frame[3]));
}

/* ---- attaching again ---- */

static void a_change_of_format_is_followed(void **state)
{
    struct fixture *f = *state;
    struct fftd_frame old, frame;
    publish(f, 3);
    assert_int_equal(fftd_frame(f->camera, &old), 0);
    replace_ring(f, frames_ring(GREY, 100, 50, 5, 2, 4));
    /* The new ring has no frame yet, so the wait attaches and continues. */
    for (int64_t end_ms = now_ms() + PATIENCE; fftd_format(f->camera)->width != 100;) {
        assert_true(now_ms() < end_ms);
        assert_int_equal(fftd_wait(f->camera, 5), 0);
    }
    assert_int_equal(fftd_wait(f->camera, 20), 0);
    assert_false(fftd_frame_valid(f->camera, &old));
    publish(f, 2);
    assert_int_equal(fftd_wait(f->camera, PATIENCE), 1);
    assert_int_equal(fftd_next(f->camera, &frame), 0);
    assert_int_equal(frame.sequence, 4);
    assert_int_equal(frame.missed, 0);
    assert_true(frame_is_whole(&frame));
}

static void the_last_frames_of_an_old_ring_are_not_lost(void **state)
{
    struct fixture *f = *state;
    struct fftd_frame frame;
    publish(f, 2);
    replace_ring(f, frames_ring(GREY, 100, 50, 5, 2, 3));
    publish(f, 2);
    for (uint64_t sequence = 1; sequence <= 4; sequence++) {
        assert_int_equal(fftd_wait(f->camera, PATIENCE), 1);
        assert_int_equal(fftd_next(f->camera, &frame), 0);
        assert_int_equal(frame.sequence, sequence);
        assert_int_equal(frame.format->fourcc, sequence <= 2 ? NV12 : GREY);
    }
}

/* A client that looks at the next ring before its first frame does not lose count. */
static void frames_missed_in_the_next_ring_are_counted(void **state)
{
    struct fixture *f = *state;
    struct fftd_frame frame;
    publish(f, 2);
    assert_int_equal(fftd_wait(f->camera, PATIENCE), 1);
    assert_int_equal(fftd_frame(f->camera, &frame), 0);
    assert_int_equal(frame.sequence, 2);
    replace_ring(f, frames_ring(GREY, 100, 50, 5, 2, 3));
    while (fftd_format(f->camera)->width != 100)
        assert_int_equal(fftd_wait(f->camera, 10), 0);
    assert_int_equal(fftd_frame(f->camera, &frame), -EAGAIN);
    publish(f, 3);
    assert_int_equal(fftd_wait(f->camera, PATIENCE), 1);
    assert_int_equal(fftd_frame(f->camera, &frame), 0);
    assert_int_equal(frame.sequence, 5);
    assert_int_equal(frame.missed, 2);
}

static void a_ring_created_later_is_found(void **state)
{
    struct fixture *f = *state;
    struct fftd *early;
    struct fftd_frame frame;
    frames_set_ring(&f->frames, NULL);
    assert_int_equal(fftd_open(&early, f->frames.dir), 0);
    assert_null(fftd_format(early));
    assert_int_equal(fftd_state(early), FFTD_STATE_STARTING);
    assert_int_equal(fftd_epoch(early), 0);
    assert_int_equal(fftd_wait(early, 20), 0);
    assert_int_equal(fftd_frame(early, &frame), -EAGAIN);
    replace_ring(f, frames_ring(GREY, 100, 50, 5, 2, 1));
    publish(f, 1);
    assert_int_equal(fftd_wait(early, PATIENCE), 1);
    assert_int_equal(fftd_frame(early, &frame), 0);
    assert_true(frame_is_whole(&frame));
    fftd_close(early);
}

/* Starts a daemon process that publishes `count` frames and waits to be killed. */
static pid_t start_daemon(const char *dir, unsigned count)
{
    int ready[2];
    char byte = 0;
    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    if (child == 0) {
        struct fixture f;
        frames_start(&f.frames, dir, 3);
        f.ring = frames_ring(GREY, 64, 16, 8, 1, 1);
        publish(&f, count);
        frames_set_ring(&f.frames, f.ring);
        if (write(ready[1], &byte, 1) == 1)
            pause();
        _exit(0);
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    close(ready[1]);
    return child;
}

static void kill_daemon(pid_t daemon)
{
    kill(daemon, SIGKILL);
    waitpid(daemon, NULL, 0);
}

static void a_wait_survives_the_death_of_a_daemon(void **state)
{
    char dir[] = "/tmp/fftd-test-XXXXXX", path[64];
    struct fftd *camera;
    struct fftd_frame frame, old;
    (void)state;
    assert_non_null(mkdtemp(dir));
    pid_t daemon = start_daemon(dir, 100);
    assert_int_equal(fftd_open(&camera, dir), 0);
    assert_int_equal(fftd_wait(camera, PATIENCE), 1);
    assert_int_equal(fftd_frame(camera, &old), 0);
    assert_int_equal(fftd_hold(camera, &old), 0);
    kill_daemon(daemon);

    assert_int_equal(fftd_wait(camera, 0), -EPIPE);
    int64_t start_ms = now_ms();
    assert_int_equal(fftd_wait(camera, 50), -EPIPE);
    assert_true(now_ms() - start_ms >= 50);
    assert_int_equal(fftd_state(camera), FFTD_STATE_OFFLINE);
    /* The mapped frame stays readable. */
    assert_true(fftd_frame_valid(camera, &old));
    assert_true(frame_is_whole(&old));
    assert_int_equal(fftd_hold(camera, &old), 0);

    /* The new daemon's sequences start again, below those of the old one. */
    daemon = start_daemon(dir, 5);
    assert_int_equal(fftd_wait(camera, PATIENCE), 1);
    assert_int_equal(fftd_frame(camera, &frame), 0);
    assert_int_equal(frame.sequence, 5);
    assert_int_equal(frame.missed, 0);
    assert_true(frame_is_whole(&old));
    assert_int_equal(fftd_release(camera, &old), 0);
    kill_daemon(daemon);
    fftd_close(camera);
    snprintf(path, sizeof path, "%s/frames", dir);
    unlink(path);
    rmdir(dir);
}

static void a_restarted_daemon_is_asked_for_every_hold(void **state)
{
    struct fixture *f = *state;
    struct fftd_frame frame[4];
    char dir[sizeof f->frames.dir];
    enlarge_ring(f);
    for (unsigned i = 0; i < 4; i++) {
        publish(f, 1);
        assert_int_equal(fftd_frame(f->camera, &frame[i]), 0);
        assert_int_equal(fftd_hold(f->camera, &frame[i]), 0);
    }
    strcpy(dir, f->frames.dir);
    frames_stop(&f->frames);
    frames_start(&f->frames, dir, 3);
    frames_set_ring(&f->frames, f->ring);
    for (int64_t end_ms = now_ms() + PATIENCE; frames_stats(&f->frames).held_slots < 4;) {
        assert_true(now_ms() < end_ms);
        fftd_wait(f->camera, 10);
    }
    publish(f, 100);
    for (unsigned i = 0; i < 4; i++) {
        assert_true(fftd_frame_valid(f->camera, &frame[i]));
        assert_int_equal(fftd_release(f->camera, &frame[i]), 0);
    }
}

/* A daemon that hands out a ring and then answers nothing. */
struct mute_daemon {
    int listen_fd, client_fd, ring_fd;
    pthread_t thread;
};

static void answer_attach(const struct mute_daemon *mute, struct fftd_message *message)
{
    int fd[2] = {mute->ring_fd, -1}, pipe_fd[2];
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof fd)];
    } control = {.header = {.cmsg_len = CMSG_LEN(sizeof fd),
                            .cmsg_level = SOL_SOCKET,
                            .cmsg_type = SCM_RIGHTS}};
    struct iovec iov = {.iov_base = message, .iov_len = sizeof *message};
    const struct msghdr packet = {.msg_iov = &iov,
                                  .msg_iovlen = 1,
                                  .msg_control = &control,
                                  .msg_controllen = sizeof control};
    if (pipe(pipe_fd) < 0)
        abort();
    fd[1] = pipe_fd[0];
    memcpy(CMSG_DATA(&control.header), fd, sizeof fd);
    if (sendmsg(mute->client_fd, &packet, MSG_NOSIGNAL) < 0)
        abort();
    close(pipe_fd[0]); /* the other end stays open: its end would mean that the daemon has died */
}

static void *mute_main(void *context)
{
    struct mute_daemon *mute = context;
    struct fftd_message message;
    mute->client_fd = accept(mute->listen_fd, NULL, NULL);
    while (mute->client_fd >= 0 &&
           recv(mute->client_fd, &message, sizeof message, 0) == sizeof message)
        if (message.kind == FFTD_REQUEST_ATTACH)
            answer_attach(mute, &message);
    return NULL;
}

static void mute_start(struct mute_daemon *mute, const char *dir, int ring_fd)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s/frames", dir);
    unlink(address.sun_path);
    mute->ring_fd = ring_fd;
    mute->listen_fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(mute->listen_fd, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(mute->listen_fd, 1), 0);
    assert_int_equal(pthread_create(&mute->thread, NULL, mute_main, mute), 0);
}

static void mute_stop(struct mute_daemon *mute)
{
    shutdown(mute->client_fd, SHUT_RDWR);
    pthread_join(mute->thread, NULL);
    close(mute->client_fd);
    close(mute->listen_fd);
}

/* Longer than any call that does not block takes on a busy machine, and shorter than the 2 s for
 * which fftd_hold waits for an answer. */
#define AT_ONCE_MS 1900

/* fftd_wait keeps its timeout, and fftd_release does not wait, whatever the daemon does. */
static void only_a_hold_waits_for_a_mute_daemon(void **state)
{
    struct fixture *f = *state;
    struct fftd_frame frame;
    struct mute_daemon mute;
    char dir[sizeof f->frames.dir];
    publish(f, 1);
    assert_int_equal(fftd_frame(f->camera, &frame), 0);
    assert_int_equal(fftd_hold(f->camera, &frame), 0);
    strcpy(dir, f->frames.dir);
    frames_stop(&f->frames);
    mute_start(&mute, dir, f->ring->memory.fd);

    /* Once attached again, the library has to request the hold again. */
    int look = -EPIPE;
    int64_t longest_look_ms = 0;
    for (int64_t end_ms = now_ms() + PATIENCE; look == -EPIPE && now_ms() < end_ms;) {
        is_readable(fftd_fd(f->camera), PATIENCE);
        int64_t start_ms = now_ms();
        look = fftd_wait(f->camera, 0);
        if (now_ms() - start_ms > longest_look_ms)
            longest_look_ms = now_ms() - start_ms;
    }
    int64_t start_ms = now_ms();
    const int wait = fftd_wait(f->camera, 20);
    const int64_t wait_ms = now_ms() - start_ms;
    start_ms = now_ms();
    const int release = fftd_release(f->camera, &frame);
    const int64_t release_ms = now_ms() - start_ms;
    start_ms = now_ms();
    const int hold = fftd_hold(f->camera, &frame);
    const int64_t hold_ms = now_ms() - start_ms;
    mute_stop(&mute);
    frames_start(&f->frames, dir, 3);

    assert_int_equal(look, 0);
    assert_true(longest_look_ms < AT_ONCE_MS);
    assert_int_equal(wait, 0);
    assert_true(wait_ms < AT_ONCE_MS);
    assert_int_equal(release, 0);
    assert_true(release_ms < AT_ONCE_MS);
    assert_int_equal(hold, -ETIMEDOUT);
    assert_true(hold_ms >= AT_ONCE_MS);
}

/* Copies the ring into huge pages, if the machine has any; otherwise nothing can be written. */
static int copy_to_huge_pages(const struct ring *ring)
{
    struct stat st;
    struct fftd_ring_header header;
    const int fd = memfd_create("huge", MFD_CLOEXEC | MFD_HUGETLB | MFD_ALLOW_SEALING);
    if (fd < 0)
        return -1;
    assert_int_equal(fstat(fd, &st), 0);
    const size_t bytes = (size_t)st.st_blksize;
    assert_int_equal(ftruncate(fd, (off_t)bytes), 0);
    assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
    uint8_t *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (base == MAP_FAILED)
        return fd;
    assert_true(pread(ring->memory.fd, base, bytes, 0) > (ssize_t)sizeof header);
    memcpy(&header, base, sizeof header);
    header.ring_bytes = bytes;
    memcpy(base, &header, sizeof header);
    munmap(base, bytes);
    return fd;
}

/* A huge page that cannot be allocated when it is read kills the reader with SIGBUS. */
static void a_ring_on_huge_pages_is_refused(void **state)
{
    struct fixture *f = *state;
    struct fftd *camera = NULL;
    struct mute_daemon mute;
    char dir[sizeof f->frames.dir];
    const int huge_fd = copy_to_huge_pages(f->ring);
    if (huge_fd < 0) {
        printf("skipped: no memfd on huge pages: %s\n", strerror(errno));
        skip();
    }
    strcpy(dir, f->frames.dir);
    frames_stop(&f->frames);
    mute_start(&mute, dir, huge_fd);
    const int r = fftd_open(&camera, dir);
    mute_stop(&mute);
    frames_start(&f->frames, dir, 3);
    fftd_close(camera);
    close(huge_fd);
    assert_int_equal(r, -EPROTO);
}

static void a_refused_client_gets_the_reason(void **state)
{
    struct fixture *f = *state;
    struct fftd *camera[3] = {NULL};
    assert_int_equal(fftd_open(&camera[0], f->frames.dir), 0);
    assert_int_equal(fftd_open(&camera[1], f->frames.dir), 0);
    assert_int_equal(fftd_open(&camera[2], f->frames.dir), -EUSERS);
    assert_null(camera[2]);
    fftd_close(camera[0]);
    fftd_close(camera[1]);
    fftd_close(NULL);
}

/* ---- time and descriptors ---- */

static void on_alarm(int signal_number)
{
    (void)signal_number;
}

static void a_signal_ends_the_wait(void **state)
{
    struct fixture *f = *state;
    /* Repeated, because the first may come before the wait begins. */
    const struct itimerval soon = {{.tv_usec = 20000}, {.tv_usec = 20000}}, never = {0};
    const struct sigaction action = {.sa_handler = on_alarm}, usual = {.sa_handler = SIG_DFL};
    sigaction(SIGALRM, &action, NULL);
    int64_t start_ms = now_ms();
    setitimer(ITIMER_REAL, &soon, NULL);
    int r = fftd_wait(f->camera, PATIENCE);
    setitimer(ITIMER_REAL, &never, NULL);
    sigaction(SIGALRM, &usual, NULL);
    assert_int_equal(r, 0);
    assert_true(now_ms() - start_ms < PATIENCE);
}

/* Whether looking makes the descriptor unreadable. Surplus wake-ups are allowed and may come late:
 * one for the new client, or for a frame that has been read already. */
static bool goes_quiet(struct fftd *camera)
{
    int64_t end_ms = now_ms() + PATIENCE;
    while (is_readable(fftd_fd(camera), 0)) {
        if (now_ms() > end_ms)
            return false;
        fftd_wait(camera, 0);
    }
    return true;
}

static void the_descriptor_is_readable_when_there_is_news(void **state)
{
    struct fixture *f = *state;
    struct fftd_frame frame;
    int fd = fftd_fd(f->camera);
    for (unsigned n = 0; n < 5; n++) {
        publish(f, 1);
        assert_true(is_readable(fd, PATIENCE));
        assert_int_equal(fftd_wait(f->camera, 0), 1);
        assert_int_equal(fftd_frame(f->camera, &frame), 0);
        assert_true(goes_quiet(f->camera));
    }
    replace_ring(f, frames_ring(GREY, 100, 50, 5, 2, 6));
    publish(f, 1);
    /* The change of rings takes a step for the end of the old and one for the new. */
    while (fftd_wait(f->camera, 0) != 1)
        assert_true(is_readable(fd, PATIENCE));
    assert_int_equal(fftd_frame(f->camera, &frame), 0);
    assert_int_equal(frame.sequence, 6);
    assert_int_equal(fftd_fd(f->camera), fd);
}

static void a_forked_child_may_close(void **state)
{
    struct fixture *f = *state;
    int status;
    const pid_t child = fork();
    if (child == 0) {
        fftd_close(f->camera);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    publish(f, 1);
    assert_true(is_readable(fftd_fd(f->camera), PATIENCE));
    assert_int_equal(fftd_wait(f->camera, 0), 1);
    replace_ring(f, frames_ring(GREY, 100, 50, 5, 2, 6));
    publish(f, 1);
    while (fftd_wait(f->camera, 0) != 1 || fftd_format(f->camera)->fourcc != GREY)
        assert_true(is_readable(fftd_fd(f->camera), PATIENCE));
}

static void opening_and_closing_leaks_no_descriptors(void **state)
{
    struct fixture *f = *state;
    struct fftd *camera = NULL;
    publish(f, 1);
    assert_int_equal(fftd_open(&camera, f->frames.dir), 0);
    int highest = fftd_fd(camera);
    fftd_close(camera);
    for (unsigned n = 0; n < 200; n++) {
        struct fftd_frame frame;
        /* The server needs a moment to notice the previous disconnect. */
        if (n % 2 == 1)
            assert_true(frames_settle(&f->frames, 1, 0));
        assert_int_equal(fftd_open(&camera, f->frames.dir), 0);
        assert_int_equal(fftd_frame(camera, &frame), 0);
        assert_true(fftd_fd(camera) <= highest + 8);
        fftd_close(camera);
    }
}

/* Opens in a separate process, because the server needs descriptors too. Returns the result of
 * fftd_open. */
static int open_below(const char *dir, unsigned limit)
{
    struct fftd *camera = NULL;
    int status;
    pid_t child = fork();
    if (child == 0) {
        struct rlimit few;
        if (getrlimit(RLIMIT_NOFILE, &few) < 0)
            _exit(1);
        few.rlim_cur = limit;
        _exit(setrlimit(RLIMIT_NOFILE, &few) < 0 ? 1 : -fftd_open(&camera, dir));
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return -WEXITSTATUS(status);
}

static void a_lack_of_descriptors_is_reported(void **state)
{
    struct fixture *f = *state;
    /* Waits until the server has closed the descriptors that it sent. */
    assert_true(frames_settle(&f->frames, 1, 0));
    const int next = dup(0);
    unsigned limit = (unsigned)next;
    close(next);
    for (int r = -EMFILE; r != 0; limit++) {
        r = open_below(f->frames.dir, limit);
        if (r != -EMFILE && (r != 0 || limit < (unsigned)next + 5))
            fail_msg("%d with %u descriptors left", r, limit - (unsigned)next);
        assert_true(frames_settle(&f->frames, 1, 0));
    }
}

/* ---- finding ---- */

static void errors_of_opening_are_distinct(void **state)
{
    struct fixture *f = *state;
    struct fftd *camera = NULL;
    char path[300];
    assert_int_equal(fftd_open(&camera, "/nonexistent/camera"), -ENOENT);
    assert_int_equal(fftd_open(&camera, "no-such-camera"), -ENOENT);
    assert_int_equal(fftd_open(&camera, ""), -EINVAL);
    assert_int_equal(fftd_open(&camera, ".."), -EINVAL);
    memset(path, 'x', sizeof path);
    path[0] = '/';
    path[sizeof path - 1] = '\0';
    assert_int_equal(fftd_open(&camera, path), -ENAMETOOLONG);
    frames_stop(&f->frames);
    assert_int_equal(fftd_open(&camera, f->frames.dir), -ECONNREFUSED);
    assert_null(camera);
    strcpy(path, f->frames.dir);
    frames_start(&f->frames, path, 3);
}

static void names_are_looked_up(void **state)
{
    struct fixture *f = *state;
    char base[] = "/tmp/fftd-test-XXXXXX", path[128], dir[128];
    assert_non_null(mkdtemp(base));
    setenv("XDG_RUNTIME_DIR", base, 1);
    assert_int_equal(fftd_runtime_dir("front-door", dir, sizeof dir), 0);
    assert_string_equal(dir, "/run/fftd/front-door");

    snprintf(path, sizeof path, "%s/fftd", base);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(path, sizeof path, "%s/fftd/front-door", base);
    assert_int_equal(symlink(f->frames.dir, path), 0);
    assert_int_equal(fftd_runtime_dir("front-door", dir, sizeof dir), 0);
    assert_string_equal(dir, path);
    assert_int_equal(fftd_runtime_dir("front-door", dir, 8), -ENAMETOOLONG);
    assert_int_equal(fftd_runtime_dir("./here", dir, sizeof dir), 0);
    assert_string_equal(dir, "./here");

    unlink(path);
    snprintf(path, sizeof path, "%s/fftd", base);
    rmdir(path);
    rmdir(base);
    unsetenv("XDG_RUNTIME_DIR");
}

#define camera_test(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        camera_test(a_frame_is_received_as_published),
        camera_test(measures_are_those_of_the_frame),
        camera_test(a_match_is_that_of_the_frame),
        camera_test(matches_beyond_the_slot_are_refused),
        camera_test(a_field_of_motion_is_that_of_the_frame),
        camera_test(an_overtaken_reader_learns_what_it_missed),
        camera_test(a_frame_is_invalid_as_soon_as_its_slot_is_reused),
        camera_test(every_frame_in_the_ring_can_be_read),
        camera_test(a_new_reader_starts_with_the_newest_frame),
        camera_test(checksums_match),
        camera_test(a_torn_frame_is_never_valid),
        camera_test(a_held_frame_stays),
        camera_test(holds_are_bounded),
        camera_test(releases_in_a_row_all_arrive),
        camera_test(a_held_frame_outlives_its_ring),
        camera_test(a_pinned_frame_stays_mapped_but_not_whole),
        camera_test(the_number_of_held_formats_is_limited),
        camera_test(a_change_of_format_is_followed),
        camera_test(the_last_frames_of_an_old_ring_are_not_lost),
        camera_test(frames_missed_in_the_next_ring_are_counted),
        camera_test(a_ring_created_later_is_found),
        cmocka_unit_test(a_wait_survives_the_death_of_a_daemon),
        camera_test(a_restarted_daemon_is_asked_for_every_hold),
        camera_test(only_a_hold_waits_for_a_mute_daemon),
        camera_test(a_ring_on_huge_pages_is_refused),
        camera_test(a_refused_client_gets_the_reason),
        camera_test(a_signal_ends_the_wait),
        camera_test(the_descriptor_is_readable_when_there_is_news),
        camera_test(a_forked_child_may_close),
        camera_test(opening_and_closing_leaks_no_descriptors),
        camera_test(a_lack_of_descriptors_is_reported),
        camera_test(errors_of_opening_are_distinct),
        camera_test(names_are_looked_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
