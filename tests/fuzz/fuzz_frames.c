/* The server of the frames socket under whatever two clients at once may send it.
 *
 * Input: steps of 3 bytes: who (bit 0) does what (bits 1-3), a length or kind, a value. After each
 * input everybody leaves, and nothing may be left behind. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <systemd/sd-event.h>
#include <unistd.h>

#include "ring/ring.h"
#include "service/listener.h"

#define PATIENCE_US 3000000

enum action { SEND_REQUEST, SEND_JUNK, READ_REPLY, LEAVE, PUBLISH, REPLACE_RING, ACTIONS };

static sd_event *event;
static struct ring_server *server;
static struct listener *listener;
static struct ring *ring;
static uint32_t generation;
static struct sockaddr_un address = {.sun_family = AF_UNIX};
static socklen_t address_bytes;
static int client[2] = {-1, -1};

static struct ring *new_ring(void)
{
    const struct fftd_format format = {.width = 16,
                                       .height = 16,
                                       .plane_count = 1,
                                       .plane[0] = {0, 16, 16, 16},
                                       .frame_bytes = 256};
    struct ring *fresh;
    if (ring_create(&fresh, &format, 6, 0, ++generation, 1, 1, NULL) < 0)
        abort();
    return fresh;
}

static int on_connection(void *context, int fd, uid_t uid, struct error *why)
{
    return ring_server_accept(context, fd, uid, why);
}

static void start(void)
{
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    int name =
        snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "fftd-fuzz-%d", (int)getpid());
    address_bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)name);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, address_bytes) < 0 || listen(fd, 8) < 0 ||
        sd_event_new(&event) < 0 || ring_server_create(&server, event, 8, NULL) < 0)
        abort();
    const struct listener_options options = {
        .name = "frames", .connected = on_connection, .context = server};
    if (listener_create(&listener, event, fd, &options, NULL) < 0)
        abort();
    ring = new_ring();
    ring_server_set_ring(server, ring);
}

static void serve(void)
{
    while (sd_event_run(event, 0) > 0)
        continue;
}

/* The server limits how fast it listens; what waits for that must not wait for anything else. */
static void serve_patiently(void)
{
    if (sd_event_run(event, PATIENCE_US) <= 0)
        abort();
}

static void join(int who)
{
    if (client[who] >= 0)
        return;
    client[who] = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    while (connect(client[who], (struct sockaddr *)&address, address_bytes) < 0)
        serve_patiently();
}

static void leave(int who)
{
    if (client[who] >= 0)
        close(client[who]);
    client[who] = -1;
}

static void publish(void)
{
    struct ring_write write;
    const struct ring_meta meta = {0};
    ring_begin(ring, &write);
    ring_publish(ring, &write, &meta);
}

static void replace_ring(void)
{
    struct ring *old = ring;
    ring = new_ring();
    ring_server_set_ring(server, ring);
    ring_destroy(old);
}

static void send_request(int who, uint8_t kind, uint8_t value)
{
    struct fftd_message message = {.magic = FFTD_FRAMES_MAGIC ^ (kind >> 7),
                                   .kind = kind & 7,
                                   .value = value,
                                   .generation = generation - (kind >> 6 & 1)};
    send(client[who], &message, sizeof message, MSG_NOSIGNAL);
}

static void send_junk(int who, uint8_t length, uint8_t value)
{
    uint8_t junk[256];
    memset(junk, value, sizeof junk);
    send(client[who], junk, length, MSG_NOSIGNAL);
}

static void read_reply(int who)
{
    struct fftd_message reply;
    /* Without room for descriptors: the kernel drops them. */
    recv(client[who], &reply, sizeof reply, 0);
}

static void step(const uint8_t bytes[3])
{
    int who = bytes[0] & 1;
    join(who);
    switch ((enum action)((bytes[0] >> 1 & 7) % ACTIONS)) {
    case SEND_REQUEST:
        send_request(who, bytes[1], bytes[2]);
        break;
    case SEND_JUNK:
        send_junk(who, bytes[1], bytes[2]);
        break;
    case READ_REPLY:
        read_reply(who);
        break;
    case LEAVE:
        leave(who);
        break;
    case PUBLISH:
        publish();
        break;
    case REPLACE_RING:
        replace_ring();
        break;
    case ACTIONS:
        break;
    }
    if (bytes[0] & 16)
        serve();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ring_server_stats stats;
    if (server == NULL)
        start();
    for (size_t at = 0; at + 3 <= size; at += 3)
        step(data + at);
    leave(0);
    leave(1);
    ring_server_get_stats(server, &stats);
    while (stats.clients != 0) {
        serve_patiently();
        ring_server_get_stats(server, &stats);
    }
    if (stats.held_slots != 0)
        abort();
    return 0;
}
