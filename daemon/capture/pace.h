/* The clock of the sources that have none of their own: a timer that ticks once a frame, and
 * frame rates as the fractions that formats carry. An unpaced clock ticks whenever it is taken,
 * except while it is blocked. */
#ifndef FFTD_CAPTURE_PACE_H
#define FFTD_CAPTURE_PACE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/error.h"

struct pace {
    int fd; /* readable when a tick has passed: a timerfd, or an eventfd if it is unpaced */
    int64_t start_ns;  /* unpaced: of the newest taken tick */
    int64_t period_ns; /* 0: unpaced */
    uint64_t ticks;    /* passed and taken since pace_start */
    bool ready;        /* unpaced: started and not blocked */
};

/* The fraction of a rate: 30 -> 30/1, 29.97 -> 30000/1001, 12.5 -> 25/2.
 * rate is one that capture_open accepts, not 0. */
void pace_fraction(double rate, uint32_t *ret_num, uint32_t *ret_den);

/* Makes a stopped clock of num/den ticks a second, den above 0; num 0: an unpaced one. */
int pace_init(struct pace *ret, uint32_t num, uint32_t den, struct error *why);
void pace_finish(struct pace *pace);

/* The first tick is due at once, each following one a period later. */
int pace_start(struct pace *pace, struct error *why);
void pace_stop(struct pace *pace);

/* Takes the ticks that have passed since the last call; returns how many, 0 if none. */
uint64_t pace_take(struct pace *pace);

/* An unpaced clock does not tick between these two calls; any other one is unaffected. */
void pace_block(struct pace *pace);
void pace_unblock(struct pace *pace);

/* When the newest taken tick was due, CLOCK_MONOTONIC. */
int64_t pace_due_ns(const struct pace *pace);

#endif
