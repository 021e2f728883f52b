/* The table of steps, and the walks over it. */
#include "engine/engine_private.h"

const struct step *const engine_steps[] = {&step_table,
                                           &step_similarity,
                                           &step_correct,
                                           &step_denoise,
                                           &step_stack,
                                           &step_blend,
                                           &step_shift,
                                           &step_chroma,
                                           [TRANSFORM_STEP] = &step_transform,
                                           &step_motion,
                                           NULL};

_Static_assert(sizeof engine_steps / sizeof engine_steps[0] <= ENGINE_MAX_STEPS + 1,
               "raise ENGINE_MAX_STEPS");

const char *engine_step_name(unsigned step)
{
    return step < sizeof engine_steps / sizeof engine_steps[0] - 1 ? engine_steps[step]->name
                                                                   : NULL;
}

bool component_has(const struct component *component, unsigned step)
{
    return engine_steps[step]->applies(&component->recipe);
}

/* ---- preparing a component ---- */

int component_prepare(struct component *component, const char *cache_dir, struct error *why)
{
    int r = component_make_transform(component, cache_dir, why);
    for (unsigned i = 0; engine_steps[i] != NULL && r == 0; i++)
        if (component_has(component, i) && engine_steps[i]->prepare != NULL)
            r = engine_steps[i]->prepare(&component->step[i].part, component, why);
    return r;
}

void component_release(struct component *component)
{
    for (unsigned i = 0; engine_steps[i] != NULL; i++) {
        struct component_step *step = &component->step[i];
        opencl_release_buffer(step->data.numbers);
        if (step->part != NULL)
            engine_steps[i]->destroy(step->part);
    }
    load_leave(&component->use);
}

/* ---- compiling ---- */

#define STAGES (ENGINE_MAX_STEPS + 1)

/* Gets the programs of one stage of building: stage 0 is the load, and stage k is step k - 1,
 * because steps use the load. Returns how many are missing. */
static int build(struct component *component, unsigned stage, bool compile, const char *cache_dir,
                 struct error *why)
{
    struct error *warning = &component->engine->warning;
    struct load *load = component->use.load;
    if (stage == 0)
        return load == NULL ? 0 : load_build(load, compile, cache_dir, warning, why);
    const struct step *step = engine_steps[stage - 1];
    void *part = component->step[stage - 1].part;
    return part == NULL || step->build == NULL
               ? 0
               : step->build(part, compile, cache_dir, warning, why);
}

/* Looks for all programs in the cache before it compiles any, because the total is reported. */
int engine_build_steps(struct engine *engine, const char *cache_dir,
                       const struct engine_observer *observer, struct error *why)
{
    unsigned missing[MAX_COMPONENTS][STAGES] = {{0}}, total = 0, done = 0;
    for (unsigned i = 0; i < engine->component_count; i++)
        for (unsigned k = 0; k == 0 || engine_steps[k - 1] != NULL; k++) {
            const int r = build(&engine->component[i], k, false, cache_dir, why);
            if (r < 0)
                return r;
            missing[i][k] = (unsigned)r;
            total += missing[i][k];
        }
    const bool report = total > 0 && observer != NULL && observer->on_build != NULL;
    int r = report ? observer->on_build(observer->context, 0, total, why) : 0;
    for (unsigned i = 0; i < engine->component_count && r == 0; i++)
        for (unsigned k = 0; k < STAGES && r == 0; k++) {
            if (missing[i][k] == 0)
                continue;
            r = build(&engine->component[i], k, true, cache_dir, why);
            done += missing[i][k];
            if (r == 0 && report)
                r = observer->on_build(observer->context, done, total, why);
        }
    return r;
}

/* ---- frames in flight ---- */

int engine_create_frame(struct slot *slot, struct error *why)
{
    int r = 0;
    for (unsigned i = 0; i < slot->engine->component_count; i++) {
        const struct component *component = &slot->engine->component[i];
        for (unsigned k = 0; engine_steps[k] != NULL && r == 0; k++)
            if (component_has(component, k) && engine_steps[k]->create_frame != NULL)
                r = engine_steps[k]->create_frame(&slot->frame[i][k], component->step[k].part,
                                                  component, slot->queue, why);
    }
    return r;
}

void engine_destroy_frame(struct slot *slot)
{
    for (unsigned i = 0; i < MAX_COMPONENTS; i++)
        for (unsigned k = 0; engine_steps[k] != NULL; k++)
            if (slot->frame[i][k] != NULL)
                engine_steps[k]->destroy_frame(slot->frame[i][k]);
}

void engine_collect_steps(struct slot *slot)
{
    for (unsigned i = 0; i < slot->engine->component_count; i++)
        for (unsigned k = 0; engine_steps[k] != NULL; k++)
            if (slot->frame[i][k] != NULL && engine_steps[k]->collect != NULL)
                engine_steps[k]->collect(slot->engine->component[i].step[k].part, slot->frame[i][k],
                                         &slot->result);
}

/* ---- cost ---- */

struct step_cost engine_cost(const struct engine *engine)
{
    struct step_cost cost = {0, 0};
    for (unsigned i = 0; i < engine->component_count; i++) {
        const struct component *component = &engine->component[i];
        if (component->use.load != NULL) {
            const struct transform *load = load_transform(component->use.load);
            cost.dispatches += transform_dispatches(load);
            cost.bytes += transform_traffic(load);
        }
        for (unsigned k = 0; engine_steps[k] != NULL; k++) {
            if (!component_has(component, k) || engine_steps[k]->cost == NULL)
                continue;
            const struct step_cost part = engine_steps[k]->cost(component->step[k].part);
            cost.dispatches += part.dispatches;
            cost.bytes += part.bytes;
        }
    }
    return cost;
}
