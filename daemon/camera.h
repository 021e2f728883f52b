/* One camera: capture -> engine -> ring, and every recovery policy.
 *
 * Threads. The camera's own thread runs the frame path: it waits for the source, the engine and
 * requests, nothing else, and never polls. A second thread, the designer, turns filter chains
 * into responses and builds new engines, so that neither frames nor the control socket wait for
 * that. All functions here may be called from the main thread at any time; none blocks for longer
 * than a mutex. What the main loop must do (a new ring to serve, a change of state to tell) is
 * announced through camera_fd. */
#ifndef FFTD_CAMERA_H
#define FFTD_CAMERA_H

#include <stdbool.h>
#include <stdint.h>

#include "capture/capture.h"
#include "config.h"
#include "core/stats.h"
#include "designer.h"
#include "fftd/ring.h"
#include "ring/ring.h"

struct camera;

enum camera_state {
    CAMERA_STARTING, /* no frame yet */
    CAMERA_ONLINE,
    CAMERA_STALLED, /* the source is open but delivers nothing */
    CAMERA_LOST,    /* the source has gone; waiting for it to come back */
    CAMERA_REFUSED, /* it is there but does not accept what is asked of it */
    CAMERA_FAILED,  /* the engine failed and is being rebuilt; frames are dropped */
    CAMERA_PAUSED,  /* nobody reads its frames (idle = "pause"); whoever comes starts it again */
    CAMERA_FINISHED /* the file has ended, or `frames` frames are done */
};
const char *camera_state_name(enum camera_state state); /* "online" */

/* Whether a camera in this state can be waited for to deliver a frame. */
bool camera_may_deliver(enum camera_state state);

/* The stages a frame's time is split into; each has a histogram. */
enum camera_stage {
    STAGE_CAPTURE, /* captured -> dequeued */
    STAGE_WAIT,    /* dequeued -> given to the engine */
    STAGE_UPLOAD,
    STAGE_KERNEL,
    STAGE_DOWNLOAD, /* the engine's own account */
    STAGE_PUBLISH,  /* finished -> published, less the download */
    STAGE_TOTAL,    /* captured -> published */
    STAGE_COUNT
};
const char *camera_stage_name(enum camera_stage stage);

struct camera_status {
    enum camera_state state;
    char state_reason[256]; /* why it is not online; empty if it is */
    char source[256];       /* what capture says of itself */
    char input[256];        /* how its frames come to the engine; empty: not known yet */
    char engine[256];       /* what the engine says of itself */
    char device[256];
    const char *device_memory; /* gpu_device_memory */
    struct fftd_format format;
    uint64_t filter_serial;   /* of the newest published frame */
    uint64_t wanted_serial;   /* of the newest accepted change */
    char filter_problem[256]; /* why that change could not be carried out; empty if it was, or is
                                 under way */
    uint64_t published, dropped_error, dropped_stale, dropped_engine, source_lost;
    uint64_t stalls, restarts, reopens;
    uint64_t engine_failures; /* times an engine lost, refused or kept a frame, or did not build */
    uint64_t newest_sequence;
    uint32_t generation;
    double rate; /* frames published a second, over the last second or so */
    struct histogram latency[STAGE_COUNT];
};

/* Opens the OpenCL device and the source and starts the threads, which build the engine; -ENODEV if
 * either is not there. wait: a source that cannot be opened is no failure but the state LOST or
 * REFUSED; what it delivers, and so the ring, is known only once it is there. An engine that cannot
 * be built shows as the state FAILED.
 * inherited: the ring of a process before this one (ring_adopt) or NULL; taken over, on failure
 * too. Frames go on in it if they are laid out as it is, else in the next generation. */
int camera_start(struct camera **ret, const struct config *config, struct ring *inherited,
                 bool wait, struct error *why);

/* Stops the source and publishes the frames in flight, while the ring is still being served: who
 * waits for them must not hear of the end first. -EBUSY: a thread did not come back from the OpenCL
 * driver within most of a second (a kernel being compiled cannot be interrupted): call it again, or
 * end the process by _exit. NULL is allowed. */
int camera_halt(struct camera *camera);

/* The same, unless it was done before; then retires the ring, answers snapshots that still wait
 * with -ECANCELED; nobody may use the ring any more. */
int camera_stop(struct camera *camera);

/* Readable when camera_take_events has something. */
int camera_fd(const struct camera *camera);

#define CAMERA_EVENT_STATE  1u /* the state, its reason or the engine changed */
#define CAMERA_EVENT_RING   2u /* camera_ring returns another ring */
#define CAMERA_EVENT_FILTER 4u /* the newest filter is in force, or could not be made */
#define CAMERA_EVENT_FRAME  8u /* the first frame was published */
unsigned camera_take_events(struct camera *camera);

/* The ring frames go to, or NULL before there is one. A ring is destroyed only after the main loop
 * took CAMERA_EVENT_RING and called camera_ring again. */
struct ring *camera_ring(struct camera *camera);

/* Asks for another chain; frames with filter_serial >= *ret_serial obey it. The chain must be
 * checked. Never fails for a checked chain; what goes wrong later is in the status. */
int camera_set_filter(struct camera *camera, const struct filter_chain *chain, uint64_t *ret_serial,
                      struct error *why);
void camera_get_filter(struct camera *camera, struct filter_chain *ret);

/* Searching for faster settings of the engine: as in designer.h. */
int camera_tune(struct camera *camera, bool exhaustive, struct error *why);
void camera_stop_tuning(struct camera *camera);
void camera_get_tuning(struct camera *camera, struct tuning_status *ret);

/* The newest unfiltered frame with the filtered one made from it, copied for the caller (snapshot,
 * spectrum): waits for the next frame, asynchronously: `done` is called in the main thread, from
 * camera_take_events or camera_stop, exactly once if camera_snapshot returned 0. Buffers have the
 * format's layout and are freed by the camera afterwards. -ENODEV: the camera is neither starting
 * nor online nor paused, or ceased to be; -EAGAIN: its format is not known yet, or changed; -EIO:
 * the frame was lost; -ENOMEM. */
typedef void camera_snapshot_fn(void *context, int result, const struct fftd_format *format,
                                const uint8_t *before, const uint8_t *after, uint64_t sequence);
int camera_snapshot(struct camera *camera, camera_snapshot_fn *done, void *context);

/* The camera's own controls, asked for and set by the camera's thread between two frames: `done` is
 * called in the main thread, from camera_take_events or camera_stop, exactly once, with what
 * capture_list_controls or capture_set_controls returned, the reason if that is negative, and the
 * controls, which stay the camera's, if they were asked for. What is set is set again whenever the
 * camera is opened again. -ENOMEM. */
typedef void camera_controls_fn(void *context, int result, const char *why,
                                const struct capture_controls *controls);
int camera_list_controls(struct camera *camera, camera_controls_fn *done, void *context);
int camera_set_controls(struct camera *camera, const struct settings *settings,
                        camera_controls_fn *done, void *context);

/* Goes on with the source, size, rate and format that the configuration names now, likewise: `done`
 * is told what capture_open returned; if it failed, the camera goes on as it was. Readers get
 * another ring if the frames' layout is another. */
int camera_change_source(struct camera *camera, const struct config *config,
                         camera_controls_fn *done, void *context);

void camera_get_status(struct camera *camera, struct camera_status *ret);

/* Tells it whether anybody reads its frames; nobody does at first. With idle = "pause" it streams
 * as long as somebody reads or waits for a snapshot, and two seconds more. */
void camera_set_attended(struct camera *camera, bool attended);

/* CLOCK_MONOTONIC ns of the last real progress: a frame published, or it was known why there is
 * none and what is done about it. A camera that is absent or a device that fails is progress; a
 * thread, a device or a driver that hangs is none. What the watchdog is fed by. */
int64_t camera_progress_ns(struct camera *camera);

#endif
