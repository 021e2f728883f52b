/* What the files of the control object share. Main thread only.
 *
 * control.c: sockets, connections and their bounds; control_object.c: the methods; control_read.c:
 * everything that is only read, and its form on the bus; control_snapshot.c and control_camera.c:
 * the methods that are answered later. */
#ifndef FFTD_CONTROL_PRIVATE_H
#define FFTD_CONTROL_PRIVATE_H

#include <stdbool.h>
#include <sys/types.h>

#include <systemd/sd-bus.h>

#include "control.h"

#define CONTROL_PATH                  "/org/fftd/camera"
#define CONTROL_INTERFACE             "org.fftd.Camera1"

/* Error names. The text says the rest. */
#define CONTROL_ERROR_INVALID_FILTER  "org.fftd.Error.InvalidFilter"
#define CONTROL_ERROR_NO_SUCH_STAGE   "org.fftd.Error.NoSuchStage"
#define CONTROL_ERROR_INVALID_CONTROL "org.fftd.Error.InvalidControl"
#define CONTROL_ERROR_INVALID_CONFIG  "org.fftd.Error.InvalidConfiguration"
#define CONTROL_ERROR_NOT_ONLINE      "org.fftd.Error.NotOnline"
#define CONTROL_ERROR_BUSY            "org.fftd.Error.Busy"
#define CONTROL_ERROR_FAILED          "org.fftd.Error.Failed"

#define CONTROL_MAX_LISTENERS         4
#define CONTROL_MAX_PEERS             16 /* of one socket: watchers cannot shut changers out */

struct snapshot;    /* a caller that waits for a frame */
struct camera_call; /* a caller that waits for the camera */

struct peer {
    struct control *control;
    sd_bus *bus;
    int socket_fd; /* its socket, from its first snapshot on, since sd-bus tells of an end only
                      after closing its own; -1 */
    sd_event_source *rest;     /* reads what came along with the end of the handshake */
    sd_event_source *deadline; /* of the handshake */
    bool read_only;
    uid_t uid; /* of the process that connected */
    struct snapshot *waiting;
    unsigned unread_snapshots; /* answered since it was last seen to have read everything */
    struct camera_call *asking;
};

struct listener {
    struct control *control;
    sd_event_source *source;
    sd_event_source *retry; /* armed while there is no descriptor left to accept with */
    int fd;
    bool read_only;
    bool complained; /* about connections that had to be refused */
    struct peer *peer[CONTROL_MAX_PEERS];
    sd_event_source *left[CONTROL_MAX_PEERS]; /* with snapshots unread: its place is not free yet */
};

struct control {
    struct sd_event *event;
    struct control_hooks hooks;
    unsigned listener_count;
    struct listener listener[CONTROL_MAX_LISTENERS];
};

/* Puts the object onto a connection. Returns what sd-bus does. */
int control_object_add(struct peer *peer);

/* Sends PropertiesChanged to every peer that keeps reading. names ends with NULL. */
void control_emit(struct control *control, const char *const *names);

/* Ends a connection; the peer itself goes when the bus says so. */
void control_hang_up(struct peer *peer);

/* D-Bus closes the connection on text that is not UTF-8, and a message cut to size, or a device's
 * name, need not be. Returns its first argument. */
#define CONTROL_TEXT_BYTES 4096
const char *control_text(char clean[CONTROL_TEXT_BYTES], const char *text);

/* Fails a call; the text goes through control_text. */
int control_fail(sd_bus_error *error, const char *name, const char *text);

/* Fails what would change something if the peer may only watch. */
int control_refuse_watcher(const struct peer *peer, sd_bus_error *error);

/* control_read.c: vtable callbacks; userdata is the struct peer. control_get serves every
 * property. */
int control_get(sd_bus *bus, const char *path, const char *interface, const char *property,
                sd_bus_message *reply, void *userdata, sd_bus_error *error);
int control_get_stats(sd_bus_message *call, void *userdata, sd_bus_error *error);
int control_get_tuning(sd_bus_message *call, void *userdata, sd_bus_error *error);
int control_list_filters(sd_bus_message *call, void *userdata, sd_bus_error *error);

/* Closes the innermost so many. */
int control_close_containers(sd_bus_message *message, unsigned count);

/* Appends a frame format as a{sv}. */
int control_append_format(sd_bus_message *reply, const struct fftd_format *format);

/* control_camera.c. */
int control_list_controls(sd_bus_message *call, void *userdata, sd_bus_error *error);
int control_set_controls(sd_bus_message *call, void *userdata, sd_bus_error *error);

/* The peer goes away: nobody is to be answered. */
void control_camera_forget(struct peer *peer);

/* control_snapshot.c. */
int control_snapshot(sd_bus_message *call, void *userdata, sd_bus_error *error);

/* The peer goes away: nobody is to be answered. */
void control_snapshot_forget(struct peer *peer);

/* Fails the peer's snapshot, if it waits for one. */
void control_snapshot_fail(struct peer *peer, const char *name, const char *text);

#endif
