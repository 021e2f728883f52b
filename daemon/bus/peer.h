/* One connection to a control socket, which is a peer-to-peer bus of its own. Main thread only.
 *
 * sd-bus does the handshake, checks every message and reports garbage. But it would collect a
 * message of up to 128 MiB for as long as the peer takes to send it, and keep all descriptors that
 * come with it. The bytes of a peer are therefore read here, without descriptors, and passed on to
 * sd-bus through a pair of sockets, one whole message at a time. This limits the size of a message
 * and the time in which it must arrive (core/client_limits.h). */
#ifndef FFTD_BUS_PEER_H
#define FFTD_BUS_PEER_H

#include <stdbool.h>
#include <sys/types.h>

#include <systemd/sd-bus.h>
#include <systemd/sd-event.h>

#include "bus/hooks.h"
#include "core/admission.h"
#include "core/dbus_framing.h"

/* The object of the first output; the others are below it (peer_object_path). */
#define OBJECT_PATH               "/org/fftd/camera"
#define OBJECT_PATH_BYTES         (sizeof OBJECT_PATH "/outputs/" + CONFIG_OUTPUT_NAME)
#define OBJECT_INTERFACE          "org.fftd.Camera1"

/* Names of errors; the text has the details. */
#define BUS_ERROR_INVALID_FILTER  "org.fftd.Error.InvalidFilter"
#define BUS_ERROR_NO_SUCH_STAGE   "org.fftd.Error.NoSuchStage"
#define BUS_ERROR_FILTER_CHANGED  "org.fftd.Error.FilterChanged"
#define BUS_ERROR_INVALID_VIEW    "org.fftd.Error.InvalidView"
#define BUS_ERROR_INVALID_CONTROL "org.fftd.Error.InvalidControl"
#define BUS_ERROR_INVALID_CONFIG  "org.fftd.Error.InvalidConfiguration"
#define BUS_ERROR_NOT_ONLINE      "org.fftd.Error.NotOnline"
#define BUS_ERROR_INVALID_OUTPUT  "org.fftd.Error.InvalidOutput"
#define BUS_ERROR_NO_SUCH_OUTPUT  "org.fftd.Error.NoSuchOutput"
#define BUS_ERROR_BUSY            "org.fftd.Error.Busy"
#define BUS_ERROR_FAILED          "org.fftd.Error.Failed"

struct worker;

/* The threads beside the main one: for slow calls that change something, for those that only ask,
 * so that nobody who asks can delay a change, and for the frames of snapshots. */
enum { WORKER_CHANGES, WORKER_QUESTIONS, WORKER_FRAMES, WORKERS };

/* The services that all peers share. They outlive the peers. */
struct peer_services {
    struct sd_event *event;
    struct bus_hooks hooks;
    struct loans *loans; /* two: the loans of changers, and those of watchers */
    struct worker *worker[WORKERS];
    /* Sends an output's PropertiesChanged to all peers; names ends with NULL. */
    void (*emit)(void *context, unsigned output, const char *const *names);
    void *context;
};

/* A method call that is answered later, by a callback of the camera or of a worker. It is part of
 * the record that belongs to that callback. When the peer leaves, both pointers become NULL, and
 * then on_leave is called. */
struct peer_call {
    struct peer *peer;
    sd_bus_message *message;
    void (*on_leave)(struct peer_call *call); /* may free the record; NULL: nothing to do */
    bool outlives_connection; /* the peer leaves only after the answer; PEER_CALL_SLOW only */
};

/* A peer may wait for one answer of each kind. While it waits for a slow call (slow_call.h), no
 * other message of it is looked at. */
enum peer_call_kind {
    PEER_CALL_SNAPSHOT,
    PEER_CALL_CONTROLS,
    PEER_CALL_RELOAD,
    PEER_CALL_SLOW,
    PEER_CALL_KINDS
};

/* One part of the time that is left is armed at a time. */
struct peer_deadline {
    sd_event_source *source;
    uint64_t part_us;
    unsigned parts; /* that are left */
};

/* An output's object on a connection; NULL: there is none. */
struct peer_object {
    sd_bus_slot *properties, *methods;
};

/* (fields: the connection, its deadlines, its user, what it waits for, and its objects.) */
struct peer {
    struct admission_entry admitted; /* the first member: the admission has the list of peers */
    const struct peer_services *services;
    int fd;            /* the peer's socket; the bus has a copy, to which it only writes */
    int pass_fd;       /* the bus reads from the other end */
    sd_bus *bus;       /* reads from `pass_fd`, writes to a copy of `fd` */
    uint8_t *received; /* bytes that are not passed on yet, at most LIMIT_MESSAGE_BYTES */
    size_t received_count;
    sd_event_source *io;           /* watches fd */
    sd_event_source *turn;         /* armed while the bus has work although the socket is quiet */
    struct peer_deadline deadline; /* for the handshake, and later for the rest of a message */
    bool connected;                /* the handshake is over */
    bool is_watcher;               /* methods that change something are refused */
    bool has_buffered;             /* the bus may not have processed all that was passed on */
    bool hung_up;                  /* the connection ends at its next turn */
    bool leaving; /* the connection has ended, but the peer has snapshots to fetch */
    uid_t uid;    /* the user whose process connected */
    struct peer_call *call[PEER_CALL_KINDS];       /* NULL: it does not wait */
    struct peer_object object[CONFIG_MAX_OUTPUTS]; /* by output number */
    unsigned unread_snapshots; /* sent since the peer had last read everything */
};

/* Checks that the kernel's buffers hold the longest message. -ENOBUFS: they do not, and `why` says
 * which setting of the kernel to raise. */
int peer_check_buffers(struct error *why);

/* Prepares the bus; nothing is read before peer_start. Takes over the descriptor, even if it fails.
 */
int peer_create(struct peer **ret, const struct peer_services *services, int fd, uid_t uid,
                bool is_watcher);

/* Starts the handshake and adds the peer to the admission's list. From then on the peer destroys
 * itself when the connection ends. */
int peer_start(struct peer *peer, struct admission *admission);

/* Looks at the peer's next message, after an answer that it had to wait for. */
void peer_resume(struct peer *peer);

/* Closes the connection. NULL is allowed. */
void peer_destroy(struct peer *peer);

/* Ends the connection at the peer's next turn. May be called from one of its methods. */
void peer_hang_up(struct peer *peer);

/* Writes the path of an output's object; and returns the output that has this path, which must be
 * one that object_add has served. */
void peer_object_path(const struct peer *peer, unsigned output, char path[OBJECT_PATH_BYTES]);
unsigned peer_output_at(const struct peer *peer, const char *path);

/* Returns whether the output that a call is for still exists. */
bool peer_has_output_of(const struct peer *peer, sd_bus_message *call);

/* Returns the output that a call is for. */
unsigned peer_output_of(const struct peer *peer, sd_bus_message *call);

/* Returns whether the peer can be sent a signal. */
bool peer_is_ready(const struct peer *peer);

/* Sends a signal, or hangs up on a peer that does not read. Peers share the message. */
void peer_emit(struct peer *peer, sd_bus_message *signal);

/* Returns whether the peer has received every reply and signal. */
bool peer_has_read_everything(const struct peer *peer);

/* Keeps a call for a later answer; the peer must not wait for another one of this kind. */
void peer_call_begin(struct peer *peer, enum peer_call_kind kind, struct peer_call *call,
                     sd_bus_message *message);

/* Forgets the call, which was answered or whose peer has left. */
void peer_call_end(struct peer_call *call);

/* Answers a kept call with an error, unless the peer has left. The text goes through
 * value_clean_text. */
void peer_call_fail(const struct peer_call *call, const char *name, const char *text);

/* Fails the call that is being carried out; the text goes through value_clean_text. */
int peer_fail(sd_bus_error *error, const char *name, const char *text);

/* Fails a call that changes something if the peer may only read. */
int peer_refuse_read_only(const struct peer *peer, sd_bus_error *error);

#endif
