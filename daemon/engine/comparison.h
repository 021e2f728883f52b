/* The times of whole frames on a device and on the host's own CPU device, in the cache. A device
 * whose driver takes as long as its kernels may be the slower one. search.c measures them, and the
 * designer chooses by them (designer/builder.h). */
#ifndef FFTD_ENGINE_COMPARISON_H
#define FFTD_ENGINE_COMPARISON_H

#include <stdbool.h>

#include "core/comparison.h"
#include "transform/engine_options.h"

/* The engine to compare, as it was created. */
struct comparison_subject {
    const struct gpu_device *device; /* that is no CPU; may be an outline */
    struct fftd_format format;
    struct engine_options options;
    double support_px;
};

/* Returns the name of the CPU device beside a device; NULL: there is nothing to compare, because
 * the device is a CPU, or there is no CPU device. */
const char *comparison_cpu_device(const struct gpu_device *device);

/* Stores both times in a cache directory, and finds them for the same devices, frames and kinds of
 * kernels; the border does not matter. comparison_find sets the times and the names, and leaves
 * `ret` unchanged if it finds nothing. `warning` is as in program.h. */
int comparison_keep(const struct comparison_subject *subject, const char *cache_dir,
                    const struct comparison *comparison, struct error *why);
bool comparison_find(struct comparison *ret, const struct comparison_subject *subject,
                     const char *cache_dir, struct error *warning);

#endif
