/* libv4l2 must never see a multi-planar device: it ignores it or, if its mplane plugin is
 * installed, presents it as single-planar. The device is therefore opened and queried with plain
 * system calls, and only a single-planar one is then passed to libv4l2. */
#include "capture/v4l2_device.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <libv4l2.h>

#include "core/text.h"

/* libv4l2 would log every failed call to stderr, once for every frame. The caller has the error
 * codes and logs a failure once. */
static void silence_libv4l2(void)
{
    v4l2_log_file = fopen("/dev/null", "we");
}

int video_ioctl(const struct video_device *device, unsigned long request, void *argument)
{
    int r;
    do
        r = device->converted ? v4l2_ioctl(device->fd, request, argument)
                              : ioctl(device->fd, request, argument);
    while (r < 0 && errno == EINTR);
    return r < 0 ? -errno : 0;
}

const uint8_t *video_map(const struct video_device *device, size_t length, uint32_t offset)
{
    void *start = device->converted
                      ? v4l2_mmap(NULL, length, PROT_READ, MAP_SHARED, device->fd, offset)
                      : mmap(NULL, length, PROT_READ, MAP_SHARED, device->fd, offset);
    return start == MAP_FAILED ? NULL : start;
}

void video_unmap(const struct video_device *device, const uint8_t *start, size_t length)
{
    if (device->converted)
        v4l2_munmap((void *)start, length);
    else
        munmap((void *)start, length);
}

static int open_node(const char *path, struct error *why)
{
    int fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (fd >= 0)
        return fd;
    switch (errno) {
    case EACCES:
    case EPERM:
        return error_set(why, EACCES,
                         "%s: permission denied: the user must be in the device's "
                         "group, usually video",
                         path);
    case ENOENT:
        return error_set(
            why, ENOENT,
            "camera %s does not exist; `fftd --list-devices` shows the cameras that do", path);
    case ENXIO:
    case ENODEV:
        return error_set(why, ENODEV, "%s: the device was removed", path);
    default:
        return error_set(why, errno, "%s: %s", path, strerror(errno));
    }
}

static int identify(struct video_device *device, const char *path, struct error *why)
{
    struct stat about;
    struct v4l2_capability capability = {0};
    if (fstat(device->fd, &about) < 0 || !S_ISCHR(about.st_mode))
        return error_set(why, EINVAL, "%s: expected a video device such as /dev/video0", path);
    int r = video_ioctl(device, VIDIOC_QUERYCAP, &capability);
    if (r == -ENODEV)
        return error_set(why, ENODEV, "%s: the device was removed", path);
    if (r < 0)
        return error_set(why, EINVAL, "%s: not a V4L2 device: %s", path, strerror(-r));

    snprintf(device->card, sizeof device->card, "%.31s", capability.card);
    snprintf(device->driver, sizeof device->driver, "%.15s", capability.driver);
    snprintf(device->bus, sizeof device->bus, "%.31s", capability.bus_info);
    text_clean(device->card); /* a webcam sends its own name */
    text_clean(device->driver);
    text_clean(device->bus);
    uint32_t can = capability.capabilities & V4L2_CAP_DEVICE_CAPS ? capability.device_caps
                                                                  : capability.capabilities;
    if ((can & (V4L2_CAP_VIDEO_CAPTURE | V4L2_CAP_VIDEO_CAPTURE_MPLANE)) == 0 ||
        (can & V4L2_CAP_STREAMING) == 0)
        return error_set(why, EINVAL, "%s (%s) does not stream captured video", path, device->card);
    device->multi = (can & V4L2_CAP_VIDEO_CAPTURE) == 0;
    device->type = device->multi ? V4L2_BUF_TYPE_VIDEO_CAPTURE_MPLANE : V4L2_BUF_TYPE_VIDEO_CAPTURE;
    return 0;
}

int video_open(struct video_device *ret, const char *path, struct error *why)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, silence_libv4l2);

    int fd = open_node(path, why);
    if (fd < 0)
        return fd;
    struct video_device device = {.fd = fd};
    int r = identify(&device, path, why);
    if (r < 0) {
        close(fd);
        return r;
    }
    /* If libv4l2 refuses the device, it is used directly. */
    device.converted = !device.multi && v4l2_fd_open(fd, 0) == fd;
    *ret = device;
    return 0;
}

void video_close(struct video_device *device)
{
    if (device->fd < 0)
        return;
    if (device->converted)
        v4l2_close(device->fd);
    else
        close(device->fd);
    device->fd = -1;
}

/* ---- formats, sizes and rates ---- */

unsigned video_offers(const struct video_device *device, struct video_offer *offers)
{
    unsigned count = 0;
    for (uint32_t index = 0; count < VIDEO_MAX_OFFERS; index++) {
        struct v4l2_fmtdesc description = {.index = index, .type = device->type};
        if (video_ioctl(device, VIDIOC_ENUM_FMT, &description) < 0)
            break;
        offers[count++] = (struct video_offer){
            .pixelformat = description.pixelformat,
            .info = format_by_v4l2(description.pixelformat),
            .emulated = (description.flags & V4L2_FMT_FLAG_EMULATED) != 0,
        };
    }
    return count;
}

const char *video_format_name(const struct video_offer *offer, char text[8])
{
    if (offer->info != NULL)
        return offer->info->name;
    for (unsigned i = 0; i < 4; i++) {
        char c = (char)(offer->pixelformat >> 8 * i & 0x7f);
        text[i] = c > ' ' && c <= '~' && c != '"' && c != '\\' ? c : '_';
    }
    text[4] = '\0';
    return text;
}

bool video_next_size(const struct video_device *device, uint32_t pixelformat, unsigned index,
                     struct video_size *ret)
{
    struct v4l2_frmsizeenum size = {.index = index, .pixel_format = pixelformat};
    if (video_ioctl(device, VIDIOC_ENUM_FRAMESIZES, &size) < 0)
        return false;
    if (size.type == V4L2_FRMSIZE_TYPE_DISCRETE) {
        *ret = (struct video_size){
            size.discrete.width,  size.discrete.width,  1,
            size.discrete.height, size.discrete.height, 1,
        };
        return true;
    }
    /* A continuous or stepwise range is a single entry. */
    *ret = (struct video_size){
        size.stepwise.min_width,  size.stepwise.max_width,  size.stepwise.step_width,
        size.stepwise.min_height, size.stepwise.max_height, size.stepwise.step_height,
    };
    return index == 0;
}

static double rate_of(struct v4l2_fract interval)
{
    return interval.numerator == 0 ? 0.0 : (double)interval.denominator / interval.numerator;
}

bool video_next_rate(const struct video_device *device, uint32_t pixelformat, uint32_t width,
                     uint32_t height, unsigned index, struct video_rate *ret)
{
    struct v4l2_frmivalenum interval = {
        .index = index, .pixel_format = pixelformat, .width = width, .height = height};
    if (video_ioctl(device, VIDIOC_ENUM_FRAMEINTERVALS, &interval) < 0)
        return false;
    if (interval.type == V4L2_FRMIVAL_TYPE_DISCRETE) {
        double rate = rate_of(interval.discrete);
        *ret = (struct video_rate){rate, rate};
        return true;
    }
    *ret = (struct video_rate){rate_of(interval.stepwise.max), rate_of(interval.stepwise.min)};
    return index == 0;
}

double video_max_rate(const struct video_device *device, uint32_t pixelformat, uint32_t width,
                      uint32_t height)
{
    double max = 0.0;
    struct video_rate rate;
    for (unsigned i = 0; video_next_rate(device, pixelformat, width, height, i, &rate); i++)
        if (rate.max > max)
            max = rate.max;
    return max;
}

void video_sizes(const struct video_device *device, uint32_t pixelformat, char *text, size_t size)
{
    struct video_size s;
    text[0] = '\0';
    for (unsigned i = 0; video_next_size(device, pixelformat, i, &s); i++) {
        text_append(text, size, "%s%ux%u", i == 0 ? "" : ", ", s.min_width, s.min_height);
        if (s.min_width != s.max_width || s.min_height != s.max_height)
            text_append(text, size, " .. %ux%u", s.max_width, s.max_height);
        double rate = video_max_rate(device, pixelformat, s.max_width, s.max_height);
        if (rate > 0.0)
            text_append(text, size, "@%.4g", rate);
    }
    if (strlen(text) == size - 1) /* there are more */
        memcpy(text + size - 4, "...", 4);
}

int video_native_format(const struct video_device *device, struct v4l2_format *ret,
                        struct error *why)
{
    struct v4l2_format format = {.type = device->type};
    if (ioctl(device->fd, VIDIOC_G_FMT, &format) < 0)
        return error_set(why, errno, "VIDIOC_G_FMT: %s", strerror(errno));
    *ret = format;
    return 0;
}
