/* Reports to systemd: readiness, status, watchdog. Does nothing where systemd did not start this
 * process. Main thread only. runtime.h receives the descriptors that systemd passes to this
 * process. */
#ifndef FFTD_SERVICE_SERVICE_H
#define FFTD_SERVICE_SERVICE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/error.h"
#include "service/notifier.h"

struct service;
struct sd_event;

/* Arms the watchdog timer if systemd asks for one; progress(context) returns the CLOCK_MONOTONIC ns
 * of the last real progress, and the watchdog is fed only if that is recent enough. */
int service_create(struct service **ret, struct sd_event *event, struct notifier *notifier,
                   int64_t (*progress)(void *context), void *context, struct error *why);
void service_destroy(struct service *service);

/* Each of these sets the line that `systemctl status` shows. */

/* Reports that the start is complete (READY=1). */
void service_ready(struct service *service, const char *status);
bool service_is_ready(const struct service *service);

void service_status(struct service *service, const char *status);

/* Report the begin and the end of a reload. Before service_ready they only set the status, because
 * systemd takes any READY=1 for the end of the start. */
void service_reloading(struct service *service);
void service_reloaded(struct service *service, const char *status);

/* Reports that the process is about to end. May be called without a service. */
void service_stopping(struct notifier *notifier);

/* Returns whether a service manager started this process. The manager then restarts the process,
 * and passes to the next one the descriptors that it was given to keep (notifier.h, and
 * FileDescriptorStoreMax= in the unit). */
bool service_is_managed(void);

#endif
