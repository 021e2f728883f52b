/* Where the frames come from that `diagnose` looks at: a daemon, before its filter, or a file. */
#ifndef FFTD_CTL_DIAGNOSE_SOURCE_H
#define FFTD_CTL_DIAGNOSE_SOURCE_H

#include "ctl.h"
#include "diagnosis/diagnosis.h"

/* Fills a diagnosis with at most `frames` frames, and fewer if they are large. Shows a progress
 * line on a terminal. Returns 0 or an exit code, and prints the reason for a failure. The caller
 * destroys *ret, which is NULL after a failure. */
int diagnose_watch(const struct ctl *ctl, unsigned frames, struct diagnosis **ret);

/* Does the same with a Y4M file, or stdin if the path is "-". Fails if no whole frame arrives
 * within ten seconds. Stops after `frames` frames, even if the file never ends. */
int diagnose_read(const struct ctl *ctl, const char *path, unsigned frames, struct diagnosis **ret);

/* Writes "WHAT: N of M" on stderr, over the last one, if it is a terminal. */
void diagnose_progress(const struct ctl *ctl, const char *what, unsigned done, unsigned total);

#endif
