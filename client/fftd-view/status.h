/* The state of one camera, as its daemon reports it on the socket control-watch.
 *
 * A thread of its own asks the daemon, at most once in STATUS_FRESH_NS and only if a browser asks.
 * So a daemon that does not answer delays only what is shown about it. The functions may be called
 * from any thread. */
#ifndef FFTD_VIEW_STATUS_H
#define FFTD_VIEW_STATUS_H

#include <stddef.h>

#include <systemd/sd-bus.h>

#include "fftd-ctl/json.h"
#include "waiter.h"

#define STATUS_FRESH_NS INT64_C(500000000)

struct status;

/* Starts the thread; the name must stay. 0 or -errno. */
int status_create(struct status **ret, const char *name);
void status_stop(struct status *status);    /* as camera_stop */
void status_destroy(struct status *status); /* as camera_destroy */

/* Copies what is known as a JSON object into *ret, which the caller frees. If it is not fresh and
 * the waiter is not over, adds the waiter, suspends its connection and returns -EAGAIN.
 *   -ENOMEM, -ECANCELED */
int status_take(struct status *status, struct waiter *waiter, char **ret);

/* Writes what the properties say about the filter: its chain, its stages, the serial that it has,
 * and what the stages that adapt have found. */
void status_write_filter(struct json *json, sd_bus_message *properties);

#endif
