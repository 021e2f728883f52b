/* Shares processor time between a slow estimator and others that have to see frames more often than
 * it can. After the slow one has observed a frame, it skips frames until the others have taken as
 * much time as it did. Each side gets half.
 *
 * Plain data. Threads: one at a time. */
#ifndef FFTD_OBSERVER_TURN_H
#define FFTD_OBSERVER_TURN_H

#include <stdbool.h>
#include <stdint.h>

struct turn {
    int64_t
        owed_ns; /* time that the others may take before the next turn; {0} begins with a turn */
};

/* Returns whether the slow estimator observes the next frame. */
static inline bool turn_is_due(const struct turn *turn)
{
    return turn->owed_ns <= 0;
}

/* Accounts for the processor time of a frame. long_ns: the slow estimator's; 0 if it skipped the
 * frame. Time that the others take while no turn is owed is not saved up. */
static inline void turn_account(struct turn *turn, int64_t long_ns, int64_t others_ns)
{
    const int64_t owed_ns = turn->owed_ns > 0 ? turn->owed_ns : 0;
    turn->owed_ns = owed_ns + long_ns - others_ns;
}

#endif
