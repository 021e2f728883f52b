/* Uploads captured frames to a device: a copy of the planes that kernels read, or memory of the
 * source that is lent to the device (engine_memory_create). */
#ifndef FFTD_ENGINE_UPLOAD_H
#define FFTD_ENGINE_UPLOAD_H

#include <stddef.h>
#include <stdint.h>

#include "core/error.h"
#include "core/format.h"
#include "gpu/device_private.h"

struct engine_job;
struct slot;

/* A place for one frame. With unified memory the host maps `in`; otherwise it copies through pinned
 * memory. The queue is the owner's, and empty when a frame is uploaded, because a map blocks. */
struct upload {
    const struct gpu_device *device;
    cl_command_queue queue;
    size_t bytes;
    cl_mem in;      /* read by kernels; unused for frames that are read where they are */
    cl_mem host_in; /* pinned memory; NULL on unified memory */
    void *host_in_at;
    cl_mem sent; /* keeps the memory from which the frame is sent; NULL: the place's own */
};

/* Planes first .. end - 1 of captured frames, in the layout that kernels read. */
struct upload_planes {
    const struct fftd_format *format;
    unsigned first, end;
};

/* The planes that have the bytes from one place of a frame to another one. */
struct upload_planes upload_planes_of(const struct fftd_format *format, uint64_t first,
                                      uint64_t last);

/* The bytes of a frame up to the end of these planes. */
static inline size_t upload_end(const struct upload_planes *planes)
{
    const struct fftd_plane *last = &planes->format->plane[planes->end - 1];
    return last->offset + (size_t)last->stride * last->rows;
}

/* Makes the buffers. On failure the place can only be finished. */
int upload_init(struct upload *ret, const struct gpu_device *device, cl_command_queue queue,
                size_t bytes, struct error *why);
void upload_finish(struct upload *upload);

/* Copies planes into a frame with the layout of the format; returns the number of bytes. */
uint64_t upload_copy_planes(const struct upload_planes *planes, const struct engine_job *job,
                            uint8_t *frame);

/* Uploads the planes of a slot's job, and accounts for it in the slot. Returns the buffer that the
 * commands which follow in the queue read. With job.memory the frame has to be returned after them
 * (engine_memory_return). */
int upload_frame(struct upload *upload, const struct upload_planes *planes, struct slot *slot,
                 cl_mem *ret, struct error *why);

/* Releases what the upload has kept for a frame. */
void upload_release(struct upload *upload);

#endif
