/* The search for faster settings, between the designer's other work: a step takes as long as one
 * build, so that a filter never waits for longer than that. */
#include <errno.h>

#include "designer_private.h"

/* With the lock held. */
static void end_search(struct designer *designer, int result, const struct error *why)
{
    struct engine_search *search = designer->search;
    designer->search = NULL;
    designer->stop_tuning = false;
    designer->tuning.running = false;
    designer->tuning.result = result;
    designer->tuning.why = *why;
    designer_enter_driver(designer);
    engine_search_destroy(search);
    designer_leave_driver(designer);
}

void designer_cancel_search(struct designer *designer, const char *reason)
{
    struct error why;
    if (!designer->tuning.running)
        return;
    error_set(&why, ECANCELED, "%s", reason);
    end_search(designer, -ECANCELED, &why);
}

void designer_search_on(struct designer *designer)
{
    const bool begin = designer->search == NULL, exhaustive = designer->tuning.exhaustive;
    struct engine_search_progress progress = {0};
    struct error why = {""};
    int r;

    designer_enter_driver(designer);
    r = begin ? engine_search_create(&designer->search, designer->engine, exhaustive,
                                     designer->cache_dir, &why)
              : engine_search_step(designer->search, &why);
    if (designer->search != NULL)
        engine_search_get(designer->search, &progress);
    designer_leave_driver(designer);
    designer->tuning.progress = progress;
    if (r < 0) {
        end_search(designer, r, &why);
    } else if (r == 0 && !begin) {
        end_search(designer, 0, &why);
        if (!designer->wanted.engine) {
            designer->wanted.engine = true;
            designer->wanted.source = designer->source;
            designer->wanted.format = designer->format;
        }
    }
}

bool designer_wants_search(const struct designer *designer)
{
    const enum engine_tune tune = designer->options.tune;
    if (designer->has_searched || designer->tuning.running || designer->cache_dir[0] == '\0' ||
        engine_is_tuned(designer->engine))
        return false;
    return tune == ENGINE_TUNE_EXHAUSTIVE ||
           (tune == ENGINE_TUNE_AUTO && !gpu_device_is_cpu(designer->device));
}

void designer_begin_search(struct designer *designer, bool exhaustive)
{
    designer->tuning = (struct tuning_status){.running = true, .exhaustive = exhaustive};
    designer->stop_tuning = false;
    pthread_cond_signal(&designer->change);
}

int designer_tune(struct designer *designer, bool exhaustive, struct error *why)
{
    int r = 0;
    pthread_mutex_lock(&designer->lock);
    if (designer->tuning.running)
        r = error_set(why, EBUSY, "a search runs already");
    else
        designer_begin_search(designer, exhaustive);
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
    ret->tuned = designer->tuned;
    pthread_mutex_unlock(&designer->lock);
}
