/* The verdict is a sign test. If the new one gains exactly what is worth while, half of all pairs
 * show more, and at least four of five do so in 6 of 32 cases. If it gains nothing, or is slower,
 * hardly any do; docs/results/2026-11-28-search.md has the shares on a busy machine. */
#include "transform/pairs.h"

void pairs_add(struct pairs *pairs, double new_ms, double old_ms)
{
    pairs->pair[pairs->count++] = (struct pair){new_ms, old_ms};
}

enum pairs_verdict pairs_decide(const struct pairs *pairs)
{
    unsigned won = 0;
    if (pairs->count > 0 && pairs->pair[0].new_ms >= pairs->pair[0].old_ms)
        return PAIRS_NOT_FASTER;
    for (unsigned i = 0; i < pairs->count; i++)
        won += pairs->pair[i].new_ms < PAIRS_WORTH_WHILE * pairs->pair[i].old_ms;
    if (won >= PAIRS_WON)
        return PAIRS_FASTER;
    return pairs->count - won > PAIRS_MOST - PAIRS_WON ? PAIRS_NOT_FASTER : PAIRS_OPEN;
}

/* Returns whether the ratio of `a` is less than that of `b`. */
static bool is_less(struct pair a, struct pair b)
{
    return a.new_ms * b.old_ms < b.new_ms * a.old_ms;
}

struct pair pairs_median(const struct pairs *pairs)
{
    struct pair sorted[PAIRS_MOST] = {{0, 0}};
    for (unsigned i = 0; i < pairs->count; i++) {
        unsigned at = i;
        for (; at > 0 && is_less(pairs->pair[i], sorted[at - 1]); at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = pairs->pair[i];
    }
    return sorted[pairs->count / 2];
}
