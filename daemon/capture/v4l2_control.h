/* The controls of a V4L2 device. Calls bypass libv4l2, which would add controls that only affect
 * its own conversions. */
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

/* Reads a control's value from text into *ret; for CAPTURE_TEXT *ret is the text's length. The text
 * of -EINVAL names the control, the value and the accepted values. Pure. */
int video_control_value(int64_t *ret, const struct capture_control *control, const char *text,
                        struct error *why);

#endif
