/* Notches for the periodic noise that cannot be predicted, and so not be subtracted. Pure.
 *
 * A wave whose phase jumps from frame to frame, or whose frequency wavers, is the same spot of each
 * frame's spectrum. A notch stage removes it, with what the picture has there; so notches are for
 * waves only whose predictions fail (periodic_report.is_unpredictable). */
#ifndef FFTD_ESTIMATORS_PERIODIC_NOTCHES_H
#define FFTD_ESTIMATORS_PERIODIC_NOTCHES_H

#include <stdbool.h>

#include "filters/filter.h"
#include "estimators/periodic.h"

struct notch {
    double fx, fy; /* cycles/pixel */
    double width;  /* cycles/pixel, between half-power points */
};

struct notches {
    unsigned count;
    struct notch notch[CORRECTION_MAX_WAVES];
};

/* The width of a notch that removes a wave: what the edges of the frame spread it to, and how far
 * its frequency wavers. */
double notch_width(const struct periodic_report *wave);

/* Chooses the notches for the waves found. max_waves: to be removed, those that are subtracted
 * counted. before: the last choice, whose notches are kept where they still suit, so that hardly
 * anything changes while the same waves last. */
void notches_choose(struct notches *ret, const struct notches *before,
                    const struct periodic_report *wave, unsigned count, unsigned max_waves);

bool notches_equal(const struct notches *a, const struct notches *b);

/* Whether one of them removes a wave of this frequency. */
bool notches_cover(const struct notches *notches, double fx, double fy);

/* Appends stages to a chain, as many as it has room for, and removes the others from *notches. */
void notches_append(struct notches *notches, struct filter_chain *chain);

#endif
