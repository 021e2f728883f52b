/* A ring's numbers and its connections outlive the daemon: this program plays the service manager,
 * which keeps copies of both, and the client; the daemons are processes that get killed. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/cmocka.h"
#include "support/frames.h"

#include "core/clock.h"
#include "fftd/fftd.h"
#include "ring/private.h"

#define GREY      FFTD_FOURCC('R', '8', ' ', ' ')
#define PATIENCE  FRAMES_PATIENCE_MS
#define MAX_KEPT  8
#define NAME_SIZE 32

/* ---- the service manager ---- */

struct manager {
    char dir[32];
    int socket[2]; /* the daemon tells [1], we listen at [0] */
    int said[2];   /* a byte from the daemon: it has come as far as it should */
    unsigned messages;
    unsigned kept;
    int fd[MAX_KEPT];
    char name[MAX_KEPT][NAME_SIZE];
    pid_t daemon;
};

/* In the daemon: one packet is a name, with a descriptor or (forget) without. */
static void tell_manager(const struct manager *manager, const char *name, int fd)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {.header = {CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS}};
    struct iovec iov = {(void *)name, strlen(name) + 1};
    struct msghdr packet = {.msg_iov = &iov, .msg_iovlen = 1};
    if (fd >= 0) {
        memcpy(CMSG_DATA(&control.header), &fd, sizeof fd);
        packet.msg_control = &control;
        packet.msg_controllen = sizeof control;
    }
    if (sendmsg(manager->socket[1], &packet, 0) < 0)
        abort();
}

static unsigned kept_clients; /* in this process; atomic */

static void keep(void *context, const char *name, int fd)
{
    tell_manager(context, name, fd);
    if (strcmp(name, RING_STORE_NAME) != 0)
        __atomic_fetch_add(&kept_clients, 1, __ATOMIC_RELEASE);
}

static void forget(void *context, const char *name)
{
    tell_manager(context, name, -1);
}

static void remove_kept(struct manager *manager, const char *name)
{
    for (unsigned i = manager->kept; i-- > 0;) {
        if (strcmp(manager->name[i], name) != 0)
            continue;
        close(manager->fd[i]);
        manager->kept--;
        manager->fd[i] = manager->fd[manager->kept];
        memmove(manager->name[i], manager->name[manager->kept], NAME_SIZE);
    }
}

/* Takes in what the daemon has told so far. */
static void listen_to_daemon(struct manager *manager)
{
    for (;;) {
        char name[NAME_SIZE];
        union {
            struct cmsghdr header;
            char bytes[CMSG_SPACE(sizeof(int))];
        } control;
        struct iovec iov = {name, sizeof name};
        struct msghdr packet = {.msg_iov = &iov,
                                .msg_iovlen = 1,
                                .msg_control = &control,
                                .msg_controllen = sizeof control};
        if (recvmsg(manager->socket[0], &packet, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) <= 0)
            return;
        manager->messages++;
        const struct cmsghdr *c = CMSG_FIRSTHDR(&packet);
        if (c == NULL) {
            remove_kept(manager, name);
            continue;
        }
        assert_true(manager->kept < MAX_KEPT);
        memcpy(&manager->fd[manager->kept], CMSG_DATA(c), sizeof(int));
        memcpy(manager->name[manager->kept++], name, NAME_SIZE);
    }
}

static int find_kept(const struct manager *manager, const char *name)
{
    for (unsigned i = 0; i < manager->kept; i++)
        if (strcmp(manager->name[i], name) == 0)
            return manager->fd[i];
    return -1;
}

/* ---- the daemons ---- */

struct daemon {
    struct manager *manager;
    struct frames frames;
    struct ring *ring;
};

static void serve_what_was_left(struct frames *frames, void *context)
{
    struct daemon *daemon = context;
    struct manager *manager = daemon->manager;
    const struct ring_store store = {.keep = keep, .forget = forget, .context = manager};
    struct error why;
    ring_server_set_store(frames->server, &store);
    int fd = find_kept(manager, RING_STORE_NAME);
    if (fd >= 0 && ring_continue(&daemon->ring, dup(fd), &why) < 0)
        abort();
    for (unsigned i = 0; i < manager->kept; i++)
        if (strcmp(manager->name[i], RING_STORE_NAME) != 0) {
            if (ring_server_adopt(frames->server, dup(manager->fd[i]), manager->name[i], &why) < 0)
                abort();
            __atomic_fetch_add(&kept_clients, 1, __ATOMIC_RELEASE); /* it is there already */
        }
    if (daemon->ring == NULL)
        daemon->ring = frames_ring(GREY, 64, 16, 8, 1, 1);
    ring_server_set_ring(frames->server, daemon->ring);
}

static void say(struct daemon *daemon)
{
    if (write(daemon->manager->said[1], "", 1) != 1)
        abort();
}

static void publish(struct daemon *daemon, unsigned count)
{
    while (count-- > 0)
        frames_publish(daemon->ring);
}

/* Publishes ten frames, and is caught in the middle of two more. */
static void die_writing(struct daemon *daemon)
{
    struct ring_write write[2];
    publish(daemon, 10);
    ring_begin(daemon->ring, &write[0]);
    ring_begin(daemon->ring, &write[1]);
    memset(write[0].data, 0x55, 100);
    say(daemon);
    pause();
}

/* Waits until that many clients have attached and are kept. */
static void wait_for_attachments(struct daemon *daemon, uint64_t count)
{
    for (unsigned ms = 0; frames_stats(&daemon->frames).attached < count ||
                          __atomic_load_n(&kept_clients, __ATOMIC_ACQUIRE) < count;
         ms++) {
        if (ms == PATIENCE)
            abort();
        poll(NULL, 0, 1);
    }
}

/* Continues once the client has come back. */
static void go_on(struct daemon *daemon)
{
    say(daemon);
    wait_for_attachments(daemon, 1);
    publish(daemon, 100);
    say(daemon);
    pause();
}

static void publish_and_stay(struct daemon *daemon)
{
    publish(daemon, 5);
    say(daemon);
    pause();
}

static void leave(struct daemon *daemon)
{
    if (!frames_settle(&daemon->frames, 1, 0))
        abort();
    frames_stop(&daemon->frames);
    ring_destroy(daemon->ring);
    say(daemon);
    _exit(0);
}

static void publish_and_leave(struct daemon *daemon)
{
    publish(daemon, 5);
    say(daemon);
    wait_for_attachments(daemon, 1);
    leave(daemon);
}

/* Sees two clients come and one go. */
static void watch_and_leave(struct daemon *daemon)
{
    publish(daemon, 5);
    say(daemon);
    wait_for_attachments(daemon, 2);
    say(daemon);
    leave(daemon);
}

static void change_the_format(struct daemon *daemon)
{
    struct ring *next = frames_ring(GREY, 32, 32, 8, ring_generation(daemon->ring) + 1,
                                    ring_newest(daemon->ring) + 1);
    frames_set_ring(&daemon->frames, next);
    ring_destroy(daemon->ring);
    daemon->ring = next;
    publish_and_stay(daemon);
}

static void wait_for_daemon(struct manager *manager)
{
    struct pollfd wait = {.fd = manager->said[0], .events = POLLIN};
    char byte;
    assert_int_equal(poll(&wait, 1, 2 * PATIENCE), 1);
    assert_int_equal(read(manager->said[0], &byte, 1), 1);
    listen_to_daemon(manager);
}

static void start_daemon(struct manager *manager, void (*life)(struct daemon *))
{
    manager->daemon = fork();
    if (manager->daemon == 0) {
        struct daemon daemon = {.manager = manager};
        close(manager->said[0]);
        frames_start(&daemon.frames, manager->dir, 4);
        frames_call(&daemon.frames, serve_what_was_left, &daemon);
        life(&daemon);
        _exit(1);
    }
    wait_for_daemon(manager);
}

static void kill_daemon(struct manager *manager)
{
    kill(manager->daemon, SIGKILL);
    waitpid(manager->daemon, NULL, 0);
    listen_to_daemon(manager);
}

static int setup(void **state)
{
    static struct manager manager;
    manager = (struct manager){.dir = "/tmp/fftd-test-XXXXXX"};
    if (mkdtemp(manager.dir) == NULL || pipe(manager.said) < 0 ||
        socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, manager.socket) < 0)
        return -1;
    *state = &manager;
    return 0;
}

static int teardown(void **state)
{
    struct manager *manager = *state;
    char path[64];
    while (manager->kept > 0)
        close(manager->fd[--manager->kept]);
    for (unsigned i = 0; i < 2; i++) {
        close(manager->said[i]);
        close(manager->socket[i]);
    }
    snprintf(path, sizeof path, "%s/frames", manager->dir);
    unlink(path);
    rmdir(manager->dir);
    return 0;
}

/* ---- what the client sees ---- */

static bool frame_is_whole(const struct fftd_frame *frame)
{
    return frames_match(frame->format, frame->plane[0], frame->sequence);
}

static void wait_until_kept(struct manager *manager, const char *name)
{
    for (unsigned ms = 0; find_kept(manager, name) < 0; ms++) {
        assert_true(ms < PATIENCE);
        poll(NULL, 0, 1);
        listen_to_daemon(manager);
    }
}

static struct fftd *open_and_take(struct manager *manager, struct fftd_frame *frame)
{
    struct fftd *camera;
    assert_int_equal(fftd_open(&camera, manager->dir), 0);
    assert_int_equal(fftd_wait(camera, PATIENCE), 1);
    assert_int_equal(fftd_frame(camera, frame), 0);
    listen_to_daemon(manager);
    return camera;
}

static void a_crash_is_a_pause(void **state)
{
    struct manager *manager = *state;
    struct fftd_frame held, frame;
    start_daemon(manager, die_writing);
    struct fftd *camera = open_and_take(manager, &held);
    assert_int_equal(held.sequence, 10);
    assert_int_equal(fftd_hold(camera, &held), 0);
    wait_until_kept(manager, "client-1");
    kill_daemon(manager);
    assert_int_equal(manager->kept, 2);
    assert_true(find_kept(manager, "ring") >= 0);
    assert_true(find_kept(manager, "client-1") >= 0);

    /* The wake-ups of its last frames come first. */
    for (unsigned n = 0; fftd_state(camera) != FFTD_STATE_OFFLINE; n++) {
        assert_true(n < PATIENCE / 10);
        fftd_wait(camera, 10);
    }
    assert_int_equal(fftd_wait(camera, 20), -EPIPE);
    start_daemon(manager, go_on);
    assert_int_equal(fftd_wait(camera, PATIENCE), 1);
    wait_for_daemon(manager);
    assert_int_equal(fftd_epoch(camera), 2);
    assert_int_equal(fftd_frame(camera, &frame), 0);
    assert_int_equal(frame.sequence, 110);
    assert_int_equal(frame.missed, 99);
    assert_true(frame_is_whole(&frame));
    assert_true(fftd_frame_valid(camera, &held));
    assert_true(frame_is_whole(&held));
    assert_int_equal(fftd_release(camera, &held), 0);

    /* The unfinished frames of the first daemon do not exist for a new client. */
    fftd_close(camera);
    camera = open_and_take(manager, &frame);
    fftd_close(camera);
    kill_daemon(manager);
}

static void crash_after_crash(void **state)
{
    struct manager *manager = *state;
    struct fftd_frame frame;
    start_daemon(manager, publish_and_stay);
    struct fftd *camera = open_and_take(manager, &frame);
    wait_until_kept(manager, "client-1");
    for (uint32_t epoch = 2; epoch < 6; epoch++) {
        kill_daemon(manager);
        start_daemon(manager, publish_and_stay);
        assert_int_equal(fftd_wait(camera, PATIENCE), 1);
        assert_int_equal(fftd_frame(camera, &frame), 0);
        assert_int_equal(frame.sequence, 5 * epoch);
        assert_true(frame_is_whole(&frame));
        assert_int_equal(fftd_epoch(camera), epoch);
        while (fftd_state(camera) == FFTD_STATE_OFFLINE && fftd_wait(camera, 10) != 0)
            continue;
    }
    fftd_close(camera);
    kill_daemon(manager);
}

static void an_orderly_restart_is_a_pause(void **state)
{
    struct manager *manager = *state;
    struct fftd_frame frame;
    start_daemon(manager, publish_and_leave);
    struct fftd *camera = open_and_take(manager, &frame);
    wait_for_daemon(manager);
    waitpid(manager->daemon, NULL, 0);
    listen_to_daemon(manager);
    assert_int_equal(manager->kept, 2);
    assert_int_equal(fftd_wait(camera, 20), -EPIPE);
    assert_int_equal(fftd_state(camera), FFTD_STATE_OFFLINE);
    start_daemon(manager, publish_and_stay);
    assert_int_equal(fftd_wait(camera, PATIENCE), 1);
    assert_int_equal(fftd_frame(camera, &frame), 0);
    assert_int_equal(frame.sequence, 10);
    fftd_close(camera);
    kill_daemon(manager);
}

static void a_restart_can_change_the_format(void **state)
{
    struct manager *manager = *state;
    struct fftd_frame frame;
    start_daemon(manager, publish_and_stay);
    struct fftd *camera = open_and_take(manager, &frame);
    wait_until_kept(manager, "client-1");
    kill_daemon(manager);
    start_daemon(manager, change_the_format);
    assert_int_equal(fftd_wait(camera, PATIENCE), 1);
    assert_int_equal(fftd_next(camera, &frame), 0);
    assert_int_equal(frame.sequence, 6);
    assert_int_equal(frame.missed, 0);
    assert_int_equal(frame.format->width, 32);
    assert_true(frame_is_whole(&frame));
    kill_daemon(manager);
    assert_int_equal(manager->kept, 2);
    fftd_close(camera);
}

/* A client that reconnects in a loop costs the service manager nothing. */
static void who_leaves_at_once_is_not_kept(void **state)
{
    struct manager *manager = *state;
    struct fftd_frame frame;
    start_daemon(manager, publish_and_stay);
    unsigned late = 0; /* clients that may have stayed long enough on a busy machine */
    for (unsigned i = 0; i < 20; i++) {
        const int64_t begin_ns = clock_now_ns();
        fftd_close(open_and_take(manager, &frame));
        late += clock_now_ns() - begin_ns > NS_PER_S / 4;
    }
    struct fftd *camera = open_and_take(manager, &frame);
    wait_until_kept(manager, "client-21");
    assert_int_equal(manager->kept, 2);
    /* The last ring, this ring, this client; two messages for each that was late. */
    assert_in_range(manager->messages, 3, 3 + 2 * late);
    fftd_close(camera);
    kill_daemon(manager);
}

static void who_leaves_is_forgotten(void **state)
{
    struct manager *manager = *state;
    struct fftd_frame frame;
    start_daemon(manager, watch_and_leave);
    struct fftd *first = open_and_take(manager, &frame);
    struct fftd *second = open_and_take(manager, &frame);
    wait_for_daemon(manager);
    fftd_close(first);
    wait_for_daemon(manager);
    waitpid(manager->daemon, NULL, 0);
    listen_to_daemon(manager);
    assert_int_equal(find_kept(manager, "client-1"), -1);
    assert_true(find_kept(manager, "client-2") >= 0);
    fftd_close(second);
}

/* ---- what is not continued ---- */

static void only_rings_are_continued(void **state)
{
    struct error why;
    struct ring *next = NULL;
    int ends[2];
    (void)state;
    assert_int_equal(ring_continue(&next, open("/dev/null", O_RDWR), &why), -EPROTO);
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(ring_continue(&next, ends[0], &why), -EPROTO);
    close(ends[1]);
    int fd = memfd_create("other", 0);
    assert_int_equal(ring_continue(&next, dup(fd), &why), -EPROTO);
    assert_int_equal(ftruncate(fd, 1 << 20), 0);
    assert_int_equal(ring_continue(&next, fd, &why), -EPROTO);
    assert_string_equal(why.text, "ring: the previous process left something that is not a ring");

    struct ring *ring = frames_ring(GREY, 64, 16, 8, 1, 1);
    const struct fftd_ring_header good = *ring->header;
    ring->header->slot_count = 65;
    assert_int_equal(ring_continue(&next, dup(ring->memory.fd), &why), -EPROTO);
    *ring->header = good;
    ring->header->format.plane[0].rows = 17;
    assert_int_equal(ring_continue(&next, dup(ring->memory.fd), &why), -EINVAL);
    *ring->header = good;
    ring->header->newest = UINT64_MAX; /* the writer could not count further */
    assert_int_equal(ring_continue(&next, dup(ring->memory.fd), &why), -EPROTO);
    *ring->header = good;
    assert_null(next);

    /* Slots outside the old ring are not looked for. */
    ring->header->slot_stride = UINT64_MAX / 3;
    assert_int_equal(ring_continue(&next, dup(ring->memory.fd), &why), 0);
    assert_int_equal(next->slot_stride, good.slot_stride);
    ring_destroy(next);
    ring_destroy(ring);
}

struct adoption {
    const char *name;
    int result;
};

static void adopt(struct frames *frames, void *context)
{
    struct adoption *adoption = context;
    struct error why;
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        abort();
    adoption->result = ring_server_adopt(frames->server, ends[0], adoption->name, &why);
    close(ends[1]);
}

/* What lies in the store may have been put there by anybody's successor. */
static void only_clients_are_taken_over(void **state)
{
    struct adoption adoptions[] = {
        {"client-1", 0},
        {"client-18446744073709551614", 0},
        {"client-18446744073709551615", -EINVAL}, /* no number follows it */
        {"client-99999999999999999999", -EINVAL},
        {"client-0", -EINVAL},
        {"client-", -EINVAL},
        {"client--5", -EINVAL},
        {"client-+5", -EINVAL},
        {"client- 5", -EINVAL},
        {"client-5x", -EINVAL},
        {"ring", -EINVAL},
        {"", -EINVAL},
    };
    struct frames frames;
    (void)state;
    frames_start(&frames, NULL, 4);
    for (size_t i = 0; i < sizeof adoptions / sizeof adoptions[0]; i++) {
        const int expected = adoptions[i].result;
        frames_call(&frames, adopt, &adoptions[i]);
        if (adoptions[i].result != expected)
            fail_msg("'%s': %d, not %d", adoptions[i].name, adoptions[i].result, expected);
    }
    frames_stop(&frames);
    frames_remove(&frames);
}

static void numbers_go_on_when_none_was_published(void **state)
{
    struct ring *ring = frames_ring(GREY, 64, 16, 8, 3, 500), *next;
    (void)state;
    assert_int_equal(ring_continue(&next, dup(ring->memory.fd), NULL), 0);
    assert_int_equal(ring_newest(next), 499);
    assert_int_equal(ring_slots(next), 8);
    assert_int_equal(ring_generation(next), 4);
    assert_int_equal(ring_epoch(next), 2);
    frames_publish(next);
    assert_int_equal(ring_newest(next), 500);
    ring_destroy(next);
    ring_destroy(ring);
}

/* The daemon ended after it had completed a frame, and before it announced it. */
static void a_number_is_never_used_again(void **state)
{
    struct ring *ring = frames_ring(GREY, 64, 16, 8, 1, 1), *next;
    (void)state;
    frames_publish(ring);
    uint64_t newest = ring->header->newest;
    frames_publish(ring);
    ring->header->newest = newest;
    assert_int_equal(ring_continue(&next, dup(ring->memory.fd), NULL), 0);
    assert_int_equal(ring_newest(next), 2);
    assert_int_equal(next->header->first_sequence, 3);
    assert_int_equal(next->header->state, FFTD_STATE_OFFLINE);
    ring_destroy(next);
    ring_destroy(ring);
}

#define survival_test(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        survival_test(a_crash_is_a_pause),
        survival_test(crash_after_crash),
        survival_test(an_orderly_restart_is_a_pause),
        survival_test(a_restart_can_change_the_format),
        survival_test(who_leaves_is_forgotten),
        survival_test(who_leaves_at_once_is_not_kept),
        cmocka_unit_test(only_rings_are_continued),
        cmocka_unit_test(only_clients_are_taken_over),
        cmocka_unit_test(numbers_go_on_when_none_was_published),
        cmocka_unit_test(a_number_is_never_used_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
