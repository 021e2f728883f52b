/* The writer: which slots it takes, what readers see of it, and what nobody can do to its memory.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/cmocka.h"
#include "support/frames.h"
#include "support/root.h"

#include "ring/private.h"

#define GREY FFTD_FOURCC('R', '8', ' ', ' ')

static int new_ring(void **state)
{
    *state = frames_ring(GREY, 64, 16, 6, 1, 1);
    return 0;
}

static int end_ring(void **state)
{
    ring_destroy(*state);
    return 0;
}

static void header_says_where_everything_is(void **state)
{
    const struct ring *ring = *state;
    const struct fftd_ring_header *header = ring->header;
    assert_true(header->magic == FFTD_RING_MAGIC);
    assert_memory_equal(&header->magic, "FFTDRING", 8);
    assert_int_equal(header->abi, FFTD_RING_ABI);
    assert_int_equal(header->slot_count, 6);
    assert_int_equal(header->header_bytes % 4096, 0);
    assert_int_equal(header->data_offset % 128, 0);
    assert_int_equal(header->slot_stride % 4096, 0);
    assert_true(header->data_offset + header->format.frame_bytes <= header->slot_stride);
    assert_int_equal(header->ring_bytes, header->header_bytes + 6 * header->slot_stride);
    assert_int_equal(header->format.frame_bytes, 64 * 16);
    assert_int_equal(header->state, FFTD_STATE_STARTING);
    assert_int_equal(header->generation, 1);
    assert_int_equal(header->epoch, 1);
    assert_true(header->newest == 0);
}

static void publishing_fills_the_slot(void **state)
{
    struct ring *ring = *state;
    uint32_t futex = ring->header->futex;
    frames_publish(ring);
    assert_int_equal(ring_newest(ring), 1);
    assert_int_not_equal(ring->header->futex, futex);

    const struct fftd_slot *slot = ring_slot(ring, FFTD_NEWEST_SLOT(ring->header->newest));
    assert_int_equal(slot->lock % 2, 0);
    assert_int_equal(slot->sequence, 1);
    assert_int_equal(slot->source_sequence, 1001);
    assert_int_equal(slot->filter_serial, 10);
    assert_int_equal(slot->captured_ns, 1);
    assert_int_equal(slot->finished_ns, 4);
    assert_true(slot->published_ns > 0 && slot->published_ns == ring->header->heartbeat_ns);
    assert_int_equal(slot->flags, 0);
    assert_true(frames_match(ring_format(ring), (const uint8_t *)slot + ring->data_offset, 1));
}

static void an_open_slot_is_nobodys_to_read(void **state)
{
    struct ring *ring = *state;
    struct ring_write write;
    uint32_t lock = ring_slot(ring, 0)->lock;
    ring_begin(ring, &write);
    const struct fftd_slot *slot = ring_slot(ring, write.slot);
    assert_int_equal(slot->lock, lock + 1);
    assert_int_equal(slot->sequence, 0);
    assert_int_equal(ring_newest(ring), 0);
    assert_int_equal((uintptr_t)write.data % 128, 0);
    ring_cancel(ring, &write);
    assert_int_equal(slot->lock, lock + 2);
    assert_int_equal(slot->sequence, 0);
    assert_int_equal(ring_newest(ring), 0);
}

/* Whichever frame in flight is lost, the numbers of those that are published have no gap. */
static void numbers_are_dense_whatever_is_cancelled(void **state)
{
    struct ring *ring = *state;
    const struct ring_meta meta = {0};
    for (unsigned lost = 0; lost < RING_MAX_OPEN; lost++) {
        struct ring_write write[RING_MAX_OPEN];
        uint64_t before = ring_newest(ring);
        for (unsigned i = 0; i < RING_MAX_OPEN; i++)
            ring_begin(ring, &write[i]);
        for (unsigned i = 0; i < RING_MAX_OPEN; i++) {
            if (i == lost)
                ring_cancel(ring, &write[i]);
            else
                ring_publish(ring, &write[i], &meta);
        }
        assert_int_equal(ring_newest(ring), before + RING_MAX_OPEN - 1);
    }
}

static void the_newest_frame_is_never_rewritten(void **state)
{
    (void)state;
    /* The tightest case there is: all slots but the newest are open. */
    struct ring *ring = frames_ring(GREY, 16, 16, FFTD_MIN_SLOTS, 1, 1);
    struct ring_write write[RING_MAX_OPEN];
    const struct ring_meta meta = {0};
    for (unsigned i = 0; i < RING_MAX_OPEN; i++)
        ring_begin(ring, &write[i]);
    for (unsigned n = 0; n < 100; n++) {
        struct ring_write *oldest = &write[n % RING_MAX_OPEN];
        ring_publish(ring, oldest, &meta);
        unsigned newest = FFTD_NEWEST_SLOT(ring->header->newest);
        ring_begin(ring, oldest);
        assert_int_not_equal(oldest->slot, newest);
        assert_int_equal(ring_slot(ring, newest)->lock % 2, 0);
        assert_int_equal(ring_slot(ring, newest)->sequence, n + 1);
    }
    ring_destroy(ring);
}

static void slots_are_reused_oldest_first(void **state)
{
    struct ring *ring = *state;
    for (unsigned n = 0; n < 50; n++)
        frames_publish(ring);
    /* With nothing held the last six frames are all there. */
    for (uint64_t sequence = 45; sequence <= 50; sequence++) {
        unsigned found = 0;
        for (unsigned i = 0; i < ring->slot_count; i++)
            found += ring_slot(ring, i)->sequence == sequence;
        assert_int_equal(found, 1);
    }
}

static void held_slots_are_passed_over(void **state)
{
    struct ring *ring = *state;
    struct error why;
    unsigned held[2], third;
    frames_publish(ring);
    frames_publish(ring);
    frames_publish(ring);
    assert_int_equal(ring_lends(ring), 2);
    assert_int_equal(ring_hold(ring, 1, &held[0], &why), 0);
    assert_int_equal(ring_hold(ring, 3, &held[1], &why), 0);
    assert_int_equal(ring_hold(ring, 2, &third, &why), -EBUSY);
    assert_string_equal(why.text,
                        "all frames that clients may hold are held: 2 of a ring of 6 slots");
    assert_int_equal(ring_hold(ring, 99, &third, &why), -ENOENT);
    assert_int_equal(ring_hold(ring, 0, &third, &why), -ENOENT);
    /* Holding a held slot again is free. */
    assert_int_equal(ring_hold(ring, 3, &third, &why), 0);
    ring_release(ring, third);

    for (unsigned n = 0; n < 100; n++) {
        struct ring_write write[RING_MAX_OPEN];
        for (unsigned i = 0; i < RING_MAX_OPEN; i++) {
            ring_begin(ring, &write[i]);
            assert_int_not_equal(write[i].slot, held[0]);
            assert_int_not_equal(write[i].slot, held[1]);
        }
        for (unsigned i = 0; i < RING_MAX_OPEN; i++)
            ring_cancel(ring, &write[i]);
        frames_publish(ring);
    }
    const struct fftd_slot *slot = ring_slot(ring, held[0]);
    assert_int_equal(slot->sequence, 1);
    assert_true(frames_match(ring_format(ring), (const uint8_t *)slot + ring->data_offset, 1));

    ring_release(ring, held[0]);
    ring_release(ring, held[1]);
    assert_int_equal(ring->held_slots, 0);
    for (unsigned n = 0; n < 8; n++)
        frames_publish(ring);
    assert_int_not_equal(slot->sequence, 1);
}

/* Somebody overwrites the header and every slot's before each frame, with the greatest numbers
 * there are. The writer goes on by its own, and what it publishes is whole. */
static void what_is_written_into_the_ring_misleads_nobody(void **state)
{
    struct ring *ring = *state;
    struct error why;
    unsigned held;
    for (uint64_t n = 1; n <= 50; n++) {
        memset(ring->header, 0xff, ring->header_bytes);
        for (unsigned i = 0; i < ring->slot_count; i++)
            memset(ring_slot(ring, i), 0xff, sizeof(struct fftd_slot));
        frames_publish(ring);
        assert_int_equal(ring_newest(ring), n);
        assert_int_equal(ring_hold(ring, n, &held, &why), 0);
        const struct fftd_slot *slot = ring_slot(ring, held);
        assert_int_equal(slot->sequence, n);
        assert_int_equal(slot->lock % 2, 0);
        assert_true(ring->header->newest == FFTD_NEWEST(n, held));
        assert_true(frames_match(ring_format(ring), (const uint8_t *)slot + ring->data_offset, n));
        ring_release(ring, held);
    }
}

/* Holding and releasing at random against a writer with all its frames in flight. */
static void *hold_at_random(void *context)
{
    struct ring *ring = context;
    struct error why;
    unsigned slot;
    for (unsigned n = 0; n < 20000; n++) {
        uint64_t newest = ring_newest(ring);
        if (newest > 2 && ring_hold(ring, newest - n % 3, &slot, &why) == 0) {
            if (ring_slot(ring, slot)->lock % 2 != 0)
                return "a slot was lent while it was written";
            ring_release(ring, slot);
        }
    }
    return NULL;
}

static void lending_never_stops_the_writer(void **state)
{
    struct ring *ring = *state;
    struct ring_write write[RING_MAX_OPEN];
    const struct ring_meta meta = {0};
    pthread_t holder;
    void *complaint;
    for (unsigned i = 0; i < RING_MAX_OPEN; i++)
        ring_begin(ring, &write[i]);
    assert_int_equal(pthread_create(&holder, NULL, hold_at_random, ring), 0);
    for (unsigned n = 0; n < 20000; n++) {
        ring_publish(ring, &write[n % RING_MAX_OPEN], &meta);
        ring_begin(ring, &write[n % RING_MAX_OPEN]);
    }
    pthread_join(holder, &complaint);
    assert_null(complaint);
    assert_int_equal(ring_newest(ring), 20000);
}

static void checksum_is_fnv1a_of_the_pixels(void **state)
{
    (void)state;
    /* Rows of three bytes, four apart: the padding does not count. */
    struct fftd_format format = {.width = 3,
                                 .height = 2,
                                 .plane_count = 1,
                                 .plane[0] = {.stride = 4, .row_bytes = 3, .rows = 2},
                                 .frame_bytes = 7};
    struct ring *ring;
    struct ring_write write;
    const struct ring_meta meta = {.flags = FFTD_FLAG_DISCONTINUITY};
    assert_int_equal(ring_create(&ring, &format, 4, 0, 1, 1, 1, NULL), 0);
    ring_set_checksum(ring, true);
    ring_begin(ring, &write);
    memcpy(write.data, "foo?bar", 7);
    ring_publish(ring, &write, &meta);
    const struct fftd_slot *slot = ring_slot(ring, write.slot);
    assert_int_equal(slot->flags, FFTD_FLAG_DISCONTINUITY | FFTD_FLAG_CHECKSUM);
    assert_true(slot->checksum == 0x85944171f73967e8u); /* FNV-1a's own test vector, "foobar" */
    ring_destroy(ring);
}

static void a_retired_ring_stays_retired(void **state)
{
    struct ring *ring = *state;
    ring_set_state(ring, FFTD_STATE_LIVE, 5);
    assert_int_equal(ring->header->state, FFTD_STATE_LIVE);
    assert_int_equal(ring->header->heartbeat_ns, 5);
    uint32_t futex = ring->header->futex;
    ring_set_state(ring, FFTD_STATE_LIVE, 6);
    assert_int_equal(ring->header->futex, futex);
    ring_retire(ring);
    assert_int_equal(ring->header->futex, futex + 1);
    ring_set_state(ring, FFTD_STATE_LIVE, 7);
    assert_int_equal(ring->header->state, FFTD_STATE_RETIRED);
}

static void numbers_go_on_from_the_ring_before(void **state)
{
    (void)state;
    struct ring *ring = frames_ring(GREY, 16, 16, 4, 2, 1000);
    assert_int_equal(ring_newest(ring), 999);
    assert_int_equal(ring->header->newest, 0);
    frames_publish(ring);
    assert_int_equal(ring_newest(ring), 1000);
    ring_destroy(ring);
}

static void impossible_rings_are_refused(void **state)
{
    (void)state;
    const struct fftd_format good = {.width = 8,
                                     .height = 8,
                                     .plane_count = 1,
                                     .plane[0] = {.stride = 8, .row_bytes = 8, .rows = 8},
                                     .frame_bytes = 64};
    struct fftd_format bad[6] = {good, good, good, good, good, good};
    struct ring *ring = NULL;
    struct error why;
    bad[0].plane_count = 5;
    bad[1].frame_bytes = 63;
    bad[2].plane[0].row_bytes = 9;
    bad[3].plane[0].rows = 0;
    bad[4].width = 0;
    bad[5].plane[0].offset = UINT32_MAX;
    for (unsigned i = 0; i < 6; i++)
        assert_int_equal(ring_create(&ring, &bad[i], 4, 0, 1, 1, 1, &why), -EINVAL);
    assert_int_equal(ring_create(&ring, &good, 3, 0, 1, 1, 1, &why), -EINVAL);
    assert_string_equal(why.text, "ring: 3 slots: expected 4 .. 64");
    assert_int_equal(ring_create(&ring, &good, 65, 0, 1, 1, 1, &why), -EINVAL);
    assert_int_equal(ring_create(&ring, &good, 4, 0, 1, 1, 0, &why), -EINVAL);
    assert_null(ring);
}

/* ---- the memory ---- */

static bool can_write(int fd)
{
    return write(fd, "x", 1) >= 0 || pwrite(fd, "x", 1, 4096) >= 0 ||
           mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) != MAP_FAILED;
}

/* Tries everything a client could with its descriptor; returns what succeeded, 0 if nothing. */
static int attack(int fd)
{
    char path[32];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (can_write(fd))
        return 1;
    void *view = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
    if (view == MAP_FAILED)
        return 2; /* reading is what it must be able to do */
    if (mprotect(view, 4096, PROT_READ | PROT_WRITE) == 0)
        return 3;
    if (ftruncate(fd, 0) == 0 || ftruncate(fd, 1 << 24) == 0)
        return 5;
    if (fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096) == 0)
        return 6;
    if (fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE) == 0)
        return 7;
    /* The owner can change the mode, and root needs none. */
    fchmod(fd, 0600);
    int opened = open(path, O_RDWR);
    if (opened >= 0 && can_write(opened))
        return 8;
    return 0;
}

static void clients_can_only_read(void **state)
{
    const struct ring *ring = *state;
    assert_int_equal(attack(ring->memory.fd), 0);
}

static void other_users_can_only_read(void **state)
{
    const struct ring *ring = *state;
    root_or_skip();
    pid_t child = fork();
    if (child == 0) {
        if (setgid(65534) < 0 || setuid(65534) < 0)
            _exit(99);
        _exit(attack(ring->memory.fd));
    }
    int status;
    waitpid(child, &status, 0);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void the_same_user_can_only_read(void **state)
{
    (void)state;
    pid_t child = fork();
    if (child == 0) {
        /* The root of a container that may not change its user has no more rights than others. */
        if (setgid(65534) == 0 && setuid(65534) < 0)
            _exit(99);
        struct ring *ring = frames_ring(GREY, 64, 16, 4, 1, 1);
        int fd = dup(ring->memory.fd);
        ring_destroy(ring); /* its thread would not be in the client, but what it had */
        pid_t client = fork();
        if (client == 0)
            _exit(attack(fd));
        int status;
        waitpid(client, &status, 0);
        _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 98);
    }
    int status;
    waitpid(child, &status, 0);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void memory_is_there_from_the_start(void **state)
{
    const struct ring *ring = *state;
    struct stat st;
    assert_int_equal(fstat(ring->memory.fd, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0400);
    assert_true((uint64_t)st.st_blocks * 512 >= ring->memory.mapping->bytes);
    assert_int_equal(fcntl(ring->memory.fd, F_GET_SEALS) &
                         (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL | F_SEAL_WRITE),
                     F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
}

/* A driver that lets a device write memory of the host pins its pages for writing, for as long as
 * it likes. io_uring does the same with a buffer that is registered. */
static void devices_can_write_slots_of_a_sealed_ring(void **state)
{
    const struct ring *ring = *state;
    struct io_uring_params params = {0};
    const long fd = syscall(SYS_io_uring_setup, 1, &params);
    if (fd < 0) {
        print_message("skipped: io_uring_setup: %s\n", strerror(errno));
        skip();
    }
    struct iovec slots[6];
    for (unsigned i = 0; i < 6; i++) {
        slots[i] = (struct iovec){ring_frame(ring, i), ring->format.frame_bytes};
        assert_int_equal((uintptr_t)slots[i].iov_base % 4096, 0);
    }
    assert_int_equal(syscall(SYS_io_uring_register, fd, IORING_REGISTER_BUFFERS, slots, 6), 0);
    close((int)fd);

    /* Through the descriptor of a client this is refused. */
    const long other = syscall(SYS_io_uring_setup, 1, &params);
    assert_true(other >= 0);
    void *view = mmap(NULL, ring->memory.mapping->bytes, PROT_READ, MAP_SHARED, ring->memory.fd, 0);
    assert_ptr_not_equal(view, MAP_FAILED);
    struct iovec read_only = {view, 4096};
    assert_int_equal(syscall(SYS_io_uring_register, other, IORING_REGISTER_BUFFERS, &read_only, 1),
                     -1);
    assert_int_equal(errno, EFAULT);
    munmap(view, ring->memory.mapping->bytes);
    close((int)other);
}

static void too_large_a_ring_is_an_error_not_a_signal(void **state)
{
    (void)state;
    struct fftd_format format = {
        .width = 8192,
        .height = 8192,
        .plane_count = 1,
        .plane[0] = {.stride = UINT32_MAX / 8192, .row_bytes = 8192, .rows = 8192},
        .frame_bytes = UINT32_MAX};
    struct ring *ring = NULL;
    struct error why = {""};
    struct rlimit old, low;
    /* The limit stands for a full machine, and keeps a large one from being filled. */
    getrlimit(RLIMIT_FSIZE, &old);
    low = old;
    low.rlim_cur = 1 << 20;
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &low);
    int whole_memory = ring_create(&ring, &format, 64, 0, 1, 1, 1, NULL);
    format.frame_bytes = 1 << 20;
    format.plane[0].stride = 8192;
    format.plane[0].rows = 128;
    int over_limit = ring_create(&ring, &format, 4, 0, 1, 1, 1, &why);
    setrlimit(RLIMIT_FSIZE, &old);
    assert_true(whole_memory < 0);
    assert_true(over_limit < 0);
    assert_non_null(strstr(why.text, "ring: "));
    assert_null(ring);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(header_says_where_everything_is, new_ring, end_ring),
        cmocka_unit_test_setup_teardown(publishing_fills_the_slot, new_ring, end_ring),
        cmocka_unit_test_setup_teardown(an_open_slot_is_nobodys_to_read, new_ring, end_ring),
        cmocka_unit_test_setup_teardown(numbers_are_dense_whatever_is_cancelled, new_ring,
                                        end_ring),
        cmocka_unit_test(the_newest_frame_is_never_rewritten),
        cmocka_unit_test_setup_teardown(slots_are_reused_oldest_first, new_ring, end_ring),
        cmocka_unit_test_setup_teardown(what_is_written_into_the_ring_misleads_nobody, new_ring,
                                        end_ring),
        cmocka_unit_test_setup_teardown(held_slots_are_passed_over, new_ring, end_ring),
        cmocka_unit_test_setup_teardown(lending_never_stops_the_writer, new_ring, end_ring),
        cmocka_unit_test(checksum_is_fnv1a_of_the_pixels),
        cmocka_unit_test_setup_teardown(a_retired_ring_stays_retired, new_ring, end_ring),
        cmocka_unit_test(numbers_go_on_from_the_ring_before),
        cmocka_unit_test(impossible_rings_are_refused),
        cmocka_unit_test_setup_teardown(clients_can_only_read, new_ring, end_ring),
        cmocka_unit_test_setup_teardown(other_users_can_only_read, new_ring, end_ring),
        cmocka_unit_test(the_same_user_can_only_read),
        cmocka_unit_test_setup_teardown(memory_is_there_from_the_start, new_ring, end_ring),
        cmocka_unit_test_setup_teardown(devices_can_write_slots_of_a_sealed_ring, new_ring,
                                        end_ring),
        cmocka_unit_test(too_large_a_ring_is_an_error_not_a_signal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
