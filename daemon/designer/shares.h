/* What the outputs of a camera take of one budget of memory. Each has a designer of its own, and
 * none may build an engine that does not fit beside what the others have.
 *
 * Threads: any. */
#ifndef FFTD_DESIGNER_SHARES_H
#define FFTD_DESIGNER_SHARES_H

#include <pthread.h>

#include "config/config.h"
#include "core/budget.h"

struct memory_shares {
    pthread_mutex_t lock;
    struct budget_use built[CONFIG_MAX_OUTPUTS];    /* what is in use */
    struct budget_use reserved[CONFIG_MAX_OUTPUTS]; /* that, or what is to replace it */
};

/* One output's place among them. shares NULL: the output is alone. */
struct memory_share {
    struct memory_shares *shares;
    unsigned output;
};

void memory_shares_init(struct memory_shares *ret);
void memory_shares_finish(struct memory_shares *shares);

/* Checks a need of this output beside what the others take; reserves it if that is wanted. Errors
 * as budget_check, with a part "other outputs". */
int memory_share_check(const struct memory_share *share, const struct budget *budget,
                       const struct budget_need *need, bool reserves, const char *what,
                       struct error *why);

/* What was reserved has come into use, or will not. */
void memory_share_take(const struct memory_share *share);
void memory_share_forget(const struct memory_share *share);

#endif
