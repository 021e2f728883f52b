/* Waiting for the first frame with a change of the filter or the view. */
#ifndef FFTD_CTL_AWAIT_H
#define FFTD_CTL_AWAIT_H

#include <systemd/sd-bus.h>

#include "ctl.h"

#define AWAIT_DEFAULT_S 60

/* Waits until the change with this serial is in force, and prints how it has ended: with which
 * frame, and how long after begin_us (CLOCK_MONOTONIC). The daemon announces each step on the
 * connection, so that it is asked only when something has changed.
 *
 * If there are no frames to wait for, it says why and ends at once; while the camera is paused it
 * waits until the filter is ready for the next frame. After 0.5 s it says on stderr that it waits,
 * on a terminal also for what. With --no-wait it prints only the serial; with ctl->silent, only why
 * the change has failed.
 *
 * Returns an exit code: EX_DATAERR if the daemon could not make the filter and went back to the
 * previous one; EX_TEMPFAIL after --timeout, or if the daemon has ended. */
int await_change(const struct ctl *ctl, sd_bus *bus, uint64_t serial, uint64_t begin_us);

#endif
