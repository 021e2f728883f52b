/* Something that browsers ask a camera's daemon for, such as its state. However many of them ask,
 * the daemon is asked once for all of them, and not again while the answer is fresh.
 *
 * A thread of its own asks. So a daemon that does not answer delays only those who wait for this.
 * Its connection to the daemon is closed when nobody has asked for a while. The functions may be
 * called from any thread, unless they say otherwise. */
#ifndef FFTD_VIEW_ASKED_H
#define FFTD_VIEW_ASKED_H

#include "daemon_bus.h"
#include "image.h"
#include "waiter.h"

struct asked;

struct asked_kind {
    const char *socket; /* of the daemon */
    int64_t fresh_ns;   /* for this long an answer is given again, and for as long as it took */
    /* Called by the thread. Asks through the bus, which may be closed, and returns an answer with
     * one reference. NULL: out of memory. */
    struct image *(*ask)(struct daemon_bus *bus, void *context);
};

/* Starts the thread; the texts must stay, and the context belongs to the thread. 0 or -errno. */
int asked_create(struct asked **ret, const char *name, const struct asked_kind *kind,
                 void *context);
void asked_stop(struct asked *asked);    /* as camera_stop; NULL is allowed */
void asked_destroy(struct asked *asked); /* as camera_destroy */

/* Returns the newest answer, which the caller unrefs. If it is not fresh and the waiter is not
 * over, adds the waiter, suspends its connection and returns -EAGAIN.
 *   -ENOMEM, -ECANCELED */
int asked_take(struct asked *asked, struct waiter *waiter, struct image **ret);

#endif
