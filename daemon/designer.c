/* One thread, one mutex, one result slot.
 *
 * `engine` is the newest engine built: the camera thread either uses it, or will find it in the
 * result slot. Engines given back wait in `used_up` until the thread is between two designs; a
 * design for an engine that was given back meanwhile is thrown away when it is posted. */
#include "designer_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

#include "core/clock.h"

static bool is_used_up(const struct designer *designer, const struct engine *engine)
{
    for (unsigned i = 0; i < designer->used_up_count; i++)
        if (designer->used_up[i] == engine)
            return true;
    return false;
}

/* Forgets what waits in the result slot to be applied; a failure stays to be told. */
static void drop_posted(struct designer *designer)
{
    engine_response_free(designer->design.response);
    designer->design.response = NULL;
    designer->design.engine = NULL;
    designer->posted = designer->design.result < 0;
}

void designer_enter_driver(struct designer *designer)
{
    designer->busy_since_ns = clock_now_ns();
    pthread_mutex_unlock(&designer->lock);
}

void designer_leave_driver(struct designer *designer)
{
    pthread_mutex_lock(&designer->lock);
    designer->busy_since_ns = 0;
}

/* Whether the device has let go of all frames of an engine, which then can be destroyed. */
static bool is_released(struct engine *engine)
{
    struct engine_done done;

    for (unsigned i = 0; i < ENGINE_MAX_IN_FLIGHT; i++)
        engine_collect(engine, false, &done, NULL);
    return engine_in_flight(engine) == 0;
}

static bool has_stuck_engine(const struct designer *designer, const struct gpu_device *device)
{
    for (unsigned i = 0; i < designer->stuck_count; i++)
        if (designer->stuck[i].device == device)
            return true;
    return false;
}

/* With the lock held. Destroys the engines that were stuck and are no more. */
static void destroy_released(struct designer *designer)
{
    for (unsigned i = 0; i < designer->stuck_count;) {
        struct stuck stuck = designer->stuck[i];
        if (!is_released(stuck.engine)) {
            i++;
            continue;
        }
        designer->stuck[i] = designer->stuck[--designer->stuck_count];
        bool last = stuck.device != designer->device && !has_stuck_engine(designer, stuck.device);
        designer_enter_driver(designer);
        engine_destroy(stuck.engine);
        if (last)
            gpu_device_close(stuck.device);
        designer_leave_driver(designer);
    }
}

/* With the lock held. */
static void destroy_used_up(struct designer *designer)
{
    while (designer->used_up_count > 0) {
        struct engine *engine = designer->used_up[--designer->used_up_count];
        if (engine == designer->engine)
            designer->engine = NULL;
        if (!is_released(engine)) {
            designer->stuck[designer->stuck_count++] =
                (struct stuck){.engine = engine, .device = designer->device};
            continue;
        }
        designer_enter_driver(designer);
        engine_destroy(engine);
        designer_leave_driver(designer);
    }
}

/* A device that failed is opened anew, but not before its last engine has gone or is known not to
 * go. */
static int refresh_device(struct designer *designer, struct error *why)
{
    if (designer->device_suspect && designer->engine == NULL) {
        if (!has_stuck_engine(designer, designer->device))
            gpu_device_close(designer->device);
        designer->device = NULL;
        designer->device_suspect = false;
    }
    if (designer->device != NULL)
        return 0;
    return gpu_device_open(&designer->device, designer->selector, why);
}

/* Filters one black frame. Some drivers put compiling off until a kernel is first run; that should
 * be here and not in the frame path. */
static int warm_up(struct engine *engine, const struct fftd_format *format, struct error *why)
{
    uint8_t *in = calloc(2, format->frame_bytes);
    struct engine_job job = {0};
    struct engine_done done;

    if (in == NULL)
        return error_set(why, ENOMEM, "no memory for two frames");
    job.out = in + format->frame_bytes;
    for (unsigned p = 0; p < format->plane_count; p++) {
        job.in[p] = in + format->plane[p].offset;
        job.in_stride[p] = format->plane[p].stride;
    }
    int r = engine_submit(engine, &job, why);
    if (r == 0)
        r = engine_collect(engine, true, &done, why);
    free(in);
    return r;
}

static int build_engine(struct designer *designer, uint32_t source,
                        const struct fftd_format *format, double support_px, struct engine **ret,
                        struct error *why)
{
    struct engine_options options = designer->options;
    struct engine *engine = NULL;
    if (designer->stuck_count >= MAX_STUCK)
        return error_set(why, EIO, "the device keeps the frames of %u engines",
                         designer->stuck_count);
    int r = refresh_device(designer, why);
    if (r < 0)
        return r;
    options.source = source;
    r = engine_create(&engine, designer->device, format, &options, support_px, designer->cache_dir,
                      why);
    if (r == 0)
        r = warm_up(engine, format, why);
    if (r < 0) {
        engine_destroy(engine);
        designer->device_suspect = true;
        return r;
    }
    *ret = engine;
    return 0;
}

/* The engine this request needs: the one there is, or a new one. */
static int find_engine(struct designer *designer, const struct request *request,
                       struct engine **ret, struct error *why)
{
    double support_px = filter_chain_support(&request->chain);
    bool too_small = designer->options.margin < 0 && support_px > designer->support_px;

    if (!request->engine && !too_small) {
        *ret = designer->engine;
        return 0;
    }
    return request->engine
               ? build_engine(designer, request->source, &request->format, support_px, ret, why)
               : build_engine(designer, designer->source, &designer->format, support_px, ret, why);
}

static void make(struct designer *designer, const struct request *request, struct design *ret)
{
    struct engine *engine = NULL;

    *ret = (struct design){.serial = request->serial, .result_serial = request->serial};
    ret->result = find_engine(designer, request, &engine, &ret->why);
    if (ret->result < 0)
        return;
    ret->result = engine_design(engine, &request->chain, &ret->response, &ret->why);
    if (ret->result < 0) {
        if (engine != designer->engine)
            engine_destroy(engine);
        return;
    }
    if (engine != designer->engine) {
        double support_px = filter_chain_support(&request->chain);
        double built_px = engine_support(engine);
        designer->engine = engine;
        designer->support_px = built_px > support_px ? built_px : support_px;
        if (request->engine) {
            designer->source = request->source;
            designer->format = request->format;
        }
    }
    ret->engine = engine;
    ret->source = designer->source;
    ret->format = designer->format;
}

/* With the lock held. Puts a design into the result slot, over one that was not fetched. */
static void post(struct designer *designer, struct design *design)
{
    struct design *slot = &designer->design;

    if (design->engine != NULL && is_used_up(designer, design->engine)) {
        engine_response_free(design->response);
        design->engine = NULL;
        design->response = NULL;
    }
    if (design->engine == NULL) {
        /* What an earlier request left to apply is still good. */
        slot->result = design->result;
        slot->why = design->why;
        slot->result_serial = design->result_serial;
        designer->posted = slot->engine != NULL || slot->result < 0;
    } else {
        engine_response_free(slot->response);
        if (slot->engine != NULL && slot->engine != design->engine &&
            slot->engine != designer->lent)
            designer->used_up[designer->used_up_count++] = slot->engine;
        *slot = *design;
        designer->posted = true;
    }
    if (designer->posted)
        eventfd_write(designer->wake_fd, 1);
}

/* With the lock held. Whether something is to be made: a chain alone waits for the first engine. */
static bool has_work(const struct designer *designer)
{
    return designer->wanted.engine ||
           (designer->engine != NULL && designer->wanted.serial != designer->done_serial);
}

static void *designer_thread(void *argument)
{
    struct designer *designer = argument;

    pthread_mutex_lock(&designer->lock);
    for (;;) {
        destroy_released(designer);
        if (designer->used_up_count > 0) {
            destroy_used_up(designer);
        } else if (designer->stop) {
            break;
        } else if (has_work(designer)) {
            struct request request = designer->wanted;
            struct design design;
            designer->wanted.engine = false;
            designer->device_suspect |= designer->device_failed;
            designer->device_failed = false;
            if (request.engine || designer->device_suspect)
                designer_cancel_search(designer, "the frames' format or the device changed");
            designer_enter_driver(designer);
            make(designer, &request, &design);
            designer_leave_driver(designer);
            designer->has_built |= designer->engine != NULL;
            designer->tuned = designer->engine != NULL && engine_is_tuned(designer->engine);
            if (request.engine && designer->engine != NULL && designer_wants_search(designer)) {
                designer->has_searched = true;
                designer_begin_search(designer, designer->options.tune == ENGINE_TUNE_EXHAUSTIVE);
            }
            designer->done_serial = request.serial;
            post(designer, &design);
        } else if (designer->tuning.running && designer->stop_tuning) {
            designer_cancel_search(designer, "it was stopped");
        } else if (designer->tuning.running && designer->engine != NULL) {
            designer_search_on(designer);
        } else {
            pthread_cond_wait(&designer->change, &designer->lock);
        }
    }
    designer_cancel_search(designer, "the daemon ends");
    drop_posted(designer);
    engine_destroy(designer->engine); /* built, but never fetched */
    designer->ended = true;
    pthread_cond_signal(&designer->change);
    pthread_mutex_unlock(&designer->lock);
    return NULL;
}

int designer_create(struct designer **ret, const struct config *config, int wake_fd,
                    struct error *why)
{
    struct designer *designer = calloc(1, sizeof *designer);
    int r;

    if (designer == NULL)
        return error_set(why, ENOMEM, "no memory for the designer");
    designer->wake_fd = wake_fd;
    designer->options = config->engine;
    designer->build_timeout_ns = (int64_t)(config->build_timeout_s * (double)NS_PER_S);
    memcpy(designer->selector, config->device, sizeof designer->selector);
    memcpy(designer->cache_dir, config->cache_dir, sizeof designer->cache_dir);
    designer->wanted.chain = config->filter;
    designer->wanted.serial = 1;
    pthread_mutex_init(&designer->lock, NULL);
    clock_cond_init(&designer->change);

    r = gpu_device_open(&designer->device, designer->selector, why);
    if (r < 0)
        goto fail;
    r = -pthread_create(&designer->thread, NULL, designer_thread, designer);
    if (r < 0) {
        error_set(why, -r, "cannot start a thread: %s", strerror(-r));
        gpu_device_close(designer->device);
        goto fail;
    }
    pthread_setname_np(designer->thread, "designer");
    *ret = designer;
    return 0;
fail:
    pthread_cond_destroy(&designer->change);
    pthread_mutex_destroy(&designer->lock);
    free(designer);
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
        destroy_released(designer);
    bool ended = designer->ended && designer->stuck_count == 0;
    pthread_mutex_unlock(&designer->lock);
    if (!ended)
        return -EBUSY;
    pthread_join(designer->thread, NULL);
    gpu_device_close(designer->device);
    pthread_cond_destroy(&designer->change);
    pthread_mutex_destroy(&designer->lock);
    free(designer);
    return 0;
}

const char *designer_device_memory(const struct designer *designer)
{
    return gpu_device_memory(designer->device);
}

const char *designer_device_name(const struct designer *designer)
{
    return gpu_device_name(designer->device);
}

uint64_t designer_want_chain(struct designer *designer, const struct filter_chain *chain)
{
    pthread_mutex_lock(&designer->lock);
    designer->wanted.chain = *chain;
    uint64_t serial = ++designer->wanted.serial;
    pthread_cond_signal(&designer->change);
    pthread_mutex_unlock(&designer->lock);
    return serial;
}

void designer_get_chain(struct designer *designer, struct filter_chain *ret)
{
    pthread_mutex_lock(&designer->lock);
    *ret = designer->wanted.chain;
    pthread_mutex_unlock(&designer->lock);
}

void designer_want_engine(struct designer *designer, uint32_t source,
                          const struct fftd_format *format)
{
    pthread_mutex_lock(&designer->lock);
    designer->has_searched = false;
    designer->wanted.engine = true;
    designer->wanted.source = source;
    designer->wanted.format = *format;
    pthread_cond_signal(&designer->change);
    pthread_mutex_unlock(&designer->lock);
}

bool designer_take(struct designer *designer, struct design *ret)
{
    pthread_mutex_lock(&designer->lock);
    bool posted = designer->posted;
    if (posted) {
        *ret = designer->design;
        designer->design = (struct design){0};
        designer->posted = false;
        if (ret->engine != NULL)
            designer->lent = ret->engine;
    }
    pthread_mutex_unlock(&designer->lock);
    return posted;
}

void designer_give_back(struct designer *designer, struct engine *engine, bool failed)
{
    pthread_mutex_lock(&designer->lock);
    designer->used_up[designer->used_up_count++] = engine;
    if (designer->lent == engine)
        designer->lent = NULL;
    if (designer->posted && designer->design.engine == engine)
        drop_posted(designer);
    designer->device_failed |= failed;
    pthread_cond_signal(&designer->change);
    pthread_mutex_unlock(&designer->lock);
}

enum designer_state designer_get_state(struct designer *designer)
{
    enum designer_state state = DESIGNER_IDLE;

    pthread_mutex_lock(&designer->lock);
    if (designer->busy_since_ns != 0)
        state = DESIGNER_BUSY;
    int64_t deadline_ns = designer->busy_since_ns + designer->build_timeout_ns;
    if (designer->stuck_count >= MAX_STUCK ||
        (state == DESIGNER_BUSY && designer->has_built && clock_now_ns() >= deadline_ns))
        state = DESIGNER_STUCK;
    pthread_mutex_unlock(&designer->lock);
    return state;
}
