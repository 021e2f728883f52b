/* Measures of the frames (core/measures.h), taken beside their path, and which of them belong to
 * which frame.
 *
 * A thread of its own measures. It gets a copy of the luma of a frame only if it has nothing to do,
 * so the camera's thread never waits for it. After each frame it rests for twice the time that the
 * frame took, and so takes at most a third of a processor. It hands its results to the camera's
 * thread through the mailbox.
 *
 * A frame that is published carries the newest measures that are there. They are of the same frame
 * or of an earlier one, never of a later one, and of the same start of the source.
 *
 * Threads: all functions belong to the camera's thread. */
#ifndef FFTD_CAMERA_MEASURING_H
#define FFTD_CAMERA_MEASURING_H

#include <stdbool.h>
#include <stdint.h>

#include "camera/mailbox.h"
#include "capture/capture.h"
#include "fftd/ring.h"
#include "ring/ring.h"

struct measuring_thread;

struct measuring {
    bool is_on;
    struct mailbox *mailbox;
    struct measuring_thread *thread; /* NULL: not started yet */
    uint64_t frames;                 /* that were taken from the source */
    uint64_t first;                  /* the number of the first one since the source was started */
    unsigned start;                  /* of the source; see capture_frame */
};

/* is_on: false takes no measures and starts no thread. */
void measuring_init(struct measuring *ret, bool is_on, struct mailbox *mailbox);

/* Ends the thread; waits until it has measured the frame that it has, which takes milliseconds. */
void measuring_finish(struct measuring *measuring);

/* Counts a frame, and copies its luma if the thread has nothing to do. Format is that of published
 * frames, and `captured` that of this one (a fourcc). Returns the number of the frame. */
uint64_t measuring_take(struct measuring *measuring, const struct fftd_format *format,
                        uint32_t captured, const struct capture_frame *frame);

/* Gives the frame with this number the newest measures; leaves *meta alone if there are none that
 * belong to it. */
void measuring_label(const struct measuring *measuring, uint64_t number, struct ring_meta *meta);

#endif
