/* Messages to the service manager (sd_notify(3)), sent without ever waiting for it. If the manager
 * does not read them, they wait in a queue, from which later messages remove obsolete ones. Main
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
    NOTIFIER_WATCHDOG,  /* replaces a queued WATCHDOG */
    NOTIFIER_RELOADING, /* replaces STATUS, RELOADING and READY */
    NOTIFIER_READY,     /* replaces STATUS and READY */
    NOTIFIER_STOPPING,  /* replaces all four */
};

/* Sends lines VARIABLE=value, and STATUS= with `status` unless that is NULL. Control characters in
 * the status are replaced, because a new line would begin another variable. */
void notifier_send(struct notifier *notifier, enum notifier_kind kind, const char *lines,
                   const char *status);

/* Gives the manager a copy of the descriptor to keep under a name, or has it remove everything with
 * that name. A name has at most 31 bytes and no ':'. A copy that is still queued is not sent. */
void notifier_keep(struct notifier *notifier, const char *name, int fd);
void notifier_forget(struct notifier *notifier, const char *name);

#endif
