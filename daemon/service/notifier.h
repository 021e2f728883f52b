/* Messages to the service manager (sd_notify(3)), sent without ever waiting for it. A manager that
 * does not read them stops nothing here: messages wait in a queue, which later ones shorten. Main
 * thread only. */
#ifndef FFTD_SERVICE_NOTIFIER_H
#define FFTD_SERVICE_NOTIFIER_H

#include "core/error.h"

struct notifier;
struct sd_event;

/* Connects to the socket that NOTIFY_SOCKET names. Without that variable, or if the socket cannot
 * be reached, all messages are dropped. */
int notifier_create(struct notifier **ret, struct sd_event *event, struct error *why);

/* Sends what is still queued, for at most a tenth of a second. NULL is allowed. */
void notifier_destroy(struct notifier *notifier);

/* Each kind replaces queued messages that it makes obsolete. */
enum notifier_kind {
    NOTIFIER_STATUS,    /* replaces a queued STATUS */
    NOTIFIER_WATCHDOG,  /* nothing, if one is queued */
    NOTIFIER_RELOADING, /* replaces STATUS, RELOADING and READY */
    NOTIFIER_READY,     /* replaces STATUS and READY */
    NOTIFIER_STOPPING,  /* replaces all four */
};

/* Sends lines VARIABLE=value, of which only the text after "STATUS=" may come from elsewhere:
 * control characters in it are replaced, or a new line there would begin another variable. */
void notifier_send(struct notifier *notifier, enum notifier_kind kind, const char *lines,
                   const char *status);

/* Gives the manager a copy of the descriptor to keep under a name without ':' and of at most 31
 * bytes, or removes everything of that name. Forgetting what is still queued removes it from the
 * queue. */
void notifier_keep(struct notifier *notifier, const char *name, int fd);
void notifier_forget(struct notifier *notifier, const char *name);

#endif
