#include "designer/tuning.h"

#include <errno.h>

int tuning_begin(struct tuning *tuning, bool exhaustive, struct error *why)
{
    struct tuning_status *status = &tuning->status;
    if (status->running)
        return error_set(why, EBUSY, "a search is already running");
    *status =
        (struct tuning_status){.running = true, .exhaustive = exhaustive, .tuned = status->tuned};
    tuning->stop = false;
    return 0;
}

void tuning_end(struct tuning *tuning, int result, const struct error *why)
{
    tuning->status.running = false;
    tuning->status.result = result;
    tuning->status.why = *why;
    tuning->stop = false;
}

int tuning_step(struct engine_search **search, const struct engine *engine, bool exhaustive,
                const struct engine_compared *compared, const char *cache_dir,
                struct engine_search_progress *ret, struct error *why)
{
    int r;
    if (*search == NULL) {
        r = engine_search_create(search, engine, exhaustive, compared, cache_dir, why);
        r = r < 0 ? r : 1;
    } else {
        r = engine_search_step(*search, why);
    }
    if (*search != NULL)
        engine_search_get(*search, ret);
    if (r <= 0) {
        engine_search_destroy(*search);
        *search = NULL;
    }
    return r;
}
