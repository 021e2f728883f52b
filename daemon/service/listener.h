/* Accepts the connections of one listening AF_UNIX socket in the event loop. Main thread only.
 *
 * Accepting is bounded: at most 64 connections in 1/64 s, and after a failure (no descriptors, no
 * memory) it pauses for half a second. Connections that cannot be accepted or are refused are
 * logged once, until one succeeds again. From Linux 6.16 on clients cannot send descriptors. */
#ifndef FFTD_SERVICE_LISTENER_H
#define FFTD_SERVICE_LISTENER_H

#include <stdint.h>
#include <sys/types.h>

#include "core/error.h"

struct listener;
struct sd_event;

/* Serves a new connection (non-blocking, close-on-exec) of a process of user `uid`. Takes the
 * descriptor over, on failure too. -errno: the connection is refused, and `why` says for what
 * reason. -ECONNRESET, -EPIPE, -ENOTCONN: the client has already closed it. */
typedef int listener_connected_fn(void *context, int fd, uid_t uid, struct error *why);

struct listener_options {
    const char *name; /* for the log; not copied */
    int64_t priority; /* in the event loop, see sd_event_source_set_priority(3) */
    listener_connected_fn *connected;
    void *context;
};

/* Takes the listening descriptor over, on failure too. */
int listener_create(struct listener **ret, struct sd_event *event, int listen_fd,
                    const struct listener_options *options, struct error *why);

/* Closes the listening socket; accepted connections stay. NULL is allowed. */
void listener_destroy(struct listener *listener);

#endif
