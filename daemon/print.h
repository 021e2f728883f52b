/* What fftd prints instead of running. Called before any thread is started. */
#ifndef FFTD_PRINT_H
#define FFTD_PRINT_H

#include <stdbool.h>

#include "config/config.h"

/* Prints the cameras with their formats, and the OpenCL devices. Returns the exit code. */
int print_devices(bool json);

/* Prints every key of a configuration, and warns of what was saved and is ignored. Returns the exit
 * code, as all of these do: EX_IOERR if not everything could be written. */
int print_config(const struct config *config);

/* Writes what was printed to the standard output, and returns the exit code. */
int print_end(void);

/* Prints the kinds of filters with their parameters, as ListFilters of the bus has them, or only
 * one. Returns the exit code, EX_DATAERR if there is no such kind. */
int print_filters(const char *only, bool json);

/* Prints the presets that `preset:NAME` finds, each with its summary and its chain, or with what is
 * wrong with its file. Returns the exit code. */
int print_presets(bool json);

#endif
