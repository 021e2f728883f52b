/* Shows and keeps the findings of adaptive filters: auto-notch finds noise, deflicker flicker. */
#ifndef FFTD_CTL_ADAPTATION_H
#define FFTD_CTL_ADAPTATION_H

#include <systemd/sd-bus.h>

#include "ctl.h"

/* Prints the findings in the daemon's properties as indented lines; nothing if no filter adapts.
 * Returns 0, or -errno if the daemon sent something else. */
int adaptation_print(sd_bus_message *properties);

/* Implements `filter keep`. auto-notch becomes one notch for each wave found. deflicker gets the
 * frequency and the line time that it has found, and continues to follow the light. A filter that
 * has found nothing stays as it is. Returns an exit code, and prints the reason for a failure; it
 * fails if nothing was found. */
int adaptation_keep(const struct ctl *ctl);

#endif
