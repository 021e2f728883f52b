#include "designer/shares.h"

#include <errno.h>
#include <stddef.h>

int designer_shares_init(struct designer_shares *ret, const struct config *config,
                         struct error *why)
{
    uint32_t sizes[CONFIG_MAX_OUTPUTS][2];
    const unsigned count = config_output_count(config);
    *ret = (struct designer_shares){.built = {{0, 0}}};
    pthread_mutex_init(&ret->lock, NULL);
    ret->shares_loads = count > 1;
    sizes[0][0] = config->output.width;
    sizes[0][1] = config->output.height;
    for (unsigned i = 1; i < count; i++) {
        sizes[i][0] = config->outputs.output[i - 1].width;
        sizes[i][1] = config->outputs.output[i - 1].height;
    }
    return engine_loads_create(&ret->loads, sizes, count, why);
}

void designer_shares_finish(struct designer_shares *shares)
{
    gpu_device_close(shares->device);
    engine_loads_destroy(shares->loads);
    pthread_mutex_destroy(&shares->lock);
}

void designer_shares_set_sizes(struct designer_shares *shares, const uint32_t (*sizes)[2],
                               unsigned count)
{
    engine_loads_set_sizes(shares->loads, sizes, count);
    pthread_mutex_lock(&shares->lock);
    shares->shares_loads = count > 1;
    pthread_mutex_unlock(&shares->lock);
}

struct engine_loads *designer_share_loads(const struct designer_share *share)
{
    struct designer_shares *shares = share->shares;
    if (share->plan != NULL)
        return share->plan->loads;
    if (shares == NULL)
        return NULL;
    pthread_mutex_lock(&shares->lock);
    struct engine_loads *loads = shares->shares_loads ? shares->loads : NULL;
    pthread_mutex_unlock(&shares->lock);
    return loads;
}

int designer_share_open_device(const struct designer_share *share, const char *selector,
                               struct gpu_device **ret, struct error *why)
{
    struct designer_shares *shares = share->shares;
    int r = 0;
    if (shares == NULL)
        return gpu_device_open(ret, selector, why);
    pthread_mutex_lock(&shares->lock);
    if (shares->device == NULL)
        r = gpu_device_open(&shares->device, selector, why);
    struct gpu_device *twin = r == 0 ? gpu_device_twin(shares->device) : NULL;
    pthread_mutex_unlock(&shares->lock);
    if (r == 0 && twin == NULL)
        return error_set(why, ENOMEM, "out of memory while opening the OpenCL device");
    *ret = twin;
    return r;
}

void designer_share_forget_device(const struct designer_share *share,
                                  const struct gpu_device *failed)
{
    struct designer_shares *shares = share->shares;
    if (shares == NULL)
        return;
    pthread_mutex_lock(&shares->lock);
    if (shares->device != NULL && gpu_device_is_twin(shares->device, failed)) {
        gpu_device_close(shares->device);
        shares->device = NULL;
    }
    pthread_mutex_unlock(&shares->lock);
}

static uint64_t most(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

int designer_share_check(const struct designer_share *share, const struct budget *budget,
                         const struct budget_need *need, bool reserves, const char *what,
                         struct error *why)
{
    struct designer_shares *shares = share->shares;
    struct budget_need all = *need;
    if (shares == NULL)
        return budget_check(budget, need, what, why);
    pthread_mutex_lock(&shares->lock);
    for (unsigned i = 0; i < CONFIG_MAX_OUTPUTS; i++) {
        const struct budget_use least =
            share->plan != NULL ? share->plan->use[i] : (struct budget_use){0};
        const uint64_t host = most(shares->reserved[i].host, least.host);
        const uint64_t device = most(shares->reserved[i].device, least.device);
        if (i != share->output && host + device > 0)
            budget_add(&all, "other outputs", host, device);
    }
    const int r = budget_check(budget, &all, what, why);
    if (r == 0 && reserves)
        shares->reserved[share->output] = budget_use_of(budget, need);
    pthread_mutex_unlock(&shares->lock);
    return r;
}

static void copy(const struct designer_share *share, const struct budget_use *from,
                 struct budget_use *to)
{
    pthread_mutex_lock(&share->shares->lock);
    to[share->output] = from[share->output];
    pthread_mutex_unlock(&share->shares->lock);
}

void designer_share_take(const struct designer_share *share)
{
    if (share->shares != NULL)
        copy(share, share->shares->reserved, share->shares->built);
}

void designer_share_forget(const struct designer_share *share)
{
    if (share->shares != NULL)
        copy(share, share->shares->built, share->shares->reserved);
}

bool designer_share_has_engines(const struct designer_share *share)
{
    struct designer_shares *shares = share->shares;
    bool has = false;
    if (shares == NULL)
        return false;
    pthread_mutex_lock(&shares->lock);
    for (unsigned i = 0; i < CONFIG_MAX_OUTPUTS; i++)
        has |= shares->built[i].host + shares->built[i].device > 0;
    pthread_mutex_unlock(&shares->lock);
    return has;
}

void designer_share_release(const struct designer_share *share)
{
    struct designer_shares *shares = share->shares;
    pthread_mutex_lock(&shares->lock);
    shares->built[share->output] = shares->reserved[share->output] = (struct budget_use){0};
    pthread_mutex_unlock(&shares->lock);
}
