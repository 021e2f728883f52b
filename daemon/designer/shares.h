/* What the designers of a camera's outputs share. Each builds engines of its own, and none may
 * build one that does not fit into the budget of memory beside what the others have. Their engines
 * are on one device, so that they can share loads (engine/load.h).
 *
 * Threads: any, but for init and finish. */
#ifndef FFTD_DESIGNER_SHARES_H
#define FFTD_DESIGNER_SHARES_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "config/config.h"
#include "core/budget.h"
#include "engine/engine.h"

struct designer_shares {
    pthread_mutex_t lock;
    struct budget_use built[CONFIG_MAX_OUTPUTS];    /* what is in use */
    struct budget_use reserved[CONFIG_MAX_OUTPUTS]; /* that, or what is to replace it */
    struct engine_loads *loads;
    bool shares_loads;         /* there are several outputs: main alone needs no load */
    struct gpu_device *device; /* opened last, for all engines; NULL: none */
};

/* Outputs as they will be once another one is added. Loads whose sizes are those of all of them,
 * and the least that each one counts with: what its next engine takes. */
struct designer_plan {
    struct engine_loads *loads;
    struct budget_use use[CONFIG_MAX_OUTPUTS];
};

/* One output's place among them. shares NULL: the output is alone. */
struct designer_share {
    struct designer_shares *shares;
    unsigned output;
    const struct designer_plan *plan; /* its memory is checked; NULL: that of outputs as they are */
};

/* -ENOMEM; then it has to be finished, too. Engines must be destroyed before it is finished. */
int designer_shares_init(struct designer_shares *ret, const struct config *config,
                         struct error *why);
void designer_shares_finish(struct designer_shares *shares);

/* There are `count` outputs now. If these are several, engines that are built from now on share
 * loads, which suit results of these sizes (engine_loads_create). An engine of main that would have
 * a load now, or need none any more, is built again. One that has a load keeps its lengths: a new
 * result of the captured size for which others are better now has a load of its own. */
void designer_shares_set_sizes(struct designer_shares *shares, const uint32_t (*sizes)[2],
                               unsigned count);

/* Returns the loads that an output's engines are to share; NULL: none. */
struct engine_loads *designer_share_loads(const struct designer_share *share);

/* Opens the device for an output's engines: the one that another output has opened, unless it has
 * failed since. The caller closes what it gets. */
int designer_share_open_device(const struct designer_share *share, const char *selector,
                               struct gpu_device **ret, struct error *why);

/* A device has failed, and is opened again for those who ask from now on. */
void designer_share_forget_device(const struct designer_share *share,
                                  const struct gpu_device *failed);

/* Checks a need of this output beside what the others take; reserves it if that is wanted. Errors
 * as budget_check, with a part "other outputs". */
int designer_share_check(const struct designer_share *share, const struct budget *budget,
                         const struct budget_need *need, bool reserves, const char *what,
                         struct error *why);

/* What was reserved has come into use, or will not. */
void designer_share_take(const struct designer_share *share);
void designer_share_forget(const struct designer_share *share);

/* Returns whether any output filters frames, or is about to. */
bool designer_share_has_engines(const struct designer_share *share);

/* The output has ended: it takes nothing any more. */
void designer_share_release(const struct designer_share *share);

#endif
