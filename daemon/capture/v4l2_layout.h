/* What a V4L2 format means: where its planes lie and what its numbers stand for. Pure. */
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
    /* Plane p lies in memory plane memory[p] of a buffer, offset[p] bytes after its data begins. */
    uint8_t memory[FFTD_MAX_PLANES];
    size_t offset[FFTD_MAX_PLANES];
    unsigned memory_count;
    /* A frame takes so many bytes of each memory plane; the driver wants buffers of so many. */
    size_t memory_bytes[FFTD_MAX_PLANES], buffer_bytes[FFTD_MAX_PLANES];
};

/* Reads a format that the driver returned. -EINVAL: it is not one of ours, or contradicts itself.
 */
int video_layout(struct video_layout *ret, const struct v4l2_format *format, struct error *why);

/* Sets the code points of H.273 that V4L2's colour description stands for. */
void video_colour(struct fftd_format *format, uint32_t colorspace, uint32_t ycbcr_enc,
                  uint32_t quantization, uint32_t xfer_func);

/* Extends a driver's 32-bit frame count, from its first frame on, past its wrapping. A driver that
 * does not count, or begins again, is counted for: a step is never 0 and never backwards. */
struct video_count {
    bool begun;
    uint32_t last;
    uint64_t count; /* of the last frame; the first is 0 */
};
uint64_t video_count(struct video_count *count, uint32_t sequence);

#endif
