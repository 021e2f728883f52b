/* Running the daemon's program. */
#ifndef FFTD_CTL_TOOLS_H
#define FFTD_CTL_TOOLS_H

#include "ctl.h"

/* Replaces this process by fftd: the one beside fftd-ctl (after a build), in ../sbin (after an
 * installation) or on PATH. Returns only if there is none. */
void tools_exec_fftd(char *const *arguments);

/* Reports that there is none. Returns an exit code. */
int tools_no_fftd(const struct ctl *ctl);

#endif
