/* The kernel files, building them, and the cache of built programs. An entry of the cache is a
 * binary, or, if the driver has a cache of its own (gpu_device.caches_programs), the source. */
#ifndef FFTD_GPU_PROGRAM_H
#define FFTD_GPU_PROGRAM_H

#include <stdint.h>

#include "gpu/device_private.h"

/* The text of a file in kernels/, which must exist. */
const char *program_file(const char *name);

/* Gets a program: from the cache, if the same driver has built it from the same source; otherwise,
 * with `compile`, it compiles it for the device and caches it. Does nothing if *ret is not NULL.
 * Returns how many programs are still missing: 0 or 1. If compiling fails, `why` ends with the
 * beginning of the build log.
 *
 * A damaged or refused cache file, or a cache that cannot be written, is no failure: `warning` then
 * says so, and is left alone otherwise. Frees the source; source NULL: it could not be allocated.
 * The caller releases the program. */
int program_get(cl_program *ret, const struct gpu_device *device, char *source, bool compile,
                const char *cache_dir, struct error *warning, struct error *why);

/* Compiles a kernel file that needs no other and no constant but HALF_STORAGE, unless the device
 * has it already. The device keeps it. `file` is a static string. One thread at a time. */
int program_small(cl_program *ret, struct gpu_device *device, const char *file, bool half,
                  struct error *why);

/* Hashes all kernel files, so that builds of fftd with different kernels get different values. */
uint64_t program_sources_hash(void);

#endif
