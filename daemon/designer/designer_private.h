/* A designer; designer.c and designer_calls.c share it. */
#ifndef FFTD_DESIGNER_DESIGNER_PRIVATE_H
#define FFTD_DESIGNER_DESIGNER_PRIVATE_H

#include <pthread.h>

#include "designer/ahead.h"
#include "designer/designer.h"

struct request_design {
    bool is_engine; /* an engine for `frames`, and not only a response */
    struct engine_frames frames;
    struct filter_chain chain;
    enum view_kind view;
    uint64_t serial;
    unsigned fade_frames;
};

/* The search for faster settings of the engine. */
struct tuning {
    struct tuning_status status;
    bool stop; /* somebody asks the search to stop */
    /* Automatically, for the frames that an engine was requested for last: for transforms, and for
     * short filters. */
    bool has_searched[2];
    struct engine_search *search; /* the thread's own; NULL: not created yet */
};

/* Marks a search as running; none is. */
static inline void tuning_begin(struct tuning *tuning, bool exhaustive)
{
    tuning->status = (struct tuning_status){
        .running = true, .exhaustive = exhaustive, .tuned = tuning->status.tuned};
    tuning->stop = false;
}

/* (fields: three groups, by who may access them.) */
struct designer {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t change; /* signalled when a field below changes; waits use CLOCK_MONOTONIC */
    int wake_fd;
    int64_t build_timeout_ns;

    /* Under the lock. */
    bool stop, ended;
    int ended_fd;          /* eventfd to write then; -1: none */
    int64_t busy_since_ns; /* in the driver since then; 0: it is not */
    bool has_built;        /* an engine was built before */
    bool exhausted;        /* no further engine is built */
    bool device_failed;    /* since the last request was begun */
    struct request_design wanted;
    double noise;         /* was estimated for chains that ask for it; 0: not yet */
    int64_t noise_due_ns; /* it may change from then on */
    bool noise_is_new;    /* no response was designed with it yet */
    struct handover handover;
    struct build_progress progress;
    struct tuning tuning;

    struct ahead ahead; /* the thread's own */

    uint64_t done_serial; /* no design of this serial is wanted any more */
    uint64_t fade_serial; /* its fade needed another engine than it needs itself; 0: none did */

    /* Private to the thread. */
    struct builder builder;
    const struct engine_frames *built_frames; /* what is being built */
    const struct filter_chain *built_chain;
};

#endif
