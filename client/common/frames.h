/* Helpers for programs that read frames. */
#ifndef FFTD_COMMON_FRAMES_H
#define FFTD_COMMON_FRAMES_H

#include <fftd/fftd.h>

/* When a frame was captured, by its number. */
struct frames_moment {
    uint64_t sequence;
    int64_t captured_ns; /* 0: not known */
};

/* Skips the frames that are already in the ring. They may be old, because the camera may have
 * paused. */
static inline void frames_skip_old(struct fftd *camera)
{
    struct fftd_frame frame;
    if (fftd_wait(camera, 0) > 0)
        fftd_frame(camera, &frame);
}

/* Returns the number and the time of the newest frame, because a snapshot does not tell when its
 * frame was captured. Waits up to a second for a frame that is newer than the last one looked at.
 * All zero: there is none, or camera is NULL. */
static inline struct frames_moment frames_look_at_clock(struct fftd *camera)
{
    struct fftd_frame frame;
    if (camera == NULL || fftd_wait(camera, 1000) <= 0 || fftd_frame(camera, &frame) < 0)
        return (struct frames_moment){0};
    return (struct frames_moment){frame.sequence, frame.captured_ns};
}

#endif
