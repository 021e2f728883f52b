/* Admits all connections, announces changes to them and closes them. */
#include "bus/bus.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <systemd/sd-event.h>

#include "bus/loan.h"
#include "bus/methods.h"
#include "bus/message_bus.h"
#include "core/client_limits.h"

/* Each of the two sockets has its own limits, so that watchers cannot keep out changers. */
struct control_socket {
    struct admission admission;
    struct peer_list peers;
};

struct bus {
    struct peer_services services;
    struct control_socket socket[2]; /* indexed by enum bus_access */
    struct loans loans[2];
};

/* ---- announcements ---- */

static void emit(void *context, const char *const *names)
{
    struct bus *bus = context;
    for (unsigned c = 0; c < 2; c++)
        for (struct peer *p = bus->socket[c].peers.first; p != NULL; p = p->next)
            peer_emit(p, names);
}

static void fail_snapshots(struct bus *bus, const char *text)
{
    for (unsigned c = 0; c < 2; c++)
        for (struct peer *p = bus->socket[c].peers.first; p != NULL; p = p->next)
            snapshot_fail(p, BUS_ERROR_NOT_ONLINE, text);
}

static void fail_snapshots_of_state(struct bus *bus, const struct camera_status *status)
{
    char text[400];
    snprintf(text, sizeof text, "there are no frames: the camera is %s%s%s",
             camera_state_name(status->state), status->state_reason[0] != '\0' ? ": " : "",
             status->state_reason);
    fail_snapshots(bus, text);
}

void bus_announce_filter(struct bus *bus)
{
    method_emit_filter(&bus->services);
}

void bus_announce(struct bus *bus, unsigned camera_events)
{
    static const char *const state[] = {"State",      "StateReason", "Source", "SourceDescription",
                                        "Input",      "Output",      "Engine", "Device",
                                        "Comparison", "Memory",      NULL};
    static const char *const ring[] = {"Format", "Generation", "Engine", "SourceDescription", NULL};
    static const char *const filter[] = {"PublishedSerial", "PublishedView", "FilterProblem",
                                         "FailedSerial", NULL};

    if (camera_events & (CAMERA_EVENT_STATE | CAMERA_EVENT_FRAME))
        emit(bus, state);
    if (camera_events & CAMERA_EVENT_RING)
        emit(bus, ring);
    if (camera_events & CAMERA_EVENT_FILTER)
        emit(bus, filter);
    if (camera_events & CAMERA_EVENT_WITHDRAWN)
        bus_announce_filter(bus);
    if (camera_events & CAMERA_EVENT_STATE) {
        struct camera_status status;
        camera_get_status(bus->services.hooks.camera, &status);
        if (!camera_may_deliver(status.state))
            fail_snapshots_of_state(bus, &status);
    }
}

/* ---- connections ---- */

int bus_accept(struct bus *bus, enum bus_access access, int fd, uid_t uid, struct error *why)
{
    struct control_socket *socket = &bus->socket[access];
    struct peer *peer = NULL;
    int r = admission_check(&socket->admission, (uint32_t)uid, why);
    if (r < 0) {
        close(fd);
        return r;
    }
    r = peer_create(&peer, &bus->services, fd, uid, access == BUS_WATCHER);
    if (r >= 0)
        r = object_add(peer);
    if (r >= 0)
        r = message_bus_add(peer);
    if (r >= 0)
        r = peer_start(peer, &socket->peers, &socket->admission);
    if (r < 0) {
        peer_destroy(peer);
        return error_set(why, -r, "%s", strerror(-r));
    }
    return 0;
}

void bus_destroy(struct bus *bus)
{
    if (bus == NULL)
        return;
    fail_snapshots(bus, "fftd is stopping");
    for (unsigned c = 0; c < 2; c++)
        while (bus->socket[c].peers.first != NULL)
            peer_destroy(bus->socket[c].peers.first);
    for (unsigned c = 0; c < 2; c++)
        loans_finish(&bus->loans[c]);
    sd_event_unref(bus->services.event);
    free(bus);
}

int bus_create(struct bus **ret, struct sd_event *event, const struct bus_hooks *hooks,
               struct error *why)
{
    int r = peer_check_buffers(why);
    if (r < 0)
        return r;
    struct bus *bus = calloc(1, sizeof *bus);
    if (bus == NULL)
        return error_set(why, ENOMEM, "out of memory");
    bus->services = (struct peer_services){.event = sd_event_ref(event),
                                           .hooks = *hooks,
                                           .loans = bus->loans,
                                           .emit = emit,
                                           .context = bus};
    for (unsigned c = 0; c < 2; c++) {
        admission_init(&bus->socket[c].admission, LIMIT_PEERS, LIMIT_PEERS_OF_USER, geteuid());
        if (r >= 0)
            r = loans_init(&bus->loans[c], event);
    }
    if (r < 0) {
        bus_destroy(bus);
        return error_set(why, -r, "%s", strerror(-r));
    }
    *ret = bus;
    return 0;
}
