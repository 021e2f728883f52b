/* What the sources share among themselves; nothing for those who use capture.h. */
#ifndef FFTD_CAPTURE_SOURCE_H
#define FFTD_CAPTURE_SOURCE_H

#include "capture/capture.h"

/* Writes capture->description: the text, then what the format is ("NV12 640x480 at 30 fps"). */
void capture_describe(struct capture *capture, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Points a frame's planes into one piece of memory of that layout. Sequence and times are 0, the
 * memory is the source's own. */
void capture_fill_frame(struct capture_frame *ret, const struct fftd_format *format,
                        const uint8_t *pixels);

#endif
