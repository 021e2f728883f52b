/* The D-Bus object org.fftd.Camera1 at /org/fftd/camera, served peer to peer on local sockets
 * (AF_UNIX SOCK_STREAM, no broker). Main thread only.
 *
 * Files, each of which calls only those before it: value.c (values on the bus), loan.c (memory of
 * snapshots), peer.c (one connection), properties.c, kinds.c, response.c, filter.c, tune.c,
 * controls.c and snapshot.c (methods), object.c (the interface), message_bus.c (what clients of a
 * message bus ask first), bus.c (all connections). peer.h says what a peer can cost the daemon. */
#ifndef FFTD_BUS_BUS_H
#define FFTD_BUS_BUS_H

#include <sys/types.h>

#include "bus/hooks.h"
#include "core/error.h"

struct bus;
struct sd_event;

/* hooks is copied. */
int bus_create(struct bus **ret, struct sd_event *event, const struct bus_hooks *hooks,
               struct error *why);

/* The socket that a connection came from decides what it may do. */
enum bus_access {
    BUS_CHANGER, /* `control` */
    BUS_WATCHER, /* `control-watch`: every method that changes something is refused */
};

/* Serves a new connection of a process of this user. Takes the descriptor over, on failure too.
 * -EUSERS: too many connections of this access. */
int bus_accept(struct bus *bus, enum bus_access access, int fd, uid_t uid, struct error *why);

/* Reports changes to every peer (PropertiesChanged). Takes camera_take_events' bits. */
void bus_announce(struct bus *bus, unsigned camera_events);

/* Reports to every peer that another filter was asked for. */
void bus_announce_filter(struct bus *bus);

/* Fails the snapshots that clients wait for and closes every connection. NULL is allowed. To be
 * called before camera_stop. */
void bus_destroy(struct bus *bus);

#endif
