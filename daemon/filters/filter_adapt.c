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

static bool looks_for(const struct filter_adaptation *adapts, const struct filter_image *image)
{
    for (unsigned i = 0; i < adapts->match_count; i++)
        if (adapts->match_image[i] == image)
            return true;
    return false;
}

struct filter_adaptation filter_adaptation_unite(const struct filter_adaptation *a,
                                                 const struct filter_adaptation *b)
{
    struct filter_adaptation ret = *a;
    if (!a->removes_waves) {
        ret.removes_waves = b->removes_waves;
        ret.waves = b->waves;
        ret.is_frozen = b->is_frozen;
    }
    if (!a->removes_flicker) {
        ret.removes_flicker = b->removes_flicker;
        ret.flicker = b->flicker;
    }
    if (!a->stabilises) {
        ret.stabilises = b->stabilises;
        ret.shake = b->shake;
    }
    if (!a->estimates_noise) {
        ret.estimates_noise = b->estimates_noise;
        ret.noise = b->noise;
    }
    for (unsigned i = 0; i < b->match_count && ret.match_count < FILTER_MAX_MATCHES; i++)
        if (!looks_for(&ret, b->match_image[i]))
            ret.match_image[ret.match_count++] = b->match_image[i];
    return ret;
}
