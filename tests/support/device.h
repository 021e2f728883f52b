/* The OpenCL device GPU tests run on: FFTD_DEVICE selects it (daemon/gpu/device.h), FFTD_TEST_SIZES
 * (tiny, small) leaves out what a slow one could not do in time. */
#ifndef FFTD_TESTS_DEVICE_H
#define FFTD_TESTS_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

#include "gpu/device.h"

extern struct gpu_device *device;

/* Before and after a group of tests. Where there is no device the program ends, as skipped (exit
 * code 77). */
int device_setup(void **state);
int device_teardown(void **state);

/* Whether this device is to be tested with frames of that size. */
bool device_takes(uint32_t width, uint32_t height);

#endif
