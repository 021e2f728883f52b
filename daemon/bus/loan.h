/* Frames on loan: the memory of snapshots, which clients read from descriptors. Main thread only.
 *
 * A client can keep a descriptor, and the memory behind it, for as long as it likes, even after it
 * has disconnected. The daemon therefore lends only a few snapshots at a time, and keeps a
 * descriptor of each frame as well. A loan ends when the client has closed and unmapped the frames,
 * and at the latest after LIMIT_LOAN_S. A client that reads later finds an empty file. */
#ifndef FFTD_BUS_LOAN_H
#define FFTD_BUS_LOAN_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "bus/worker.h"
#include "core/error.h"

struct sd_event;
struct sd_event_source;

#define LOAN_FRAMES 2

struct loan {
    struct job job;      /* its end */
    struct loans *loans; /* NULL: it is in none */
    struct loan *next;
    uid_t uid;
    int fd[LOAN_FRAMES]; /* the daemon's own, opened for writing; -1: none */
    uint64_t due_us;     /* when it ends at the latest, CLOCK_MONOTONIC; 0: not sent yet */
};

struct loans {
    struct worker *worker; /* frees the memory, which takes milliseconds */
    struct loan *first;
    struct sd_event_source *timer; /* armed while there are loans that were sent */
};

int loans_init(struct loans *ret, struct sd_event *event, struct worker *worker);

/* Forgets all loans; clients keep the frames that they received. Zero-initialised loans are
 * allowed.
 */
void loans_finish(struct loans *loans);

/* Begins a loan of at most LOAN_FRAMES frames. -EUSERS: clients have too many snapshots. */
int loan_begin(struct loan **ret, struct loans *loans, uid_t uid, struct error *why);

/* Copies a frame into memory of its own. Returns a descriptor to send, which can only be read and
 * which the caller closes, or -errno. Any thread, but one at a time, and before loan_sent. */
int loan_frame(struct loan *loan, const char *name, const uint8_t *frame, size_t size);

/* Reports that the frames were sent. The loan then ends without another call. */
void loan_sent(struct loan *loan);

/* Ends a loan and frees the memory of its frames, even if a client has them open. NULL is allowed.
 */
void loan_end(struct loan *loan);

#endif
