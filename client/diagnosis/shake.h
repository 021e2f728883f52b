/* How much a camera shakes, from the shifts between its frames. Pure.
 *
 * The path of the picture is the sum of its shifts. Shake is how far the path is from a line fitted
 * over a third of a second. A pan leaves little, even while it begins or ends, or if frames are
 * lost. Where the path breaks too often for such a line, shake is how far a place is from the line
 * between its two neighbours. At six evenly spaced frames a second or fewer no shake is seen. */
#ifndef FFTD_DIAGNOSIS_SHAKE_H
#define FFTD_DIAGNOSIS_SHAKE_H

#include <stdbool.h>
#include <stdint.h>

struct shake_shift {
    double dx, dy; /* pixels since the frame before */
    int64_t captured_ns;
    bool is_sure; /* false: the path begins again here */
};

struct shake {
    double rms_px; /* how far the path is from the smooth one: both axes together, by the median */
    double most_px;
    double sure; /* 0 .. 1: the share of the shifts that are sure */
};

/* Zero without data. -ENOMEM. */
int shake_judge(struct shake *ret, const struct shake_shift *shift, unsigned count);

#endif
