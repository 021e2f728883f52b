/* The buffers of a V4L2 device: where they are, and who has them. */
#ifndef FFTD_CAPTURE_V4L2_BUFFERS_H
#define FFTD_CAPTURE_V4L2_BUFFERS_H

#include <stdint.h>

#include <linux/videodev2.h>

#include "capture/v4l2_device.h"
#include "capture/v4l2_layout.h"
#include "core/frame_memory.h"

struct video_buffers {
    struct video_device device; /* as streaming is spoken to it: a copy, closed by its owner */
    const struct video_layout *layout;
    enum frame_way way;
    struct frame_memory *memory; /* NULL: frames are copied */
    unsigned count;
    struct video_mapping {
        const uint8_t *start; /* NULL: not mapped */
        size_t bytes;
    } mapping[FRAME_MEMORY_MAX][FFTD_MAX_PLANES]; /* but for shared ones */
};

/* A buffer as it is passed to and from the driver, with room for its planes. */
struct video_exchange {
    struct v4l2_buffer buffer;
    struct v4l2_plane plane[VIDEO_MAX_PLANES];
};

/* Asks the driver for so many buffers, of which it may make more or fewer, for frames that come in
 * this way; from then on nobody can set another format. There must be none before; after a failure,
 * here or in video_buffers_make, video_buffers_free is to follow. -ENOMEM: they are too few for it
 * to go on while the device keeps as many frames as it may. */
int video_buffers_request(struct video_buffers *buffers, unsigned count, enum frame_way way,
                          struct frame_memory *memory, struct error *why);

/* Gives them their memory, and then to the driver. */
int video_buffers_make(struct video_buffers *buffers, struct error *why);

/* Lets go of them all. The driver must not write into them any more. */
void video_buffers_free(struct video_buffers *buffers);

/* Gives a buffer to the driver. */
int video_buffers_queue(struct video_buffers *buffers, unsigned index, struct error *why);

/* The next buffer that the driver has filled, whatever is in it. -EAGAIN: there is none; -ENODEV:
 * the device has gone; -EIO. */
int video_buffers_dequeue(struct video_buffers *buffers, struct video_exchange *ret,
                          struct error *why);

/* Where a memory plane of a buffer that the driver has filled is, and how long it is. */
struct video_mapping video_buffers_at(const struct video_buffers *buffers, unsigned index,
                                      unsigned memory_plane);

#endif
