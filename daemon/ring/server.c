/* The server of the frames socket.
 *
 * Nothing here waits for a client, and nothing grows with what one does:
 * - One packet is one request and gets one reply, sent without blocking. There is no queue of
 *   replies but the kernel's, and that is made as small as it goes, so that descriptors in flight
 *   to somebody who does not fetch them stay few: the kernel counts them against us. Who lets it
 *   fill is disconnected.
 * - Requests and connections are rate-limited by the event loop: a client that floods us costs a
 *   bounded share of the thread.
 * - Descriptors a client sends are never received, so the kernel drops them.
 * - A client's record is one allocation; what it holds is one word, a bit a slot. */
#include "ring/private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <systemd/sd-event.h>
#include <unistd.h>

#include "core/socket.h"
#include "ring/slot.h"

#define SECOND_US           1000000u
#define REQUESTS_A_SECOND   4096u
#define ACCEPTS_A_SECOND    1024u
#define PIPE_BYTES          4096 /* one page, the least there is */
#define SMALLEST_SEND_SPACE 1    /* what the kernel raises to its minimum, a handful of replies */

struct client {
    struct ring_server *server;
    struct client *next;
    struct client **link; /* what points to this client */
    sd_event_source *source;
    int fd;
    struct ring_listener wake; /* fd -1: never attached */
    uint64_t id;               /* names it in the store */
    bool kept;                 /* is in the store */
    bool leaving;              /* dropped, but has replies to fetch */
    uint64_t held;             /* bit s: slot s of the server's ring is held */
};

struct ring_server {
    sd_event *event;
    sd_event_source *source;
    int listen_fd;
    unsigned max_clients;
    struct ring *ring; /* NULL: none yet */
    struct client *clients;
    unsigned client_count;
    struct ring_store store;     /* all NULL: none */
    ring_server_watch_fn *watch; /* NULL: none */
    void *watch_context;
    uint64_t last_id;
    uint64_t attached;
    uint64_t refused;
};

/* ---- what outlives this process ---- */

/* Only who has attached is kept: what garbage and crowds do stays between them and us. */
static void keep_client(struct client *client)
{
    const struct ring_store *store = &client->server->store;
    char name[32];
    if (store->keep == NULL || client->kept)
        return;
    client->kept = true;
    snprintf(name, sizeof name, RING_STORE_CLIENT "%llu", (unsigned long long)client->id);
    store->keep(store->context, name, client->fd);
}

static void forget_client(struct client *client)
{
    const struct ring_store *store = &client->server->store;
    char name[32];
    if (store->forget == NULL || !client->kept)
        return;
    client->kept = false;
    snprintf(name, sizeof name, RING_STORE_CLIENT "%llu", (unsigned long long)client->id);
    store->forget(store->context, name);
}

/* What is in the store under the ring's name may be one that this process has not even adopted. */
static void keep_ring(struct ring_server *server, struct ring *ring)
{
    const struct ring_store *store = &server->store;
    if (store->keep == NULL || ring->kept)
        return;
    store->forget(store->context, RING_STORE_NAME);
    store->keep(store->context, RING_STORE_NAME, ring->memory.fd);
    ring->kept = true;
}

static void forget_ring(struct ring_server *server, struct ring *ring)
{
    if (server->store.forget != NULL && ring->kept)
        server->store.forget(server->store.context, RING_STORE_NAME);
    ring->kept = false;
}

/* ---- one client ---- */

static void stop_waking(struct client *client)
{
    if (client->wake.fd < 0)
        return;
    if (client->server->ring != NULL)
        ring_remove_listener(client->server->ring, &client->wake);
    close(client->wake.fd);
    client->wake.fd = -1;
}

static void release_all(struct client *client)
{
    while (client->held != 0) {
        unsigned slot = (unsigned)__builtin_ctzll(client->held);
        ring_release(client->server->ring, slot);
        client->held &= client->held - 1;
    }
}

static void tell_watch(const struct ring_server *server)
{
    if (server->watch != NULL)
        server->watch(server->watch_context, server->client_count > 0);
}

static void client_destroy(struct client *client)
{
    stop_waking(client);
    release_all(client);
    if (client->link != NULL) {
        *client->link = client->next;
        if (client->next != NULL)
            client->next->link = client->link;
        if (--client->server->client_count == 0)
            tell_watch(client->server);
    }
    sd_event_source_disable_unref(client->source);
    close(client->fd);
    free(client);
}

/* Has the connection watched until everything is fetched, or thrown away as the client's end is
 * closed. A hang-up alone says little: what has come can be fetched after shutdown. */
static int client_leave(struct client *client)
{
    stop_waking(client);
    release_all(client);
    client->leaving = true;
    shutdown(client->fd, SHUT_RD);
    return sd_event_source_set_io_events(client->source, EPOLLOUT | EPOLLET);
}

/* Ends the connection for good; destroying alone leaves what is in the store to a successor.
 * Descriptors in flight outlive our end of a connection: whoever came, asked and was dropped again
 * and again could have any number of them. So it keeps its place until they have gone. */
static void client_drop(struct client *client)
{
    forget_client(client);
    if (!socket_is_unread(client->fd) || client_leave(client) < 0)
        client_destroy(client);
}

/* ---- requests: each returns 0, or -errno with the reason for the reply ---- */

static int make_pipe(int *ret_read, int *ret_write, struct error *why)
{
    int fd[2];
    if (pipe2(fd, O_CLOEXEC | O_NONBLOCK) < 0)
        return error_set(why, errno, "cannot make the wake-up pipe: %s", strerror(errno));
    /* A page holds more wake-ups than anybody needs; the default is sixteen. */
    fcntl(fd[1], F_SETPIPE_SZ, PIPE_BYTES);
    *ret_read = fd[0];
    *ret_write = fd[1];
    return 0;
}

/* On success the two descriptors are for the reply; fd[1] is the caller's to close. */
static int request_attach(struct client *client, const struct fftd_message *request, int fd[2],
                          struct error *why)
{
    struct ring *ring = client->server->ring;
    if (request->value != FFTD_RING_ABI)
        return error_set(why, EPROTO, "this daemon's ring is ABI %u, the client's is %llu",
                         FFTD_RING_ABI, (unsigned long long)request->value);
    if (ring == NULL || ring_is_retired(ring))
        return error_set(why, EAGAIN, "the camera has no ring yet");
    stop_waking(client);
    int r = make_pipe(&fd[1], &client->wake.fd, why);
    if (r < 0)
        return r;
    fd[0] = ring->memory.client_fd;
    ring_add_listener(ring, &client->wake);
    client->server->attached++;
    keep_client(client);
    return 0;
}

static int check_generation(const struct ring *ring, const struct fftd_message *request,
                            struct error *why)
{
    if (ring == NULL)
        return error_set(why, ENOENT, "the camera has no ring yet");
    if (request->generation != ring->header->generation)
        return error_set(why, ENOENT, "ring %u has been replaced by ring %u", request->generation,
                         ring->header->generation);
    return 0;
}

/* The slot in which the client holds that frame; -ENOENT if it does not. */
static int find_held(const struct client *client, uint64_t sequence)
{
    for (uint64_t left = client->held; left != 0; left &= left - 1) {
        unsigned slot = (unsigned)__builtin_ctzll(left);
        if (slot_load(ring_slot(client->server->ring, slot)->sequence) == sequence)
            return (int)slot;
    }
    return -ENOENT;
}

static int request_hold(struct client *client, const struct fftd_message *request,
                        struct error *why)
{
    struct ring *ring = client->server->ring;
    unsigned slot;
    int r = check_generation(ring, request, why);
    if (r < 0)
        return r;
    if (find_held(client, request->value) >= 0)
        return 0;
    r = ring_hold(ring, request->value, &slot, why);
    if (r < 0)
        return r;
    client->held |= UINT64_C(1) << slot;
    return 0;
}

static int request_release(struct client *client, const struct fftd_message *request,
                           struct error *why)
{
    struct ring *ring = client->server->ring;
    int r = check_generation(ring, request, why);
    if (r < 0)
        return r;
    int slot = find_held(client, request->value);
    if (slot < 0)
        return error_set(why, ENOENT, "frame %llu is not held by this client",
                         (unsigned long long)request->value);
    client->held &= ~(UINT64_C(1) << slot);
    ring_release(ring, (unsigned)slot);
    return 0;
}

/* ---- packets ---- */

static int send_message(int fd, const struct fftd_message *message, const int *fds,
                        unsigned fd_count)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(2 * sizeof(int))];
    } control = {0};
    struct iovec iov = {.iov_base = (void *)message, .iov_len = sizeof *message};
    struct msghdr packet = {.msg_iov = &iov, .msg_iovlen = 1};
    if (fd_count > 0) {
        packet.msg_control = &control;
        packet.msg_controllen = CMSG_SPACE(fd_count * sizeof(int));
        control.header.cmsg_level = SOL_SOCKET;
        control.header.cmsg_type = SCM_RIGHTS;
        control.header.cmsg_len = CMSG_LEN(fd_count * sizeof(int));
        memcpy(CMSG_DATA(&control.header), fds, fd_count * sizeof(int));
    }
    return sendmsg(fd, &packet, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -errno : 0;
}

static struct fftd_message make_reply(uint32_t kind, const struct ring *ring, int result,
                                      const struct error *why)
{
    struct fftd_message reply = {.magic = FFTD_FRAMES_MAGIC, .kind = kind, .result = result};
    if (ring != NULL)
        reply.generation = ring->header->generation;
    if (result == -EPROTO)
        reply.value = FFTD_RING_ABI;
    if (result < 0)
        snprintf(reply.text, sizeof reply.text, "%.*s", (int)sizeof reply.text - 1, why->text);
    return reply;
}

/* Carries the request out and answers it. -errno: the client has to go. */
static int answer(struct client *client, const struct fftd_message *request)
{
    struct ring_server *server = client->server;
    struct error why = {""};
    int fd[2] = {-1, -1};
    int result = -EBADMSG;

    switch ((enum fftd_request)request->kind) {
    case FFTD_REQUEST_ATTACH:
        result = request_attach(client, request, fd, &why);
        break;
    case FFTD_REQUEST_HOLD:
        result = request_hold(client, request, &why);
        break;
    case FFTD_REQUEST_RELEASE:
        result = request_release(client, request, &why);
        break;
    }
    struct fftd_message reply = make_reply(request->kind, server->ring, result, &why);
    int r = send_message(client->fd, &reply, fd, fd[1] >= 0 ? 2 : 0);
    if (fd[1] >= 0)
        close(fd[1]);
    if (result == -EPROTO)
        server->refused++;
    return r < 0 ? r : result == -EPROTO ? result : 0;
}

static bool is_request(const struct fftd_message *message, ssize_t bytes)
{
    return bytes == sizeof *message && message->magic == FFTD_FRAMES_MAGIC &&
           message->kind >= FFTD_REQUEST_ATTACH && message->kind <= FFTD_REQUEST_RELEASE;
}

static void refuse_garbage(struct client *client, const struct fftd_message *message, ssize_t bytes)
{
    struct error why;
    if (bytes != sizeof *message)
        error_set(&why, EBADMSG, "a message of %zd bytes: expected %zu", bytes, sizeof *message);
    else if (message->magic != FFTD_FRAMES_MAGIC)
        error_set(&why, EBADMSG, "a message with magic 0x%08x: expected 0x%08x", message->magic,
                  FFTD_FRAMES_MAGIC);
    else
        error_set(&why, EBADMSG, "a request of kind %u: expected %u .. %u", message->kind,
                  FFTD_REQUEST_ATTACH, FFTD_REQUEST_RELEASE);
    struct fftd_message reply = make_reply(0, client->server->ring, -EBADMSG, &why);
    send_message(client->fd, &reply, NULL, 0);
    client->server->refused++;
}

static int on_client(sd_event_source *source, int fd, uint32_t revents, void *context)
{
    struct client *client = context;
    struct fftd_message request;
    (void)source;
    (void)revents;

    if (client->leaving) {
        if (!socket_is_unread(client->fd))
            client_destroy(client);
        return 0;
    }
    /* MSG_TRUNC: the packet's own length comes back, also when it is more than was asked for. */
    ssize_t bytes = recv(fd, &request, sizeof request, MSG_DONTWAIT | MSG_TRUNC);
    if (bytes < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (bytes <= 0)
        goto gone;
    if (!is_request(&request, bytes)) {
        refuse_garbage(client, &request, bytes);
        goto gone;
    }
    if (answer(client, &request) < 0)
        goto gone;
    return 0;
gone:
    client_drop(client);
    return 0;
}

/* ---- connections ---- */

/* Takes the descriptor over, on failure too. */
static int client_create(struct ring_server *server, int fd, struct client **ret)
{
    struct client *client = calloc(1, sizeof *client);
    if (client == NULL) {
        close(fd);
        return -ENOMEM;
    }
    client->server = server;
    client->fd = fd;
    client->wake.fd = -1;
    int space = SMALLEST_SEND_SPACE;
    int r = setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &space, sizeof space) < 0 ? -errno : 0;
    if (r == 0)
        r = sd_event_add_io(server->event, &client->source, fd, EPOLLIN, on_client, client);
    if (r >= 0)
        r = sd_event_source_set_ratelimit(client->source, SECOND_US, REQUESTS_A_SECOND);
    if (r < 0) {
        client_destroy(client);
        return r;
    }
    client->next = server->clients;
    client->link = &server->clients;
    if (client->next != NULL)
        client->next->link = &client->next;
    server->clients = client;
    if (server->client_count++ == 0)
        tell_watch(server);
    client->id = ++server->last_id;
    *ret = client;
    return 0;
}

static void refuse_crowd(struct ring_server *server, int fd)
{
    struct error why;
    error_set(&why, EUSERS, "this camera serves %u clients, which is all it may",
              server->max_clients);
    struct fftd_message reply = make_reply(FFTD_REQUEST_ATTACH, server->ring, -EUSERS, &why);
    send_message(fd, &reply, NULL, 0);
    server->refused++;
    close(fd);
}

static int on_connection(sd_event_source *source, int listen_fd, uint32_t revents, void *context)
{
    struct ring_server *server = context;
    struct client *client;
    (void)source;
    (void)revents;
    int fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0)
        return 0; /* it went away again, or we are out of descriptors: the next one may do */
    if (server->client_count >= server->max_clients)
        refuse_crowd(server, fd);
    else if (client_create(server, fd, &client) < 0)
        server->refused++;
    return 0;
}

/* ---- the server ---- */

int ring_server_create(struct ring_server **ret, struct sd_event *event, int listen_fd,
                       unsigned max_clients, struct error *why)
{
    struct ring_server *server = calloc(1, sizeof *server);
    if (server == NULL) {
        close(listen_fd);
        return error_set(why, ENOMEM, "frames socket: out of memory");
    }
    server->event = sd_event_ref(event);
    server->listen_fd = listen_fd;
    server->max_clients = max_clients;
    /* A connection may be gone again when accept looks for it: it must not wait for the next. */
    int r = fcntl(listen_fd, F_SETFL, O_NONBLOCK) < 0 ? -errno : 0;
    if (r == 0)
        r = sd_event_add_io(event, &server->source, listen_fd, EPOLLIN, on_connection, server);
    if (r >= 0)
        r = sd_event_source_set_ratelimit(server->source, SECOND_US, ACCEPTS_A_SECOND);
    if (r < 0) {
        error_set(why, -r, "frames socket: cannot be watched: %s", strerror(-r));
        ring_server_destroy(server);
        return r;
    }
    *ret = server;
    return 0;
}

void ring_server_set_ring(struct ring_server *server, struct ring *ring)
{
    struct ring *old = server->ring;
    if (ring == old)
        return;
    for (struct client *client = server->clients; client != NULL; client = client->next) {
        release_all(client);
        if (ring == NULL) {
            stop_waking(client); /* the end of the pipe is news enough */
        } else if (client->wake.fd >= 0) {
            ring_remove_listener(old, &client->wake);
            ring_add_listener(ring, &client->wake);
        }
    }
    server->ring = ring;
    if (old != NULL) {
        forget_ring(server, old);
        ring_retire(old);
    }
    if (ring != NULL)
        keep_ring(server, ring);
    /* The clients' pipes hang on the new ring now: its waker tells them of the old one's end. */
    if (ring != NULL)
        waker_poke(&ring->waker);
}

void ring_server_set_store(struct ring_server *server, const struct ring_store *store)
{
    server->store = *store;
}

/* 0: no client of ours had that name in the store. */
static uint64_t id_of(const char *name)
{
    const size_t prefix = strlen(RING_STORE_CLIENT);
    const char *number = name + prefix;
    if (strncmp(name, RING_STORE_CLIENT, prefix) != 0 ||
        number[strspn(number, "0123456789")] != '\0')
        return 0;
    const uint64_t id = strtoull(number, NULL, 10);
    return id < UINT64_MAX ? id : 0; /* which no number could follow, or too large for one */
}

int ring_server_adopt(struct ring_server *server, int fd, const char *name, struct error *why)
{
    const uint64_t id = id_of(name);
    if (id == 0) {
        close(fd);
        return error_set(why, EINVAL, "frames socket: '%s' is not a client's name", name);
    }
    struct client *client;
    int r = client_create(server, fd, &client);
    if (r < 0)
        return error_set(why, -r, "frames socket: cannot go on serving '%s': %s", name,
                         strerror(-r));
    client->id = id;
    client->kept = true;
    if (server->last_id < id)
        server->last_id = id;
    return 0;
}

void ring_server_destroy(struct ring_server *server)
{
    if (server == NULL)
        return;
    for (struct client *client = server->clients, *next; client != NULL; client = next) {
        next = client->next;
        client_destroy(client);
    }
    sd_event_source_disable_unref(server->source);
    close(server->listen_fd);
    sd_event_unref(server->event);
    free(server);
}

void ring_server_watch(struct ring_server *server, ring_server_watch_fn *changed, void *context)
{
    server->watch = changed;
    server->watch_context = context;
}

void ring_server_get_stats(const struct ring_server *server, struct ring_server_stats *ret)
{
    *ret = (struct ring_server_stats){
        .clients = server->client_count,
        .attached = server->attached,
        .refused = server->refused,
        .held_slots = server->ring != NULL ? server->ring->held_slots : 0,
    };
}
