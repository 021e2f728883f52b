/* Compares the desired state of the camera with the applied one, and acts on the difference.
 *
 * Every change takes this path: a filter set on the bus, a reloaded configuration, a first reader,
 * a camera that returns, an engine that fails. Each only changes desired state (mailbox.h) or a
 * part of the frame path; the next reconcile() notices the change and acts on it.
 *
 * Threads: the camera's, except reconciler_init and reconcile_open, which run before it starts. */
#ifndef FFTD_CAMERA_RECONCILE_H
#define FFTD_CAMERA_RECONCILE_H

#include <stdbool.h>
#include <stdint.h>

#include "camera/frame_path.h"
#include "camera/mailbox.h"
#include "camera/source_change.h"
#include "config/config.h"
#include "core/error.h"

/* Applied state, except that of the source (source_change.h) and of each output (output.h). */
struct applied {
    uint64_t controls_version;
    bool paused;      /* the source is not to stream */
    int64_t pause_ns; /* when to pause; INT64_MAX: there are readers, or it is paused */
};

/* An output as it begins. */
struct reconciler_output {
    struct config config; /* as of a camera whose only output is this one */
    struct designer *designer;
};

struct reconciler {
    const struct config *config; /* as at the start; `desired` has what may change later */
    struct mailbox *mailbox;
    const struct reconciler_output *outputs; /* by number */
    struct designer_shares *shares;
    struct frame_path path;
    struct desired desired; /* as read from the mailbox last */
    struct applied applied;
    struct source_change source_change;
    struct request *requests; /* received, but not answered yet */
};

/* All arguments must outlive the reconciler, which must not be moved. outputs: one for each place;
 * configured outputs begin at once, others when they are desired. Their first rings are in the
 * mailbox. */
void reconciler_init(struct reconciler *ret, const struct config *config, struct mailbox *mailbox,
                     const struct reconciler_output *outputs, struct designer_shares *shares,
                     struct observer *observer);

/* Opens the source for the first time, or begins to. wait: a source that cannot be opened is a
 * state, not a failure. Without wait, an opening that fails later leads to the state FAILED. */
int reconcile_open(struct reconciler *reconciler, bool wait, struct error *why);

/* Receives requests. Call it before a frame is taken, so that a snapshot shows the first frame
 * after its request. */
void reconcile_receive(struct reconciler *reconciler);

/* Applies what is desired and not applied yet. Call it whenever something may have changed; it is
 * cheap if nothing has. */
void reconcile(struct reconciler *reconciler);

/* CLOCK_MONOTONIC ns at which reconcile must be called even if nothing happens. */
int64_t reconcile_deadline_ns(const struct reconciler *reconciler);

#endif
