/* One thread, one mutex, one result slot.
 *
 * builder.engine is the newest engine: the camera's thread either uses it or will find it in the
 * result slot. Returned engines wait in `closing` until the thread is between two requests. A
 * design for an engine that was returned meanwhile is discarded when it is posted. */
#include "camera/designer.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

#include "core/clock.h"

struct request_design {
    bool is_engine; /* an engine for `frames`, and not only a response */
    struct engine_frames frames;
    struct filter_chain chain;
    bool is_renotched; /* with other notches than before */
    struct notches notches;
    enum view_kind view;
    uint64_t serial;
    unsigned fade_frames;
};

/* (fields: three groups, by the thread that may touch them.) */
struct designer {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t change; /* of anything under the lock; on CLOCK_MONOTONIC */
    int wake_fd;
    int64_t build_timeout_ns;

    /* Under the lock. */
    bool stop, ended;
    int64_t busy_since_ns; /* in the driver since then; 0: it is not */
    bool has_built;        /* an engine, at any time */
    bool exhausted;        /* no further engine is built */
    bool device_failed;    /* since the last request was begun */
    struct request_design wanted;
    struct engine *closing[BUILDER_MAX_CLOSING];
    unsigned closing_count;
    struct engine *borrowed; /* the newest engine that the camera's thread has */
    bool posted;
    struct design design;
    struct filter_chain posted_chain; /* of the design */
    struct filter_chain taken_chain;  /* of the response that was taken last */
    struct notches taken_notches;     /* likewise */
    enum view_kind taken_view;        /* likewise */
    uint64_t taken_serial;            /* 0: none was */
    struct build_progress progress;
    struct tuning_status tuning;
    bool stop_tuning;
    bool has_searched; /* without being asked, for the frames that were wanted last */

    /* Of the thread alone. */
    struct builder builder;
    struct engine_search *search;
    uint64_t done_serial;
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
    struct build_progress *progress = &designer->progress;
    *progress = (struct build_progress){
        .number = progress->number + (done == 0), .done = done, .total = total};
    pthread_mutex_unlock(&designer->lock);
    eventfd_write(designer->wake_fd, 1);
}

/* ---- the result slot, with the lock held ---- */

static bool is_closing(const struct designer *designer, const struct engine *engine)
{
    for (unsigned i = 0; i < designer->closing_count; i++)
        if (designer->closing[i] == engine)
            return true;
    return false;
}

/* Discards what waits to be applied; a failure still has to be reported. */
static void drop_posted(struct designer *designer)
{
    engine_response_free(designer->design.response);
    designer->design.response = NULL;
    designer->design.engine = NULL;
    designer->posted = designer->design.result < 0;
}

/* Puts a chain's design into the result slot, over one that was not fetched. */
static void post(struct designer *designer, struct design *design, const struct filter_chain *chain)
{
    struct design *slot = &designer->design;

    if (design->engine != NULL && is_closing(designer, design->engine)) {
        engine_response_free(design->response);
        design->engine = NULL;
        design->response = NULL;
    }
    if (design->engine == NULL) {
        /* A response that an earlier request left is still to be applied. */
        slot->result = design->result;
        slot->why = design->why;
        slot->result_serial = design->result_serial;
        designer->posted = slot->engine != NULL || slot->result < 0;
    } else {
        engine_response_free(slot->response);
        if (slot->engine != NULL && slot->engine != design->engine &&
            slot->engine != designer->borrowed)
            designer->closing[designer->closing_count++] = slot->engine;
        *slot = *design;
        filter_chain_assign(&designer->posted_chain, chain);
        designer->posted = true;
    }
    if (designer->posted)
        eventfd_write(designer->wake_fd, 1);
}

/* ---- the thread's work, with the lock held ---- */

/* Closes the returned engines, and those put aside before whose frames are finished by now. */
static void close_engines(struct designer *designer)
{
    struct engine *closing[BUILDER_MAX_CLOSING];
    const unsigned count = designer->closing_count;

    memcpy(closing, designer->closing, sizeof closing);
    designer->closing_count = 0;
    enter_driver(designer);
    for (unsigned i = 0; i < count; i++)
        builder_close_engine(&designer->builder, closing[i]);
    builder_release_stuck(&designer->builder);
    leave_driver(designer);
}

/* Ends the search, if one runs. */
static void cancel_search(struct designer *designer, const char *reason)
{
    struct engine_search *search = designer->search;
    struct error why;
    if (!designer->tuning.running)
        return;
    error_set(&why, ECANCELED, "%s", reason);
    designer->search = NULL;
    designer->stop_tuning = false;
    tuning_end(&designer->tuning, -ECANCELED, &why);
    enter_driver(designer);
    engine_search_destroy(search);
    leave_driver(designer);
}

static void continue_search(struct designer *designer)
{
    const bool exhaustive = designer->tuning.exhaustive;
    struct engine_search_progress progress = {0};
    struct error why = {""};

    enter_driver(designer);
    int r = tuning_step(&designer->search, designer->builder.engine, exhaustive,
                        designer->builder.cache_dir, &progress, &why);
    leave_driver(designer);
    designer->tuning.progress = progress;
    if (r > 0)
        return;
    designer->stop_tuning = false;
    tuning_end(&designer->tuning, r, &why);
    if (r == 0 && !designer->wanted.is_engine) { /* rebuild with what was found */
        designer->wanted.is_engine = true;
        designer->wanted.frames = designer->builder.frames;
    }
}

/* Whether a fade from the chain taken last is possible. */
static bool can_fade(const struct designer *designer, const struct request_design *to)
{
    return builder_can_fade(&designer->taken_chain, designer->taken_view, &to->chain, to->view);
}

/* Designs the requested chain. A fade begins at the filter that the camera's thread has taken last.
 * If it takes another one meanwhile, the design is made again. */
static void design_filter(struct designer *designer, const struct request_design *request,
                          unsigned fade_frames, struct design *ret)
{
    const struct engine_frames *frames = request->is_engine ? &request->frames : NULL;
    struct builder_fade fade;
    do {
        const bool fades = designer->borrowed != NULL &&
                           designer->taken_serial != request->serial && can_fade(designer, request);
        fade = (struct builder_fade){.frames = fades ? fade_frames : 0,
                                     .engine = designer->borrowed,
                                     .from = designer->taken_chain,
                                     .from_notches = designer->taken_notches,
                                     .from_serial = designer->taken_serial};
        filter_chain_hold(&fade.from); /* another chain may be taken meanwhile */
        enter_driver(designer);
        designer->builder.options.recipe.view = request->view;
        engine_response_free(ret->response);
        ret->response = NULL;
        ret->result = builder_design(&designer->builder, frames, &request->chain, &ret->notches,
                                     &fade, &ret->response, &ret->why);
        leave_driver(designer);
        filter_chain_drop(&fade.from);
        frames = NULL; /* the engine is built */
    } while (ret->result == 0 && fade.frames > 0 &&
             (fade.engine != designer->borrowed || fade.from_serial != designer->taken_serial));
}

static void carry_out(struct designer *designer)
{
    struct builder *builder = &designer->builder;
    const struct request_design request = designer->wanted;
    struct design design = {.serial = request.serial,
                            .result_serial = request.serial,
                            .view = request.view,
                            .adapts = filter_chain_adaptation(&request.chain)};

    filter_chain_hold(&request.chain); /* another one may be requested meanwhile */
    designer->wanted.is_engine = designer->wanted.is_renotched = false;
    if (design.adapts.removes_waves)
        design.notches = request.notches;
    builder->device_suspect |= designer->device_failed;
    designer->device_failed = false;
    if (request.is_engine || builder->device_suspect)
        cancel_search(designer, "the frames' format or the device changed");
    const bool is_same =
        !request.is_engine || engine_frames_equal(&request.frames, &builder->frames);
    design_filter(designer, &request, is_same ? request.fade_frames : 0, &design);
    design.waits_for_fade = is_same && ((request.fade_frames > 0 && can_fade(designer, &request)) ||
                                        request.serial == designer->taken_serial);
    if (design.result == 0) {
        design.engine = builder->engine;
        design.frames = builder->frames;
    }
    designer->has_built |= builder->engine != NULL;
    designer->tuning.tuned = builder->engine != NULL && engine_is_tuned(builder->engine);
    if (request.is_engine && builder->engine != NULL && !designer->has_searched &&
        !designer->tuning.running && builder_wants_search(builder)) {
        designer->has_searched = true;
        tuning_begin(&designer->tuning, builder->options.tune == ENGINE_TUNE_EXHAUSTIVE, NULL);
        designer->stop_tuning = false;
    }
    designer->done_serial = request.serial;
    post(designer, &design, &request.chain);
    filter_chain_drop(&request.chain);
}

/* Whether a request waits that can be carried out: a chain alone waits for the first engine. */
static bool has_request(const struct designer *designer)
{
    return designer->wanted.is_engine ||
           (designer->builder.engine != NULL &&
            (designer->wanted.is_renotched || designer->wanted.serial != designer->done_serial));
}

static void *designer_thread(void *argument)
{
    struct designer *designer = argument;

    pthread_mutex_lock(&designer->lock);
    for (;;) {
        if (designer->closing_count > 0 || designer->builder.stuck_count > 0)
            close_engines(designer);
        if (designer->closing_count > 0)
            continue;
        if (designer->stop)
            break;
        else if (has_request(designer))
            carry_out(designer);
        else if (designer->tuning.running && designer->stop_tuning)
            cancel_search(designer, "it was stopped");
        else if (designer->tuning.running && designer->builder.engine != NULL)
            continue_search(designer);
        else
            pthread_cond_wait(&designer->change, &designer->lock);
    }
    cancel_search(designer, "the daemon is stopping");
    drop_posted(designer);
    if (designer->builder.engine != NULL) { /* it was built, but never fetched */
        designer->closing[designer->closing_count++] = designer->builder.engine;
        close_engines(designer);
    }
    designer->ended = true;
    pthread_cond_signal(&designer->change);
    pthread_mutex_unlock(&designer->lock);
    return NULL;
}

/* ---- from other threads ---- */

/* There is no thread. */
static void destroy(struct designer *designer)
{
    filter_chain_drop(&designer->wanted.chain);
    filter_chain_drop(&designer->posted_chain);
    filter_chain_drop(&designer->taken_chain);
    pthread_cond_destroy(&designer->change);
    pthread_mutex_destroy(&designer->lock);
    free(designer);
}

int designer_create(struct designer **ret, const struct config *config, int wake_fd,
                    struct error *why)
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

    const struct engine_observer observer = {.on_build = on_build, .context = designer};
    r = builder_init(&designer->builder, &config->engine, &observer, why);
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

const char *designer_device_memory(const struct designer *designer)
{
    return gpu_device_memory(designer->builder.device);
}

const char *designer_device_name(const struct designer *designer)
{
    return gpu_device_name(designer->builder.device);
}

void designer_request_filter(struct designer *designer, const struct filter_chain *chain,
                             enum view_kind view, uint64_t serial, unsigned fade_frames)
{
    pthread_mutex_lock(&designer->lock);
    filter_chain_assign(&designer->wanted.chain, chain);
    designer->wanted.view = view;
    designer->wanted.serial = serial;
    designer->wanted.fade_frames = fade_frames;
    pthread_cond_signal(&designer->change);
    pthread_mutex_unlock(&designer->lock);
}

void designer_request_notches(struct designer *designer, const struct notches *notches)
{
    pthread_mutex_lock(&designer->lock);
    designer->wanted.notches = *notches;
    designer->wanted.is_renotched = true;
    pthread_cond_signal(&designer->change);
    pthread_mutex_unlock(&designer->lock);
}

void designer_request_engine(struct designer *designer, const struct engine_frames *frames)
{
    pthread_mutex_lock(&designer->lock);
    designer->has_searched = false;
    designer->wanted.is_engine = true;
    designer->wanted.frames = *frames;
    pthread_cond_signal(&designer->change);
    pthread_mutex_unlock(&designer->lock);
}

bool designer_take(struct designer *designer, bool is_fading, struct design *ret)
{
    pthread_mutex_lock(&designer->lock);
    const struct engine *engine = designer->design.engine;
    /* The same chain for the same engine has other notches, and no fade. */
    const bool is_renotched = designer->design.serial == designer->taken_serial;
    const bool waits =
        is_fading && engine != NULL &&
        (engine == designer->borrowed ? is_renotched : designer->design.waits_for_fade);
    const bool posted = designer->posted && !waits;
    if (posted) {
        *ret = designer->design;
        designer->design = (struct design){0};
        designer->posted = false;
        if (ret->engine != NULL) {
            designer->borrowed = ret->engine;
            filter_chain_assign(&designer->taken_chain, &designer->posted_chain);
            designer->taken_notches = ret->notches;
            designer->taken_view = ret->view;
            designer->taken_serial = ret->serial;
        }
    }
    pthread_mutex_unlock(&designer->lock);
    return posted;
}

void designer_return_engine(struct designer *designer, struct engine *engine, bool failed)
{
    pthread_mutex_lock(&designer->lock);
    designer->closing[designer->closing_count++] = engine;
    if (designer->borrowed == engine)
        designer->borrowed = NULL;
    if (designer->posted && designer->design.engine == engine)
        drop_posted(designer);
    designer->device_failed |= failed;
    pthread_cond_signal(&designer->change);
    pthread_mutex_unlock(&designer->lock);
}

int designer_tune(struct designer *designer, bool exhaustive, struct error *why)
{
    pthread_mutex_lock(&designer->lock);
    int r = tuning_begin(&designer->tuning, exhaustive, why);
    if (r == 0) {
        designer->stop_tuning = false;
        pthread_cond_signal(&designer->change);
    }
    pthread_mutex_unlock(&designer->lock);
    return r;
}

void designer_stop_tuning(struct designer *designer)
{
    pthread_mutex_lock(&designer->lock);
    designer->stop_tuning = designer->tuning.running;
    pthread_cond_signal(&designer->change);
    pthread_mutex_unlock(&designer->lock);
}

void designer_get_tuning(struct designer *designer, struct tuning_status *ret)
{
    pthread_mutex_lock(&designer->lock);
    *ret = designer->tuning;
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
