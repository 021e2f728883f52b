/* The watchdog is fed by a timer, but only while the camera makes progress: a timer alone would
 * prove nothing but that the main loop turns. Progress may be half a watchdog period old, and the
 * timer looks four times a period, so a hang is noticed by systemd after at most one and a half. */
#include "service.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <systemd/sd-daemon.h>
#include <systemd/sd-event.h>

#include "core/clock.h"
#include "log.h"

struct service {
    sd_event_source *timer;
    uint64_t period_us;
    int64_t (*progress)(void *context);
    void *context;
    bool starving; /* the last look found no progress; said once */
};

static int feed(sd_event_source *timer, uint64_t scheduled_us, void *userdata)
{
    struct service *service = userdata;
    int64_t age_us = (clock_now_ns() - service->progress(service->context)) / 1000;
    bool starving = age_us > (int64_t)(service->period_us / 2);

    if (!starving)
        sd_notify(0, "WATCHDOG=1");
    else if (!service->starving)
        log_error("no progress for %.1f s: systemd's watchdog is no longer fed",
                  (double)age_us / 1e6);
    service->starving = starving;
    return sd_event_source_set_time(timer, scheduled_us + service->period_us / 4);
}

int service_create(struct service **ret, struct sd_event *event, int64_t (*progress)(void *context),
                   void *context, struct error *why)
{
    struct service *service = calloc(1, sizeof *service);
    if (service == NULL)
        return error_set(why, ENOMEM, "out of memory");
    service->progress = progress;
    service->context = context;

    int r = sd_watchdog_enabled(0, &service->period_us);
    if (r < 0) {
        error_set(why, -r, "WATCHDOG_USEC in the environment is not a time: %s", strerror(-r));
        goto fail;
    }
    if (r > 0) {
        r = sd_event_add_time_relative(event, &service->timer, CLOCK_MONOTONIC,
                                       service->period_us / 4, 0, feed, service);
        if (r >= 0)
            r = sd_event_source_set_enabled(service->timer, SD_EVENT_ON);
        if (r < 0) {
            error_set(why, -r, "cannot arm the watchdog timer: %s", strerror(-r));
            goto fail;
        }
    }
    *ret = service;
    return 0;

fail:
    service_destroy(service);
    return r;
}

void service_destroy(struct service *service)
{
    if (service == NULL)
        return;
    sd_event_source_disable_unref(service->timer);
    free(service);
}

void service_ready(const char *status)
{
    sd_notifyf(0, "READY=1\nSTATUS=%s", status);
}

void service_status(const char *status)
{
    sd_notifyf(0, "STATUS=%s", status);
}

/* systemd compares MONOTONIC_USEC with when it asked (Type=notify-reload, from 253 on). */
void service_reloading(void)
{
    sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%" PRId64 "\nSTATUS=Reading the configuration again",
               clock_now_ns() / 1000);
}

void service_stopping(void)
{
    sd_notify(0, "STOPPING=1\nSTATUS=Finishing the frames under way");
}

bool service_is_managed(void)
{
    return getenv("NOTIFY_SOCKET") != NULL;
}

void service_keep(const char *name, int fd)
{
    char text[64];
    snprintf(text, sizeof text, "FDSTORE=1\nFDNAME=%s", name);
    sd_pid_notify_with_fds(0, 0, text, &fd, 1);
}

void service_forget(const char *name)
{
    sd_notifyf(0, "FDSTOREREMOVE=1\nFDNAME=%s", name);
}
