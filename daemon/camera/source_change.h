/* Changes of the source: the one place that decides whether another source is used.
 *
 *             begin            step              take
 *     settled -----> opening -------> preparing --------> settled, with the other source
 *                           \                  \-------> settled, with the source before
 *                            \-- go back -------/
 * - begin: another source is asked for (struct desired_source). It is opened once.
 * - step: it is open, and the newest filter suits its frames (recipe_check_frames). The owner has
 * an engine and the filter made for them, while the engine and the ring in use stay as they are.
 * - take: both are there. The source streams.
 * - go back: it cannot be used, or no filter for it. The source before is opened again with its own
 *   controls, or is waited for again; its filter, engine and ring were never replaced.
 * - opening and preparing: no other source is asked for; changes of the filter and the controls
 *   wait.
 *
 * Only the camera's thread may call this. camera_set_source refuses another source during a change.
 */
#ifndef FFTD_CAMERA_SOURCE_CHANGE_H
#define FFTD_CAMERA_SOURCE_CHANGE_H

#include <stdbool.h>
#include <stdint.h>

#include "camera/mailbox.h"
#include "camera/recovery.h"
#include "core/error.h"
#include "filters/recipe.h"

enum source_change_phase {
    SOURCE_CHANGE_SETTLED, /* the source that was tried last was taken or given up */
    SOURCE_CHANGE_OPENING,
    SOURCE_CHANGE_PREPARING
};

/* All zero: the source of the start is in use. */
struct source_change {
    uint64_t number; /* number of the desired source that was tried last */
    uint64_t taken;  /* number of the source in use */
    enum source_change_phase phase;
    struct previous_source previous; /* to go back to */
};

/* Tries the desired source, or continues to. 0: it is open and the change is being prepared; the
 * owner calls source_change_take or source_change_go_back. -EAGAIN: it was tried before, is still
 * opening, or is being prepared. Otherwise the camera uses the source before, which it left or did
 * not even leave: errors as capture_open and recipe_check_frames; -EINVAL: too many controls.
 * settings: those of an engine; the view is the picture. */
int source_change_step(struct source_change *change, struct recovery *recovery,
                       const struct recipe *settings, const struct desired *desired,
                       struct error *why);
void source_change_take(struct source_change *change, struct recovery *recovery);
void source_change_go_back(struct source_change *change, struct recovery *recovery);

/* Returns whether the filter to use is the one that came with the source in use, and not
 * desired->filter. */
static inline bool source_change_has_filter(const struct source_change *change,
                                            const struct desired *desired)
{
    return change->taken == desired->source.number && desired_is_of_source(desired, 0);
}

#endif
