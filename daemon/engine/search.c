/* The search for an engine's settings. It runs one tuner for each component, one after another, and
 * then compares a device with the host's own CPU device. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/cache.h"
#include "engine/engine_private.h"
#include "transform/pairs.h"

#define GREY   128

/* Frames are measured on both devices by turns, and the median pair decides (transform/pairs.h).
 * The least times would not do, because a device may be lucky once. */
#define ROUNDS 3

struct engine_search {
    char cache_dir[4096];
    struct tuner *tuner[MAX_COMPONENTS];
    unsigned count, now;
    struct gpu_device *device; /* the engine's */
    struct engine_compared compared;
    struct comparison_subject subject;
    struct pairs pairs; /* the CPU device's times are the new ones */
    struct pair pair;   /* the one that is being measured */
    unsigned measured;  /* times of that pair so far */
};

int engine_search_create(struct engine_search **ret, const struct engine *engine, bool exhaustive,
                         const struct engine_compared *compared, const char *cache_dir,
                         struct error *why)
{
    if (!cache_exists(cache_dir))
        return error_set(why, EINVAL,
                         "engine.cache_dir = none: expected a directory in which tuning saves its "
                         "results");
    struct engine_search *search = calloc(1, sizeof *search);
    if (search == NULL)
        return error_set(why, ENOMEM, "out of memory while starting the search for settings");
    snprintf(search->cache_dir, sizeof search->cache_dir, "%s", cache_dir);
    search->device = engine->device;
    search->compared = *compared;
    search->subject = engine_subject(engine, compared->device);
    for (unsigned i = 0; i < engine->component_count; i++, search->count++) {
        const int r =
            tuner_create(&search->tuner[i], &engine->component[i].subject, exhaustive, why);
        if (r < 0) {
            engine_search_destroy(search);
            return r;
        }
    }
    *ret = search;
    return 0;
}

void engine_search_destroy(struct engine_search *search)
{
    if (search == NULL)
        return;
    for (unsigned i = 0; i < search->count; i++)
        tuner_destroy(search->tuner[i]);
    free(search);
}

/* What is measured. */
struct run {
    struct engine *engine;
    const struct engine_job *job;
};

static int time_frame(void *context, double *ret_ms, struct error *why)
{
    const struct run *run = context;
    struct engine_done done;
    const int64_t start_ns = clock_now_ns();
    int r = engine_submit(run->engine, run->job, why);
    if (r == 0)
        r = engine_collect(run->engine, true, &done, why);
    *ret_ms = (double)(clock_now_ns() - start_ns) / 1e6;
    return r;
}

static int time_engine(struct engine *engine, double *ret_ms, struct error *why)
{
    const struct fftd_format *source = &engine->source;
    struct engine_job job = {.is_dispatched = true};
    uint8_t *in = malloc(source->frame_bytes);
    int r = 0;
    job.out = malloc(engine->format.frame_bytes);
    if (in == NULL || job.out == NULL) {
        r = error_set(why, ENOMEM, "out of memory while allocating two frames");
        goto out;
    }
    memset(in, GREY, source->frame_bytes);
    for (unsigned p = 0; p < source->plane_count; p++) {
        job.in[p] = in + source->plane[p].offset;
        job.in_stride[p] = source->plane[p].stride;
    }
    r = tuner_time(time_frame, &(struct run){engine, &job}, ret_ms, why);
out:
    free(in);
    free(job.out);
    return r;
}

int engine_time(struct gpu_device *device, const struct comparison_subject *subject,
                const char *cache_dir, double *ret_ms, struct error *why)
{
    struct engine_options options = subject->options;
    struct engine *engine;
    options.in_flight = 1;
    options.loads = NULL;
    options.recipe.motion = 0;
    int r = engine_create(&engine, device, &subject->format, &options, subject->support_px,
                          cache_dir, NULL, why);
    if (r < 0)
        return r;
    r = time_engine(engine, ret_ms, why);
    engine_destroy(engine);
    return r;
}

static int measure(struct engine_search *search, bool on_cpu, double *ret_ms, struct error *why)
{
    const struct comparison_subject *subject = &search->subject;
    struct gpu_device *other;
    if (on_cpu == gpu_device_is_cpu(search->device))
        return engine_time(search->device, subject, search->cache_dir, ret_ms, why);
    int r = gpu_device_open(&other, on_cpu ? "cpu" : search->compared.selector, why);
    if (r < 0)
        return r;
    r = engine_time(other, subject, search->cache_dir, ret_ms, why);
    gpu_device_close(other);
    return r;
}

/* Measures frames on the engine's device, whose new settings are in the cache by now, or on the
 * other one. If either refuses, the settings are good all the same, and there is no comparison. */
static int compare(struct engine_search *search, struct error *why)
{
    const bool on_cpu = pairs_new_is_first(&search->pairs) == (search->measured == 0);
    struct pair *pair = &search->pair;
    struct error refusal;
    if (measure(search, on_cpu, on_cpu ? &pair->new_ms : &pair->old_ms, &refusal) < 0)
        return 0;
    if (++search->measured < 2)
        return 1;
    pairs_add(&search->pairs, pair->new_ms, pair->old_ms);
    search->measured = 0;
    if (search->pairs.count < ROUNDS)
        return 1;
    *pair = pairs_median(&search->pairs);
    const struct comparison times = {.device_ms = pair->old_ms, .cpu_ms = pair->new_ms};
    return comparison_keep(&search->subject, search->cache_dir, &times, why);
}

int engine_search_step(struct engine_search *search, struct error *why)
{
    if (search->now == search->count)
        return compare(search, why);
    struct tuner *tuner = search->tuner[search->now];
    int r = tuner_step(tuner, why);
    if (r != 0)
        return r;
    r = tuner_keep(tuner, search->cache_dir, why);
    if (r < 0)
        return r;
    const bool is_compared = comparison_cpu_device(search->compared.device) != NULL;
    return ++search->now < search->count || is_compared ? 1 : 0;
}

void engine_search_get(const struct engine_search *search, struct engine_search_progress *ret)
{
    *ret = (struct engine_search_progress){0};
    for (unsigned i = 0; i < search->count; i++) {
        struct tuner_progress progress;
        tuner_get_progress(search->tuner[i], &progress);
        ret->tried += progress.tried;
        ret->total += progress.total;
        ret->default_ms += progress.default_ms;
        ret->best_ms += progress.best_ms;
    }
}
