/* Something that browsers request from a camera's daemon, such as its state. The daemon is asked
 * once for all browsers, and not again while the answer is fresh.
 *
 * A thread of its own asks, so that a daemon that does not answer delays only those who wait for
 * this answer. Its connection to the daemon is closed when nobody has asked for a while. The
 * functions may be called from any thread, unless stated otherwise. */
#ifndef FFTD_VIEW_ASKED_H
#define FFTD_VIEW_ASKED_H

#include "daemon_bus.h"
#include "image.h"
#include "http/waiter.h"

struct asked;

struct asked_kind {
    int64_t fresh_ns; /* how long an answer is reused; longer if it took longer */
    /* Called by the thread. Asks through the bus, which may be closed. Returns an answer with one
     * reference; NULL: out of memory. */
    struct image *(*ask)(struct daemon_bus *bus, void *context);
};

/* Starts the thread. The texts must stay valid; only the thread uses the context. 0 or -errno. */
int asked_create(struct asked **ret, const char *place, const char *socket,
                 const struct asked_kind *kind, void *context);
void asked_stop(struct asked *asked);    /* like camera_stop; NULL is allowed */
void asked_destroy(struct asked *asked); /* like camera_destroy */

/* Returns the newest answer, which the caller unrefs. If it is not fresh and the waiter has not
 * waited yet, adds the waiter, suspends its connection and returns -EAGAIN.
 *   -ENOMEM, -ECANCELED */
int asked_take(struct asked *asked, struct waiter *waiter, struct image **ret);

#endif
