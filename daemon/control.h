/* The D-Bus object org.fftd.Camera1 at /org/fftd/camera, served peer to peer on the control
 * socket (AF_UNIX SOCK_STREAM, no broker). Main thread only. */
#ifndef FFTD_CONTROL_H
#define FFTD_CONTROL_H

#include "camera.h"
#include "config.h"
#include "core/error.h"

struct control;
struct sd_event;
struct ring_server;

/* What the object needs from the rest of the daemon. */
struct control_hooks {
    struct camera *camera;
    struct ring_server *server;
    const struct config *config;
    /* Reads the configuration file again and applies what can change at run time. */
    int (*reload)(void *context, struct error *why);
    void *context;
};

/* Serves a listening socket; takes the descriptor over. read_only: a watcher's socket, on which
 * every changing method is refused. */
int control_create(struct control **ret, struct sd_event *event, int listen_fd,
                   const struct control_hooks *hooks, struct error *why);

/* Tells every peer what changed (PropertiesChanged), from camera_take_events' bits. */
void control_announce(struct control *control, unsigned camera_events);

void control_destroy(struct control *control);

#endif
