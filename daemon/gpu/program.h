/* The kernel files, building them, and the cache of built programs. An entry of the cache is a
 * binary, or, if the driver has a cache of its own (gpu_device.caches_programs), the source. */
#ifndef FFTD_GPU_PROGRAM_H
#define FFTD_GPU_PROGRAM_H

#include <stdint.h>

#include "gpu/device_private.h"

/* The text of a file in kernels/, which must exist. */
const char *program_file(const char *name);

/* Loads the program that the same driver built from the same source from the cache. -ENOENT: there
 * is none; -EINVAL: the driver refuses it. Both a damaged and a refused file are reported in
 * `warning`, which is untouched otherwise. The caller releases the program. */
int program_load(cl_program *ret, const struct gpu_device *device, const char *source,
                 const char *cache_dir, struct error *warning);

/* Compiles the source for the device and keeps the program in the cache. A cache that cannot be
 * written is reported in `warning` and is no failure. On failure the text holds the beginning of
 * the build log. The caller releases the program. */
int program_build(cl_program *ret, const struct gpu_device *device, const char *source,
                  const char *cache_dir, struct error *warning, struct error *why);

/* Compiles a kernel file that needs no other and no constant but HALF_STORAGE, unless the device
 * has it already. The device keeps it. `file` is a static string. One thread at a time. */
int program_small(cl_program *ret, struct gpu_device *device, const char *file, bool half,
                  struct error *why);

/* Hashes all kernel files, so that builds of fftd with different kernels get different values. */
uint64_t program_sources_hash(void);

#endif
