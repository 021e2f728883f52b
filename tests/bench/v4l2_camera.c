/* A V4L2 camera without a kernel's, for programs that know no other source: preload it.
 *
 *   V4L2_CAMERA_PATH=FILE     frames of YUYV without padding, one behind the other
 *   V4L2_CAMERA_SIZE=WxH      their size
 *   V4L2_CAMERA_FPS=N         how often one is captured
 *
 * The program opens this file, once, as if it were the device: programs ask access() first. It must
 * use V4L2_MEMORY_MMAP. Buffer i is a mapping of the file's frame i: a frame costs the program no
 * copy, as if a device had stored it there by DMA. select() and poll() work, because the descriptor
 * is a timer's. A frame for which no buffer is queued is lost. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include <linux/videodev2.h>

#define MAX_BUFFERS 16u

static struct {
    int fd; /* the timer */
    int frames_fd;
    uint32_t width, height, fps;
    uint32_t frame_bytes, frame_count;
    pthread_mutex_t lock; /* for what follows */
    uint32_t buffer_count;
    uint32_t queue[MAX_BUFFERS], queued; /* buffers, the oldest first */
    uint32_t sequence;
} camera = {.fd = -1, .frames_fd = -1, .lock = PTHREAD_MUTEX_INITIALIZER};

static int fail(int error)
{
    errno = error;
    return -1;
}

static const char *setting(const char *name)
{
    const char *value = getenv(name);
    if (value == NULL) {
        fprintf(stderr, "v4l2_camera: %s is not set\n", name);
        exit(64);
    }
    return value;
}

static int real_open(const char *path, int flags, mode_t mode)
{
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

static int camera_open(const char *path)
{
    struct stat file;
    char *end;
    camera.fps = (uint32_t)strtoul(setting("V4L2_CAMERA_FPS"), NULL, 10);
    camera.width = (uint32_t)strtoul(setting("V4L2_CAMERA_SIZE"), &end, 10);
    camera.height = *end == 'x' ? (uint32_t)strtoul(end + 1, NULL, 10) : 0;
    if (camera.width == 0 || camera.height == 0 || camera.fps == 0)
        return fail(EINVAL);
    camera.frame_bytes = 2 * camera.width * camera.height;
    camera.frames_fd = real_open(path, O_RDWR | O_CLOEXEC, 0);
    if (camera.frames_fd < 0 || fstat(camera.frames_fd, &file) < 0)
        return -1;
    camera.frame_count = (uint32_t)(file.st_size / camera.frame_bytes);
    /* A buffer begins at a page. */
    if (camera.frame_count == 0 || camera.frame_bytes % (uint32_t)sysconf(_SC_PAGESIZE) != 0)
        return fail(EINVAL);
    return camera.fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
}

static int camera_set_streaming(bool is_on)
{
    const long interval_ns = 1000000000L / camera.fps;
    const struct timespec interval = {interval_ns / 1000000000L, interval_ns % 1000000000L};
    const struct itimerspec on = {.it_interval = interval, .it_value = interval}, off = {0};
    camera.queued = is_on ? camera.queued : 0;
    return timerfd_settime(camera.fd, 0, is_on ? &on : &off, NULL);
}

static int camera_set_format(struct v4l2_pix_format *pix)
{
    pix->width = camera.width;
    pix->height = camera.height;
    pix->pixelformat = V4L2_PIX_FMT_YUYV;
    pix->field = V4L2_FIELD_NONE;
    pix->bytesperline = 2 * camera.width;
    pix->sizeimage = camera.frame_bytes;
    return 0;
}

static int camera_request(struct v4l2_requestbuffers *request)
{
    if (request->memory != V4L2_MEMORY_MMAP)
        return fail(EINVAL);
    const uint32_t limit = camera.frame_count < MAX_BUFFERS ? camera.frame_count : MAX_BUFFERS;
    camera.buffer_count = request->count = request->count < limit ? request->count : limit;
    camera.queued = 0;
    return 0;
}

static int camera_describe(struct v4l2_buffer *buffer)
{
    if (buffer->index >= camera.buffer_count)
        return fail(EINVAL);
    buffer->length = camera.frame_bytes;
    buffer->m.offset = buffer->index * camera.frame_bytes;
    return 0;
}

static int camera_queue(const struct v4l2_buffer *buffer)
{
    if (buffer->index >= camera.buffer_count || camera.queued == camera.buffer_count)
        return fail(EINVAL);
    camera.queue[camera.queued++] = buffer->index;
    return 0;
}

static int camera_dequeue(struct v4l2_buffer *buffer)
{
    struct timespec now;
    uint64_t captured;
    if (read(camera.fd, &captured, sizeof captured) != (ssize_t)sizeof captured)
        return -1; /* EAGAIN */
    camera.sequence += (uint32_t)captured;
    if (camera.queued == 0)
        return fail(EAGAIN);
    clock_gettime(CLOCK_MONOTONIC, &now);
    buffer->index = camera.queue[0];
    memmove(camera.queue, camera.queue + 1, --camera.queued * sizeof camera.queue[0]);
    buffer->bytesused = buffer->length = camera.frame_bytes;
    buffer->field = V4L2_FIELD_NONE;
    buffer->sequence = camera.sequence - 1;
    buffer->timestamp = (struct timeval){now.tv_sec, now.tv_nsec / 1000};
    buffer->m.offset = buffer->index * camera.frame_bytes;
    return 0;
}

/* Some programs pass a signed int, of which the kernel, too, takes only the lower 32 bits. */
static int camera_answer(uint32_t request, void *argument)
{
    switch (request) {
    case VIDIOC_QUERYCAP:
        *(struct v4l2_capability *)argument = (struct v4l2_capability){
            .driver = "v4l2_camera",
            .card = "frames of a file",
            .capabilities = V4L2_CAP_VIDEO_CAPTURE | V4L2_CAP_STREAMING | V4L2_CAP_DEVICE_CAPS,
            .device_caps = V4L2_CAP_VIDEO_CAPTURE | V4L2_CAP_STREAMING};
        return 0;
    case VIDIOC_S_INPUT:
        return 0;
    case VIDIOC_G_FMT:
    case VIDIOC_S_FMT:
        return camera_set_format(&((struct v4l2_format *)argument)->fmt.pix);
    case VIDIOC_REQBUFS:
        return camera_request(argument);
    case VIDIOC_QUERYBUF:
        return camera_describe(argument);
    case VIDIOC_QBUF:
        return camera_queue(argument);
    case VIDIOC_DQBUF:
        return camera_dequeue(argument);
    case VIDIOC_STREAMON:
        return camera_set_streaming(true);
    case VIDIOC_STREAMOFF:
        return camera_set_streaming(false);
    default: /* V4L2's word for what a device does not have */
        return fail(ENOTTY);
    }
}

/* ---- what is preloaded: functions of the C library, each by both of its names ---- */

int preloaded_open(const char *path, int flags, ...) __asm__("open");
int preloaded_open64(const char *path, int flags, ...) __asm__("open64")
    __attribute__((alias("open")));
int preloaded_ioctl(int fd, unsigned long request, ...) __asm__("ioctl");
void *preloaded_mmap(void *at, size_t bytes, int protection, int flags, int fd,
                     off_t offset) __asm__("mmap");
void *preloaded_mmap64(void *at, size_t bytes, int protection, int flags, int fd,
                       off_t offset) __asm__("mmap64") __attribute__((alias("mmap")));

int preloaded_open(const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    const mode_t mode = (flags & (O_CREAT | __O_TMPFILE)) != 0 ? va_arg(args, mode_t) : 0;
    va_end(args);
    return strcmp(path, setting("V4L2_CAMERA_PATH")) == 0 ? camera_open(path)
                                                          : real_open(path, flags, mode);
}

int preloaded_ioctl(int fd, unsigned long request, ...)
{
    va_list args;
    va_start(args, request);
    void *argument = va_arg(args, void *);
    va_end(args);
    if (fd != camera.fd || fd < 0)
        return (int)syscall(SYS_ioctl, fd, request, argument);
    pthread_mutex_lock(&camera.lock);
    const int r = camera_answer((uint32_t)request, argument);
    const int error = errno;
    pthread_mutex_unlock(&camera.lock);
    errno = error;
    return r;
}

void *preloaded_mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset)
{
    const int file = fd >= 0 && fd == camera.fd ? camera.frames_fd : fd;
    return (void *)syscall(SYS_mmap, at, bytes, protection, flags, file, offset); // NOLINT
}
