/* What the two halves of a camera share: camera.c, which any other thread calls, and
 * camera_thread.c, which is the camera's own thread. */
#ifndef FFTD_CAMERA_PRIVATE_H
#define FFTD_CAMERA_PRIVATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "camera.h"
#include "core/clock.h"
#include "designer.h"
#include "gpu/engine.h"
#include "ring/ring.h"
#include "snapshot.h"
#include "source.h"

/* Nobody has wanted frames for so long: then it pauses, if it may. */
#define CAMERA_GRACE_NS (2 * NS_PER_S)

/* A frame between engine_submit and ring_publish. */
struct flight {
    struct ring_write write;
    struct ring_meta meta;
    struct capture_frame frame; /* the source's, as long as */
    bool holds_frame;           /* says that the engine reads it where it is */
    struct snapshot *snapshots; /* which want this frame */
};

struct camera {
    /* Fixed from start to stop. */
    struct config config;
    struct designer *designer;
    pthread_t thread;
    int wake_fd;  /* eventfd, wakes the camera's thread: a design is ready, or stop */
    int event_fd; /* eventfd, wakes the main loop */
    bool joined;  /* camera_stop has been as far as that */

    atomic_bool stop;
    atomic_bool attended; /* somebody reads its frames */
    _Atomic int64_t progress_ns;

    /* Under the lock. */
    pthread_mutex_t lock;
    pthread_cond_t ended_cond;
    bool ended;
    unsigned events;
    struct ring *ring;   /* frames go here; written by the camera's thread */
    struct ring *served; /* what camera_ring returned last */
    struct ring *dying;  /* was served before; destroyed by the next camera_take_events */
    struct snapshot *waiting, *answered;
    struct errand *errands, *done_errands; /* camera_controls.c */
    struct camera_status status;
    int64_t published_ns; /* when the newest frame was */

    /* The thread's own. */
    struct source source;
    struct engine *engine;
    struct frame_memory *memory; /* the engine's, lent to the source; NULL: there is none */
    uint32_t engine_source;      /* what it takes, and makes */
    struct fftd_format engine_format;
    uint32_t captured;           /* fourcc of the source's frames */
    struct fftd_format format;   /* of the ring's frames; as long as there is a ring */
    bool engine_wanted;          /* another one was asked for and has not come yet */
    struct error engine_failure; /* why there is none; empty if there is, or none has failed */
    unsigned engine_failures;    /* since the last published frame */
    int64_t engine_retry_ns;     /* when to ask for another one; INT64_MAX: not needed */
    int64_t engine_moved_ns;     /* it finished a frame then, or was given the only one it has */
    int64_t frame_timeout_ns;    /* without moving for so long it has hung */
    int64_t heartbeat_ns;        /* when the ring heard of us last */
    int64_t rest_ns;             /* when to pause if nobody comes; INT64_MAX: not yet, or it does */
    bool resting;                /* the source is not to stream */
    struct flight flight[ENGINE_MAX_IN_FLIGHT]; /* a queue, in the engine's order */
    unsigned first_flight, flights;
    enum camera_state told_state; /* what tell_state made public last */
    struct error told_reason;
    struct error told_problem; /* source.control_problem, as it was logged last */
    unsigned told_run;         /* source.runs when it was looked at how frames come */
    int64_t rate_since_ns;     /* the frame rate is counted from then on */
    unsigned rate_frames;
};

/* Sets bits for camera_take_events; with the lock held. */
void camera_post_events(struct camera *camera, unsigned events);

/* Takes the layout of the opened source: a ring for it, and if need be an engine. */
int camera_adopt_format(struct camera *camera, struct error *why);

/* Lends the source memory of the engine there is, or none if there is none; starts a source anew
 * that streams into memory of an engine that has gone. */
void camera_renew_memory(struct camera *camera);

/* Decides whether the source is to stream (camera->resting). To be called when the thread was woken
 * and when camera->rest_ns has come. */
void camera_consider_rest(struct camera *camera, int64_t now_ns);

/* Cuts what does not fit. */
void camera_copy_text(char *to, size_t size, const char *from);

/* What the thread tells others (camera_tell.c). */
void camera_show_progress(struct camera *camera); /* to the ring and the watchdog */
void camera_tell_state(struct camera *camera);    /* if it is another one than told last */
void camera_tell_control_problem(struct camera *camera);
void camera_tell_input(struct camera *camera);
void camera_record(struct camera *camera, struct flight *flight, const struct engine_done *done,
                   int64_t published_ns); /* a published frame */

/* camera_controls.c: the camera's thread does what waits; the main thread answers what is done;
 * once there is no thread, everything that waits is answered with -ECANCELED. */
void camera_do_errands(struct camera *camera);
void camera_answer_errands(struct errand *done);
void camera_cancel_errands(struct camera *camera);

void *camera_thread(void *argument); /* the camera */

#endif
