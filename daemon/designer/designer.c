/* One thread and one mutex. handover.c hands over what the thread has made.
 * builder.engine is the newest engine: the camera's thread either uses it or will take it. Returned
 * engines wait until the thread is between two requests. */
#include "designer/designer.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

#include "core/clock.h"
#include "designer/ahead.h"
#include "filters/filter_adapt.h"

/* A noise that differs by this factor changes a picture's error by about 0.03 dB. A design may take
 * a quarter of a second. */
#define NOISE_RATIO    1.25
#define NOISE_DELAY_NS (2 * NS_PER_S)

struct request_design {
    bool is_engine; /* an engine for `frames`, and not only a response */
    struct engine_frames frames;
    struct filter_chain chain;
    enum view_kind view;
    uint64_t serial;
    unsigned fade_frames;
};

/* (fields: three groups, by who may access them.) */
struct designer {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t change; /* signalled when a field below changes; waits use CLOCK_MONOTONIC */
    int wake_fd;
    int64_t build_timeout_ns;

    /* Under the lock. */
    bool stop, ended;
    int64_t busy_since_ns; /* in the driver since then; 0: it is not */
    bool has_built;        /* an engine was built before */
    bool exhausted;        /* no further engine is built */
    bool device_failed;    /* since the last request was begun */
    struct request_design wanted;
    double noise;         /* was estimated for chains that ask for it; 0: not yet */
    int64_t noise_due_ns; /* it may change from then on */
    bool noise_is_new;    /* no response was designed with it yet */
    struct handover handover;
    struct build_progress progress;
    struct tuning tuning;

    struct ahead ahead; /* the thread's own */

    uint64_t done_serial; /* no design of this serial is wanted any more */
    uint64_t fade_serial; /* its fade needed another engine than it needs itself; 0: none did */

    /* Private to the thread. */
    struct builder builder;
};

/* With the lock held; it is released while the driver works. */
static void enter_driver(struct designer *designer)
{
    designer->busy_since_ns = clock_now_ns();
    pthread_mutex_unlock(&designer->lock);
}

static void leave_driver(struct designer *designer)
{
    pthread_mutex_lock(&designer->lock);
    designer->busy_since_ns = 0;
    designer->progress.total = 0;
    designer->exhausted = designer->builder.stuck_count >= BUILDER_MAX_STUCK;
}

/* In the driver, so without the lock. */
static void on_build(void *context, unsigned done, unsigned total)
{
    struct designer *designer = context;
    pthread_mutex_lock(&designer->lock);
    designer->progress = (struct build_progress){
        .number = designer->progress.number + (done == 0), .done = done, .total = total};
    pthread_mutex_unlock(&designer->lock);
    eventfd_write(designer->wake_fd, 1);
}

/* ---- the thread's work, with the lock held ---- */

/* Closes the returned engines, and those put aside before whose frames are finished by now. */
static void close_engines(struct designer *designer)
{
    struct engine *closing[BUILDER_MAX_CLOSING];
    const unsigned count = handover_take_closing(&designer->handover, closing);

    enter_driver(designer);
    for (unsigned i = 0; i < count; i++)
        builder_close_engine(&designer->builder, closing[i]);
    builder_release_stuck(&designer->builder);
    leave_driver(designer);
}

/* Ends the search, if one runs. */
static void cancel_search(struct designer *designer, const char *reason)
{
    struct engine_search *search = designer->tuning.search;
    struct error why;
    if (!designer->tuning.status.running)
        return;
    error_set(&why, ECANCELED, "%s", reason);
    designer->tuning.search = NULL;
    tuning_end(&designer->tuning, -ECANCELED, &why);
    enter_driver(designer);
    engine_search_destroy(search);
    leave_driver(designer);
}

static void continue_search(struct designer *designer)
{
    const bool exhaustive = designer->tuning.status.exhaustive;
    const struct builder *builder = &designer->builder;
    const struct engine_compared compared = {builder->memory.outline, builder->selector};
    struct engine_search_progress progress = {0};
    struct error why = {""};

    enter_driver(designer);
    int r = tuning_step(&designer->tuning.search, builder->engine, exhaustive, &compared,
                        builder->cache_dir, &progress, &why);
    leave_driver(designer);
    designer->tuning.status.progress = progress;
    if (r > 0)
        return;
    tuning_end(&designer->tuning, r, &why);
    if (r == 0 && !designer->wanted.is_engine) { /* rebuild with what was found */
        designer->wanted.is_engine = true;
        designer->wanted.frames = designer->builder.frames;
    }
}

/* Designs the requested chain, with what was estimated for it. A fade begins at the filter that the
 * camera's thread has taken last. If that thread takes another one during the design, the design is
 * repeated. */
static void design_filter(struct designer *designer, const struct request_design *request,
                          const struct filter_chain *chain, unsigned fade_frames,
                          struct design *ret)
{
    const struct handover *handover = &designer->handover;
    const struct engine_frames *frames = request->is_engine ? &request->frames : NULL;
    struct builder_fade fade;
    do {
        const bool fades = handover->borrowed != NULL &&
                           handover->taken_serial != request->serial &&
                           handover_can_fade(handover, &request->chain, request->view);
        fade = handover_fade(handover, fades ? fade_frames : 0);
        filter_chain_take_noise(&fade.from, designer->noise);
        enter_driver(designer);
        designer->builder.options.recipe.view = request->view;
        engine_response_free(ret->response);
        ret->response = NULL;
        ret->result =
            builder_design(&designer->builder, frames, chain, &fade, &ret->response, &ret->why);
        leave_driver(designer);
        filter_chain_drop(&fade.from);
        frames = NULL; /* the engine is built */
    } while (ret->result == 0 && fade.frames > 0 && !handover_is_current(handover, &fade));
}

static void carry_out(struct designer *designer)
{
    struct builder *builder = &designer->builder;
    const struct request_design request = designer->wanted;
    struct design design = {.serial = request.serial,
                            .result_serial = request.serial,
                            .result_frames = request.is_engine ? request.frames : builder->frames,
                            .view = request.view,
                            .adapts = filter_chain_adaptation(&request.chain)};

    filter_chain_hold(&request.chain); /* another one may be requested during the design */
    struct filter_chain chain = request.chain;
    filter_chain_take_noise(&chain, designer->noise);
    designer->noise_is_new = false;
    designer->wanted.is_engine = false;
    if (designer->device_failed)
        builder_suspect(builder);
    designer->device_failed = false;
    if (request.is_engine || builder_is_suspect(builder))
        cancel_search(designer, "the frames' format or the device changed");
    const bool is_same =
        !request.is_engine || engine_frames_equal(&request.frames, &builder->frames);
    design_filter(designer, &request, &chain, is_same ? request.fade_frames : 0, &design);
    const bool fades = request.fade_frames > 0 &&
                       handover_can_fade(&designer->handover, &request.chain, request.view);
    design.waits_for_fade = is_same && (fades || request.serial == designer->handover.taken_serial);
    if (design.result == 0) {
        design.engine = builder->engine;
        design.frames = builder->frames;
        design.memory = builder->use;
        design.device = builder->choice;
    }
    designer->fade_serial =
        design.result == 0 && builder_reaches_too_far(builder, &chain) ? request.serial : 0;
    designer->has_built |= builder->engine != NULL;
    designer->tuning.status.tuned = builder->engine != NULL && engine_is_tuned(builder->engine);
    bool *has_searched = &designer->tuning.has_searched[builder->built.reach.is_short];
    if (builder->engine != NULL && !*has_searched && !designer->tuning.status.running &&
        builder_wants_search(builder)) {
        *has_searched = true;
        tuning_begin(&designer->tuning, builder->options.tune == ENGINE_TUNE_EXHAUSTIVE, NULL);
    }
    designer->done_serial = request.serial;
    if (handover_post(&designer->handover, &design, &request.chain))
        eventfd_write(designer->wake_fd, 1);
    filter_chain_drop(&request.chain);
}

/* Returns whether a request can be carried out. A chain alone waits for the first engine. */
static bool has_request(const struct designer *designer)
{
    return designer->wanted.is_engine ||
           (designer->builder.engine != NULL &&
            (designer->wanted.serial != designer->done_serial || designer->noise_is_new));
}

/* Compiles ahead while idle, and sleeps until there is work. */
static void rest(struct designer *designer)
{
    pthread_mutex_unlock(&designer->lock);
    const int64_t until_ns = ahead_step(&designer->ahead, &designer->builder);
    const struct timespec until = clock_timespec(until_ns);
    pthread_mutex_lock(&designer->lock);
    if (designer->stop || has_request(designer) || designer->handover.closing_count > 0 ||
        designer->tuning.status.running)
        return; /* requested in the meantime */
    if (until_ns == INT64_MAX)
        pthread_cond_wait(&designer->change, &designer->lock);
    else
        pthread_cond_timedwait(&designer->change, &designer->lock, &until);
}

static void *designer_thread(void *argument)
{
    struct designer *designer = argument;

    pthread_mutex_lock(&designer->lock);
    for (;;) {
        if (designer->handover.closing_count > 0 || designer->builder.stuck_count > 0)
            close_engines(designer);
        if (designer->handover.closing_count > 0)
            continue;
        if (designer->stop)
            break;
        if (has_request(designer) || designer->tuning.status.running)
            ahead_interrupt(&designer->ahead);
        if (has_request(designer))
            carry_out(designer);
        else if (designer->tuning.status.running && designer->tuning.stop)
            cancel_search(designer, "it was stopped");
        else if (designer->tuning.status.running && designer->builder.engine != NULL)
            continue_search(designer);
        else
            rest(designer);
    }
    ahead_finish(&designer->ahead);
    cancel_search(designer, "the daemon is stopping");
    handover_drop(&designer->handover);
    if (designer->builder.engine != NULL) { /* it was built, but never taken */
        handover_add_closing(&designer->handover, designer->builder.engine);
        close_engines(designer);
    }
    designer->ended = true;
    pthread_cond_signal(&designer->change);
    pthread_mutex_unlock(&designer->lock);
    return NULL;
}

/* ---- from other threads ---- */

/* The thread has ended, or was never started. */
static void destroy(struct designer *designer)
{
    filter_chain_drop(&designer->wanted.chain);
    handover_finish(&designer->handover);
    pthread_cond_destroy(&designer->change);
    pthread_mutex_destroy(&designer->lock);
    free(designer);
}

int designer_create(struct designer **ret, const struct config *config, int wake_fd,
                    const struct designer_share *share, struct error *why)
{
    struct designer *designer = calloc(1, sizeof *designer);
    int r;

    if (designer == NULL)
        return error_set(why, ENOMEM, "out of memory while creating the designer");
    designer->wake_fd = wake_fd;
    designer->build_timeout_ns = (int64_t)(config->engine.build_timeout_s * (double)NS_PER_S);
    filter_chain_assign(&designer->wanted.chain, &config->filter);
    designer->wanted.view = config->engine.options.recipe.view;
    designer->wanted.serial = 1;
    pthread_mutex_init(&designer->lock, NULL);
    clock_cond_init(&designer->change);

    ahead_init(&designer->ahead, config);
    const struct engine_observer observer = {.on_build = on_build, .context = designer};
    r = builder_init(&designer->builder, config, share, &observer, why);
    if (r < 0)
        goto fail;
    r = -pthread_create(&designer->thread, NULL, designer_thread, designer);
    if (r < 0) {
        error_set(why, -r, "cannot start a thread: %s", strerror(-r));
        builder_finish(&designer->builder);
        goto fail;
    }
    pthread_setname_np(designer->thread, "designer");
    *ret = designer;
    return 0;
fail:
    ahead_finish(&designer->ahead);
    destroy(designer);
    return r;
}

int designer_destroy(struct designer *designer, int64_t deadline_ns)
{
    if (designer == NULL)
        return 0;
    struct timespec deadline = clock_timespec(deadline_ns);
    int r = 0;
    pthread_mutex_lock(&designer->lock);
    designer->stop = true;
    pthread_cond_signal(&designer->change);
    while (!designer->ended && r == 0)
        r = pthread_cond_timedwait(&designer->change, &designer->lock, &deadline);
    if (designer->ended)
        builder_release_stuck(&designer->builder);
    bool ended = designer->ended && designer->builder.stuck_count == 0;
    pthread_mutex_unlock(&designer->lock);
    if (!ended)
        return -EBUSY;
    pthread_join(designer->thread, NULL);
    builder_finish(&designer->builder);
    destroy(designer);
    return 0;
}

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
    if (serial == designer->handover.taken_serial)
        designer->done_serial = serial;
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

int designer_check_memory(const struct designer *designer, const struct engine_frames *frames,
                          const struct filter_chain *chain, enum view_kind view, bool reserves,
                          struct error *why)
{
    const struct builder_memory *memory = &designer->builder.memory;
    struct engine_options options = memory->options;
    options.recipe.view = view;
    engine_frames_set_captured(&options.recipe, frames);
    options.recipe = recipe_of(chain, &options.recipe);
    return builder_check_memory(memory, frames, &options, filter_chain_support(chain), chain, NULL,
                                reserves, NULL, why);
}

bool designer_take(struct designer *designer, bool is_fading, struct design *ret)
{
    pthread_mutex_lock(&designer->lock);
    const bool is_taken = handover_take(&designer->handover, is_fading, ret);
    const uint64_t serial = designer->handover.taken_serial;
    const bool is_settled = !is_taken && !is_fading && serial == designer->wanted.serial;
    if (is_settled &&
        ((serial != 0 && serial == designer->fade_serial) || /* the fade has ended */
         handover_has_better_load(&designer->handover, designer->builder.options.loads))) {
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
    const int r = tuning_begin(&designer->tuning, exhaustive, why);
    pthread_cond_signal(&designer->change);
    pthread_mutex_unlock(&designer->lock);
    return r;
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

void designer_get_build_progress(struct designer *designer, struct build_progress *ret)
{
    pthread_mutex_lock(&designer->lock);
    *ret = designer->progress;
    pthread_mutex_unlock(&designer->lock);
}

enum designer_state designer_get_state(struct designer *designer)
{
    pthread_mutex_lock(&designer->lock);
    const bool is_busy = designer->busy_since_ns != 0;
    const int64_t deadline_ns = designer->busy_since_ns + designer->build_timeout_ns;
    const bool is_stuck =
        designer->exhausted || (is_busy && designer->has_built && clock_now_ns() >= deadline_ns);
    pthread_mutex_unlock(&designer->lock);
    return is_stuck ? DESIGNER_STUCK : is_busy ? DESIGNER_BUSY : DESIGNER_IDLE;
}
