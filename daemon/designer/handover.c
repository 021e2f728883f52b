#include "designer/handover.h"

#include <string.h>

void handover_finish(struct handover *handover)
{
    filter_chain_drop(&handover->chain);
    filter_chain_drop(&handover->taken_chain);
}

void handover_drop(struct handover *handover)
{
    engine_response_free(handover->design.response);
    handover->design.response = NULL;
    handover->design.engine = NULL;
    handover->posted = handover->design.result < 0;
}

static bool is_closing(const struct handover *handover, const struct engine *engine)
{
    for (unsigned i = 0; i < handover->closing_count; i++)
        if (handover->closing[i] == engine)
            return true;
    return false;
}

void handover_add_closing(struct handover *handover, struct engine *engine)
{
    handover->closing[handover->closing_count++] = engine;
}

bool handover_post(struct handover *handover, struct design *design,
                   const struct filter_chain *chain)
{
    struct design *posted = &handover->design;

    if (design->engine != NULL && is_closing(handover, design->engine)) {
        engine_response_free(design->response);
        design->engine = NULL;
        design->response = NULL;
    }
    if (design->engine == NULL) {
        /* A response that an earlier request left is still to be applied. */
        posted->result = design->result;
        posted->why = design->why;
        posted->result_serial = design->result_serial;
        posted->result_frames = design->result_frames;
        handover->posted = posted->engine != NULL || posted->result < 0;
        return handover->posted;
    }
    engine_response_free(posted->response);
    if (posted->engine != NULL && posted->engine != design->engine &&
        posted->engine != handover->borrowed)
        handover_add_closing(handover, posted->engine);
    *posted = *design;
    filter_chain_assign(&handover->chain, chain);
    handover->posted = true;
    return true;
}

bool handover_take(struct handover *handover, bool is_fading, struct design *ret)
{
    const struct engine *engine = handover->design.engine;
    const bool waits = is_fading && engine != NULL && engine != handover->borrowed &&
                       handover->design.waits_for_fade;
    if (!handover->posted || waits)
        return false;
    *ret = handover->design;
    handover->design = (struct design){0};
    handover->posted = false;
    if (ret->engine == NULL)
        return true;
    if (handover->borrowed != ret->engine)
        handover->load_changes = 0; /* it was not compared yet */
    handover->borrowed = ret->engine;
    filter_chain_assign(&handover->taken_chain, &handover->chain);
    handover->taken_view = ret->view;
    handover->taken_serial = ret->serial;
    return true;
}

bool handover_has_better_load(struct handover *handover, struct engine_loads *loads)
{
    const unsigned changes = loads != NULL ? engine_loads_changes(loads) : 0;
    if (handover->borrowed == NULL || changes == handover->load_changes)
        return false;
    handover->load_changes = changes;
    return engine_has_better_load(handover->borrowed, loads);
}

void handover_return(struct handover *handover, struct engine *engine)
{
    handover_add_closing(handover, engine);
    if (handover->borrowed == engine)
        handover->borrowed = NULL;
    if (handover->posted && handover->design.engine == engine)
        handover_drop(handover);
}

unsigned handover_take_closing(struct handover *handover, struct engine *ret[BUILDER_MAX_CLOSING])
{
    const unsigned count = handover->closing_count;
    memcpy(ret, handover->closing, sizeof handover->closing);
    handover->closing_count = 0;
    return count;
}

bool handover_can_fade(const struct handover *handover, const struct filter_chain *to,
                       enum view_kind to_view)
{
    return builder_can_fade(&handover->taken_chain, handover->taken_view, to, to_view);
}

struct builder_fade handover_fade(const struct handover *handover, unsigned frames)
{
    const struct builder_fade fade = {.frames = frames,
                                      .engine = handover->borrowed,
                                      .from = handover->taken_chain,
                                      .from_serial = handover->taken_serial};
    filter_chain_hold(&fade.from);
    return fade;
}

bool handover_is_current(const struct handover *handover, const struct builder_fade *fade)
{
    return fade->engine == handover->borrowed && fade->from_serial == handover->taken_serial;
}
