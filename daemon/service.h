/* systemd: readiness, status, watchdog, descriptors kept for the next process. Does nothing where
 * systemd is not there. Main thread only. What it hands over is runtime.h's. */
#ifndef FFTD_SERVICE_H
#define FFTD_SERVICE_H

#include <stdbool.h>
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

/* Whether a service manager started this process: then it restarts it, and what it is asked to keep
 * (FileDescriptorStoreMax= in the unit) it hands to the next one. */
bool service_is_managed(void);

/* Keeps a copy of the descriptor under a name without ':'; connections are dropped by the manager
 * itself when their other end closes. Forgetting takes out everything of that name. */
void service_keep(const char *name, int fd);
void service_forget(const char *name);

#endif
