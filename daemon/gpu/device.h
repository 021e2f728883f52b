/* Finding an OpenCL device. */
#ifndef FFTD_GPU_DEVICE_H
#define FFTD_GPU_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/error.h"

struct gpu_device; /* a device, its context and its probed properties */

/* selector: "auto" (the first GPU, then anything), "gpu", "cpu", "accelerator", a number (index in
 * gpu_list), or part of a device's or platform's name, case-insensitive. -ENODEV: no device
 * matches; the text lists those present. The caller owns the result, which must outlive every
 * engine on it. */
int gpu_device_open(struct gpu_device **ret, const char *selector, struct error *why);
void gpu_device_close(struct gpu_device *device);

/* Returns a copy that has the device's properties and nothing of OpenCL, for engine_forecast, which
 * may then be called after the device was closed; NULL: out of memory. gpu_device_close frees it.
 */
struct gpu_device *gpu_device_outline(const struct gpu_device *device);

/* Returns a device with the same context, for another thread: a gpu_device may be used by one that
 * builds at a time, a context by all. NULL: out of memory. */
struct gpu_device *gpu_device_twin(const struct gpu_device *device);
bool gpu_device_is_twin(const struct gpu_device *a, const struct gpu_device *b);

/* "pthread-cpu (Portable Computing Language, OpenCL 2.0 pocl)", for logs and tables. */
const char *gpu_device_name(const struct gpu_device *device);

/* Names the device and the versions of its driver and platform. */
const char *gpu_device_identity(const struct gpu_device *device);

bool gpu_device_is_cpu(const struct gpu_device *device);

/* The bytes of memory that the device can use, and whether they are the host's. */
uint64_t gpu_device_bytes(const struct gpu_device *device);
bool gpu_device_shares_memory(const struct gpu_device *device);

/* Describes the memory that the device uses and whether it imports dma-bufs, for example "shared
 * with the host, imports no dma-bufs". The string is static. */
const char *gpu_device_memory(const struct gpu_device *device);

/* Prints every device, one line each, with its index, to a FILE *; json: one array of objects.
 * Returns how many. */
int gpu_device_list(void *stdio_file, bool json);

#endif
