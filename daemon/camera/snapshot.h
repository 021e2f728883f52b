/* Copies one frame, before and after the filter, into the requests that wait for it. Called by the
 * camera's thread while it owns the requests; every request of a list must be a snapshot. */
#ifndef FFTD_CAMERA_SNAPSHOT_H
#define FFTD_CAMERA_SNAPSHOT_H

#include <stdint.h>

#include "camera/request.h"
#include "capture/capture.h"
#include "core/mosaic.h"
#include "designer/frames.h"

/* Copies a captured frame, converted to the ring's pixel format where the two differ (`demosaic`
 * says how, for a mosaic), into the requests that want it. A request that was made for another
 * format fails with -EAGAIN, and so does one that wants a frame which is larger than those in the
 * ring. */
void snapshot_take_before(struct request *list, const struct engine_frames *frames,
                          enum demosaic demosaic, const struct capture_frame *frame);

/* Copies the published frame, which completes the requests. */
void snapshot_take_after(struct request *list, const uint8_t *frame,
                         const struct snapshot_origin *origin);

#endif
