/* v4l2:/dev/videoN - a camera, streamed through buffers that the driver fills (v4l2_buffers.c).
 *
 * Sizes that the driver reports are checked before memory is read: a frame is lent only if all its
 * planes are within its buffer and within the bytes that the driver reports as written. Damaged
 * and short frames are returned to the driver and counted.
 *
 * The error of a failed camera says what may help: -EIO, restart streaming; -ENODEV, the device was
 * removed. A buffer that could not be queued again is a failure of the first kind, because the
 * queue would lose one buffer after another. It is reported at the next dequeue. That failure and
 * a changed input signal are reported even if frames are ready: with an engine slower than the
 * camera, frames are always ready. */
#include "capture/capture.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "capture/openers.h"
#include "capture/v4l2_buffers.h"
#include "capture/v4l2_control.h"
#include "capture/v4l2_device.h"
#include "capture/v4l2_layout.h"
#include "capture/v4l2_negotiate.h"
#include "core/clock.h"

/* A driver's timestamp that is older than this is taken to be on another clock. */
#define OLDEST_TIMESTAMP_NS (10 * NS_PER_S)

struct video_source {
    struct capture capture;
    struct video_device device;
    struct video_layout layout;
    struct v4l2_format native; /* before libv4l2 converts it */
    unsigned wanted_buffers;
    struct video_buffers buffers;
    bool streaming;
    bool is_decoded; /* libv4l2 makes the frames from the driver's */
    int broken;      /* errno of a buffer that could not be given back, or 0 */
    struct video_count count;
};

/* ---- starting and stopping ---- */

static void close_device(struct video_source *source)
{
    video_close(&source->device);
    source->capture.fd = source->buffers.device.fd = -1;
}

/* Other programs can change the format only while no buffers are allocated. */
static int check_format(const struct video_source *source, struct error *why)
{
    struct v4l2_format now;
    int r = video_native_format(&source->device, &now, why);
    if (r < 0)
        return r;
    if (video_format_same(&now, &source->native))
        return 0;
    return error_set(why, EIO, "another program has set another format, %ux%u",
                     video_format_pix(&now).width, video_format_pix(&now).height);
}

/* Returns whether frames have the driver's own format, without a conversion by libv4l2. */
static bool is_native(const struct video_source *source)
{
    struct v4l2_format format = {.type = source->device.type};
    return video_ioctl(&source->device, VIDIOC_G_FMT, &format) == 0 &&
           video_format_same(&format, &source->native);
}

static void v4l2_stop(struct capture *capture)
{
    struct video_source *source = (struct video_source *)capture;
    int type = (int)source->device.type;
    /* A driver that cannot be stopped, because its device was removed, may write until the device
     * is closed. */
    if (source->streaming && video_ioctl(&source->buffers.device, VIDIOC_STREAMOFF, &type) < 0 &&
        source->buffers.memory_mode == MEMORY_SHARED)
        close_device(source);
    source->streaming = false;
    video_buffers_free(&source->buffers);
}

static int begin_streaming(struct video_source *source, struct error *why)
{
    int type = (int)source->device.type;
    int r = video_ioctl(&source->buffers.device, VIDIOC_STREAMON, &type);
    return r < 0 ? error_set(why, -r, "VIDIOC_STREAMON: %s", strerror(-r)) : 0;
}

static int v4l2_start(struct capture *capture, enum memory_mode mode, struct frame_memory *memory,
                      struct error *why)
{
    struct video_source *source = (struct video_source *)capture;
    if (source->device.fd < 0)
        return error_set(why, ENODEV, "the device was removed");
    if (mode != MEMORY_COPIED && !is_native(source))
        return error_set(why, EOPNOTSUPP, "libv4l2 converts these frames");
    source->buffers.device = source->device;
    source->buffers.device.converted &= mode == MEMORY_COPIED; /* libv4l2 supports no other mode */
    int r = video_buffers_request(
        &source->buffers, frame_memory_count(memory, source->wanted_buffers), mode, memory, why);
    if (r == 0)
        r = check_format(source, why);
    if (r == 0)
        r = video_buffers_make(&source->buffers, why);
    if (r == 0)
        r = begin_streaming(source, why);
    if (r < 0) {
        video_buffers_free(&source->buffers);
        return r;
    }
    source->streaming = true;
    source->is_decoded = !is_native(source);
    source->broken = 0;
    source->capture.stall_reason.text[0] = '\0';
    source->count = (struct video_count){.begun = false};
    return 0;
}

/* ---- frames ---- */

static void give_back(struct video_source *source, unsigned index)
{
    int r = video_buffers_queue(&source->buffers, index, NULL);
    if (r < 0 && source->broken == 0)
        source->broken = -r;
}

static void v4l2_release(struct capture *capture, const struct capture_frame *frame)
{
    struct video_source *source = (struct video_source *)capture;
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

/* Points the frame into the buffer; false: it is damaged or incomplete. */
static bool take_frame(const struct video_source *source, const struct video_exchange *exchange,
                       struct capture_frame *ret)
{
    const struct video_layout *layout = &source->layout;
    const struct v4l2_buffer *buffer = &exchange->buffer;
    const uint8_t *start[FFTD_MAX_PLANES] = {NULL};
    struct capture_frame frame = {.index = buffer->index, .memory = -1};
    bool is_moved = false; /* data does not begin at the start of its memory plane */
    if ((buffer->flags & V4L2_BUF_FLAG_ERROR) != 0)
        return false;
    for (unsigned m = 0; m < layout->memory_count; m++) {
        struct video_mapping at = video_buffers_at(&source->buffers, buffer->index, m);
        size_t used = source->device.multi ? exchange->plane[m].bytesused : buffer->bytesused;
        size_t offset = source->device.multi ? exchange->plane[m].data_offset : 0;
        if (used > at.bytes)
            used = at.bytes;
        if (offset > used || used - offset < layout->memory_bytes[m])
            return false;
        start[m] = at.start + offset;
        is_moved |= offset != 0;
    }
    for (unsigned p = 0; p < layout->format.plane_count; p++) {
        frame.plane[p] = start[layout->memory[p]] + layout->offset[p];
        frame.stride[p] = layout->stride[p];
    }
    if (source->buffers.memory_mode != MEMORY_COPIED && !is_moved)
        frame.memory = (int)buffer->index;
    *ret = frame;
    return true;
}

/* Takes all pending events; returns whether one reports a changed signal at the input. */
static bool signal_changed(const struct video_source *source)
{
    struct v4l2_event event = {.pending = 1};
    bool changed = false;
    while (event.pending > 0 && video_ioctl(&source->device, VIDIOC_DQEVENT, &event) == 0)
        changed |= event.type == V4L2_EVENT_SOURCE_CHANGE;
    return changed;
}

/* Checks for what ends the stream even if frames are ready. */
static int check_stream(const struct video_source *source, struct error *why)
{
    struct pollfd poll_fd = {.fd = source->device.fd, .events = POLLPRI};
    if (source->broken == ENODEV)
        return error_set(why, ENODEV, "the device was removed");
    if (source->broken != 0)
        return error_set(why, EIO, "VIDIOC_QBUF: %s", strerror(source->broken));
    if (poll(&poll_fd, 1, 0) > 0 && (poll_fd.revents & POLLPRI) != 0 && signal_changed(source))
        return error_set(why, ESTALE, "the signal at the input has changed");
    return 0;
}

/* Drivers report an ended stream only by poll: VIDIOC_DQBUF just finds no frame. */
static int no_frame(const struct video_source *source, struct error *why)
{
    struct pollfd poll_fd = {.fd = source->device.fd, .events = POLLIN};
    if (poll(&poll_fd, 1, 0) > 0 && (poll_fd.revents & (POLLERR | POLLHUP)) != 0)
        return error_set(why, EIO, "the driver has stopped streaming");
    return error_set(why, EAGAIN, "no frame is ready");
}

/* libv4l2 decodes whole blocks of a JPEG only: 16 columns, and 8 rows, or 16 if chroma has half of
 * them. It decodes any size to RGB. */
static void explain_undecoded(struct video_source *source)
{
    const uint32_t width = video_format_pix(&source->native).width;
    const uint32_t height = video_format_pix(&source->native).height;
    const bool is_rgb = source->layout.format.plane_count == 1;
    struct error *reason = &source->capture.stall_reason;
    if (!is_rgb && video_format_is_jpeg(&source->native) && (width % 16 != 0 || height % 16 != 0))
        error_set(reason, EIO,
                  "libv4l2 cannot decode JPEGs of %ux%u: the width must be a multiple of 16, the "
                  "height of 8, or of 16 if chroma has half the rows: set another camera.size, or "
                  "camera.format = \"RGB24\"",
                  width, height);
    else
        error_set(reason, EIO, "libv4l2 could not decode the last frames");
}

static int v4l2_dequeue(struct capture *capture, struct capture_frame *ret, struct error *why)
{
    struct video_source *source = (struct video_source *)capture;
    struct capture_frame newest;
    bool have = false;
    unsigned undecoded = 0;
    if (!source->streaming)
        return error_set(why, EAGAIN, "not started");
    int r = check_stream(source, why);
    if (r < 0)
        return r;
    /* At most one round for each buffer, so that a driver faster than this loop cannot hold it. */
    for (unsigned i = 0; i < source->buffers.count; i++) {
        struct video_exchange exchange;
        r = video_buffers_dequeue(&source->buffers, &exchange, why);
        /* libv4l2 has queued a frame that it could not decode again. If the driver is what fails,
         * it fails in every round. */
        if (r == -EIO && source->is_decoded && ++undecoded < source->buffers.count) {
            r = -EAGAIN;
            continue;
        }
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
    if (r != -EIO)
        capture->dropped_error += undecoded;
    if (have) {
        capture->stall_reason.text[0] = '\0';
        *ret = newest;
        return 0;
    }
    if (undecoded > 0 && r != -EIO)
        explain_undecoded(source);
    return r < 0 && r != -EAGAIN ? r : no_frame(source, why);
}

/* ---- controls ---- */

static int v4l2_list_controls(struct capture *capture, struct capture_controls **ret,
                              struct error *why)
{
    struct video_source *source = (struct video_source *)capture;
    return video_list_controls(&source->device, ret, why);
}

static int v4l2_set_controls(struct capture *capture, const struct settings *settings,
                             struct error *why)
{
    struct video_source *source = (struct video_source *)capture;
    return video_set_controls(&source->device, settings, why);
}

/* ---- opening and closing ---- */

static void v4l2_close_source(struct capture *capture)
{
    struct video_source *source = (struct video_source *)capture;
    v4l2_stop(capture);
    close_device(source);
    free(source);
}

static const struct capture_ops v4l2_ops = {
    .start = v4l2_start,
    .stop = v4l2_stop,
    .dequeue = v4l2_dequeue,
    .release = v4l2_release,
    .close = v4l2_close_source,
    .list_controls = v4l2_list_controls,
    .set_controls = v4l2_set_controls,
};

int capture_open_v4l2(struct capture **ret, const char *path, const struct capture_request *request,
                      struct error *why)
{
    if (isinf(request->rate))
        return error_set(why, EINVAL,
                         "v4l2:%s: rate max: a camera sets the pace itself: expected a number of "
                         "frames a second, or auto",
                         path);
    struct video_source *source = calloc(1, sizeof *source);
    if (source == NULL)
        return error_set(why, ENOMEM, "v4l2:%s: out of memory", path);
    source->capture.ops = &v4l2_ops;
    source->device.fd = source->buffers.device.fd = -1;
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
    source->capture.fd = source->device.fd;
    source->capture.format = source->layout.format;
    source->buffers.layout = &source->layout;
    capture_describe(&source->capture, "%s (%s)", source->device.card, source->device.bus);
    *ret = &source->capture;
    return 0;
}
