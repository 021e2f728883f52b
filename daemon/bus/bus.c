/* Admits all connections, announces changes to them and closes them. */
#include "bus/bus.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <systemd/sd-event.h>

#include "bus/loan.h"
#include "bus/methods.h"
#include "bus/worker.h"
#include "config/image.h"
#include "core/client_limits.h"

struct bus {
    struct peer_services services;
    /* Indexed by enum bus_access; they have the peers. Each of the two sockets has its own limits,
     * so that watchers cannot keep out changers. */
    struct admission admission[2];
    struct loans loans[2];
};

_Static_assert(offsetof(struct peer, admitted) == 0, "an entry is cast to its peer");

static struct peer *first_of(const struct bus *bus, unsigned access)
{
    return (struct peer *)bus->admission[access].entries;
}

static struct peer *next_of(const struct peer *peer)
{
    return (struct peer *)peer->admitted.next;
}

/* ---- announcements ---- */

static void emit(void *context, unsigned output, const char *const *names)
{
    struct bus *bus = context;
    sd_bus_message *signal =
        NULL; /* one for all, because a long chain takes a millisecond to print */
    int r = 0;
    for (unsigned c = 0; c < 2; c++)
        for (struct peer *p = first_of(bus, c); p != NULL; p = next_of(p)) {
            if (!peer_is_ready(p))
                continue;
            if (signal == NULL)
                r = properties_make_signal(&signal, p, output, names);
            if (r < 0)
                peer_hang_up(p); /* it would not learn of the change */
            else
                peer_emit(p, signal);
        }
    sd_bus_message_unref(signal);
}

static void fail_snapshots(struct bus *bus, unsigned output, const char *text)
{
    for (unsigned c = 0; c < 2; c++)
        for (struct peer *p = first_of(bus, c); p != NULL; p = next_of(p))
            snapshot_fail(p, output, BUS_ERROR_NOT_ONLINE, text);
}

static void fail_snapshots_of_state(struct bus *bus, unsigned output,
                                    const struct camera_status *status)
{
    char text[400];
    snprintf(text, sizeof text, "there are no frames: the camera is %s%s%s",
             camera_state_names[status->state], status->state_reason[0] != '\0' ? ": " : "",
             status->state_reason);
    fail_snapshots(bus, output, text);
}

void bus_announce_filter(struct bus *bus, unsigned output)
{
    method_emit_filter(&bus->services, output);
}

void bus_announce(struct bus *bus, unsigned output, unsigned camera_events)
{
    static const char *const state[] = {
        "State",    "StateReason", "Source", "SourceDescription", "SourceOpening", "Input",
        "Output",   "Engine",      "Device", "Comparison",        "Memory",        "DeviceMemory",
        "Controls", "Motion",      NULL};
    static const char *const ring[] = {"Format", "Generation", "Engine", "SourceDescription", NULL};
    static const char *const filter[] = {
        "PublishedSerial", "FirstSequence", "PublishedView", "AppliedSerial",
        "Preparing",       "FilterProblem", "FailedSerial",  NULL};
    struct camera_status status;
    camera_get_status(bus->services.hooks.camera, output, &status);

    if (camera_events & (CAMERA_EVENT_STATE | CAMERA_EVENT_FRAME))
        emit(bus, output, state);
    if (camera_events & CAMERA_EVENT_RING)
        emit(bus, output, ring);
    /* While there are frames, the first one with the filter announces it. */
    if ((camera_events & CAMERA_EVENT_FILTER) ||
        ((camera_events & CAMERA_EVENT_DESIGN) && status.state != CAMERA_ONLINE))
        emit(bus, output, filter);
    if (camera_events & CAMERA_EVENT_WITHDRAWN)
        bus_announce_filter(bus, output);
    if ((camera_events & CAMERA_EVENT_STATE) && !camera_may_deliver(status.state))
        fail_snapshots_of_state(bus, output, &status);
}

/* ---- outputs ---- */

void bus_add_output(struct bus *bus, unsigned output)
{
    for (unsigned c = 0; c < 2; c++)
        for (struct peer *p = first_of(bus, c); p != NULL; p = next_of(p))
            if (object_add_output(p, output) < 0)
                peer_hang_up(p); /* it could not reach the output */
}

void bus_remove_output(struct bus *bus, unsigned output)
{
    fail_snapshots(bus, output, "the output was removed");
    for (unsigned c = 0; c < 2; c++)
        for (struct peer *p = first_of(bus, c); p != NULL; p = next_of(p))
            object_remove_output(p, output);
}

void bus_announce_outputs(struct bus *bus)
{
    static const char *const names[] = {"OutputNames", NULL};
    emit(bus, CAMERA_MAIN, names);
}

/* ---- the configuration ---- */

struct config_job {
    struct job job;
    const struct bus_hooks *hooks;
    struct config config; /* its chain holds its images if result is 0 */
    int result;
    struct error why;
};

static void read_config(struct job *job)
{
    struct config_job *reading = (struct config_job *)job; /* job is its first member */
    const struct bus_hooks *hooks = reading->hooks;
    config_cancel_images(&job->cancelled);
    reading->result = hooks->read_config(hooks->context, &reading->config, &reading->why);
    config_cancel_images(NULL);
    config_trim_images();
}

static void end_reading(struct job *job, bool is_cancelled)
{
    struct config_job *reading = (struct config_job *)job;
    if (!is_cancelled)
        reading->hooks->on_config_read(
            reading->hooks->context, reading->result == 0 ? &reading->config : NULL, &reading->why);
    if (reading->result == 0)
        config_drop_filters(&reading->config);
    free(reading);
}

void bus_read_config(struct bus *bus)
{
    const struct bus_hooks *hooks = &bus->services.hooks;
    struct config_job *reading = calloc(1, sizeof *reading);
    struct error why;
    if (reading == NULL) {
        error_set(&why, ENOMEM, "out of memory");
        hooks->on_config_read(hooks->context, NULL, &why);
        return;
    }
    reading->job = (struct job){.uid = geteuid(), .run = read_config, .done = end_reading};
    reading->hooks = hooks;
    reading->result = -ECANCELED;
    worker_add(bus->services.worker[WORKER_CHANGES], &reading->job);
}

/* ---- connections ---- */

int bus_accept(struct bus *bus, enum bus_access access, int fd, uid_t uid, struct error *why)
{
    struct admission *admission = &bus->admission[access];
    struct peer *peer = NULL;
    int r = admission_check(admission, (uint32_t)uid, why);
    if (r < 0) {
        close(fd);
        return r;
    }
    r = peer_create(&peer, &bus->services, fd, uid, access == BUS_WATCHER);
    if (r >= 0)
        r = object_add(peer);
    if (r >= 0)
        r = message_bus_add(peer);
    if (r >= 0)
        r = peer_start(peer, admission);
    if (r < 0) {
        peer_destroy(peer);
        return error_set(why, -r, "%s", strerror(-r));
    }
    return 0;
}

int bus_destroy(struct bus *bus)
{
    int r = 0;
    if (bus == NULL)
        return 0;
    for (unsigned i = 0; i < CONFIG_MAX_OUTPUTS; i++)
        fail_snapshots(bus, i, "fftd is stopping");
    for (unsigned c = 0; c < 2; c++)
        while (first_of(bus, c) != NULL)
            peer_destroy(first_of(bus, c));
    for (unsigned w = 0; w < WORKERS && r == 0; w++)
        r = worker_destroy(bus->services.worker[w]);
    if (r < 0)
        return r;
    for (unsigned c = 0; c < 2; c++)
        loans_finish(&bus->loans[c]);
    sd_event_unref(bus->services.event);
    free(bus);
    return 0;
}

int bus_create(struct bus **ret, struct sd_event *event, const struct bus_hooks *hooks,
               struct error *why)
{
    static const char *const workers[WORKERS] = {[WORKER_CHANGES] = "bus-changes",
                                                 [WORKER_QUESTIONS] = "bus-questions",
                                                 [WORKER_FRAMES] = "bus-frames"};
    int r = peer_check_buffers(why);
    if (r < 0)
        return r;
    struct bus *bus = calloc(1, sizeof *bus);
    if (bus == NULL)
        return error_set(why, ENOMEM, "out of memory");
    bus->services = (struct peer_services){.event = sd_event_ref(event),
                                           .hooks = *hooks,
                                           .loans = bus->loans,
                                           .emit = emit,
                                           .context = bus};
    for (unsigned w = 0; w < WORKERS && r >= 0; w++)
        r = worker_create(&bus->services.worker[w], event, workers[w], why);
    for (unsigned c = 0; c < 2 && r >= 0; c++) {
        admission_init(&bus->admission[c], LIMIT_PEERS, LIMIT_PEERS_OF_USER, geteuid());
        r = loans_init(&bus->loans[c], event, bus->services.worker[WORKER_FRAMES]);
        if (r < 0)
            error_set(why, -r, "%s", strerror(-r));
    }
    if (r < 0) {
        bus_destroy(bus);
        return r;
    }
    *ret = bus;
    return 0;
}
