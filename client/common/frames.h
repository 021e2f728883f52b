/* Helpers for programs that read frames. */
#ifndef FFTD_COMMON_FRAMES_H
#define FFTD_COMMON_FRAMES_H

#include <fftd/fftd.h>

/* Skips the frames that are already in the ring. They may be old, because the camera may have
 * paused. */
static inline void frames_skip_old(struct fftd *camera)
{
    struct fftd_frame frame;
    if (fftd_wait(camera, 0) > 0)
        fftd_frame(camera, &frame);
}

#endif
