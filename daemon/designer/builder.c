#include "designer/builder.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture/capture.h"
#include "engine/comparison.h"
#include "engine/forecast.h"
#include "service/memory.h"

static int open_device(struct builder *builder, enum builder_place place, struct error *why)
{
    struct gpu_device **opened = &builder->device[place].opened;
    return place == BUILDER_CPU
               ? gpu_device_open(opened, "cpu", why)
               : designer_share_open_device(&builder->memory.share, builder->selector, opened, why);
}

/* Opens the device, and takes its outline and the budget. */
static int find_device(struct builder *builder, const struct config *config, struct error *why)
{
    const int r = open_device(builder, BUILDER_SELECTED, why);
    if (r < 0)
        return r;
    const struct gpu_device *device = builder->device[BUILDER_SELECTED].opened;
    builder->memory.outline = gpu_device_outline(device);
    builder->memory.budget = budget_of(config->engine.memory_mib, service_memory_bytes(""),
                                       gpu_device_bytes(device), gpu_device_shares_memory(device));
    return 0;
}

/* Returns the side in pixels of the blocks in which engines find motion, or 0 if the observer finds
 * it. "auto" leaves it to a device with memory of its own. On others, frames would wait long for
 * their fields, and be lost while other programs run. */
static unsigned motion_block_of(const struct config_output *config, const struct gpu_device *device)
{
    const bool is_found =
        config->motion_by == CONFIG_MOTION_DEVICE ||
        (config->motion_by == CONFIG_MOTION_AUTO && !gpu_device_shares_memory(device));
    return config->measures && is_found ? config_motion_block(config->motion) : 0;
}

int builder_init(struct builder *ret, const struct builder_memory *other,
                 const struct config *config, const struct designer_share *share,
                 const struct engine_observer *observer, struct error *why)
{
    const unsigned buffers = config->camera.source.buffers;
    *ret = (struct builder){.options = config->engine.options,
                            .observer = *observer,
                            .memory = {.slots = config->output.slots,
                                       .buffers = buffers > 0 ? buffers : CAPTURE_DEFAULT_BUFFERS,
                                       .measures = config->output.measures}};
    struct builder_memory *memory = &ret->memory;
    memcpy(ret->selector, config->engine.device, sizeof ret->selector);
    memcpy(ret->cache_dir, config->engine.cache_dir, sizeof ret->cache_dir);
    if (share != NULL)
        memory->share = *share;
    if (other != NULL) {
        memory->outline = gpu_device_outline(other->outline);
        memory->budget = other->budget;
    } else {
        const int r = find_device(ret, config, why);
        if (r < 0)
            return r;
    }
    if (memory->outline == NULL) {
        builder_finish(ret);
        return error_set(why, ENOMEM, "out of memory while opening the OpenCL device");
    }
    ret->options.loads = designer_share_loads(&memory->share);
    ret->options.output = memory->share.output;
    engine_set_reach(&ret->options, memory->outline);
    if (memory->share.output == 0)
        ret->options.recipe.motion = motion_block_of(&config->output, memory->outline);
    ret->cpu_finds_motion = config->output.motion_by == CONFIG_MOTION_DEVICE;
    memory->options = ret->options;
    return 0;
}

void builder_finish(struct builder *builder)
{
    gpu_device_close(builder->memory.outline);
    gpu_device_close(builder->cpu);
    for (unsigned i = 0; i < BUILDER_PLACES; i++)
        gpu_device_close(builder->device[i].opened);
}

/* ---- closing ---- */

/* Returns whether the device has finished every frame of an engine. Only then can it be
 * destroyed. */
static bool is_idle(struct engine *engine)
{
    struct engine_done done;

    for (unsigned i = 0; i < ENGINE_MAX_IN_FLIGHT; i++)
        engine_collect(engine, false, &done, NULL);
    return engine_in_flight(engine) == 0;
}

static bool has_stuck_engine(const struct builder *builder, const struct gpu_device *device)
{
    for (unsigned i = 0; i < builder->stuck_count; i++)
        if (builder->stuck[i].device == device)
            return true;
    return false;
}

/* Returns the device of an engine that is not stuck. */
static struct builder_device *device_of(struct builder *builder, const struct engine *engine)
{
    const bool is_on_cpu = engine_device(engine) == builder->device[BUILDER_CPU].opened;
    return &builder->device[is_on_cpu ? BUILDER_CPU : BUILDER_SELECTED];
}

void builder_close_engine(struct builder *builder, struct engine *engine)
{
    if (engine == builder->engine)
        builder->engine = NULL;
    struct builder_device *device = device_of(builder, engine);
    device->engine_count--;
    if (is_idle(engine))
        engine_destroy(engine);
    else
        builder->stuck[builder->stuck_count++] =
            (struct stuck_engine){.engine = engine, .device = device->opened};
}

void builder_release_stuck(struct builder *builder)
{
    for (unsigned i = 0; i < builder->stuck_count;) {
        struct stuck_engine stuck = builder->stuck[i];
        if (!is_idle(stuck.engine)) {
            i++;
            continue;
        }
        builder->stuck[i] = builder->stuck[--builder->stuck_count];
        engine_destroy(stuck.engine);
        const bool is_open = stuck.device == builder->device[BUILDER_SELECTED].opened ||
                             stuck.device == builder->device[BUILDER_CPU].opened;
        if (!is_open && !has_stuck_engine(builder, stuck.device))
            gpu_device_close(stuck.device);
    }
}

/* ---- what engines can do ---- */

bool builder_can_fade(const struct filter_chain *from, enum view_kind from_view,
                      const struct filter_chain *to, enum view_kind to_view)
{
    const struct recipe plain = {.view = VIEW_PICTURE};
    struct recipe a = recipe_of(from, &plain);
    const struct recipe b = recipe_of(to, &plain);
    return from_view == to_view && recipe_unite(&a, &b);
}

bool builder_wants_search(const struct builder *builder)
{
    const enum engine_tune tune = builder->options.tune;
    if (builder->cache_dir[0] == '\0' || engine_is_tuned(builder->engine))
        return false;
    return tune == ENGINE_TUNE_EXHAUSTIVE ||
           (tune == ENGINE_TUNE_AUTO && !gpu_device_is_cpu(engine_device(builder->engine)));
}

/* ---- devices ---- */

void builder_suspect(struct builder *builder)
{
    for (unsigned i = 0; i < BUILDER_PLACES; i++)
        builder->device[i].is_suspect = builder->device[i].opened != NULL;
}

bool builder_is_suspect(const struct builder *builder)
{
    bool is_suspect = false;
    for (unsigned i = 0; i < BUILDER_PLACES; i++)
        is_suspect |= builder->device[i].is_suspect;
    return is_suspect;
}

/* Opens the device of a place. One that failed is closed once its last engine has been closed or
 * put aside, and opened again when it is needed. */
static int refresh_device(struct builder *builder, enum builder_place place, struct error *why)
{
    for (unsigned i = 0; i < BUILDER_PLACES; i++) {
        struct builder_device *device = &builder->device[i];
        if (!device->is_suspect || device->engine_count > 0)
            continue;
        designer_share_forget_device(&builder->memory.share, device->opened);
        if (!has_stuck_engine(builder, device->opened))
            gpu_device_close(device->opened);
        device->opened = NULL;
        device->is_suspect = false;
    }
    struct builder_device *device = &builder->device[place];
    if (device->opened != NULL)
        return 0;
    return open_device(builder, place, why);
}

/* An engine for a chain: the newest engine, or another one to be built. */
struct candidate {
    const struct engine_frames *frames;
    const struct filter_chain *chain;
    struct engine_options options;
    double support_px;
    enum builder_place place;
    struct device_choice choice;
    struct budget_use use;
    struct engine *engine;
};

/* Chooses where a candidate is built. */
static void choose_place(struct builder *builder, struct candidate *candidate)
{
    const struct engine_options *options = &candidate->options;
    const struct comparison_subject subject = {.device = builder->memory.outline,
                                               .format = candidate->frames->format,
                                               .options = *options};
    struct device_choice *choice = &candidate->choice;
    struct comparison *comparison = &choice->comparison;
    candidate->place = BUILDER_SELECTED;
    *choice = (struct device_choice){.is_compared = false};
    choice->is_compared =
        options->tune != ENGINE_TUNE_OFF &&
        comparison_find(comparison, &subject, builder->cache_dir, &choice->warning);
    comparison->is_automatic = strcmp(builder->selector, "auto") == 0;
    if (!choice->is_compared || !comparison->is_automatic)
        return;
    snprintf(comparison->problem, sizeof comparison->problem, "%.*s", COMPARISON_TEXT - 1,
             builder->cpu_problem.text);
    comparison->uses_cpu = comparison->problem[0] == '\0' &&
                           comparison_chooses_cpu(comparison, builder->engine != NULL &&
                                                                  builder->place == BUILDER_CPU);
    if (comparison->uses_cpu)
        candidate->place = BUILDER_CPU;
}

/* Returns what an engine's memory is computed from. The CPU device has been opened, if the place is
 * that one, and its memory is the host's. */
static struct builder_memory memory_at(const struct builder *builder, enum builder_place place)
{
    struct builder_memory memory = builder->memory;
    if (place == BUILDER_CPU) {
        memory.outline = builder->cpu;
        memory.budget.device = memory.budget.host;
        memory.budget.is_shared = true;
    }
    return memory;
}

/* ---- building ---- */

/* Returns the recipe of an engine for a chain; in a fade, for both chains. */
static struct recipe recipe_for(const struct builder *builder, const struct engine_frames *frames,
                                const struct filter_chain *chain, const struct builder_fade *fade)
{
    const struct builder_memory memory = memory_at(builder, builder->place);
    struct engine_options options = builder->options;
    engine_frames_set_captured(&options.recipe, frames);
    const struct recipe settings = options.recipe;
    options.recipe = recipe_of(chain, &settings);
    if (fade->frames > 0) {
        const struct recipe from = recipe_of(&fade->from, &settings);
        recipe_unite(&options.recipe, &from); /* builder_can_fade has said that it can */
    }
    return engine_true_recipe(memory.outline, &frames->format, &options, builder->cache_dir);
}

/* Filters two black frames, because some drivers compile a kernel only when it first runs, and that
 * must not happen in the frame path. Kernels that join a frame to those before it run for the
 * second one first. */
static int warm_up(struct engine *engine, const struct engine_frames *frames, struct error *why)
{
    const struct fftd_format *format = &frames->format;
    struct fftd_format captured;
    struct engine_job job = {.is_dispatched = true};
    struct engine_done done;

    int r = engine_frames_lay_out(&captured, frames, 1, why);
    if (r < 0)
        return r;
    uint8_t *in = calloc(1, (size_t)captured.frame_bytes + format->frame_bytes);
    if (in == NULL)
        return error_set(why, ENOMEM, "out of memory while allocating two frames");
    job.out = in + captured.frame_bytes;
    for (unsigned p = 0; p < captured.plane_count; p++) {
        job.in[p] = in + captured.plane[p].offset;
        job.in_stride[p] = captured.plane[p].stride;
    }
    for (unsigned frame = 0; frame < 2 && r == 0; frame++) {
        r = engine_submit(engine, &job, why);
        if (r == 0)
            r = engine_collect(engine, true, &done, why);
    }
    free(in);
    return r;
}

static int check_candidate(const struct builder *builder, struct candidate *candidate,
                           struct error *why)
{
    const struct builder_memory memory = memory_at(builder, candidate->place);
    return builder_check_memory(&memory, candidate->frames, &candidate->options,
                                candidate->support_px, candidate->chain, builder->cache_dir, true,
                                &candidate->use, why);
}

/* Asks the builder's own observer, and remembers that it has refused. */
struct asked {
    const struct engine_observer *observer;
    bool has_refused;
};

static int ask(void *context, unsigned done, unsigned total, struct error *why)
{
    struct asked *asked = context;
    const int r = asked->observer->on_build(asked->observer->context, done, total, why);
    asked->has_refused |= r < 0;
    return r;
}

static int build(struct builder *builder, struct candidate *candidate, struct error *why)
{
    const enum builder_place place = candidate->place;
    struct engine *engine = NULL;
    if (builder->stuck_count >= BUILDER_MAX_STUCK)
        return error_set(
            why, EIO,
            "the device has not finished the frames of %u engines: no other engine is built",
            builder->stuck_count);
    int r = refresh_device(builder, place, why);
    if (r < 0)
        return r;
    struct engine_options own = candidate->options;
    if (place == BUILDER_CPU && !builder->cpu_finds_motion)
        own.recipe.motion = 0;
    struct asked asked = {.observer = &builder->observer};
    const struct engine_observer observer = {builder->observer.on_build != NULL ? ask : NULL,
                                             &asked};
    r = engine_create(&engine, builder->device[place].opened, &candidate->frames->format, &own,
                      candidate->support_px, builder->cache_dir, &observer, why);
    if (r == 0)
        r = warm_up(engine, candidate->frames, why);
    if (r < 0) {
        engine_destroy(engine);
        builder->device[place].is_suspect |= !asked.has_refused;
        return r;
    }
    candidate->engine = engine;
    return 0;
}

/* Checks the memory first. */
static int check_and_build(struct builder *builder, struct candidate *candidate, struct error *why)
{
    int r = 0;
    if (candidate->place == BUILDER_CPU && builder->cpu == NULL) {
        r = refresh_device(builder, BUILDER_CPU, why);
        if (r < 0)
            return r;
        builder->cpu = gpu_device_outline(builder->device[BUILDER_CPU].opened);
        if (builder->cpu == NULL)
            return error_set(why, ENOMEM, "out of memory while opening the CPU device");
    }
    r = check_candidate(builder, candidate, why);
    return r < 0 ? r : build(builder, candidate, why);
}

/* Builds a candidate on the device that is chosen for it, or on the selected one if the CPU device
 * fails. */
static int build_where_best(struct builder *builder, struct candidate *candidate, struct error *why)
{
    choose_place(builder, candidate);
    int r = check_and_build(builder, candidate, why);
    if (r == 0 || candidate->place != BUILDER_CPU)
        return r;
    builder->cpu_problem = *why;
    choose_place(builder, candidate);
    r = check_and_build(builder, candidate, why);
    if (r < 0) /* neither builds it, which says nothing about the CPU device */
        builder->cpu_problem = (struct error){""};
    return r;
}

static int design_fade(struct engine *engine, struct engine_response *response,
                       const struct builder_fade *fade, struct error *why)
{
    struct engine_response *from = NULL;
    if (engine != fade->engine) {
        const int r = engine_design(engine, &fade->from, &from, why);
        if (r < 0)
            return r;
    }
    return engine_design_fade(engine, response, fade->frames, from, why);
}

static int design(struct engine *engine, const struct filter_chain *chain,
                  const struct builder_fade *fade, struct engine_response **ret, struct error *why)
{
    struct engine_response *response;
    int r = engine_design(engine, chain, &response, why);
    if (r == 0 && fade->frames > 0) {
        r = design_fade(engine, response, fade, why);
        if (r < 0)
            engine_response_free(response);
    }
    if (r == 0)
        *ret = response;
    return r;
}

bool builder_reaches_too_far(const struct builder *builder, const struct filter_chain *chain)
{
    const struct builder_fade none = {.frames = 0};
    if (builder->engine == NULL)
        return false;
    const struct recipe recipe = recipe_for(builder, &builder->frames, chain, &none);
    return !(taps_reach_equal(recipe.reach, builder->built.reach) &&
             taps_reach_equal(recipe.chroma_reach, builder->built.chroma_reach));
}

/* Returns the loads that an engine is to share; NULL if there is no memory for its load. Then it
 * transforms for itself, so that another output never keeps this one from being filtered. */
static struct engine_loads *affordable_loads(const struct builder *builder,
                                             const struct candidate *candidate)
{
    const struct builder_memory memory = memory_at(builder, builder->place);
    const struct engine_options *options = &candidate->options;
    return options->loads != NULL &&
                   builder_check_memory(&memory, candidate->frames, options, candidate->support_px,
                                        candidate->chain, builder->cache_dir, false, NULL,
                                        NULL) == 0
               ? options->loads
               : NULL;
}

/* Takes the engine that was built for a candidate as the newest one. */
static void adopt(struct builder *builder, const struct candidate *candidate)
{
    const double built_px = engine_support(candidate->engine), wanted_px = candidate->support_px;
    builder->engine = candidate->engine;
    builder->place = candidate->place;
    builder->choice = candidate->choice;
    builder->device[candidate->place].engine_count++;
    builder->built = candidate->options.recipe;
    builder->support_px = isfinite(built_px) && built_px > wanted_px ? built_px : wanted_px;
    builder->frames = *candidate->frames;
}

int builder_design(struct builder *builder, const struct engine_frames *frames,
                   const struct filter_chain *chain, const struct builder_fade *fade,
                   struct engine_response **ret, struct error *why)
{
    const double from_px = fade->frames > 0 ? filter_chain_support(&fade->from) : 0;
    builder->options.loads = designer_share_loads(&builder->memory.share);
    struct candidate candidate = {.frames = frames != NULL ? frames : &builder->frames,
                                  .chain = chain,
                                  .options = builder->options,
                                  .support_px = fmax(filter_chain_support(chain), from_px),
                                  .place = builder->place,
                                  .choice = builder->choice,
                                  .engine = builder->engine};
    candidate.options.recipe = recipe_for(builder, candidate.frames, chain, fade);
    candidate.options.loads = affordable_loads(builder, &candidate);
    const bool is_too_small = builder->options.margin < 0 && builder->engine != NULL &&
                              candidate.support_px > engine_support(builder->engine);
    const bool is_kept = frames == NULL && !is_too_small &&
                         recipe_equal(&candidate.options.recipe, &builder->built) &&
                         !engine_has_better_load(builder->engine, candidate.options.loads);
    int r = 0;
    /* Another engine is made for this chain alone, whatever came before, so that there are no more
     * sizes of it than compile_ahead.c knows. */
    if (is_kept) {
        candidate.support_px = fmax(candidate.support_px, builder->support_px);
        r = check_candidate(builder, &candidate, why);
    } else {
        r = build_where_best(builder, &candidate, why);
    }
    if (r == 0)
        r = design(candidate.engine, chain, fade, ret, why);
    if (r == 0) {
        designer_share_take(&builder->memory.share);
        builder->use = candidate.use;
    } else {
        designer_share_forget(&builder->memory.share);
    }
    if (candidate.engine == builder->engine)
        return r;
    if (r == 0)
        adopt(builder, &candidate);
    else
        engine_destroy(candidate.engine);
    return r;
}
