/* Responses: what the steps compute from a chain, and how it comes into use. */
#include <complex.h>
#include <errno.h>
#include <stdlib.h>

#include "engine/engine_private.h"
#include "engine/fade.h"

/* Returns H if it is a factor, and if the chain needs nothing else that the empty one does not: 1,
 * if it changes nothing. Negative: it is more than that, or the engine may not use it. */
static double factor_in(const struct filter_chain *chain, const struct recipe *settings)
{
    const struct filter_chain none = {.count = 0};
    const struct recipe needed = recipe_of(chain, settings), least = recipe_of(&none, settings);
    if (!recipe_equal(&needed, &least))
        return -1;
    if (!filter_chain_has_response(chain))
        return 1;
    return needed.reach.is_short ? creal(filter_chain_response(chain, 0, 0)) : -1;
}

int engine_design(const struct engine *engine, const struct filter_chain *chain,
                  struct engine_response **ret, struct error *why)
{
    int r = recipe_check(&engine->options.recipe, chain, why);
    if (r == 0)
        r = recipe_check_frames(&engine->options.recipe, &engine->format, chain, why);
    if (r < 0)
        return r;
    struct engine_response *response = calloc(1, sizeof *response);
    if (response == NULL)
        return error_set(why, ENOMEM, "out of memory while computing a filter's response");
    response->factor = factor_in(chain, &engine->options.recipe);
    for (unsigned i = 0; i < engine->component_count && r == 0; i++) {
        const struct component *component = &engine->component[i];
        for (unsigned k = 0; engine_steps[k] != NULL && r == 0; k++)
            if (component_has(component, k) && engine_steps[k]->design != NULL)
                r = engine_steps[k]->design(&response->data[i][k], component->step[k].part,
                                            component, chain, why);
    }
    if (r < 0) {
        engine_response_free(response);
        return r;
    }
    *ret = response;
    return 0;
}

void engine_response_free(struct engine_response *response)
{
    if (response == NULL)
        return;
    for (unsigned i = 0; i < MAX_COMPONENTS; i++)
        for (unsigned k = 0; k < ENGINE_MAX_STEPS; k++)
            opencl_release_buffer(response->data[i][k].numbers);
    fade_destroy(response->fade);
    free(response);
}

int engine_design_fade(struct engine *engine, struct engine_response *response, unsigned frames,
                       struct engine_response *from, struct error *why)
{
    const int r = fade_create(&response->fade, engine, response, frames, from, why);
    engine_response_free(from);
    return r;
}

void engine_apply(struct engine *engine, struct engine_response *response, uint64_t serial)
{
    struct fade *fade = response->fade;
    response->fade = NULL;
    if (fade != NULL)
        fade_begin(fade, engine->filter.fade, engine->component);
    fade_destroy(engine->filter.fade);
    engine->filter.fade = fade;
    engine->filter.serial = serial;
    engine->filter.is_none = response->factor == 1;
    engine->filter.multiplies = !engine->filter.is_none && engine->may_multiply &&
                                factor_of(&engine->filter.factor, response->factor);
    engine->filter.change++;
    for (unsigned i = 0; i < engine->component_count; i++)
        for (unsigned k = 0; engine_steps[k] != NULL; k++) {
            const struct transform_response old = engine->component[i].step[k].data;
            engine->component[i].step[k].data = response->data[i][k];
            response->data[i][k] = old;
        }
    engine_response_free(response);
}

bool engine_is_fading(const struct engine *engine)
{
    return engine->filter.fade != NULL;
}
