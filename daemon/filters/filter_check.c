/* The rules for stages that cannot be beside each other in a chain. */
#include <errno.h>

#include "filters/filter.h"
#include "filters/filter_adapt.h"

/* A chain does not move pixels if it also finds rows or waves, because these are corrected at their
 * captured places (correct.cl). */
static int check_moves(const struct filter_chain *chain, struct error *why)
{
    const struct filter_kind *moves = NULL, *adapts = NULL, *similar = NULL;
    for (unsigned i = 0; i < chain->count; i++) {
        const struct filter_kind *kind = chain->stage[i].kind;
        moves = kind->origin != NULL ? kind : moves;
        adapts = filter_kind_corrects(kind) ? kind : adapts;
        similar = filter_stage_has_similarity(&chain->stage[i]) ? kind : similar;
    }
    if (adapts != NULL && moves != NULL)
        return error_set(why, EINVAL,
                         "%s corrects pixels where they are captured, but %s moves them: expected "
                         "one of both in a chain",
                         adapts->name, moves->name);
    if (adapts != NULL && similar != NULL)
        return error_set(why, EINVAL,
                         "%s corrects pixels where they are captured, but %s turns them: expected "
                         "one of both in a chain, or stabilise with model = shift",
                         adapts->name, similar->name);
    return 0;
}

/* Returns a bit for each thing that a stage of the kind does and a chain does at most once. Each
 * estimator serves one stage; noise is reduced once in blocks or by a stack, and once in the
 * spectrum; samples become a median once, and black or white once; pixels move once, and pass one
 * curve. */
static unsigned done_once(const struct filter_kind *kind)
{
    const unsigned adapts = kind->adapts != FILTER_ADAPTS_NOT ? 64u << kind->adapts : 0;
    return adapts | (kind->denoise != NULL || kind->stack != NULL ? 1u : 0) |
           (kind->threshold != NULL ? 2u : 0) | (kind->takes_median ? 4u : 0) |
           (kind->binarise != NULL ? 8u : 0) | (kind->origin != NULL ? 16u : 0) |
           (kind->curve != NULL ? 32u : 0);
}

static int check_done_once(const struct filter_chain *chain, struct error *why)
{
    for (unsigned i = 0; i < chain->count; i++)
        for (unsigned k = 0; k < i; k++) {
            const struct filter_kind *kind = chain->stage[i].kind, *first = chain->stage[k].kind;
            if ((done_once(kind) & done_once(first)) != 0)
                return error_set(why, EINVAL,
                                 "stage %u: the chain has %s already: expected at most one%s",
                                 i + 1, first->name, kind != first ? " of both" : "");
        }
    return 0;
}

/* One picture shows one template. */
static int check_templates(const struct filter_chain *chain, struct error *why)
{
    unsigned first = 0;
    for (unsigned i = 0; i < chain->count; i++) {
        const struct filter_kind *kind = chain->stage[i].kind;
        if (kind->has_image_response == NULL || !filter_stage_uses_image(&chain->stage[i]))
            continue;
        if (first > 0)
            return error_set(why, EINVAL,
                             "stage %u: the picture shows the template of stage %u already: "
                             "expected %s:show=false, which only looks for it",
                             i + 1, first, kind->name);
        first = i + 1;
    }
    const unsigned count = filter_chain_adaptation(chain).match_count;
    if (count > FILTER_MAX_MATCHES)
        return error_set(why, EINVAL, "the chain has %u templates: expected at most %d `match`",
                         count, FILTER_MAX_MATCHES);
    return 0;
}

int filter_chain_check(const struct filter_chain *chain, struct error *why)
{
    const size_t pixels = filter_chain_pixels(chain);
    if (pixels > FILTER_MAX_PIXELS)
        return error_set(why, EINVAL,
                         "the images of the filter's stages have %zu pixels in all: expected at "
                         "most %d, as 255x255 has",
                         pixels, FILTER_MAX_PIXELS);
    int r = check_done_once(chain, why);
    if (r == 0)
        r = check_templates(chain, why);
    return r < 0 ? r : check_moves(chain, why);
}
