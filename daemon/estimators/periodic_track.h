/* The complex amplitude of a wave over the frames: its drift, and what it will be. Pure.
 *
 * Part of the estimator of periodic.h. Frames are counted in camera frames, also those that were
 * not observed: the interval is the longest one of which all differences of recent time stamps are
 * multiples. Threads: one at a time. */
#ifndef FFTD_ESTIMATORS_PERIODIC_TRACK_H
#define FFTD_ESTIMATORS_PERIODIC_TRACK_H

#include <complex.h>
#include <stdbool.h>
#include <stdint.h>

#define CLOCK_STAMPS   32u
#define TRACK_HISTORY  40u

/* How far a prediction reaches. After a longer gap between frames phases are learned again. */
#define TRACK_AHEAD_NS 1000000000

/* The camera's frame interval. Zero is empty. */
struct frame_clock {
    int64_t stamp[CLOCK_STAMPS]; /* the newest first */
    unsigned count;
    double interval_ns; /* 0: not known */
};

/* Adds a later stamp. */
void clock_add(struct frame_clock *clock, int64_t stamp_ns);

/* Whether all recent stamps are the same number of frames apart, so that frames between them may
 * have been missed. */
bool clock_is_regular(const struct frame_clock *clock);

/* The history of one wave. Zero is empty. */
struct track_history {
    int64_t stamp[TRACK_HISTORY]; /* the newest first */
    double complex amplitude[TRACK_HISTORY];
    unsigned count;
    unsigned step;            /* all differences between the frames are multiples; 0: not fitted */
    double drift;             /* periods per frame */
    double complex predicted; /* the fit's amplitude at the newest stamp */
    double error,
        power; /* averages: of the squared error of prediction, of the squared amplitude */
    unsigned predictions; /* how many they hold */
    double failing; /* the share of the last second in which predictions were not good enough */
    bool is_unpredictable;
    double spread2; /* average of the squared error of the frequency in a frame */
};

/* Adds a measurement, compares it with what was predicted, and fits. stamp_ns is the clock's
 * newest. */
void history_add(struct track_history *history, const struct frame_clock *clock, int64_t stamp_ns,
                 double complex amplitude);

/* Whether predictions are good enough that subtracting them helps. */
bool history_is_predictable(const struct track_history *history);

/* Begins again, but remembers whether predictions failed, which a gap in the frames does not
 * change. */
void history_restart(struct track_history *history);

/* Adds by how much the frequency in a frame was off, in cycles/pixel. */
void history_add_offset(struct track_history *history, double dx, double dy);

/* How far a wave has turned, in periods, at a time near the newest stamp of its history.
 * interval_ns: of the clock. False: it cannot be said. */
bool track_turn(double drift, double step, double interval_ns, double after_ns, double *ret);

#endif
