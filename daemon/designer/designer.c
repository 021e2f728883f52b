/* One thread and one mutex. handover.c hands over what the thread has made.
 * builder.engine is the newest engine: the camera's thread either uses it or will take it. Returned
 * engines wait until the thread is between two requests. */
#include "designer/designer_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

#include "core/clock.h"
#include "filters/filter_adapt.h"

/* With the lock held; it is released while the driver works. */
static void enter_driver(struct designer *designer)
{
    designer->progress.since_ns = designer->busy_since_ns = clock_now_ns();
    pthread_mutex_unlock(&designer->lock);
}

static void leave_driver(struct designer *designer)
{
    pthread_mutex_lock(&designer->lock);
    designer->progress.since_ns = designer->busy_since_ns = 0;
    designer->progress.total = 0;
    designer->exhausted = designer->builder.stuck_count >= BUILDER_MAX_STUCK;
}

static void set_busy(struct designer *designer, int64_t since_ns)
{
    pthread_mutex_lock(&designer->lock);
    designer->busy_since_ns = since_ns;
    pthread_mutex_unlock(&designer->lock);
}

/* Called without the lock. Another process compiles first, so that frames go on; the time limit of
 * the driver begins again once it has ended. */
static int compile_beside(struct designer *designer, struct error *why)
{
    set_busy(designer, clock_now_ns() + designer->build_timeout_ns);
    const int r = ahead_compile(&designer->ahead, &designer->builder, designer->built_frames,
                                designer->built_chain, designer->build_timeout_ns, why);
    set_busy(designer, clock_now_ns());
    return r;
}

/* In the driver, so without the lock. */
static int on_build(void *context, unsigned done, unsigned total, struct error *why)
{
    struct designer *designer = context;
    pthread_mutex_lock(&designer->lock);
    designer->progress.number += done == 0;
    designer->progress.done = done;
    designer->progress.total = total;
    pthread_mutex_unlock(&designer->lock);
    eventfd_write(designer->wake_fd, 1);
    return done == 0 && designer_share_has_engines(&designer->builder.memory.share)
               ? compile_beside(designer, why)
               : 0;
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

static void end_search(struct designer *designer, int result, const struct error *why)
{
    struct tuning *tuning = &designer->tuning;

    enter_driver(designer);
    engine_search_destroy(tuning->search);
    leave_driver(designer);
    tuning->search = NULL;
    tuning->stop = false;
    tuning->status.running = false;
    tuning->status.result = result;
    tuning->status.why = *why;
}

/* Ends the search, if one runs. */
static void cancel_search(struct designer *designer, const char *reason)
{
    struct error why;
    if (!designer->tuning.status.running)
        return;
    end_search(designer, error_set(&why, ECANCELED, "%s", reason), &why);
}

static void continue_search(struct designer *designer)
{
    struct tuning *tuning = &designer->tuning;
    const struct builder *builder = &designer->builder;
    const struct engine_compared compared = {builder->memory.outline, builder->selector};
    struct error why = {""};
    const bool is_new = tuning->search == NULL, exhaustive = tuning->status.exhaustive;

    enter_driver(designer);
    const int r = is_new ? engine_search_create(&tuning->search, builder->engine, exhaustive,
                                                &compared, builder->cache_dir, &why)
                         : engine_search_step(tuning->search, &why);
    leave_driver(designer);
    if (tuning->search != NULL)
        engine_search_get(tuning->search, &tuning->status.progress);
    if (r > 0 || (r == 0 && is_new)) /* more steps follow */
        return;
    end_search(designer, r, &why);
    if (r == 0 && !designer->wanted.is_engine) { /* rebuild with what was found */
        designer->wanted.is_engine = true;
        designer->wanted.frames = designer->builder.frames;
    }
}

/* Designs the requested chain, with what was estimated for it. A fade begins at the filter that the
 * camera's thread has taken last. If that thread takes another one during the design, the design is
 * repeated. Returns whether the engine reaches farther than the chain alone needs. */
static bool design_filter(struct designer *designer, const struct request_design *request,
                          const struct filter_chain *chain, unsigned fade_frames,
                          struct design *ret)
{
    const struct handover *handover = &designer->handover;
    const struct engine_frames *frames = request->is_engine ? &request->frames : NULL;
    struct builder_fade fade;
    bool reaches_too_far;
    do {
        const bool fades = handover->borrowed != NULL &&
                           handover->taken_serial != request->serial &&
                           handover_can_fade(handover, &request->chain, request->view);
        fade = handover_fade(handover, fades ? fade_frames : 0);
        filter_chain_take_noise(&fade.from, designer->noise);
        designer->built_frames = frames != NULL ? frames : &designer->builder.frames;
        designer->built_chain = chain;
        enter_driver(designer);
        designer->builder.options.recipe.view = request->view;
        engine_response_free(ret->response);
        ret->response = NULL;
        ret->result =
            builder_design(&designer->builder, frames, chain, &fade, &ret->response, &ret->why);
        reaches_too_far = ret->result == 0 && builder_reaches_too_far(&designer->builder, chain);
        leave_driver(designer);
        filter_chain_drop(&fade.from);
        frames = NULL; /* the engine is built */
    } while (ret->result == 0 && fade.frames > 0 && !handover_is_current(handover, &fade));
    return reaches_too_far;
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
    designer->done_serial = request.serial; /* designer_take may ask for it again meanwhile */
    if (designer->device_failed)
        builder_suspect(builder);
    designer->device_failed = false;
    if (request.is_engine || builder_is_suspect(builder))
        cancel_search(designer, "the frames' format or the device changed");
    const bool is_same =
        !request.is_engine || engine_frames_equal(&request.frames, &builder->frames);
    const bool reaches_too_far =
        design_filter(designer, &request, &chain, is_same ? request.fade_frames : 0, &design);
    const bool fades = request.fade_frames > 0 &&
                       handover_can_fade(&designer->handover, &request.chain, request.view);
    design.waits_for_fade = is_same && (fades || request.serial == designer->handover.taken_serial);
    if (design.result == 0) {
        design.engine = builder->engine;
        design.frames = builder->frames;
        design.middle =
            warp_find_middle(&request.chain, builder->frames.width, builder->frames.height);
        design.memory = builder->use;
        design.device = builder->choice;
    }
    designer->fade_serial = reaches_too_far ? request.serial : 0;
    designer->has_built |= builder->engine != NULL;
    designer->tuning.status.tuned = builder->engine != NULL && engine_is_tuned(builder->engine);
    bool *has_searched = &designer->tuning.has_searched[builder->built.reach.is_short];
    if (builder->engine != NULL && !*has_searched && !designer->tuning.status.running &&
        builder_wants_search(builder)) {
        *has_searched = true;
        tuning_begin(&designer->tuning, builder->options.tune == ENGINE_TUNE_EXHAUSTIVE);
    }
    if (designer->wanted.serial != request.serial) /* withdrawn meanwhile, but it may be taken */
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
    if (designer->ended_fd >= 0)
        eventfd_write(designer->ended_fd, 1);
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

int designer_create(struct designer **ret, const struct designer *other,
                    const struct config *config, int wake_fd, const struct designer_share *share,
                    struct error *why)
{
    struct designer *designer = calloc(1, sizeof *designer);
    int r;

    if (designer == NULL)
        return error_set(why, ENOMEM, "out of memory while creating the designer");
    designer->wake_fd = wake_fd;
    designer->ended_fd = -1;
    designer->build_timeout_ns = (int64_t)(config->engine.build_timeout_s * (double)NS_PER_S);
    filter_chain_assign(&designer->wanted.chain, &config->filter);
    designer->wanted.view = config->engine.options.recipe.view;
    designer->wanted.serial = 1;
    pthread_mutex_init(&designer->lock, NULL);
    clock_cond_init(&designer->change);

    ahead_init(&designer->ahead, config);
    const struct engine_observer observer = {.on_build = on_build, .context = designer};
    r = builder_init(&designer->builder, other != NULL ? &other->builder.memory : NULL, config,
                     share, &observer, why);
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

void designer_end(struct designer *designer, int ended_fd)
{
    pthread_mutex_lock(&designer->lock);
    designer->stop = true;
    designer->ended_fd = ended_fd;
    pthread_cond_signal(&designer->change);
    pthread_mutex_unlock(&designer->lock);
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
