/* Agreeing with a device on a format, a size and a rate. */
#ifndef FFTD_CAPTURE_V4L2_NEGOTIATE_H
#define FFTD_CAPTURE_V4L2_NEGOTIATE_H

#include "capture/capture.h"
#include "capture/v4l2_device.h"
#include "capture/v4l2_layout.h"

/* If the input takes an external signal (HDMI), sets the driver to the timings of that signal and
 * subscribes to their changes. -ENOLINK: there is no signal that the device can capture. */
int video_take_signal(const struct video_device *device, struct error *why);

/* Finds the best format for the request without changing anything; *ret is the format to set.
 * -EINVAL: the device has none; the text lists its formats. */
int video_choose(const struct video_device *device, const struct capture_request *request,
                 struct v4l2_format *ret, struct error *why);

/* The reason for a format's rank in the order of preference: "luma in a plane of its own". */
const char *video_merit(const struct format_info *info);

/* Sets the chosen format and the rate (0: unchanged), and reads the result back: the layout's
 * format has the rate too, 0/1 if the driver does not report it. -EBUSY: another program is
 * streaming. */
int video_agree(const struct video_device *device, const struct v4l2_format *chosen, double rate,
                struct video_layout *ret, struct error *why);

#endif
