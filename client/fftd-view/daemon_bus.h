/* One thread's connection to one control socket of a camera's daemon. It is opened when it is
 * needed, and again after it has failed. */
#ifndef FFTD_VIEW_DAEMON_BUS_H
#define FFTD_VIEW_DAEMON_BUS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include <systemd/sd-bus.h>

struct daemon_bus {
    const char *name;   /* the camera's name */
    const char *socket; /* "control-watch" or "control" */
    sd_bus *bus;        /* only its thread uses it; NULL: closed */
    pthread_mutex_t lock;
    /* The lock protects these. */
    int fd; /* the bus's descriptor, for daemon_bus_stop; -1: none */
    bool stopping;
};

/* The texts must stay valid. */
void daemon_bus_init(struct daemon_bus *bus, const char *name, const char *socket);
void daemon_bus_finish(struct daemon_bus *bus); /* also closes the bus */

/* The bus's thread calls these. daemon_bus_open returns 0 or -errno, and does nothing if the bus is
 * open. */
int daemon_bus_open(struct daemon_bus *bus);
void daemon_bus_close(struct daemon_bus *bus);

/* Ends the thread's current call and all later ones. Any thread may call this. */
void daemon_bus_stop(struct daemon_bus *bus);

/* Writes what the -errno means and what to do. */
void daemon_bus_explain(const struct daemon_bus *bus, int error, char *text, size_t size);

#endif
