/* The path of a frame: source -> engine -> ring. Camera's thread only.
 *
 * While the engine has all the frames it takes, the source is not polled: frames wait in the
 * driver, and the next dequeue skips all but the newest. A frame that the engine reads where the
 * source wrote it is given back to the source once it is finished, any other frame at once.
 *
 * The engine stores results into the ring's slots if its device can. A device that fails may keep
 * writing there for an unlimited time. The ring is then given up: the slots that the device may
 * still write stay open, and the path takes no more frames until it has another ring.
 *
 * The path gives up an engine that loses, refuses or keeps a frame, and decides which memory frames
 * pass through. reconcile.h decides everything else: it gives the path a ring and an engine, starts
 * and stops the source, and requests another engine after a failure. */
#ifndef FFTD_CAMERA_FRAME_PATH_H
#define FFTD_CAMERA_FRAME_PATH_H

#include <stdbool.h>
#include <stdint.h>

#include "designer/designer.h"
#include "observer/observer.h"
#include "camera/report.h"
#include "camera/request.h"
#include "camera/recovery.h"
#include "camera/steady.h"
#include "engine/engine.h"
#include "ring/ring.h"

/* A frame between engine_submit and ring_publish. */
struct flight {
    struct ring_write write;
    struct ring_meta meta;
    struct capture_frame frame; /* the source's; valid only while */
    bool holds_frame;           /* the engine still reads it */
    struct request *snapshots;  /* to be answered with this frame */
    uint64_t number;            /* the observer's number of the frame, for its measures */
};

/* (fields: the parts of the path, what it counts, and why it failed.) */
struct frame_path {
    struct designer *designer;
    struct observer *observer;
    struct report *report;
    struct recovery recovery;
    struct steady steady;
    struct engine *engine;              /* borrowed from the designer; NULL: none */
    struct engine_frames engine_frames; /* the frames that the engine was built for */
    struct frame_memory *memory;        /* the engine's, lent to the source; NULL: none */
    struct ring *ring;                  /* NULL: none yet */
    struct engine_output *output;       /* the ring's slots, for the engine; NULL: none */
    bool ring_lost;                     /* the device still writes slots: replace the ring */
    struct engine_frames frames; /* the frames that the source captures and the ring carries */
    struct flight flight[ENGINE_MAX_IN_FLIGHT]; /* a queue, in the engine's order */
    unsigned first_flight, flights;
    unsigned max_flights;
    uint64_t published, limit; /* frames; no more than limit are submitted, unless that is 0 */
    struct request *snapshots; /* waiting for the next frame */
    enum demosaic demosaic;    /* for the frames of snapshots from before the filter */
    int64_t
        engine_moved_ns; /* when the engine last finished a frame, or got one while it had none */
    int64_t frame_timeout_ns; /* an engine that has not moved for this time has hung */
    struct error failure;     /* the engine's; empty: none since the last published frame */
    unsigned failures;        /* failures of engines since the last published frame */
    unsigned last_start; /* the start of the source that delivered the newest submitted frame */
    bool is_first;       /* the next frame is the engine's first one */
    bool engine_failed;  /* reconcile has not acted on the failure yet */
};

void frame_path_init(struct frame_path *ret, const struct config *config, struct designer *designer,
                     struct observer *observer, struct report *report);

/* Publishes the frames in flight, closes the source and returns the engine. */
void frame_path_finish(struct frame_path *path);

/* Returns whether a frame should be taken. Without an engine frames are taken and dropped, because
 * the driver would seem stalled otherwise; an unpaced source waits instead, and so does one whose
 * frames wait for readers. */
bool frame_path_wants_frame(const struct frame_path *path);

/* A descriptor that becomes readable when readers have made progress that the path waits for; -1:
 * it waits for none. Its owner calls frame_path_take_room then. */
int frame_path_room_fd(const struct frame_path *path);
void frame_path_take_room(struct frame_path *path);

/* Returns whether readers still need a frame that was taken, if the ring waits for them. */
bool frame_path_is_needed(const struct frame_path *path);

/* Returns whether the number of frames that the configuration asks for has been published. */
bool frame_path_is_complete(const struct frame_path *path);

/* Takes the source's newest frame, if there is one, and submits it. */
void frame_path_take(struct frame_path *path);

/* Publishes the frames that the engine has finished. */
void frame_path_collect(struct frame_path *path);

/* Waits for every frame in flight and publishes it. Gives up when the engine fails. */
void frame_path_drain(struct frame_path *path);

/* CLOCK_MONOTONIC ns by which the engine must have finished a frame; INT64_MAX: it has none. */
int64_t frame_path_deadline_ns(const struct frame_path *path);

/* Gives up on an engine that is past its deadline. */
void frame_path_check_deadline(struct frame_path *path, int64_t now_ns);

/* Returns whether the work that the path waits for makes progress, and will finish or be given
 * up. */
bool frame_path_is_healthy(const struct frame_path *path);

/* Uses another engine, after the frames in flight. */
void frame_path_set_engine(struct frame_path *path, const struct design *design);

/* Uses another ring, while no frames are in flight, or after the old one was lost. The caller
 * destroys the old one. */
void frame_path_set_ring(struct frame_path *path, struct ring *ring);

/* Returns whether the engine is built for the frames that the source captures now. */
bool frame_path_engine_fits(const struct frame_path *path);

/* Lends the source memory of the engine's device, or none. Restarts a source that streams into the
 * memory which is replaced. */
void frame_path_update_memory(struct frame_path *path);

#endif
