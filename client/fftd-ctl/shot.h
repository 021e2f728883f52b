/* One frame, before and after the filter, from the daemon. It comes in memory files, which are read
 * and not mapped, because a mapping of memory that another process truncates would end this
 * program. */
#ifndef FFTD_CTL_SHOT_H
#define FFTD_CTL_SHOT_H

#include <stdbool.h>

#include "bus.h"
#include "pictures/pixels.h"

struct shot {
    uint64_t sequence;
    uint64_t filter_serial; /* of the filter that made `after`; 0: the daemon does not say */
    struct fftd_format format;
    struct pixels before, after; /* before: all zero unless it was asked for */
    uint8_t *memory[2];          /* the pixels' */
};

/* Takes the next frame. *ret is zero at first, and must not be moved afterwards; the caller
 * finishes it, also after a failure. Prints the reason of one, and returns 0 or an exit code. */
int shot_take(struct shot *ret, const struct ctl *ctl, sd_bus *bus, bool with_before);

/* Reads the reply to Snapshot, or to SnapshotAfter, likewise. The reply keeps its descriptors. 0 or
 * -errno; -EOPNOTSUPP: the pixel format is not known; -ENODATA: the memory is smaller than the
 * frame. */
int shot_read(struct shot *ret, sd_bus_message *reply, bool with_before);
void shot_finish(struct shot *shot);

#endif
