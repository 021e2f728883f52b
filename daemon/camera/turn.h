/* Shares processor time between an estimator that takes long and others that have to see frames
 * more often than it can. The long one is paid by what the others take: it looks at a frame, and
 * then skips frames until the others have taken as long as it did. So each side gets half.
 *
 * Plain data. Threads: one at a time. */
#ifndef FFTD_CAMERA_TURN_H
#define FFTD_CAMERA_TURN_H

#include <stdbool.h>
#include <stdint.h>

struct turn {
    int64_t owed_ns; /* the others are owed it before the next turn; {0} to begin with a turn */
};

/* Whether the next frame is one of the long estimator's, too. */
static inline bool turn_is_due(const struct turn *turn)
{
    return turn->owed_ns <= 0;
}

/* What a frame has cost, in processor time; long_ns: 0 if it was a frame of the others alone. What
 * the others took before a turn came is not saved up for more turns later. */
static inline void turn_account(struct turn *turn, int64_t long_ns, int64_t others_ns)
{
    const int64_t owed_ns = turn->owed_ns > 0 ? turn->owed_ns : 0;
    turn->owed_ns = owed_ns + long_ns - others_ns;
}

#endif
