/* The step that every component has: load, transform, response, inverse, store, and views
 * (transform/transform.h). */
#include <errno.h>
#include <stdlib.h>

#include "engine/engine_private.h"

static bool applies(const struct recipe *recipe)
{
    (void)recipe;
    return true;
}

/* A size that one technique cannot handle on the device is left to the next. */
int component_sketch(struct transform **ret, struct component *component, const char *cache_dir,
                     struct error *why)
{
    struct engine *engine = component->engine;
    const struct tuner_subject *subject = &component->subject;
    struct transform_tuning tuning;
    tuner_start(&tuning, subject);
    if (engine->options.tune != ENGINE_TUNE_OFF)
        component->tuned = tuner_find(&tuning, subject, cache_dir, &engine->warning);
    tuning.recipe = component->recipe;
    if (recipe_loads_before(&component->recipe))
        tuning.recipe.corrections = false; /* the load before makes them (load_plane.cl) */
    int r;
    do
        r = transform_sketch(ret, subject->device, &subject->image, &subject->border, &tuning, why);
    while (r == -ERANGE && tuner_fall_back(&tuning, subject));
    return r;
}

int component_make_transform(struct component *component, const char *cache_dir, struct error *why)
{
    struct transform *transform = NULL, *result;
    int r = component_sketch(&transform, component, cache_dir, why);
    if (r == 0 && load_is_shared(component, transform)) {
        r = load_join(&result, component, transform, why);
        if (r == 0) {
            transform_destroy(transform);
            transform = result;
        } else if (r == -ERANGE || r == -EINVAL)
            r = 0; /* it has a load of its own */
    }
    component->step[TRANSFORM_STEP].part = transform;
    return r < 0 ? r : transform_equip(transform, why);
}

static void destroy(void *part)
{
    transform_destroy(part);
}

static int build(void *part, bool compile, const char *cache_dir, struct error *warning,
                 struct error *why)
{
    return transform_build(part, compile, cache_dir, warning, why);
}

static int design(struct transform_response *ret, const void *part,
                  const struct component *component, const struct filter_chain *chain,
                  struct error *why)
{
    const size_t size = transform_response_bytes(part);
    void *values = malloc(size);
    if (values == NULL)
        return error_set(why, ENOMEM, "out of memory while computing a filter's response");
    int r = transform_response_fill(part, values, chain, component->sub_x, component->sub_y,
                                    &ret->band, why);
    if (r == 0)
        r = opencl_make_table(&ret->numbers, component->engine->device->context, values, size, why);
    free(values);
    return r;
}

static int create_frame(void **ret_frame, const void *part, const struct component *component,
                        cl_command_queue queue, struct error *why)
{
    struct transform_frame *frame = NULL;
    (void)component, (void)queue;
    const int r = transform_frame_create(&frame, part, why);
    *ret_frame = frame;
    return r;
}

static void destroy_frame(void *frame)
{
    transform_frame_destroy(frame);
}

static int enqueue(struct step_run *run, struct error *why)
{
    struct slot *slot = run->slot;
    slot_account(slot, OVERHEAD_ENQUEUE);
    int r = transform_frame_bind(run->frame, run->buffers, why);
    slot_account(slot, OVERHEAD_ARGUMENTS);
    if (r < 0)
        return r;
    if (!run->times_each)
        return transform_frame_enqueue(run->frame, slot->queue, run->buffers, run->first, run->last,
                                       why);
    cl_event *const dispatch = &slot->dispatch[slot->dispatch_count];
    unsigned count = 0;
    r = transform_frame_enqueue_each(run->frame, slot->queue, dispatch, &count, why);
    slot->dispatch_count += count;
    if (r == 0) {
        clRetainEvent(*run->first = dispatch[0]);
        clRetainEvent(*run->last = dispatch[count - 1]);
    }
    return r;
}

static void drop(void *frame, bool image)
{
    transform_frame_drop(frame, image);
}

static struct step_cost cost(const void *part)
{
    return (struct step_cost){transform_dispatches(part), transform_traffic(part)};
}

/* What a load takes that no other engine uses. */
static void add_load(struct step_memory *ret, const struct component *component,
                     const struct transform *own)
{
    const uint64_t frame = component->engine->source_bytes;
    struct transform *load, *result;
    if (!load_is_shared(component, own) || load_sketch(&load, &result, component, own) < 0)
        return;
    const struct transform_bytes of_load = transform_bytes(load), rest = transform_bytes(result);
    ret->part.device = of_load.tables + rest.tables;
    ret->frame.device =
        of_load.frame + rest.frame + (component->engine->device->unified_memory ? 0 : frame);
    ret->frame.pinned = frame;
    ret->data = transform_response_bytes(result);
    transform_destroy(result);
    transform_destroy(load);
}

static struct step_memory memory(const struct component *component)
{
    const struct transform *transform = component_transform(component);
    const struct transform_bytes bytes = transform_bytes(transform);
    struct step_memory ret = {.part.device = bytes.tables,
                              .frame.device = bytes.frame,
                              .data = transform_response_bytes(transform),
                              .scratch = bytes.making};
    add_load(&ret, component, transform);
    return ret;
}

const struct step step_transform = {.name = "transform",
                                    .applies = applies,
                                    .destroy = destroy,
                                    .build = build,
                                    .design = design,
                                    .create_frame = create_frame,
                                    .destroy_frame = destroy_frame,
                                    .enqueue = enqueue,
                                    .drop = drop,
                                    .cost = cost,
                                    .memory = memory};
