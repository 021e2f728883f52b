/* systemd: readiness, watchdog, reload, handed-over sockets. Does nothing where systemd is not
 * there. Main thread only. */
#ifndef FFTD_SERVICE_H
#define FFTD_SERVICE_H

#include <stdint.h>

#include "core/error.h"

struct service;
struct sd_event;

/* Arms the watchdog timer if systemd asks for one; progress(context) returns the CLOCK_MONOTONIC ns
 * of the last real progress, and the watchdog is fed only if that is recent enough. */
int service_create(struct service **ret, struct sd_event *event,
                   int64_t (*progress)(void *context), void *context, struct error *why);
void service_destroy(struct service *service);

/* One line for `systemctl status`; ready: also READY=1. */
void service_ready(const char *status);
void service_status(const char *status);
void service_reloading(void);
void service_stopping(void);

/* A listening socket: the one systemd handed over under this FileDescriptorName, or a new one
 * bound in runtime_dir. type is SOCK_SEQPACKET or SOCK_STREAM. -EADDRINUSE: a live daemon owns it;
 * the stale socket of a dead one is replaced. */
int service_listen(const char *runtime_dir, const char *name, int type, struct error *why);

#endif
