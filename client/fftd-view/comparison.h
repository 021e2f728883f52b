/* One frame of a camera before and after the filter, as two JPEG files, from the daemon's Snapshot.
 *
 * The answer is multipart/form-data with the parts `before` and `after`, which browsers take apart
 * themselves. Each costs the daemon a copy of both frames, so that there are at most a few a
 * second, and none while nobody compares. */
#ifndef FFTD_VIEW_COMPARISON_H
#define FFTD_VIEW_COMPARISON_H

#include "asked.h"

#define COMPARISON_TYPE "multipart/form-data; boundary=fftd"

/* On the socket control, which shows what filters hide, and on control-watch, which does so only if
 * output.watch_unfiltered is set. The context is a struct encoder. */
extern const struct asked_kind comparison_by_changer, comparison_by_watcher;

#endif
