/* The D-Bus object org.fftd.Camera1 at /org/fftd/camera, and one for each named output below it,
 * served peer to peer on the two control sockets (AF_UNIX SOCK_STREAM, no broker). What belongs to
 * the camera is the same in all of them. Main thread only.
 *
 * Each file calls only those before it:
 *
 *     value.c         values that several methods append
 *     worker.c        threads beside the main one, for work that may take long
 *     loan.c          the memory of snapshots
 *     peer.c          one connection
 *     slow_call.c     calls that a worker carries out
 *     properties.c    properties and GetStats
 *     kinds.c, response.c, filter.c, save.c, tune.c, controls.c, snapshot.c, outputs.c
 *                     methods
 *     object.c        the table of methods, and Reload
 *     message_bus.c   the calls with which clients of a message bus begin
 *     bus.c           all connections
 *
 * reload.c applies a configuration, and does not use D-Bus. core/client_limits.h says what a peer
 * can cost the daemon. */
#ifndef FFTD_BUS_BUS_H
#define FFTD_BUS_BUS_H

#include <sys/types.h>

#include "bus/hooks.h"
#include "core/error.h"

struct bus;
struct sd_event;

/* Copies hooks. -ENOBUFS: the kernel's buffers are too small for messages. */
int bus_create(struct bus **ret, struct sd_event *event, const struct bus_hooks *hooks,
               struct error *why);

/* The socket that a connection came from decides what it may do. */
enum bus_access {
    BUS_CHANGER, /* `control` */
    BUS_WATCHER, /* `control-watch`: every method that changes something is refused */
};

/* Serves a new connection of a process of this user. Takes over the descriptor, even if it fails.
 * -EUSERS: the socket has too many connections. */
int bus_accept(struct bus *bus, enum bus_access access, int fd, uid_t uid, struct error *why);

/* Reports changes of an output to every peer (PropertiesChanged). Takes camera_take_events' bits.
 */
void bus_announce(struct bus *bus, unsigned output, unsigned camera_events);

/* Reports to every peer that another filter of an output was asked for. */
void bus_announce_filter(struct bus *bus, unsigned output);

/* Serves the object of an output that the configuration has since; or ends it, and the snapshots
 * that peers wait for, while the configuration still has it. */
void bus_add_output(struct bus *bus, unsigned output);
void bus_remove_output(struct bus *bus, unsigned output);

/* Reports to every peer that there are other outputs. */
void bus_announce_outputs(struct bus *bus);

/* Reads the configuration file after the changes that were asked for before, and calls
 * hooks.on_config_read, unless the bus is destroyed before. */
void bus_read_config(struct bus *bus);

/* Fails the snapshots that peers wait for, cancels all jobs and closes every connection. NULL is
 * allowed. Must be called before camera_stop. -EBUSY: a worker does not end, and the process can
 * only end by _exit. */
int bus_destroy(struct bus *bus);

#endif
