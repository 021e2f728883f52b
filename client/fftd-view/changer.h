/* Forwards requests of browsers to a camera's daemon, on its socket `control`: changes of the
 * filter, and questions that watchers may not ask, or that few ask.
 *
 * A thread of its own makes the calls in the order of their arrival, so that a daemon that does not
 * answer delays nobody else. The functions may be called from any thread. */
#ifndef FFTD_VIEW_CHANGER_H
#define FFTD_VIEW_CHANGER_H

#include <microhttpd.h>

#include "change_request.h"
#include "image.h"

struct changer;

struct changer_call {
    struct MHD_Connection *connection;
    enum changer_question {
        CHANGER_KINDS,     /* lists the kinds of filters, and the presets */
        CHANGER_FOUND,     /* tells the filter, and what its stages have found: not to watchers */
        CHANGER_RESPONSES, /* tells those of chains, the first words of `words` */
        CHANGER_VIEW,      /* publishes a view, the first word of `words` */
        CHANGER_CHANGE,    /* changes the filter as `words` says */
        CHANGER_SAVE,      /* saves the filter for every start, and tells the file */
        CHANGER_CONTROLS,  /* lists the camera's own controls: not to watchers */
        CHANGER_SET        /* sets those that `words` names, each with its value, and lists all */
    } question;
    struct change_request words; /* what named them */
    struct image *answer;        /* JSON, or what is wrong; the caller unrefs it */
    struct changer_call *next;
};

/* Starts the thread. The place must stay valid. 0 or -errno. */
int changer_create(struct changer **ret, const char *place);
void changer_stop(struct changer *changer);    /* answers all calls; NULL is allowed */
void changer_destroy(struct changer *changer); /* after changer_stop; NULL is allowed */

/* Suspends the connection until the call has its answer. The call stays in memory until then. */
void changer_begin(struct changer *changer, struct changer_call *call);

#endif
