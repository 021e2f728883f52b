/* Takes frames as clients have them into a diagnosis: turns samples into levels, limits the frames
 * by their memory, and gives each the time at which it was captured. Pure.
 *
 * Threads: one at a time. */
#ifndef FFTD_DIAGNOSIS_INTAKE_H
#define FFTD_DIAGNOSIS_INTAKE_H

#include <stddef.h>
#include <stdint.h>

#include "calibration/average.h"
#include "common/frames.h"
#include "diagnosis/diagnosis.h"

#define INTAKE_FEWEST 2u /* frames, even of a slow camera */

struct intake {
    struct diagnosis *diagnosis; /* the caller destroys it */
    unsigned wanted;             /* frames; set it before the first one */
    unsigned got;
    struct average average;
    float *level;
    uint64_t *sequence;           /* the number of each frame taken */
    struct frames_moment *newest; /* the newest frame when each was taken */
};

/* Begins with the format of the first frame, of which the struct is {0} but for `wanted`. captured:
 * the name of the format of captured frames, or NULL. most_bytes: of kept frames; fewer than
 * `wanted` may fit. -EINVAL: the frames are too small or too large (diagnosis.h); -ENOMEM. */
int intake_begin(struct intake *intake, const struct pixels *pixels, const char *captured,
                 size_t most_bytes);

/* Adds a frame, unless it is no newer than the last one: a camera that has stopped delivers the
 * same frame again. captured_ns: about when it was captured. newest: the newest frame at this
 * moment, whose exact time is known, or {0}. -EINVAL: it has another size or format; -ENOMEM. */
int intake_add(struct intake *intake, const struct pixels *pixels, uint64_t sequence,
               int64_t captured_ns, struct frames_moment newest);

/* Computes, from its number, when each frame was captured. The frames whose times are known are
 * `first`, which precedes all others, and each `newest`. Only between two neighbours of these are
 * frames assumed to be evenly spaced, because frames that the camera or the daemon lost have no
 * number. Times stay as they are if `first` or every `newest` is {0}. */
void intake_set_times(struct intake *intake, struct frames_moment first);

/* Frees everything but the diagnosis. */
void intake_finish(struct intake *intake);

#endif
