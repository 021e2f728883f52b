/* Changes of the source: the one place that decides whether another source is used.
 *
 *             begin            take
 *     settled -----> opening --------> settled, with the other source
 *                           \-------> settled, with the source before
 *                            go back
 * - begin: another source is asked for (struct desired_source). It is opened once.
 * - take: it is open, and the newest filter suits its frames. It does not stream before the filter
 *   that came with it has been designed.
 * - go back: it cannot be used. The source before is opened again with its own controls, or is
 *   waited for again; its filter was never replaced.
 * - opening: no other source is asked for; changes of the filter and the controls wait.
 *
 * Only the camera's thread may call this. camera_set_source refuses another source during an
 * opening.
 */
#ifndef FFTD_CAMERA_SOURCE_CHANGE_H
#define FFTD_CAMERA_SOURCE_CHANGE_H

#include <stdbool.h>
#include <stdint.h>

#include "camera/mailbox.h"
#include "camera/recovery.h"
#include "core/error.h"

/* All zero but for the last two: the source of the start is in use. */
struct source_change {
    uint64_t number;         /* number of the desired source that was tried last */
    uint64_t taken;          /* number of the source in use */
    bool is_opening;         /* the source that was tried last is neither taken nor given up yet */
    uint64_t awaited_serial; /* the source does not stream before this filter; 0: it may */
    struct previous_source previous; /* to go back to */
    /* Checks that there is memory for the frames of an opened source. -EINVAL: there is not. NULL:
     * there always is. */
    int (*check)(const void *context, const struct fftd_format *captured, struct error *why);
    const void *context;
};

/* Tries the desired source, or continues to. 0: it was taken. -EAGAIN: it was tried before, or is
 * still opening. Otherwise the camera uses the source before, which it left or did not even leave:
 * errors as capture_open; -EINVAL: too many controls, the filter has an image of another size
 * than the frames (calibration.h), or change->check has refused the frames. */
int source_change_step(struct source_change *change, struct recovery *recovery,
                       const struct desired *desired, struct error *why);

/* Returns whether the filter to use is the one that came with the source in use, and not
 * desired->filter. */
static inline bool source_change_has_filter(const struct source_change *change,
                                            const struct desired *desired)
{
    return change->taken == desired->source.number &&
           desired->source.filter_serial > desired->filter_serial;
}

#endif
