/* What the daemon's program prints besides running: devices and plans. Each function prints,
 * reports a failure in the log, and returns the exit code. Called before any thread is started. */
#ifndef FFTD_PRINT_H
#define FFTD_PRINT_H

#include <stdbool.h>

#include "config/config.h"

/* The cameras with their formats, and the OpenCL devices. */
int print_devices(bool json);

/* What frames of camera.size cost on a device that has a model; measured: by the measured rates of
 * engine.device. EX_UNAVAILABLE: there is no such device; EX_OSERR: it cannot be measured;
 * EX_USAGE: there is no model of this. */
int print_plan(const struct config *config, bool measured, bool json);

#endif
