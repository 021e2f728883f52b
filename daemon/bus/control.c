/* All connections: admits them, announces changes to them and closes them. */
#include "bus/control.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <systemd/sd-event.h>

#include "bus/loan.h"
#include "bus/methods.h"
#include "bus/message_bus.h"
#include "bus/object.h"

/* Each of the two sockets has its own limits, so that clients of the read-only socket cannot keep
 * out those that may change something. */
#define MAX_PEERS         32
#define MAX_PEERS_OF_USER 16

struct crowd {
    struct admission admission;
    struct peer_list peers;
};

struct control {
    struct peer_services services;
    struct crowd crowd[2]; /* by enum control_access */
    struct loans loans[2];
};

/* ---- announcements ---- */

static void emit(void *context, const char *const *names)
{
    struct control *control = context;
    for (unsigned c = 0; c < 2; c++)
        for (struct peer *p = control->crowd[c].peers.first; p != NULL; p = p->next)
            peer_emit(p, names);
}

static void fail_snapshots(struct control *control, const char *text)
{
    for (unsigned c = 0; c < 2; c++)
        for (struct peer *p = control->crowd[c].peers.first; p != NULL; p = p->next)
            control_snapshot_fail(p, CONTROL_ERROR_NOT_ONLINE, text);
}

static void fail_snapshots_of_state(struct control *control, const struct camera_status *status)
{
    char text[400];
    snprintf(text, sizeof text, "there are no frames: the camera is %s%s%s",
             camera_state_name(status->state), status->state_reason[0] != '\0' ? ": " : "",
             status->state_reason);
    fail_snapshots(control, text);
}

void control_announce(struct control *control, unsigned camera_events)
{
    static const char *const state[] = {"State",      "StateReason", "Source", "SourceDescription",
                                        "Input",      "Output",      "Engine", "Device",
                                        "Comparison", NULL};
    static const char *const ring[] = {"Format", "Generation", "Engine", "SourceDescription", NULL};
    static const char *const filter[] = {"PublishedSerial", "PublishedView", "FilterProblem", NULL};

    if (camera_events & (CAMERA_EVENT_STATE | CAMERA_EVENT_FRAME))
        emit(control, state);
    if (camera_events & CAMERA_EVENT_RING)
        emit(control, ring);
    if (camera_events & CAMERA_EVENT_FILTER)
        emit(control, filter);
    if (camera_events & CAMERA_EVENT_STATE) {
        struct camera_status status;
        camera_get_status(control->services.hooks.camera, &status);
        if (!camera_may_deliver(status.state))
            fail_snapshots_of_state(control, &status);
    }
}

void control_announce_filter(struct control *control)
{
    control_emit_filter(&control->services);
}

/* ---- connections ---- */

int control_accept(struct control *control, enum control_access access, int fd, uid_t uid,
                   struct error *why)
{
    struct crowd *crowd = &control->crowd[access];
    struct peer *peer = NULL;
    int r = admission_check(&crowd->admission, (uint32_t)uid, why);
    if (r < 0) {
        close(fd);
        return r;
    }
    r = peer_create(&peer, &control->services, fd, uid, access == CONTROL_READ_ONLY);
    if (r >= 0)
        r = object_add(peer);
    if (r >= 0)
        r = message_bus_add(peer);
    if (r >= 0)
        r = peer_start(peer, &crowd->peers, &crowd->admission);
    if (r < 0) {
        peer_destroy(peer);
        return error_set(why, -r, "%s", strerror(-r));
    }
    return 0;
}

void control_destroy(struct control *control)
{
    if (control == NULL)
        return;
    fail_snapshots(control, "fftd is stopping");
    for (unsigned c = 0; c < 2; c++)
        while (control->crowd[c].peers.first != NULL)
            peer_destroy(control->crowd[c].peers.first);
    for (unsigned c = 0; c < 2; c++)
        loans_finish(&control->loans[c]);
    sd_event_unref(control->services.event);
    free(control);
}

int control_create(struct control **ret, struct sd_event *event, const struct control_hooks *hooks,
                   struct error *why)
{
    struct control *control = calloc(1, sizeof *control);
    if (control == NULL)
        return error_set(why, ENOMEM, "out of memory");
    control->services = (struct peer_services){.event = sd_event_ref(event),
                                               .hooks = *hooks,
                                               .loans = control->loans,
                                               .emit = emit,
                                               .context = control};
    int r = 0;
    for (unsigned c = 0; c < 2; c++) {
        admission_init(&control->crowd[c].admission, MAX_PEERS, MAX_PEERS_OF_USER, geteuid());
        if (r >= 0)
            r = loans_init(&control->loans[c], event);
    }
    if (r < 0) {
        control_destroy(control);
        return error_set(why, -r, "%s", strerror(-r));
    }
    *ret = control;
    return 0;
}
