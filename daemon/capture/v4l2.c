/* v4l2:/dev/videoN - a camera, streamed through buffers that the driver fills and we map.
 *
 * Nothing the driver says is believed where memory depends on it: a frame is lent only if all its
 * planes lie within the mapping and within the bytes that the driver says it wrote. What was
 * damaged or too short goes back and is counted.
 *
 * A camera that fails is told apart by what may help: -EIO, streaming has to begin anew; -ENODEV,
 * the device has gone. A buffer that could not be given back is a failure of the first kind, told
 * at the next dequeue, since the queue would run dry of buffers one by one. That, and another
 * signal at the input, is told even if frames wait: where the engine is the slower one they always
 * do. */
#include "capture/capture.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "capture/pace.h"
#include "capture/source.h"
#include "capture/v4l2_control.h"
#include "capture/v4l2_device.h"
#include "capture/v4l2_layout.h"
#include "capture/v4l2_negotiate.h"
#include "core/clock.h"

/* How old a driver's timestamp may be before it is taken to be on another clock after all. */
#define OLDEST_TIMESTAMP_NS (10 * NS_PER_S)

struct video_memory {
    const uint8_t *start; /* NULL: not mapped */
    size_t bytes;
};

struct video_source {
    struct capture capture;
    struct video_device device;
    struct video_layout layout;
    struct v4l2_format native; /* before libv4l2 converts it */
    unsigned wanted_buffers;
    unsigned buffer_count;
    struct video_memory memory[CAPTURE_MAX_BUFFERS][FFTD_MAX_PLANES];
    bool streaming;
    int broken; /* errno of a buffer that could not be given back, or 0 */
    struct video_count count;
};

/* A buffer to be passed to the driver, with room for its planes. */
struct video_exchange {
    struct v4l2_buffer buffer;
    struct v4l2_plane plane[VIDEO_MAX_PLANES];
};

static struct video_source *source_of(struct capture *capture)
{
    return (struct video_source *)capture;
}

static void prepare(const struct video_source *source, struct video_exchange *exchange,
                    unsigned index)
{
    memset(exchange, 0, sizeof *exchange);
    exchange->buffer.index = index;
    exchange->buffer.type = source->device.type;
    exchange->buffer.memory = V4L2_MEMORY_MMAP;
    if (source->device.multi) {
        exchange->buffer.m.planes = exchange->plane;
        exchange->buffer.length = source->layout.memory_count;
    }
}

static int call(const struct video_source *source, unsigned long request, const char *name,
                void *argument, struct error *why)
{
    int r = video_ioctl(&source->device, request, argument);
    return r < 0 ? error_set(why, -r, "%s: %s", name, strerror(-r)) : 0;
}

/* ---- starting and stopping ---- */

static int map_buffer(struct video_source *source, unsigned index, struct error *why)
{
    struct video_exchange exchange;
    prepare(source, &exchange, index);
    int r = call(source, VIDIOC_QUERYBUF, "VIDIOC_QUERYBUF", &exchange.buffer, why);
    if (r < 0)
        return r;
    for (unsigned m = 0; m < source->layout.memory_count; m++) {
        size_t bytes = source->device.multi ? exchange.plane[m].length : exchange.buffer.length;
        uint32_t offset =
            source->device.multi ? exchange.plane[m].m.mem_offset : exchange.buffer.m.offset;
        if (bytes < source->layout.memory_bytes[m])
            return error_set(why, EIO, "the driver's buffers hold %zu bytes, a frame has %zu",
                             bytes, source->layout.memory_bytes[m]);
        const uint8_t *start = video_map(&source->device, bytes, offset);
        if (start == NULL)
            return error_set(why, errno, "mmap of %zu bytes: %s", bytes, strerror(errno));
        source->memory[index][m] = (struct video_memory){start, bytes};
    }
    return 0;
}

static int queue_buffer(const struct video_source *source, unsigned index, struct error *why)
{
    struct video_exchange exchange;
    prepare(source, &exchange, index);
    return call(source, VIDIOC_QBUF, "VIDIOC_QBUF", &exchange.buffer, why);
}

static int request_buffers(const struct video_source *source, unsigned *count, struct error *why)
{
    struct v4l2_requestbuffers request = {
        .count = *count, .type = source->device.type, .memory = V4L2_MEMORY_MMAP};
    int r = call(source, VIDIOC_REQBUFS, "VIDIOC_REQBUFS", &request, why);
    if (r == 0)
        *count = request.count;
    return r;
}

/* Without buffers anybody can set another format, with them nobody. */
static int check_format(const struct video_source *source, struct error *why)
{
    struct v4l2_format now;
    int r = video_native_format(&source->device, &now, why);
    if (r < 0)
        return r;
    if (video_format_same(&now, &source->native))
        return 0;
    return error_set(why, EIO, "somebody has set another format, of %ux%u",
                     video_format_width(&now), video_format_height(&now));
}

static void v4l2_stop(struct capture *capture)
{
    struct video_source *source = source_of(capture);
    int type = (int)source->device.type;
    /* Failures do not matter: the device may have gone, and closing it ends everything. */
    if (source->streaming)
        video_ioctl(&source->device, VIDIOC_STREAMOFF, &type);
    source->streaming = false;
    for (unsigned i = 0; i < source->buffer_count; i++)
        for (unsigned m = 0; m < FFTD_MAX_PLANES; m++) {
            struct video_memory *memory = &source->memory[i][m];
            if (memory->start != NULL)
                video_unmap(&source->device, memory->start, memory->bytes);
            *memory = (struct video_memory){NULL, 0};
        }
    if (source->buffer_count > 0)
        request_buffers(source, &(unsigned){0}, NULL);
    source->buffer_count = 0;
}

static int v4l2_start(struct capture *capture, struct error *why)
{
    struct video_source *source = source_of(capture);
    int type = (int)source->device.type;
    unsigned count = source->wanted_buffers;
    int r = request_buffers(source, &count, why);
    if (r < 0)
        return r;
    source->buffer_count = count < CAPTURE_MAX_BUFFERS ? count : CAPTURE_MAX_BUFFERS;
    if (count < CAPTURE_MIN_BUFFERS) {
        r = error_set(why, ENOMEM, "the driver gave %u buffers: %d are needed", count,
                      CAPTURE_MIN_BUFFERS);
        goto fail;
    }
    r = check_format(source, why);
    for (unsigned i = 0; r == 0 && i < source->buffer_count; i++)
        r = map_buffer(source, i, why);
    for (unsigned i = 0; r == 0 && i < source->buffer_count; i++)
        r = queue_buffer(source, i, why);
    if (r == 0)
        r = call(source, VIDIOC_STREAMON, "VIDIOC_STREAMON", &type, why);
    if (r < 0)
        goto fail;
    source->streaming = true;
    source->broken = 0;
    source->count = (struct video_count){.begun = false};
    return 0;

fail:
    v4l2_stop(capture);
    return r;
}

/* ---- frames ---- */

static int v4l2_fd(const struct capture *capture)
{
    return ((const struct video_source *)capture)->device.fd;
}

static void give_back(struct video_source *source, unsigned index)
{
    int r = queue_buffer(source, index, NULL);
    if (r < 0 && source->broken == 0)
        source->broken = -r;
}

static void v4l2_release(struct capture *capture, const struct capture_frame *frame)
{
    struct video_source *source = source_of(capture);
    if (source->streaming)
        give_back(source, frame->index);
}

static int64_t timestamp_ns(const struct v4l2_buffer *buffer, int64_t now_ns)
{
    if ((buffer->flags & V4L2_BUF_FLAG_TIMESTAMP_MASK) != V4L2_BUF_FLAG_TIMESTAMP_MONOTONIC)
        return now_ns;
    int64_t ns = buffer->timestamp.tv_sec * NS_PER_S + buffer->timestamp.tv_usec * INT64_C(1000);
    return ns > now_ns - OLDEST_TIMESTAMP_NS && ns <= now_ns ? ns : now_ns;
}

/* Points the frame into the buffer; false: it is damaged or not whole. */
static bool take_frame(const struct video_source *source, const struct video_exchange *exchange,
                       struct capture_frame *ret)
{
    const struct video_layout *layout = &source->layout;
    const struct v4l2_buffer *buffer = &exchange->buffer;
    size_t data_offset[FFTD_MAX_PLANES] = {0};
    if ((buffer->flags & V4L2_BUF_FLAG_ERROR) != 0)
        return false;
    for (unsigned m = 0; m < layout->memory_count; m++) {
        size_t used = source->device.multi ? exchange->plane[m].bytesused : buffer->bytesused;
        data_offset[m] = source->device.multi ? exchange->plane[m].data_offset : 0;
        if (used > source->memory[buffer->index][m].bytes)
            used = source->memory[buffer->index][m].bytes;
        if (data_offset[m] > used || used - data_offset[m] < layout->memory_bytes[m])
            return false;
    }
    struct capture_frame frame = {.index = buffer->index};
    for (unsigned p = 0; p < FFTD_MAX_PLANES; p++) {
        frame.dmabuf[p] = -1;
        if (p >= layout->format.plane_count)
            continue;
        unsigned m = layout->memory[p];
        frame.plane[p] =
            source->memory[buffer->index][m].start + data_offset[m] + layout->offset[p];
        frame.stride[p] = layout->stride[p];
    }
    *ret = frame;
    return true;
}

/* The next buffer that the driver has filled, whatever is in it. */
static int dequeue_buffer(struct video_source *source, struct video_exchange *exchange,
                          struct error *why)
{
    prepare(source, exchange, 0);
    int r = video_ioctl(&source->device, VIDIOC_DQBUF, &exchange->buffer);
    if (r == 0 && exchange->buffer.index >= source->buffer_count)
        return error_set(why, EIO, "the driver returned buffer %u of %u", exchange->buffer.index,
                         source->buffer_count);
    if (r == 0 || r == -EAGAIN)
        return r;
    if (r == -ENODEV)
        return error_set(why, ENODEV, "the device has gone");
    return error_set(why, EIO, "VIDIOC_DQBUF: %s", strerror(-r));
}

/* Whether one of the events that wait tells of another signal at the input. */
static bool signal_changed(const struct video_source *source)
{
    struct v4l2_event event = {.pending = 1};
    bool changed = false;
    while (event.pending > 0 && video_ioctl(&source->device, VIDIOC_DQEVENT, &event) == 0)
        changed |= event.type == V4L2_EVENT_SOURCE_CHANGE;
    return changed;
}

/* What ends the stream, whether or not frames wait. */
static int check_stream(const struct video_source *source, struct error *why)
{
    struct pollfd poll_fd = {.fd = source->device.fd, .events = POLLPRI};
    if (source->broken == ENODEV)
        return error_set(why, ENODEV, "the device has gone");
    if (source->broken != 0)
        return error_set(why, EIO, "VIDIOC_QBUF: %s", strerror(source->broken));
    if (poll(&poll_fd, 1, 0) > 0 && (poll_fd.revents & POLLPRI) != 0 && signal_changed(source))
        return error_set(why, ESTALE, "the signal at its input has changed");
    return 0;
}

/* Drivers tell of an ended stream by poll alone: there is no frame, nor will there be one. */
static int no_frame(const struct video_source *source, struct error *why)
{
    struct pollfd poll_fd = {.fd = source->device.fd, .events = POLLIN};
    if (poll(&poll_fd, 1, 0) > 0 && (poll_fd.revents & (POLLERR | POLLHUP)) != 0)
        return error_set(why, EIO, "the driver has ended the stream");
    return error_set(why, EAGAIN, "no frame waits");
}

static int v4l2_dequeue(struct capture *capture, struct capture_frame *ret, struct error *why)
{
    struct video_source *source = source_of(capture);
    struct capture_frame newest;
    bool have = false;
    if (!source->streaming)
        return error_set(why, EAGAIN, "not started");
    int r = check_stream(source, why);
    if (r < 0)
        return r;
    /* No more rounds than there are buffers: a driver faster than this loop must not hold it. */
    for (unsigned i = 0; i < source->buffer_count; i++) {
        struct video_exchange exchange;
        r = dequeue_buffer(source, &exchange, why);
        if (r < 0)
            break;
        struct capture_frame frame;
        uint64_t sequence = video_count(&source->count, exchange.buffer.sequence);
        if (!take_frame(source, &exchange, &frame)) {
            capture->dropped_error++;
            give_back(source, exchange.buffer.index);
            continue;
        }
        if (have) {
            capture->dropped_stale++;
            give_back(source, newest.index);
        }
        frame.sequence = sequence;
        frame.dequeued_ns = clock_now_ns();
        frame.captured_ns = timestamp_ns(&exchange.buffer, frame.dequeued_ns);
        newest = frame;
        have = true;
    }
    if (have) {
        *ret = newest;
        return 0;
    }
    return r < 0 && r != -EAGAIN ? r : no_frame(source, why);
}

/* ---- controls ---- */

static int v4l2_list_controls(struct capture *capture, struct capture_controls **ret,
                              struct error *why)
{
    return video_list_controls(&source_of(capture)->device, ret, why);
}

static int v4l2_set_controls(struct capture *capture, const struct settings *settings,
                             struct error *why)
{
    return video_set_controls(&source_of(capture)->device, settings, why);
}

/* ---- opening and closing ---- */

static void v4l2_close_source(struct capture *capture)
{
    struct video_source *source = source_of(capture);
    v4l2_stop(capture);
    video_close(&source->device);
    free(source);
}

static const struct capture_ops v4l2_ops = {
    .start = v4l2_start,
    .stop = v4l2_stop,
    .fd = v4l2_fd,
    .dequeue = v4l2_dequeue,
    .release = v4l2_release,
    .close = v4l2_close_source,
    .list_controls = v4l2_list_controls,
    .set_controls = v4l2_set_controls,
};

int capture_open_v4l2(struct capture **ret, const char *path, const struct capture_request *request,
                      struct error *why)
{
    struct video_source *source = calloc(1, sizeof *source);
    if (source == NULL)
        return error_set(why, ENOMEM, "v4l2:%s: no memory", path);
    source->capture.ops = &v4l2_ops;
    source->device.fd = -1;
    source->wanted_buffers = request->buffers;

    struct v4l2_format chosen;
    int r = video_open(&source->device, path, why);
    if (r < 0) { /* its text begins with the path */
        v4l2_close_source(&source->capture);
        return r;
    }
    r = video_take_signal(&source->device, why);
    if (r == 0)
        r = video_choose(&source->device, request, &chosen, why);
    if (r == 0)
        r = video_agree(&source->device, &chosen, request->rate, &source->layout, why);
    if (r == 0)
        r = video_native_format(&source->device, &source->native, why);
    if (r < 0) {
        error_prefix(why, -r, "%s (%s)", path, source->device.card);
        v4l2_close_source(&source->capture);
        return r;
    }
    source->capture.format = source->layout.format;
    capture_describe(&source->capture, "%s (%s)", source->device.card, source->device.bus);
    *ret = &source->capture;
    return 0;
}
