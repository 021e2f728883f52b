#include "filters/filter_adapt.h"

struct filter_adaptation filter_chain_adaptation(const struct filter_chain *chain)
{
    struct filter_adaptation ret = {.removes_waves = false};
    for (unsigned i = 0; i < chain->count; i++) {
        const struct filter_stage *stage = &chain->stage[i];
        if (stage->kind->adapt != NULL)
            stage->kind->adapt(stage, &ret);
    }
    return ret;
}

bool filter_chain_adapts(const struct filter_chain *chain)
{
    for (unsigned i = 0; i < chain->count; i++)
        if (filter_kind_corrects(chain->stage[i].kind))
            return true;
    return false;
}

bool filter_chain_stabilises(const struct filter_chain *chain)
{
    for (unsigned i = 0; i < chain->count; i++)
        if (chain->stage[i].kind->adapts == FILTER_ADAPTS_SHAKE)
            return true;
    return false;
}
