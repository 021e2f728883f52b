/* What other threads ask of the designer, and learn from it. */
#include "designer/designer_private.h"

#include <errno.h>

#include "core/clock.h"

/* A noise that differs by this factor changes a picture's error by about 0.03 dB. A design may take
 * a quarter of a second. */
#define NOISE_RATIO    1.25
#define NOISE_DELAY_NS (2 * NS_PER_S)

/* How many times engine.build_timeout the first engine may take: on a small board a driver that has
 * compiled nothing yet needs minutes. */
#define FIRST_TIMEOUTS 10

struct budget designer_budget(const struct designer *designer)
{
    return designer->builder.memory.budget;
}

const char *designer_device_memory(const struct designer *designer)
{
    return gpu_device_memory(designer->builder.memory.outline);
}

const char *designer_device_name(const struct designer *designer)
{
    return gpu_device_name(designer->builder.memory.outline);
}

static void request_engine(struct designer *designer, const struct engine_frames *frames)
{
    designer->tuning.has_searched[false] = designer->tuning.has_searched[true] = false;
    designer->wanted.is_engine = true;
    designer->wanted.frames = *frames;
}

void designer_request_filter(struct designer *designer, const struct filter_chain *chain,
                             enum view_kind view, uint64_t serial, unsigned fade_frames,
                             const struct engine_frames *frames)
{
    pthread_mutex_lock(&designer->lock);
    filter_chain_assign(&designer->wanted.chain, chain);
    designer->wanted.view = view;
    designer->wanted.serial = serial;
    designer->wanted.fade_frames = fade_frames;
    if (frames != NULL)
        request_engine(designer, frames);
    /* A design that waits would be taken after this, so the filter has to be designed again; and
     * so does one that had this serial with the chain of a source that was given up. */
    const bool is_taken =
        serial == designer->handover.taken_serial && designer->handover.design.engine == NULL;
    designer->done_serial = is_taken ? serial : 0;
    pthread_cond_signal(&designer->change);
    pthread_mutex_unlock(&designer->lock);
}

void designer_set_noise(struct designer *designer, double noise)
{
    const int64_t now_ns = clock_now_ns();
    pthread_mutex_lock(&designer->lock);
    const double before = designer->noise;
    const bool is_new = noise > before * NOISE_RATIO || before > noise * NOISE_RATIO;
    if (noise > 0 && is_new && now_ns >= designer->noise_due_ns &&
        designer->wanted.serial == designer->handover.taken_serial) {
        designer->noise = noise;
        designer->noise_due_ns = now_ns + NOISE_DELAY_NS;
        designer->noise_is_new = true;
        pthread_cond_signal(&designer->change);
    }
    pthread_mutex_unlock(&designer->lock);
}

uint64_t designer_get_taken(struct designer *designer, struct filter_chain *ret,
                            enum view_kind *ret_view)
{
    pthread_mutex_lock(&designer->lock);
    const struct handover *handover = &designer->handover;
    const uint64_t serial = handover->taken_serial;
    *ret = handover->taken_chain;
    *ret_view = handover->taken_view;
    filter_chain_hold(ret);
    pthread_mutex_unlock(&designer->lock);
    return serial;
}

void designer_request_engine(struct designer *designer, const struct engine_frames *frames)
{
    pthread_mutex_lock(&designer->lock);
    request_engine(designer, frames);
    pthread_cond_signal(&designer->change);
    pthread_mutex_unlock(&designer->lock);
}

static struct engine_options options_for(const struct builder_memory *memory,
                                         const struct engine_frames *frames,
                                         const struct filter_chain *chain, enum view_kind view)
{
    struct engine_options options = memory->options;
    options.loads = designer_share_loads(&memory->share);
    options.recipe.view = view;
    engine_frames_set_captured(&options.recipe, frames);
    options.recipe = recipe_of(chain, &options.recipe);
    return options;
}

static int check_memory(const struct builder_memory *memory, const struct engine_frames *frames,
                        const struct filter_chain *chain, enum view_kind view, bool reserves,
                        struct error *why)
{
    const struct engine_options options = options_for(memory, frames, chain, view);
    return builder_check_memory(memory, frames, &options, filter_chain_support(chain), chain, NULL,
                                reserves, NULL, why);
}

int designer_check_memory(const struct designer *designer, const struct engine_frames *frames,
                          const struct filter_chain *chain, enum view_kind view, bool reserves,
                          struct error *why)
{
    return check_memory(&designer->builder.memory, frames, chain, view, reserves, why);
}

int designer_plan(const struct designer *designer, const struct engine_frames *frames,
                  const struct filter_chain *chain, enum view_kind view, struct designer_plan *plan,
                  struct error *why)
{
    struct builder_memory memory = designer->builder.memory;
    struct budget_need need;
    memory.share.plan = plan;
    const struct engine_options options = options_for(&memory, frames, chain, view);
    const int r = builder_forecast(&memory, frames, &options, filter_chain_support(chain), chain,
                                   NULL, &need, why);
    if (r == 0)
        plan->use[memory.share.output] = budget_use_of(&memory.budget, &need);
    return r;
}

int designer_check_beside(const struct designer *other, const struct config *config,
                          const struct designer_share *share, const struct engine_frames *frames,
                          struct error *why)
{
    const struct engine_observer none = {.context = NULL};
    struct builder builder;
    int r = builder_init(&builder, &other->builder.memory, config, share, &none, why);
    if (r < 0)
        return r;
    r = check_memory(&builder.memory, frames, &config->filter, VIEW_PICTURE, true, why);
    builder_finish(&builder);
    return r;
}

bool designer_take(struct designer *designer, bool is_fading, struct design *ret)
{
    pthread_mutex_lock(&designer->lock);
    const bool is_taken = handover_take(&designer->handover, is_fading, ret);
    const uint64_t serial = designer->handover.taken_serial;
    const bool is_settled = !is_taken && !is_fading && serial == designer->wanted.serial;
    if (is_settled &&
        ((serial != 0 && serial == designer->fade_serial) || /* the fade has ended */
         handover_has_better_load(&designer->handover,
                                  designer_share_loads(&designer->builder.memory.share)))) {
        designer->fade_serial = designer->done_serial = 0;
        pthread_cond_signal(&designer->change);
    }
    pthread_mutex_unlock(&designer->lock);
    return is_taken;
}

void designer_return_engine(struct designer *designer, struct engine *engine, bool failed)
{
    pthread_mutex_lock(&designer->lock);
    handover_return(&designer->handover, engine);
    designer->device_failed |= failed;
    pthread_cond_signal(&designer->change);
    pthread_mutex_unlock(&designer->lock);
}

int designer_tune(struct designer *designer, bool exhaustive, struct error *why)
{
    pthread_mutex_lock(&designer->lock);
    const bool is_running = designer->tuning.status.running;
    if (!is_running)
        tuning_begin(&designer->tuning, exhaustive);
    pthread_cond_signal(&designer->change);
    pthread_mutex_unlock(&designer->lock);
    return is_running ? error_set(why, EBUSY, "a search is already running") : 0;
}

void designer_stop_tuning(struct designer *designer)
{
    pthread_mutex_lock(&designer->lock);
    designer->tuning.stop = designer->tuning.status.running;
    pthread_cond_signal(&designer->change);
    pthread_mutex_unlock(&designer->lock);
}

void designer_get_tuning(struct designer *designer, struct tuning_status *ret)
{
    pthread_mutex_lock(&designer->lock);
    *ret = designer->tuning.status;
    pthread_mutex_unlock(&designer->lock);
}

/* With the lock held. */
static bool is_late(const struct designer *designer)
{
    const int timeouts = designer->has_built ? 1 : FIRST_TIMEOUTS;
    return designer->busy_since_ns != 0 &&
           clock_now_ns() >= designer->busy_since_ns + designer->build_timeout_ns * timeouts;
}

void designer_get_build_progress(struct designer *designer, struct build_progress *ret)
{
    pthread_mutex_lock(&designer->lock);
    *ret = designer->progress;
    ret->is_late = is_late(designer);
    pthread_mutex_unlock(&designer->lock);
}

enum designer_state designer_get_state(struct designer *designer)
{
    pthread_mutex_lock(&designer->lock);
    const bool is_busy = designer->busy_since_ns != 0;
    const bool is_stuck = designer->exhausted || is_late(designer);
    pthread_mutex_unlock(&designer->lock);
    return is_stuck ? DESIGNER_STUCK : is_busy ? DESIGNER_BUSY : DESIGNER_IDLE;
}
