/* Finds, by measuring, the settings under which one transform is fastest on one device, and keeps
 * them. Settings change the speed and nothing else (transform.h). */
#ifndef FFTD_GPU_TUNER_H
#define FFTD_GPU_TUNER_H

#include <stdbool.h>

#include "gpu/transform.h"

/* What is to be tuned. */
struct tuner_subject {
    const struct gpu_device *device;
    struct transform_image image;
    struct transform_border border;
    bool half;
    bool any_technique; /* false: only the one that `technique` says */
    enum transform_technique technique;
};

struct tuner;

struct tuner_progress {
    unsigned tried, total; /* settings; an exhaustive search may find more to try */
    double default_ms;     /* of a frame's kernels, under the settings to begin with; 0: not yet */
    double best_ms;
};

/* quick: some thirty settings; otherwise some hundreds, until no change of one alone is better. */
int tuner_create(struct tuner **ret, const struct tuner_subject *subject, bool exhaustive,
                 struct error *why);
void tuner_destroy(struct tuner *tuner);

/* Builds one setting more and measures it: takes as long as that, up to seconds. Others that use
 * the device meanwhile blur the result and are slowed down. Returns 1: there is more to try; 0:
 * that was the last; -errno: not even the default works. */
int tuner_step(struct tuner *tuner, struct error *why);

void tuner_get_progress(const struct tuner *tuner, struct tuner_progress *ret);
void tuner_get_best(const struct tuner *tuner, struct transform_tuning *ret);

/* Keeps the best in a cache directory, and finds it again: under the same driver, for images of
 * this size and kind, whatever their border. tuner_find leaves `ret` alone if there is nothing;
 * `warning` as in program.h. */
int tuner_keep(const struct tuner *tuner, const char *cache_dir, struct error *why);
bool tuner_find(struct transform_tuning *ret, const struct tuner_subject *subject,
                const char *cache_dir, struct error *warning);

#endif
