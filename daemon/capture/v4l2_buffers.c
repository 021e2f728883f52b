/* There are three kinds of buffers. The driver's own are mapped, and frames are copied from there
 * (MMAP). Or they are exported as well, and the device reads them there (MMAP, EXPBUF). Or they
 * are the device's memory, and the driver writes there (USERPTR).
 *
 * A driver's abilities are found by trying: many refuse the memory of others only when the first
 * buffer of it is queued.
 *
 * Exported buffers stay mapped, because the processor reads snapshots and the planes that are not
 * filtered. */
#include "capture/v4l2_buffers.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "capture/capture.h"

static int call(const struct video_buffers *buffers, unsigned long request, const char *name,
                void *argument, struct error *why)
{
    int r = video_ioctl(&buffers->device, request, argument);
    return r < 0 ? error_set(why, -r, "%s: %s", name, strerror(-r)) : 0;
}

static uint32_t kind(const struct video_buffers *buffers)
{
    return buffers->memory_mode == MEMORY_SHARED ? V4L2_MEMORY_USERPTR : V4L2_MEMORY_MMAP;
}

static int request_buffers(const struct video_buffers *buffers, unsigned *count, struct error *why)
{
    struct v4l2_requestbuffers request = {
        .count = *count, .type = buffers->device.type, .memory = kind(buffers)};
    int r = call(buffers, VIDIOC_REQBUFS, "VIDIOC_REQBUFS", &request, why);
    if (r == 0)
        *count = request.count;
    return r;
}

static void prepare(const struct video_buffers *buffers, struct video_exchange *exchange,
                    unsigned index)
{
    memset(exchange, 0, sizeof *exchange);
    exchange->buffer.index = index;
    exchange->buffer.type = buffers->device.type;
    exchange->buffer.memory = kind(buffers);
    if (buffers->device.multi) {
        exchange->buffer.m.planes = exchange->plane;
        exchange->buffer.length = buffers->layout->memory_count;
    }
}

/* ---- the driver's memory ---- */

static int map_buffer(struct video_buffers *buffers, unsigned index, struct error *why)
{
    const bool multi = buffers->device.multi;
    struct video_exchange exchange;
    prepare(buffers, &exchange, index);
    int r = call(buffers, VIDIOC_QUERYBUF, "VIDIOC_QUERYBUF", &exchange.buffer, why);
    if (r < 0)
        return r;
    for (unsigned m = 0; m < buffers->layout->memory_count; m++) {
        size_t bytes = multi ? exchange.plane[m].length : exchange.buffer.length;
        uint32_t offset = multi ? exchange.plane[m].m.mem_offset : exchange.buffer.m.offset;
        if (bytes < buffers->layout->memory_bytes[m])
            return error_set(why, EIO, "the driver's buffers have %zu bytes, but a frame needs %zu",
                             bytes, buffers->layout->memory_bytes[m]);
        const uint8_t *start = video_map(&buffers->device, bytes, offset);
        if (start == NULL)
            return error_set(why, errno, "mmap of %zu bytes: %s", bytes, strerror(errno));
        buffers->mapping[index][m] = (struct video_mapping){start, bytes};
    }
    return 0;
}

/* The planes that the device reads are in the first memory plane: check_memory has checked that. */
static int export_buffer(struct video_buffers *buffers, unsigned index, struct error *why)
{
    struct v4l2_exportbuffer export = {
        .type = buffers->device.type, .index = index, .flags = O_CLOEXEC | O_RDWR};
    int r = call(buffers, VIDIOC_EXPBUF, "VIDIOC_EXPBUF", &export, why);
    if (r < 0)
        return r;
    r = frame_memory_import(buffers->memory, index, export.fd, buffers->mapping[index][0].bytes,
                            why);
    close(export.fd);
    return r;
}

/* ---- the device's memory ---- */

/* Where a memory plane begins in the memory of a shared frame: at the start of a page. */
static size_t shared_offset(const struct video_layout *layout, unsigned memory_plane)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t offset = 0;
    for (unsigned m = 0; m < memory_plane; m++)
        offset += (layout->buffer_bytes[m] + page - 1) / page * page;
    return offset;
}

static uint8_t *shared_at(const struct video_buffers *buffers, unsigned index,
                          unsigned memory_plane)
{
    return frame_memory_address(buffers->memory, index) +
           shared_offset(buffers->layout, memory_plane);
}

static void point_to_shared(const struct video_buffers *buffers, struct video_exchange *exchange)
{
    const struct video_layout *layout = buffers->layout;
    const unsigned index = exchange->buffer.index;
    for (unsigned m = 0; m < layout->memory_count; m++) {
        const unsigned long at = (unsigned long)shared_at(buffers, index, m);
        if (buffers->device.multi) {
            exchange->plane[m].m.userptr = at;
            exchange->plane[m].length = (uint32_t)layout->buffer_bytes[m];
        } else {
            exchange->buffer.m.userptr = at;
            exchange->buffer.length = (uint32_t)layout->buffer_bytes[m];
        }
    }
}

/* ---- all of them ---- */

/* Checks that the device can read frames from this kind of buffers. */
static int check_memory(const struct video_buffers *buffers, struct error *why)
{
    const struct video_layout *layout = buffers->layout;
    const struct frame_memory *memory = buffers->memory;
    size_t offset[FFTD_MAX_PLANES] = {0};
    for (unsigned p = 0; p < memory->plane_count; p++) {
        if (buffers->memory_mode == MEMORY_IMPORTED && layout->memory[p] != 0)
            return error_set(why, EOPNOTSUPP, "plane %u is in a separate buffer", p);
        offset[p] = layout->offset[p] + shared_offset(layout, layout->memory[p]);
    }
    return frame_memory_check(memory, buffers->memory_mode, offset, layout->stride, why);
}

static int make_buffer(struct video_buffers *buffers, unsigned index, struct error *why)
{
    const struct video_layout *layout = buffers->layout;
    if (buffers->memory_mode == MEMORY_SHARED)
        return frame_memory_share(buffers->memory, index,
                                  shared_offset(layout, layout->memory_count), why);
    int r = map_buffer(buffers, index, why);
    return r == 0 && buffers->memory_mode == MEMORY_IMPORTED ? export_buffer(buffers, index, why)
                                                             : r;
}

int video_buffers_request(struct video_buffers *buffers, unsigned count, enum memory_mode mode,
                          struct frame_memory *memory, struct error *why)
{
    /* The driver needs CAPTURE_MIN_BUFFERS besides the frames that the device keeps. */
    const unsigned least = frame_memory_count(memory, CAPTURE_MIN_BUFFERS);
    buffers->memory_mode = mode;
    buffers->memory = memory;
    int r = memory != NULL ? check_memory(buffers, why) : 0;
    if (r == 0)
        r = request_buffers(buffers, &count, why);
    if (r < 0)
        return r;
    buffers->count = count < FRAME_MEMORY_MAX ? count : FRAME_MEMORY_MAX;
    if (buffers->count < least)
        return error_set(why, ENOMEM, "the driver allocated %u buffers, but %u are needed",
                         buffers->count, least);
    return 0;
}

int video_buffers_make(struct video_buffers *buffers, struct error *why)
{
    int r = 0;
    for (unsigned i = 0; r == 0 && i < buffers->count; i++)
        r = make_buffer(buffers, i, why);
    for (unsigned i = 0; r == 0 && i < buffers->count; i++)
        r = video_buffers_queue(buffers, i, why);
    return r;
}

static void unmap_buffers(struct video_buffers *buffers)
{
    for (unsigned i = 0; i < buffers->count; i++)
        for (unsigned m = 0; m < FFTD_MAX_PLANES; m++) {
            struct video_mapping *mapping = &buffers->mapping[i][m];
            if (mapping->start != NULL)
                video_unmap(&buffers->device, mapping->start, mapping->bytes);
            *mapping = (struct video_mapping){NULL, 0};
        }
}

/* Fails if the device was removed, which has freed them already. */
static void return_buffers(struct video_buffers *buffers)
{
    if (buffers->count > 0)
        request_buffers(buffers, &(unsigned){0}, NULL);
    buffers->count = 0;
}

void video_buffers_free(struct video_buffers *buffers)
{
    /* The borrower releases first: the driver for shared frames; the device and this process for
     * others, because drivers do not free memory in use. */
    if (buffers->memory_mode == MEMORY_SHARED)
        return_buffers(buffers);
    if (buffers->memory != NULL)
        frame_memory_clear(buffers->memory);
    unmap_buffers(buffers);
    return_buffers(buffers);
    buffers->memory = NULL;
}

int video_buffers_queue(struct video_buffers *buffers, unsigned index, struct error *why)
{
    struct video_exchange exchange;
    prepare(buffers, &exchange, index);
    if (buffers->memory_mode == MEMORY_SHARED)
        point_to_shared(buffers, &exchange);
    return call(buffers, VIDIOC_QBUF, "VIDIOC_QBUF", &exchange.buffer, why);
}

int video_buffers_dequeue(struct video_buffers *buffers, struct video_exchange *ret,
                          struct error *why)
{
    prepare(buffers, ret, 0);
    int r = video_ioctl(&buffers->device, VIDIOC_DQBUF, &ret->buffer);
    if (r == 0 && ret->buffer.index >= buffers->count)
        return error_set(why, EIO, "the driver returned buffer %u of %u", ret->buffer.index,
                         buffers->count);
    if (r == 0 || r == -EAGAIN)
        return r;
    if (r == -ENODEV)
        return error_set(why, ENODEV, "the device was removed");
    return error_set(why, EIO, "VIDIOC_DQBUF: %s", strerror(-r));
}

struct video_mapping video_buffers_at(const struct video_buffers *buffers, unsigned index,
                                      unsigned memory_plane)
{
    if (buffers->memory_mode != MEMORY_SHARED)
        return buffers->mapping[index][memory_plane];
    return (struct video_mapping){shared_at(buffers, index, memory_plane),
                                  buffers->layout->buffer_bytes[memory_plane]};
}
