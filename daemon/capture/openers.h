/* The functions that open each kind of source, and what they share. Only daemon/capture includes
 * this; other folders use capture.h. */
#ifndef FFTD_CAPTURE_OPENERS_H
#define FFTD_CAPTURE_OPENERS_H

#include "capture/capture.h"

/* For capture_open. path is the URI after its scheme. Otherwise as capture_open. */
int capture_open_v4l2(struct capture **ret, const char *path, const struct capture_request *request,
                      struct error *why);
int capture_open_pattern(struct capture **ret, const char *path,
                         const struct capture_request *request, struct error *why);
int capture_open_file(struct capture **ret, const char *path, const struct capture_request *request,
                      struct error *why);
int capture_open_pipe(struct capture **ret, const char *path, const struct capture_request *request,
                      struct error *why);
int capture_open_gst(struct capture **ret, const char *path, const struct capture_request *request,
                     struct error *why);

/* Writes capture->description: the text, then the format ("NV12 640x480 at 30 fps"). */
void capture_describe(struct capture *capture, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Points a frame's planes into memory of that layout. Sequence and times are 0, and the frame is
 * marked as one to be copied. */
void capture_fill_frame(struct capture_frame *ret, const struct fftd_format *format,
                        const uint8_t *pixels);

/* Checks that a source without a driver, such as "files", can write its frames into memory in this
 * mode. The layout there is the device's. -EOPNOTSUPP. */
int capture_check_memory(const struct capture *capture, enum memory_mode mode,
                         const struct frame_memory *memory, const char *sources, struct error *why);

#endif
