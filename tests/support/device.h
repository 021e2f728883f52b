/* The OpenCL device that GPU tests run on. FFTD_DEVICE selects it (daemon/gpu/device.h). A CPU's
 * driver takes a second or more to compile each program, so two variables choose what is tested:
 * FFTD_TEST_SIZES=tiny or small leaves large frames out, and FFTD_TEST_LAYOUTS=all adds the layouts
 * that differ from a tested one in a detail, among them 16 lanes, which take twice as long to
 * compile as 8. */
#ifndef FFTD_TESTS_DEVICE_H
#define FFTD_TESTS_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gpu/device_private.h"

extern struct gpu_device *device;

/* Set up and tear down a group of tests. Without a device the program exits with 77 (skipped). */
int device_setup(void **state);
int device_teardown(void **state);

/* Returns a buffer with a copy of the data, or with anything if that is NULL. The caller releases
 * it. */
cl_mem device_buffer(size_t size, const void *data);

/* Whether to test this device with frames of that size. */
bool device_takes(uint32_t width, uint32_t height);

/* Whether to test every layout, or only some that have each property once. */
bool device_takes_every_layout(void);

/* Whether the driver's compiler can cope with kernels for 8 lanes and more. llvmpipe's needs
 * minutes for one with 8 lanes and radix 16, and ten minutes for one with 16 lanes. */
bool device_compiles_wide_lanes(void);

/* Whether one queue may unmap a buffer before another has mapped it, if the unmapping waits for the
 * event of the mapping. Mesa 22.3 answers CL_INVALID_VALUE; 25.0 accepts it. */
bool device_unmaps_in_turn(void);

/* Whether the loops of one work-item may run for more than 65535 iterations in all. Mesa 22.3's
 * llvmpipe then leaves them silently, before they have stored everything; 25.0's does not. */
bool device_ends_long_loops(void);

/* Whether the device is oclgrind's simulator, which runs kernels thousands of times more slowly
 * than hardware does. */
bool device_is_simulated(void);

#endif
