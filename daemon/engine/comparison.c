/* The cache has one file for each subject. */
#include "engine/comparison.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/cache.h"
#include "gpu/device_private.h"
#include "gpu/program.h"

#define CACHE_KIND "comparison"

/* The contents of a file. */
struct times {
    double device_ms, cpu_ms;
};

const char *comparison_cpu_device(const struct gpu_device *device)
{
    return device->cpu_name[0] != '\0' ? device->cpu_name : NULL;
}

/* Unlike the settings of the tuner, times depend on everything that a frame passes. */
static uint64_t subject_key(const struct comparison_subject *subject)
{
    const struct engine_options *options = &subject->options;
    const struct fftd_format *format = &subject->format;
    const uint64_t sources = program_sources_hash();
    char frames[64], recipe[RECIPE_KEY_BYTES];
    struct recipe compared = options->recipe;
    compared.motion = 0; /* engine_time measures frames without fields */
    snprintf(frames, sizeof frames, "%ux%u %08x technique %d", format->width, format->height,
             format->fourcc, (int)options->technique);
    recipe_key(&compared, recipe);
    uint64_t key = cache_hash(CACHE_HASH_START, &sources, sizeof sources);
    key = cache_hash(key, subject->device->identity, strlen(subject->device->identity));
    key = cache_hash(key, subject->device->cpu_name, strlen(subject->device->cpu_name));
    key = cache_hash(key, frames, strlen(frames));
    return cache_hash(key, recipe, strlen(recipe));
}

int comparison_keep(const struct comparison_subject *subject, const char *cache_dir,
                    const struct comparison *comparison, struct error *why)
{
    const struct times times = {comparison->device_ms, comparison->cpu_ms};
    return cache_write(cache_dir, CACHE_KIND, subject_key(subject), &times, sizeof times, why);
}

bool comparison_find(struct comparison *ret, const struct comparison_subject *subject,
                     const char *cache_dir, struct error *warning)
{
    const char *cpu_device = comparison_cpu_device(subject->device);
    if (cpu_device == NULL)
        return false;
    const uint64_t key = subject_key(subject);
    size_t size = 0;
    struct times *times = cache_read(cache_dir, CACHE_KIND, key, &size, warning);
    /* The file is not trusted, because another program may have written it. */
    const bool found = times != NULL && size == sizeof *times && isfinite(times->device_ms) &&
                       isfinite(times->cpu_ms) && times->device_ms > 0 && times->cpu_ms > 0;
    if (found) {
        *ret = (struct comparison){.device_ms = times->device_ms, .cpu_ms = times->cpu_ms};
        snprintf(ret->device, sizeof ret->device, "%s", gpu_device_name(subject->device));
        snprintf(ret->cpu_device, sizeof ret->cpu_device, "%s", cpu_device);
    } else if (times != NULL) {
        error_set(warning, EINVAL,
                  "%s/%016llx." CACHE_KIND
                  " is ignored and will be replaced: it does not hold two times above 0",
                  cache_dir, (unsigned long long)key);
    }
    free(times);
    return found;
}
