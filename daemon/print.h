/* What fftd prints instead of running. Called before any thread is started. */
#ifndef FFTD_PRINT_H
#define FFTD_PRINT_H

#include <stdbool.h>

/* Prints the cameras with their formats, and the OpenCL devices. Returns the exit code. */
int print_devices(bool json);

#endif
