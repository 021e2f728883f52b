/* Running fftd for what only it knows. */
#ifndef FFTD_CTL_TOOLS_H
#define FFTD_CTL_TOOLS_H

#include "ctl.h"

/* Runs fftd with these arguments, the first of which is its name, and the last NULL. *ret is what
 * it has printed, which the caller frees. Returns 0 or an exit code: fftd's, after its message was
 * printed as one of this program. */
int tools_run(const struct ctl *ctl, char *const *args, char **ret);

/* Prints what it has printed. Returns an exit code. */
int tools_print(const struct ctl *ctl, char *const *args);
/* Replaces this process by fftd: the one beside fftd-ctl (after a build), in ../sbin (after an
 * installation) or on PATH. Returns only if there is none. */
void tools_exec_fftd(char *const *args);

/* Reports that there is none. Returns an exit code. */
int tools_no_fftd(const struct ctl *ctl);

#endif
