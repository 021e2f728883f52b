/* The measurement. The files of the cache are in comparison_cache.c, because engines look for one
 * when they are created, and this file creates engines. */
#include "engine/comparison.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "engine/engine_private.h"

#define MAX_FRAMES 20
#define MEASURE_NS (150 * NS_PER_MS)
#define GREY       128

/* Returns the time of the fastest of several frames, because other load on the machine, such as the
 * frames of the camera, only increases times. */
static int time_frames(struct engine *engine, const struct engine_job *job, double *ret_ms,
                       struct error *why)
{
    const int64_t until_ns = clock_now_ns() + MEASURE_NS;
    double best_ms = HUGE_VAL;
    for (unsigned i = 0; i < MAX_FRAMES && (i < 3 || clock_now_ns() < until_ns); i++) {
        struct engine_done done;
        const int64_t start_ns = clock_now_ns();
        int r = engine_submit(engine, job, why);
        if (r == 0)
            r = engine_collect(engine, true, &done, why);
        if (r < 0)
            return r;
        const double ms = (double)(clock_now_ns() - start_ns) / 1e6;
        if (i > 0 && ms < best_ms) /* the driver may compile during the first frame */
            best_ms = ms;
    }
    *ret_ms = best_ms;
    return 0;
}

static int time_engine(struct engine *engine, double *ret_ms, struct error *why)
{
    const struct fftd_format *source = &engine->source;
    struct engine_job job = {0};
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
    r = time_frames(engine, &job, ret_ms, why);
out:
    free(in);
    free(job.out);
    return r;
}

static int time_on(struct gpu_device *device, const struct comparison_subject *subject,
                   const char *cache_dir, double *ret_ms, struct error *why)
{
    struct engine_options options = subject->options;
    struct engine *engine;
    options.in_flight = 1;
    int r = engine_create(&engine, device, &subject->format, &options, subject->support_px,
                          cache_dir, NULL, why);
    if (r < 0)
        return r;
    r = time_engine(engine, ret_ms, why);
    engine_destroy(engine);
    return r;
}

int comparison_time_device(const struct comparison_subject *subject, const char *cache_dir,
                           double *ret_ms, struct error *why)
{
    return time_on(subject->device, subject, cache_dir, ret_ms, why);
}

int comparison_time_cpu(const struct comparison_subject *subject, const char *cache_dir,
                        double *ret_ms, struct error *why)
{
    struct gpu_device *cpu;
    int r = gpu_device_open(&cpu, "cpu", why);
    if (r < 0)
        return r;
    r = time_on(cpu, subject, cache_dir, ret_ms, why);
    gpu_device_close(cpu);
    return r;
}
