/* The frames socket as a state machine. Only link_hold blocks, because fftd_wait has to return
 * within its timeout, even while the daemon is restarted or does not reply.
 *
 * One epoll descriptor, the one that fftd_fd returns, watches for every event:
 * - a byte in the wake-up socket: a frame or a change of state. There is none if the daemon woke
 *   this client on its wake-up word (fftd_wait);
 * - the end of that socket: the daemon has died. The service manager may have kept the connection
 *   for the next daemon, so ATTACH is sent again on it;
 * - a reply on the socket, or its end;
 * - the timer, which is armed only while there is no ring.
 *
 * A map says which frames the client holds, and which ones the daemon was asked to hold. Where the
 * two differ, a request is due. After a new connection none counts as asked, so all holds are
 * requested again. A ring that is not the current one is no longer written, so its frames need no
 * hold. */
#include "link.h"

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

#include "message.h"
#include "word.h"

#define HOLD_TIMEOUT_MS 2000
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

/* Removes the descriptor from epoll explicitly: closing it is not enough if a forked child has a
 * copy. */
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

static void forget_wake_up(struct fftd *camera)
{
    forget(camera, &camera->wake_fd);
    word_close(camera->word);
    camera->word = NULL;
}

static void drop(struct fftd *camera, int error)
{
    forget(camera, &camera->socket_fd);
    forget_wake_up(camera);
    camera->continued = false;
    camera->request_count = 0;
    retry_later(camera, LINK_DOWN, error);
}

/* ---- holds ---- */

static int send_request(struct fftd *camera, enum fftd_request kind, unsigned slot,
                        uint64_t sequence)
{
    int r = message_send(camera->socket_fd, kind, sequence, camera->current->generation);
    if (r == 0)
        camera->request[camera->request_count++] = (struct link_request){kind, slot, sequence};
    return r;
}

/* Brings the daemon's holds on one slot up to date. One request is left for ATTACH. */
static int update_slot(struct fftd *camera, unsigned slot)
{
    struct map *map = camera->current;
    const uint64_t held = map_held(map, slot);
    int r = 0;
    while (r == 0 && map->asked_sequence[slot] != held &&
           camera->request_count < MAX_REQUESTS - 1) {
        const uint64_t asked = map->asked_sequence[slot];
        const enum fftd_request kind = asked != 0 ? FFTD_REQUEST_RELEASE : FFTD_REQUEST_HOLD;
        r = send_request(camera, kind, slot, asked != 0 ? asked : held);
        map->asked_sequence[slot] = asked != 0 ? 0 : held;
    }
    return r;
}

static void send_due_requests(struct fftd *camera)
{
    int r = 0;
    if (camera->state != LINK_UP || map_is_retired(camera->current))
        return;
    for (unsigned i = 0; r == 0 && i < camera->current->slot_count; i++)
        r = update_slot(camera, i);
    if (r < 0)
        drop(camera, r);
}

static void take_hold_reply(struct fftd *camera, const struct link_request *request, int result)
{
    struct map *map = camera->current;
    /* A retired ring is no longer written, so its frames stay intact without a hold. */
    if (result == -ENOENT && map_is_retired(map))
        result = 0;
    camera->hold_result = result;
    if (result != -ENOENT || map->asked_sequence[request->slot] != request->sequence)
        return;
    map->asked_sequence[request->slot] = 0;
    if (map_held(map, request->slot) == request->sequence)
        map_lose_holds(map, request->slot);
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
 * from a restarted daemon, which numbers its frames from 1 again. */
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

/* Takes ownership of all descriptors. */
static void take_attachment(struct fftd *camera, int fd[MESSAGE_FDS])
{
    int r = fd[0] >= 0 && fd[1] >= 0 ? take_ring(camera, fd[0]) : -EPROTO;
    if (r < 0) {
        message_close_fds(fd);
        if (r == -EBUSY)
            retry_later(camera, LINK_WAITING, r);
        else
            drop(camera, r);
        return;
    }
    close(fd[0]);
    forget_wake_up(camera);
    camera->wake_fd = fd[1];
    r = fcntl(fd[1], F_SETFL, O_NONBLOCK) < 0 ? -errno : watch(camera, fd[1]);
    if (fd[2] >= 0) {
        if (r == 0)
            r = word_open(&camera->word, fd[2]);
        close(fd[2]);
    }
    if (r < 0) {
        drop(camera, -EPROTO);
        return;
    }
    camera->continued = true;
    if (map_is_retired(camera->current)) {
        retry_later(camera, LINK_WAITING, -EAGAIN);
        return;
    }
    camera->state = LINK_UP;
    camera->error = 0;
    camera->retry_ms = FIRST_RETRY_MS;
    set_timer(camera, 0);
    memset(camera->current->asked_sequence, 0, sizeof camera->current->asked_sequence);
    send_due_requests(camera);
}

/* ---- replies ---- */

/* The frames from this one on wait for this client. A new client starts at this frame; a
 * reconnected one continues after its last frame. */
static void begin_at(struct fftd *camera, uint64_t first)
{
    if (!camera->lossless || camera->state != LINK_UP)
        return;
    if (camera->last == 0)
        camera->last = first - 1;
    camera->told = first - 1;
}

static void take_attach_reply(struct fftd *camera, const struct fftd_message *reply,
                              int fd[MESSAGE_FDS])
{
    /* An older daemon ignores the flag and names no frame. */
    const bool waits = !camera->lossless || reply->value != 0;
    const int result = reply->result == 0 && !waits ? -EOPNOTSUPP : reply->result;
    if (result == 0) {
        take_attachment(camera, fd);
        begin_at(camera, reply->value);
        return;
    }
    message_close_fds(fd);
    if (result == -EAGAIN)
        retry_later(camera, LINK_WAITING, -EAGAIN);
    else
        drop(camera, result);
}

/* Handles one reply. False: there is none, or the link went down. */
static bool take_reply(struct fftd *camera)
{
    struct fftd_message reply;
    int fd[MESSAGE_FDS];
    int r = message_receive(camera->socket_fd, &reply, fd);
    if (r == -EAGAIN)
        return false;
    if (r == 0 && (camera->request_count == 0 || camera->request[0].kind != reply.kind)) {
        message_close_fds(fd);
        r = -EPROTO;
    }
    if (r < 0) {
        drop(camera, r);
        return false;
    }
    const struct link_request request = camera->request[0];
    camera->request_count--;
    memmove(&camera->request[0], &camera->request[1],
            camera->request_count * sizeof camera->request[0]);
    if (request.kind == FFTD_REQUEST_ATTACH) {
        take_attach_reply(camera, &reply, fd);
        return true;
    }
    message_close_fds(fd);
    if (request.kind == FFTD_REQUEST_HOLD)
        take_hold_reply(camera, &request, reply.result);
    send_due_requests(camera);
    return true;
}

/* ---- asking ---- */

void link_ask(struct fftd *camera)
{
    const uint32_t flags = FFTD_ATTACH_WORD | (camera->lossless ? FFTD_ATTACH_LOSSLESS : 0);
    int r = message_send(camera->socket_fd, FFTD_REQUEST_ATTACH, FFTD_RING_ABI, flags);
    camera->state = LINK_ASKED;
    camera->request[camera->request_count++] = (struct link_request){.kind = FFTD_REQUEST_ATTACH};
    /* A daemon that refuses a connection replies without waiting for the request. */
    if (r == -EPIPE || r == -ECONNRESET)
        take_reply(camera);
    else if (r < 0)
        drop(camera, r);
}

/* Returns a connected socket or -errno. Clients that wait get their turns in the daemon's queue of
 * connections. An attempt that does not wait fails while others keep that queue full. */
static int connect_to(const char *path, int timeout_ms)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const struct timeval timeout = {timeout_ms / 1000, timeout_ms % 1000 * 1000};
    memcpy(address.sun_path, path, sizeof address.sun_path);
    int fd =
        socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | (timeout_ms > 0 ? 0 : SOCK_NONBLOCK), 0);
    if (fd < 0)
        return -errno;
    /* This limit also applies to connecting. */
    if (timeout_ms > 0)
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout);
    if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0 &&
        fcntl(fd, F_SETFL, O_NONBLOCK) == 0)
        return fd;
    int r = errno == EINTR ? -EAGAIN : -errno;
    close(fd);
    return r;
}

void link_start(struct fftd *camera, int timeout_ms)
{
    int r = connect_to(camera->socket_path, timeout_ms);
    if (r >= 0) {
        camera->socket_fd = r;
        r = watch(camera, camera->socket_fd);
    }
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
    /* This daemon has died; another one may have taken the connection over. */
    forget_wake_up(camera);
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
        link_start(camera, 0);
    else if (camera->state == LINK_WAITING)
        link_ask(camera);
}

int link_step(struct fftd *camera, int timeout_ms)
{
    struct epoll_event event[3];
    int count = epoll_wait(camera->epoll_fd, event, 3, timeout_ms);
    if (count < 0)
        return -errno;
    /* Handling one event can close the descriptor of another, and its number can be reused. That
     * is harmless, because no handler blocks. */
    for (int i = 0; i < count; i++) {
        int fd = event[i].data.fd;
        if (fd == camera->timer_fd)
            take_timer(camera);
        else if (fd == camera->socket_fd)
            take_reply(camera);
        else if (fd == camera->wake_fd)
            take_wake(camera);
    }
    return 0;
}

/* ---- frames that wait for this client ---- */

/* There is no reply. The daemon writes no more frames than the ring has before it has read these
 * messages, so that they always fit into the socket. */
void link_tell_read(struct fftd *camera, uint64_t sequence)
{
    if (!camera->lossless || camera->state != LINK_UP || sequence <= camera->told)
        return;
    const int r =
        message_send(camera->socket_fd, FFTD_REQUEST_READ, sequence, camera->current->generation);
    camera->told = sequence;
    if (r < 0)
        drop(camera, r);
}

/* ---- requests about held frames ---- */

void link_update_holds(struct fftd *camera)
{
    while (camera->state == LINK_UP && camera->request_count > 0 && take_reply(camera))
        continue;
    send_due_requests(camera);
}

/* Waits until every request is answered. On failure the link is down. */
static int await_replies(struct fftd *camera, int64_t deadline_ms)
{
    while (camera->state == LINK_UP && camera->request_count > 0) {
        if (take_reply(camera) || camera->state != LINK_UP)
            continue;
        const int64_t left_ms = deadline_ms - link_now_ms();
        struct pollfd wait = {.fd = camera->socket_fd, .events = POLLIN};
        if (left_ms > 0)
            poll(&wait, 1, (int)left_ms);
        else
            drop(camera, -ETIMEDOUT);
    }
    if (camera->state == LINK_UP)
        return 0;
    return camera->error == -ETIMEDOUT || camera->error == -EPROTO ? camera->error : -EPIPE;
}

int link_hold(struct fftd *camera, unsigned slot, uint64_t sequence)
{
    if (camera->state != LINK_UP)
        return -EPIPE;
    const int64_t deadline_ms = link_now_ms() + HOLD_TIMEOUT_MS;
    /* Releases go first: the daemon may need them to have a slot to lend. */
    send_due_requests(camera);
    int r = await_replies(camera, deadline_ms);
    if (r < 0)
        return r;
    r = send_request(camera, FFTD_REQUEST_HOLD, slot, sequence);
    if (r < 0) {
        drop(camera, r);
        return -EPIPE;
    }
    r = await_replies(camera, deadline_ms);
    if (r == 0)
        r = camera->hold_result;
    if (r == 0)
        camera->current->asked_sequence[slot] = sequence;
    return r;
}

/* ---- beginning and end ---- */

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

/* Removes nothing from epoll: in a forked child, that would take the events from its parent. */
void link_finish(struct fftd *camera)
{
    const int fds[] = {camera->socket_fd, camera->wake_fd, camera->timer_fd, camera->epoll_fd};
    for (unsigned i = 0; i < sizeof fds / sizeof fds[0]; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    word_close(camera->word);
}
