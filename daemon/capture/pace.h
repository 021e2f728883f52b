/* The clock of the sources that have none of their own: a timer that ticks once a frame, and
 * frame rates as the fractions that formats carry. */
#ifndef FFTD_CAPTURE_PACE_H
#define FFTD_CAPTURE_PACE_H

#include <stdint.h>

#include "core/error.h"

struct pace {
    int fd; /* timerfd, readable when a tick has passed */
    int64_t start_ns;
    int64_t period_ns;
    uint64_t ticks; /* passed and taken since pace_start */
};

/* The fraction of a rate: 30 -> 30/1, 29.97 -> 30000/1001, 12.5 -> 25/2.
 * rate is one that capture_open accepts, not 0. */
void pace_fraction(double rate, uint32_t *ret_num, uint32_t *ret_den);

/* Makes a stopped clock of num/den ticks a second (both above 0). */
int pace_init(struct pace *ret, uint32_t num, uint32_t den, struct error *why);
void pace_finish(struct pace *pace);

/* The first tick is due at once, each following one a period later. */
int pace_start(struct pace *pace, struct error *why);
void pace_stop(struct pace *pace);

/* Takes the ticks that have passed since the last call; returns how many, 0 if none. */
uint64_t pace_take(struct pace *pace);

/* When the newest taken tick was due, CLOCK_MONOTONIC. */
int64_t pace_due_ns(const struct pace *pace);

#endif
