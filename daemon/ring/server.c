/* The server of the frames socket.
 *
 * A client cannot make the server wait, nor make it use more memory the longer it is connected:
 * - One packet is one request and gets one reply, sent without blocking (client_request.c).
 * - The socket's send buffer is as small as the kernel allows: descriptors that a client has not
 *   received yet count against the daemon's limit.
 * - The event loop limits the rate of requests.
 * - A connection must make its first request in time, and no user gets more than half of them
 *   (core/admission.h).
 * - A client's record is one allocation; the slots it holds are one word, a bit for each slot. */
#include "ring/client.h"

#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/client_limits.h"
#include "service/socket.h"

#define SECOND_US 1000000u

/* ---- the ring in the store ---- */

/* The store may still have the ring of a previous process. */
static void keep_ring(struct ring_server *server, struct ring *ring)
{
    const struct ring_store *store = &server->store;
    char name[RING_STORE_BYTES];
    if (store->keep == NULL || ring->kept)
        return;
    ring_store_name(store->output, name);
    store->forget(store->context, name);
    store->keep(store->context, name, ring->memory.fd);
    ring->kept = true;
}

static void forget_ring(struct ring_server *server, struct ring *ring)
{
    const struct ring_store *store = &server->store;
    char name[RING_STORE_BYTES];
    ring_store_name(store->output, name);
    if (store->forget != NULL && ring->kept)
        store->forget(store->context, name);
    ring->kept = false;
}

/* ---- clients in the store ---- */

static int keep_clients(sd_event_source *timer, uint64_t time_us, void *context)
{
    struct ring_server *server = context;
    int64_t next_ns = INT64_MAX;
    (void)time_us;
    for (struct client *client = server->clients; client != NULL; client = client->next) {
        const int64_t due_ns = client_keep(client);
        if (due_ns < next_ns)
            next_ns = due_ns;
    }
    if (next_ns == INT64_MAX)
        return sd_event_source_set_enabled(timer, SD_EVENT_OFF);
    int r = sd_event_source_set_time(timer, (uint64_t)(next_ns / 1000) + 1);
    return r < 0 ? r : sd_event_source_set_enabled(timer, SD_EVENT_ONESHOT);
}

/* ---- connections ---- */

static void notify_watch(const struct ring_server *server)
{
    if (server->watch != NULL)
        server->watch(server->watch_context, server->client_count > 0);
}

static void client_destroy(struct client *client)
{
    struct ring_server *server = client->server;
    client_detach(client);
    client_release_all(client);
    if (client->link != NULL) {
        *client->link = client->next;
        if (client->next != NULL)
            client->next->link = client->link;
        admission_leave(&client->admitted);
        if (--server->client_count == 0)
            notify_watch(server);
    }
    sd_event_source_disable_unref(client->deadline);
    sd_event_source_disable_unref(client->source);
    close(client->fd);
    free(client);
}

/* Shuts down reading only, so that the client can still fetch what was sent to it, and watches the
 * connection until it has done so or closes its end. */
static int client_leave(struct client *client)
{
    client_detach(client);
    client_release_all(client);
    client->leaving = true;
    shutdown(client->fd, SHUT_RD);
    return sd_event_source_set_io_events(client->source, EPOLLOUT | EPOLLET);
}

/* Ends the connection for good, also in the store; destroying alone leaves it there for a
 * successor. Descriptors in flight survive the daemon's end of a connection. A client that fetches
 * none of them therefore still counts as admitted: otherwise it could connect again and again and
 * have any number of descriptors in flight. */
static void client_drop(struct client *client)
{
    client_forget(client);
    if (!socket_is_unread(client->fd) || client_leave(client) < 0)
        client_destroy(client);
}

static int on_client(sd_event_source *source, int fd, uint32_t revents, void *context)
{
    struct client *client = context;
    struct fftd_message request;
    (void)source, (void)revents;

    if (client->leaving) {
        if (!socket_is_unread(client->fd))
            client_destroy(client);
        return 0;
    }
    /* MSG_TRUNC: returns the packet's real length, also when it is more than fits. */
    ssize_t bytes = recv(fd, &request, sizeof request, MSG_DONTWAIT | MSG_TRUNC);
    if (bytes < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    client->deadline = sd_event_source_disable_unref(client->deadline);
    if (bytes <= 0 || client_answer(client, &request, bytes) < 0)
        client_drop(client);
    else if (!client->kept && client->wake.fd >= 0)
        keep_clients(client->server->keep_timer, 0, client->server);
    return 0;
}

/* A connection that asks for nothing must not keep out others. One that a previous process kept has
 * asked already, and so has no deadline. */
static int on_deadline(sd_event_source *source, uint64_t now_us, void *context)
{
    (void)source, (void)now_us;
    client_drop(context);
    return 0;
}

/* Takes over the descriptor, even if it fails. */
static int client_create(struct ring_server *server, int fd, uid_t uid, struct client **ret)
{
    struct client *client = calloc(1, sizeof *client);
    if (client == NULL) {
        close(fd);
        return -ENOMEM;
    }
    client->server = server;
    client->fd = fd;
    client->wake.fd = -1;
    client->word.fd = -1;
    int space = LIMIT_REPLY_BYTES;
    int r = setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &space, sizeof space) < 0 ? -errno : 0;
    if (r == 0)
        r = sd_event_add_io(server->event, &client->source, fd, EPOLLIN, on_client, client);
    if (r >= 0)
        r = sd_event_source_set_ratelimit(client->source, SECOND_US, LIMIT_REQUESTS_A_SECOND);
    if (r < 0) {
        client_destroy(client);
        return r;
    }
    client->next = server->clients;
    client->link = &server->clients;
    if (client->next != NULL)
        client->next->link = &client->next;
    server->clients = client;
    admission_enter(server->admission, &client->admitted, uid);
    if (++server->client_count == 1)
        notify_watch(server);
    client->id = ++server->last_id;
    *ret = client;
    return 0;
}

/* Drops the clients, of all servers that share the limit, that have closed their ends. The event
 * loop may report a new connection before the end of an older one. */
static void drop_gone(struct admission *admission)
{
    struct admission_entry *next;
    for (struct admission_entry *entry = admission->entries; entry != NULL; entry = next) {
        next = entry->next;
        char *const begin = (char *)entry - offsetof(struct client, admitted);
        struct client *client = (struct client *)begin;
        struct pollfd end = {.fd = client->fd};
        if (poll(&end, 1, 0) > 0 && (end.revents & POLLHUP) != 0)
            client_drop(client);
    }
}

int ring_server_accept(struct ring_server *server, int fd, uid_t uid, struct error *why)
{
    struct client *client;
    struct error limit;
    int r = admission_check(server->admission, uid, &limit);
    if (r < 0) {
        drop_gone(server->admission);
        r = admission_check(server->admission, uid, &limit);
    }
    if (r < 0) {
        error_set(why, -r, "%s: output.max_clients = %u, one user gets half", limit.text,
                  server->admission->limit);
        client_refuse(server, fd, why);
        close(fd);
        return r;
    }
    r = client_create(server, fd, uid, &client);
    if (r == 0) {
        r = sd_event_add_time_relative(server->event, &client->deadline, CLOCK_MONOTONIC,
                                       LIMIT_FIRST_REQUEST_US, 0, on_deadline, client);
        if (r < 0)
            client_destroy(client);
    }
    if (r < 0) {
        server->refused++;
        return error_set(why, -r, "%s", strerror(-r));
    }
    return 0;
}

int ring_server_adopt(struct ring_server *server, int fd, const char *name, struct error *why)
{
    const uint64_t id = ring_store_client_id(server->store.output, name);
    if (id == 0) {
        close(fd);
        return error_set(why, EINVAL, "frames socket: '%s' is not a client's name", name);
    }
    struct client *client;
    int r = client_create(server, fd, socket_uid(fd), &client);
    if (r < 0)
        return error_set(why, -r, "frames socket: cannot continue to serve '%s': %s", name,
                         strerror(-r));
    client->id = id;
    client->kept = true;
    if (server->last_id < id)
        server->last_id = id;
    return 0;
}

/* ---- the server ---- */

int ring_server_create(struct ring_server **ret, struct sd_event *event, unsigned max_clients,
                       struct error *why)
{
    struct ring_server *server = calloc(1, sizeof *server);
    if (server == NULL)
        return error_set(why, ENOMEM, "frames socket: out of memory");
    server->event = sd_event_ref(event);
    server->admission = &server->own_admission;
    admission_init(server->admission, max_clients, LIMIT_SHARE(max_clients), geteuid());
    int r = sd_event_add_time(event, &server->keep_timer, CLOCK_MONOTONIC, UINT64_MAX, 0,
                              keep_clients, server);
    if (r < 0) {
        ring_server_destroy(server);
        return error_set(why, -r, "frames socket: cannot create a timer: %s", strerror(-r));
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
        client_release_all(client);
        if (ring == NULL) {
            client_detach(client); /* a closed wake-up socket wakes the client */
        } else if (client->wake.fd >= 0) {
            waker_remove(&old->waker, &client->wake);
            waker_add(&ring->waker, &client->wake);
        }
    }
    server->ring = ring;
    if (old != NULL) {
        forget_ring(server, old);
        ring_retire(old);
    }
    if (ring != NULL)
        keep_ring(server, ring);
    /* The new ring's waker has the clients now, so it wakes them for the old ring's end. */
    if (ring != NULL)
        waker_poke(&ring->waker);
}

void ring_server_destroy(struct ring_server *server)
{
    if (server == NULL)
        return;
    for (struct client *client = server->clients, *next; client != NULL; client = next) {
        next = client->next;
        client_destroy(client);
    }
    sd_event_source_disable_unref(server->keep_timer);
    sd_event_unref(server->event);
    free(server);
}

/* Descriptors that a client has not fetched leave with it: only those who may change something end
 * servers. */
void ring_server_end(struct ring_server *server)
{
    ring_server_set_ring(server, NULL);
    while (server->clients != NULL) {
        struct client *client = server->clients;
        client_forget(client);
        client_destroy(client);
    }
    ring_server_destroy(server);
}

void ring_server_set_store(struct ring_server *server, const struct ring_store *store)
{
    server->store = *store;
}

void ring_server_join(struct ring_server *server, struct ring_server *other)
{
    server->admission = other->admission;
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
