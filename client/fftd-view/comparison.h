/* One frame of a camera before and after the filter, as two JPEG files, from the daemon's Snapshot.
 *
 * A view of the daemon belongs to all readers of its ring, so the page does not switch the view in
 * order to compare.
 *
 * The answer is multipart/form-data with the parts `before` and `after`, which browsers can parse.
 * Each answer costs the daemon a copy of both frames. So there are at most a few per second, and
 * none while nobody compares. */
#ifndef FFTD_VIEW_COMPARISON_H
#define FFTD_VIEW_COMPARISON_H

#include "asked.h"

#define COMPARISON_TYPE "multipart/form-data; boundary=fftd"

/* The socket control shows what filters hide; control-watch does so only if output.watch_unfiltered
 * is set. The context is a struct encoder. */
extern const struct asked_kind comparison_kind;

#endif
