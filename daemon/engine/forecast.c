#include "engine/forecast.h"

#include <errno.h>
#include <stdlib.h>

#include "engine/engine_private.h"

static void add_part(struct engine_forecast *ret, const char *name, uint64_t host, uint64_t device)
{
    unsigned i = 0;
    while (i < ret->part_count && ret->part[i].name != name)
        i++;
    if (i == ret->part_count)
        ret->part[ret->part_count++].name = name;
    ret->part[i].host += host;
    ret->part[i].device += device;
}

static uint64_t host_bytes(const struct step_bytes *bytes)
{
    return bytes->pinned + bytes->host;
}

static void add_bytes(struct forecast_bytes *ret, const struct step_bytes *bytes, unsigned times)
{
    ret->device += times * bytes->device;
    ret->pinned += times * bytes->pinned;
    ret->host += times * bytes->host;
}

static void add_scratch(struct engine_forecast *ret, uint64_t bytes)
{
    ret->scratch = bytes > ret->scratch ? bytes : ret->scratch;
}

/* A change designs the next data, and in a fade those to begin with. */
static void add_step(struct engine_forecast *ret, const struct step *step,
                     const struct step_memory *memory, unsigned in_flight)
{
    add_bytes(&ret->built, &memory->part, 1);
    add_bytes(&ret->built, &memory->frame, in_flight);
    ret->built.device += memory->data;
    ret->change.device += 2 * memory->data + in_flight * memory->fading;
    add_scratch(ret, memory->scratch);
    add_part(ret, step->name, host_bytes(&memory->part) + in_flight * host_bytes(&memory->frame),
             memory->part.device + in_flight * (memory->frame.device + memory->fading) +
                 3 * memory->data);
}

static int add_component(struct engine_forecast *ret, struct component *component,
                         const struct filter_chain *chain, const char *cache_dir, struct error *why)
{
    struct transform *transform;
    const int r = component_sketch(&transform, component, cache_dir, why);
    if (r < 0)
        return r;
    component->step[TRANSFORM_STEP].part = transform;
    for (unsigned k = 0; engine_steps[k] != NULL; k++) {
        if (!component_has(component, k) || engine_steps[k]->memory == NULL)
            continue;
        const struct step_memory memory = engine_steps[k]->memory(component);
        add_step(ret, engine_steps[k], &memory, component->engine->options.in_flight);
    }
    add_scratch(ret,
                transform_response_bytes(transform) +
                    transform_filling_bytes(transform, chain, component->sub_x, component->sub_y));
    transform_destroy(transform);
    return 0;
}

/* Where host and device share memory, frames are mapped; elsewhere they are also in pinned memory
 * (make_slot in engine.c). Chroma becomes smaller in memory of the host. */
static void add_slots(struct engine_forecast *ret, const struct engine *engine)
{
    const unsigned in_flight = engine->options.in_flight;
    const uint64_t frames = (uint64_t)engine->source_bytes + engine->frame_bytes;
    const bool unified = engine->device->unified_memory;
    struct resampler_size chroma;
    const uint64_t host = !chroma_resampled(engine, &chroma) || chroma_is_devices(engine)
                              ? 0
                              : resampler_bytes(&chroma) + chroma_bytes(&chroma) +
                                    in_flight * engine_chroma_bytes(engine);
    ret->built.host += host;
    ret->built.pinned += in_flight * frames;
    if (!unified)
        ret->built.device += in_flight * frames;
    add_part(ret, "frames", host + in_flight * frames, unified ? 0 : in_flight * frames);
}

int engine_forecast(struct engine_forecast *ret, struct gpu_device *device,
                    const struct fftd_format *format, const struct engine_options *options,
                    double support_px, const struct filter_chain *chain, const char *cache_dir,
                    struct error *why)
{
    struct engine_forecast forecast = {.part_count = 0};
    struct engine *engine = malloc(sizeof *engine);
    if (engine == NULL)
        return error_set(why, ENOMEM, "out of memory while planning an engine");
    int r = engine_describe_frames(engine, device, format, options, why);
    if (r == 0) {
        engine_list_components(engine, support_px);
        add_slots(&forecast, engine);
    }
    for (unsigned i = 0; r == 0 && i < engine->component_count; i++)
        r = add_component(&forecast, &engine->component[i], chain, cache_dir, why);
    free(engine);
    if (r == 0)
        *ret = forecast;
    return r;
}

/* Components of chroma have one reach. */
struct recipe engine_true_recipe(struct gpu_device *device, const struct fftd_format *format,
                                 const struct engine_options *options, const char *cache_dir)
{
    struct recipe ret = options->recipe;
    struct transform *transform;
    struct engine *engine = malloc(sizeof *engine);
    int r =
        engine == NULL ? -ENOMEM : engine_describe_frames(engine, device, format, options, NULL);
    if (r == 0)
        engine_list_components(engine, 0);
    for (unsigned i = 0; r == 0 && i < engine->component_count; i++) {
        struct taps_reach *reach = i == 0 ? &ret.reach : &ret.chroma_reach;
        if (!reach->is_short && reach->half_radius == 0)
            continue;
        r = component_sketch(&transform, &engine->component[i], cache_dir, NULL);
        if (r == 0 && !transform_is_direct(transform))
            *reach = (struct taps_reach){.is_short = false};
        if (r == 0)
            transform_destroy(transform);
    }
    free(engine);
    return r == 0 ? ret : options->recipe;
}
