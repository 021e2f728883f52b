/* A timer feeds the watchdog, but only while the camera makes progress: the timer alone would prove
 * only that the main loop runs. Progress may be half a watchdog period old, and the timer checks
 * four times a period, so systemd notices a hang after at most one and a half periods. */
#include "service/service.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <systemd/sd-daemon.h>
#include <systemd/sd-event.h>

#include "core/clock.h"
#include "service/log.h"

struct service {
    struct notifier *notifier;
    sd_event_source *timer;
    uint64_t period_us;
    int64_t (*progress)(void *context);
    void *context;
    bool stalled; /* the last check found no progress, and that was logged */
    enum { STARTING, READY, RELOADING } state;
};

static int feed(sd_event_source *timer, uint64_t scheduled_us, void *userdata)
{
    struct service *service = userdata;
    int64_t age_us = (clock_now_ns() - service->progress(service->context)) / 1000;
    bool stalled = age_us > (int64_t)(service->period_us / 2);

    if (!stalled)
        notifier_send(service->notifier, NOTIFIER_WATCHDOG, "WATCHDOG=1", NULL);
    else if (!service->stalled)
        log_error(
            "no progress for %.1f s: systemd's watchdog is no longer fed and will restart fftd",
            (double)age_us / 1e6);
    service->stalled = stalled;
    return sd_event_source_set_time(timer, scheduled_us + service->period_us / 4);
}

int service_create(struct service **ret, struct sd_event *event, struct notifier *notifier,
                   int64_t (*progress)(void *context), void *context, struct error *why)
{
    struct service *service = calloc(1, sizeof *service);
    if (service == NULL)
        return error_set(why, ENOMEM, "out of memory while preparing the service's state");
    service->notifier = notifier;
    service->progress = progress;
    service->context = context;

    int r = sd_watchdog_enabled(0, &service->period_us);
    if (r < 0)
        error_set(why, -r, "WATCHDOG_USEC in the environment is not a time: %s", strerror(-r));
    if (r > 0) {
        r = sd_event_add_time_relative(event, &service->timer, CLOCK_MONOTONIC,
                                       service->period_us / 4, 0, feed, service);
        if (r >= 0)
            r = sd_event_source_set_enabled(service->timer, SD_EVENT_ON);
        if (r < 0)
            error_set(why, -r, "cannot arm the watchdog timer: %s", strerror(-r));
    }
    if (r < 0) {
        service_destroy(service);
        return r;
    }
    *ret = service;
    return 0;
}

void service_destroy(struct service *service)
{
    if (service == NULL)
        return;
    sd_event_source_disable_unref(service->timer);
    free(service);
}

void service_ready(struct service *service, const char *status)
{
    service->state = READY;
    notifier_send(service->notifier, NOTIFIER_READY, "READY=1", status);
}

bool service_is_ready(const struct service *service)
{
    return service->state != STARTING;
}

void service_status(struct service *service, const char *status)
{
    notifier_send(service->notifier, NOTIFIER_STATUS, "", status);
}

void service_reloading(struct service *service)
{
    static const char status[] = "Reading the configuration again";
    if (service->state == STARTING) {
        service_status(service, status);
        return;
    }
    service->state = RELOADING;
    /* With Type=notify-reload (systemd 253), systemd compares this time with that of its request.
     */
    char lines[64];
    snprintf(lines, sizeof lines, "RELOADING=1\nMONOTONIC_USEC=%" PRId64, clock_now_ns() / 1000);
    notifier_send(service->notifier, NOTIFIER_RELOADING, lines, status);
}

void service_reloaded(struct service *service, const char *status)
{
    if (service->state == RELOADING)
        service_ready(service, status);
    else
        service_status(service, status);
}

void service_stopping(struct notifier *notifier)
{
    notifier_send(notifier, NOTIFIER_STOPPING, "STOPPING=1", "Finishing the frames in flight");
}

bool service_is_managed(void)
{
    return getenv("NOTIFY_SOCKET") != NULL;
}
