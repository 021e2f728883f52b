/* Sockets and connections. Every connection is a peer-to-peer bus of its own, served by sd-bus from
 * the main loop; sd-bus does the handshake, checks every message and closes on garbage. What is
 * bounded here is what sd-bus leaves open: how many connections there are, how long a handshake may
 * take, and how many replies and signals wait for a peer that does not read.
 * Not bounded below D-Bus's own limit is the size of one message, 128 MiB, which sd-bus gathers
 * before anybody can look at it: who may connect is trusted with that much memory for a moment.
 *
 * Connections are served at a lower priority than everything else in the loop, so that a flood of
 * calls delays neither clients of the frames socket nor the watchdog. */
#include "control_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <systemd/sd-event.h>
#include <systemd/sd-id128.h>

#include "core/socket.h"
#include "log.h"

#define PRIORITY        (SD_EVENT_PRIORITY_NORMAL + 10)
#define MAX_UNREAD      64 /* messages a peer may leave unread */
#define HANDSHAKE_US    3000000
#define ACCEPT_AGAIN_US 500000 /* after descriptors ran out */

/* ---- one connection ---- */

/* In the one direction only: what the peer has not read yet it may. */
void control_hang_up(struct peer *peer)
{
    shutdown(sd_bus_get_fd(peer->bus), SHUT_RD);
}

static void peer_destroy(struct peer *peer)
{
    if (peer == NULL)
        return;
    control_snapshot_forget(peer);
    control_camera_forget(peer);
    sd_event_source_disable_unref(peer->rest);
    sd_event_source_disable_unref(peer->deadline);
    if (peer->bus != NULL) {
        sd_bus_detach_event(peer->bus);
        sd_bus_close(peer->bus); /* without flushing: that would wait for the peer */
        sd_bus_unref(peer->bus);
    }
    if (peer->socket_fd >= 0)
        close(peer->socket_fd);
    free(peer);
}

static int left_reads(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
    sd_event_source **left = userdata;
    (void)revents; /* a hang-up says little: what has come can be read after shutdown */
    if (!socket_is_unread(fd))
        *left = sd_event_source_disable_unref(source);
    return 0;
}

/* A snapshot that is not read is memory of ours, and descriptors that count against us, after the
 * connection's end too. Whoever came, asked and went again and again could have any number of them;
 * so a place is not free until its snapshots have been read or thrown away. Out of memory, it is.
 */
static void keep_place(struct listener *listener, unsigned place, struct peer *peer)
{
    sd_event_source **left = &listener->left[place];
    if (peer->unread_snapshots == 0 || !socket_is_unread(peer->socket_fd))
        return;
    shutdown(peer->socket_fd, SHUT_RD);
    if (sd_event_add_io(listener->control->event, left, peer->socket_fd, EPOLLOUT | EPOLLET,
                        left_reads, left) < 0)
        return;
    sd_event_source_set_io_fd_own(*left, true);
    sd_event_source_set_priority(*left, PRIORITY);
    peer->socket_fd = -1;
}

static int peer_gone(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
    struct peer *peer = userdata;
    (void)message, (void)error;

    for (unsigned l = 0; l < peer->control->listener_count; l++) {
        struct listener *listener = &peer->control->listener[l];
        for (unsigned p = 0; p < CONTROL_MAX_PEERS; p++)
            if (listener->peer[p] == peer) {
                listener->peer[p] = NULL;
                keep_place(listener, p, peer);
            }
    }
    peer_destroy(peer);
    return 0;
}

static bool keeps_reading(const struct peer *peer)
{
    uint64_t unread = 0;
    return sd_bus_get_n_queued_write(peer->bus, &unread) >= 0 && unread < MAX_UNREAD;
}

/* Sees every message first. */
static int peer_speaks(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
    struct peer *peer = userdata;
    (void)message, (void)error;

    if (keeps_reading(peer))
        return 0;
    log_warning("control: a client of user %u does not read its replies and is dropped",
                (unsigned)peer->uid);
    control_hang_up(peer);
    return 1;
}

/* One message a turn of the loop: to a peer that keeps sending there is no end, and frames, their
 * clients and the watchdog must not wait for it. */
static int read_rest(sd_event_source *source, uint64_t now_us, void *userdata)
{
    struct peer *peer = userdata;
    (void)now_us;
    /* The peer may go meanwhile, and its reference to the bus with it. */
    sd_bus *bus = sd_bus_ref(peer->bus);
    int r = 0;
    if (sd_bus_process(bus, NULL) > 0 && sd_bus_is_open(bus) > 0)
        r = sd_event_source_set_enabled(source, SD_EVENT_ONESHOT); /* its time has come already */
    sd_bus_unref(bus);
    return r;
}

/* The handshake is over. What the peer sent in one packet with the end of it (libdbus sends its
 * first call so) sd-bus has read already and would look at only when more comes. */
static int peer_ready(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
    struct peer *peer = userdata;
    (void)message, (void)error;
    peer->deadline = sd_event_source_disable_unref(peer->deadline);
    int r = sd_event_add_time(peer->control->event, &peer->rest, CLOCK_MONOTONIC, 0, 0, read_rest,
                              peer);
    return r < 0 ? r : sd_event_source_set_priority(peer->rest, PRIORITY);
}

static int handshake_late(sd_event_source *source, uint64_t now_us, void *userdata)
{
    (void)source, (void)now_us;
    control_hang_up(userdata);
    return 0;
}

static int watch_local(struct peer *peer, const char *signal, sd_bus_message_handler_t handler)
{
    return sd_bus_match_signal(peer->bus, NULL, NULL, "/org/freedesktop/DBus/Local",
                               "org.freedesktop.DBus.Local", signal, handler, peer);
}

/* Takes fd over, on failure too. */
static int open_bus(struct peer *peer, int fd)
{
    sd_id128_t id;
    int r = sd_id128_randomize(&id);
    if (r >= 0)
        r = sd_bus_new(&peer->bus);
    if (r >= 0)
        r = sd_bus_set_fd(peer->bus, fd, fd);
    if (r < 0) {
        close(fd);
        return r;
    }
    sd_bus *bus = peer->bus;
    if ((r = sd_bus_set_server(bus, true, id)) < 0 ||
        /* Who may connect is the socket's mode; the kernel says who it was. */
        (r = sd_bus_set_anonymous(bus, true)) < 0 || (r = sd_bus_negotiate_fds(bus, true)) < 0 ||
        /* At the end of the loop sd-bus would wait for peers to read. */
        (r = sd_bus_set_close_on_exit(bus, false)) < 0 ||
        (r = sd_bus_add_filter(bus, NULL, peer_speaks, peer)) < 0 ||
        (r = sd_bus_set_connected_signal(bus, true)) < 0 ||
        (r = watch_local(peer, "Connected", peer_ready)) < 0 ||
        (r = watch_local(peer, "Disconnected", peer_gone)) < 0 ||
        (r = sd_event_add_time_relative(peer->control->event, &peer->deadline, CLOCK_MONOTONIC,
                                        HANDSHAKE_US, 0, handshake_late, peer)) < 0 ||
        (r = control_object_add(peer)) < 0 || (r = sd_bus_start(bus)) < 0)
        return r;
    return sd_bus_attach_event(bus, peer->control->event, PRIORITY);
}

/* Says it once, until connections are accepted again. */
static void complain(struct listener *listener, const char *text)
{
    if (!listener->complained)
        log_warning("control: a connection is refused: %s", text);
    listener->complained = true;
}

/* Takes fd over. */
static void welcome(struct listener *listener, int fd)
{
    unsigned place = 0;
    while (place < CONTROL_MAX_PEERS &&
           (listener->peer[place] != NULL || listener->left[place] != NULL))
        place++;
    struct peer *peer = place < CONTROL_MAX_PEERS ? calloc(1, sizeof *peer) : NULL;
    if (peer == NULL) {
        complain(listener, place < CONTROL_MAX_PEERS ? "out of memory" : "too many are open");
        close(fd);
        return;
    }
    struct ucred who = {.uid = (uid_t)-1};
    socklen_t size = sizeof who;
    getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size);
    *peer = (struct peer){.control = listener->control,
                          .socket_fd = -1,
                          .read_only = listener->read_only,
                          .uid = who.uid};
    int r = open_bus(peer, fd);
    if (r < 0) {
        if (r != -ECONNRESET && r != -EPIPE && r != -ENOTCONN) /* it only looked who is there */
            complain(listener, strerror(-r));
        peer_destroy(peer);
        return;
    }
    listener->peer[place] = peer;
    listener->complained = false;
}

/* ---- sockets ---- */

static int accept_again(sd_event_source *source, uint64_t now_us, void *userdata)
{
    struct listener *listener = userdata;
    (void)source, (void)now_us;
    return sd_event_source_set_enabled(listener->source, SD_EVENT_ON);
}

/* The socket stays readable while nothing can be accepted: looking at it again and again would
 * keep the processor busy. */
static int accept_later(struct listener *listener)
{
    int r = sd_event_source_set_enabled(listener->source, SD_EVENT_OFF);
    if (r >= 0)
        r = sd_event_source_set_time_relative(listener->retry, ACCEPT_AGAIN_US);
    if (r >= 0)
        r = sd_event_source_set_enabled(listener->retry, SD_EVENT_ONESHOT);
    return r;
}

static int on_connection(sd_event_source *source, int listen_fd, uint32_t revents, void *userdata)
{
    struct listener *listener = userdata;
    (void)source, (void)revents;

    int fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd >= 0) {
        welcome(listener, fd);
        return 0;
    }
    if (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED)
        return 0;
    complain(listener, strerror(errno));
    return accept_later(listener);
}

int control_create(struct control **ret, struct sd_event *event, const struct control_hooks *hooks,
                   struct error *why)
{
    struct control *control = calloc(1, sizeof *control);
    if (control == NULL)
        return error_set(why, ENOMEM, "out of memory");
    control->event = sd_event_ref(event);
    control->hooks = *hooks;
    *ret = control;
    return 0;
}

int control_listen(struct control *control, int listen_fd, bool read_only, struct error *why)
{
    if (control->listener_count == CONTROL_MAX_LISTENERS) {
        close(listen_fd);
        return error_set(why, ENOBUFS, "more than %u control sockets", CONTROL_MAX_LISTENERS);
    }
    struct listener *listener = &control->listener[control->listener_count++];
    *listener = (struct listener){.control = control, .fd = listen_fd, .read_only = read_only};

    int r = sd_event_add_io(control->event, &listener->source, listen_fd, EPOLLIN, on_connection,
                            listener);
    if (r >= 0)
        r = sd_event_source_set_priority(listener->source, PRIORITY);
    if (r >= 0)
        r = sd_event_add_time(control->event, &listener->retry, CLOCK_MONOTONIC, 0, 0, accept_again,
                              listener);
    if (r >= 0)
        r = sd_event_source_set_enabled(listener->retry, SD_EVENT_OFF);
    return r < 0 ? error_set(why, -r, "cannot watch a control socket: %s", strerror(-r)) : 0;
}

void control_destroy(struct control *control)
{
    if (control == NULL)
        return;
    for (unsigned l = 0; l < control->listener_count; l++) {
        struct listener *listener = &control->listener[l];
        sd_event_source_disable_unref(listener->source);
        sd_event_source_disable_unref(listener->retry);
        for (unsigned p = 0; p < CONTROL_MAX_PEERS; p++) {
            sd_event_source_disable_unref(listener->left[p]);
            if (listener->peer[p] == NULL)
                continue;
            control_snapshot_fail(listener->peer[p], CONTROL_ERROR_NOT_ONLINE, "fftd is stopping");
            peer_destroy(listener->peer[p]);
        }
        close(listener->fd);
    }
    sd_event_unref(control->event);
    free(control);
}

/* ---- what everybody is told ---- */

void control_emit(struct control *control, const char *const *names)
{
    for (unsigned l = 0; l < control->listener_count; l++)
        for (unsigned p = 0; p < CONTROL_MAX_PEERS; p++) {
            struct peer *peer = control->listener[l].peer[p];
            if (peer == NULL || sd_bus_is_ready(peer->bus) <= 0)
                continue;
            if (keeps_reading(peer))
                sd_bus_emit_properties_changed_strv(peer->bus, CONTROL_PATH, CONTROL_INTERFACE,
                                                    (char **)names);
            else
                control_hang_up(peer);
        }
}

static void fail_snapshots(struct control *control, const struct camera_status *status)
{
    char text[400];
    snprintf(text, sizeof text, "no frame comes: the camera is %s%s%s",
             camera_state_name(status->state), status->state_reason[0] != '\0' ? ": " : "",
             status->state_reason);
    for (unsigned l = 0; l < control->listener_count; l++)
        for (unsigned p = 0; p < CONTROL_MAX_PEERS; p++)
            if (control->listener[l].peer[p] != NULL)
                control_snapshot_fail(control->listener[l].peer[p], CONTROL_ERROR_NOT_ONLINE, text);
}

void control_announce(struct control *control, unsigned camera_events)
{
    static const char *const state[] = {
        "State", "StateReason", "SourceDescription", "Input", "Engine", "Device", NULL};
    static const char *const ring[] = {"Format", "Generation", "Engine", "SourceDescription",
                                       "Source", NULL};
    static const char *const filter[] = {"PublishedSerial", "FilterProblem", NULL};

    if (camera_events & (CAMERA_EVENT_STATE | CAMERA_EVENT_FRAME))
        control_emit(control, state);
    if (camera_events & CAMERA_EVENT_RING)
        control_emit(control, ring);
    if (camera_events & CAMERA_EVENT_FILTER)
        control_emit(control, filter);
    if (camera_events & CAMERA_EVENT_STATE) {
        struct camera_status status;
        camera_get_status(control->hooks.camera, &status);
        if (!camera_may_deliver(status.state))
            fail_snapshots(control, &status);
    }
}
