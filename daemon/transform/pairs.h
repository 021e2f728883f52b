/* Which of two is faster, from times that were measured in pairs, by turns. The speed of a machine
 * varies: other programs take its processors, and clocks rise and fall. That changes both times of
 * a pair alike, but not two times that were measured minutes apart. Pure. */
#ifndef FFTD_TRANSFORM_PAIRS_H
#define FFTD_TRANSFORM_PAIRS_H

#include <stdbool.h>

#define PAIRS_MOST        5
#define PAIRS_WON         4 /* of these: so many must show a gain that is worth while */

/* The share of the other's time that is worth while; a smaller gain may be noise. */
#define PAIRS_WORTH_WHILE 0.98

struct pair {
    double new_ms, old_ms; /* of what may take the place of the other, and of that */
};

struct pairs {
    struct pair pair[PAIRS_MOST];
    unsigned count;
};

enum pairs_verdict { PAIRS_OPEN, PAIRS_FASTER, PAIRS_NOT_FASTER };

/* Returns whether the new one is measured first in the next pair. The order changes, because a
 * machine that becomes faster favours the second one. */
static inline bool pairs_new_is_first(const struct pairs *pairs)
{
    return pairs->count % 2 == 0;
}

/* Adds a pair, of at most PAIRS_MOST. */
void pairs_add(struct pairs *pairs, double new_ms, double old_ms);

/* Returns whether the new one is faster. PAIRS_OPEN: another pair is needed. A first pair without
 * any gain decides at once, so that what is plainly slower costs one pair. */
enum pairs_verdict pairs_decide(const struct pairs *pairs);

/* Returns the pair whose ratio is the median. At least one must have been added. */
struct pair pairs_median(const struct pairs *pairs);

#endif
