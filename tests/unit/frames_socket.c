/* The frames socket, spoken to directly: what it answers, and what it puts up with. */
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/cmocka.h"
#include "support/frames.h"

#include "core/clock.h"

#define GREY        FFTD_FOURCC('R', '8', ' ', ' ')
#define MAX_CLIENTS 4

/* Takes the place of libc's function in this program. */
static unsigned accept_calls;
int accept4(int fd, struct sockaddr *addr, socklen_t *addr_len, int flags)
{
    __atomic_fetch_add(&accept_calls, 1, __ATOMIC_RELAXED);
    return (int)syscall(SYS_accept4, fd, addr, addr_len, flags);
}

struct fixture {
    struct frames frames;
    struct ring *ring;
};

static int setup(void **state)
{
    static struct fixture fixture;
    frames_start(&fixture.frames, NULL, MAX_CLIENTS);
    fixture.ring = frames_ring(GREY, 32, 8, 8, 7, 1);
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

/* ---- a client without the library ---- */

static int connect_to(const struct frames *frames)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    /* Whatever goes wrong, no test waits for ever. */
    const struct timeval patience = {.tv_sec = 2};
    snprintf(address.sun_path, sizeof address.sun_path, "%s/frames", frames->dir);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
    return fd;
}

static struct fftd_message request_of(uint32_t kind, uint64_t value)
{
    return (struct fftd_message){
        .magic = FFTD_FRAMES_MAGIC, .kind = kind, .value = value, .generation = 7};
}

/* Receives a reply; the descriptors in it go to fd[2], -1 where there are none. Returns its length,
 * 0 at the end of the connection, -errno. */
static ssize_t receive(int socket_fd, struct fftd_message *reply, int fd[2])
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(2 * sizeof(int))];
    } control;
    struct iovec iov = {reply, sizeof *reply};
    struct msghdr packet = {.msg_iov = &iov,
                            .msg_iovlen = 1,
                            .msg_control = &control,
                            .msg_controllen = sizeof control};
    fd[0] = fd[1] = -1;
    ssize_t bytes = recvmsg(socket_fd, &packet, MSG_CMSG_CLOEXEC);
    const struct cmsghdr *c = bytes > 0 ? CMSG_FIRSTHDR(&packet) : NULL;
    if (c != NULL)
        memcpy(fd, CMSG_DATA(c), c->cmsg_len - CMSG_LEN(0));
    return bytes < 0 ? -errno : bytes;
}

/* One request and its reply's result. */
static int ask(int socket_fd, uint32_t kind, uint64_t value)
{
    struct fftd_message message = request_of(kind, value);
    int fd[2];
    assert_int_equal(send(socket_fd, &message, sizeof message, MSG_NOSIGNAL), sizeof message);
    assert_int_equal(receive(socket_fd, &message, fd), sizeof message);
    assert_int_equal(message.magic, FFTD_FRAMES_MAGIC);
    assert_int_equal(message.kind, kind);
    close(fd[0]);
    close(fd[1]);
    return message.result;
}

static void assert_closed(int socket_fd)
{
    char byte;
    ssize_t bytes = recv(socket_fd, &byte, 1, 0);
    assert_true(bytes == 0 || (bytes < 0 && errno == ECONNRESET));
    close(socket_fd);
}

static unsigned count_fds(void)
{
    unsigned count = 0;
    for (int fd = 0; fd < 1024; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

/* ---- what it answers ---- */

static void attach_brings_two_descriptors(void **state)
{
    struct fixture *f = *state;
    int socket_fd = connect_to(&f->frames);
    struct fftd_message message = request_of(FFTD_REQUEST_ATTACH, FFTD_RING_ABI);
    int fd[2];
    char byte;
    send(socket_fd, &message, sizeof message, 0);
    assert_int_equal(receive(socket_fd, &message, fd), sizeof message);
    assert_int_equal(message.result, 0);
    assert_int_equal(message.generation, 7);
    assert_string_equal(message.text, "");
    assert_true(fd[0] >= 0 && fd[1] >= 0);
    assert_int_equal(fcntl(fd[0], F_GETFL) & O_ACCMODE, O_RDONLY);
    assert_int_equal(send(fd[1], "", 1, MSG_NOSIGNAL), -1);
    assert_int_equal(errno, EPIPE);

    while (read(fd[1], &byte, 1) == 1) /* a wake-up too many is allowed */
        continue;
    assert_int_equal(errno, EAGAIN);
    frames_publish(f->ring);
    struct pollfd wait = {.fd = fd[1], .events = POLLIN};
    assert_int_equal(poll(&wait, 1, FRAMES_PATIENCE_MS), 1);
    assert_int_equal(read(fd[1], &byte, 1), 1);

    struct ring_server_stats stats = frames_stats(&f->frames);
    assert_int_equal(stats.clients, 1);
    assert_int_equal(stats.attached, 1);
    close(fd[0]);
    close(fd[1]);
    close(socket_fd);
    assert_true(frames_settle(&f->frames, 0, 0));
}

/* Receives the reply to ATTACH with a word. */
static void receive_with_word(int socket_fd, struct fftd_message *reply, int fd[3])
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(3 * sizeof(int))];
    } control = {0};
    struct iovec iov = {reply, sizeof *reply};
    struct msghdr packet = {.msg_iov = &iov,
                            .msg_iovlen = 1,
                            .msg_control = &control,
                            .msg_controllen = sizeof control};
    assert_int_equal(recvmsg(socket_fd, &packet, MSG_CMSG_CLOEXEC), sizeof *reply);
    assert_int_equal(control.header.cmsg_len, CMSG_LEN(3 * sizeof(int)));
    memcpy(fd, CMSG_DATA(&control.header), 3 * sizeof(int));
}

/* A client that asks for a wake-up word gets a page of its own, which it can only read. */
static void attach_with_the_flag_brings_a_word(void **state)
{
    struct fixture *f = *state;
    int socket_fd[2], fd[2][3];
    const uint32_t *word[2];
    for (unsigned i = 0; i < 2; i++) {
        struct fftd_message message = request_of(FFTD_REQUEST_ATTACH, FFTD_RING_ABI);
        message.generation = FFTD_ATTACH_WORD;
        socket_fd[i] = connect_to(&f->frames);
        send(socket_fd[i], &message, sizeof message, 0);
        receive_with_word(socket_fd[i], &message, fd[i]);
        assert_int_equal(message.result, 0);
        assert_int_equal(fcntl(fd[i][2], F_GETFL) & O_ACCMODE, O_RDONLY);
        const int seals = fcntl(fd[i][2], F_GET_SEALS);
        assert_true((seals & F_SEAL_SHRINK) && (seals & F_SEAL_SEAL));
        assert_ptr_equal(mmap(NULL, 4, PROT_WRITE, MAP_SHARED, fd[i][2], 0), MAP_FAILED);
        word[i] = mmap(NULL, 4, PROT_READ, MAP_SHARED, fd[i][2], 0);
        assert_ptr_not_equal(word[i], MAP_FAILED);
    }
    struct stat first, second;
    assert_int_equal(fstat(fd[0][2], &first), 0);
    assert_int_equal(fstat(fd[1][2], &second), 0);
    assert_true(first.st_ino != second.st_ino);

    const uint32_t seen[2] = {__atomic_load_n(word[0], __ATOMIC_ACQUIRE),
                              __atomic_load_n(word[1], __ATOMIC_ACQUIRE)};
    frames_publish(f->ring);
    for (unsigned i = 0; i < 2; i++) {
        /* Nobody sleeps on it, so a byte follows. On a busy machine one of an earlier frame comes
         * first: the waker's round for it found these clients attached. */
        struct pollfd wait = {.fd = fd[i][1], .events = POLLIN};
        char byte;
        do {
            assert_int_equal(poll(&wait, 1, FRAMES_PATIENCE_MS), 1);
            assert_int_equal(recv(fd[i][1], &byte, 1, 0), 1);
        } while (__atomic_load_n(word[i], __ATOMIC_ACQUIRE) == seen[i]);
        munmap((void *)word[i], 4);
        for (unsigned k = 0; k < 3; k++)
            close(fd[i][k]);
        close(socket_fd[i]);
    }
    assert_true(frames_settle(&f->frames, 0, 0));
}

static void attach_without_a_ring_says_later(void **state)
{
    struct fixture *f = *state;
    int fd = connect_to(&f->frames);
    frames_set_ring(&f->frames, NULL);
    assert_int_equal(ask(fd, FFTD_REQUEST_ATTACH, FFTD_RING_ABI), -EAGAIN);
    assert_int_equal(ask(fd, FFTD_REQUEST_HOLD, 1), -ENOENT);
    frames_set_ring(&f->frames, f->ring); /* retired by now: no better than none */
    assert_int_equal(ask(fd, FFTD_REQUEST_ATTACH, FFTD_RING_ABI), -EAGAIN);
    close(fd);
}

static void another_abi_is_told_ours(void **state)
{
    struct fixture *f = *state;
    int socket_fd = connect_to(&f->frames);
    struct fftd_message message = request_of(FFTD_REQUEST_ATTACH, FFTD_RING_ABI + 1);
    int fd[2];
    send(socket_fd, &message, sizeof message, 0);
    assert_int_equal(receive(socket_fd, &message, fd), sizeof message);
    assert_int_equal(message.result, -EPROTO);
    assert_int_equal(message.value, FFTD_RING_ABI);
    assert_string_equal(message.text, "this daemon's ring is ABI 1, the client's is 2");
    assert_int_equal(fd[0], -1);
    assert_closed(socket_fd);
    assert_int_equal(frames_stats(&f->frames).refused, 1);
}

static void hold_and_release(void **state)
{
    struct fixture *f = *state;
    int fd = connect_to(&f->frames);
    for (unsigned n = 0; n < 3; n++)
        frames_publish(f->ring);
    assert_int_equal(ask(fd, FFTD_REQUEST_HOLD, 1), 0);
    assert_int_equal(ask(fd, FFTD_REQUEST_HOLD, 1), 0); /* is held already */
    assert_int_equal(ask(fd, FFTD_REQUEST_HOLD, 2), 0);
    assert_int_equal(ask(fd, FFTD_REQUEST_HOLD, 3), -EBUSY); /* half of 4 */
    assert_int_equal(frames_stats(&f->frames).held_slots, 2);
    assert_int_equal(ask(fd, FFTD_REQUEST_RELEASE, 3), -ENOENT);
    assert_int_equal(ask(fd, FFTD_REQUEST_RELEASE, 1), 0);
    assert_int_equal(ask(fd, FFTD_REQUEST_RELEASE, 1), -ENOENT);
    assert_int_equal(ask(fd, FFTD_REQUEST_HOLD, 4), -ENOENT);
    assert_int_equal(frames_stats(&f->frames).held_slots, 1);
    close(fd);
    assert_true(frames_settle(&f->frames, 0, 0));
}

static void what_one_holds_another_cannot_release(void **state)
{
    struct fixture *f = *state;
    int first = connect_to(&f->frames);
    int second = connect_to(&f->frames);
    frames_publish(f->ring);
    assert_int_equal(ask(first, FFTD_REQUEST_HOLD, 1), 0);
    assert_int_equal(ask(second, FFTD_REQUEST_RELEASE, 1), -ENOENT);
    assert_int_equal(ask(second, FFTD_REQUEST_HOLD, 1), 0);
    close(first);
    assert_true(frames_settle(&f->frames, 1, 1));
    close(second);
    assert_true(frames_settle(&f->frames, 0, 0));
}

static void another_generation_is_gone(void **state)
{
    struct fixture *f = *state;
    int fd = connect_to(&f->frames);
    struct ring *next = frames_ring(GREY, 64, 8, 6, 8, 2);
    frames_publish(f->ring);
    assert_int_equal(ask(fd, FFTD_REQUEST_HOLD, 1), 0);
    frames_set_ring(&f->frames, next);
    assert_int_equal(frames_stats(&f->frames).held_slots, 0);
    assert_int_equal(ask(fd, FFTD_REQUEST_HOLD, 1), -ENOENT);
    assert_int_equal(ask(fd, FFTD_REQUEST_RELEASE, 1), -ENOENT);
    close(fd);
    ring_destroy(f->ring);
    f->ring = next;
}

/* ---- what it puts up with ---- */

static void garbage_is_refused(void **state)
{
    struct fixture *f = *state;
    struct fftd_message bad[4] = {request_of(FFTD_REQUEST_ATTACH, 1), request_of(0, 1),
                                  request_of(5, 1), request_of(UINT32_MAX, 1)};
    bad[0].magic ^= 1;
    for (unsigned i = 0; i < 4; i++) {
        int socket_fd = connect_to(&f->frames);
        int fd[2];
        send(socket_fd, &bad[i], sizeof bad[i], 0);
        assert_int_equal(receive(socket_fd, &bad[i], fd), sizeof bad[i]);
        assert_int_equal(bad[i].result, -EBADMSG);
        assert_non_null(strstr(bad[i].text, "expected"));
        assert_closed(socket_fd);
    }
    assert_int_equal(frames_stats(&f->frames).refused, 4);
    assert_int_equal(frames_stats(&f->frames).clients, 0);
}

static void messages_of_another_size_are_refused(void **state)
{
    struct fixture *f = *state;
    static const size_t sizes[] = {1, 4, 127, 129, 4096, 65536};
    static char junk[65536];
    struct fftd_message good = request_of(FFTD_REQUEST_ATTACH, FFTD_RING_ABI);
    memcpy(junk, &good, sizeof good);
    for (unsigned i = 0; i < 6; i++) {
        int socket_fd = connect_to(&f->frames);
        struct fftd_message reply = {0};
        int fd[2];
        send(socket_fd, junk, sizes[i], 0);
        assert_int_equal(receive(socket_fd, &reply, fd), sizeof reply);
        assert_int_equal(reply.result, -EBADMSG);
        char expected[64];
        snprintf(expected, sizeof expected, "a message of %zu bytes: expected 128", sizes[i]);
        assert_string_equal(reply.text, expected);
        assert_closed(socket_fd);
    }
    assert_int_equal(frames_stats(&f->frames).refused, 6);
}

static void descriptors_sent_to_it_are_not_kept(void **state)
{
    struct fixture *f = *state;
    unsigned before = count_fds();
    int fd = connect_to(&f->frames);
    for (unsigned n = 0; n < 50; n++) {
        struct fftd_message message = request_of(FFTD_REQUEST_HOLD, 1);
        union {
            struct cmsghdr header;
            char bytes[CMSG_SPACE(sizeof(int))];
        } control = {.header = {CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS}};
        struct iovec iov = {&message, sizeof message};
        struct msghdr packet = {.msg_iov = &iov,
                                .msg_iovlen = 1,
                                .msg_control = &control,
                                .msg_controllen = sizeof control};
        int reply_fd[2];
        memcpy(CMSG_DATA(&control.header), &fd, sizeof fd);
        ssize_t sent = sendmsg(fd, &packet, 0);
        if (sent < 0 && errno == EPERM) /* from Linux 6.16 on they cannot even be sent */
            sent = send(fd, &message, sizeof message, 0);
        assert_int_equal(sent, sizeof message);
        assert_int_equal(receive(fd, &message, reply_fd), sizeof message);
    }
    /* The client's end and the server's end of the connection. */
    assert_int_equal(count_fds(), before + 2);
    close(fd);
}

static void a_crowd_is_refused_until_somebody_leaves(void **state)
{
    struct fixture *f = *state;
    int fd[MAX_CLIENTS + 1];
    struct fftd_message reply = {0};
    int reply_fd[2];
    for (unsigned i = 0; i < MAX_CLIENTS; i++) {
        fd[i] = connect_to(&f->frames);
        assert_int_equal(ask(fd[i], FFTD_REQUEST_ATTACH, FFTD_RING_ABI), 0);
    }
    fd[MAX_CLIENTS] = connect_to(&f->frames);
    assert_int_equal(receive(fd[MAX_CLIENTS], &reply, reply_fd), sizeof reply);
    assert_int_equal(reply.result, -EUSERS);
    assert_closed(fd[MAX_CLIENTS]);
    assert_int_equal(frames_stats(&f->frames).refused, 1);

    close(fd[0]);
    assert_true(frames_settle(&f->frames, MAX_CLIENTS - 1, 0));
    fd[0] = connect_to(&f->frames);
    assert_int_equal(ask(fd[0], FFTD_REQUEST_ATTACH, FFTD_RING_ABI), 0);
    for (unsigned i = 0; i < MAX_CLIENTS; i++)
        close(fd[i]);
    assert_true(frames_settle(&f->frames, 0, 0));
}

/* Asking and never reading: every reply carries two descriptors, which count against the daemon as
 * long as they are in flight. */
static void a_client_that_does_not_read_is_dropped(void **state)
{
    struct fixture *f = *state;
    const struct fftd_message message = request_of(FFTD_REQUEST_ATTACH, FFTD_RING_ABI);
    int fd = connect_to(&f->frames);
    unsigned sent = 0;
    while (sent < 1000 && send(fd, &message, sizeof message, MSG_NOSIGNAL) == sizeof message)
        sent++;
    assert_true(sent < 1000);
    assert_true(frames_stats(&f->frames).attached < 20);
    close(fd);
    assert_true(frames_settle(&f->frames, 0, 0));
}

/* The same by coming again and again: what was not fetched stays in flight after the connection's
 * end. */
static void who_does_not_fetch_keeps_a_place(void **state)
{
    struct fixture *f = *state;
    const struct fftd_message attach = request_of(FFTD_REQUEST_ATTACH, FFTD_RING_ABI);
    struct fftd_message reply;
    int fd[5 * MAX_CLIENTS], received[2];
    for (unsigned i = 0; i < 5 * MAX_CLIENTS; i++) {
        fd[i] = connect_to(&f->frames);
        send(fd[i], &attach, sizeof attach, MSG_NOSIGNAL);
        while (send(fd[i], "garbage", 7, MSG_NOSIGNAL) == 7)
            continue; /* until it is dropped */
        if (i % 2 == 0)
            shutdown(fd[i], SHUT_RDWR); /* what has come can be fetched all the same */
    }
    assert_int_equal(frames_stats(&f->frames).attached, MAX_CLIENTS);
    assert_int_equal(frames_stats(&f->frames).clients, MAX_CLIENTS);

    while (receive(fd[0], &reply, received) > 0) {
        close(received[0]);
        close(received[1]);
    }
    assert_true(frames_settle(&f->frames, MAX_CLIENTS - 1, 0));
    for (unsigned i = 0; i < 5 * MAX_CLIENTS; i++)
        close(fd[i]);
    assert_true(frames_settle(&f->frames, 0, 0));
}

static void a_stuck_client_costs_nobody_anything(void **state)
{
    struct fixture *f = *state;
    struct fftd_message message = request_of(FFTD_REQUEST_ATTACH, FFTD_RING_ABI);
    int stuck = connect_to(&f->frames);
    int other = connect_to(&f->frames);
    int stuck_fd[2], fd[2];
    send(stuck, &message, sizeof message, 0);
    send(other, &message, sizeof message, 0);
    receive(stuck, &message, stuck_fd);
    receive(other, &message, fd);
    /* It does its worst: it makes its end blocking, never reads, and its socket is long full. */
    assert_int_equal(fcntl(stuck_fd[1], F_SETFL, 0), 0);
    char bytes[64];
    for (unsigned n = 0; n < 6000; n++) {
        frames_publish(f->ring);
        struct pollfd wait = {.fd = fd[1], .events = POLLIN};
        assert_int_equal(poll(&wait, 1, FRAMES_PATIENCE_MS), 1);
        assert_true(read(fd[1], bytes, sizeof bytes) > 0);
    }
    close(stuck);
    close(other);
    close(stuck_fd[0]);
    close(stuck_fd[1]);
    close(fd[0]);
    close(fd[1]);
    assert_true(frames_settle(&f->frames, 0, 0));
}

/* A client reads its wake-ups into a page that the kernel must fetch from somebody who never sends
 * it: a FUSE file, or here userfaultfd. A pipe stays locked meanwhile, and whoever writes it or
 * closes it waits in the kernel, where no signal ends the wait. */
static void a_client_stopped_inside_a_read_delays_nobody(void **state)
{
    struct fixture *f = *state;
    struct fftd_message message = request_of(FFTD_REQUEST_ATTACH, FFTD_RING_ABI);
    int faults = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
    if (faults < 0) {
        printf("skipped: %suserfaultfd: %s\n",
               geteuid() == 0 ? "" : "needs root, or sudo without a password, for ",
               strerror(errno));
        skip();
    }
    close(faults);
    int told[2];
    assert_int_equal(pipe(told), 0);
    pid_t child = fork();
    if (child == 0) {
        struct fftd_message mine = message;
        int fd[2], client = connect_to(&f->frames);
        send(client, &mine, sizeof mine, 0);
        receive(client, &mine, fd);
        const size_t page = (size_t)sysconf(_SC_PAGESIZE);
        void *missing =
            mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        struct uffdio_api api = {.api = UFFD_API};
        struct uffdio_register range = {.range = {(uintptr_t)missing, page},
                                        .mode = UFFDIO_REGISTER_MODE_MISSING};
        faults = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
        if (ioctl(faults, UFFDIO_API, &api) < 0 || ioctl(faults, UFFDIO_REGISTER, &range) < 0)
            _exit(1);
        fcntl(fd[1], F_SETFL, 0);
        if (write(told[1], "", 1) == 1 && read(fd[1], missing, page) < 0)
            _exit(2);
        _exit(0);
    }
    char bytes[64];
    assert_int_equal(read(told[0], bytes, 1), 1);
    /* While it is alone, the writer itself sends its wake-ups. */
    for (unsigned n = 0; n < 100; n++)
        frames_publish(f->ring);
    int other = connect_to(&f->frames), fd[2];
    send(other, &message, sizeof message, 0);
    receive(other, &message, fd);
    bool woken = true;
    for (unsigned n = 0; n < 10 && woken; n++) {
        frames_publish(f->ring);
        struct pollfd wait = {.fd = fd[1], .events = POLLIN};
        woken = poll(&wait, 1, FRAMES_PATIENCE_MS) == 1 && read(fd[1], bytes, sizeof bytes) > 0;
        usleep(10000);
    }
    /* Until it is killed nothing here may end: the server would wait for it, too. */
    kill(child, SIGKILL);
    int status;
    waitpid(child, &status, 0);
    assert_true(WIFSIGNALED(status));
    assert_true(woken);
    close(told[0]);
    close(told[1]);
    close(other);
    close(fd[0]);
    close(fd[1]);
    assert_true(frames_settle(&f->frames, 0, 0));
}

static void the_killed_release_what_they_held(void **state)
{
    struct fixture *f = *state;
    frames_publish(f->ring);
    frames_publish(f->ring);
    for (unsigned n = 0; n < 5; n++) {
        int told[2];
        char byte;
        assert_int_equal(pipe(told), 0);
        pid_t child = fork();
        if (child == 0) {
            int fd = connect_to(&f->frames);
            byte = (char)(ask(fd, FFTD_REQUEST_HOLD, 1) | ask(fd, FFTD_REQUEST_HOLD, 2));
            write(told[1], &byte, 1) == 1 ? pause() : 0;
            _exit(0);
        }
        assert_int_equal(read(told[0], &byte, 1), 1);
        assert_int_equal(byte, 0);
        assert_int_equal(frames_stats(&f->frames).held_slots, 2);
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        close(told[0]);
        close(told[1]);
        assert_true(frames_settle(&f->frames, 0, 0));
    }
}

static void coming_and_going_leaves_nothing_behind(void **state)
{
    struct fixture *f = *state;
    unsigned before = count_fds();
    for (unsigned n = 0; n < 300; n++) {
        int fd = connect_to(&f->frames);
        if (n % 3 != 0)
            assert_int_equal(ask(fd, FFTD_REQUEST_ATTACH, FFTD_RING_ABI), 0);
        if (n % 3 == 1)
            assert_int_equal(ask(fd, FFTD_REQUEST_ATTACH, FFTD_RING_ABI), 0);
        close(fd);
        frames_publish(f->ring);
        /* The limit is on those that are there at once. */
        if (n % MAX_CLIENTS == MAX_CLIENTS - 1)
            assert_true(frames_settle(&f->frames, 0, 0));
    }
    assert_true(frames_settle(&f->frames, 0, 0));
    assert_int_equal(count_fds(), before);
}

/* Until there are descriptors again, the connection stays in the backlog and the socket readable.
 */
static void without_descriptors_it_does_not_spin(void **state)
{
    struct fixture *f = *state;
    struct rlimit limit, none;
    const char *preload = getenv("LD_PRELOAD");
    if (preload != NULL && strstr(preload, "vgpreload") != NULL) {
        puts("skipped: valgrind refuses to use open descriptors above the limit");
        skip();
    }
    int fd = connect_to(&f->frames); /* is served */
    assert_int_equal(ask(fd, FFTD_REQUEST_ATTACH, FFTD_RING_ABI), 0);
    int late = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s/frames", f->frames.dir);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    none = limit;
    none.rlim_cur = 0; /* for new descriptors; open ones stay */
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    const unsigned before = __atomic_load_n(&accept_calls, __ATOMIC_RELAXED);
    const int64_t begin_ns = clock_now_ns();
    const int connected = connect(late, (struct sockaddr *)&address, sizeof address);
    poll(NULL, 0, 1100);
    const unsigned calls = __atomic_load_n(&accept_calls, __ATOMIC_RELAXED) - before;
    const int64_t half_seconds = (clock_now_ns() - begin_ns) / (NS_PER_S / 2);
    const int result = ask(fd, FFTD_REQUEST_HOLD, 1);
    setrlimit(RLIMIT_NOFILE, &limit);
    assert_int_equal(connected, 0);
    assert_in_range(calls, 1, 1 + half_seconds);
    assert_int_equal(result, -ENOENT); /* others are served meanwhile */
    assert_int_equal(ask(late, FFTD_REQUEST_ATTACH, FFTD_RING_ABI), 0);
    close(late);
    close(fd);
    assert_true(frames_settle(&f->frames, 0, 0));
}

struct watched {
    unsigned calls;
    bool has_clients;
};

static void count_watch(void *context, bool has_clients)
{
    struct watched *watched = context;
    watched->calls++;
    watched->has_clients = has_clients;
}

static void watch(struct frames *frames, void *context)
{
    ring_server_watch(frames->server, count_watch, context);
}

struct look {
    const struct watched *at;
    struct watched seen;
};

/* In the thread that writes it. */
static void look(struct frames *frames, void *context)
{
    struct look *look = context;
    (void)frames;
    look->seen = *look->at;
}

static void assert_watched(struct frames *frames, const struct watched *watched, unsigned calls,
                           bool has_clients)
{
    struct look now = {.at = watched};
    frames_call(frames, look, &now);
    assert_int_equal(now.seen.calls, calls);
    assert_int_equal(now.seen.has_clients, has_clients);
}

static void the_first_and_the_last_client_are_told(void **state)
{
    struct fixture *f = *state;
    struct watched watched = {0};
    frames_call(&f->frames, watch, &watched);
    int first = connect_to(&f->frames);
    assert_true(frames_settle(&f->frames, 1, 0));
    assert_watched(&f->frames, &watched, 1, true);
    int second = connect_to(&f->frames);
    assert_int_equal(ask(second, FFTD_REQUEST_ATTACH, FFTD_RING_ABI), 0);
    close(first);
    assert_true(frames_settle(&f->frames, 1, 0));
    assert_watched(&f->frames, &watched, 1, true);
    close(second);
    assert_true(frames_settle(&f->frames, 0, 0));
    assert_watched(&f->frames, &watched, 2, false);
}

#define socket_test(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        socket_test(attach_brings_two_descriptors),
        socket_test(attach_with_the_flag_brings_a_word),
        socket_test(attach_without_a_ring_says_later),
        socket_test(another_abi_is_told_ours),
        socket_test(hold_and_release),
        socket_test(what_one_holds_another_cannot_release),
        socket_test(another_generation_is_gone),
        socket_test(garbage_is_refused),
        socket_test(messages_of_another_size_are_refused),
        socket_test(descriptors_sent_to_it_are_not_kept),
        socket_test(a_crowd_is_refused_until_somebody_leaves),
        socket_test(a_client_that_does_not_read_is_dropped),
        socket_test(who_does_not_fetch_keeps_a_place),
        socket_test(a_stuck_client_costs_nobody_anything),
        socket_test(a_client_stopped_inside_a_read_delays_nobody),
        socket_test(the_killed_release_what_they_held),
        socket_test(without_descriptors_it_does_not_spin),
        socket_test(coming_and_going_leaves_nothing_behind),
        socket_test(the_first_and_the_last_client_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
