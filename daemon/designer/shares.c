#include "designer/shares.h"

#include <stddef.h>

void memory_shares_init(struct memory_shares *ret)
{
    *ret = (struct memory_shares){.use = {{0, 0}}};
    pthread_mutex_init(&ret->lock, NULL);
}

void memory_shares_finish(struct memory_shares *shares)
{
    pthread_mutex_destroy(&shares->lock);
}

int memory_share_check(const struct memory_share *share, const struct budget *budget,
                       const struct budget_need *need, bool reserves, const char *what,
                       struct error *why)
{
    struct memory_shares *shares = share->shares;
    struct budget_need all = *need;
    if (shares == NULL)
        return budget_check(budget, need, what, why);
    pthread_mutex_lock(&shares->lock);
    for (unsigned i = 0; i < CONFIG_MAX_OUTPUTS; i++)
        if (i != share->output && shares->use[i].host + shares->use[i].device > 0)
            budget_add(&all, "other outputs", shares->use[i].host, shares->use[i].device);
    const int r = budget_check(budget, &all, what, why);
    if (r == 0 && reserves)
        shares->use[share->output] = budget_use_of(budget, need);
    pthread_mutex_unlock(&shares->lock);
    return r;
}

void memory_share_set(const struct memory_share *share, const struct budget_use *use)
{
    if (share->shares == NULL)
        return;
    pthread_mutex_lock(&share->shares->lock);
    share->shares->use[share->output] = *use;
    pthread_mutex_unlock(&share->shares->lock);
}
