/* One output of a camera: its engine, its ring, and its frames in flight between them. Camera's
 * thread only. frame_path.h gives each captured frame to the outputs that are due.
 *
 * An output whose engine has all the frames it takes gets none, and no other output waits for it. A
 * frame that the engine reads where the source wrote it is given back to the source once it is
 * finished, any other frame at once.
 *
 * The engine stores results into the ring's slots if its device can. A device that fails may keep
 * writing there for an unlimited time. The ring is then given up: the slots that the device may
 * still write stay open, and the output takes no more frames until it has another ring.
 *
 * An output gives up an engine that loses, refuses or keeps a frame. output_change.h decides
 * everything else: it gives the output a ring and an engine, and requests another engine after a
 * failure. */
#ifndef FFTD_CAMERA_OUTPUT_H
#define FFTD_CAMERA_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>

#include "camera/recovery.h"
#include "camera/report.h"
#include "camera/request.h"
#include "camera/steady.h"
#include "designer/designer.h"
#include "engine/engine.h"
#include "observer/observer.h"
#include "ring/ring.h"

/* A frame between engine_submit and ring_publish. */
struct flight {
    struct ring_write write;
    struct ring_meta meta;
    struct capture_frame frame; /* the source's; valid only while */
    bool holds_frame;           /* the engine still reads it */
    struct request *snapshots;  /* to be answered with this frame */
    uint64_t number;            /* the observer's number of the frame, for its measures */
    uint64_t before;            /* that of the frame which the engine was given before; 0: none */
    int64_t before_ns;          /* and when it was captured */
};

/* What output_change.h has applied, and what it waits for. */
struct output_applied {
    uint64_t filter_serial;          /* handed to the designer */
    uint64_t used_serial;            /* the newest response's that came into use; 0: none did */
    bool engine_requested;           /* the designer has not delivered it yet */
    int64_t engine_retry_ns;         /* when to request another engine; INT64_MAX: not needed */
    struct filter_adaptation adapts; /* what the chain in use asks for */
};

/* What is made for a source that is tried. */
struct output_prepared {
    bool is_waited_for;
    bool is_ready;
    struct engine_frames frames; /* what that source delivers, */
    uint64_t serial;             /* and the filter that is made for them */
    struct design design;        /* if it is ready; engine NULL: the one in use suits */
};

/* (fields: the parts of an output, what it counts, and why it failed.) */
struct output {
    uint64_t id; /* the desired output that is here, or was */
    const char *name;
    char prefix[CONFIG_OUTPUT_NAME + 16]; /* begins log messages; empty for the first output */
    const struct config *config;          /* as of a camera whose only output is this one */
    struct designer *designer;
    struct designer_share share; /* its part of the budget of memory */
    struct observer *observer;
    struct recovery *recovery;
    struct report report;
    struct steady steady;
    struct output_applied applied;
    struct output_prepared prepared;
    struct engine *engine;              /* borrowed from the designer; NULL: none */
    struct engine_frames engine_frames; /* the frames that the engine was built for */
    struct ring *ring;                  /* NULL: none yet */
    struct engine_output *stores;       /* the ring's slots, for the engine; NULL: none */
    bool ring_lost;                     /* the device still writes slots: replace the ring */
    struct engine_frames frames; /* the frames that the source captures and the ring carries */
    struct flight flight[ENGINE_MAX_IN_FLIGHT]; /* a queue, in the engine's order */
    unsigned first_flight, flights;
    unsigned max_flights;
    bool always_runs; /* without readers, too */
    bool lingers;     /* gets frames although nobody wants them, until the camera pauses */
    bool has_readers;
    int64_t period_ns, due_ns; /* with a greatest rate: of its frames, and of the next one; or 0 */
    uint64_t published, limit; /* frames; no more than limit are submitted, unless that is 0 */
    struct request *snapshots; /* waiting for the next frame */
    int64_t
        engine_moved_ns; /* when the engine last finished a frame, or got one while it had none */
    int64_t frame_timeout_ns; /* an engine that has not moved for this time has hung */
    struct error failure;     /* the engine's; empty: none since the last published frame */
    unsigned failures;        /* failures of engines since the last published frame */
    unsigned last_start;  /* the start of the source that delivered the newest submitted frame */
    uint64_t last_number; /* the observer's number of that frame */
    int64_t last_ns;      /* and when it was captured */
    bool is_first;        /* the next frame is the engine's first one */
    bool engine_failed;   /* output_change has not acted on the failure yet */
};

/* Completes an output. The caller has set id, name, config, designer, share, observer, recovery and
 * snapshots, and all else is zero. What they point to must outlive the output, which must not be
 * moved. fps: as config_output_fps. */
void output_init(struct output *output, struct output_mailbox *box, double fps);

/* Publishes the frames in flight, and returns the engine. */
void output_finish(struct output *output);

/* A place for an output is zero before it is used. */
static inline bool output_is_used(const struct output *output)
{
    return output->name != NULL;
}

static inline unsigned output_number(const struct output *output)
{
    return output->report.box->output;
}

/* ---- frames ---- */

/* A captured frame, and what the observer says of it. */
struct output_frame {
    const struct capture_frame *frame;
    bool discontinuity;
    uint64_t number;                     /* the observer's */
    const struct correction *correction; /* NULL: none */
    const struct output
        *last; /* is given the frame last, and holds it for the others; NULL: none holds it */
};

/* Returns whether somebody wants the output's frames; and whether it gets them. */
bool output_is_wanted(const struct output *output);
bool output_is_needed(const struct output *output);

/* Returns whether it can be given a frame now: it is needed, has an engine with a place for one,
 * and room in the ring. */
bool output_takes_frame(const struct output *output);

/* Returns whether a frame that was captured then is one of its frames, which are no more in a
 * second than it may have; and counts it. */
bool output_is_due(struct output *output, int64_t captured_ns);

/* Returns whether its readers let the ring have another frame. */
bool output_has_room(const struct output *output);

/* Returns whether as many frames are published or in flight as the configuration asks for. */
bool output_has_submitted_all(const struct output *output);

/* Returns whether readers still need a frame that was taken, if the ring waits for them. */
bool output_is_unread(const struct output *output);

/* Submits a frame. Returns whether the engine holds it; otherwise the source may have it back. */
bool output_submit(struct output *output, const struct output_frame *frame);

/* Publishes the frames that the engine has finished. */
void output_collect(struct output *output);

/* Waits for every frame in flight and publishes it. Gives up when the engine fails. */
void output_drain(struct output *output);

/* Answers the snapshots that wait for a frame to come with this negative errno. */
void output_cancel_snapshots(struct output *output, struct mailbox *mailbox, int result);

/* CLOCK_MONOTONIC ns by which the engine must have finished a frame; INT64_MAX: it has none. */
int64_t output_deadline_ns(const struct output *output);

/* Gives up on an engine that is past its deadline. */
void output_check_deadline(struct output *output, int64_t now_ns);

/* Returns whether the work that the output waits for makes progress, and will finish or be given
 * up. */
bool output_is_healthy(const struct output *output);

/* ---- its engine and its ring ---- */

/* Uses another engine, after the frames in flight. */
void output_set_engine(struct output *output, const struct design *design);

/* Uses another ring, while no frames are in flight, or after the old one was lost. The caller
 * destroys the old one. */
void output_set_ring(struct output *output, struct ring *ring);

/* Returns whether the engine is built for the frames that the source captures now. */
bool output_engine_fits(const struct output *output);

/* Lends the source memory of the engine's device, if this output's engine reads frames there. */
void output_update_memory(struct output *output);

#endif
