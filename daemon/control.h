/* The D-Bus object org.fftd.Camera1 at /org/fftd/camera, served peer to peer on local sockets
 * (AF_UNIX SOCK_STREAM, no broker). Main thread only.
 *
 * control.c accepts and bounds connections; control_object.c is the object itself. A peer can
 * cost the daemon a bounded number of connections, queued replies and snapshots, and its own
 * connection if it misbehaves; nothing else. */
#ifndef FFTD_CONTROL_H
#define FFTD_CONTROL_H

#include <stdbool.h>

#include "camera.h"
#include "config.h"
#include "core/error.h"

struct control;
struct sd_event;
struct ring_server;

/* What the object needs from the rest of the daemon. Everything outlives the control object. */
struct control_hooks {
    struct camera *camera;
    struct ring_server *server;
    const struct config *config;
    /* Reads the configuration file again and applies what can change at run time. */
    int (*reload)(void *context, struct error *why);
    void *context;
};

/* The object, not yet reachable. hooks is copied. */
int control_create(struct control **ret, struct sd_event *event, const struct control_hooks *hooks,
                   struct error *why);

/* Serves a listening socket; takes the descriptor over, on failure too. Any number of sockets may
 * be added, each with its own bound on connections. read_only: a watcher's socket, on which
 * every changing method is refused. */
int control_listen(struct control *control, int listen_fd, bool read_only, struct error *why);

/* Tells every peer what changed (PropertiesChanged), from camera_take_events' bits. */
void control_announce(struct control *control, unsigned camera_events);

/* Closes every connection. NULL is allowed. Call it before camera_stop: callers still waiting
 * for a snapshot are answered then. */
void control_destroy(struct control *control);

#endif
