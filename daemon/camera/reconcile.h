/* Compares what is desired of the camera with what is applied, and acts on the difference.
 *
 * Every change takes this road: a filter set on the bus, a reloaded configuration, a first reader,
 * a camera that returns, an engine that fails. Each only changes desired state (mailbox.h) or a
 * part of the frame path; the next reconcile() notices, and does what is missing.
 *
 * Threads: the camera's, but for reconciler_init and reconcile_open, which run before it starts. */
#ifndef FFTD_CAMERA_RECONCILE_H
#define FFTD_CAMERA_RECONCILE_H

#include <stdbool.h>
#include <stdint.h>

#include "camera/designer.h"
#include "camera/frame_path.h"
#include "camera/mailbox.h"
#include "camera/report.h"
#include "camera/source_change.h"
#include "config/config.h"
#include "core/error.h"

/* What has been done about the desired state. The source's part is in struct source_change. */
struct applied {
    uint64_t filter_serial; /* handed to the designer */
    uint64_t controls_version;
    bool paused;             /* the source is not to stream */
    int64_t pause_ns;        /* when to pause; INT64_MAX: there are readers, or it is paused */
    bool engine_requested;   /* from the designer, which has not delivered it yet */
    int64_t engine_retry_ns; /* when to request another engine; INT64_MAX: not needed */
    struct notches notches;  /* requested for what was found */
    int64_t notches_due_ns;  /* no others are chosen before */
};

struct reconciler {
    const struct config *config; /* of the start; what may change later is in `desired` */
    struct mailbox *mailbox;
    struct designer *designer;
    struct report report;
    struct frame_path path;
    struct desired desired; /* as read last */
    struct applied applied;
    struct source_change source_change;
    struct request *requests; /* received, but not answered yet */
};

/* config, mailbox, designer and observer must outlive it, and it must not be moved. continued: as
 * for camera_start. */
void reconciler_init(struct reconciler *ret, const struct config *config, struct mailbox *mailbox,
                     struct designer *designer, struct observer *observer, struct ring *continued);

/* Opens the source for the first time, or begins to. wait: a source that cannot be opened is a
 * state, not a failure. Without wait, an opening that fails later leads to the state FAILED. */
int reconcile_open(struct reconciler *reconciler, bool wait, struct error *why);

/* Receives requests. To be called before a frame is taken, so that a snapshot is of the first frame
 * that comes after its request. */
void reconcile_receive(struct reconciler *reconciler);

/* Does what is missing. To be called whenever something may have changed; cheap if nothing has. */
void reconcile(struct reconciler *reconciler);

/* CLOCK_MONOTONIC ns at which reconcile must be called even if nothing happens. */
int64_t reconcile_deadline_ns(const struct reconciler *reconciler);

#endif
