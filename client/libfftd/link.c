/* The frames socket, as a state machine that never waits (link_call apart): fftd_wait promises
 * to come back on time, and with a timeout of 0 at once, also while the daemon is being restarted.
 *
 * Everything that can happen is watched by one epoll descriptor, which is what fftd_fd returns:
 * a byte in the wake-up pipe (a frame or a change of state), the pipe's end (the daemon has died,
 * while the socket may live on in the service manager's keeping: ask there who comes next), an
 * answer on the socket or its end, and a timer that runs only while there is nothing to be
 * attached to. */
#include "private.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "slot.h"

#define CALL_TIMEOUT_MS 2000
#define FIRST_RETRY_MS  5
#define LAST_RETRY_MS   250

int64_t link_now_ms(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* ---- descriptors ---- */

static int watch(struct fftd *camera, int fd)
{
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
    return epoll_ctl(camera->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

/* Stops watching by name: a copy of the descriptor in a forked child would keep it watched. */
static void forget(struct fftd *camera, int *fd)
{
    if (*fd < 0)
        return;
    epoll_ctl(camera->epoll_fd, EPOLL_CTL_DEL, *fd, NULL);
    close(*fd);
    *fd = -1;
}

static void set_timer(struct fftd *camera, int ms)
{
    struct itimerspec spec = {.it_value = {ms / 1000, ms % 1000 * 1000000L}};
    timerfd_settime(camera->timer_fd, 0, &spec, NULL);
}

static void retry_later(struct fftd *camera, enum link_state state, int error)
{
    camera->state = state;
    camera->error = error;
    set_timer(camera, camera->retry_ms);
    camera->retry_ms *= 2;
    if (camera->retry_ms > LAST_RETRY_MS)
        camera->retry_ms = LAST_RETRY_MS;
}

static void drop(struct fftd *camera, int error)
{
    forget(camera, &camera->socket_fd);
    forget(camera, &camera->wake_fd);
    camera->continued = false;
    retry_later(camera, LINK_DOWN, error);
}

/* ---- messages ---- */

static int send_request(struct fftd *camera, enum fftd_request kind, uint64_t value)
{
    struct fftd_message request = {.magic = FFTD_FRAMES_MAGIC, .kind = kind, .value = value};
    if (kind != FFTD_REQUEST_ATTACH)
        request.generation = camera->current->generation;
    ssize_t sent = send(camera->socket_fd, &request, sizeof request, MSG_DONTWAIT | MSG_NOSIGNAL);
    return sent < 0 ? -errno : 0;
}

/* Takes two descriptors out of a packet and closes whatever else there is. */
static void take_fds(struct msghdr *packet, int fd[2])
{
    unsigned count = 0;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(packet); c != NULL; c = CMSG_NXTHDR(packet, c)) {
        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
            continue;
        size_t bytes = c->cmsg_len - CMSG_LEN(0);
        for (size_t i = 0; i < bytes / sizeof(int); i++) {
            int received;
            memcpy(&received, CMSG_DATA(c) + i * sizeof(int), sizeof received);
            if (count < 2)
                fd[count++] = received;
            else
                close(received);
        }
    }
}

static void close_fds(const int fd[2])
{
    for (unsigned i = 0; i < 2; i++)
        if (fd[i] >= 0)
            close(fd[i]);
}

/* -EAGAIN: nothing there; -EPIPE: the connection has ended; -EPROTO: what came is no answer;
 * -EMFILE: its descriptors could not be taken in. */
static int receive_answer(struct fftd *camera, struct fftd_message *ret, int fd[2])
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(2 * sizeof(int))];
    } control;
    struct iovec iov = {.iov_base = ret, .iov_len = sizeof *ret};
    struct msghdr packet = {
        .msg_iov = &iov,
        .msg_iovlen = 1,
        .msg_control = &control,
        .msg_controllen = sizeof control,
    };
    fd[0] = fd[1] = -1;
    ssize_t bytes = recvmsg(camera->socket_fd, &packet, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    /* A server that refuses us before it has read our request resets the connection, but its
     * answer is still there to be read after that. */
    if (bytes < 0 && errno == ECONNRESET)
        bytes = recvmsg(camera->socket_fd, &packet, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (bytes < 0)
        return errno == EAGAIN || errno == EINTR ? -EAGAIN : -EPIPE;
    if (bytes == 0)
        return -EPIPE;
    take_fds(&packet, fd);
    if (bytes != sizeof *ret || (packet.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) ||
        ret->magic != FFTD_FRAMES_MAGIC || ret->result > 0 || ret->result < -4095) {
        close_fds(fd);
        /* The kernel leaves out descriptors for which this process has no numbers left. */
        return (packet.msg_flags & MSG_CTRUNC) && fd[1] < 0 ? -EMFILE : -EPROTO;
    }
    return 0;
}

/* ---- attaching ---- */

static struct map *find_unused_map(struct fftd *camera)
{
    for (unsigned i = 0; i < MAX_MAPS; i++)
        if (camera->map[i].serial == 0)
            return &camera->map[i];
    return NULL;
}

/* Makes the ring behind the descriptor the current one. Another ring over another connection is
 * another life of the daemon, whose frames are numbered afresh. */
static int take_ring(struct fftd *camera, int ring_fd)
{
    struct map *old = camera->current;
    if (old != NULL && map_is(old, ring_fd))
        return 0;
    struct map *fresh = find_unused_map(camera);
    if (fresh == NULL)
        return -EBUSY;
    int r = map_open(fresh, ring_fd);
    if (r < 0)
        return r;
    if (++camera->serial == 0)
        camera->serial = 1;
    fresh->serial = camera->serial;
    if (old != NULL)
        map_close_unused(old);
    if (!camera->continued)
        camera->last = 0;
    camera->current = fresh;
    return 0;
}

/* Takes the descriptors over. */
static void take_attachment(struct fftd *camera, int fd[2])
{
    int r = fd[0] >= 0 && fd[1] >= 0 ? take_ring(camera, fd[0]) : -EPROTO;
    if (r < 0) {
        close_fds(fd);
        if (r == -EBUSY)
            retry_later(camera, LINK_WAITING, r);
        else
            drop(camera, r);
        return;
    }
    close(fd[0]);
    forget(camera, &camera->wake_fd);
    camera->wake_fd = fd[1];
    r = fcntl(fd[1], F_SETFL, O_NONBLOCK) < 0 ? -errno : watch(camera, fd[1]);
    if (r < 0) {
        drop(camera, -EPROTO);
        return;
    }
    camera->continued = true;
    if (slot_load(map_header(camera->current)->state) == FFTD_STATE_RETIRED) {
        retry_later(camera, LINK_WAITING, -EAGAIN);
        return;
    }
    camera->state = LINK_UP;
    camera->error = 0;
    camera->retry_ms = FIRST_RETRY_MS;
    set_timer(camera, 0);
    hold_again(camera);
}

static void take_answer(struct fftd *camera)
{
    struct fftd_message answer;
    int fd[2];
    int r = receive_answer(camera, &answer, fd);
    if (r == -EAGAIN)
        return;
    if (r == 0 && camera->state != LINK_ASKED) {
        close_fds(fd);
        r = -EPROTO; /* nothing was asked */
    }
    if (r < 0) {
        drop(camera, r);
        return;
    }
    if (answer.result == 0) {
        take_attachment(camera, fd);
        return;
    }
    close_fds(fd);
    if (answer.result == -EAGAIN)
        retry_later(camera, LINK_WAITING, -EAGAIN);
    else
        drop(camera, answer.result);
}

void link_ask(struct fftd *camera)
{
    int r = send_request(camera, FFTD_REQUEST_ATTACH, FFTD_RING_ABI);
    camera->state = LINK_ASKED;
    /* Whoever was refused on connecting has the reason waiting to be read. */
    if (r == -EPIPE || r == -ECONNRESET)
        take_answer(camera);
    else if (r < 0)
        drop(camera, r);
}

void link_start(struct fftd *camera)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    memcpy(address.sun_path, camera->socket_path, sizeof address.sun_path);
    int r = 0;

    camera->socket_fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (camera->socket_fd < 0 ||
        connect(camera->socket_fd, (struct sockaddr *)&address, sizeof address) < 0)
        r = -errno;
    if (r == 0)
        r = watch(camera, camera->socket_fd);
    if (r < 0) {
        drop(camera, r);
        return;
    }
    link_ask(camera);
}

/* ---- events ---- */

static void take_wake(struct fftd *camera)
{
    char bytes[4096];
    ssize_t got = read(camera->wake_fd, bytes, sizeof bytes);
    if (got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR)))
        return;
    /* The writer of this pipe has gone; somebody else may be listening at the socket. */
    forget(camera, &camera->wake_fd);
    camera->error = -EPIPE;
    if (camera->state == LINK_UP)
        link_ask(camera);
}

static void take_timer(struct fftd *camera)
{
    uint64_t times;
    if (read(camera->timer_fd, &times, sizeof times) < 0)
        return;
    if (camera->state == LINK_DOWN)
        link_start(camera);
    else if (camera->state == LINK_WAITING)
        link_ask(camera);
}

int link_step(struct fftd *camera, int timeout_ms)
{
    struct epoll_event event[3];
    int count = epoll_wait(camera->epoll_fd, event, 3, timeout_ms);
    if (count < 0)
        return -errno;
    /* Dealing with one event can close what another one is about; a number that by then means
     * something else is harmless, since nothing below waits. */
    for (int i = 0; i < count; i++) {
        int fd = event[i].data.fd;
        if (fd == camera->timer_fd)
            take_timer(camera);
        else if (fd == camera->socket_fd)
            take_answer(camera);
        else if (fd == camera->wake_fd)
            take_wake(camera);
    }
    return 0;
}

int link_call(struct fftd *camera, enum fftd_request kind, uint64_t sequence)
{
    struct fftd_message answer;
    int fd[2];
    if (camera->state != LINK_UP)
        return -EPIPE;
    int64_t deadline_ms = link_now_ms() + CALL_TIMEOUT_MS;
    int r = send_request(camera, kind, sequence);
    while (r == 0 && (r = receive_answer(camera, &answer, fd)) == -EAGAIN) {
        int64_t left_ms = deadline_ms - link_now_ms();
        struct pollfd wait = {.fd = camera->socket_fd, .events = POLLIN};
        r = left_ms <= 0 ? -ETIMEDOUT : 0;
        if (r == 0)
            poll(&wait, 1, (int)left_ms);
    }
    if (r == 0) {
        close_fds(fd);
        if (answer.kind == kind)
            return answer.result;
        r = -EPROTO;
    }
    drop(camera, r);
    return r == -ETIMEDOUT || r == -EPROTO ? r : -EPIPE;
}

int link_init(struct fftd *camera)
{
    camera->socket_fd = -1;
    camera->wake_fd = -1;
    camera->timer_fd = -1;
    camera->retry_ms = FIRST_RETRY_MS;
    camera->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (camera->epoll_fd < 0)
        return -errno;
    camera->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (camera->timer_fd < 0)
        return -errno;
    return watch(camera, camera->timer_fd);
}

void link_finish(struct fftd *camera)
{
    forget(camera, &camera->socket_fd);
    forget(camera, &camera->wake_fd);
    forget(camera, &camera->timer_fd);
    if (camera->epoll_fd >= 0)
        close(camera->epoll_fd);
}
