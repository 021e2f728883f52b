/* The memory layout and the colour description of a V4L2 format. Pure. */
#ifndef FFTD_CAPTURE_V4L2_LAYOUT_H
#define FFTD_CAPTURE_V4L2_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <linux/videodev2.h>

#include "core/error.h"
#include "core/format.h"

struct video_layout {
    struct fftd_format format;        /* packed; colour set, rate unknown */
    uint32_t stride[FFTD_MAX_PLANES]; /* bytes, the driver's */
    /* Plane p begins offset[p] bytes after the data of memory plane memory[p]. */
    uint8_t memory[FFTD_MAX_PLANES];
    size_t offset[FFTD_MAX_PLANES];
    unsigned memory_count;
    /* Bytes of each memory plane that a frame uses, and that the driver wants in a buffer. */
    size_t memory_bytes[FFTD_MAX_PLANES], buffer_bytes[FFTD_MAX_PLANES];
};

/* Returns either kind of format as a multi-planar one; a single-planar one has one plane. */
struct v4l2_pix_format_mplane video_format_pix(const struct v4l2_format *format);

/* Returns whether both formats have the same memory layout: pixel format, size and row lengths. */
bool video_format_same(const struct v4l2_format *a, const struct v4l2_format *b);

/* Returns whether frames of this format are JPEG files. */
bool video_format_is_jpeg(const struct v4l2_format *format);

/* Reads a format that the driver returned. -EINVAL: fftd does not support it, or it contradicts
 * itself. */
int video_layout(struct video_layout *ret, const struct v4l2_format *format, struct error *why);

/* Sets the code points of H.273 for V4L2's colour description. */
void video_colour(struct fftd_format *format, uint32_t colorspace, uint32_t ycbcr_enc,
                  uint32_t quantization, uint32_t xfer_func);

/* Extends a driver's 32-bit frame count to 64 bits, from its first frame on. A count that
 * does not increase is taken as one step. */
struct video_count {
    bool begun;
    uint32_t last;
    uint64_t count; /* number of the last frame; the first is 0 */
};
uint64_t video_count(struct video_count *count, uint32_t sequence);

#endif
