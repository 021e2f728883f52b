/* A V4L2 capture device: opening it, calling it, and listing its formats.
 *
 * Names begin with video_, because the kernel and libv4l2 use v4l2_. Single-planar devices are used
 * through libv4l2, which adds formats by conversion (from MJPEG and the unusual formats of old
 * webcams). Multi-planar ones are used directly, because libv4l2 does not support them. */
#ifndef FFTD_CAPTURE_V4L2_DEVICE_H
#define FFTD_CAPTURE_V4L2_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <linux/videodev2.h>

#include "core/error.h"
#include "core/format.h"

struct video_device {
    int fd;         /* -1: not open */
    bool multi;     /* multi-planar */
    bool converted; /* used through libv4l2 */
    uint32_t type;  /* V4L2_BUF_TYPE_VIDEO_CAPTURE or its _MPLANE */
    char card[32], driver[16], bus[32];
};

/* Opens a capture device, not blocking. -ENOENT, -ENODEV, -EACCES, -EBUSY; -EINVAL: it is no V4L2
 * device, or cannot stream captured video. */
int video_open(struct video_device *ret, const char *path, struct error *why);
void video_close(struct video_device *device);

/* ioctl(2), repeated after signals; 0 or -errno. */
int video_ioctl(const struct video_device *device, unsigned long request, void *argument);

/* mmap(2) of a buffer for reading; NULL on failure, with errno. */
const uint8_t *video_map(const struct video_device *device, size_t length, uint32_t offset);
void video_unmap(const struct video_device *device, const uint8_t *start, size_t length);

/* One pixel format of a device. */
struct video_offer {
    uint32_t pixelformat;
    const struct format_info *info; /* NULL: fftd does not support it */
    bool emulated;                  /* converted by libv4l2 */
};
#define VIDEO_MAX_OFFERS 128

/* Fills offers[VIDEO_MAX_OFFERS] in the driver's order; returns their number. */
unsigned video_offers(const struct video_device *device, struct video_offer *offers);

/* "NV12", or the four characters of a format that fftd does not support. */
const char *video_format_name(const struct video_offer *offer, char text[8]);

/* Gets the sizes of a format, one at a time; false: there are no more. Where minimum and maximum
 * differ, all sizes between them in the given steps are offered. */
struct video_size {
    uint32_t min_width, max_width, step_width;
    uint32_t min_height, max_height, step_height;
};
bool video_next_size(const struct video_device *device, uint32_t pixelformat, unsigned index,
                     struct video_size *ret);

/* Gets the rates of a format at a size, in frames a second, one at a time; false: there are no
 * more. */
struct video_rate {
    double min, max;
};
bool video_next_rate(const struct video_device *device, uint32_t pixelformat, uint32_t width,
                     uint32_t height, unsigned index, struct video_rate *ret);

/* Returns the highest of these rates; 0: the driver reports none. */
double video_max_rate(const struct video_device *device, uint32_t pixelformat, uint32_t width,
                      uint32_t height);

/* Writes the sizes of a format, each with its highest rate: "640x480@30, 1280x720@10". */
void video_sizes(const struct video_device *device, uint32_t pixelformat, char *text, size_t size);

/* The driver's own format, from which libv4l2 converts. (libv4l2 would return the format that was
 * last set through it.) */
int video_native_format(const struct video_device *device, struct v4l2_format *ret,
                        struct error *why);

#endif
