#include "filters/filter_adapt.h"

/* Returns whether a stage changes noise before the response sees it, so that captured frames do not
 * tell how strong it is there. */
static bool changes_noise(const struct filter_kind *kind)
{
    return kind->denoise != NULL || kind->stack != NULL || kind->threshold != NULL ||
           kind->takes_median || kind->curve != NULL;
}

struct filter_adaptation filter_chain_adaptation(const struct filter_chain *chain)
{
    struct filter_adaptation ret = {.removes_waves = false};
    for (unsigned i = 0; i < chain->count; i++) {
        const struct filter_stage *stage = &chain->stage[i];
        if (stage->kind->adapt != NULL)
            stage->kind->adapt(stage, &ret);
    }
    for (unsigned i = 0; i < chain->count; i++)
        if (changes_noise(chain->stage[i].kind))
            ret.estimates_noise = false;
    if (!ret.estimates_noise)
        ret.noise = (struct blur_noise_options){.falloff = 0};
    return ret;
}

void filter_chain_take_noise(struct filter_chain *chain, double noise)
{
    if (noise == 0 || !filter_chain_adaptation(chain).estimates_noise)
        return;
    for (unsigned i = 0; i < chain->count; i++) {
        struct filter_stage *stage = &chain->stage[i];
        if (stage->kind->take_noise != NULL)
            stage->kind->take_noise(stage, noise);
    }
}

bool filter_chain_adapts(const struct filter_chain *chain)
{
    for (unsigned i = 0; i < chain->count; i++)
        if (filter_kind_corrects(chain->stage[i].kind))
            return true;
    return false;
}

/* Returns whether a stage moves frames as the model says. */
static bool moves(const struct filter_stage *stage, enum stabiliser_model model)
{
    struct filter_adaptation wanted = {.stabilises = false};
    if (stage->kind->adapts != FILTER_ADAPTS_SHAKE)
        return false;
    stage->kind->adapt(stage, &wanted);
    return wanted.shake.model == model;
}

bool filter_chain_shifts(const struct filter_chain *chain)
{
    for (unsigned i = 0; i < chain->count; i++)
        if (moves(&chain->stage[i], STABILISER_SHIFT))
            return true;
    return false;
}

bool filter_stage_has_similarity(const struct filter_stage *stage)
{
    return moves(stage, STABILISER_SIMILARITY) || moves(stage, STABILISER_REFERENCE) ||
           moves(stage, STABILISER_BURST);
}

bool filter_chain_has_similarity(const struct filter_chain *chain)
{
    for (unsigned i = 0; i < chain->count; i++)
        if (filter_stage_has_similarity(&chain->stage[i]))
            return true;
    return false;
}
