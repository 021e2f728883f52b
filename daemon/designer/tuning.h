/* The search for faster settings of the engine: its status, and one step of it at a time.
 *
 * Threads: struct tuning is guarded by the designer's lock; tuning_step runs without it, in the
 * designer's thread, and touches nothing but what it is given. */
#ifndef FFTD_DESIGNER_TUNING_H
#define FFTD_DESIGNER_TUNING_H

#include <stdbool.h>

#include "core/error.h"
#include "engine/engine.h"

struct tuning_status {
    bool running;    /* a search runs, or is about to begin */
    bool exhaustive; /* the search that runs, or the last one */
    bool tuned;      /* the engine uses settings that a search has found */
    struct engine_search_progress progress;
    int result; /* 0: the last search succeeded; -ECANCELED: it was stopped; another -errno: it
                   failed */
    struct error why;
};

struct tuning {
    struct tuning_status status;
    bool stop; /* somebody asks the search to stop */
    /* Automatically, for the frames that an engine was requested for last: for transforms, and for
     * short filters. */
    bool has_searched[2];
    struct engine_search *search; /* the thread's own; NULL: not created yet */
};

/* Marks a search as running. -EBUSY: one is. */
int tuning_begin(struct tuning *tuning, bool exhaustive, struct error *why);

/* Marks the search as ended with this result. */
void tuning_end(struct tuning *tuning, int result, const struct error *why);

/* Takes the next step of a search, or creates the search if *search is NULL. 1: more steps follow.
 * 0: the search has ended, and its result is stored. -errno: it failed. After 0 and -errno *search
 * is destroyed and NULL. Takes as long as one build. */
int tuning_step(struct engine_search **search, const struct engine *engine, bool exhaustive,
                const struct engine_compared *compared, const char *cache_dir,
                struct engine_search_progress *ret, struct error *why);

#endif
