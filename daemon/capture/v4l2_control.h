/* A V4L2 device's controls. The device is spoken to directly, past libv4l2, which would add
 * controls of its own that only its own conversions obey. */
#ifndef FFTD_CAPTURE_V4L2_CONTROL_H
#define FFTD_CAPTURE_V4L2_CONTROL_H

#include "capture/capture.h"
#include "capture/v4l2_device.h"

/* As capture_list_controls and capture_set_controls. */
int video_list_controls(const struct video_device *device, struct capture_controls **ret,
                        struct error *why);
int video_set_controls(const struct video_device *device, const struct settings *settings,
                       struct error *why);

/* "White Balance, Automatic" -> "white_balance_automatic", as v4l2-ctl does. Pure. */
void video_control_name(char name[SETTINGS_NAME_BYTES], const char *label);

/* What a value given as text is for a control: *ret, or, of CAPTURE_TEXT, the text itself. -EINVAL
 * names the control, the value and what it takes. Pure. */
int video_control_value(int64_t *ret, const struct capture_control *control, const char *text,
                        struct error *why);

#endif
