/* Building the kernels, and the cache of built binaries. */
#ifndef FFTD_GPU_PROGRAM_H
#define FFTD_GPU_PROGRAM_H

#include <stdint.h>

#include "gpu/opencl.h"

/* Builds the named kernel files, one after another behind `prologue` (lines of #define), for the
 * device. With a cache directory the binary is taken from there if it is whole and was made from
 * this very source by this very driver, and left there otherwise; a cache that can not be used
 * costs nothing but time and is told in `warning`, which is untouched if all is well. On failure
 * the text holds the beginning of the build log. The caller releases the program. */
int program_build(cl_program *ret, const struct gpu_device *device, const char *prologue,
                  const char *const *files, unsigned file_count, const char *cache_dir,
                  struct error *warning, struct error *why);

/* Of all kernel files: tells builds of fftd apart. */
uint64_t program_sources_hash(void);

#endif
