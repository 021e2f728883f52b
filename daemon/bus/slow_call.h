/* A method call that a worker carries out, because it reads files or computes for longer than a few
 * milliseconds. The next message of its peer waits for the answer, so that the calls of a
 * connection keep their order, and a connection has one such call at a time.
 *
 * When the peer disconnects, the call is cancelled. A call that changes something is still carried
 * out if its sender wants no reply, as one that sends and disconnects does; the connection keeps
 * its place until then. */
#ifndef FFTD_BUS_SLOW_CALL_H
#define FFTD_BUS_SLOW_CALL_H

#include "bus/peer.h"
#include "bus/worker.h"

struct slow_call;

struct slow_call_ops {
    bool is_change;
    /* Main thread, right before `run`; NULL: there is nothing to do. Fails the call if it returns
     * what peer_fail does. */
    int (*prepare)(struct slow_call *call, sd_bus_error *error);
    /* The worker's thread. Returns 0 or -errno. Images that it loads stay until then, unless a
     * chain holds them; texts and arrays of the message stay until `finish`. */
    int (*run)(struct slow_call *call, struct error *why);
    /* Main thread: sends the answer, and returns what a method returns, or SLOW_CALL_REPEAT. */
    int (*answer)(struct slow_call *call, sd_bus_error *error);
    /* Main thread: ends the call's own data. NULL: it has none. */
    void (*finish)(struct slow_call *call);
};

#define SLOW_CALL_REPEAT 2

/* The first member of a record that malloc has allocated. */
struct slow_call {
    struct job job;
    const struct slow_call_ops *ops;
    const struct bus_hooks *hooks;
    struct peer *peer; /* valid in all functions but `run` and `finish` */
    sd_bus_message *message;
    struct peer_call waiting; /* for the answer */
    sd_bus_error error;       /* set: the reply. `prepare` sets it whenever it fails */
    int result;               /* what `run` returned; -ECANCELED: it has not run */
    struct error why;
};

/* Takes over the record, whose other members the caller has set. Returns 1, as methods do that
 * answer later. */
int slow_call_start(struct slow_call *call, const struct slow_call_ops *ops, struct peer *peer,
                    sd_bus_message *message);

#endif
