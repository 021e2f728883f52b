/* A thread beside the main one, for work that may take longer than a few milliseconds.
 *
 * Only the main thread sees a worker's queue; the worker's thread sees one job at a time. A job is
 * therefore passed back and forth, and needs no lock: it belongs to the worker's thread during
 * `run`, and otherwise to the main thread. Users take turns: one with many jobs delays the first
 * job of another user by two jobs, one of which runs already. The jobs of one user run in their
 * order. */
#ifndef FFTD_BUS_WORKER_H
#define FFTD_BUS_WORKER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/error.h"

struct sd_event;
struct worker;

/* Part of a record of its owner, who sets the first members. */
struct job {
    uid_t uid; /* whose turn it is */
    /* Main thread, right before `run`. False: skip it. NULL: there is nothing to prepare. */
    bool (*prepare)(struct job *job);
    /* The worker's thread. It should end soon after `cancelled` has become true. */
    void (*run)(struct job *job);
    /* Main thread, the end of each job. It may free the job, or put it back by job_repeat unless it
     * was cancelled. */
    void (*done)(struct job *job, bool is_cancelled);
    atomic_bool cancelled; /* set by job_cancel; any thread */

    /* For worker.c only. */
    struct worker *worker;
    struct job *next;
    uint64_t round; /* the lowest is next, and each user has one job in a round */
};

/* Starts a thread of this name, of at most 15 letters. */
int worker_create(struct worker **ret, struct sd_event *event, const char *name, struct error *why);

/* Cancels all jobs and ends the thread. -EBUSY: a job has not ended in time, so that the process
 * can only end by _exit. NULL is allowed. */
int worker_destroy(struct worker *worker);

/* Puts a job at the end of its user's. It is cancelled at once while the worker ends. */
void worker_add(struct worker *worker, struct job *job);

/* Called from `done`: does the job again before all others. */
void job_repeat(struct job *job);

/* Takes a job out of the queue, which calls `done` at once, or lets a running one end early. */
void job_cancel(struct job *job);

#endif
