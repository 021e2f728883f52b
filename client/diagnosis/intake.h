/* Takes frames as clients have them into a diagnosis: turns samples into levels, limits the frames
 * by their memory, and gives each the time at which it was captured. Pure.
 *
 * Threads: one at a time. */
#ifndef FFTD_DIAGNOSIS_INTAKE_H
#define FFTD_DIAGNOSIS_INTAKE_H

#include <stddef.h>
#include <stdint.h>

#include "calibration/average.h"
#include "pictures/pixels.h"
#include "diagnosis/diagnosis.h"

#define INTAKE_FEWEST 2u /* frames, even of a slow camera */

struct intake {
    struct diagnosis *diagnosis; /* the caller destroys it */
    unsigned wanted;             /* frames; set it before the first one */
    unsigned got;
    struct average average;
    float *level;
    uint64_t newest; /* the number of the last frame taken */
};

/* Begins with the format of the first frame, of which the struct is {0} but for `wanted`. captured:
 * the name of the format of captured frames, or NULL. most_bytes: of kept frames; fewer than
 * `wanted` may fit. -EINVAL: the frames are too small or too large (diagnosis.h); -ENOMEM. */
int intake_begin(struct intake *intake, const struct pixels *pixels, const char *captured,
                 size_t most_bytes);

/* Adds a frame, unless it is no newer than the last one: a camera that stands delivers the same
 * frame again. captured_ns: as for diagnosis_add. -EINVAL: it has another size or format; -ENOMEM.
 */
int intake_add(struct intake *intake, const struct pixels *pixels, uint64_t sequence,
               int64_t captured_ns);

/* Frees everything but the diagnosis. */
void intake_finish(struct intake *intake);

#endif
