/* Passes the requests of browsers on to a camera's daemon, on its socket `control`: to change the
 * filter, and to list the kinds of filters.
 *
 * A thread of its own makes one call after the other, in the order in which they came, so that a
 * daemon that does not answer delays nobody else. The functions may be called from any thread. */
#ifndef FFTD_VIEW_CHANGER_H
#define FFTD_VIEW_CHANGER_H

#include <stddef.h>

#include <microhttpd.h>

#include "change_request.h"

struct changer;

struct changer_call {
    struct MHD_Connection *connection;
    struct change_request change; /* without changes: ask for the kinds of filters and presets */
    /* The answer. */
    unsigned status; /* of HTTP; 0 while there is none */
    char *text;      /* JSON if the status is 200, otherwise what is wrong; the caller frees it */
    size_t bytes;
    struct changer_call *next;
};

/* Starts the thread; the name must stay. 0 or -errno. */
int changer_create(struct changer **ret, const char *name);
void changer_stop(struct changer *changer);    /* answers all calls; NULL is allowed */
void changer_destroy(struct changer *changer); /* after changer_stop; NULL is allowed */

/* Suspends the connection until the call, which must stay in memory, has its answer. */
void changer_begin(struct changer *changer, struct changer_call *call);

#endif
