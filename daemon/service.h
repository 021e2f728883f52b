/* systemd: readiness, status, watchdog. Does nothing where systemd is not there. Main thread
 * only. Handed-over sockets are runtime.h's. */
#ifndef FFTD_SERVICE_H
#define FFTD_SERVICE_H

#include <stdint.h>

#include "core/error.h"

struct service;
struct sd_event;

/* Arms the watchdog timer if systemd asks for one; progress(context) returns the CLOCK_MONOTONIC ns
 * of the last real progress, and the watchdog is fed only if that is recent enough. */
int service_create(struct service **ret, struct sd_event *event, int64_t (*progress)(void *context),
                   void *context, struct error *why);
void service_destroy(struct service *service);

/* One line for `systemctl status`; ready: also READY=1. After service_reloading, service_ready
 * says that the reload is over, whatever came of it. */
void service_ready(const char *status);
void service_status(const char *status);
void service_reloading(void);
void service_stopping(void);

#endif
