/* Decides which of two alternatives is faster, from times measured in pairs, by turns. The speed of
 * a machine varies: other programs take its processors, and clocks rise and fall. That affects both
 * times of a pair alike, but not two times measured minutes apart. Pure. */
#ifndef FFTD_TRANSFORM_PAIRS_H
#define FFTD_TRANSFORM_PAIRS_H

#include <stdbool.h>

#define PAIRS_MOST        5
#define PAIRS_WON         4 /* pairs that must show a gain that is worth while */

/* A new time below this share of the old one is worth while; a smaller gain may be noise. */
#define PAIRS_WORTH_WHILE 0.98

struct pair {
    double new_ms, old_ms; /* times of the newcomer, and of what it may replace */
};

struct pairs {
    struct pair pair[PAIRS_MOST];
    unsigned count;
};

enum pairs_verdict { PAIRS_OPEN, PAIRS_FASTER, PAIRS_NOT_FASTER };

/* Returns whether the new one is measured first in the next pair. The order alternates, because a
 * machine that speeds up favours the second one. */
static inline bool pairs_new_is_first(const struct pairs *pairs)
{
    return pairs->count % 2 == 0;
}

/* Adds a pair. At most PAIRS_MOST may be added. */
void pairs_add(struct pairs *pairs, double new_ms, double old_ms);

/* Returns whether the new one is faster. PAIRS_OPEN: another pair is needed. A first pair without
 * any gain decides at once, so that a plainly slower one costs only one pair. */
enum pairs_verdict pairs_decide(const struct pairs *pairs);

/* Returns the pair whose ratio is the median. At least one must have been added. */
struct pair pairs_median(const struct pairs *pairs);

#endif
