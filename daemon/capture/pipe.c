/* pipe:- - frames that another program writes into this program's standard input: Y4M, or raw
 * frames whose format and size the user gives.
 *
 * The writer sets the pace, and waits for the reader: nothing is lost, and silence is no fault. The
 * pipe is opened again, because O_NONBLOCK belongs to the open file, which the writer's other
 * programs may share. A frame that has come in part is kept while the source is stopped. */
#include "capture/capture.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "capture/openers.h"
#include "capture/pace.h"
#include "capture/y4m.h"
#include "core/clock.h"

#define PIPE_BYTES       (1 << 20)
#define LOOK_AGAIN_NS    NS_PER_S /* while the header is awaited */
#define FRAME_LINE_BYTES 6        /* "FRAME\n", the shortest and nearly every header of a frame */

struct pipe_source {
    struct capture capture;
    int fd;
    bool y4m;
    uint8_t line[Y4M_MAX_HEADER];
    size_t line_bytes; /* read of the header that comes next */
    bool in_pixels;    /* a frame's header has been read, or there are none */
    size_t filled;     /* bytes of the frame that comes next */
    unsigned filling;  /* its buffer */
    uint64_t count;    /* complete frames since it was opened */
    uint64_t sequence; /* frames delivered since the start */
    int64_t period_ns; /* between frames, as the header or camera.fps says; 0: unknown */
    unsigned wanted_buffers;
    unsigned buffer_count;
    struct pipe_buffer {
        uint8_t *frame;
        bool lent;
    } buffer[CAPTURE_MAX_BUFFERS];
};

static void pipe_stop(struct capture *capture)
{
    struct pipe_source *source = (struct pipe_source *)capture;
    for (unsigned i = 0; i < source->buffer_count; i++)
        source->buffer[i].lent = false;
    capture->fd = source->fd;
}

static int pipe_start(struct capture *capture, enum memory_mode mode, struct frame_memory *memory,
                      struct error *why)
{
    struct pipe_source *source = (struct pipe_source *)capture;
    (void)memory; /* used by other modes */
    if (mode != MEMORY_COPIED)
        return error_set(why, EOPNOTSUPP, "frames come through a pipe");
    pipe_stop(capture);
    source->sequence = 0;
    return 0;
}

/* Returns a buffer that can be filled; buffer_count: all are lent. */
static unsigned find_buffer(const struct pipe_source *source)
{
    unsigned index = source->filling;
    for (unsigned i = 0; i < source->buffer_count; i++, index = (index + 1) % source->buffer_count)
        if (!source->buffer[index].lent)
            return index;
    return source->buffer_count;
}

/* Returns the number of bytes, 0 at the end, or -errno; -EAGAIN: there are none yet. */
static ssize_t read_some(const struct pipe_source *source, uint8_t *bytes, size_t count)
{
    ssize_t got;
    do
        got = read(source->fd, bytes, count);
    while (got < 0 && errno == EINTR);
    return got < 0 ? -errno : got;
}

/* Reads up to the end of a line and no further. -ENODATA: the pipe ended before it; -EINVAL: it
 * ended in the line, or the line is too long. */
static int read_line(struct pipe_source *source, size_t least, struct error *why)
{
    for (;;) {
        const size_t have = source->line_bytes;
        if (have >= least && source->line[have - 1] == '\n')
            return 0;
        if (have == sizeof source->line)
            return error_set(why, EINVAL, "a header is longer than %zu bytes", have);
        const size_t want = have < least ? least - have : 1;
        const ssize_t got = read_some(source, source->line + have, want);
        if (got == -EAGAIN)
            return -EAGAIN;
        if (got < 0)
            return error_set(why, (int)-got, "read: %s", strerror((int)-got));
        if (got == 0)
            return error_set(why, have == 0 ? ENODATA : EINVAL, "the pipe ended%s",
                             have == 0 ? "" : " in a header");
        source->line_bytes += (size_t)got;
    }
}

/* Whatever is wrong with a frame, nothing behind it can be read. So it is the end. */
static int end_at(const struct pipe_source *source, int r, struct error *why)
{
    const struct error reason = *why;
    if (r == -EAGAIN)
        return error_set(why, EAGAIN, "no frame is complete");
    return error_set(why, ENODATA, "the pipe has ended after %llu frames%s%s",
                     (unsigned long long)source->count, r == -ENODATA ? "" : ": ",
                     r == -ENODATA ? "" : reason.text);
}

static int read_frame_header(struct pipe_source *source, struct error *why)
{
    size_t length;
    int r = read_line(source, FRAME_LINE_BYTES, why);
    if (r == 0)
        r = y4m_parse_frame(source->line, source->line_bytes, &length, why);
    if (r < 0)
        return r;
    source->line_bytes = 0;
    source->in_pixels = true;
    return 0;
}

static int read_pixels(struct pipe_source *source, uint8_t *frame, struct error *why)
{
    const size_t bytes = source->capture.format.frame_bytes;
    while (source->filled < bytes) {
        const ssize_t got = read_some(source, frame + source->filled, bytes - source->filled);
        if (got == -EAGAIN)
            return -EAGAIN;
        if (got < 0)
            return error_set(why, (int)-got, "read: %s", strerror((int)-got));
        if (got == 0 && source->filled == 0 && !source->y4m)
            return error_set(why, ENODATA, "the pipe ended");
        if (got == 0)
            return error_set(why, EINVAL, "the pipe ended after %zu bytes of %zu", source->filled,
                             bytes);
        source->filled += (size_t)got;
    }
    return 0;
}

static int pipe_dequeue(struct capture *capture, struct capture_frame *ret, struct error *why)
{
    struct pipe_source *source = (struct pipe_source *)capture;
    const unsigned index = find_buffer(source);
    if (index == source->buffer_count)
        return error_set(why, EAGAIN, "all %u buffers are lent", index);
    /* What has come of a frame stays where it is: a buffer that is being filled is not lent. */
    source->filling = index;
    struct pipe_buffer *buffer = &source->buffer[index];
    int r = source->in_pixels ? 0 : read_frame_header(source, why);
    if (r == 0)
        r = read_pixels(source, buffer->frame, why);
    if (r < 0)
        return end_at(source, r, why);

    source->in_pixels = !source->y4m;
    source->filled = 0;
    source->count++;
    copy_count_add(&capture->copied, capture->format.frame_bytes);
    buffer->lent = true;
    if (find_buffer(source) == source->buffer_count)
        capture->fd = -1; /* nothing could be done with what comes */
    capture_fill_frame(ret, &capture->format, buffer->frame);
    ret->sequence = source->sequence++;
    ret->dequeued_ns = ret->captured_ns = clock_now_ns();
    ret->recorded_ns = (int64_t)source->count * source->period_ns;
    ret->index = index;
    return 0;
}

static void pipe_release(struct capture *capture, const struct capture_frame *frame)
{
    struct pipe_source *source = (struct pipe_source *)capture;
    source->buffer[frame->index].lent = false;
    capture->fd = source->fd;
}

static void pipe_close(struct capture *capture)
{
    struct pipe_source *source = (struct pipe_source *)capture;
    for (unsigned i = 0; i < source->buffer_count; i++)
        free(source->buffer[i].frame);
    if (source->fd >= 0)
        close(source->fd);
    free(source);
}

/* ---- opening ---- */

/* Completes a source whose format is known. */
static int make_ready(struct pipe_source *source, struct error *why)
{
    struct fftd_format *format = &source->capture.format;
    if (format->rate_num > 0)
        source->period_ns = NS_PER_S * format->rate_den / format->rate_num;
    format->rate_num = 0, format->rate_den = 1; /* frames come as fast as they are written */
    const unsigned count = source->wanted_buffers;
    for (; source->buffer_count < count; source->buffer_count++) {
        uint8_t *frame = malloc(format->frame_bytes);
        if (frame == NULL)
            return error_set(why, ENOMEM, "pipe:-: out of memory for a frame of %u bytes",
                             format->frame_bytes);
        source->buffer[source->buffer_count].frame = frame;
    }
    capture_describe(&source->capture, "%s frames through a pipe", source->y4m ? "Y4M" : "raw");
    source->in_pixels = !source->y4m;
    source->capture.opening_until_ns = 0;
    return 0;
}

static int pipe_open_more(struct capture *capture, struct error *why)
{
    struct pipe_source *source = (struct pipe_source *)capture;
    size_t length;
    int r = read_line(source, 1, why);
    if (r == -EAGAIN) {
        capture->opening_until_ns = clock_now_ns() + LOOK_AGAIN_NS;
        return error_set(why, EAGAIN, "waiting for the first line");
    }
    if (r == -ENODATA)
        return error_set(why, EINVAL, "pipe:-: the pipe ended before the first frame");
    if (!y4m_is_y4m(source->line, source->line_bytes))
        return error_set(why, EINVAL,
                         "pipe:-: not Y4M: set camera.size and camera.format if these are raw "
                         "frames, and let `ffmpeg -i FILE -f yuv4mpegpipe -` read other files");
    if (r == 0)
        r = y4m_parse_header(source->line, source->line_bytes, &capture->format, &length, why);
    if (r < 0)
        return error_prefix(why, -r, "pipe:-");
    source->line_bytes = 0;
    return make_ready(source, why);
}

static const struct capture_ops pipe_ops = {
    .open_more = pipe_open_more,
    .start = pipe_start,
    .stop = pipe_stop,
    .dequeue = pipe_dequeue,
    .release = pipe_release,
    .close = pipe_close,
};

static int open_stdin(struct pipe_source *source, struct error *why)
{
    struct stat about;
    if (fstat(STDIN_FILENO, &about) < 0)
        return error_set(why, errno, "standard input: %s", strerror(errno));
    if (!S_ISFIFO(about.st_mode))
        return error_set(why, EINVAL,
                         "standard input is not a pipe: use file:PATH for a file, or "
                         "`PROGRAM | fftd --source pipe:-`");
    source->fd = open("/proc/self/fd/0", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (source->fd < 0)
        return error_set(why, errno, "cannot open standard input again: %s", strerror(errno));
    source->capture.fd = source->fd;
    fcntl(source->fd, F_SETPIPE_SZ, PIPE_BYTES); /* larger only makes it faster */
    return 0;
}

static int begin_opening(struct pipe_source *source, const char *path,
                         const struct capture_request *request, struct error *why)
{
    struct fftd_format *format = &source->capture.format;
    if (strcmp(path, "-") != 0)
        return error_set(why, EINVAL, "expected pipe:-, which is standard input");
    int r = open_stdin(source, why);
    if (r < 0)
        return r;
    source->y4m = request->width == 0 || request->fourcc == 0;
    if (source->y4m) {
        source->capture.opening_until_ns = clock_now_ns() + LOOK_AGAIN_NS;
        return 0;
    }
    r = format_layout(format, request->fourcc, request->width, request->height, 1, why);
    if (r == 0 && request->rate > 0.0 && !isinf(request->rate))
        pace_fraction(request->rate, &format->rate_num, &format->rate_den);
    return r == 0 ? make_ready(source, why) : r;
}

int capture_open_pipe(struct capture **ret, const char *path, const struct capture_request *request,
                      struct error *why)
{
    struct pipe_source *source = calloc(1, sizeof *source);
    if (source == NULL)
        return error_set(why, ENOMEM, "pipe: out of memory");
    source->capture.ops = &pipe_ops;
    source->capture.unpaced = true;
    source->capture.waits = true;
    source->capture.is_patient = true;
    source->fd = -1;
    source->wanted_buffers = request->buffers;
    int r = begin_opening(source, path, request, why);
    if (r < 0) {
        pipe_close(&source->capture);
        return error_prefix(why, -r, "pipe:%s", path);
    }
    *ret = &source->capture;
    return 0;
}
