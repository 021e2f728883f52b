/* Waiting for the frames of a source. */
#ifndef FFTD_TESTS_DEQUEUE_H
#define FFTD_TESTS_DEQUEUE_H

#include "capture/capture.h"

/* Waits until capture_dequeue returns a frame or a failure other than -EAGAIN, and returns the
 * same. The test fails if nothing comes for 60 s. */
int dequeue_wait(struct capture *capture, struct capture_frame *ret, struct error *why);

#endif
