/* Agreeing with a device on a format, a size and a rate. */
#ifndef FFTD_CAPTURE_V4L2_NEGOTIATE_H
#define FFTD_CAPTURE_V4L2_NEGOTIATE_H

#include "capture/capture.h"
#include "capture/v4l2_device.h"
#include "capture/v4l2_layout.h"

/* Where the input is for a signal from outside (HDMI), sets the driver to the timings that it sees
 * there, and asks to be told when they change. -ENOLINK: there is no signal that it could capture.
 */
int video_take_signal(const struct video_device *device, struct error *why);

/* Finds what suits the request best without changing anything: *ret is what to set. -EINVAL: the
 * device has nothing that does; the text lists what it has. */
int video_choose(const struct video_device *device, const struct capture_request *request,
                 struct v4l2_format *ret, struct error *why);

/* Why a format stands where it does in the order of preference, in words: "luma in a plane of its
 * own". */
const char *video_merit(const struct format_info *info);

/* Sets it, and the rate (0: as it is), and reads back what that is now: the layout's format has
 * the rate too, 0/1 if the driver does not say. -EBUSY: somebody else streams. */
int video_agree(const struct video_device *device, const struct v4l2_format *chosen, double rate,
                struct video_layout *ret, struct error *why);

#endif
