/* A thread with a connection to one control socket of a camera's daemon, so that a daemon that does
 * not answer delays nobody else. The connection is opened when it is needed, and again after it has
 * failed. */
#ifndef FFTD_VIEW_DAEMON_BUS_H
#define FFTD_VIEW_DAEMON_BUS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include <systemd/sd-bus.h>

#include "image.h"

#define DAEMON_BUS_INVALID_CONTROL "org.fftd.Error.InvalidControl"

struct daemon_bus {
    const char *place;  /* where the daemon is; see camera_options */
    const char *socket; /* "control-watch" or "control" */
    sd_bus *bus;        /* only its thread uses it; NULL: closed */
    pthread_t thread;
    pthread_cond_t changed; /* its thread waits for this; timed waits use core/clock.h's clock */
    pthread_mutex_t lock;
    /* The lock protects these, and what its owner adds. */
    int fd; /* the bus's descriptor, for daemon_bus_stop; -1: none */
    bool stopping;
};

/* Starts the thread, which runs until `stopping` and which the owner joins. The texts must stay
 * valid. 0 or -errno. */
int daemon_bus_start(struct daemon_bus *bus, const char *place, const char *socket,
                     void *(*run)(void *), void *context);

/* Ends the thread's current call, all later ones, and its waiting. */
void daemon_bus_stop(struct daemon_bus *bus);

/* Closes the bus, after the thread was joined. */
void daemon_bus_finish(struct daemon_bus *bus);

/* The bus's thread calls these, without the lock. daemon_bus_open returns 0 or -errno, and does
 * nothing if the bus is open. */
int daemon_bus_open(struct daemon_bus *bus);
void daemon_bus_close(struct daemon_bus *bus);

/* Writes what the -errno means and what to do. */
void daemon_bus_explain(const struct daemon_bus *bus, int error, char *text, size_t size);

/* Returns the answer to a request whose call has failed with this -errno: what the daemon has said,
 * if that is about the request, or else what the -errno means. NULL: out of memory. */
struct image *daemon_bus_error(const struct daemon_bus *bus, int error, const sd_bus_error *said);

#endif
