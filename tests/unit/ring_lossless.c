/* A ring that keeps frames until they are read: what the writer may overwrite, and what a client
 * that does not use the library can do to it. tests/integration/test_lossless.py has the whole
 * daemon. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "support/cmocka.h"
#include "support/frames.h"

#include "fftd/fftd.h"

#define GREY  FFTD_FOURCC('R', '8', ' ', ' ')
#define SLOTS 8u

struct fixture {
    struct frames frames;
    struct ring *ring;
};

static int setup(void **state)
{
    static struct fixture fixture;
    frames_start(&fixture.frames, NULL, 8);
    fixture.ring = frames_ring(GREY, 32, 8, SLOTS, 1, 1);
    ring_set_lossless(fixture.ring, true);
    frames_set_ring(&fixture.frames, fixture.ring);
    *state = &fixture;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    frames_stop(&f->frames);
    frames_remove(&f->frames);
    ring_destroy(f->ring);
    return 0;
}

/* Publishes frames while there is room, and returns their number. */
static unsigned fill(struct ring *ring)
{
    unsigned count = 0;
    for (; count < 1000 && ring_has_room(ring); count++)
        frames_publish(ring);
    return count;
}

/* Waits until a reader has made progress. */
static void await_room(struct ring *ring)
{
    struct pollfd wait = {.fd = ring_room_fd(ring), .events = POLLIN};
    eventfd_t count;
    assert_int_equal(poll(&wait, 1, FRAMES_PATIENCE_MS), 1);
    assert_int_equal(eventfd_read(wait.fd, &count), 0);
}

static struct fftd *open_lossless(const struct fixture *f)
{
    struct fftd *camera = NULL;
    assert_int_equal(fftd_open_lossless(&camera, f->frames.dir), 0);
    return camera;
}

static void assert_next(struct fftd *camera, uint64_t sequence)
{
    struct fftd_frame frame;
    assert_int_equal(fftd_next(camera, &frame), 0);
    assert_int_equal(frame.sequence, sequence);
    assert_int_equal(frame.missed, 0);
    assert_true(frames_match(frame.format, frame.plane[0], sequence));
    assert_true(fftd_frame_valid(camera, &frame));
}

static void a_full_ring_has_no_room_until_a_frame_is_read(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(fill(f->ring), SLOTS);
    assert_false(ring_is_read(f->ring));
    struct fftd *camera = open_lossless(f);
    assert_int_equal(fill(f->ring), 0);
    for (uint64_t i = 1; i <= SLOTS; i++)
        assert_next(camera, i);
    assert_int_equal(fftd_wait(camera, 1), 0);
    await_room(f->ring);
    while (!ring_is_read(f->ring))
        await_room(f->ring);
    assert_int_equal(fill(f->ring), SLOTS);
    assert_next(camera, SLOTS + 1);
    fftd_close(camera);
}

/* A reader that leaves has read what it was given; the next one continues there. */
static void the_next_reader_continues(void **state)
{
    struct fixture *f = *state;
    fill(f->ring);
    struct fftd *camera = open_lossless(f);
    for (uint64_t i = 1; i <= 5; i++)
        assert_next(camera, i);
    fftd_close(camera);
    assert_true(frames_settle(&f->frames, 0, 0));
    fill(f->ring);
    camera = open_lossless(f);
    assert_next(camera, 6);
    fftd_close(camera);
}

static void other_clients_are_not_waited_for(void **state)
{
    struct fixture *f = *state;
    struct fftd *old = NULL;
    assert_int_equal(fftd_open(&old, f->frames.dir), 0);
    struct fftd *camera = open_lossless(f);
    unsigned count = 0;
    for (uint64_t next = 1; count < 100; next++) {
        count += fill(f->ring);
        while (fftd_wait(camera, 0) == 0) {
            await_room(f->ring);
            count += fill(f->ring);
        }
        assert_next(camera, next);
    }
    struct fftd_frame frame;
    assert_int_equal(fftd_frame(old, &frame), 0);
    assert_true(frame.sequence >= 100);
    fftd_close(old);
    fftd_close(camera);
}

static void a_ring_that_does_not_wait_refuses(void **state)
{
    struct fixture *f = *state;
    struct fftd *camera = NULL;
    ring_set_lossless(f->ring, false);
    assert_int_equal(fftd_open_lossless(&camera, f->frames.dir), -EOPNOTSUPP);
    assert_int_equal(fill(f->ring), 1000);
}

/* The writer counts on the slot that it has found. So nobody may hold a frame that is done with,
 * except for the newest one, which the writer does not take. */
static void read_frames_cannot_be_held(void **state)
{
    struct fixture *f = *state;
    fill(f->ring);
    struct fftd *camera = open_lossless(f), *other = NULL;
    struct fftd_frame old, newest;
    assert_int_equal(fftd_open(&other, f->frames.dir), 0);
    assert_int_equal(fftd_next(other, &old), 0);
    assert_int_equal(old.sequence, 1);
    assert_int_equal(fftd_frame(other, &newest), 0);
    for (uint64_t i = 1; i <= SLOTS; i++)
        assert_next(camera, i);
    fftd_wait(camera, 1);
    while (!ring_is_read(f->ring))
        await_room(f->ring);
    assert_int_equal(fftd_hold(other, &old), -ENOENT);
    assert_int_equal(fftd_hold(other, &newest), 0);
    assert_int_equal(fill(f->ring), SLOTS - 1);
    assert_true(fftd_frame_valid(other, &newest));
    fftd_close(other);
    fftd_close(camera);
}

/* ---- a client without the library ---- */

static int connect_to(const struct frames *frames)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const struct timeval patience = {.tv_sec = FRAMES_PATIENCE_MS / 1000};
    snprintf(address.sun_path, sizeof address.sun_path, "%s/frames", frames->dir);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
    return fd;
}

static void tell(int socket_fd, uint32_t kind, uint64_t value, uint32_t generation)
{
    const struct fftd_message message = {
        .magic = FFTD_FRAMES_MAGIC, .kind = kind, .value = value, .generation = generation};
    assert_int_equal(send(socket_fd, &message, sizeof message, MSG_NOSIGNAL), sizeof message);
}

static struct fftd_message answer_of(int socket_fd)
{
    struct fftd_message reply;
    assert_int_equal(recv(socket_fd, &reply, sizeof reply, 0), sizeof reply);
    return reply;
}

/* A client that claims to have read the future is not believed; one for which nothing is kept, and
 * one that means another ring, change nothing. All of them go on. */
static void claims_are_checked(void **state)
{
    struct fixture *f = *state;
    fill(f->ring);
    const int plain = connect_to(&f->frames), liar = connect_to(&f->frames);
    tell(plain, FFTD_REQUEST_ATTACH, FFTD_RING_ABI, 0);
    assert_int_equal(answer_of(plain).value, 0);
    tell(plain, FFTD_REQUEST_READ, 5, 1);
    tell(liar, FFTD_REQUEST_ATTACH, FFTD_RING_ABI, FFTD_ATTACH_LOSSLESS);
    assert_int_equal(answer_of(liar).value, 1);
    tell(liar, FFTD_REQUEST_READ, 5, 77);
    tell(plain, FFTD_REQUEST_HOLD, 1, 1);
    assert_int_equal(answer_of(plain).result, 0);
    tell(liar, FFTD_REQUEST_HOLD, 2, 1); /* and only READ has no reply */
    assert_int_equal(answer_of(liar).result, 0);
    assert_int_equal(fill(f->ring), 0);

    tell(liar, FFTD_REQUEST_READ, UINT64_MAX, 1);
    await_room(f->ring);
    assert_true(ring_is_read(f->ring));
    assert_int_equal(fill(f->ring), SLOTS - 2); /* two are held */
    assert_false(ring_is_read(f->ring));
    close(plain);
    close(liar);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_full_ring_has_no_room_until_a_frame_is_read, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(the_next_reader_continues, setup, teardown),
        cmocka_unit_test_setup_teardown(other_clients_are_not_waited_for, setup, teardown),
        cmocka_unit_test_setup_teardown(a_ring_that_does_not_wait_refuses, setup, teardown),
        cmocka_unit_test_setup_teardown(read_frames_cannot_be_held, setup, teardown),
        cmocka_unit_test_setup_teardown(claims_are_checked, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
