/* The times of the frames of a history, without the jitter of their time stamps; for flicker.h
 * alone. Pure.
 *
 * A camera's frames are regular and some may be missing, but time stamps come late by a varying
 * time. If a line fits them, frames are placed on it. The newest frame is at time 0. */
#ifndef FFTD_ESTIMATORS_FLICKER_TIMELINE_H
#define FFTD_ESTIMATORS_FLICKER_TIMELINE_H

#include <stdint.h>

#include "estimators/flicker_fit.h"
#include "estimators/flicker_rows.h"

struct timeline {
    double time_s[ROWS_FRAMES]; /* of the history's frames; the newest is at 0 */
    int64_t reference_ns;       /* time stamp of time 0 */
    double period_s;            /* 0: the frames are not regular */
    double jitter_s;
};

/* After a frame was added to the history. The waves of `fit` get the same phases in the frames
 * that were there before: time 0 and, if the period is known better now, frequencies are moved. */
void timeline_update(struct timeline *timeline, const struct rows *rows, struct fit *fit);

#endif
