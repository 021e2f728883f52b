/* One frame, before and after the filter, from the daemon. It comes in memory files, which are read
 * and not mapped, because a mapping of memory that another process truncates would end this
 * program. */
#ifndef FFTD_COMMON_SHOT_H
#define FFTD_COMMON_SHOT_H

#include <stdbool.h>

#include <systemd/sd-bus.h>

#include "pictures/pixels.h"

struct shot {
    uint64_t sequence;
    int64_t captured_ns;    /* as in the ring; when it was received, if the daemon does not tell */
    uint64_t filter_serial; /* the serial of the filter that made `after`; 0: unknown */
    struct fftd_format format;
    struct pixels before, after; /* before: all zero unless it was requested */
    uint8_t *memory[2];          /* what the pixels point into */
};

/* Reads the reply to Snapshot, or to SnapshotAfter if with_before is false. *ret is zero at first
 * and must not be moved later. The caller calls shot_finish, even after a failure. The reply keeps
 * its descriptors. 0 or -errno; -EOPNOTSUPP: the pixel format is unknown; -ENODATA: the memory is
 * smaller than the frame. */
int shot_read(struct shot *ret, sd_bus_message *reply, bool with_before);
void shot_finish(struct shot *shot);

#endif
