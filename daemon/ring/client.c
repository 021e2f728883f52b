/* The resources of one client: its wake-up socket and word, the slots it holds, and its
 * connection in the store that outlives this process. */
#include "ring/client.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/client_limits.h"
#include "core/clock.h"
#include "ring/slot.h"

#define WAKE_BYTES    1 /* the kernel raises this to its minimum, a handful of wake-ups */
#define WORD_BYTES    4096u
#define KEEP_AFTER_NS (500 * NS_PER_MS)

/* ---- the store ---- */

void ring_store_name(const char *output, char name[RING_STORE_BYTES])
{
    snprintf(name, RING_STORE_BYTES, "%s%s%s", RING_STORE_NAME, *output != '\0' ? "-" : "", output);
}

static void write_client_prefix(const char *output, char prefix[RING_STORE_BYTES])
{
    snprintf(prefix, RING_STORE_BYTES, "%s%s%s", RING_STORE_CLIENT, output,
             *output != '\0' ? "-" : "");
}

uint64_t ring_store_client_id(const char *output, const char *name)
{
    char prefix[RING_STORE_BYTES];
    write_client_prefix(output, prefix);
    const size_t length = strlen(prefix);
    const char *number = name + length;
    if (strncmp(name, prefix, length) != 0 || number[strspn(number, "0123456789")] != '\0')
        return 0;
    const uint64_t id = strtoull(number, NULL, 10);
    return id < UINT64_MAX ? id : 0; /* no number could follow, or it does not fit */
}

static void name_in_store(const struct client *client, char name[RING_STORE_BYTES])
{
    char prefix[RING_STORE_BYTES];
    write_client_prefix(client->server->store.output, prefix);
    snprintf(name, RING_STORE_BYTES, "%.50s%llu", prefix, (unsigned long long)client->id);
}

/* Only clients that have attached are kept: a connection that sent garbage or nothing is not worth
 * a descriptor in the store. A client that leaves at once is not kept either. It would cost the
 * service manager two messages each time. */
int64_t client_keep(struct client *client)
{
    const struct ring_store *store = &client->server->store;
    char name[RING_STORE_BYTES];
    if (store->keep == NULL || client->kept || client->wake.fd < 0)
        return INT64_MAX;
    const int64_t due_ns = client->attached_ns + KEEP_AFTER_NS;
    if (clock_now_ns() < due_ns)
        return due_ns;
    client->kept = true;
    name_in_store(client, name);
    store->keep(store->context, name, client->fd);
    return INT64_MAX;
}

void client_forget(struct client *client)
{
    const struct ring_store *store = &client->server->store;
    char name[RING_STORE_BYTES];
    if (store->forget == NULL || !client->kept)
        return;
    client->kept = false;
    name_in_store(client, name);
    store->forget(store->context, name);
}

/* ---- wake-ups ---- */

static void release_wake_word(struct client *client)
{
    ring_memory_finish(&client->word);
    client->wake.word = NULL;
}

/* A pipe would not do. A client that reads it into memory that the kernel has to fetch, for example
 * from a FUSE file, keeps the pipe locked. Whoever then writes to the other end or closes it waits
 * in the kernel, even with O_NONBLOCK. */
static int make_wake_sockets(int *ret_client_fd, int *ret_our_fd, struct error *why)
{
    const int bytes = WAKE_BYTES;
    int fd[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fd) < 0)
        return error_set(why, errno, "cannot make the wake-up socket: %s", strerror(errno));
    setsockopt(fd[1], SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
    shutdown(fd[1], SHUT_RD); /* the client cannot send */
    *ret_client_fd = fd[0];
    *ret_our_fd = fd[1];
    return 0;
}

/* A page for each client, because whoever can map a word can move those that sleep on it to
 * another. The client gets it read-only, as it gets the ring. */
static int make_wake_word(struct client *client, int *ret_fd, struct error *why)
{
    int r = ring_memory_create(&client->word, WORD_BYTES, why);
    if (r < 0)
        return r;
    client->wake.word = (uint32_t *)client->word.mapping->base;
    *ret_fd = client->word.fd;
    client->word.fd = -1;
    return 0;
}

int client_attach(struct client *client, bool with_word, int *ret_wake_fd, int *ret_word_fd,
                  struct error *why)
{
    client_detach(client);
    int word_fd = -1;
    int r = with_word ? make_wake_word(client, &word_fd, why) : 0;
    if (r == 0)
        r = make_wake_sockets(ret_wake_fd, &client->wake.fd, why);
    if (r < 0) {
        if (word_fd >= 0)
            close(word_fd);
        release_wake_word(client);
        return r;
    }
    *ret_word_fd = word_fd;
    waker_add(&client->server->ring->waker, &client->wake);
    client->server->attached++;
    if (client->attached_ns == 0)
        client->attached_ns = clock_now_ns();
    return 0;
}

/* ---- frames that are kept until they are read ---- */

/* The ring keeps what the slowest reader needs. Without any it stays as it is. */
static void update_kept(struct ring_server *server)
{
    uint64_t oldest = UINT64_MAX;
    for (const struct client *client = server->clients; client != NULL; client = client->next)
        if (client->lossless && client->needs < oldest)
            oldest = client->needs;
    if (server->ring != NULL && oldest != UINT64_MAX)
        ring_keep_from(server->ring, oldest);
}

uint64_t client_require(struct client *client)
{
    client->lossless = true;
    client->needs = client->server->ring->keep_from;
    return client->needs;
}

void client_read(struct client *client, uint64_t sequence)
{
    const uint64_t newest = ring_newest(client->server->ring);
    if (sequence > newest)
        sequence = newest;
    if (sequence < client->needs)
        return;
    client->needs = sequence + 1;
    update_kept(client->server);
}

static void require_nothing(struct client *client)
{
    if (!client->lossless)
        return;
    client->lossless = false;
    update_kept(client->server);
}

void client_detach(struct client *client)
{
    if (client->wake.fd < 0)
        return;
    require_nothing(client);
    if (client->server->ring != NULL)
        waker_remove(&client->server->ring->waker, &client->wake);
    close(client->wake.fd);
    client->wake.fd = -1;
    release_wake_word(client);
}

/* ---- held slots ---- */

/* The slot in which the client holds that frame, or -ENOENT. */
static int find_held(const struct client *client, uint64_t sequence)
{
    for (uint64_t left = client->held; left != 0; left &= left - 1) {
        unsigned slot = (unsigned)__builtin_ctzll(left);
        if (slot_load(client->server->ring->sequence[slot]) == sequence)
            return (int)slot;
    }
    return -ENOENT;
}

int client_hold(struct client *client, uint64_t sequence, struct error *why)
{
    unsigned slot;
    if (find_held(client, sequence) >= 0)
        return 0;
    /* No client can hold all frames that clients may hold. */
    const unsigned limit = LIMIT_SHARE(ring_lends(client->server->ring));
    if (limit > 0 && (unsigned)__builtin_popcountll(client->held) >= limit)
        return error_set(why, EBUSY,
                         "this client holds %u frames, the limit for one with output.slots = %u",
                         limit, client->server->ring->slot_count);
    int r = ring_hold(client->server->ring, sequence, &slot, why);
    if (r < 0)
        return r;
    client->held |= UINT64_C(1) << slot;
    return 0;
}

int client_release(struct client *client, uint64_t sequence, struct error *why)
{
    int slot = find_held(client, sequence);
    if (slot < 0)
        return error_set(why, ENOENT, "frame %llu is not held by this client",
                         (unsigned long long)sequence);
    client->held &= ~(UINT64_C(1) << slot);
    ring_release(client->server->ring, (unsigned)slot);
    return 0;
}

void client_release_all(struct client *client)
{
    while (client->held != 0) {
        unsigned slot = (unsigned)__builtin_ctzll(client->held);
        ring_release(client->server->ring, slot);
        client->held &= client->held - 1;
    }
}
