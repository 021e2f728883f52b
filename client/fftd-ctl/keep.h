/* `filter keep`: replaces filters that adapt by what they have found. */
#ifndef FFTD_CTL_KEEP_H
#define FFTD_CTL_KEEP_H

#include "ctl.h"

/* auto-notch becomes one notch for each wave found. deflicker gets the frequency and the line time
 * that it has found; it goes on following the light. A filter that has found nothing stays as it
 * is. Returns an exit code; fails, and has printed why, if nothing was found. */
int keep_findings(const struct ctl *ctl);

#endif
