/* file:PATH - a recording replayed as if a camera delivered it: Y4M, or raw frames whose format and
 * size the user gives.
 *
 * The whole file is checked at open, so that a damaged one is refused with the position of the
 * damage instead of ending in the middle: Y4M frame by frame, raw frames by the file's size alone,
 * because a file with holes can have thousands of millions of them. Frames are read, not mapped: a
 * file that shrinks while it is replayed is then an error to report, not a SIGBUS.
 *
 * Frames are read straight into the memory of a device that shares it, if the file's rows are as
 * far apart as the device requires. The source is stopped and started when such memory has to be
 * given back and replaced. A file therefore continues where it was stopped, and begins again only
 * after its end.
 *
 * Unlike a camera a file loses nothing, because a replay should show the whole recording: a frame
 * that finds no free buffer comes at the next tick, and the following frames are later by the same
 * time. Unpaced, it comes as soon as a buffer is free. */
#include "capture/capture.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "capture/pace.h"
#include "capture/openers.h"
#include "capture/y4m.h"
#include "core/clock.h"

#define DEFAULT_RATE 30.0

struct file {
    struct capture capture;
    int fd;
    off_t bytes; /* size of the file when it was opened */
    bool y4m, loop;
    off_t first;  /* where the first frame begins, its header included */
    off_t offset; /* where the next frame begins */
    uint64_t frame_count;
    uint64_t next;              /* number of the next frame in the file */
    uint64_t sequence;          /* frames delivered since the start */
    int64_t recorded_period_ns; /* between frames, by the file; 0: it does not say */
    struct pace pace;
    unsigned wanted_buffers;
    /* From start to stop. */
    struct frame_memory *memory; /* where frames are stored; or NULL */
    unsigned buffer_count;
    struct file_buffer {
        uint8_t *frame; /* NULL: in the device's memory */
        bool lent;
    } buffer[CAPTURE_MAX_BUFFERS];
};

static void rewind_file(struct file *file)
{
    file->offset = file->first;
    file->next = 0;
}

static void file_stop(struct capture *capture)
{
    struct file *file = (struct file *)capture;
    pace_stop(&file->pace);
    for (unsigned i = 0; i < file->buffer_count; i++) {
        free(file->buffer[i].frame);
        file->buffer[i] = (struct file_buffer){.lent = false};
    }
    file->buffer_count = 0;
    if (file->memory != NULL)
        frame_memory_clear(file->memory);
    file->memory = NULL;
}

static int make_buffer(struct file *file, unsigned index, struct error *why)
{
    const uint32_t bytes = file->capture.format.frame_bytes;
    if (file->memory != NULL)
        return frame_memory_share(file->memory, index, bytes, why);
    file->buffer[index].frame = malloc(bytes);
    return file->buffer[index].frame != NULL
               ? 0
               : error_set(why, ENOMEM, "out of memory for a frame of %u bytes", bytes);
}

/* Checks whether frames can be read into memory without a change of layout. */
static int check_memory(const struct file *file, enum memory_mode mode,
                        const struct frame_memory *memory, struct error *why)
{
    const struct fftd_format *format = &file->capture.format;
    size_t offset[FFTD_MAX_PLANES];
    uint32_t stride[FFTD_MAX_PLANES];
    int r = capture_check_memory(&file->capture, mode, memory, "files", why);
    if (r < 0 || mode == MEMORY_COPIED)
        return r;
    for (unsigned p = 0; p < format->plane_count; p++) {
        offset[p] = format->plane[p].offset;
        stride[p] = format->plane[p].stride;
    }
    return frame_memory_check(memory, mode, offset, stride, why);
}

static int file_start(struct capture *capture, enum memory_mode mode, struct frame_memory *memory,
                      struct error *why)
{
    struct file *file = (struct file *)capture;
    int r = check_memory(file, mode, memory, why);
    if (r < 0)
        return r;
    file_stop(capture);
    file->memory = memory;
    const unsigned count = frame_memory_count(memory, file->wanted_buffers);
    for (; r == 0 && file->buffer_count < count; file->buffer_count++)
        r = make_buffer(file, file->buffer_count, why);
    if (file->next == file->frame_count)
        rewind_file(file);
    file->sequence = 0;
    if (r == 0)
        r = pace_start(&file->pace, why);
    if (r < 0)
        file_stop(capture);
    return r;
}

/* Reads count bytes, or fewer at the file's end; returns how many. */
static ssize_t read_at(int fd, uint8_t *bytes, size_t count, off_t offset)
{
    size_t done = 0;
    while (done < count) {
        ssize_t n = pread(fd, bytes + done, count - done, offset + (off_t)done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        if (n == 0)
            break;
        done += (size_t)n;
    }
    return (ssize_t)done;
}

/* Where the pixels of the frame at `offset` begin. */
static int find_pixels(const struct file *file, off_t offset, off_t *ret, struct error *why)
{
    if (!file->y4m) {
        *ret = offset;
        return 0;
    }
    /* Nearly all files have "FRAME\n" and nothing else. */
    uint8_t header[Y4M_MAX_HEADER];
    for (size_t window = 64;; window = sizeof header) {
        size_t length;
        ssize_t count = read_at(file->fd, header, window, offset);
        if (count < 0)
            return error_set(why, (int)-count, "read: %s", strerror((int)-count));
        if (y4m_parse_frame(header, (size_t)count, &length, why) == 0) {
            *ret = offset + (off_t)length;
            return 0;
        }
        if (window == sizeof header)
            return -EINVAL;
    }
}

static int refuse_truncated(const struct file *file, off_t offset, off_t pixels, struct error *why)
{
    return error_set(why, EINVAL, "frame %llu at byte %lld is truncated: %lld bytes of %lld",
                     (unsigned long long)file->frame_count, (long long)offset,
                     (long long)(file->bytes - pixels),
                     (long long)file->capture.format.frame_bytes);
}

static int check_raw_frames(struct file *file, struct error *why)
{
    const off_t frame_bytes = file->capture.format.frame_bytes;
    assert(frame_bytes > 0);
    const off_t last = file->bytes - file->bytes % frame_bytes;
    file->frame_count = (uint64_t)(file->bytes / frame_bytes);
    return last < file->bytes ? refuse_truncated(file, last, last, why) : 0;
}

static int check_y4m_frames(struct file *file, struct error *why)
{
    const off_t frame_bytes = file->capture.format.frame_bytes;
    off_t offset = file->first;
    while (offset < file->bytes) {
        off_t pixels = 0;
        int r = find_pixels(file, offset, &pixels, why);
        if (r < 0)
            return error_prefix(why, -r, "frame %llu at byte %lld",
                                (unsigned long long)file->frame_count, (long long)offset);
        if (pixels + frame_bytes > file->bytes)
            return refuse_truncated(file, offset, pixels, why);
        offset = pixels + frame_bytes;
        file->frame_count++;
    }
    return 0;
}

/* Counts the frames and checks that each is complete. */
static int check_frames(struct file *file, struct error *why)
{
    int r = file->y4m ? check_y4m_frames(file, why) : check_raw_frames(file, why);
    if (r == 0 && file->frame_count == 0)
        r = error_set(why, EINVAL, "contains no frame");
    return r;
}

/* Finds the pixels of the next frame, which follows the last one in a loop. */
static int find_next(struct file *file, off_t *ret, struct error *why)
{
    if (file->next == file->frame_count)
        rewind_file(file);
    if (find_pixels(file, file->offset, ret, why) < 0)
        return error_prefix(why, EIO, "the file has changed: frame %llu",
                            (unsigned long long)file->next);
    return 0;
}

static void advance(struct file *file, off_t pixels)
{
    file->offset = pixels + (off_t)file->capture.format.frame_bytes;
    file->next++;
}

/* Reads the next frame into a buffer and advances. */
static int read_frame(struct file *file, uint8_t *frame, struct error *why)
{
    size_t frame_bytes = file->capture.format.frame_bytes;
    off_t pixels = 0;
    int r = find_next(file, &pixels, why);
    if (r < 0)
        return r;
    ssize_t count = read_at(file->fd, frame, frame_bytes, pixels);
    if (count < 0)
        return error_set(why, EIO, "frame %llu: read: %s", (unsigned long long)file->next,
                         strerror((int)-count));
    if ((size_t)count < frame_bytes)
        return error_set(why, EIO, "the file has changed: frame %llu is truncated",
                         (unsigned long long)file->next);
    copy_count_add(&file->capture.copied, frame_bytes);
    advance(file, pixels);
    return 0;
}

/* A looped recording stands for a camera, whose frames have the times that its clock gives them. So
 * frames whose tick has passed unnoticed are skipped, and the next one is that of its tick. */
static int skip_late_frames(struct file *file, struct error *why)
{
    const uint64_t due = file->pace.ticks - 1;
    if (!file->loop || file->capture.unpaced || due <= file->sequence)
        return 0;
    for (uint64_t late = (due - file->sequence) % file->frame_count; late > 0; late--) {
        off_t pixels = 0;
        const int r = find_next(file, &pixels, why);
        if (r < 0)
            return r;
        advance(file, pixels);
    }
    file->sequence = due;
    return 0;
}

/* Returns a buffer that is not lent; buffer_count: all are lent. */
static unsigned find_buffer(const struct file *file)
{
    unsigned index = 0;
    while (index < file->buffer_count && file->buffer[index].lent)
        index++;
    return index;
}

static int file_dequeue(struct capture *capture, struct capture_frame *ret, struct error *why)
{
    struct file *file = (struct file *)capture;
    if (pace_take(&file->pace) == 0)
        return error_set(why, EAGAIN, "no frame is due yet");
    if (file->next == file->frame_count && !file->loop)
        return error_set(why, ENODATA, "the file has ended after %llu frames",
                         (unsigned long long)file->frame_count);
    const unsigned index = find_buffer(file);
    if (index == file->buffer_count)
        return error_set(why, EAGAIN, "all %u buffers are lent", index);
    int r = skip_late_frames(file, why);
    if (r < 0)
        return r;
    struct file_buffer *buffer = &file->buffer[index];
    uint8_t *frame =
        file->memory != NULL ? frame_memory_address(file->memory, index) : buffer->frame;
    r = read_frame(file, frame, why);
    if (r < 0)
        return r;

    buffer->lent = true;
    if (find_buffer(file) == file->buffer_count)
        pace_block(&file->pace);
    capture_fill_frame(ret, &capture->format, frame);
    ret->memory = file->memory != NULL ? (int)index : -1;
    ret->sequence = file->sequence++;
    ret->captured_ns = pace_due_ns(&file->pace);
    if (file->capture.unpaced)
        ret->recorded_ns = (int64_t)file->sequence * file->recorded_period_ns;
    ret->dequeued_ns = clock_now_ns();
    ret->index = index;
    return 0;
}

static void file_release(struct capture *capture, const struct capture_frame *frame)
{
    struct file *file = (struct file *)capture;
    file->buffer[frame->index].lent = false;
    pace_unblock(&file->pace);
}

static void file_close(struct capture *capture)
{
    struct file *file = (struct file *)capture;
    file_stop(capture);
    pace_finish(&file->pace);
    if (file->fd >= 0)
        close(file->fd);
    free(file);
}

static const struct capture_ops file_ops = {
    .start = file_start,
    .stop = file_stop,
    .dequeue = file_dequeue,
    .release = file_release,
    .close = file_close,
};

/* ---- opening ---- */

/* A service has these folders for itself alone (PrivateTmp=), and not those of users. */
static bool is_in_private_folder(const char *path)
{
    return strncmp(path, "/tmp/", 5) == 0 || strncmp(path, "/var/tmp/", 9) == 0;
}

static int open_file(struct file *file, const char *path, struct error *why)
{
    /* Non-blocking, because opening a FIFO would otherwise block before fstat can identify it. */
    file->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file->fd < 0 && errno == EACCES)
        return error_set(why, EACCES,
                         "permission denied: fftd's user must be able to read the file and enter "
                         "its folders; a service cannot see /home: put it in /srv");
    if (file->fd < 0 && errno == ENOENT && is_in_private_folder(path))
        return error_set(why, ENOENT,
                         "%s; if fftd runs as a service, it has its own /tmp and /var/tmp: put the "
                         "file in /srv",
                         strerror(ENOENT));
    if (file->fd < 0)
        return error_set(why, errno, "%s", strerror(errno));
    struct stat about;
    if (fstat(file->fd, &about) < 0)
        return error_set(why, errno, "%s", strerror(errno));
    if (!S_ISREG(about.st_mode))
        return error_set(why, EINVAL, "expected a regular file");
    file->bytes = about.st_size;
    return 0;
}

/* A Y4M file has its own size and format: a request may repeat them, but not differ. */
static int check_agreement(const struct fftd_format *format, const struct capture_request *request,
                           struct error *why)
{
    const char *name = format_by_fourcc(format->fourcc)->name;
    if (request->width != 0 &&
        (request->width != format->width || request->height != format->height))
        return error_set(why, EINVAL, "size %ux%u was requested, but the file is %s %ux%u",
                         request->width, request->height, name, format->width, format->height);
    const struct format_info *asked = format_by_fourcc(request->fourcc);
    if (request->fourcc != 0 && request->fourcc != format->fourcc)
        return error_set(why, EINVAL, "format %s was requested, but the file is %s %ux%u",
                         asked != NULL ? asked->name : "unknown", name, format->width,
                         format->height);
    return 0;
}

static int find_format(struct file *file, const char *path, const struct capture_request *request,
                       struct error *why)
{
    struct fftd_format *format = &file->capture.format;
    uint8_t header[Y4M_MAX_HEADER];
    ssize_t count = read_at(file->fd, header, sizeof header, 0);
    if (count < 0)
        return error_set(why, (int)-count, "read: %s", strerror((int)-count));
    int r;
    file->y4m = y4m_is_y4m(header, (size_t)count);
    if (file->y4m) {
        size_t length;
        r = y4m_parse_header(header, (size_t)count, format, &length, why);
        if (r < 0)
            return r;
        file->first = (off_t)length;
        r = check_agreement(format, request, why);
    } else if (request->width == 0 || request->fourcc == 0) {
        r = error_set(
            why, EINVAL,
            "not a Y4M file: `fftd-ctl convert` and the source "
            "gst:filesrc location=\"%s\" ! decodebin read videos; to read it as raw frames, "
            "set camera.size and camera.format",
            path);
    } else {
        r = format_layout(format, request->fourcc, request->width, request->height, 1, why);
    }
    if (r < 0)
        return r;
    if (format->rate_num > 0)
        file->recorded_period_ns = NS_PER_S * format->rate_den / format->rate_num;
    if (isinf(request->rate))
        format->rate_num = 0, format->rate_den = 1;
    else if (request->rate > 0.0 || format->rate_num == 0)
        pace_fraction(request->rate > 0.0 ? request->rate : DEFAULT_RATE, &format->rate_num,
                      &format->rate_den);
    return 0;
}

int capture_open_file(struct capture **ret, const char *path, const struct capture_request *request,
                      struct error *why)
{
    struct file *file = calloc(1, sizeof *file);
    if (file == NULL)
        return error_set(why, ENOMEM, "file:%s: out of memory", path);
    file->capture.ops = &file_ops;
    file->fd = -1;
    file->pace.fd = -1;
    file->loop = request->loop;
    file->wanted_buffers = request->buffers;
    file->capture.unpaced = isinf(request->rate);
    file->capture.waits = file->capture.unpaced || !file->loop;

    int r = open_file(file, path, why);
    if (r == 0)
        r = find_format(file, path, request, why);
    if (r == 0)
        r = check_frames(file, why);
    if (r == 0)
        r = pace_init(&file->pace, file->capture.format.rate_num, file->capture.format.rate_den,
                      why);
    if (r < 0) {
        file_close(&file->capture);
        return error_prefix(why, -r, "file:%s", path);
    }
    file->capture.fd = file->pace.fd;
    rewind_file(file);
    posix_fadvise(file->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    capture_describe(&file->capture, "%s file of %llu frames", file->y4m ? "Y4M" : "raw",
                     (unsigned long long)file->frame_count);
    *ret = &file->capture;
    return 0;
}
