/* Accepts the connections of one listening AF_UNIX socket in the event loop. Main thread only.
 *
 * The rate of accepting is limited (core/client_limits.h), and after a failure (no descriptors, no
 * memory) it pauses for half a second. The first connection that cannot be accepted or is refused
 * is logged, and the next one only after one has succeeded. From Linux 6.16 on clients cannot send
 * descriptors. */
#ifndef FFTD_SERVICE_LISTENER_H
#define FFTD_SERVICE_LISTENER_H

#include <stdint.h>
#include <sys/types.h>

#include "core/error.h"

struct listener;
struct sd_event;

/* Serves a new connection (non-blocking, close-on-exec) of a process of user `uid`. Takes over
 * the descriptor, even if it fails. -errno: the connection is refused, and `why` has the reason.
 * -ECONNRESET, -EPIPE, -ENOTCONN: the client has already closed it. */
typedef int listener_connected_fn(void *context, int fd, uid_t uid, struct error *why);

struct listener_options {
    const char *name; /* messages in the log begin with it; not copied */
    int64_t priority; /* as for sd_event_source_set_priority(3) */
    listener_connected_fn *connected;
    void *context;
};

/* Takes over the listening descriptor, even if it fails. */
int listener_create(struct listener **ret, struct sd_event *event, int listen_fd,
                    const struct listener_options *options, struct error *why);

/* Closes the listening socket; accepted connections stay. NULL is allowed. */
void listener_destroy(struct listener *listener);

#endif
