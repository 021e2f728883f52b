/* The buffers of a V4L2 device: their memory, and queueing them to the driver and back. */
#ifndef FFTD_CAPTURE_V4L2_BUFFERS_H
#define FFTD_CAPTURE_V4L2_BUFFERS_H

#include <stdint.h>

#include <linux/videodev2.h>

#include "capture/v4l2_device.h"
#include "capture/v4l2_layout.h"
#include "core/frame_memory.h"

struct video_buffers {
    struct video_device device; /* used for streaming: a copy, closed by its owner */
    const struct video_layout *layout;
    enum memory_mode memory_mode;
    struct frame_memory *memory; /* NULL: frames are copied */
    unsigned count;
    struct video_mapping {
        const uint8_t *start; /* NULL: not mapped */
        size_t bytes;
    } mapping[FRAME_MEMORY_MAX][FFTD_MAX_PLANES]; /* unused for shared buffers */
};

/* A buffer as it is passed to and from the driver, with room for its planes. */
struct video_exchange {
    struct v4l2_buffer buffer;
    struct v4l2_plane plane[VIDEO_MAX_PLANES];
};

/* Requests `count` buffers from the driver for this memory mode; the driver may make more or fewer.
 * From then on no program can change the format. There must be none before. After a failure, here
 * or in video_buffers_make, call video_buffers_free. -ENOMEM: too few for the driver to capture
 * while the device keeps as many frames as it may. */
int video_buffers_request(struct video_buffers *buffers, unsigned count, enum memory_mode mode,
                          struct frame_memory *memory, struct error *why);

/* Makes the memory of all buffers and queues them to the driver. */
int video_buffers_make(struct video_buffers *buffers, struct error *why);

/* Frees all buffers. The driver must have stopped writing into them. */
void video_buffers_free(struct video_buffers *buffers);

/* Queues a buffer to the driver. */
int video_buffers_queue(struct video_buffers *buffers, unsigned index, struct error *why);

/* Takes the next buffer that the driver has filled, damaged or not. -EAGAIN: there is none;
 * -ENODEV: the device was removed; -EIO. */
int video_buffers_dequeue(struct video_buffers *buffers, struct video_exchange *ret,
                          struct error *why);

/* Start and length of a memory plane of a buffer that the driver has filled. */
struct video_mapping video_buffers_at(const struct video_buffers *buffers, unsigned index,
                                      unsigned memory_plane);

#endif
