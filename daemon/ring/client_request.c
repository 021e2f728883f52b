/* One request of a client and its reply.
 *
 * Replies are sent without blocking, and are queued only in the socket. A client that lets it fill
 * is dropped. Descriptors that a client sends are never received, so the kernel
 * drops them. */
#include "ring/client.h"

#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "service/socket.h"

/* The ring, the wake-up socket, and the page of the wake-up word. */
#define ATTACH_FDS 3u
_Static_assert(ATTACH_FDS <= SOCKET_MAX_FDS, "the answer to ATTACH is one packet");

static struct fftd_message make_reply(uint32_t kind, const struct ring *ring, int result,
                                      const struct error *why)
{
    struct fftd_message reply = {.magic = FFTD_FRAMES_MAGIC, .kind = kind, .result = result};
    if (ring != NULL)
        reply.generation = ring->generation;
    if (result == -EPROTO)
        reply.value = FFTD_RING_ABI;
    if (result < 0)
        snprintf(reply.text, sizeof reply.text, "%.*s", (int)sizeof reply.text - 1, why->text);
    return reply;
}

/* ---- requests: each returns 0, or -errno with the reason for the reply ---- */

/* Ignores frames of a ring that has been replaced: those are not kept. */
static int take_read(struct client *client, const struct fftd_message *request)
{
    const struct ring *ring = client->server->ring;
    if (client->lossless && ring != NULL && request->generation == ring->generation)
        client_read(client, request->value);
    return 0;
}

/* Handles what other readers have reported and is still queued: one that has just left may have
 * sent it before this one connected, and the next continues where it stopped. */
static void settle_reads(struct client *newest)
{
    struct fftd_message message;
    for (struct client *client = newest->server->clients; client != NULL; client = client->next)
        while (client != newest && client->lossless && !client->leaving &&
               recv(client->fd, &message, sizeof message, MSG_DONTWAIT | MSG_PEEK | MSG_TRUNC) ==
                   sizeof message &&
               message.magic == FFTD_FRAMES_MAGIC && message.kind == FFTD_REQUEST_READ &&
               recv(client->fd, &message, sizeof message, MSG_DONTWAIT) == sizeof message)
            take_read(client, &message);
}

/* On success fd has the descriptors for the reply, the last one -1 if the client did not ask for a
 * word; all but the ring's are the caller's to close. *ret_first is the first frame that is kept
 * for a client that asked for it. */
static int attach(struct client *client, const struct fftd_message *request, int fd[ATTACH_FDS],
                  uint64_t *ret_first, struct error *why)
{
    const bool with_word = (request->generation & FFTD_ATTACH_WORD) != 0;
    const bool lossless = (request->generation & FFTD_ATTACH_LOSSLESS) != 0;
    struct ring *ring = client->server->ring;
    if (request->value != FFTD_RING_ABI)
        return error_set(why, EPROTO, "this daemon's ring is ABI %u, the client's is %llu",
                         FFTD_RING_ABI, (unsigned long long)request->value);
    if (ring == NULL || ring_is_retired(ring))
        return error_set(why, EAGAIN, "the camera has no ring yet");
    if (lossless && !ring_is_lossless(ring))
        return error_set(why, EOPNOTSUPP,
                         "the ring waits for readers only with output.lossless, and a source that "
                         "can wait");
    int r = client_attach(client, with_word, &fd[1], &fd[2], why);
    if (r < 0)
        return r;
    if (lossless) {
        settle_reads(client);
        *ret_first = client_require(client);
    }
    fd[0] = ring->memory.fd;
    return 0;
}

static int check_generation(const struct ring *ring, const struct fftd_message *request,
                            struct error *why)
{
    if (ring == NULL)
        return error_set(why, ENOENT, "the camera has no ring yet");
    if (request->generation != ring->generation)
        return error_set(why, ENOENT, "ring %u has been replaced by ring %u", request->generation,
                         ring->generation);
    return 0;
}

static int hold(struct client *client, const struct fftd_message *request, struct error *why)
{
    int r = check_generation(client->server->ring, request, why);
    return r < 0 ? r : client_hold(client, request->value, why);
}

static int release(struct client *client, const struct fftd_message *request, struct error *why)
{
    int r = check_generation(client->server->ring, request, why);
    return r < 0 ? r : client_release(client, request->value, why);
}

static int carry_out(struct client *client, const struct fftd_message *request)
{
    struct ring_server *server = client->server;
    struct error why = {""};
    int fd[ATTACH_FDS] = {-1, -1, -1};
    int result = -EBADMSG;
    uint64_t first = 0;

    switch ((enum fftd_request)request->kind) {
    case FFTD_REQUEST_ATTACH:
        result = attach(client, request, fd, &first, &why);
        break;
    case FFTD_REQUEST_HOLD:
        result = hold(client, request, &why);
        break;
    case FFTD_REQUEST_RELEASE:
        result = release(client, request, &why);
        break;
    case FFTD_REQUEST_READ:
        return take_read(client, request);
    }
    struct fftd_message reply = make_reply(request->kind, server->ring, result, &why);
    if (result == 0)
        reply.value = first;
    unsigned fd_count = 0;
    while (fd_count < ATTACH_FDS && fd[fd_count] >= 0)
        fd_count++;
    int r = socket_send(client->fd, &reply, sizeof reply, fd, fd_count);
    for (unsigned i = 1; i < fd_count; i++)
        close(fd[i]);
    if (result == -EPROTO)
        server->refused++;
    return r < 0 ? r : result == -EPROTO ? result : 0;
}

static bool is_request(const struct fftd_message *message, ssize_t bytes)
{
    return bytes == sizeof *message && message->magic == FFTD_FRAMES_MAGIC &&
           message->kind >= FFTD_REQUEST_ATTACH && message->kind <= FFTD_REQUEST_READ;
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
                  FFTD_REQUEST_ATTACH, FFTD_REQUEST_READ);
    struct fftd_message reply = make_reply(0, client->server->ring, -EBADMSG, &why);
    socket_send(client->fd, &reply, sizeof reply, NULL, 0);
    client->server->refused++;
}

int client_answer(struct client *client, const struct fftd_message *request, ssize_t bytes)
{
    if (is_request(request, bytes))
        return carry_out(client, request);
    refuse_garbage(client, request, bytes);
    return -EBADMSG;
}

void client_refuse(struct ring_server *server, int fd, const struct error *why)
{
    struct fftd_message reply = make_reply(FFTD_REQUEST_ATTACH, server->ring, -EUSERS, why), unread;
    /* A request that is unread when the connection ends would make an error of the end, which the
     * client would see instead of the reason. */
    recv(fd, &unread, sizeof unread, MSG_DONTWAIT);
    socket_send(fd, &reply, sizeof reply, NULL, 0);
    server->refused++;
}
