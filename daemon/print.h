/* The options of fftd that print something and exit: lists of devices, and plans. Each function
 * logs a failure, and returns the exit code. Called before any thread is started. */
#ifndef FFTD_PRINT_H
#define FFTD_PRINT_H

#include <stdbool.h>

#include "config/config.h"

/* Prints the cameras with their formats, and the OpenCL devices. */
int print_devices(bool json);

/* Prints what frames of camera.size cost on a device that has a model. measured: the rates are
 * those measured on engine.device. EX_UNAVAILABLE: there is no such device; EX_OSERR: it cannot be
 * measured; EX_USAGE: there is no model of this. */
int print_plan(const struct config *config, bool measured, bool json);

#endif
