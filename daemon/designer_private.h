/* What the files behind designer.h share: designer.c (requests, engines, the thread),
 * designer_tune.c (the search for faster settings). */
#ifndef FFTD_DESIGNER_PRIVATE_H
#define FFTD_DESIGNER_PRIVATE_H

#include <pthread.h>

#include "designer.h"

/* Between two rounds of the thread the camera can give back the engine it had and the one it took
 * from the result slot, no more. */
#define MAX_USED_UP 4

/* A device that kept the frames of so many engines will keep those of the next. */
#define MAX_STUCK   2

/* An engine with frames that the device has not let go of, and that device. */
struct stuck {
    struct engine *engine;
    struct gpu_device *device;
};

struct request {
    bool engine;
    uint32_t source;
    struct fftd_format format;
    struct filter_chain chain;
    uint64_t serial;
};

struct designer {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t change; /* of anything under the lock; on CLOCK_MONOTONIC */
    int wake_fd;
    char selector[CONFIG_TEXT];
    char cache_dir[CONFIG_TEXT];
    struct engine_options options;
    int64_t build_timeout_ns;

    /* Under the lock. */
    bool stop, ended;
    int64_t busy_since_ns; /* in the driver; 0: it is not */
    bool has_built;        /* an engine, at any time */
    struct request wanted;
    struct engine *used_up[MAX_USED_UP];
    unsigned used_up_count;
    struct engine *lent; /* the newest one the camera thread has */
    struct stuck stuck[MAX_STUCK + MAX_USED_UP];
    unsigned stuck_count; /* written by the thread only */
    bool device_failed;
    bool posted;
    struct design design;
    struct tuning_status tuning;
    bool tuned; /* the newest engine */
    bool stop_tuning;
    bool has_searched; /* by itself, for the frames that were wanted last */

    /* The thread's own. */
    struct gpu_device *device;
    struct engine *engine;
    uint32_t source;
    struct fftd_format format;
    double support_px; /* which the engine was built for */
    bool device_suspect;
    uint64_t done_serial;
    struct engine_search *search;
};

/* The lock is not held while the driver works. */
void designer_enter_driver(struct designer *designer);
void designer_leave_driver(struct designer *designer);

/* All with the lock held. Begins a search, at the thread's next round. */
void designer_begin_search(struct designer *designer, bool exhaustive);

/* Takes the search's next step, by the thread; what it found is in force with a new engine. */
void designer_search_on(struct designer *designer);

/* Ends the search, if one runs. */
void designer_cancel_search(struct designer *designer, const char *reason);

/* Whether an engine that was just built is to be tuned without being asked: once, and on a CPU,
 * where there is little to find, only if that was wished for. */
bool designer_wants_search(const struct designer *designer);

#endif
