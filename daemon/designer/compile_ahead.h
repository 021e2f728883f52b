/* What the process of ahead.h does. */
#ifndef FFTD_DESIGNER_COMPILE_AHEAD_H
#define FFTD_DESIGNER_COMPILE_AHEAD_H

#include "config/config.h"

/* Builds an engine for each chain that is likely, or for the configured one alone, runs a frame
 * through it and destroys it.
 *
 * what: "1280x720:NV12+640x360@4711,2", the size and the format of captured frames; the sizes of
 * the outputs of a camera that has several, 0x0 if none is smaller; the daemon's process, with
 * which this one ends; and how many processes, of which this one starts the others, share the work.
 * Without "@" it goes on when its parent ends, and has the priority that it was started with.
 * With "=" before "@" only the configured filter counts, for which the daemon waits.
 * A chain that these frames do not suit is left out. Returns an exit code. */
int compile_ahead(const struct config *config, const char *what);

#endif
