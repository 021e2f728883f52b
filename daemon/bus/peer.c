/* Peers take turns: each has one armed event source at a time, each dispatch of it processes one
 * message, and sd-event serves sources of one priority in the order in which they became ready.
 *
 * sd_bus_attach_event would not do this. Messages that are already buffered depend on its timer,
 * which it sets again before every turn of the loop. The timer therefore comes after the sockets of
 * peers that keep sending, and one such peer keeps all others from finishing their handshake. */
#include "bus/peer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <systemd/sd-id128.h>

#include "bus/value.h"
#include "core/client_limits.h"
#include "filters/filter.h"
#include "service/log.h"
#include "service/socket.h"

/* ---- calls that are answered later ---- */

void peer_call_begin(struct peer *peer, enum peer_call_kind kind, struct peer_call *call,
                     sd_bus_message *message)
{
    *call = (struct peer_call){.peer = peer, .message = sd_bus_message_ref(message)};
    peer->call[kind] = call;
}

void peer_call_end(struct peer_call *call)
{
    for (unsigned kind = 0; call->peer != NULL && kind < PEER_CALL_KINDS; kind++)
        if (call->peer->call[kind] == call)
            call->peer->call[kind] = NULL;
    call->peer = NULL;
    call->message = sd_bus_message_unref(call->message);
}

void peer_call_fail(const struct peer_call *call, const char *name, const char *text)
{
    char clean[VALUE_TEXT_BYTES];
    if (call->message != NULL)
        sd_bus_reply_method_errorf(call->message, name, "%s", value_clean_text(clean, text));
}

static void end_calls(struct peer *peer)
{
    for (unsigned kind = 0; kind < PEER_CALL_KINDS; kind++)
        if (peer->call[kind] != NULL) {
            struct peer_call *call = peer->call[kind];
            peer_call_end(call);
            if (call->on_leave != NULL)
                call->on_leave(call);
        }
}

/* Returns whether a worker carries out the peer's last call. */
static bool is_waiting(const struct peer *peer)
{
    return peer->call[PEER_CALL_SLOW] != NULL;
}

/* ---- the end ---- */

void peer_destroy(struct peer *peer)
{
    if (peer == NULL)
        return;
    end_calls(peer);
    admission_leave(&peer->admitted);
    sd_event_source_disable_unref(peer->io);
    sd_event_source_disable_unref(peer->turn);
    sd_event_source_disable_unref(peer->deadline.source);
    for (unsigned i = 0; i < CONFIG_MAX_OUTPUTS; i++) { /* they hold the bus */
        sd_bus_slot_unref(peer->object[i].properties);
        sd_bus_slot_unref(peer->object[i].methods);
    }
    sd_bus_close(peer->bus); /* without flushing, which would wait for the peer */
    sd_bus_unref(peer->bus);
    if (peer->pass_fd >= 0)
        close(peer->pass_fd);
    close(peer->fd);
    free(peer->received);
    free(peer);
}

/* A snapshot that the peer has not received occupies the daemon's memory and counts against its
 * limit of descriptors, even after the daemon has closed the connection. A client that connects,
 * asks and disconnects in a loop could collect any number of them. It therefore counts as a peer
 * until it has received the snapshots or closed its end. */
static int leave(struct peer *peer)
{
    int r = -ENOENT;
    if (peer->unread_snapshots > 0 && socket_is_unread(peer->fd)) {
        end_calls(peer);
        peer->leaving = true;
        shutdown(peer->fd, SHUT_RD);
        peer->deadline.source = sd_event_source_disable_unref(peer->deadline.source);
        peer->turn = sd_event_source_disable_unref(peer->turn);
        r = sd_event_source_set_io_events(peer->io, EPOLLOUT | EPOLLET);
        if (r >= 0)
            r = sd_event_source_set_enabled(peer->io, SD_EVENT_ON);
    }
    if (r < 0)
        peer_destroy(peer);
    return 0;
}

void peer_resume(struct peer *peer)
{
    peer->has_buffered = true; /* there may be messages that were received with the call */
    if (peer->turn != NULL)
        sd_event_source_set_enabled(peer->turn, SD_EVENT_ONESHOT);
}

void peer_hang_up(struct peer *peer)
{
    peer->hung_up = true;
    peer_resume(peer);
}

/* ---- turns ---- */

/* Arms one of the two sources. Called before the loop waits and after each turn. */
static int plan_turn(sd_event_source *io, void *userdata)
{
    struct peer *peer = userdata;
    uint64_t due_us = UINT64_MAX;
    if (peer->leaving)
        return 0;
    const bool has_work = peer->hung_up || peer->has_buffered ||
                          (sd_bus_get_timeout(peer->bus, &due_us) > 0 && due_us == 0);
    int events = sd_bus_get_events(peer->bus);
    if (events > 0 && is_waiting(peer))
        events &= ~EPOLLIN;
    int r = sd_event_source_set_enabled(peer->turn, has_work ? SD_EVENT_ONESHOT : SD_EVENT_OFF);
    if (r >= 0)
        r = sd_event_source_set_enabled(io, has_work ? SD_EVENT_OFF : SD_EVENT_ON);
    if (r >= 0 && !has_work)
        r = sd_event_source_set_io_events(io, events > 0 ? (uint32_t)events : 0);
    return r;
}

/* Reads as many bytes as fit. There is no room for descriptors, so the kernel drops them. */
static int receive(struct peer *peer)
{
    const size_t room = LIMIT_MESSAGE_BYTES - peer->received_count;
    if (room == 0) /* the peer does not read its replies during the authentication */
        return -EMSGSIZE;
    const ssize_t bytes = recv(peer->fd, peer->received + peer->received_count, room, MSG_DONTWAIT);
    if (bytes == 0)
        return -ECONNRESET;
    if (bytes < 0)
        return errno == EAGAIN || errno == EINTR ? 0 : -errno;
    peer->received_count += (size_t)bytes;
    return 0;
}

/* A deadline consists of parts, of which one runs at a time, so that a main loop that was busy for
 * longer than a part has used up no more than one: the peer could not be served meanwhile. */
#define DEADLINE_PARTS 8

static int arm_part(struct peer *peer)
{
    const int r = sd_event_source_set_time_relative(peer->deadline.source, peer->deadline.part_us);
    return r < 0 ? r : sd_event_source_set_enabled(peer->deadline.source, SD_EVENT_ONESHOT);
}

static int arm_deadline(struct peer *peer, uint64_t length_us)
{
    peer->deadline.part_us = length_us / DEADLINE_PARTS;
    peer->deadline.parts = DEADLINE_PARTS;
    return arm_part(peer);
}

/* Arms the deadline when the first bytes of a message arrive, and disarms it after the last. */
static int plan_deadline(struct peer *peer, bool is_incomplete)
{
    if (!peer->connected) /* the deadline of the handshake runs */
        return 0;
    if (!is_incomplete)
        return sd_event_source_set_enabled(peer->deadline.source, SD_EVENT_OFF);
    int r = sd_event_source_get_enabled(peer->deadline.source, NULL);
    return r != 0 ? r : arm_deadline(peer, LIMIT_MESSAGE_US);
}

/* Passes the next line or message on to the bus, which has processed everything before it. The pair
 * of sockets is therefore empty, and `connected` says whether the authentication is over. */
static int pass_on(struct peer *peer)
{
    /* Pass the next line on only once the bus has sent its reply to the previous one. */
    if (!peer->connected && (sd_bus_get_events(peer->bus) & EPOLLOUT) != 0)
        return 0;
    const ptrdiff_t length =
        dbus_framing_next(peer->connected, peer->received, peer->received_count);
    if (length < 0)
        return (int)length;
    if (length > 0) {
        if (send(peer->pass_fd, peer->received, (size_t)length, MSG_DONTWAIT | MSG_NOSIGNAL) !=
            length)
            return -EIO;
        peer->received_count -= (size_t)length;
        memmove(peer->received, peer->received + length, peer->received_count);
        peer->has_buffered = true;
    }
    return plan_deadline(peer, length == 0 && peer->received_count > 0);
}

/* Processes one message. */
static int take_turn(struct peer *peer)
{
    if (peer->hung_up || sd_bus_is_open(peer->bus) <= 0)
        return leave(peer);
    int r = 0;
    if (!peer->has_buffered && !is_waiting(peer))
        r = receive(peer);
    if (r >= 0 && !peer->has_buffered && !is_waiting(peer))
        r = pass_on(peer);
    if (r >= 0)
        r = sd_bus_process(peer->bus, NULL);
    if (r < 0 || sd_bus_is_open(peer->bus) <= 0) /* the peer sent garbage or has closed its end */
        return leave(peer);
    peer->has_buffered = r > 0;
    if (r == 0 && !is_waiting(peer) && pass_on(peer) < 0)
        return leave(peer);
    return plan_turn(peer->io, peer);
}

static int on_turn(sd_event_source *source, uint64_t now_us, void *userdata)
{
    (void)source, (void)now_us;
    return take_turn(userdata);
}

static int on_io(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
    struct peer *peer = userdata;
    if (!peer->leaving && is_waiting(peer) && (revents & EPOLLHUP) != 0) {
        if (!peer->call[PEER_CALL_SLOW]->outlives_connection)
            return leave(peer);
        return sd_event_source_set_enabled(source, SD_EVENT_OFF); /* until peer_resume */
    }
    if (!peer->leaving)
        return take_turn(peer);
    if (!socket_is_unread(fd))
        peer_destroy(peer);
    return 0;
}

/* ---- messages ---- */

static bool keeps_reading(const struct peer *peer)
{
    uint64_t unread = 0;
    return sd_bus_get_n_queued_write(peer->bus, &unread) >= 0 && unread < LIMIT_UNREAD_MESSAGES;
}

/* sd-bus shows every message to this function before it calls a method. */
static int on_message(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
    struct peer *peer = userdata;
    (void)message, (void)error;

    if (keeps_reading(peer))
        return 0;
    log_warning("control: a client of user %u does not read its replies and is disconnected",
                (unsigned)peer->uid);
    peer_hang_up(peer);
    return 1;
}

static int on_connected(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
    struct peer *peer = userdata;
    (void)message, (void)error;
    peer->connected = true;
    return sd_event_source_set_enabled(peer->deadline.source, SD_EVENT_OFF);
}

static int on_deadline(sd_event_source *source, uint64_t now_us, void *userdata)
{
    struct peer *peer = userdata;
    (void)source, (void)now_us;
    return --peer->deadline.parts > 0 ? arm_part(peer) : leave(peer);
}

/* A path may not contain hyphens, and a name no underscores. */
void peer_object_path(const struct peer *peer, unsigned output, char path[OBJECT_PATH_BYTES])
{
    const char *name = config_output_name(peer->services->hooks.config, output);
    snprintf(path, OBJECT_PATH_BYTES, "%s%s%s", OBJECT_PATH, output > 0 ? "/outputs/" : "",
             output > 0 ? name : "");
    for (char *at = path; *at != '\0'; at++)
        if (*at == '-')
            *at = '_';
}

unsigned peer_output_at(const struct peer *peer, const char *path)
{
    char known[OBJECT_PATH_BYTES];
    for (unsigned i = 1; i < config_output_count(peer->services->hooks.config); i++) {
        peer_object_path(peer, i, known);
        if (strcmp(known, path) == 0)
            return i;
    }
    return 0;
}

bool peer_has_output_of(const struct peer *peer, sd_bus_message *call)
{
    const char *path = sd_bus_message_get_path(call);
    return strcmp(path, OBJECT_PATH) == 0 || peer_output_at(peer, path) != 0;
}

unsigned peer_output_of(const struct peer *peer, sd_bus_message *call)
{
    return peer_output_at(peer, sd_bus_message_get_path(call));
}

bool peer_is_ready(const struct peer *peer)
{
    return !peer->leaving && sd_bus_is_ready(peer->bus) > 0;
}

void peer_emit(struct peer *peer, sd_bus_message *signal)
{
    if (keeps_reading(peer))
        sd_bus_send(peer->bus, signal, NULL);
    else
        peer_hang_up(peer);
}

bool peer_has_read_everything(const struct peer *peer)
{
    uint64_t queued = 0;
    return sd_bus_get_n_queued_write(peer->bus, &queued) >= 0 && queued == 0 &&
           !socket_is_unread(peer->fd);
}

int peer_fail(sd_bus_error *error, const char *name, const char *text)
{
    char clean[VALUE_TEXT_BYTES];
    return sd_bus_error_set(error, name, value_clean_text(clean, text));
}

int peer_refuse_read_only(const struct peer *peer, sd_bus_error *error)
{
    if (!peer->is_watcher)
        return 0;
    return sd_bus_error_setf(error, SD_BUS_ERROR_ACCESS_DENIED,
                             "permission denied: this socket is read-only, changes need %s/control",
                             peer->services->hooks.config->output.runtime_dir);
}

/* ---- the beginning ---- */

_Static_assert(LIMIT_MESSAGE_BYTES <= LIMIT_MESSAGE_CEILING,
               "32-bit kernels refuse a buffer for the longest message");
_Static_assert(LIMIT_MESSAGE_BYTES >= FILTER_TEXT_BYTES + 1024,
               "a message has to hold the text of any chain");

/* Makes the pair of sockets through which whole messages are passed on. A buffer must have twice
 * the bytes of a message, because the kernel counts its own overhead in it. The kernel doubles what
 * is asked for, but limits it to net.core.wmem_max without an error. -ENOBUFS: that is too small.
 */
static int make_pair(int ends[2])
{
    const int wanted = LIMIT_MESSAGE_BYTES;
    int granted = 0;
    socklen_t size = sizeof granted;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) < 0)
        return -errno;
    if (setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &wanted, sizeof wanted) == 0 &&
        getsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &granted, &size) == 0 && granted >= 2 * wanted)
        return 0;
    close(ends[0]);
    close(ends[1]);
    return -ENOBUFS;
}

int peer_check_buffers(struct error *why)
{
    int ends[2];
    const int r = make_pair(ends);
    if (r == -ENOBUFS)
        return error_set(why, ENOBUFS,
                         "control sockets: the kernel limits buffers of sockets to fewer bytes "
                         "than a message may have: raise net.core.wmem_max to at least %u",
                         LIMIT_MESSAGE_BYTES);
    if (r < 0)
        return error_set(why, -r, "control sockets: cannot make a pair of sockets: %s",
                         strerror(-r));
    close(ends[0]);
    close(ends[1]);
    return 0;
}

/* Gives the bus a socket to read from, whose other end the peer keeps, and one to write to. */
static int make_bus(struct peer *peer)
{
    int ends[2];
    int r = sd_bus_new(&peer->bus);
    if (r < 0 || (r = make_pair(ends)) < 0)
        return r;
    peer->pass_fd = ends[0];
    const int copy = fcntl(peer->fd, F_DUPFD_CLOEXEC, 3);
    r = copy < 0 ? -errno : sd_bus_set_fd(peer->bus, ends[1], copy);
    if (r >= 0)
        return 0;
    close(ends[1]);
    if (copy >= 0)
        close(copy);
    return r;
}

int peer_create(struct peer **ret, const struct peer_services *services, int fd, uid_t uid,
                bool is_watcher)
{
    sd_id128_t id;
    struct peer *peer = calloc(1, sizeof *peer);
    if (peer == NULL) {
        close(fd);
        return -ENOMEM;
    }
    *peer = (struct peer){
        .services = services, .fd = fd, .pass_fd = -1, .is_watcher = is_watcher, .uid = uid};
    peer->received = malloc(LIMIT_MESSAGE_BYTES);
    int r = peer->received == NULL ? -ENOMEM : sd_id128_randomize(&id);
    if (r >= 0)
        r = make_bus(peer);
    if (r < 0)
        goto fail;
    if ((r = sd_bus_set_server(peer->bus, true, id)) < 0 ||
        /* The socket's mode decides who may connect; SO_PEERCRED has the user. */
        (r = sd_bus_set_anonymous(peer->bus, true)) < 0 ||
        (r = sd_bus_negotiate_fds(peer->bus, true)) < 0 ||
        (r = sd_bus_add_filter(peer->bus, NULL, on_message, peer)) < 0 ||
        (r = sd_bus_set_connected_signal(peer->bus, true)) < 0 ||
        (r = sd_bus_match_signal(peer->bus, NULL, NULL, "/org/freedesktop/DBus/Local",
                                 "org.freedesktop.DBus.Local", "Connected", on_connected, peer)) <
            0)
        goto fail;
    *ret = peer;
    return 0;
fail:
    peer_destroy(peer);
    return r;
}

/* The deadline keeps the default priority: it must not wait for other peers' messages. */
static int add_sources(struct peer *peer, struct sd_event *event)
{
    int r = sd_event_add_io(event, &peer->io, peer->fd, EPOLLIN, on_io, peer);
    if (r >= 0)
        r = sd_event_source_set_priority(peer->io, BUS_PRIORITY);
    if (r >= 0)
        r = sd_event_source_set_prepare(peer->io, plan_turn);
    if (r >= 0) /* its time is in the past, so it is due as soon as it is armed */
        r = sd_event_add_time(event, &peer->turn, CLOCK_MONOTONIC, 0, 0, on_turn, peer);
    if (r >= 0)
        r = sd_event_source_set_priority(peer->turn, BUS_PRIORITY);
    if (r >= 0)
        r = sd_event_add_time(event, &peer->deadline.source, CLOCK_MONOTONIC, UINT64_MAX, 0,
                              on_deadline, peer);
    return r < 0 ? r : arm_deadline(peer, LIMIT_HANDSHAKE_US);
}

int peer_start(struct peer *peer, struct admission *admission)
{
    int r = sd_bus_start(peer->bus);
    if (r >= 0)
        r = add_sources(peer, peer->services->event);
    if (r < 0)
        return r;
    admission_enter(admission, &peer->admitted, (uint32_t)peer->uid);
    return 0;
}
