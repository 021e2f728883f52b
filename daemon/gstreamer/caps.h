/* Formats of fftd and of GStreamer. */
#ifndef FFTD_GSTREAMER_CAPS_H
#define FFTD_GSTREAMER_CAPS_H

#include <gst/gst.h>
#include <gst/video/video.h>

#include "core/gst_link.h"

/* The caps that fftd takes for a request: every format that both have, or the one that is asked
 * for. NULL: GStreamer does not have that one. */
GstCaps *caps_wanted(const struct gst_link_format *request);

/* Describes frames; fourcc is 0 if fftd does not have their format. */
void caps_describe(const GstVideoInfo *info, struct gst_link_format *ret);

#endif
