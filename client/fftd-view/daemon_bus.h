/* One thread's connection to one control socket of a camera's daemon. It is opened when it is
 * needed, and again after it has failed. */
#ifndef FFTD_VIEW_DAEMON_BUS_H
#define FFTD_VIEW_DAEMON_BUS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include <systemd/sd-bus.h>

struct daemon_bus {
    const char *name;   /* of the camera */
    const char *socket; /* "control-watch" or "control" */
    sd_bus *bus;        /* its thread's; NULL: closed */
    pthread_mutex_t lock;
    /* The lock protects these. */
    int fd; /* of the bus, to end a call; -1: none */
    bool stopping;
};

/* The texts must stay. */
void daemon_bus_init(struct daemon_bus *bus, const char *name, const char *socket);
void daemon_bus_finish(struct daemon_bus *bus); /* closes it */

/* Called by its thread. daemon_bus_open returns 0 or -errno, and does nothing if it is open. */
int daemon_bus_open(struct daemon_bus *bus);
void daemon_bus_close(struct daemon_bus *bus);

/* Ends the call that its thread makes, and those that follow. Called by any thread. */
void daemon_bus_stop(struct daemon_bus *bus);

/* Says in text what -errno means, and what to do. */
void daemon_bus_explain(const struct daemon_bus *bus, int error, char *text, size_t size);

#endif
