/* A command queue of the tests' device (support/device.h), for tests that enqueue by themselves. */
#ifndef FFTD_TESTS_QUEUE_H
#define FFTD_TESTS_QUEUE_H

#include "gpu/device_private.h"

extern cl_command_queue queue; /* its commands are timed */

/* Set up and tear down a group of tests: device_setup, and the queue. */
int queue_setup(void **state);
int queue_teardown(void **state);

#endif
