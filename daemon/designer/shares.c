#include "designer/shares.h"

#include <stddef.h>

void memory_shares_init(struct memory_shares *ret)
{
    *ret = (struct memory_shares){.built = {{0, 0}}};
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
        if (i != share->output && shares->reserved[i].host + shares->reserved[i].device > 0)
            budget_add(&all, "other outputs", shares->reserved[i].host, shares->reserved[i].device);
    const int r = budget_check(budget, &all, what, why);
    if (r == 0 && reserves)
        shares->reserved[share->output] = budget_use_of(budget, need);
    pthread_mutex_unlock(&shares->lock);
    return r;
}

static void copy(const struct memory_share *share, const struct budget_use *from,
                 struct budget_use *to)
{
    pthread_mutex_lock(&share->shares->lock);
    to[share->output] = from[share->output];
    pthread_mutex_unlock(&share->shares->lock);
}

void memory_share_take(const struct memory_share *share)
{
    if (share->shares != NULL)
        copy(share, share->shares->reserved, share->shares->built);
}

void memory_share_forget(const struct memory_share *share)
{
    if (share->shares != NULL)
        copy(share, share->shares->built, share->shares->reserved);
}
